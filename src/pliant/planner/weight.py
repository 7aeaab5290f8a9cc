"""Where the weight of a deformed object acts, and how large it is, under any gravity.   (theory 6.4, 8.11)"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.objects import Body


class ActingWeight(NamedTuple):
    """Where the weight acts, in the object's frame [m].

    Attributes:
        centre: of mass of the deformed object with its liquid.
        at_rest: of the undeformed one in the same pose.
        level: height of the liquid's surface along "up" in the world [m]; None without liquid.
    """

    centre: Floats
    at_rest: Floats
    level: float | None


class Weight:
    """The weight of a body.

    Args:
        body: its mass and contents.
        gravity: acceleration in the world [m/s^2]; zero is allowed for bodies without liquid.

    Attributes:
        force: in the world [N].
        size: its size [N].
        up: unit vector against gravity; the world's z where there is none.
    """

    def __init__(self, body: Body, gravity: Floats) -> None:
        self.body, self.gravity = body, np.asarray(gravity, dtype=np.float64)
        self.force = body.mass * self.gravity
        self.size = float(np.linalg.norm(self.force))
        self.up = -self.force / self.size if self.size > 0.0 else np.array([0.0, 0.0, 1.0])

    def acting(self, T_world_object: pin.SE3, vertices: Floats | None = None) -> ActingWeight:
        """Where it acts on an object with displaced vertices (in its frame); undeformed when left out."""
        up = T_world_object.rotation.T @ self.up
        rest = self.body.centre_of_mass(up)
        if vertices is None:
            return ActingWeight(rest, rest, None)
        body = self.body.deformed(vertices)
        liquid = body.liquid_at(up) if body.liquid is not None else None
        level = None if liquid is None else float(self.up @ T_world_object.translation + liquid.level)
        return ActingWeight(body.centre_of_mass(up), rest, level)

    def wrench(self, T_world_object: pin.SE3, centre: Floats) -> Floats:
        """Force and torque about the object's origin, world axes [N, N m].

        Args:
            centre: where it acts, in the object's frame [m].
        """
        return np.concatenate([self.force, np.cross(T_world_object.rotation @ centre, self.force)])
