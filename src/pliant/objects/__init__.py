"""What is held: meshes, materials, masses and the liquid inside.

Names are loaded when first used; importing the package needs numpy only.
"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
