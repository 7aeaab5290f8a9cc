"""How an object gives: tetrahedra, finite elements, shells, and the surface compliance C.   (theory 6.2)"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
