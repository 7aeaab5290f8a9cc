"""Which way: from a task to a grasp that holds with the smallest forces."""

from pliant.planner.hypotheses import Approach, Hypothesis, approaches, make_hypotheses
from pliant.planner.plan import (
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
from pliant.planner.search import Progress, plan
from pliant.planner.task import Carrier, MoveFrame, PlannerOptions, Task, Wish
from pliant.planner.verify import Tolerances, Verdict, verify_plan

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
    "verify_plan",
]
