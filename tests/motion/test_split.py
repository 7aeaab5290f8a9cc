"""Chains split at links: each part under its own setpoints, the parts before it as a moving base."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import OptionError
from pliant.motion import Circle, Eased, FrameTask, Gains, PathFunction, PathStatus, Servo, SplitServo, record_points
from pliant.robot import Robot, parse_urdf, tip_frame

DT = 0.002
TIPS = tuple(tip_frame(name) for name in ("finger_1", "finger_2", "thumb"))


@pytest.fixture
def targets(robot, q_work):
    """The palm goes round a circle of 6 mm while a finger tip stays where it is in the world."""
    T = robot.pose("palm_frame", q_work)
    palm = Eased(Circle(T, centre=T.translation - [0.0, 0.006, 0.0], axis=[0, 0, 1], period=3.0), 0.5)
    return [(FrameTask(TIPS[0], rows="position"), robot.pose(TIPS[0], q_work)), (FrameTask("palm_frame"), palm)]


def follow(servo, q, steps):
    worst, path = np.zeros(2), [q]
    for i in range(steps):
        q = q + servo.step(q, i * DT) * DT
        worst = np.maximum(worst, [e.max() for e in servo.errors()])
        path.append(q)
    return worst, np.array(path)


def test_a_split_chain_serves_each_part_by_its_own_joints(robot, q_work, targets):
    """The arm moves exactly as if the fingers were not there; the fingers make up for it."""
    worst, path = follow(SplitServo(robot, "palm", targets, dt=DT), q_work, 1500)
    assert worst[0] < 1e-4
    assert np.abs(path[-1, 6:] - q_work[6:]).max() > 0.01
    arm = Servo(Robot(robot.urdf), targets[1:], dt=DT, joints=robot.joint_names[:6])
    alone = follow(arm, q_work, 1500)[1]
    np.testing.assert_allclose(path[:, :6], alone[:, :6], atol=1e-12)
    together = follow(Servo(robot, targets, dt=DT), q_work, 1500)[1]
    assert np.abs(together[:, :6] - alone[:, :6]).max() > 1e-6  # unsplit, the tip's target pulls at the arm as well


def test_without_making_up_for_its_base_the_second_part_would_lag(robot, q_work, targets):
    """The tip's own servo sees the moving base only as an error: it follows at v / K (theory 5.3)."""
    split = follow(SplitServo(robot, "palm", targets, dt=DT), q_work, 1500)[0]
    before = Servo(robot, targets[1:], dt=DT, joints=robot.joint_names[:6])
    after = Servo(robot, targets[:1], dt=DT, joints=robot.joint_names[6:])
    q, worst = q_work, 0.0
    for i in range(1500):
        q = q + (before.step(q, i * DT).copy() + after.step(q, i * DT)) * DT
        worst = max(worst, after.errors()[0].max())
    v = 2.0 * np.pi * 0.006 / 3.0
    assert worst == pytest.approx(v / 20.0, rel=0.1)
    assert split[0] < 0.1 * worst


def test_three_parts_of_a_chain(robot, q_work):
    """Base and shoulder hold the elbow, the wrist holds the palm's orientation, the fingers their tip."""
    names = list(robot.joint_names)
    elbow = robot.urdf.joint(names[2]).child
    q = q_work
    tasks = [
        (FrameTask(elbow, rows="position"), robot.pose(elbow, q)),
        (FrameTask("palm", rows="orientation"), robot.pose("palm", q)),
        (FrameTask(TIPS[2], rows="position", relative_to="palm"), robot.pose("palm", q).actInv(robot.pose(TIPS[2], q))),
    ]
    servo = SplitServo(robot, [elbow, "palm"], tasks, dt=DT, gains=[Gains(10.0), Gains(20.0), Gains(30.0)])
    assert [[int(i) for i in np.flatnonzero(part.problem.free)] for part in servo.parts] == [
        [0, 1, 2],
        [3, 4, 5],
        list(range(6, 13)),
    ]
    assert [float(part.jacobian.rows["gain_linear"][0]) for part in servo.parts] == [10.0, 20.0, 30.0]
    start = q + 0.05 * np.cos(np.arange(13))
    path = follow(servo, start, 1500)[1]
    servo.observe(path[-1], 0.0)
    assert max(e.max() for e in servo.errors()) < 1e-4


