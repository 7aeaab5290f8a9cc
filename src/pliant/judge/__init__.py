"""The second judge: does a planned grasp hold, by finite elements with friction and its history?   (theory 10)"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
