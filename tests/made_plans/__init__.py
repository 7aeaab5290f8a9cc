"""Plans for tests, made without the planner's search in seconds; forces and contacts are those of the contact model.

    ball_plan()    a whole plan, with rejections: the gripper pinches a ball or a small vessel. For files and exports.
    ring_plan()    a whole plan of the shipped ring task, two grasps with true deformation. For pictures and pages.
    made(NAME)     a task and one grasp of an everyday thing, timed so that it can be run. For control and lab.
    ball_in_four_fingers()    the shipped ball_four_fingers task with a grasp that the planner found. For the same.

`made_plans.states` turns settled contacts into what a plan says of them, for all of them.
"""

from __future__ import annotations

from made_plans.ball import ball_plan
from made_plans.four_fingers import ball_in_four_fingers
from made_plans.ring import ring_plan, without_grasp
from made_plans.states import GRAVITY
from made_plans.things import MadeTask, made, make_body, make_grasp, make_task

__all__ = [
    "GRAVITY",
    "MadeTask",
    "ball_in_four_fingers",
    "ball_plan",
    "made",
    "make_body",
    "make_grasp",
    "make_task",
    "ring_plan",
    "without_grasp",
]
