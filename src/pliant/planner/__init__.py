"""Which way: from a task to a grasp that holds with the smallest forces."""

from pliant.planner.hypotheses import Approach, Hypothesis, approaches, make_hypotheses
from pliant.planner.task import Carrier, MoveFrame, PlannerOptions, Task, Wish

__all__ = [
    "Approach",
    "Carrier",
    "Hypothesis",
    "MoveFrame",
    "PlannerOptions",
    "Task",
    "Wish",
    "approaches",
    "make_hypotheses",
]
