"""Why it holds: grasp matrices, the elastic share of the load, the smallest sufficient forces, and how good a grasp is.

Takes arrays, never robots. Most callers need only :func:`solve_forces`; loops keep a :class:`ForceSolver`.
"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
