"""A run beside its plan, contact by contact: forces and centres of pressure.   ([D] chapter 4)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.control import RunLog, RunPhase

__all__ = ["ContactComparison", "compare_contacts"]


@dataclass(frozen=True)
class ContactComparison:
    """One contact in one phase, means over its time.

    Args:
        name: the contact's link.
        planned_force, measured_force: normal force [N].
        point_error: median distance of the measured centre of pressure from the planned one [m]; NaN if never felt.
    """

    name: str
    planned_force: float
    measured_force: float
    point_error: float

    @property
    def force_error(self) -> float:
        """Measured over planned, less one; NaN where nothing was planned."""
        return self.measured_force / self.planned_force - 1.0 if self.planned_force > 0.0 else float("nan")


def compare_contacts(log: RunLog, phase: RunPhase = RunPhase.HOLD) -> tuple[ContactComparison, ...]:
    """Every contact of a run in one phase beside the plan; empty where the run has no such phase."""
    rows = log.during(phase)
    if not rows.any():
        return ()
    away = np.linalg.norm(log["point_measured"][rows] - log["point_planned"][rows], axis=2)
    answer = []
    for i, name in enumerate(log.contacts):
        felt = np.isfinite(away[:, i])
        answer.append(
            ContactComparison(
                name,
                float(np.nanmean(log["force_planned"][rows, i])),
                float(np.nan_to_num(log["force_measured"][rows, i]).mean()),
                float(np.median(away[felt, i])) if felt.any() else float("nan"),
            )
        )
    return tuple(answer)
