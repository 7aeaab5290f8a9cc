"""The stand-in for reality: MuJoCo plays hand, arm and soft things behind the driver interface.   (theory 10)"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
