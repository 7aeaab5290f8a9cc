"""Light for a scene: lamps instead of an environment map, which software drawing cannot afford."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def add_lamps(scene: Any, centre: ArrayLike) -> None:
    """A bright sky, a key light from the right and a weak fill from the left, about a centre [m]."""
    scene.add_light_hemisphere("/lights/sky", sky_color=(255, 255, 255), ground_color=(190, 185, 178), intensity=1.9)
    for name, offset, strength in (("key", (1.2, -1.6, 2.2), 1.7), ("fill", (-1.5, -0.8, 0.8), 0.5)):
        place = np.asarray(centre, dtype=np.float64) + np.array(offset)
        scene.add_light_directional(f"/lights/{name}", position=tuple(place), intensity=strength)
