"""Which way: from a task to a grasp that holds with the smallest forces.

Tasks and results are plain data and load at once; the search and the checks, with the contact and force solvers that
they need, load when they are first used, so that who only reads plans does not wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.lazy import lazy_names
from pliant.planner.hypotheses import Approach, Hypothesis, approaches, make_hypotheses
from pliant.planner.results import (
    HeldState,
    Phase,
    Plan,
    PlannedContact,
    PlannedGrasp,
    PlanStatus,
    Rejection,
    StableGrasp,
    Stage,
    Trajectory,
)
from pliant.planner.task import Carrier, MoveFrame, PlannerOptions, Task, Wish

if TYPE_CHECKING:
    from pliant.planner.search import Progress as Progress
    from pliant.planner.search import plan as plan
    from pliant.planner.setting import prepare_body as prepare_body
    from pliant.planner.verify import Tolerances as Tolerances
    from pliant.planner.verify import Verdict as Verdict
    from pliant.planner.verify import verify_plan as verify_plan

_HOMES = {
    "Progress": ".search",
    "Tolerances": ".verify",
    "Verdict": ".verify",
    "plan": ".search",
    "prepare_body": ".setting",
    "verify_plan": ".verify",
}

__all__ = [
    "Approach",
    "Carrier",
    "HeldState",
    "Hypothesis",
    "MoveFrame",
    "Phase",
    "Plan",
    "PlanStatus",
    "PlannedContact",
    "PlannedGrasp",
    "PlannerOptions",
    "Progress",
    "Rejection",
    "StableGrasp",
    "Stage",
    "Task",
    "Tolerances",
    "Trajectory",
    "Verdict",
    "Wish",
    "approaches",
    "make_hypotheses",
    "plan",
    "prepare_body",
    "verify_plan",
]


__getattr__, __dir__ = lazy_names(__name__, _HOMES)
