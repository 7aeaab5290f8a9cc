"""Pictures of the lab without a screen, where the machine can (EGL or software rendering).   (theory 10)"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import OptionError
from pliant.lab.simulation import Simulation


def picture(
    simulation: Simulation,
    *,
    looking_at: ArrayLike,
    distance: float = 0.5,
    azimuth_deg: float = 120.0,
    elevation_deg: float = -20.0,
    size: tuple[int, int] = (640, 480),
) -> NDArray[np.uint8]:
    """Height x width x 3 pixels of the scene as it is now.

    Args:
        looking_at: the point in the middle [m].
        distance: of the camera [m].
        azimuth_deg, elevation_deg: direction of view.
        size: width, height.
    """
    import mujoco

    camera: Any = mujoco.MjvCamera()
    camera.lookat[:] = np.asarray(looking_at, dtype=np.float64)
    camera.distance, camera.azimuth, camera.elevation = distance, azimuth_deg, elevation_deg
    try:
        with mujoco.Renderer(simulation.model, size[1], size[0]) as renderer:
            renderer.update_scene(simulation.data, camera)
            return np.asarray(renderer.render()).copy()
    except Exception as bad:  # what is missing differs from machine to machine: library, device, rights
        raise OptionError("lab", f"no off-screen picture on this machine ({type(bad).__name__}: {bad})") from None
