"""Which way: from a task to a grasp that holds with the smallest forces."""

from pliant.planner.task import Carrier, MoveFrame, PlannerOptions, Task, Wish

__all__ = ["Carrier", "MoveFrame", "PlannerOptions", "Task", "Wish"]
