"""Hand-arm approach: together, one after the other, and round an obstacle; stalls and collisions are noticed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest

from pliant.collision import Clearance, Obstacle, box, sphere
from pliant.errors import OptionError
from pliant.motion import (
    ApproachVariant,
    FrameTask,
    GraspPoint,
    JointLimits,
    MotionStatus,
    approach,
    drive_to,
    plan_joint_path,
    pregrasp_point,
    time_path,
)
from pliant.robot import load_assembly, tip_frame

FINGERS = ("finger_1", "finger_2", "thumb")


@pytest.fixture
def grasp(assembly):
    """Grasp points on a ball of 36 mm that the hand can hold elsewhere, in its parallel preshape."""
    q = assembly.q_home.copy()
    q[assembly.arm_joints] += [-0.5, 0.4, -0.3, 0.0, 0.3, 0.0]
    q = assembly.preshaped(q, assembly.hand.preshapes[0], 0.3)
    tips = {name: assembly.robot.pose(tip_frame(name), q).translation.copy() for name in FINGERS}
    centre = np.mean(list(tips.values()), axis=0)
    points = {}
    for name, tip in tips.items():
        normal = (tip - centre) / np.linalg.norm(tip - centre)
        points[name] = GraspPoint(tip - 0.03 * normal, normal)
    return points


def tip_errors(assembly, q, grasp, distance=0.03):
    return [
        np.linalg.norm(assembly.robot.pose(tip_frame(name), q).translation - pregrasp_point(point, distance))
        for name, point in grasp.items()
    ]


def keeps_limits(motion, limits):
    speeds = np.abs(np.diff(motion.q, axis=0)) / np.diff(motion.times)[:, None]
    return bool((speeds <= limits.speed * (1 + 1e-6)).all())


def test_pregrasp_points_lie_on_the_normal():
    np.testing.assert_allclose(pregrasp_point(GraspPoint([1, 2, 3], [0, 0, 2]), 0.05), [1, 2, 3.05])


def test_all_tips_arrive_together_and_sooner_than_one_after_the_other(assembly, grasp):
    limits = JointLimits.of(assembly.robot, acceleration=assembly.acceleration_limits)
    result = approach(assembly, assembly.q_home, grasp, limits=limits)
    assert result.variant is ApproachVariant.TOGETHER
    assert result.together.arrived
    assert result.sequential.arrived
    assert max(tip_errors(assembly, result.motion.q[-1], grasp)) <= 1e-3
    assert max(tip_errors(assembly, result.sequential.q[-1], grasp)) <= 1e-3
    assert keeps_limits(result.together, limits)
    assert keeps_limits(result.sequential, limits)
    assert result.time_saved == pytest.approx(result.sequential.duration - result.together.duration)
    assert result.together.duration < 0.8 * result.sequential.duration
    # Together: while the arm moves, so do the fingers.
    middle = len(result.motion.q) // 2
    step = np.abs(result.motion.q[middle + 1] - result.motion.q[middle])
    assert step[assembly.arm_joints].max() > 1e-4
    assert step[assembly.hand_joints].max() > 1e-4


def test_the_tips_travel_almost_on_straight_lines(assembly, grasp):
    result = approach(assembly, assembly.q_home, grasp)
    for name in FINGERS:
        way = np.array([assembly.robot.pose(tip_frame(name), q).translation for q in result.motion.q])
        line = way[-1] - way[0]
        line /= np.linalg.norm(line)
        off = (way - way[0]) - np.outer((way - way[0]) @ line, line)
        assert np.linalg.norm(off, axis=1).max() < 0.05 * np.linalg.norm(way[-1] - way[0])


def test_a_wall_in_the_way_is_noticed_and_gone_round(assembly, grasp):
    start = assembly.robot.pose("palm_frame", assembly.q_home).translation
    goal = np.mean([pregrasp_point(point, 0.03) for point in grasp.values()], axis=0)
    wall = Obstacle("wall", box(0.6, 0.02, 0.6), pin.SE3(np.eye(3), 0.5 * (start + goal)))
    clearance = Clearance(assembly.robot, [wall])
    result = approach(assembly, assembly.q_home, grasp, clearance=clearance)
    assert result.together.status is MotionStatus.COLLISION
    assert "wall" in result.together.reason
    assert result.variant is ApproachVariant.PLANNED
    assert result.motion.arrived
    assert max(tip_errors(assembly, result.motion.q[-1], grasp)) <= 1e-3
    assert clearance.along(result.motion.q).distance > 0.0
    assert np.isnan(result.time_saved)
    again = approach(assembly, assembly.q_home, grasp, clearance=clearance)
    np.testing.assert_array_equal(result.motion.q, again.motion.q)


def test_points_that_cannot_be_reached_are_reported_as_a_stall(assembly, grasp):
    """The thumb's point moved half a metre away from the others: no hand spans that."""
    thumb = grasp["thumb"]
    torn = grasp | {"thumb": GraspPoint(np.asarray(thumb.point) + np.array([0.0, 0.0, 0.5]), thumb.normal)}
    result = approach(assembly, assembly.q_home, torn, seeds=3)
    assert result.variant is ApproachVariant.NONE
    assert result.together.status is MotionStatus.STALLED
    assert "mm" in result.together.reason
    assert result.together.error_m > 0.05
    assert result.q_goal is None


def test_goal_inside_an_obstacle_has_no_way(assembly, grasp):
    centre = np.mean([pregrasp_point(point, 0.03) for point in grasp.values()], axis=0)
    blob = Obstacle("blob", sphere(0.25), pin.SE3(np.eye(3), centre))
    result = approach(assembly, assembly.q_home, grasp, clearance=Clearance(assembly.robot, [blob]), seeds=3)
    assert result.variant is ApproachVariant.NONE
    assert result.together.status is MotionStatus.COLLISION


