"""Kinematics, folding and limits of any URDF."""

from __future__ import annotations

import pickle

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import OptionError, RobotError
from pliant.robot import Robot, load_assembly, parse_urdf

GRIPPER = """
<robot name="odd">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="a_follows" type="prismatic"><parent link="base"/><child link="a"/><origin xyz="0 0 1"/>
    <axis xyz="0 1 0"/><limit lower="-0.2" upper="0.1" velocity="1" effort="5"/>
    <mimic joint="z_master" multiplier="-0.5" offset="0.05"/></joint>
  <joint name="b_wheel" type="continuous"><parent link="base"/><child link="b"/><axis xyz="0 0 2"/></joint>
  <joint name="c_chain" type="revolute"><parent link="a"/><child link="c"/><axis xyz="1 1 0"/>
    <limit lower="-3" upper="3" velocity="4" effort="5"/><mimic joint="a_follows" multiplier="2" offset="0.1"/></joint>
  <joint name="z_master" type="revolute"><parent link="c"/><child link="d"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="3" effort="7"/></joint>
</robot>
"""


def test_follower_before_its_master_and_followers_of_followers_are_folded() -> None:
    """z_master drives a_follows = -0.5 z + 0.05 and, through it, c_chain = 2 a + 0.1 = -z + 0.2: both sit before it."""
    robot = Robot(parse_urdf(GRIPPER))
    assert robot.joint_names == ("z_master", "b_wheel")
    q = robot.q({"z_master": 0.4, "b_wheel": 9.0})
    full = dict(zip(list(robot.model.names)[1:], robot.full(q), strict=True))
    assert full["a_follows"] == pytest.approx(-0.15)
    assert full["c_chain"] == pytest.approx(-0.2)
    assert full["b_wheel"] == pytest.approx(9.0)


def test_limits_of_followers_narrow_their_master() -> None:
    """a in [-0.2, 0.1] means z in [-0.1, 0.5]; speed 1 m/s means 2 rad/s; the master's own torque limit stays."""
    robot = Robot(parse_urdf(GRIPPER))
    i = robot.joint_index("z_master")
    np.testing.assert_allclose([robot.lower[i], robot.upper[i]], [-0.1, 0.5])
    assert robot.velocity_limits[i] == pytest.approx(2.0)
    assert robot.effort_limits[i] == 7.0
    j = robot.joint_index("b_wheel")
    assert np.isinf([robot.lower[j], robot.upper[j], robot.velocity_limits[j]]).all()


@pytest.mark.parametrize("basis", ["world", "link"])
def test_jacobian_equals_finite_differences(basis: str) -> None:
    robots = [Robot(parse_urdf(GRIPPER)), load_assembly("kawasaki_fs020n", "schunk_sdh2").robot]
    links = [["d", "a", "b"], ["finger_1_distal", "finger_2_distal", "thumb_distal"]]
    rng = np.random.default_rng(0)
    step = 1e-6
    for robot, names in zip(robots, links, strict=True):
        for _ in range(10):
            q = robot.random_q(rng)
            for name in names:
                J = robot.jacobian(name, q, basis=basis)
                T = robot.pose(name, q)
                for j in range(robot.dof):
                    dq = step * np.eye(robot.dof)[j]
                    before, after = robot.pose(name, q - dq), robot.pose(name, q + dq)
                    v = (after.translation - before.translation) / (2 * step)
                    w = pin.log3(after.rotation @ before.rotation.T) / (2 * step)
                    if basis == "link":
                        v, w = T.rotation.T @ v, T.rotation.T @ w
                    np.testing.assert_allclose(J[:, j], [*v, *w], atol=1e-6)


def test_standing_elsewhere_moves_every_link_by_the_base() -> None:
    robot = load_assembly("kawasaki_fs020n", "schunk_sdh2").robot
    T = pin.SE3(pin.rpy.rpyToMatrix(0.1, -0.4, 2.0), np.array([0.3, -1.0, 0.7]))
    q = robot.random_q(np.random.default_rng(2))
    for name in robot.link_names:
        assert robot.at(T).pose(name, q).isApprox(T * robot.pose(name, q), 1e-12)


