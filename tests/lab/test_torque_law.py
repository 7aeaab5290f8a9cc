"""Law (6) in the lab: torques make the contact forces they promise, against statics written down by hand."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.control import ContactKinematics, TorqueLaw, contact_kinematics
from pliant.errors import OptionError
from pliant.grasp import contact_rotations
from pliant.lab import LabDriver, LabOptions, build_scene
from pliant.objects import Body, Material, make_shape
from pliant.robot import Assembly, load_assembly

MU = 0.8


@pytest.fixture(scope="module")
def gripper() -> Assembly:
    return load_assembly(None, "parallel_gripper")


def pads_at(assembly: Assembly, q: np.ndarray, place: np.ndarray) -> ContactKinematics:
    """Both pads touched at the same place of their frames, normals out of the pads."""
    axes = contact_rotations(np.array([[1.0, 0.0, 0.0]] * 2))
    return contact_kinematics(assembly, ("left_finger", "right_finger"), q, np.array([place, place]), axes)


def weight_across(now: ContactKinematics, weight: float) -> np.ndarray:
    """A load along the pads' faces, no torque."""
    return np.concatenate([weight * now.axes[0][:, 0], np.zeros(3)])


def test_the_gripper_needs_the_force_that_statics_says(gripper: Assembly) -> None:
    """Two pads, weight W across them, margin d: mu f = W/2 + d on each side; the one drive bears both: -2 f."""
    q = gripper.robot.q([0.03])
    now = pads_at(gripper, q, np.array([0.0, 0.0, 0.05]))
    law = TorqueLaw(gripper, margin=0.4)
    forces = law.forces(now, friction=MU, load=weight_across(now, 2.0), centre=now.points.mean(axis=0))
    assert forces is not None
    f = (2.0 / 2 + 0.4) / MU
    np.testing.assert_allclose(forces[:, 2], f, rtol=1e-4)
    np.testing.assert_allclose(law.torques(now, forces), -2 * f, rtol=1e-4)


def test_a_reserve_of_load_squeezes_for_it_and_still_bears_the_load_alone(gripper: Assembly) -> None:
    """For 1.5 W the squeeze is 1.5 W / (2 mu); what bears is W: -G f = w_ext of the true load."""
    q = gripper.robot.q([0.03])
    now = pads_at(gripper, q, np.array([0.0, 0.0, 0.05]))
    load = weight_across(now, 2.0)
    forces = TorqueLaw(gripper).forces(now, friction=MU, load=load, centre=now.points.mean(axis=0), load_reserve=1.5)
    assert forces is not None
    np.testing.assert_allclose(forces[:, 2], 1.5 * 2.0 / (2 * MU), rtol=1e-3)
    borne = np.einsum("nij,nj->i", now.axes, forces)
    np.testing.assert_allclose(borne, -load[:3], atol=1e-6)


def test_the_planned_squeeze_is_taken_where_it_is_enough_and_the_smallest_sufficient_one_where_not(
    gripper: Assembly,
) -> None:
    """Planned forces without weight, 3 N on each side: with W they bear W / 2 each, as long as mu 3 N >= W / 2."""
    now = pads_at(gripper, gripper.robot.q([0.03]), np.array([0.0, 0.0, 0.05]))
    planned, centre, law = np.array([[0.0, 0.0, 3.0]] * 2), now.points.mean(axis=0), TorqueLaw(gripper)
    for weight, squeeze in ((2.0, 3.0), (1.9 * 3.0 * MU, 3.0), (2.1 * 3.0 * MU, 2.1 * 3.0 / 2)):
        load = weight_across(now, weight)
        forces = law.forces(now, friction=MU, load=load, centre=centre, planned=planned)
        assert forces is not None
        np.testing.assert_allclose(forces[:, 2], squeeze, rtol=1e-3)
        np.testing.assert_allclose(np.einsum("nij,nj->i", now.axes, forces), -load[:3], atol=1e-6)
    # 1.2 times the load must not slip either.
    load = weight_across(now, 1.9 * 3.0 * MU)
    forces = law.forces(now, friction=MU, load=load, centre=centre, planned=planned, load_reserve=1.2)
    assert forces is not None
    np.testing.assert_allclose(forces[:, 2], 1.2 * 1.9 * 3.0 / 2, rtol=1e-3)


