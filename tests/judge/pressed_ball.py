"""A rubber ball between two plates, condensed once for all tests that press it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pinocchio as pin

from pliant.elastic import fill_graded
from pliant.judge import CondensedBody, FlatTouch, Partner, condense
from pliant.objects import make_shape, smooth_surface

RADIUS, YOUNG, POISSON = 0.03, 0.5e6, 0.45
REACH = 9e-3
PLATES = (Partner("above", FlatTouch()), Partner("below", FlatTouch()))


@lru_cache
def pressed_ball() -> CondensedBody:
    """The ball of ``truth``: 0.1 kg, elements of 1.7 mm within 8 mm of both poles, candidates within 9 mm."""
    smooth = smooth_surface(make_shape("sphere", radius=RADIUS, edge=0.004))
    poles = RADIUS * np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    tets = fill_graded(smooth, poles, 1.7e-3, 8e-3, 8e-3)
    return condense(
        tets,
        smooth,
        [0, 1],
        lambda k, x: np.linalg.norm(x - poles[k], axis=1) < REACH,
        young=YOUNG,
        poisson=POISSON,
        mass=0.1,
    )


def plates(depth: float, *, tilt: float = 0.0) -> tuple[pin.SE3, pin.SE3]:
    """Poses of the plates, each ``depth`` [m] deep in the ball; tilted they come closer towards +x."""
    out = []
    for sign in (1.0, -1.0):
        # outward normals of the plates, towards the ball
        normal = np.array([-np.sin(tilt), 0.0, -sign * np.cos(tilt)])
        across = np.array([0.0, 1.0, 0.0])
        R = np.column_stack([across, np.cross(normal, across), normal])
        out.append(pin.SE3(R, -(RADIUS - depth) * normal))
    return out[0], out[1]
