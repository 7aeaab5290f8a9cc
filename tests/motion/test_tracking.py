"""The tracking servo: no drift, predicted lag, moving bases, several frames, singularities."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import OptionError
from pliant.motion import (
    Carried,
    Circle,
    Eased,
    FigureEight,
    FrameTask,
    Gains,
    Hold,
    JointLimits,
    PathFunction,
    Servo,
)
from pliant.robot import Robot, load_arm, parse_urdf, tip_frame

TIPS = tuple(tip_frame(name) for name in ("finger_1", "finger_2", "thumb"))
DT = 0.002


def follow(servo, q, duration, *, dt=DT):
    """Integrate the servo's speeds; errors [m, rad] of every step, speeds, and the last joints."""
    errors, speeds = [], []
    for i in range(round(duration / dt)):
        qdot = servo.step(q, i * dt)
        errors.append([e.max() for e in servo.errors()])
        speeds.append(qdot.copy())
        q = q + qdot * dt
    return np.array(errors), np.array(speeds), q


def formation(robot, q, make):
    """The three finger tips moved as one body: each one's path in a common travelling frame at the palm."""
    T_world_palm = robot.pose("palm_frame", q)
    palm = Eased(make(T_world_palm), 0.5)
    return [(FrameTask(tip), Carried(Hold(T_world_palm.actInv(robot.pose(tip, q))), palm)) for tip in TIPS]


def circle(T):
    return Circle(T, centre=T.translation - [0.0, 0.12, 0.0], axis=[0.3, 0.1, 1.0], period=6.0)


def eight(T):
    return FigureEight(T, along=[0.12, 0.0, 0.03], across=[0.0, 0.06, 0.0], tilt=[0.2, -0.1, 0.15], period=8.0)


@pytest.mark.slow
@pytest.mark.parametrize("make", [circle, eight], ids=["circle", "eight"])
def test_sixty_seconds_of_three_finger_tips_do_not_drift(robot, q_work, make):
    """18 rows, 13 joints, 500 Hz: under 0.1 mm and 0.1 mrad, the last second no worse than the tenth."""
    servo = Servo(robot, formation(robot, q_work, make), dt=DT)
    errors, _, _ = follow(servo, q_work, 60.0)
    assert errors[500:, 0].max() < 1e-4
    assert errors[500:, 1].max() < 1e-4
    assert errors[:, 0].max() < 1e-4  # from rest, too
    # The tenth second and the last may fall on different parts of the path: compare whole periods around them.
    per_second = errors.reshape(60, -1, 2).max(axis=1)
    for column in (0, 1):
        assert per_second[52:, column].max() <= 1.02 * per_second[8:16, column].max() + 1e-12


@pytest.mark.parametrize("solver", ["pinv", "exclusion", "descent"])
def test_the_other_solvers_track_the_circle_as_well(robot, q_work, solver):
    servo = Servo(robot, formation(robot, q_work, circle), dt=DT, solver=solver)
    errors, _, _ = follow(servo, q_work, 3.0)
    assert errors.max() < 1e-4


def test_feed_forward_error_shrinks_with_the_step():
    """One joint of an arm along a circle: the remaining error is a dt / (2 K), first order in dt."""
    arm = load_arm("kawasaki_fs020n")
    robot, q = arm.robot, arm.q_home + np.array([0.0, 0.2, -0.3, 0.2, 0.4, 0.0])
    T = robot.pose("flange", q)
    radius, period, K = 0.1, 4.0, 20.0
    path = Circle(T, centre=T.translation - [0.0, radius, 0.0], axis=[0, 0, 1], period=period)
    limits = JointLimits.of(robot, ramp_time=0.0)
    predicted = radius * (2 * np.pi / period) ** 2 / (2 * K)
    for dt in (0.004, 0.002, 0.001):
        servo = Servo(robot, [(FrameTask("flange"), path)], dt=dt, gains=Gains(K, K), limits=limits)
        errors, _, _ = follow(servo, q, 2.0, dt=dt)
        assert errors[-1, 0] == pytest.approx(predicted * dt, rel=0.1)


