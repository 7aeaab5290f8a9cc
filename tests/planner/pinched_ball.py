"""A ball in a hand that flies freely, ready to be lifted and moved: settings and grasps made without any search."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
from small_tasks import YOUNG, ball_task, gripper

from pliant.contact import PreparedObject
from pliant.objects import Mesh
from pliant.planner import Goal, Hypothesis, Task
from pliant.planner.context import PlanningContext
from pliant.planner.flying_hand import with_arm
from pliant.planner.manipulation import Step
from pliant.planner.questions import try_hypothesis
from pliant.planner.stability import HeldGrasp
from pliant.robot import PALM_FRAME, load_assembly, tip_frame

DOWN = np.diag([1.0, -1.0, -1.0])
RADIUS = 0.03


@cache
def prepared() -> PreparedObject:
    return PreparedObject.of(ball_task().body.mesh, young=YOUNG, poisson=0.45, model="halfspace")


@cache
def gripper_task() -> Task:
    return with_arm(ball_task(move=False))


@cache
def gripper_setting() -> PlanningContext:
    return PlanningContext(gripper_task(), prepared())


def among(*scene: Mesh, q_start: np.ndarray) -> PlanningContext:
    """The ball and the gripper with obstacles around."""
    return PlanningContext(replace(gripper_task(), scene=scene, q_start=q_start), prepared())


@cache
def gripper_grasp() -> HeldGrasp:
    """The gripper looks down at the ball; it opens along x."""
    T_object_palm = pin.SE3(DOWN, np.array([0.0, 0.0, gripper().hand.palm.length - 0.01]))
    return _stable(gripper_setting(), Hypothesis(0, T_object_palm, "parallel", ("left", "right"), "by hand"))


@cache
def fingers_setting() -> PlanningContext:
    """A hand of three fingers with two joints each."""
    hand = load_assembly(None, "schunk_sdh2")
    return PlanningContext(with_arm(replace(ball_task(move=False), assembly=hand, q_start=hand.q_home)), prepared())


@cache
def fingers_grasp() -> HeldGrasp:
    """Three finger tips around the ball's equator, from above."""
    context = fingers_setting()
    robot, preshape = context.robot, context.hand.preshape("spherical")
    fingers = tuple(finger.name for finger in context.assembly.hand.fingers)
    middles, radii = [], []
    for share in np.linspace(0.0, 1.0, 201):
        q = context.assembly.preshaped(robot.neutral, preshape, float(share))
        palm = robot.pose(PALM_FRAME, q)
        tips = np.array([palm.actInv(robot.pose(tip_frame(name), q)).translation for name in fingers])
        middles.append(tips.mean(axis=0))
        radii.append(float(np.linalg.norm(tips - tips.mean(axis=0), axis=1).mean()))
    middle = middles[int(np.argmin(np.abs(np.array(radii) - RADIUS)))]
    return _stable(context, Hypothesis(0, pin.SE3(DOWN, -DOWN @ middle), "spherical", fingers, "by hand"))


def asked(context: PlanningContext, goal: Goal, **options: float) -> PlanningContext:
    """The same setting with another wish."""
    other = copy(context)
    other.task = replace(context.task, goal=goal, options=replace(context.task.options, **options))
    return other


def start(grasp: HeldGrasp) -> Step:
    """The grasp as it stands, nothing lifted."""
    return Step(grasp.T_world_palm, grasp.held.q, grasp.held)


def _stable(context: PlanningContext, hypothesis: Hypothesis) -> HeldGrasp:
    grasp = try_hypothesis(context, hypothesis)
    assert isinstance(grasp, HeldGrasp), grasp
    return grasp
