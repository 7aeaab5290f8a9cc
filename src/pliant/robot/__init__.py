"""What moves: arms and hands, their joints, links, pads and tactile arrays."""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
