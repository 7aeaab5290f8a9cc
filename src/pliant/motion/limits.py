"""Joint limits of the servo: positions, speeds and accelerations that fit together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats, Records
from pliant.errors import OptionError, Problem
from pliant.robot import Robot

# URDFs know no accelerations. Where none are given, full speed is reached in this time [s].
RAMP_TIME = 0.2


LIMITS = np.dtype([("lower", "f8"), ("upper", "f8"), ("speed", "f8"), ("acceleration", "f8")])
"""The limits of one joint for the kernels."""


@dataclass(frozen=True)
class JointLimits:
    """Per joint: lower, upper [rad, m], speed [rad/s, m/s] and acceleration [rad/s2, m/s2]; infinite where unknown."""

    lower: Floats
    upper: Floats
    speed: Floats
    acceleration: Floats

    def __post_init__(self) -> None:
        n = np.shape(self.lower)
        for name in ("lower", "upper", "speed", "acceleration"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.shape != n or np.isnan(values).any():
                raise OptionError("joint limits", Problem(name, f"{values}", f"{n[0]} numbers, none of them NaN"))
            object.__setattr__(self, name, values)
        if (self.lower > self.upper).any():
            i = int(np.flatnonzero(self.lower > self.upper)[0])
            raise OptionError("joint limits", f"joint {i}: lower {self.lower[i]:g} above upper {self.upper[i]:g}")
        for name in ("speed", "acceleration"):
            if (getattr(self, name) <= 0.0).any():
                raise OptionError("joint limits", Problem(name, "not above zero", "leave a joint out to hold it still"))

    @classmethod
    def of(
        cls, robot: Robot, *, acceleration: ArrayLike | None = None, ramp_time: float = RAMP_TIME, speed: float = 1.0
    ) -> JointLimits:
        """The robot's own limits.

        Args:
            acceleration: of each joint, or one for all. Where it is not given or infinite, what reaches full speed in
                ``ramp_time``.
            ramp_time: [s]; zero means no acceleration limit.
            speed: fraction of the robot's speeds that may be used, above 0 up to 1.
        """
        if not 0.0 < speed <= 1.0:
            raise OptionError("joint limits", Problem("speed", f"{speed}", "a fraction above 0, at most 1"))
        ramped = robot.velocity_limits / ramp_time if ramp_time > 0.0 else np.full(robot.dof, np.inf)
        given = np.broadcast_to(np.inf if acceleration is None else np.asarray(acceleration, float), (robot.dof,))
        a = np.where(np.isfinite(given), given, ramped)
        return cls(robot.lower, robot.upper, speed * robot.velocity_limits, a)

    def rows(self) -> Records:
        """The numbers for the kernels: a row of `LIMITS` for every joint."""
        rows = np.empty(len(self.lower), LIMITS)
        for name in LIMITS.fields or ():
            rows[name] = getattr(self, name)
        return rows

    def window(self, q: Floats, qdot: Floats, dt: float) -> tuple[Floats, Floats]:
        """Slowest and fastest joint speeds for the next step of ``dt``, the present speed being ``qdot``.   (theory
        5.2)
        """
        from pliant.motion.kernels import velocity_window

        lo, hi = np.empty_like(self.lower), np.empty_like(self.lower)
        velocity_window(q, qdot, self.rows(), dt, lo, hi)
        return lo, hi
