"""What pads measure: counts to forces, contact regions, filter, tracking, slip, recordings of real hands. (theory 9)"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
