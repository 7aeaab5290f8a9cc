"""The stacked velocity Jacobian against finite differences, Pinocchio, and the structure printed in [B]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import OptionError
from pliant.motion import FrameTask, StackedJacobian
from pliant.robot import Robot, load_hand, parse_urdf, tip_frame

TIPS = tuple(tip_frame(name) for name in ("finger_1", "finger_2", "thumb"))


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def turned(R):
    """H: both halves of a twist into other axes."""
    return np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])


def finite_differences(stack, q, reference=None, step=1e-6):
    """d pose / d q in world axes: origin and rotation vector, optionally as seen from a reference link."""
    J = np.zeros((6 * len(stack.tasks), stack.robot.dof))

    def poses(x):
        seen = stack.poses(x)
        if reference is None:
            return seen
        T = stack.robot.pose(reference, x)
        return [T.actInv(pose) for pose in seen]

    for i in range(stack.robot.dof):
        delta = np.zeros(stack.robot.dof)
        delta[i] = step
        for k, (after, before) in enumerate(zip(poses(q + delta), poses(q - delta), strict=True)):
            J[6 * k : 6 * k + 3, i] = (after.translation - before.translation) / (2 * step)
            J[6 * k + 3 : 6 * k + 6, i] = pin.log3(after.rotation @ before.rotation.T) / (2 * step)
    return J


@pytest.mark.parametrize("number", range(5))
def test_world_jacobian_equals_finite_differences(robot, number):
    q = robot.random_q(np.random.default_rng(number))
    stack = StackedJacobian(robot, [FrameTask(tip, basis="world") for tip in TIPS])
    # Wanted to 1e-6; the central difference itself is good to 1e-9 here.
    np.testing.assert_allclose(stack.at(q), finite_differences(stack, q), atol=1e-8)


@pytest.mark.parametrize("name", ["allegro_like", "parallel_gripper", "schunk_sdh2"])
def test_every_link_of_every_shipped_hand_equals_finite_differences(name):
    hand = load_hand(name).robot
    q = hand.random_q(np.random.default_rng(1))
    stack = StackedJacobian(hand, [FrameTask(link, basis="world") for link in hand.link_names])
    np.testing.assert_allclose(stack.at(q), finite_differences(stack, q), atol=1e-8)


def test_own_axes_and_another_links_axes_are_the_world_jacobian_turned(robot):
    q = robot.random_q(np.random.default_rng(7))
    world = StackedJacobian(robot, [FrameTask(TIPS[0], basis="world")]).at(q)
    own = StackedJacobian(robot, [FrameTask(TIPS[0])]).at(q)
    other = StackedJacobian(robot, [FrameTask(TIPS[0], basis="link3")]).at(q)
    np.testing.assert_allclose(own, turned(robot.pose(TIPS[0], q).rotation.T) @ world, atol=1e-14)
    np.testing.assert_allclose(other, turned(robot.pose("link3", q).rotation.T) @ world, atol=1e-14)


def test_twist_of_a_shifted_frame_is_the_twist_transported(robot):
    """(v, w) -> (v + w x r, w), r from the old point to the new one.   (theory 5.1)"""
    q = robot.random_q(np.random.default_rng(8))
    T_link_frame = pin.SE3(pin.exp3(np.array([0.3, -0.8, 0.5])), np.array([0.04, -0.02, 0.11]))
    at_link = StackedJacobian(robot, [FrameTask("palm", basis="world")]).at(q)
    at_frame = StackedJacobian(robot, [FrameTask("palm", T_link_frame, basis="world")]).at(q)
    r = robot.pose("palm", q).rotation @ T_link_frame.translation
    R = np.block([[np.eye(3), -skew(r)], [np.zeros((3, 3)), np.eye(3)]])
    np.testing.assert_allclose(at_frame, R @ at_link, atol=1e-14)


def test_relative_jacobian_sees_only_the_joints_between(robot):
    q = robot.random_q(np.random.default_rng(9))
    stack = StackedJacobian(robot, [FrameTask(TIPS[0], basis="palm", relative_to="palm")])
    J = stack.at(q)
    np.testing.assert_allclose(J, finite_differences(stack, q, reference="palm"), atol=1e-8)
    assert not J[:, :6].any()


def test_relative_jacobian_of_one_finger_tip_seen_from_another(robot):
    q = robot.random_q(np.random.default_rng(10))
    stack = StackedJacobian(robot, [FrameTask(TIPS[0], basis=TIPS[2], relative_to=TIPS[2])])
    np.testing.assert_allclose(stack.at(q), finite_differences(stack, q, reference=TIPS[2]), atol=1e-8)


def test_unfolded_stack_has_the_block_structure_of_b(robot):
    """[B]: 18 x 14, each finger's columns zero in the other fingers' rows; each finger's rows see arm and finger."""
    loose = Robot(replace(robot.urdf, joints=tuple(replace(joint, mimic=None) for joint in robot.urdf.joints)))
    J = StackedJacobian(loose, [FrameTask(tip, basis="world") for tip in TIPS]).at(
        loose.random_q(np.random.default_rng(11))
    )
    assert J.shape == (18, 14)
    arm = [name.startswith("joint") for name in loose.joint_names]
    assert sum(arm) == 6
    for k, tip in enumerate(TIPS):
        rows = J[6 * k : 6 * k + 6]
        moving = loose.joints_moving(tip)
        assert moving.sum() == 6 + {0: 3, 1: 3, 2: 2}[k]
        assert moving[arm].all()
        assert not rows[:, ~moving].any()
        assert (np.linalg.norm(rows[:, moving], axis=0) > 1e-3).all()