@pytest.mark.parametrize("K", [5.0, 20.0])
def test_pure_feedback_lags_by_speed_over_gain(robot, q_work, K):
    """e = v / K along a straight line, w / K about a fixed axis."""
    T = robot.pose("palm_frame", q_work)
    v, w = np.array([0.0, -0.03, 0.02]), np.array([0.05, 0.0, -0.04])
    path = PathFunction(
        lambda t: pin.SE3(pin.exp3(w * t) @ T.rotation, T.translation + v * t), twist=lambda t: np.concatenate([v, w])
    )
    servo = Servo(robot, [(FrameTask("palm_frame"), path)], dt=DT, gains=Gains(K, K, feed_forward=False))
    errors, _, _ = follow(servo, q_work, 3.0)
    assert errors[-1, 0] == pytest.approx(np.linalg.norm(v) / K, rel=1e-3)
    assert errors[-1, 1] == pytest.approx(np.linalg.norm(w) / K, rel=1e-3)


def test_a_target_in_a_turning_travelling_frame_is_held_like_a_fixed_one(robot, q_work):
    """A conveyor that travels 50 mm/s and turns 0.2 rad/s about its own origin, 30 cm away from the palm."""
    T = robot.pose("palm_frame", q_work)
    v, w = np.array([0.03, -0.04, 0.0]), np.array([0.0, 0.0, 0.2])
    start = pin.SE3(np.eye(3), T.translation - [0.3, 0.0, 0.0])
    conveyor = PathFunction(
        lambda t: pin.SE3(pin.exp3(w * t), start.translation + v * t), twist=lambda t: np.concatenate([v, w])
    )
    task = FrameTask("palm_frame")
    limits = JointLimits.of(robot, ramp_time=0.0)
    moving = Servo(robot, [(task, Carried(Hold(start.actInv(T)), conveyor))], dt=DT, limits=limits)
    fixed = Servo(robot, [(task, T)], dt=DT, limits=limits)
    errors, _, _ = follow(moving, q_work, 3.0)
    still, _, _ = follow(fixed, q_work, 0.1)
    assert still.max() < 1e-12
    # The steps are straight, the way is curved: |w x v| dt / (2 K) and no more is left, 2 um here.
    assert errors[:, 0].max() < 5e-6
    assert errors[:, 1].max() < 5e-6


def test_a_target_in_another_links_frame_stays_there_while_that_link_moves(robot, q_work):
    """The arm draws a circle with the palm; the thumb's tip is to hold its place in the frame of finger 1's tip."""
    T_rel = robot.pose(TIPS[0], q_work).actInv(robot.pose(TIPS[2], q_work))
    palm = Eased(circle(robot.pose("palm_frame", q_work)), 0.5)
    related = FrameTask(TIPS[2], rows="position", basis="world", relative_to=TIPS[0])
    servo = Servo(robot, [(FrameTask("palm_frame"), palm), (related, T_rel)], dt=DT)
    errors, _, q = follow(servo, q_work, 4.0)
    assert errors.max() < 1e-4
    now = robot.pose(TIPS[0], q).actInv(robot.pose(TIPS[2], q))
    np.testing.assert_allclose(now.translation, T_rel.translation, atol=1e-6)
    assert np.linalg.norm(q[:6] - q_work[:6]) > 0.05


def test_turning_by_almost_half_a_turn_takes_the_short_way(robot, q_work):
    """3.1 rad about the flange axis: joint 6 turns by it, not by 2 pi - 3.1, for either sign of the quaternion."""
    arm = load_arm("kawasaki_fs020n")
    q = arm.q_home + np.array([0.0, 0.2, -0.3, 0.2, 0.4, 0.0])
    for angle in (3.1, -3.1):
        goal = q.copy()
        goal[5] += angle
        for sign in (1.0, -1.0):
            T = arm.robot.pose("flange", goal)
            quaternion = pin.Quaternion(T.rotation)
            flipped = pin.Quaternion(sign * quaternion.coeffs())
            servo = Servo(arm.robot, [(FrameTask("flange"), pin.SE3(flipped.toRotationMatrix(), T.translation))], dt=DT)
            errors, _, end = follow(servo, q, 2.5)
            assert errors[-1].max() < 1e-6
            np.testing.assert_allclose(end[5] - q[5], angle, atol=1e-4)


