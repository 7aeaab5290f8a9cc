"""Doing it: driver interface, controller with its phases, force loop, watch, runner and log.   (theory 9)"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
