"""Floating, planar and spherical joints: chains of single joints that move as Pinocchio's own composite joints do."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import RobotError
from pliant.robot import Robot, parse_urdf, propose_hand

ORIGIN = '<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/>'
T_ORIGIN = pin.SE3(pin.rpy.rpyToMatrix(0.4, -0.5, 0.6), np.array([0.1, -0.2, 0.3]))
SINGLE = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


def urdf(kind: str, body: str = "", *, extra: str = "") -> str:
    return (
        f'<robot name="r"><link name="base"/><link name="arm"/><link name="hand"/>{extra}'
        f'<joint name="free" type="{kind}"><parent link="base"/><child link="arm"/>{ORIGIN}{body}</joint>'
        f'<joint name="bend" type="revolute"><parent link="arm"/><child link="hand"/><origin xyz="0 0.2 0.5"/>'
        f'<axis xyz="0 1 0"/>{SINGLE}</joint></robot>'
    )


def robot(kind: str, body: str = "") -> Robot:
    return Robot(parse_urdf(urdf(kind, body)))


def composite(model: object, q: np.ndarray) -> pin.SE3:
    """Where Pinocchio's own joint of several degrees of freedom puts the link."""
    tree = pin.Model()
    tree.addJoint(0, model, T_ORIGIN, "free")
    data = tree.createData()
    pin.forwardKinematics(tree, data, q)
    return pin.SE3(data.oMi[1])


def test_a_floating_joint_moves_as_pinocchios_free_flyer():
    made = robot("floating")
    assert made.joint_names == (*(f"free.{c}" for c in ("x", "y", "z", "yaw", "pitch", "roll")), "bend")
    q = np.array([0.3, -0.4, 0.5, 0.7, -1.1, 2.0, 0.0])
    turned = pin.Quaternion(pin.rpy.rpyToMatrix(2.0, -1.1, 0.7))
    wanted = composite(pin.JointModelFreeFlyer(), np.concatenate([q[:3], turned.coeffs()]))
    np.testing.assert_allclose(made.pose("arm", q).homogeneous, wanted.homogeneous, atol=1e-14)


def test_a_planar_joint_about_z_moves_as_pinocchios():
    made = robot("planar", '<axis xyz="0 0 1"/>')
    assert made.joint_names == ("free.x", "free.y", "free.theta", "bend")
    wanted = composite(pin.JointModelPlanar(), np.array([0.3, -0.4, np.cos(0.7), np.sin(0.7)]))
    np.testing.assert_allclose(made.pose("arm", np.array([0.3, -0.4, 0.7, 0.0])).homogeneous, wanted.homogeneous)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.3, -0.5, 0.8)])
def test_a_planar_joint_stays_in_the_plane_across_its_axis_and_turns_about_it(axis):
    made = robot("planar", f'<axis xyz="{" ".join(map(str, axis))}"/>')
    n = np.array(axis) / np.linalg.norm(axis)
    T = T_ORIGIN.actInv(made.pose("arm", np.array([0.3, -0.4, 0.7, 0.0])))
    assert abs(T.translation @ n) < 1e-14
    assert np.linalg.norm(T.translation) == pytest.approx(0.5)
    np.testing.assert_allclose(T.rotation, pin.exp3(0.7 * n), atol=1e-14)
    x, y = (T_ORIGIN.actInv(made.pose("arm", row)).translation for row in np.eye(4)[:2])
    np.testing.assert_allclose(np.cross(x, y), n, atol=1e-14)


def test_a_spherical_joint_moves_as_pinocchios():
    made = robot("spherical")
    assert made.joint_names == ("free.yaw", "free.pitch", "free.roll", "bend")
    wanted = composite(pin.JointModelSphericalZYX(), np.array([0.7, -1.1, 2.0]))
    np.testing.assert_allclose(made.pose("arm", np.array([0.7, -1.1, 2.0, 0.0])).homogeneous, wanted.homogeneous)


@pytest.mark.parametrize("kind", ["floating", "planar", "spherical"])
def test_the_jacobian_is_the_finite_difference_of_the_pose(kind):
    made, h = robot(kind), 1e-6
    q = 0.3 * np.cos(np.arange(made.dof))
    J = made.jacobian("hand", q)
    for i, e in enumerate(np.eye(made.dof)):
        before, after = made.pose("hand", q - h * e), made.pose("hand", q + h * e)
        linear = (after.translation - before.translation) / (2.0 * h)
        angular = pin.log3(after.rotation @ before.rotation.T) / (2.0 * h)
        np.testing.assert_allclose(J[:, i], [*linear, *angular], atol=1e-8)


