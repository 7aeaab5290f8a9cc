"""A part of the hand that holds nothing must not touch the object while it is moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from made_plans.ball import RADIUS, ball_plan
from pliant.contact import PreparedObject
from pliant.planner import Phase, PlannedGrasp, Reason
from pliant.planner.context import PlanningContext
from pliant.planner.manipulation import idle_touch
from pliant.robot import link_mesh

PALM = "housing"


@pytest.fixture(scope="module")
def context() -> PlanningContext:
    task = ball_plan(move=True).task
    material = task.body.material
    # contact is not asked for here: the quick half-space model does
    prepared = PreparedObject.of(task.body.mesh, young=material.young, poisson=material.poisson, model="halfspace")
    return PlanningContext(task, prepared)


def risen(grasp: PlannedGrasp, way: float) -> PlannedGrasp:
    """The same hand, but in the middle of the move the object comes nearer to the palm by ``way`` and goes back."""
    path = grasp.trajectory
    moving = [i for i, phase in enumerate(path.phases) if phase is Phase.MOVE]
    poses = path.object_poses.copy()
    poses[moving[len(moving) // 2], 2] += way
    return replace(grasp, trajectory=replace(path, object_poses=poses))


def gap_to_palm(context: PlanningContext, grasp: PlannedGrasp) -> float:
    """From the ball's centre to the palm's surface, less its radius, in the middle of the move [m]."""
    path = grasp.trajectory
    moving = [i for i, phase in enumerate(path.phases) if phase is Phase.MOVE]
    i = moving[len(moving) // 2]
    mesh = link_mesh(context.robot.urdf.link(PALM))
    assert mesh is not None
    T = context.robot.pose(PALM, path.q[i])
    corners = (mesh.vertices @ T.rotation.T + T.translation)[mesh.faces]
    centre = path.object_poses[i, :3]
    nearest = trimesh.triangles.closest_point(corners, np.tile(centre, (len(corners), 1)))
    return float(np.linalg.norm(nearest - centre, axis=1).min()) - RADIUS


def test_a_palm_that_the_object_meets_in_the_middle_of_a_move_is_found_and_named(context: PlanningContext) -> None:
    grasp = ball_plan(move=True).grasps[0]
    gap = gap_to_palm(context, grasp)
    assert 0.005 < gap < 0.05
    assert idle_touch(context, grasp) is None
    assert idle_touch(context, risen(grasp, gap - 1.5e-3)) is None
    touched = idle_touch(context, risen(grasp, gap + 1.5e-3))
    assert touched is not None
    assert touched.reason is Reason.IDLE_LINK_TOUCHES and PALM in touched.detail


def test_the_fingers_that_hold_may_touch(context: PlanningContext) -> None:
    grasp = ball_plan(move=True).grasps[0]
    path = grasp.trajectory
    held = [i for i, phase in enumerate(path.phases) if phase is Phase.MOVE]
    poses = path.object_poses.copy()
    poses[held, 1] += 1e-3  # further into a pad
    poses[held, 0] += 1e-3
    assert idle_touch(context, replace(grasp, trajectory=replace(path, object_poses=poses))) is None


def test_nothing_is_asked_of_a_grasp_without_a_move(context: PlanningContext) -> None:
    assert idle_touch(context, ball_plan().grasps[0]) is None


def test_the_gap_is_one_of_the_body_as_it_is_deformed(context: PlanningContext) -> None:
    """A bulge towards the palm counts: the same pose touches once the surface has come nearer."""
    grasp = ball_plan(move=True).grasps[0]
    near = risen(grasp, gap_to_palm(context, grasp) - 3e-3)
    assert idle_touch(context, near) is None
    up = context.body.mesh.vertices[:, 2] > 0.5 * RADIUS
    bulge = np.where(up[:, None], [0.0, 0.0, 4.5e-3], 0.0)
    states = tuple(replace(state, displacement=state.displacement + bulge) for state in near.states)
    assert idle_touch(context, replace(near, states=states)) is not None
