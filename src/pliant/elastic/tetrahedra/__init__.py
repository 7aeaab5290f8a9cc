"""Tetrahedra inside a closed surface: points spread over it, the inside filled, elements made quadratic."""
