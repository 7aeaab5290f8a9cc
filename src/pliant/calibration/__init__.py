"""Learning what an object is like from a trial squeeze: stiffness, modulus, friction.   (theory 9)"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