def test_an_error_of_exactly_half_a_turn_is_left_too(robot):
    arm = load_arm("kawasaki_fs020n")
    q = arm.q_home + np.array([0.0, 0.2, -0.3, 0.2, 0.4, 0.0])
    T = arm.robot.pose("flange", q)
    target = pin.SE3(T.rotation @ np.diag([-1.0, -1.0, 1.0]), T.translation)
    servo = Servo(arm.robot, [(FrameTask("flange"), target)], dt=DT)
    errors, _, _ = follow(servo, q, 3.0)
    assert errors[0, 1] == pytest.approx(np.pi)
    assert errors[-1].max() < 1e-6


@pytest.mark.parametrize("solver", ["pinv", "exclusion", "descent", "qp"])
@pytest.mark.parametrize("case", ["stretched elbow", "wrist flip"])
def test_singularities_are_passed_with_bounded_speed_and_without_nan(solver, case):
    """Out of reach and back again; straight through a stretched wrist. Afterwards the path is followed as before."""
    arm = load_arm("kawasaki_fs020n")
    robot = arm.robot
    if case == "stretched elbow":
        q = robot.q({"joint1": 1.57, "joint2": 1.0, "joint3": -0.5, "joint5": -0.8})
        T = robot.pose("flange", q)
        # 0.45 m outwards lies far beyond the reach; the same way back.
        target = FigureEight(T, along=[0.45, 0.0, 0.0], across=[0.0, 0.0, 0.0], period=12.0)
        duration, check_from = 8.0, 7.5
    else:
        q = robot.q({"joint1": 1.57, "joint2": 0.6, "joint3": -1.0, "joint4": 0.02, "joint5": -0.35})
        T = robot.pose("flange", q)
        # Tilting by 0.7 rad moves joint 5 from one side of zero to the other.
        axis = robot.jacobian("flange", q)[3:, 4]
        target = FigureEight(T, along=[0, 0, 0], across=[0, 0, 0], tilt=0.7 * axis, period=8.0)
        duration, check_from = 8.0, 7.9
    limits = JointLimits.of(robot)
    servo = Servo(robot, [(FrameTask("flange"), Eased(target, 0.5))], dt=DT, solver=solver, limits=limits)
    errors, speeds, q_end = follow(servo, q, duration + 0.25)
    assert np.isfinite(speeds).all()
    assert np.isfinite(q_end).all()
    if solver == "pinv":
        # |qdot| <= |V| / threshold, and |V| is at most the feed-forward plus K e.
        command = 0.45 * 2 * np.pi / 12.0 + 0.7 * 2 * np.pi / 8.0 + 20.0 * np.linalg.norm(errors, axis=1)
        assert (np.linalg.norm(speeds, axis=1) <= command / 0.02).all()
    else:
        assert (np.abs(speeds) <= robot.velocity_limits * (1 + 1e-9)).all()
    if case == "stretched elbow":
        assert errors[:, 0].max() > 0.05
    recovered = errors[round(check_from / DT) :]
    assert recovered.max() < 2e-3


