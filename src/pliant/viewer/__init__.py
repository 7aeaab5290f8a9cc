"""Seeing it: drawables and still pictures, the page in the browser, the report. Names are loaded when first used."""

from pliant.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
