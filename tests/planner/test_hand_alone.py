"""Where a hand without an arm starts: free of everything, or where the task says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import InputError
from pliant.files import load_task
from pliant.planner import Task, with_arm
from pliant.robot import (
    PALM_FRAME,
    Hand,
    Joint,
    Link,
    LinkShape,
    Robot,
    assemble,
    floating_arm,
    floating_joints,
    link_mesh,
    load_hand,
)

TASK = """robot: {hand: parallel_gripper%s}
object: {shape: {sphere: {radius: 0.025}}, pose: {position: [0.1, 0.2, 0.4]},
  material: {young: 2.0e+5, poisson: 0.45, density: 1100, friction: 0.6}}
scene: [{box: {size: [1, 1, 0.375], position: [0, 0, 0.1875]}}]
task: {lift: 0.05}
"""


def loaded(tmp_path, robot: str = "") -> Task:
    (tmp_path / "air.yaml").write_text(TASK % robot)
    return load_task(tmp_path / "air.yaml")


def with_forearm(hand: Hand, length: float) -> Hand:
    """The same hand behind a forearm."""
    shape = LinkShape("box", (0.05, 0.05, length), pin.SE3(np.eye(3), np.array([0, 0, 0.5 * length])))
    urdf = hand.robot.urdf
    joint = Joint("elbow", "fixed", "forearm", urdf.root, pin.SE3(np.eye(3), np.array([0.0, 0.0, length])))
    whole = replace(urdf, links=(Link("forearm", collisions=(shape,)), *urdf.links), joints=(joint, *urdf.joints))
    return Hand(hand.description.model_copy(update={"mount": "forearm"}), Robot(whole))


@pytest.mark.parametrize("length", [0.0, 0.3, 0.8])
def test_a_hand_alone_starts_above_everything_however_long_it_is(tmp_path, length):
    task = loaded(tmp_path)
    hand = load_hand("parallel_gripper")
    if length:
        hand = with_forearm(hand, length)
    flying = with_arm(replace(task, assembly=assemble(hand=hand)))
    robot = flying.assembly.robot
    lowest = min(
        float(mesh.transformed(robot.pose(link.name, flying.q_start)).bounds[0, 2])
        for link in robot.urdf.links
        if (mesh := link_mesh(link)) is not None
    )
    assert lowest > 0.425 + 0.049  # 5 cm above the ball that lies on the table


def test_a_start_of_the_palm_is_where_the_palm_starts(tmp_path):
    task = loaded(tmp_path, ", start: {palm: {position: [0.3, -0.1, 0.9], rpy_deg: [170, 10, 30]}}")
    T = task.assembly.robot.pose(PALM_FRAME, task.q_start)
    assert np.allclose(T.translation, (0.3, -0.1, 0.9), atol=1e-9)
    assert np.allclose(T.rotation, pin.rpy.rpyToMatrix(*np.radians([170, 10, 30])), atol=1e-9)


def test_joints_of_the_floating_arm_are_found_for_any_pose():
    arm, rng = floating_arm(), np.random.default_rng(0)
    for _ in range(20):
        T = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
        reached = arm.robot.pose(arm.description.flange, floating_joints(T))
        assert np.allclose(pin.log6(T.actInv(reached)).vector, 0.0, atol=1e-7)


def test_a_palm_start_with_an_arm_is_refused_with_what_to_write(tmp_path):
    with pytest.raises(InputError, match=r"robot.start.palm.*start_deg"):
        loaded(tmp_path, ", arm: kawasaki_fs020n, start: {palm: {position: [0.3, -0.1, 0.9]}}")