def test_a_split_chain_writes_points_on_both_paths(robot, q_work, targets):
    array = record_points(robot, targets, q_work, duration=0.6, split=("palm",), every=0.1)
    assert array.status is PathStatus.FOLLOWED
    assert array.point_m < 1e-9


@pytest.fixture
def two_balls():
    """A head on a ball joint, a hand on it on another."""
    text = (
        '<robot name="r"><link name="base"/><link name="head"/><link name="hand"/>'
        '<joint name="neck" type="spherical"><parent link="base"/><child link="head"/></joint>'
        '<joint name="wrist" type="spherical"><parent link="head"/><child link="hand"/><origin xyz="0.1 0 0"/></joint>'
        "</robot>"
    )
    return Robot(parse_urdf(text))


def test_a_ball_joint_before_the_split_is_made_up_for(two_balls):
    """The head tumbles, the hand keeps its orientation in the world."""
    path = PathFunction(lambda t: pin.SE3(pin.exp3(np.array([0.2, 0.9, 0.1]) * t), np.zeros(3)))
    still = (FrameTask("hand", rows="orientation"), pin.SE3.Identity())
    servo = SplitServo(two_balls, "head", [(FrameTask("head"), path), still], dt=DT)
    q, worst = np.zeros(6), 0.0
    for i in range(3000):
        q = q + servo.step(q, i * DT) * DT
        worst = max(worst, servo.errors()[1][1] if i > 500 else 0.0)  # after the start from rest
    assert worst < 1e-6
    assert abs(np.sin(q[1])) > 0.1


def test_so_is_one_angle_of_it_alone(two_balls):
    """Only the neck's yaw may move, with the head pitched and rolled: no ball joint, but a turn about one axis."""
    q = np.array([0.2, 0.9, -0.4, 0.0, 0.0, 0.0])
    T, still = two_balls.pose("head", q), (FrameTask("hand", rows="orientation"), two_balls.pose("hand", q))
    path = PathFunction(lambda t: pin.SE3(pin.exp3(np.array([0.0, 0.0, 0.5 * t])) @ T.rotation, T.translation))
    joints = ["neck.yaw", "wrist.yaw", "wrist.pitch", "wrist.roll"]
    servo = SplitServo(two_balls, "head", [(FrameTask("head"), path), still], dt=DT, joints=joints)
    worst = np.zeros(2)
    for i in range(1500):
        q = q + servo.step(q, i * DT) * DT
        worst = np.maximum(worst, servo.errors()[1] if i > 500 else 0.0)
    assert worst.max() < 1e-6
    np.testing.assert_allclose(q[:3], [0.2 + 1500 * 0.5 * DT, 0.9, -0.4], atol=1e-3)


@pytest.mark.parametrize(
    ("at", "kept", "message"),
    [
        ("palm", [0], "no frame belongs to the part up to 'palm'"),
        ("palm", [1], "no frame belongs to the part beyond 'palm'"),
        (["palm", "palm_frame"], [0, 1], "no joint moves 'palm_frame' that is not in the part before it"),
        ("pal", [0, 1], "no link 'pal'"),
    ],
)
def test_a_split_that_makes_no_sense_is_refused(robot, targets, at, kept, message):
    with pytest.raises(OptionError, match=message):
        SplitServo(robot, at, [targets[i] for i in kept], dt=DT)


def test_a_split_at_the_end_of_a_chain_is_refused(q_work):
    robot = Robot(
        parse_urdf(
            '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>'
            '<child link="b"/></joint></robot>'
        )
    )
    with pytest.raises(OptionError, match="no joint lies beyond 'b'"):
        SplitServo(robot, "b", [(FrameTask("b"), pin.SE3.Identity())])