@pytest.mark.parametrize("body", ["", '<limit effort="0" velocity="0" lower="0" upper="0"/>'])
@pytest.mark.parametrize("kind", ["floating", "planar", "spherical"])
def test_without_limits_the_ranges_are_open_and_the_speeds_assumed(kind, body):
    made = robot(kind, body)
    own = slice(0, made.dof - 1)
    assert np.isinf(made.lower[own]).all()
    assert np.isinf(made.upper[own]).all()
    slides = [made.urdf.joint(name).kind == "prismatic" for name in made.joint_names[own]]
    np.testing.assert_array_equal(made.velocity_limits[own], np.where(slides, 0.5, 1.5))
    assert any(note.startswith(f"joint 'free' is {kind}: coordinates free.") for note in made.urdf.notes)


def test_a_range_counts_for_translations_and_a_speed_for_all():
    made = robot("floating", '<limit lower="-2" upper="3" velocity="0.7" effort="9"/>')
    np.testing.assert_array_equal(made.lower[:6], [-2, -2, -2, -np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(made.upper[:6], [3, 3, 3, np.inf, np.inf, np.inf])
    np.testing.assert_array_equal(made.velocity_limits[:6], 0.7)
    np.testing.assert_array_equal(made.effort_limits[:6], 9.0)


def test_a_spherical_joint_with_a_range_is_three_limited_joints_and_no_ball():
    made = robot("spherical", '<limit lower="-0.5" upper="0.6"/>')
    np.testing.assert_array_equal(made.lower[:3], -0.5)
    np.testing.assert_array_equal(made.upper[:3], 0.6)
    assert made.balls == ()
    assert len(robot("spherical").balls) == len(robot("floating").balls) == 1
    assert robot("planar").balls == ()


def test_the_mass_is_that_of_the_links_of_the_file():
    text = urdf("floating").replace(
        '<link name="arm"/>', '<link name="arm"><inertial><mass value="2"/></inertial></link>'
    )
    made = Robot(parse_urdf(text))
    assert made.mass == 2.0
    M = made.mass_matrix(np.zeros(7))
    np.testing.assert_allclose(M[:3, :3], 2.0 * np.eye(3))


def test_what_is_written_as_xml_is_the_same_robot_of_single_joints():
    made = robot("floating")
    again = Robot(parse_urdf(made.urdf.to_xml()))
    q = np.linspace(-0.5, 0.7, 7)
    assert again.joint_names == made.joint_names
    np.testing.assert_allclose(again.pose("hand", q).homogeneous, made.pose("hand", q).homogeneous, atol=1e-14)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (urdf("floating", '<mimic joint="bend"/>'), "joint 'free', mimic: a floating joint cannot follow another"),
        (
            urdf("planar").replace(SINGLE, SINGLE + '<mimic joint="free"/>'),
            "joint 'bend', mimic: no other moving joint 'free'",
        ),
        (urdf("planar").replace('name="bend"', 'name="free.y"'), "joint 'free.y': has the name of a part of joint"),
        (urdf("planar").replace('"hand"', '"free.x_link"'), "link 'free.x_link': has the name of a part of joint"),
        (urdf("planar", '<axis xyz="0 0 0"/>'), "has no direction"),
        (urdf("floating", '<limit lower="1" upper="-1"/>'), "lower limit 1 is above upper limit -1"),
        (urdf("ball"), "allowed: revolute, continuous, prismatic, fixed, floating, planar, spherical"),
    ],
)
def test_what_cannot_be_is_refused_in_words(text, message):
    with pytest.raises(RobotError, match=message):
        parse_urdf(text)


def test_every_coordinate_counts_against_the_largest_number_of_joints():
    links = "".join(f'<link name="l{i}"/>' for i in range(40))
    joints = "".join(
        f'<joint name="j{i}" type="floating"><parent link="l{i}"/><child link="l{i + 1}"/></joint>' for i in range(39)
    )
    with pytest.raises(RobotError, match="234 moving joints; at most"):
        parse_urdf(f'<robot name="r">{links}{joints}</robot>')


def test_a_hand_on_a_floating_joint_is_answered_with_what_to_change():
    box = '<collision><geometry><box size="0.01 0.01 0.05"/></geometry></collision>'
    fingers = "".join(
        f'<link name="f{i}">{box}</link><joint name="k{i}" type="revolute"><parent link="palm"/><child link="f{i}"/>'
        f'<origin xyz="{x} 0 0.1"/><axis xyz="0 1 0"/>{SINGLE}</joint>'
        for i, x in enumerate((-0.05, 0.05))
    )
    text = (
        f'<robot name="h"><link name="world"/><link name="palm">{box}</link>{fingers}<joint name="anchor"'
        ' type="floating"><parent link="world"/><child link="palm"/></joint></robot>'
    )
    with pytest.raises(RobotError, match=r"joint 'anchor' moves the whole hand freely.*fixed"):
        propose_hand(parse_urdf(text))