def test_a_load_that_nothing_bears_has_no_forces_and_a_margin_below_zero_is_refused(gripper: Assembly) -> None:
    now = pads_at(gripper, gripper.robot.q([0.03]), np.array([0.0, 0.0, 0.05]))
    load = np.array([0.0, 0.0, -1e4, 0.0, 0.0, 0.0])
    assert TorqueLaw(gripper).forces(now, friction=MU, load=load, centre=np.zeros(3), max_force=20.0) is None
    with pytest.raises(OptionError, match="margin"):
        TorqueLaw(gripper, margin=-1.0)


def test_forces_that_the_drive_cannot_make_are_not_promised(gripper: Assembly) -> None:
    """The drive gives 80 N, so 40 N on each pad and 2 * 40 mu of load; a little more has no forces."""
    now = pads_at(gripper, gripper.robot.q([0.03]), np.array([0.0, 0.0, 0.05]))
    limit, centre = float(gripper.torque_limits[0]), now.points.mean(axis=0)
    for share, there in ((0.99, True), (1.01, False)):
        forces = TorqueLaw(gripper).forces(now, friction=MU, load=weight_across(now, share * MU * limit), centre=centre)
        assert (forces is not None) is there


def test_weak_springs_share_a_load_and_none_at_all_are_refused(gripper: Assembly) -> None:
    """Balance -G f = w_ext, which holds for every K; springs of 0 have none: 1 / 0 is no compliance."""
    now = pads_at(gripper, gripper.robot.q([0.03]), np.array([0.0, 0.0, 0.05]))
    load, law, planned = weight_across(now, 2.0), TorqueLaw(gripper), np.array([[0.0, 0.0, 3.0]] * 2)
    known = {"friction": MU, "load": load, "centre": now.points.mean(axis=0), "planned": planned}
    for stiffness in (1.0, np.inf):
        forces = law.forces(now, joint_stiffness=np.full(gripper.robot.dof, stiffness), **known)
        assert forces is not None
        np.testing.assert_allclose(np.einsum("nij,nj->i", now.axes, forces), -load[:3], atol=1e-6)
    for stiffness in (0.0, -1.0, np.nan):
        with pytest.raises(OptionError, match=r"joint_stiffness: .*above 0"):
            law.forces(now, joint_stiffness=np.full(gripper.robot.dof, stiffness), **known)


@pytest.mark.slow
def test_a_pinched_ball_is_pressed_with_the_force_that_was_commanded(gripper: Assembly) -> None:
    """Statics: a ball between two pads that nothing else touches is pressed by f where the drive gives -2 f. True
    forces of the lab, 5 %."""
    ball = Body.from_mesh(make_shape("sphere", radius=0.03), Material(1.5e5, 0.45, friction=MU), mass=0.1)
    middle = gripper.robot.pose("left_finger", gripper.robot.q([0.0])).act(np.array([0.0, 0.0, 0.05]))
    options = LabOptions(gravity=(0.0, 0.0, 0.0), nodes=150, friction_stiffness=100.0)
    T = pin.SE3(np.eye(3), middle)
    scene = build_scene(gripper, ball, T_world_object=T, q_start=gripper.robot.q([0.032]), options=options)
    driver = LabDriver(scene, period=0.004)
    driver.command_positions(gripper.robot.q([0.0295]))
    for _ in range(60):
        driver.step()
    law = TorqueLaw(gripper, margin=2.4)
    q_last, pressed = driver.true_joints().copy(), []
    for k in range(200):
        q = driver.true_joints().copy()
        speed, q_last = (q - q_last) / driver.period, q
        now = pads_at(gripper, q, np.array([0.0, 0.0, 0.05]))
        forces = law.forces(now, friction=MU, load=np.zeros(6), centre=now.points.mean(axis=0))
        assert forces is not None
        driver.command_torques(law.torques(now, forces) - 60.0 * speed)
        driver.step()
        if k > 150:
            pressed.append([driver.pads.read()[name].total for name in ("left_pad", "right_pad")])
    assert driver.fault == ""
    np.testing.assert_allclose(np.mean(pressed, axis=0), 2.4 / MU, rtol=0.05)