def test_strict_priority_keeps_the_first_task_where_both_cannot_be_had(robot, q_work):
    """Tips sent half a metre apart: with priorities the first arrives, with weights neither."""
    goals = []
    for tip, shift in zip(TIPS[:2], ([0.0, 0.0, 0.25], [0.0, 0.0, -0.25]), strict=True):
        T = robot.pose(tip, q_work)
        goals.append(pin.SE3(T.rotation, T.translation + shift))
    left = {}
    for name, second in (("weights", 0), ("priorities", 1)):
        tasks = [FrameTask(TIPS[0], rows="position"), FrameTask(TIPS[1], rows="position", priority=second)]
        servo = Servo(robot, list(zip(tasks, goals, strict=True)), dt=DT)
        follow(servo, q_work, 4.0)
        left[name] = servo.errors()[0]
    assert left["priorities"][0] < 1e-4
    assert left["priorities"][1] > 0.03
    assert left["weights"].min() > 0.02


TORSO = """<robot name="torso"><link name="base"/><link name="torso"/>{arms}
  <joint name="waist" type="revolute"><parent link="base"/><child link="torso"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="2" effort="1"/></joint></robot>"""
ARM = """<link name="{s}1"/><link name="{s}2"/><link name="{s}3"/>
  <joint name="{s}j1" type="revolute"><parent link="torso"/><child link="{s}1"/><origin xyz="0 {y} 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="2" effort="1"/></joint>
  <joint name="{s}j2" type="revolute"><parent link="{s}1"/><child link="{s}2"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-2.5" upper="2.5" velocity="2" effort="1"/></joint>
  <joint name="{s}hand" type="fixed"><parent link="{s}2"/><child link="{s}3"/><origin xyz="0.3 0 0"/></joint>"""


def test_two_arms_on_one_torso_reach_what_neither_could_without_turning_it():
    """Targets of both hands come from one posture with the waist turned: the shared joint finds its value."""
    arms = ARM.format(s="l", y=0.2) + ARM.format(s="r", y=-0.2)
    robot = Robot(parse_urdf(TORSO.format(arms=arms)))
    wanted = robot.q({"waist": 0.7, "lj1": 0.3, "lj2": -0.8, "rj1": -0.4, "rj2": 1.1})
    start = robot.q({"lj1": 0.5, "lj2": -0.6, "rj1": -0.2, "rj2": 0.9})
    targets = [(FrameTask(hand), robot.pose(hand, wanted)) for hand in ("l3", "r3")]
    errors, _, q = follow(Servo(robot, targets, dt=DT), start, 3.0)
    assert errors[-1].max() < 1e-6
    np.testing.assert_allclose(q, wanted, atol=1e-4)


def test_priorities_order_the_rows_whatever_the_order_given(robot, q_work):
    low, high = FrameTask(TIPS[0], priority=3), FrameTask("palm_frame", priority=1)
    servo = Servo(robot, [(low, robot.pose(TIPS[0], q_work)), (high, robot.pose("palm_frame", q_work))], dt=DT)
    assert [task.link for task in servo.tasks] == ["palm_frame", TIPS[0]]
    servo.step(q_work, 0.0)
    assert max(e.max() for e in servo.errors()) < 1e-12


def test_direction_rows_leave_the_turn_about_the_axis_free(robot, q_work):
    T = robot.pose("palm_frame", q_work)
    goal = pin.SE3(
        T.rotation @ pin.exp3(np.array([0.3, -0.2, 0.0])) @ pin.exp3(np.array([0.0, 0.0, 2.0])), T.translation
    )
    servo = Servo(robot, [(FrameTask("palm_frame", rows="position+direction"), goal)], dt=DT)
    _, _, q = follow(servo, q_work, 2.0)
    end = robot.pose("palm_frame", q)
    np.testing.assert_allclose(end.rotation[:, 2], goal.rotation[:, 2], atol=1e-6)
    np.testing.assert_allclose(end.translation, goal.translation, atol=1e-6)
    assert np.linalg.norm(pin.log3(goal.rotation.T @ end.rotation)) > 1.0


