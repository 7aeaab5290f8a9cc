"""Ball joints in the servo: three regular columns everywhere, and orientations followed where three angles fail."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.collision import Clearance, Obstacle, sphere
from pliant.motion import FrameTask, InverseKinematics, JointLimits, PathFunction, Servo, drive_to, record_points
from pliant.robot import Robot, parse_urdf

DT = 0.002
T_JOINT = pin.SE3(pin.rpy.rpyToMatrix(0.2, 0.3, 0.4), np.array([0.1, 0.2, 0.3]))
LIMIT = '<limit velocity="{speed}" effort="1"/>'


def ball(*, speed: float = 5.0) -> Robot:
    """One ball joint."""
    return Robot(
        parse_urdf(
            '<robot name="b"><link name="base"/><link name="head"/><joint name="neck" type="spherical">'
            '<parent link="base"/><child link="head"/><origin xyz="0.1 0.2 0.3" rpy="0.2 0.3 0.4"/>'
            f"{LIMIT.format(speed=speed)}</joint></robot>"
        )
    )


def plain(*, speed: float = 5.0) -> Robot:
    """The same three angles as joints of their own."""
    return Robot(parse_urdf(ball(speed=speed).urdf.to_xml()))


def reacher() -> Robot:
    """A cart in the plane, a ball joint on it, a slide on that: seven coordinates for a pose."""
    return Robot(
        parse_urdf(
            '<robot name="r"><link name="floor"/><link name="cart"/><link name="arm"/><link name="tip"/>'
            '<joint name="cart" type="planar"><parent link="floor"/><child link="cart"/><axis xyz="0 0 1"/></joint>'
            '<joint name="neck" type="spherical"><parent link="cart"/><child link="arm"/><origin xyz="0 0 0.5"/>'
            "</joint>"
            '<joint name="slide" type="prismatic"><parent link="arm"/><child link="tip"/><origin xyz="0 0 0.2"/>'
            '<axis xyz="0 0 1"/><limit lower="0" upper="0.4" velocity="1" effort="1"/></joint></robot>'
        )
    )


def turning(axis: np.ndarray) -> PathFunction:
    """One radian a second about an axis of the joint's base."""
    return PathFunction(lambda t: T_JOINT * pin.SE3(pin.exp3(t * axis), np.zeros(3)))


def missing_the_top_by(angle: float) -> PathFunction:
    """A turn in which the link's x axis, which yaw and pitch point, passes the vertical at this angle."""
    return turning(np.array([np.sin(angle), np.cos(angle), 0.0]))


def tumbling(t: float) -> pin.SE3:
    """Turns about all axes in an order that is not that of the angles, at rates without a common period."""
    x, y, z = np.eye(3)
    return T_JOINT * pin.SE3(pin.exp3(0.7 * t * x) @ pin.exp3(t * z) @ pin.exp3(0.3 * t * y), np.zeros(3))


@pytest.mark.parametrize("pitch", [0.4, np.pi / 2, -np.pi / 2])
def test_the_columns_are_the_finite_differences_of_small_turns_and_regular_at_the_top_too(pitch):
    robot = reacher()
    q = np.array([0.3, -0.2, 0.5, 0.7, pitch, -0.4, 0.1])
    servo = Servo(robot, [(FrameTask("tip", basis="world"), robot.pose("tip", q))], dt=1e-6)
    servo.observe(q, 0.0)
    J = servo.problem.jacobian.copy()
    for i, e in enumerate(np.eye(robot.dof)):
        before, after = robot.pose("tip", servo.moved(q, -e)), robot.pose("tip", servo.moved(q, e))
        linear = (after.translation - before.translation) / 2e-6
        angular = pin.log3(after.rotation @ before.rotation.T) / 2e-6
        np.testing.assert_allclose(J[:, i], [*linear, *angular], atol=1e-8)
    np.testing.assert_allclose(np.linalg.svd(J[3:, 3:6])[1], 1.0)  # three turns, square to each other


