"""What a run learns of its object while it grips it: friction from what slips and what does not, stiffness from the
squeeze.   (theory 9)

For any direction u friction of at most mu f on every contact can balance the load w only if

    mu >= nu = |u . (w + sum f_i n_i)| / sum f_i |u - (u . n_i) n_i|

Along the load that bounds mu from below while nothing slips, for the planned mass; an object that slides as a whole has
mu = nu. In the squeeze F = (b (x - x_0))^1.5 with x the mean way of the contacts, so at the planned force D is
1.5 b F^(1/3).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from pliant.arrays import Floats
from pliant.control.force_loop import ContactKinematics

HERTZ = 1.5
SETTLED = 0.2  # what was measured so long before a slip was seen did not slip [s]
SMOOTH = 0.2  # of the friction that is needed [s]
LEAST_FRAMES, LEAST_SPAN, LEAST_FIT = 6, 1.4, 0.98  # of a squeeze: frames, largest force over smallest, correlation
FAR = 3.0  # a stiffness off by more is not believed


def needed_friction(contacts: ContactKinematics, forces: Floats, load: Floats) -> float:
    """The least friction coefficient with which these normal forces can bear the load along itself.

    Args:
        contacts: as they are.
        forces: n normal forces [N].
        load: force on the object [N].
    """
    size = float(np.linalg.norm(load))
    if size == 0.0:
        return 0.0
    u = load / size
    along = contacts.axes[:, :, 2] @ u
    sideways = float(forces @ np.sqrt(np.maximum(1.0 - along**2, 0.0)))
    return abs(size + float(forces @ along)) / sideways if sideways > 0.0 else np.inf


class GripEstimates:
    """Friction and stiffness as known so far.

    Attributes:
        friction_least: it is at least that, if the mass is the planned one; 0 while nothing is known.
        friction: what it was when the object slipped; None while it has not.
        stiffness: contact stiffness over the plan's; None before a squeeze has told it.
    """

    def __init__(self) -> None:
        self.friction_least = 0.0
        self.friction: float | None = None
        self.stiffness: float | None = None
        self._needed: deque[tuple[float, float]] = deque()
        self._mean, self._time = np.nan, np.nan
        self._squeeze: list[tuple[float, float]] = []

    def held(self, needed: float, now: float) -> None:
        """So much friction was needed in this frame, and no slip was seen."""
        if not np.isfinite(needed):
            return
        share = 1.0 if np.isnan(self._mean) else min((now - self._time) / SMOOTH, 1.0)
        self._mean = needed if np.isnan(self._mean) else self._mean + share * (needed - self._mean)
        self._time = now
        self._needed.append((now, self._mean))
        while self._needed and self._needed[0][0] <= now - SETTLED:
            self.friction_least = max(self.friction_least, self._needed.popleft()[1])
        if self.friction is not None:
            self.friction = max(self.friction, self.friction_least)

    def slipped(self) -> None:
        """A slip was seen: it began at what was needed last, and none of that was held."""
        if self._needed:
            seen = float(np.mean([needed for _, needed in self._needed]))
            self.friction = max(seen, self.friction_least)
        self._needed.clear()

    def squeezed(self, way: float, force: float) -> None:
        """Contacts have gone so far since the touch, in the mean [m], and press so hard [N]."""
        if force > 0.0:
            self._squeeze.append((way, force))

    def learn_stiffness(self, force: float, planned: float) -> float | None:
        """Contact stiffness over the planned one [N/m] at a force [N]; None where the squeeze does not tell it."""
        if len(self._squeeze) < LEAST_FRAMES:
            return None
        way, forces = np.array(self._squeeze).T
        if forces.max() < LEAST_SPAN * forces.min() or np.ptp(way) <= 0.0:
            return None
        root = forces ** (1.0 / HERTZ)
        if np.corrcoef(way, root)[0, 1] < LEAST_FIT:
            return None
        b = float(np.polyfit(way, root, 1)[0])
        self.stiffness = float(np.clip(HERTZ * b * force ** (1.0 / 3.0) / planned, 1.0 / FAR, FAR))
        return self.stiffness

    @property
    def facts(self) -> dict[str, float | None]:
        """For the log."""
        least = self.friction_least if self.friction_least > 0.0 else None
        return {"friction_at_least": least, "friction_at_slip": self.friction, "stiffness_factor": self.stiffness}
