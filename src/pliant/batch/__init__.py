"""Many plans: objects x hands x tasks, on this machine or a cluster, resumable."""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
