"""Small questions for the planner's tests: coarse objects, few hypotheses, a gripper that flies freely."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin

from pliant.objects import Body, ContactLimits, Material, make_shape
from pliant.planner import Carrier, Goal, MoveFrame, Plan, PlannerOptions, Task, Uncertainty, plan
from pliant.robot import load_assembly

YOUNG, FRICTION, MASS = 5e5, 0.6, 0.12
SURE = Uncertainty(0.0, 0.0, 0.0, 0.0, 0.0)
"""Forces without reserves: they compare with closed forms."""


@cache
def ball_mesh():
    return make_shape("sphere", radius=0.03, edge=0.009)


def ball(young=YOUNG, friction=FRICTION, mass=MASS, force=None, pressure=None) -> Body:
    material = Material(young, 0.45, None, friction)
    return Body.from_mesh(ball_mesh(), material, mass=mass, limits=ContactLimits(force, pressure))


@cache
def gripper():
    return load_assembly(None, "parallel_gripper")


def ball_task(hypotheses: int = 24, move: bool = True, uncertainty: Uncertainty = SURE, **body) -> Task:
    goal = Goal(0.05, (0.0, 0.0, 0.02) if move else (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), MoveFrame.WORLD, 3, Carrier.ARM)
    return Task(
        gripper(),
        gripper().q_home,
        ball(**body),
        pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.3])),
        (),
        goal,
        PlannerOptions(faces=20, rolls=4, keep=3, hypotheses=hypotheses),
        uncertainty,
        "ball",
    )


@cache
def ball_plan() -> Plan:
    return plan(ball_task(), jobs=1)


def limited(task: Task, count: int) -> Task:
    return replace(task, options=replace(task.options, hypotheses=count))