def test_urdf_written_and_read_again_is_the_same_robot() -> None:
    for robot in (Robot(parse_urdf(GRIPPER)), load_assembly("kawasaki_fs020n", "allegro_like").robot):
        again = Robot(parse_urdf(robot.urdf.to_xml(shapes=False)))
        q = robot.random_q(np.random.default_rng(4))
        assert again.joint_names == robot.joint_names
        np.testing.assert_allclose(again.upper, robot.upper)
        for name in robot.link_names:
            np.testing.assert_allclose(again.pose(name, q).homogeneous, robot.pose(name, q).homogeneous, atol=1e-14)


def test_robot_survives_pickling() -> None:
    robot = load_assembly("kawasaki_fs020n", "schunk_sdh2").robot
    again = pickle.loads(pickle.dumps(robot))
    q = robot.random_q(np.random.default_rng(6))
    assert again.pose("thumb_distal", q).isApprox(robot.pose("thumb_distal", q), 0.0)


def test_gravity_torques_are_the_gradient_of_potential_energy() -> None:
    robot = load_assembly("kawasaki_fs020n", "schunk_sdh2").robot
    q = robot.random_q(np.random.default_rng(8))
    step = 1e-6

    def energy(q: np.ndarray) -> float:
        poses = {name: robot.pose(name, q) for name in robot.link_names}
        total = 0.0
        for link in robot.urdf.links:
            if link.inertial is not None:
                centre = poses[link.name] * link.inertial.T_link_centre
                total += 9.80665 * link.inertial.mass * centre.translation[2]
        return total

    gradient = [(energy(q + d) - energy(q - d)) / (2 * step) for d in step * np.eye(robot.dof)]
    np.testing.assert_allclose(robot.gravity_torques(q), gradient, rtol=1e-6, atol=1e-5)


def test_mass_matrix_gives_the_kinetic_energy_of_the_links() -> None:
    robot = load_assembly(None, "schunk_sdh2").robot
    rng = np.random.default_rng(9)
    q, qdot = robot.random_q(rng), rng.normal(size=robot.dof)
    energy = 0.0
    for link in robot.urdf.links:
        if link.inertial is None:
            continue
        twist = robot.jacobian(link.name, q, basis="link") @ qdot
        ixx, ixy, ixz, iyy, iyz, izz = link.inertial.inertia
        inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
        centre = link.inertial.T_link_centre.translation
        v = twist[:3] + np.cross(twist[3:], centre)
        energy += 0.5 * link.inertial.mass * v @ v + 0.5 * twist[3:] @ inertia @ twist[3:]
    assert 0.5 * qdot @ robot.mass_matrix(q) @ qdot == pytest.approx(energy, rel=1e-10)


def test_joints_that_carry_a_link_are_its_ancestors_masters() -> None:
    robot = load_assembly("kawasaki_fs020n", "schunk_sdh2").robot
    carried = {
        name for name, moves in zip(robot.joint_names, robot.joints_moving("finger_2_distal"), strict=True) if moves
    }
    arm = {f"joint{i}" for i in range(1, 7)}
    assert carried == arm | {"base_rotation", "finger_2_proximal_joint", "finger_2_distal_joint"}


def test_unknown_names_are_answered_with_the_closest() -> None:
    robot = load_assembly("kawasaki_fs020n", "schunk_sdh2").robot
    with pytest.raises(OptionError, match="no link 'tumb_distal'; closest: thumb_distal"):
        robot.pose("tumb_distal", robot.neutral)
    with pytest.raises(OptionError, match="closest: joint3"):
        robot.q({"jiont3": 0.0})
    with pytest.raises(OptionError, match="expected 13 values"):
        robot.q([1.0, 2.0])
    with pytest.raises(OptionError, match="not a finite number"):
        robot.q({"joint3": float("nan")})


def test_followers_that_leave_no_range_are_refused() -> None:
    text = GRIPPER.replace('lower="-0.2" upper="0.1"', 'lower="5" upper="6"')
    with pytest.raises(RobotError, match="leave it no range"):
        Robot(parse_urdf(text))