def test_folded_stack_has_the_coupled_rotations_in_one_column(robot):
    """14 -> 13: the follower's column is added to its master's, J = J_full @ fold."""
    q = robot.random_q(np.random.default_rng(12))
    loose = Robot(replace(robot.urdf, joints=tuple(replace(joint, mimic=None) for joint in robot.urdf.joints)))
    tasks = [FrameTask(tip, basis="world") for tip in TIPS]
    J = StackedJacobian(robot, tasks).at(q)
    J_full = StackedJacobian(loose, tasks).at(robot.full(q))
    assert J.shape == (18, 13)
    np.testing.assert_allclose(J, J_full @ robot.fold, atol=1e-14)
    coupled = J[:, robot.joint_index("base_rotation")]
    assert np.linalg.norm(coupled[:6]) > 0.1
    assert np.linalg.norm(coupled[6:12]) > 0.1
    assert not coupled[12:].any()


def test_stack_equals_pinocchios_frame_jacobians(robot):
    q = robot.random_q(np.random.default_rng(13))
    J = StackedJacobian(robot, [FrameTask(link, basis="world") for link in robot.link_names]).at(q)
    expected = np.vstack([robot.jacobian(link, q) for link in robot.link_names])
    np.testing.assert_allclose(J, expected, atol=1e-13)


def test_sliding_joints_and_a_follower_with_another_ratio_fold_in():
    """Two sliding jaws, the second at minus half the first: closed form."""
    urdf = parse_urdf(
        """<robot name="jaws"><link name="base"/><link name="left"/><link name="right"/>
        <joint name="l" type="prismatic"><parent link="base"/><child link="left"/><axis xyz="0 1 0"/>
          <limit lower="0" upper="0.1" velocity="1" effort="1"/></joint>
        <joint name="r" type="prismatic"><parent link="base"/><child link="right"/><axis xyz="0 1 0"/>
          <limit lower="-0.1" upper="0.1" velocity="1" effort="1"/><mimic joint="l" multiplier="-0.5"/></joint>
        </robot>""",
        source="jaws",
    )
    J = StackedJacobian(Robot(urdf), [FrameTask("left"), FrameTask("right")]).at(np.array([0.03]))
    np.testing.assert_allclose(J[:, 0], [0, 1, 0, 0, 0, 0, 0, -0.5, 0, 0, 0, 0], atol=1e-15)


def test_finger_tip_speed_follows_the_two_link_formula():
    """SDH2: 86.5 and 68.5 mm; the tip's speed across and along the finger."""
    hand = load_hand("schunk_sdh2").robot
    a, b = 0.4, 0.7
    q = hand.q({"thumb_proximal_joint": a, "thumb_distal_joint": b})
    J = StackedJacobian(hand, [FrameTask(tip_frame("thumb"), basis="palm")]).at(q)
    columns = [hand.joint_index("thumb_proximal_joint"), hand.joint_index("thumb_distal_joint")]
    l1, l2 = 0.0865, 0.0685
    along = np.array([-l1 * np.sin(a) - l2 * np.sin(a + b), -l2 * np.sin(a + b)])
    across = np.array([l1 * np.cos(a) + l2 * np.cos(a + b), l2 * np.cos(a + b)])
    speeds = J[:3][:, columns]
    np.testing.assert_allclose(speeds[2], along, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(speeds[:2], axis=0), np.abs(across), atol=1e-9)


def test_unknown_link_names_the_closest_one(robot):
    with pytest.raises(OptionError, match="closest: tip_of_finger_1"):
        StackedJacobian(robot, [FrameTask("tip_of_fingr_1")])
    with pytest.raises(OptionError, match=r"no link 'plam'.*palm"):
        StackedJacobian(robot, [FrameTask(TIPS[0], basis="plam")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": "positon"}, "closest: position"),
        ({"weights": -1.0}, "not below zero"),
        ({"weights": (1.0, 1.0)}, "one number or six"),
        ({"weights": 0.0}, "at least one row"),
        ({"rows": "direction", "basis": "world"}, "cannot be used with rows 'direction'"),
        ({"rows": "direction", "axis": "w"}, "no axis 'w'"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(robot, options, message):
    with pytest.raises(OptionError, match=message):
        StackedJacobian(robot, [FrameTask("palm", **options)])


def test_no_frame_at_all_is_refused(robot):
    with pytest.raises(OptionError, match="at least one"):
        StackedJacobian(robot, [])