def test_the_columns_are_those_of_pinocchios_own_ball_joint():
    robot, tree = ball(), pin.Model()
    tree.addJoint(0, pin.JointModelSpherical(), T_JOINT, "neck")
    data, q = tree.createData(), np.array([0.7, -1.1, 2.0])
    quaternion = pin.Quaternion(pin.rpy.rpyToMatrix(*q[::-1])).coeffs()
    wanted = pin.computeJointJacobian(tree, data, quaternion, 1)
    servo = Servo(robot, [(FrameTask("head"), robot.pose("head", q))], dt=DT)
    servo.observe(q, 0.0)
    # Pinocchio's are about x, y, z; ours stand in the columns of yaw, pitch, roll.
    np.testing.assert_allclose(servo.problem.jacobian, wanted[:, ::-1], atol=1e-12)


@pytest.mark.parametrize("miss", [0.0, 1e-9, 1e-4, 0.01, 0.1])
def test_a_steady_turn_past_the_top_is_followed_exactly_by_a_ball_joint(miss):
    """R exp(w dt) is the turn itself: no error but rounding and the qp's damping."""
    robot = ball()
    worst, top, _ = follow(robot, missing_the_top_by(miss), "qp", steps=3200)
    assert worst < 1e-7
    assert top == pytest.approx(np.cos(miss), abs=1e-5)


def test_three_joints_of_their_own_lose_the_path_there():
    """What the ball joint is for: within 10 mrad of the top yaw would have to turn at 100 rad/s, 5 are allowed."""
    assert follow(plain(), missing_the_top_by(0.01), "qp", steps=3200)[0] > 0.1


@pytest.mark.parametrize("solver", ["qp", "pinv", "exclusion", "descent"])
def test_a_ball_joint_tumbles_with_the_error_of_an_ordinary_turn(solver):
    """Below |dw/dt| dt / (2 K) (theory 5.3); w' is at most 0.7 + 0.3 + 0.21 rad/s^2 for turns of 0.7, 1, 0.3 rad/s."""
    robot = ball()
    worst, _, speed = follow(robot, PathFunction(tumbling), solver, steps=6000)
    assert worst < 1.1 * 1.21 * DT / (2.0 * 20.0)
    assert speed < 2.0  # that of the path: 0.7 + 1 + 0.3


def follow(robot, path, solver, *, steps):
    """Largest rotation error [rad] and |sin(pitch)| after the first second, and largest speed [rad/s]."""
    servo = Servo(robot, [(FrameTask("head"), path)], dt=DT, solver=solver)
    q, worst, top, speed = np.zeros(3), 0.0, 0.0, 0.0
    for i in range(steps):
        qdot = servo.step(q, i * DT)
        if i > 500:  # the start from rest has decayed: exp(-20)
            worst = max(worst, float(servo.errors()[1][0]))
            top = max(top, abs(float(np.sin(q[1]))))
            speed = max(speed, float(np.linalg.norm(servo.speeds)))
        q = q + qdot * DT
    return worst, top, speed


def test_passing_straight_over_the_top_leaves_yaw_and_roll_alone():
    robot = ball()
    servo = Servo(robot, [(FrameTask("head"), missing_the_top_by(0.0))], dt=DT)
    q = np.zeros(3)
    for i in range(3200):
        q = q + servo.step(q, i * DT) * DT
    assert q[1] == pytest.approx(6.4, abs=1e-3)
    np.testing.assert_allclose(q[[0, 2]], 0.0, atol=1e-9)


