"""The straight way up, and free ways to the object or none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
from pinched_ball import among, gripper_grasp, gripper_setting, gripper_task

from pliant.objects import Mesh, make_shape
from pliant.planner import approach
from pliant.planner.approach import BEFORE, LIFT_STEP, ApproachPath, lift_path, path_length, path_to_open_hand
from pliant.planner.context import PlanningContext
from pliant.planner.depth_search import Failure
from pliant.robot import PALM_FRAME

IK = 1e-5
"""How exactly inverse kinematics meets a pose [m, rad]."""
CENTRE = np.array([0.5, 0.0, 0.3])


def box(size: tuple[float, float, float], place: tuple[float, float, float]) -> Mesh:
    return make_shape("box", size=size, edge=1.0).moved(place)


def high_start(height: float = 1.0) -> np.ndarray:
    q = gripper_task().q_start.copy()
    q[2] = height
    return q


def hand_up(height: float) -> tuple[np.ndarray, pin.SE3]:
    """The closed hand moved straight up from the grasp: joints and palm."""
    grasp = gripper_grasp()
    q, T = grasp.held.q.copy(), pin.SE3(grasp.T_world_palm)
    q[2] += height
    T.translation = T.translation + np.array([0.0, 0.0, height])
    return q, T


# -- lift ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("height", [0.004, 0.05, 0.123])
def test_the_palm_rises_straight_by_the_given_height_and_the_fingers_stay(height: float) -> None:
    context, grasp = gripper_setting(), gripper_grasp()
    path = lift_path(context, grasp.held.q, grasp.T_world_palm, height)
    assert isinstance(path, np.ndarray)
    np.testing.assert_array_equal(path[0], grasp.held.q)
    hand = context.assembly.hand_joints
    np.testing.assert_array_equal(path[:, hand], np.tile(grasp.held.q[hand], (len(path), 1)))
    palms = [context.robot.pose(PALM_FRAME, q) for q in path]
    for share, T in zip(np.linspace(0.0, 1.0, len(path)), palms, strict=True):
        rise = np.array([0.0, 0.0, share * height])
        np.testing.assert_allclose(T.translation, grasp.T_world_palm.translation + rise, atol=IK)
        np.testing.assert_allclose(T.rotation, grasp.T_world_palm.rotation, atol=IK)
    steps = np.diff([T.translation[2] for T in palms])
    assert steps.max() <= LIFT_STEP + 2 * IK


def test_no_height_is_no_lift() -> None:
    grasp = gripper_grasp()
    path = lift_path(gripper_setting(), grasp.held.q, grasp.T_world_palm, 0.0)
    np.testing.assert_array_equal(path, grasp.held.q[None])


def test_beyond_the_arms_reach_the_missing_height_is_told() -> None:
    """34 mm below the end of the vertical joint three steps of 10 mm are possible; 70 mm of 100 mm are missing."""
    context = gripper_setting()
    room = float(context.robot.upper[2]) - float(gripper_grasp().held.q[2])
    q, T = hand_up(room - 0.034)
    answer = lift_path(context, q, T, 0.1)
    assert isinstance(answer, Failure)
    assert answer.reason == "arm cannot lift so high"
    assert answer.margin == pytest.approx(0.07, abs=1e-12)
    assert answer.unit == "m"
    assert isinstance(lift_path(context, q, T, 0.03), np.ndarray)


def test_a_ceiling_over_the_hand_is_hit_when_the_lift_is_higher_than_the_room_below_it() -> None:
    grasp = gripper_grasp()
    context = among(box((0.3, 0.3, 0.01), (0.5, 0.0, 0.55)), q_start=high_start())
    heights = np.arange(0.0, 0.2, 5e-4)
    room = next(float(h) for h in heights if context.surroundings.collision(hand_up(float(h))[0]) is not None)
    assert 0.02 < room < 0.15
    free = lift_path(context, grasp.held.q, grasp.T_world_palm, room - 1e-3)
    assert isinstance(free, np.ndarray)
    answer = lift_path(context, grasp.held.q, grasp.T_world_palm, room + 1e-3)
    assert isinstance(answer, Failure)
    assert answer.reason == "hits something while lifting"
    assert "box" in answer.detail


# -- approach --------------------------------------------------------------------------------------------------


def assert_joins_freely(context: PlanningContext, way: ApproachPath | Failure, q_end: np.ndarray) -> None:
    """From the start to the given joints without a jump, and nothing collides at points less than 2 mm apart."""
    assert isinstance(way, ApproachPath), way
    points = way.points
    np.testing.assert_array_equal(points[0], context.task.q_start)
    np.testing.assert_array_equal(points[-1], q_end)
    np.testing.assert_array_equal(way.corners[-1], way.dense[0])
    np.testing.assert_array_equal(points[: len(way.corners)], way.corners)
    np.testing.assert_array_equal(points[len(way.corners) - 1 :], way.dense)
    assert context.robot.within_limits(points[0])
    assert all(context.robot.within_limits(q) for q in points)
    world = context.clearance_with_object(context.task.T_world_object)
    for a, b in pairwise(points):
        # a radian of a wrist or a metre of a slide moves no point of the small gripper by more than a metre
        for s in np.linspace(0.0, 1.0, max(2, int(np.ceil(np.abs(b - a).sum() / 2e-3)))):
            assert world.collision(a + s * (b - a)) is None


def open_hand_path(context: PlanningContext) -> ApproachPath | Failure:
    """To the open hand around the ball."""
    grasp, world = gripper_grasp(), context.clearance_with_object(context.task.T_world_object)
    return path_to_open_hand(context, grasp.q_open, grasp.T_world_palm, world)


def straight_beside(offset: float) -> np.ndarray:
    """The open hand as around the ball, moved along y: the fingers pass on both sides of the ball."""
    q = gripper_grasp().q_open.copy()
    q[1] += offset
    return q


def test_where_nothing_is_in_the_way_the_path_is_straight_in_joint_space() -> None:
    context, grasp = gripper_setting(), gripper_grasp()
    way = open_hand_path(context)
    assert_joins_freely(context, way, grasp.q_open)
    assert isinstance(way, ApproachPath)
    np.testing.assert_array_equal(way.points, [context.task.q_start, grasp.q_open])
    arm = context.assembly.arm_joints
    direct = np.linalg.norm((grasp.q_open - context.task.q_start)[arm])
    assert path_length(context, way.points) == pytest.approx(float(direct), rel=1e-12)


def test_where_the_ball_is_in_the_straight_way_the_hand_comes_down_on_it_along_the_approach() -> None:
    """From beside it along x a finger would have to pass through the ball."""
    grasp = gripper_grasp()
    q_start = grasp.q_open.copy()
    q_start[0] += 0.2
    context = among(q_start=q_start)
    way = open_hand_path(context)
    assert_joins_freely(context, way, grasp.q_open)
    assert isinstance(way, ApproachPath)
    assert len(way.dense) > 2
    palms = [context.robot.pose(PALM_FRAME, q) for q in way.dense]
    back = palms[0].translation - grasp.T_world_palm.translation
    np.testing.assert_allclose(back, -BEFORE[0] * grasp.T_world_palm.rotation[:, 2], atol=2 * IK)
    for T in palms:
        gone = T.translation - grasp.T_world_palm.translation
        np.testing.assert_allclose(np.cross(gone, back), 0.0, atol=2 * IK)
        np.testing.assert_allclose(T.rotation, grasp.T_world_palm.rotation, atol=2 * IK)


def test_a_ceiling_between_start_and_object_is_gone_around() -> None:
    grasp = gripper_grasp()
    context = among(box((0.3, 0.3, 0.01), (0.5, 0.0, 0.6)), q_start=high_start())
    world = context.clearance_with_object(context.task.T_world_object)
    middle = 0.5 * (context.task.q_start + grasp.q_open)
    assert world.collision(middle) is not None
    way = open_hand_path(context)
    assert_joins_freely(context, way, grasp.q_open)


def test_a_pole_that_passes_between_two_looks_is_not_run_into() -> None:
    """The straight way of 0.4 m is looked at every 40 mm; a finger meets the pole in the middle between two looks."""
    grasp = gripper_grasp()
    q_start = straight_beside(-0.4)
    free = among(q_start=q_start)
    way = open_hand_path(free)
    assert isinstance(way, ApproachPath)
    np.testing.assert_array_equal(way.points, [q_start, grasp.q_open])
    finger = free.robot.pose("left_finger", grasp.q_open)
    tip = box((0.001, 0.001, 0.02), (float(finger.translation[0]), -0.18, float(CENTRE[2])))
    context = among(tip, q_start=q_start)
    world = context.clearance_with_object(context.task.T_world_object)
    looks = [world.collision(straight_beside(-0.04 * k)) for k in range(11)]
    assert looks == [None] * 11
    assert any(world.collision(straight_beside(y)) for y in np.arange(-0.4, 0.0, 0.001))
    assert_joins_freely(context, open_hand_path(context), grasp.q_open)


def test_an_open_hand_in_an_obstacle_is_refused_at_once_and_named() -> None:
    context = among(box((0.05, 0.05, 0.05), (0.55, 0.0, 0.31)), q_start=high_start())
    answer = open_hand_path(context)
    assert isinstance(answer, Failure)
    assert answer.reason == "open hand or arm hits something"
    assert "finger" in answer.detail and "box" in answer.detail


def test_a_ball_in_a_closed_room_has_no_way_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six walls around ball and open hand. However long it is sampled there is none; here it is not sampled long."""
    grasp = gripper_grasp()
    sample = approach.plan_joint_path
    monkeypatch.setattr(approach, "plan_joint_path", lambda *args, nodes, **more: sample(*args, nodes=60, **more))
    inner, thick = 0.15, 0.01
    middle = CENTRE + np.array([0.0, 0.0, 0.06])
    walls = []
    for axis in range(3):
        size = np.full(3, 2 * inner + 4 * thick)
        size[axis] = thick
        for side in (-1, 1):
            place = middle.copy()
            place[axis] += side * (inner + 0.5 * thick)
            walls.append(box(tuple(size), tuple(place)))
    context = among(*walls, q_start=high_start())
    assert context.surroundings.collision(grasp.q_open) is None
    answer = open_hand_path(context)
    assert isinstance(answer, Failure)
    assert answer.reason == "no free way to the object"
    # without the roof there is one
    open_above = among(*walls[:-1], q_start=high_start())
    assert_joins_freely(open_above, open_hand_path(open_above), grasp.q_open)
