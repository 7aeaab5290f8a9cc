"""Shapes made from parameters, with exact volumes."""
