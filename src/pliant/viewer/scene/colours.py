"""Colours that grow brighter with the number they stand for, for every kind of eye.

The scale runs through Oklab (Ottosson 2020): lightness rises in a straight line from dark blue to bright yellow while
the hue turns from blue over teal to yellow. Lightness alone tells two values apart, so the scale works in grey and for
every colour blindness; blue against yellow is the axis that red-green blindness leaves alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats

Colour = tuple[float, float, float]

ARROW: Colour = (0.84, 0.15, 0.16)
"""Contact forces."""
WEIGHT: Colour = (0.45, 0.20, 0.60)
"""Weight."""
PUSH: Colour = (0.00, 0.45, 0.36)
"""Pushes that the held object must bear."""
CENTRE: Colour = (0.95, 0.55, 0.05)
"""Centre of mass of the deformed object."""
REST: Colour = (0.98, 0.98, 0.98)
"""Centre of mass of the undeformed object."""
GHOST: Colour = (0.10, 0.45, 0.85)
"""A hand at a hypothesis."""
LIQUID: Colour = (0.25, 0.55, 0.85)
"""The surface of a vessel's liquid."""
GREY: Colour = (0.72, 0.73, 0.75)
"""Of a surface without a given colour."""

# Okabe and Ito's eight (Color Universal Design, 2008) without yellow, which white paper swallows.
CATEGORIES: tuple[Colour, ...] = (
    (0.000, 0.447, 0.698),
    (0.835, 0.369, 0.000),
    (0.000, 0.620, 0.451),
    (0.800, 0.475, 0.655),
    (0.337, 0.706, 0.914),
    (0.902, 0.624, 0.000),
    (0.250, 0.250, 0.250),
)

_TO_CONE = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_ENTRIES = 256


def scale_colours(shares: ArrayLike) -> Floats:
    """Colours (sRGB, 0..1) of shares 0..1 of the scale; what lies outside takes the end's colour."""
    place = np.clip(np.nan_to_num(np.asarray(shares, dtype=np.float64)), 0.0, 1.0) * (_ENTRIES - 1)
    table = _table()
    low = np.minimum(place.astype(np.int64), _ENTRIES - 2)
    part = (place - low)[..., None]
    return np.asarray((1.0 - part) * table[low] + part * table[low + 1])


def linear_light(colours: ArrayLike) -> Floats:
    """sRGB to linear light, as 3-D formats want vertex colours."""
    c = np.asarray(colours, dtype=np.float64)
    return np.where(c <= 0.04045, c / 12.92, ((np.maximum(c, 0.0) + 0.055) / 1.055) ** 2.4)


def css(colour: Colour) -> str:
    """A colour as web pages write it."""
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in colour)


@lru_cache(maxsize=1)
def _table() -> Floats:
    """The scale: lightness 0.27 to 0.94 in a straight line, hue 275 to 105 degrees, as colourful as a screen can."""
    t = np.linspace(0.0, 1.0, _ENTRIES)
    lightness = 0.27 + 0.67 * t
    hue = np.radians(275.0 - 170.0 * t**1.1)
    chroma = np.full(_ENTRIES, 0.16)
    for _ in range(60):
        # Colours that the screen cannot show lose chroma until it can, never lightness.
        outside = np.any((_linear(lightness, chroma, hue) < 0.0) | (_linear(lightness, chroma, hue) > 1.0), axis=1)
        chroma = np.where(outside, 0.96 * chroma, chroma)
    kernel = np.ones(31) / 31
    smooth = np.convolve(np.pad(chroma, 15, mode="edge"), kernel, mode="valid")
    colours = np.clip(_linear(lightness, np.minimum(smooth, chroma), hue), 0.0, 1.0)
    return np.where(colours <= 0.0031308, 12.92 * colours, 1.055 * colours ** (1 / 2.4) - 0.055)


def _linear(lightness: Floats, chroma: Floats, hue: Floats) -> Floats:
    lab = np.column_stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)])
    cone = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    return np.asarray(cone @ np.linalg.inv(_TO_CONE).T)
