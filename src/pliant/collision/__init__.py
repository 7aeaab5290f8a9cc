"""What must not touch: distances between links and obstacles, keep-out rows for the servo, swept paths.

The one owner of Coal.
"""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
