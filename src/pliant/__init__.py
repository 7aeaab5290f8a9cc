"""pliant: grasps of things that give, with the smallest contact forces that hold.

The names below are loaded when first used, so ``import pliant`` is quick and pulls in no simulator and no viewer.
"""

from pliant.lazy import open_door

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