def test_a_start_in_collision_is_said_to_be_one(assembly, grasp):
    blob = Obstacle("blob", sphere(0.05), assembly.robot.pose("palm_frame", assembly.q_home))
    result = approach(assembly, assembly.q_home, grasp, clearance=Clearance(assembly.robot, [blob]), seeds=1)
    assert result.variant is ApproachVariant.NONE
    assert result.together.status is MotionStatus.COLLISION
    assert result.motion.status is MotionStatus.NO_PATH
    assert "the start is in collision" in result.motion.reason


def test_broken_questions_are_refused(assembly, grasp):
    with pytest.raises(OptionError, match="closest: thumb"):
        approach(assembly, assembly.q_home, {"tumb": grasp["thumb"]})
    with pytest.raises(OptionError, match="normal not zero"):
        approach(assembly, assembly.q_home, {"thumb": GraspPoint([0, 0, 0], [0, 0, 0])})
    with pytest.raises(OptionError, match="has no arm"):
        hand = load_assembly(hand="schunk_sdh2")
        approach(hand, hand.q_home, grasp)


def test_a_joint_path_leads_round_a_bar_and_is_repeatable():
    """A plane with a bar from below: the straight line is blocked, the way over the top is not."""
    limits = JointLimits(np.full(2, -1.0), np.full(2, 1.0), np.ones(2), np.full(2, 4.0))

    def blocked(q):
        return bool(abs(q[0]) < 0.1 and q[1] < 0.6)

    start, goal = np.array([-0.8, -0.5]), np.array([0.8, -0.5])
    path = plan_joint_path(start, goal, blocked, limits, joints=np.arange(2), step=0.02)
    assert path is not None
    np.testing.assert_array_equal(path[0], start)
    np.testing.assert_array_equal(path[-1], goal)
    for a, b in pairwise(path):
        assert not any(blocked(a + s * (b - a)) for s in np.linspace(0, 1, 200))
    np.testing.assert_array_equal(path, plan_joint_path(start, goal, blocked, limits, joints=np.arange(2), step=0.02))
    assert plan_joint_path(start, np.array([0.0, 0.0]), blocked, limits, joints=np.arange(2)) is None
    sealed = plan_joint_path(start, goal, lambda q: abs(q[0]) < 0.1, limits, joints=np.arange(2), nodes=200)
    assert sealed is None


def test_a_timed_path_is_as_fast_as_the_closed_form_allows():
    """Trapezoid d / v + v / a when full speed is reached, 2 sqrt(d / a) when it is not; the slower joint decides."""
    limits = JointLimits(np.full(2, -9.0), np.full(2, 9.0), np.array([1.0, 2.0]), np.array([4.0, 4.0]))
    times, path = time_path(np.array([[0.0, 0.0], [2.0, 1.0]]), limits, dt=0.001)
    assert times[-1] == pytest.approx(2.0 / 1.0 + 1.0 / 4.0)
    speeds = np.diff(path, axis=0) / np.diff(times)[:, None]
    assert (np.abs(speeds) <= limits.speed * (1 + 1e-9)).all()
    changes = np.diff(speeds, axis=0) / np.diff(times)[1:, None]
    assert (np.abs(changes) <= limits.acceleration * 1.01).all()
    np.testing.assert_allclose(path[-1], [2.0, 1.0])
    assert time_path(np.array([[0.0, 0.0], [0.0, 0.16]]), limits)[0][-1] == pytest.approx(2 * np.sqrt(0.16 / 4.0))
    boundless = JointLimits(limits.lower, limits.upper, np.full(2, np.inf), np.full(2, np.inf))
    with pytest.raises(OptionError, match=r"joints \[1\] have neither a speed nor an acceleration limit"):
        time_path(np.array([[0.0, 0.0], [0.0, 0.16]]), boundless)


def test_without_acceleration_limits_a_tip_still_travels_straight(robot, q_work):
    """Joints that have nothing to do (those of the other fingers) say nothing about how fast the others may be."""
    tip = tip_frame("finger_1")
    begin = robot.pose(tip, q_work).translation
    goal = begin + np.array([0.05, 0.1, -0.1])
    task = FrameTask(tip, rows="position", basis="world")
    limits = JointLimits.of(robot, ramp_time=0.0)
    motion = drive_to(robot, [(task, pin.SE3(np.eye(3), goal))], q_work, limits=limits)
    assert motion.arrived and keeps_limits(motion, limits)
    way = np.array([robot.pose(tip, q).translation for q in motion.q]) - begin
    line = (goal - begin) / np.linalg.norm(goal - begin)
    assert np.linalg.norm(way - np.outer(way @ line, line), axis=1).max() < 2e-3


def test_a_goal_in_collision_is_no_arrival(robot, q_work):
    """Whatever step it is reached in: what is asked only at every third one may be missed."""
    tip = tip_frame("finger_1")
    goal = robot.pose(tip, q_work).translation + np.array([0.0, 0.02, 0.0])

    class AtTheGoal:
        def collision(self, q, *, margin):
            near = np.linalg.norm(robot.pose(tip, q).translation - goal) <= 1e-3
            return (tip, "wall") if near else None

    task = FrameTask(tip, rows="position", basis="world")
    target = [(task, pin.SE3(np.eye(3), goal))]
    motion = drive_to(robot, target, q_work, limits=JointLimits.of(robot), clearance=AtTheGoal())
    assert motion.status is MotionStatus.COLLISION
    assert f"'{tip}' meets 'wall'" in motion.reason
