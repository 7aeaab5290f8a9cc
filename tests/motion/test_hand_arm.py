"""Hand-arm approach: arm and fingers together, one after the other; stalls and collisions are noticed; joint paths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest

from pliant.collision import Clearance, Obstacle, box, sphere
from pliant.errors import OptionError
from pliant.motion import (
    FrameTask,
    JointLimits,
    MotionStatus,
    QpSolver,
    VelocityProblem,
    arm_then_fingers,
    drive_hand_and_arm,
    drive_to,
    plan_joint_path,
    time_path,
)
from pliant.robot import load_assembly, tip_frame

FINGERS = ("finger_1", "finger_2", "thumb")


@pytest.fixture
def q_end(assembly):
    """The hand half closed elsewhere, in its parallel preshape."""
    q = assembly.q_home.copy()
    q[assembly.arm_joints] += [-0.5, 0.4, -0.3, 0.0, 0.3, 0.0]
    return assembly.preshaped(q, assembly.hand.preshapes[0], 0.3)


@pytest.fixture
def limits(assembly):
    return JointLimits.of(assembly.robot, acceleration=assembly.acceleration_limits)


def keeps_limits(times, path, limits):
    speeds = np.diff(path, axis=0) / np.diff(times)[:, None]
    changes = np.diff(speeds, axis=0) / np.diff(times)[1:, None]
    fast = (np.abs(speeds) <= limits.speed * (1 + 1e-6)).all()
    return bool(fast and (np.abs(changes) <= limits.acceleration * 1.01).all())


@pytest.mark.parametrize("tip_targets", ["position", "pose"])
def test_arm_and_fingers_arrive_together_in_the_joints_asked_for_sooner_than_one_after_the_other(
    assembly, q_end, limits, tip_targets
):
    motion = drive_hand_and_arm(assembly, assembly.q_home, q_end, limits=limits, tip_targets=tip_targets)
    assert motion.arrived, motion.reason
    np.testing.assert_array_equal(motion.q[0], assembly.q_home)
    np.testing.assert_allclose(motion.q[-1], q_end, atol=1e-4)
    times, path = arm_then_fingers(assembly, np.array([assembly.q_home, q_end]), limits)
    np.testing.assert_allclose(path[-1], q_end)
    assert keeps_limits(motion.times, motion.q, limits)
    assert keeps_limits(times, path, limits)
    assert motion.duration < 0.8 * times[-1]
    # Together: while the arm moves, so do the fingers.
    middle = len(motion.q) // 2
    step = np.abs(motion.q[middle + 1] - motion.q[middle])
    assert step[assembly.arm_joints].max() > 1e-4
    assert step[assembly.hand_joints].max() > 1e-4


def test_one_after_the_other_takes_the_time_of_both_and_never_moves_both(assembly, q_end, limits):
    corners = np.array([assembly.q_home, q_end])
    arm, hand = corners.copy(), corners.copy()
    arm[1, assembly.hand_joints] = arm[0, assembly.hand_joints]
    hand[0, assembly.arm_joints] = hand[1, assembly.arm_joints]
    times, path = arm_then_fingers(assembly, corners, limits)
    assert times[-1] == pytest.approx(time_path(arm, limits)[0][-1] + time_path(hand, limits)[0][-1])
    moved = np.abs(np.diff(path, axis=0)) > 1e-12
    both = moved[:, assembly.arm_joints].any(axis=1) & moved[:, assembly.hand_joints].any(axis=1)
    assert not both.any()


def test_without_a_pull_of_the_joints_the_tips_travel_almost_on_straight_lines(assembly, q_end, limits):
    """With it they bend, and arrive sooner: straight lines of the tips are detours in the joints."""
    motions = {
        weight: drive_hand_and_arm(assembly, assembly.q_home, q_end, limits=limits, posture_weight=weight)
        for weight in (5e-3, 1.0)
    }
    bends = {}
    for weight, motion in motions.items():
        assert motion.arrived
        bends[weight] = 0.0
        for name in FINGERS:
            way = np.array([assembly.robot.pose(tip_frame(name), q).translation for q in motion.q])
            line = way[-1] - way[0]
            length = np.linalg.norm(line)
            off = (way - way[0]) - np.outer((way - way[0]) @ line, line) / length**2
            bends[weight] = max(bends[weight], float(np.linalg.norm(off, axis=1).max() / length))
    assert bends[5e-3] < 0.05 < bends[1.0]
    assert motions[1.0].duration < motions[5e-3].duration


def test_poses_keep_the_tips_nearer_to_the_shortest_rotation_than_positions(assembly, q_end, limits):
    worst = {}
    for targets in ("position", "pose"):
        motion = drive_hand_and_arm(
            assembly, assembly.q_home, q_end, limits=limits, tip_targets=targets, posture_weight=5e-3
        )
        assert motion.arrived
        worst[targets] = 0.0
        for name in FINGERS:
            turns = [assembly.robot.pose(tip_frame(name), q).rotation.copy() for q in motion.q]
            whole = pin.log3(turns[0].T @ turns[-1])
            for R in turns:
                part = pin.log3(turns[0].T @ R)
                along = whole * (part @ whole) / (whole @ whole)
                worst[targets] = max(
                    worst[targets], float(np.linalg.norm(pin.log3(pin.exp3(along).T @ pin.exp3(part))))
                )
    assert worst["pose"] < 0.5 * worst["position"]


def test_half_a_turn_away_the_posture_tells_the_tips_which_way_to_turn(assembly, limits):
    """Over an object on a table: the wrist turns by 2.4 rad, the fingers by another 1.05 rad, two of them further and
    one less far than the wrist; by the shortest rotations of their own they would turn against each other.
    """
    arm = [1.57, 0.35, -2.03, 0.0, -0.76, 2.36]
    q_end = np.array([*arm, 1.05, -0.47, 0.35, -0.47, 0.35, -0.47, 0.35])
    motion = drive_hand_and_arm(assembly, assembly.q_home, q_end, limits=limits, tip_targets="pose")
    assert motion.arrived, motion.reason
    np.testing.assert_allclose(motion.q[-1], q_end, atol=1e-4)


def test_tips_at_their_places_with_other_joints_are_no_arrival(assembly, q_end, limits):
    """Goals that the posture does not fit."""
    tips = [tip_frame(name) for name in FINGERS]
    places = assembly.robot.poses(tips, q_end)
    other = q_end.copy()
    other[assembly.arm_joints[-1]] += 0.3
    goals = [(FrameTask(tip, rows="position", basis="world"), T) for tip, T in zip(tips, places, strict=True)]
    motion = drive_to(assembly.robot, goals, assembly.q_home, limits=limits, posture=other)
    assert motion.status is MotionStatus.STALLED
    assert motion.error_m < 5e-3
    assert "joint '" in motion.reason


def test_a_wall_in_the_way_is_noticed_and_named(assembly, q_end, limits):
    start, goal = (assembly.robot.pose("palm_frame", q).translation.copy() for q in (assembly.q_home, q_end))
    wall = Obstacle("wall", box(0.6, 0.02, 0.6), pin.SE3(np.eye(3), 0.5 * (start + goal)))
    clearance = Clearance(assembly.robot, [wall])
    motion = drive_hand_and_arm(assembly, assembly.q_home, q_end, limits=limits, clearance=clearance)
    assert motion.status is MotionStatus.COLLISION
    assert "meets 'wall'" in motion.reason


def test_a_start_in_collision_is_a_collision_at_once(assembly, q_end, limits):
    blob = Obstacle("blob", sphere(0.05), assembly.robot.pose("palm_frame", assembly.q_home))
    clearance = Clearance(assembly.robot, [blob])
    motion = drive_hand_and_arm(assembly, assembly.q_home, q_end, limits=limits, clearance=clearance)
    assert motion.status is MotionStatus.COLLISION
    assert motion.duration == 0.0


def test_preferred_speeds_fill_what_the_rows_leave_open():
    """Within wide limits the answer is p + J^T (J J^T + d^2 I)^-1 (V - J p)."""
    rng = np.random.default_rng(3)
    J, V, p = rng.normal(size=(3, 5)), rng.normal(size=3), rng.normal(size=5)
    wide = JointLimits(np.full(5, -1e3), np.full(5, 1e3), np.full(5, 1e3), np.full(5, np.inf))
    problem = VelocityProblem.of(J, V, wide, np.zeros(5))
    problem.preferred = p
    for d in (1e-3, 0.5):
        expected = p + J.T @ np.linalg.solve(J @ J.T + d**2 * np.eye(3), V - J @ p)
        np.testing.assert_allclose(QpSolver(damping=d).solve(problem).qdot, expected, atol=1e-7)


def test_wrong_questions_name_what_is_wrong(assembly, q_end, limits):
    with pytest.raises(OptionError, match=r"(?s)tumb.*closest: thumb"):
        drive_hand_and_arm(assembly, assembly.q_home, q_end, limits=limits, fingers=("tumb",))
    hand = load_assembly(None, "schunk_sdh2")
    with pytest.raises(OptionError, match="has no arm"):
        drive_hand_and_arm(hand, hand.q_home, hand.q_home, limits=JointLimits.of(hand.robot))


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
    assert motion.arrived
    speeds = np.abs(np.diff(motion.q, axis=0)) / np.diff(motion.times)[:, None]
    assert (speeds <= limits.speed * (1 + 1e-6)).all()
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
