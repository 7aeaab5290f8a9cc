"""How deep the fingers press: between too little and too much, towards the wanted forces.   (theory 8.6)"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.planner.reasons import Failure, Reason

TOO_STRONG = (Reason.FORCE_LIMIT, Reason.PRESSURE_LIMIT)
DRIVES = (Reason.TORQUE_LIMIT, Reason.CANNOT_COMMAND, Reason.NO_SQUEEZE)
"""What the joints cannot do they cannot do at any depth."""
CORRECTION = 2e-4
"""Depths closer than this to too little need no more correction [m]."""
LEAST = 1e-9
"""Depths below this count as none [m]."""


class _Simulated(NamedTuple):
    """Depths [m] and forces [N] of the finger groups in a contact simulation."""

    depths: Floats
    forces: Floats


class DepthSearch:
    """Where to press next: between what is too little and what is too strong, towards the wanted forces.

    Args:
        depths: to begin with, one for each finger group [m].
        deepest: how far each may go [m].
        increment: how much deeper to press where a simulation has no answer, twice as much each time [m]; 2.5 times as
            deep where it is left out. Depths that do not count from the touch need one.
    """

    def __init__(self, depths: Floats, deepest: Floats, increment: Floats | None = None) -> None:
        self.depths, self.deepest, self._increment = np.minimum(depths, deepest), deepest, increment
        self.failure = Failure(Reason.NEVER_HELD, np.inf)
        self._gain = np.full(len(depths), 2.0 / 3.0)
        self._before: _Simulated | None = None
        self._holds: Floats | None = None
        self._floor: Floats | None = None
        self._ceiling: Floats | None = None
        self._away = self._unable = 0

    def failed(self, failure: Failure) -> bool:
        """After a simulation without an answer; False when there is nothing left to try."""
        here, self._before = self.depths, None
        if failure.reason in TOO_STRONG:
            self.failure = failure
            self._ceiling = here
            return self._go(self._next(here, -1.0)) if self._floor is None else self._halve(self._floor, here)
        if self._ceiling is None or self._holds is not None:
            self.failure = failure
        self._floor = here
        if self._holds is not None:
            return self._halve(here, self._holds)
        if self._ceiling is not None:
            return self._halve(here, self._ceiling)
        self._away += failure.reason is Reason.PUSHED_AWAY
        self._unable += failure.reason in DRIVES
        if self._away >= 2 or self._unable >= 2 or (here >= self.deepest).all():
            return False
        return self._go(self._next(here, 1.0))

    def simulated(self, forces: Floats, scale: Floats, short: Failure | None, stiffness: Floats | None = None) -> bool:
        """After a simulation: forces of each group, the factor they should change by, what is missing.

        Args:
            stiffness: force per depth of each group, where it is known [N/m]: then steps are Newton's. Depths need not
                be measured from the touch then.

        Returns:
            Whether to go on.
        """
        here = self.depths
        if short is None:
            self._holds = here
        else:
            self.failure = short
        if self._before is not None:
            # log-log slope of force over depth, once there are two simulations to take it from
            moved = np.log(np.maximum(here, LEAST) / np.maximum(self._before.depths, LEAST))
            useful = (np.abs(moved) > 0.01) & (self._before.forces > 0) & (forces > 0)
            slope = np.ones_like(self._gain)
            slope[useful] = np.log(forces[useful] / self._before.forces[useful]) / moved[useful]
            self._gain = np.where(useful, 1.0 / np.clip(slope, 0.4, 2.5), self._gain)
        before, self._before = self._before, _Simulated(here, forces)
        if stiffness is not None:
            step = 1.0 + (np.clip(scale, 0.3, 3.0) - 1.0) * forces / (self._slope(before, forces, stiffness) * here)
            step = np.clip(step, 0.3, 3.0)
        else:
            step = np.clip(scale, 0.3, 3.0) ** self._gain
        if np.abs(step - 1.0).max() < (0.004 if stiffness is None else 1e-5):
            if short is None:
                return False
            step = np.full_like(step, 1.05) if stiffness is None else 1.0 + 0.05 * forces.max() / (stiffness * here)
        proposed = np.minimum(here * step, self.deepest)
        if self._floor is not None and (proposed < 1.02 * self._floor).any():
            # that little has been tried; between it and what holds
            proposed = np.maximum(proposed, np.sqrt(self._floor * here))
        if self._ceiling is not None and (proposed > 0.98 * self._ceiling).any():
            proposed = np.minimum(proposed, np.sqrt(self._ceiling * here))
        moves = np.abs(np.log(np.maximum(proposed, LEAST) / np.maximum(here, LEAST)))
        if stiffness is not None:  # what it changes in the forces counts, not in depths from anywhere
            moves = moves * stiffness * here / np.maximum(forces, 1e-9)
        if moves.max() < (0.05 if short is None else 0.003):
            return False
        self.depths = proposed
        return True

    def _slope(self, before: _Simulated | None, forces: Floats, stiffness: Floats) -> Floats:
        """Force per depth: between the last two simulations, within reason, else as given [N/m]."""
        slope = np.maximum(stiffness, 1e-6)
        if before is None:
            return slope
        moved = self.depths - before.depths
        useful = np.abs(moved) > 1e-6
        measured = np.divide(forces - before.forces, moved, out=slope.copy(), where=useful)
        return np.asarray(np.clip(measured, 0.3 * slope, 3.0 * slope))

    def _next(self, here: Floats, sign: float) -> Floats:
        """Deeper (1) or less deep (-1) than what gave no answer."""
        if self._increment is None:
            return 2.5**sign * here
        increment, self._increment = self._increment, 2.0 * self._increment
        return here + sign * increment

    def _halve(self, low: Floats, high: Floats) -> bool:
        self.depths = np.sqrt(low * high)
        return bool(np.abs(np.log(high / low)).max() > 0.1 or np.abs(high - low).max() > CORRECTION)

    def _go(self, depths: Floats) -> bool:
        self.depths = np.minimum(depths, self.deepest)
        return bool(self.depths.max() > 1e-8)
