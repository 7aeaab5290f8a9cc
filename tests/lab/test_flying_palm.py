"""A hand without an arm is carried where it is commanded to be, also while it moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from pliant.lab import LabDriver, LabOptions, build_scene
from pliant.objects import Body, Material, make_shape
from pliant.robot import Assembly, assemble, floating_arm, load_hand

SPEED = 0.2
OPTIONS = LabOptions()


def lag(assembly: Assembly, joint: str) -> float:
    """How far a joint is behind its command after 0.6 s at a steady speed."""
    driver = LabDriver(build_scene(assembly, None, options=OPTIONS))
    q, k = assembly.q_home, assembly.robot.joint_index(joint)
    for _ in range(60):
        q[k] += SPEED * driver.period
        driver.command_positions(q)
        driver.step()
    return float(q[k] - driver.true_joints()[k])


def without_speed(assembly: Assembly) -> Assembly:
    arm = assembly.arm
    assert arm is not None
    servos = {name: servo.model_copy(update={"follows_speed": False}) for name, servo in arm.servos.items()}

    return replace(assembly, arm=arm.model_copy(update={"servos": servos}))


def test_a_drive_that_is_given_the_speed_does_not_lag_and_one_that_is_not_lags_by_its_damping() -> None:
    """kp (command - q) = kv v: behind by v kv / kp, with kv = 2 ratio sqrt(kp (kp / w^2 + m)) and m the hand's mass."""
    assembly = assemble(floating_arm(), load_hand("schunk_sdh2"))
    joint = "floating_y"
    k = assembly.arm.servos[joint].stiffness
    m = assembly.robot.mass_matrix(assembly.q_home)[1, 1]
    inertia = k / OPTIONS.servo_frequency**2 + m
    behind = SPEED * 2.0 * OPTIONS.servo_ratio * np.sqrt(inertia / k)
    assert lag(without_speed(assembly), joint) == pytest.approx(behind, rel=0.1)
    assert abs(lag(assembly, joint)) < 0.5 * SPEED * LabDriver(build_scene(assembly, None)).period  # half a cycle's way


def test_the_floor_that_the_lab_puts_under_an_object_is_not_in_the_hands_way() -> None:
    """The plan knows of no floor: the hand hangs through it, unmoved, while the ball lies on it."""
    assembly = assemble(floating_arm(), load_hand("schunk_sdh2"))
    ball = Body.from_mesh(make_shape("sphere", radius=0.02, edge=0.01), Material(2e5, 0.45, 500.0, 0.8))
    place = pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.02]))
    scene = build_scene(assembly, ball, T_world_object=place, floor=0.0, options=LabOptions(nodes=60))
    driver = LabDriver(scene)
    start = driver.true_joints()  # the flange at the origin, looking down: all of the hand is below the floor
    for _ in range(30):
        driver.command_positions(start)
        driver.step()
    assert np.abs(driver.true_joints() - start).max() < 1e-4
    assert abs(driver.simulation.object_state().centre[2] - 0.02) < 2e-3