def test_speed_limits_hold_the_angular_velocity_not_the_rates_of_the_angles():
    """Half a turn away from the goal near the top: every component of w reaches its limit and none exceeds it."""
    robot = ball(speed=0.5)
    q = np.array([0.3, np.pi / 2 - 1e-3, 0.0])
    goal = T_JOINT * pin.SE3(pin.rpy.rpyToMatrix(2.0, -1.0, 2.5), np.zeros(3))
    servo = Servo(robot, [(FrameTask("head"), goal)], dt=DT)
    fastest, rate = 0.0, 0.0
    for i in range(4000):
        before = robot.pose("head", q)
        qdot = servo.step(q, i * DT)
        rate = max(rate, np.abs(qdot).max())
        q = q + qdot * DT
        w = pin.log3(before.rotation.T @ robot.pose("head", q).rotation) / DT
        fastest = max(fastest, np.abs(w).max())
    assert fastest == pytest.approx(0.5, abs=1e-6)
    assert rate > 1.0
    assert servo.errors()[1][0] < 1e-6


def test_one_angle_alone_turns_as_that_angle():
    """With pitch and roll held the yaw is a joint as any other: its axis is the first of the three."""
    robot, q = ball(), np.array([0.2, 0.9, -0.4])
    goal = robot.pose("head", q + 0.5 * np.eye(3)[0])
    servo = Servo(robot, [(FrameTask("head"), goal)], dt=DT, joints=["neck.yaw"])
    for i in range(1000):
        q = q + servo.step(q, i * DT) * DT
    np.testing.assert_allclose(q, [0.7, 0.9, -0.4], atol=1e-6)


def test_points_between_which_angles_are_interpolated_are_refined_near_the_top():
    robot = ball()
    path = missing_the_top_by(0.02)
    array = record_points(robot, [(FrameTask("head"), path)], np.zeros(3), duration=3.0, tolerance_rad=1e-3)
    assert array.inserted > 0
    assert array.interpolation_rad <= 1e-3
    assert array.shortfall is None


def test_the_reacher_drives_to_poses_with_the_arm_across_and_upright():
    robot = reacher()
    limits = JointLimits.of(robot)
    for rpy, position in (((0.0, np.pi / 2, 0.3), [0.8, 0.4, 0.5]), ((np.pi / 2, 0.0, 1.0), [-0.5, 0.6, 0.5])):
        goal = pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array(position))
        motion = drive_to(robot, [(FrameTask("tip"), goal)], robot.mid_range, limits=limits)
        assert motion.arrived, motion.reason


def test_inverse_kinematics_finds_every_pose_of_a_compound_chain_the_singular_ones_too():
    robot = reacher()
    solver, rng = InverseKinematics(robot, "tip"), np.random.default_rng(0)
    for _ in range(200):
        q = robot.random_q(rng)
        assert solver.solve(robot.pose("tip", q)).found
        q[4] = np.copysign(np.pi / 2, q[4])
        assert solver.solve(robot.pose("tip", q)).found


def test_keep_out_distances_see_a_ball_joint_as_the_servo_does():
    """The barrier's row is the rate of the distance under a turn: a ball on a stick, an obstacle beside it."""
    tip = '<collision><origin xyz="0 0 0.5"/><geometry><sphere radius="0.05"/></geometry></collision>'
    robot = Robot(
        parse_urdf(
            f'<robot name="b"><link name="base"/><link name="stick">{tip}</link><joint name="neck" type="spherical">'
            '<parent link="base"/><child link="stick"/></joint></robot>'
        )
    )
    obstacle = Obstacle("other", sphere(0.1), pin.SE3(np.eye(3), np.array([0.4, 0.1, 0.5])))
    clearance = Clearance(robot, [obstacle], influence=1.0)
    q = np.array([0.4, np.pi / 2 - 1e-3, -0.3])
    servo = Servo(robot, [(FrameTask("stick"), robot.pose("stick", q))], dt=1e-6, clearance=clearance)
    servo.step(q, 0.0)
    A, _ = servo.problem.barrier
    for i, e in enumerate(np.eye(3)):
        ends = [clearance.nearest(servo.moved(q, sign * e)).distance for sign in (-1.0, 1.0)]
        assert A[0, i] == pytest.approx((ends[1] - ends[0]) / 2e-6, abs=1e-6)
