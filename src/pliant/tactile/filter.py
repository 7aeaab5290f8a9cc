"""Filter per contact region: the plan predicts how force and place change, the pads measure them.   (theory 9)"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem


@dataclass(frozen=True)
class FilterNoise:
    """Variances of the filter, for the force and for each coordinate of the application point.

    Args:
        force_drift, point_drift: Q: what the plan's increments leave out, per step [N^2, m^2].
        force_error, point_error: R: of the measurement [N^2, m^2].
    """

    force_drift: float = 0.05**2
    force_error: float = 0.3**2
    point_drift: float = 0.0002**2
    point_error: float = 0.0015**2

    def __post_init__(self) -> None:
        problems = [
            Problem(name, f"{value!r}", "a variance: finite, above 0" if "error" in name else "finite, 0 or more")
            for name, value in vars(self).items()
            if not np.isfinite(value) or value < 0 or ("error" in name and value == 0)
        ]
        if problems:
            raise OptionError("filter", problems)

    @property
    def Q(self) -> Floats:
        """Variance that a step adds: force, then the three coordinates of the point [N^2, m^2]."""
        return np.array([self.force_drift, *[self.point_drift] * 3])

    @property
    def R(self) -> Floats:
        """Variance of a measurement: force, then the three coordinates of the point [N^2, m^2]."""
        return np.array([self.force_error, *[self.point_error] * 3])


@dataclass(eq=False)
class RegionFilter:
    """Estimate of z = (force, application point) of one region.   (theory 9)

    Predict  z- = z_(k-1) + (zplan_k - zplan_(k-1)),  P- = P_(k-1) + Q;
    correct  K = P- / (P- + R),  z = z- + K (zmeas - z-),  P = (1 - K) P-.
    Without a plan the increment is zero; without a measurement the prediction stands and its variance grows. The
    components do not mix, so P and K are vectors.

    Args:
        noise: Q and R.
    """

    noise: FilterNoise = field(default_factory=FilterNoise)
    z: Floats | None = field(default=None, init=False)
    P: Floats = field(init=False)
    gain: Floats = field(init=False)
    _planned: Floats | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the estimate: the contact is gone."""
        self.z, self._planned = None, None
        self.P, self.gain = self.noise.R.copy(), np.zeros(4)

    def update(
        self, measured: tuple[float, ArrayLike] | None, planned: tuple[float, ArrayLike] | None = None
    ) -> tuple[float, Floats] | None:
        """One control step; the filtered (force [N], point [m]), or None before the first measurement.

        A measurement that is not finite counts as none. The first one is taken as it is, with its variance R.

        Args:
            measured: force and application point; None where the frame was lost.
            planned: force and application point of the plan at this step, in the frame of the measurement.
        """
        seen = None if measured is None else _state(*measured)
        if seen is not None and not np.isfinite(seen).all():
            seen = None
        plan = None if planned is None else _state(*planned)
        increment = plan - self._planned if plan is not None and self._planned is not None else np.zeros(4)
        self._planned = plan
        if self.z is None:
            if seen is None:
                return None
            self.z, self.P, self.gain = seen, self.noise.R.copy(), np.ones(4)
        else:
            z, P = self.z + increment, self.P + self.noise.Q
            if seen is None:
                self.z, self.P, self.gain = z, P, np.zeros(4)
            else:
                self.gain = P / (P + self.noise.R)
                self.z, self.P = z + self.gain * (seen - z), (1.0 - self.gain) * P
        return float(self.z[0]), self.z[1:].copy()


def _state(force: float, point: ArrayLike) -> Floats:
    z = np.empty(4)
    z[0], z[1:] = force, np.asarray(point, dtype=np.float64).reshape(3)
    return z
