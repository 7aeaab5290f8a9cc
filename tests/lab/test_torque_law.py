"""Law (6) in the lab: torques make the contact forces they promise, against statics written down by hand."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.control import TorqueLaw, contact_kinematics
from pliant.errors import OptionError
from pliant.grasp import contact_rotations
from pliant.lab import LabDriver, LabOptions, SensorSettings, build_scene
from pliant.objects import Body, Material, make_shape
from pliant.robot import Assembly, load_assembly
from pliant.tactile import PadSensor, TactileProcessor

MU = 0.8


@pytest.fixture(scope="module")
def gripper() -> Assembly:
    return load_assembly(None, "parallel_gripper")


def pads_at(assembly: Assembly, q: np.ndarray, place: np.ndarray) -> object:
    """Both pads touched at the same place of their frames, normals out of the pads."""
    axes = contact_rotations(np.array([[1.0, 0.0, 0.0]] * 2))
    return contact_kinematics(assembly, ("left_finger", "right_finger"), q, np.array([place, place]), axes)


def test_the_gripper_needs_the_force_that_statics_says(gripper: Assembly) -> None:
    """Two pads, weight W across them, margin d: mu f = W/2 + d on each side; the one drive bears both: -2 f."""
    q = gripper.robot.q([0.03])
    now = pads_at(gripper, q, np.array([0.0, 0.0, 0.05]))
    law = TorqueLaw(gripper, margin=0.4)
    weight = 2.0
    across = now.axes[0][:, 0] - now.axes[0][:, 0] @ now.axes[0][:, 2] * now.axes[0][:, 2]  # type: ignore[attr-defined]
    load = np.concatenate([weight * across / np.linalg.norm(across), np.zeros(3)])
    centre = now.points.mean(axis=0)  # type: ignore[attr-defined]
    answer = law.torques(
        now,
        friction=MU,
        load=load,
        centre=centre,
        q=q,
        q_wanted=q,
        speed=np.zeros(1),  # type: ignore[arg-type]
    )
    assert answer.feasible
    f = (weight / 2 + 0.4) / MU
    np.testing.assert_allclose(answer.forces[:, 2], f, rtol=1e-4)
    np.testing.assert_allclose(answer.torques, -2 * f, rtol=1e-4)


def test_a_load_that_nothing_bears_only_holds_the_joints(gripper: Assembly) -> None:
    q = gripper.robot.q([0.03])
    now = pads_at(gripper, q, np.array([0.0, 0.0, 0.05]))
    law = TorqueLaw(gripper, stiffness=100.0, damping=1.0)
    answer = law.torques(
        now,  # type: ignore[arg-type]
        friction=MU,
        load=np.array([0.0, 0.0, -1e4, 0.0, 0.0, 0.0]),
        centre=np.zeros(3),
        q=q,
        q_wanted=q + 0.01,
        speed=np.array([0.2]),
        max_force=20.0,
    )
    assert not answer.feasible
    np.testing.assert_allclose(answer.torques, 100.0 * 0.01 - 0.2)
    with pytest.raises(OptionError, match="negative"):
        TorqueLaw(gripper, damping=-1.0)


@pytest.mark.slow
def test_in_the_lab_the_pads_feel_what_the_law_promises(gripper: Assembly) -> None:
    """Weightless ball, margin 2.4 N and mu 0.8: 3 N on each pad, by the pads' own word."""
    ball = Body.from_mesh(make_shape("sphere", radius=0.03), Material(1.5e5, 0.45, friction=MU), mass=0.1)
    middle = gripper.robot.pose("left_finger", gripper.robot.q([0.0])).act(np.array([0.0, 0.0, 0.05]))
    options = LabOptions(gravity=(0.0, 0.0, 0.0), nodes=150, friction_stiffness=100.0)
    sensors = SensorSettings(pad=PadSensor(noise=0.0))
    scene = build_scene(
        gripper, ball, T_world_object=pin.SE3(np.eye(3), middle), q_start=gripper.robot.q([0.032]), options=options
    )
    driver = LabDriver(scene, period=0.004, sensors=sensors)
    processor = TactileProcessor.for_hand(gripper.hand, sensor=sensors.pad)  # type: ignore[arg-type]
    driver.command_positions(gripper.robot.q([0.0295]))
    for _ in range(60):
        driver.step()
    law = TorqueLaw(gripper, margin=2.4, damping=60.0)
    before = driver.read().joints
    assert before is not None
    q_last, felt = before.positions, []
    for k in range(200):
        sample = driver.read()
        assert sample.joints is not None
        q = sample.joints.positions
        speed, q_last = (q - q_last) / driver.period, q
        readings = {name: processor.process(frame) for name, frame in sample.frames.items()}
        places = np.array([readings[name].regions[0].centre for name in ("left_pad", "right_pad")])
        axes = contact_rotations(np.array([[1.0, 0.0, 0.0]] * 2))
        now = contact_kinematics(gripper, ("left_finger", "right_finger"), q, places, axes)
        answer = law.torques(
            now, friction=MU, load=np.zeros(6), centre=now.points.mean(axis=0), q=q, q_wanted=q, speed=speed
        )
        assert answer.feasible
        driver.command_torques(answer.torques)
        driver.step()
        if k > 150:
            felt.append([readings[name].force for name in ("left_pad", "right_pad")])
    assert driver.fault == ""
    np.testing.assert_allclose(np.mean(felt, axis=0), 3.0, rtol=0.07)
