"""Where they meet: forces and deformation between pads and an elastic object.

Prepare each pad (``PadSurface``) and each object (``PreparedObject``) once; then only poses change.
"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