@pytest.mark.parametrize("basis", ["world", "frame"])
def test_rows_that_do_not_count_are_left_out_of_the_error_too(robot, q_work, basis):
    """A target that differs from the pose along the free axis of the basis only is reached already."""
    T = robot.pose("palm_frame", q_work)
    axis = np.eye(3)[2] if basis == "world" else T.rotation[:, 2]
    task = FrameTask("palm_frame", rows="position", basis=basis, weights=(1, 1, 0, 1, 1, 1))
    servo = Servo(robot, [(task, pin.SE3(T.rotation, T.translation + 0.3 * axis))], dt=DT)
    servo.observe(q_work, 0.0)
    assert max(e.max() for e in servo.errors()) < 1e-12
    assert np.abs(servo.error[0]).max() == pytest.approx(0.3)


def test_only_the_named_joints_move(robot, q_work):
    fingers = [name for name in robot.joint_names if not name.startswith("joint")]
    T = robot.pose(TIPS[0], q_work)
    target = pin.SE3(T.rotation, T.translation + np.array([0.01, 0.005, 0.0]))
    servo = Servo(robot, [(FrameTask(TIPS[0], rows="position"), target)], dt=DT, joints=fingers)
    _, _, q = follow(servo, q_work, 1.0)
    np.testing.assert_array_equal(q[:6], q_work[:6])
    assert np.linalg.norm(q[6:] - q_work[6:]) > 0.01


def test_a_servo_can_be_given_another_target_while_it_runs(robot, q_work):
    task = FrameTask("palm_frame")
    T = robot.pose("palm_frame", q_work)
    servo = Servo(robot, [(task, T)], dt=DT)
    assert np.abs(servo.step(q_work, 0.0)).max() < 1e-9
    servo.retarget(task, pin.SE3(T.rotation, T.translation - [0.0, 0.0, 0.02]))
    errors, _, _ = follow(servo, q_work, 1.0)
    assert errors[0, 0] == pytest.approx(0.02)
    assert errors[-1, 0] < 1e-5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": 0.0}, "above zero"),
        ({"gains": Gains(1e6, 1.0)}, "unstable"),
        ({"solver": "simplex"}, "no solver 'simplex'"),
        ({"joints": ["joint9"]}, "no independent joint 'joint9'"),
        ({"joint_weights": np.zeros(13)}, "above zero"),
        ({"gains": [Gains(), Gains()]}, "one, or 1"),
    ],
)
def test_options_outside_their_range_are_refused(robot, q_work, options, message):
    with pytest.raises(OptionError, match=message):
        Servo(robot, [(FrameTask("palm_frame"), robot.pose("palm_frame", q_work))], **options)


def test_strict_priorities_are_refused_by_descent(robot, q_work):
    T = robot.pose("palm_frame", q_work)
    with pytest.raises(OptionError, match="strict priorities"):
        Servo(robot, [(FrameTask("palm_frame"), T), (FrameTask("link5", priority=1), T)], solver="descent")


def test_a_target_that_is_not_a_number_is_refused(robot, q_work):
    T = robot.pose("palm_frame", q_work)
    with pytest.raises(OptionError, match=r"target of 'palm_frame'.*NaN"):
        Servo(robot, [(FrameTask("palm_frame"), pin.SE3(T.rotation, np.array([np.nan, 0.0, 0.0])))])
    late = PathFunction(
        lambda t: T if t < 0.5 else pin.SE3(T.rotation, np.full(3, np.nan)), twist=lambda t: np.zeros(6)
    )
    servo = Servo(robot, [(FrameTask("palm_frame"), late)], dt=DT)
    servo.step(q_work, 0.0)
    with pytest.raises(OptionError, match=r"palm_frame.*t = 0.5 s.*finite"):
        servo.step(q_work, 0.5)
    with pytest.raises(OptionError, match=r"joint 'joint2'.*finite"):
        servo.step(np.where(np.arange(13) == 1, np.nan, q_work), 0.0)


def test_a_matrix_that_is_no_rotation_is_refused(robot, q_work):
    T = robot.pose("palm_frame", q_work)
    with pytest.raises(OptionError, match="not a rotation"):
        Servo(robot, [(FrameTask("palm_frame"), pin.SE3(1.1 * T.rotation, T.translation))])
