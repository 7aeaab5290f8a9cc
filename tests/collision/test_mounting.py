"""A hand that stands inside its arm is refused, with the adapter that clears it."""

from __future__ import annotations

import re

import numpy as np
import pinocchio as pin
import pytest

from pliant.cli import run_command
from pliant.collision import mount_problem
from pliant.robot import Arm, ArmDescription, Hand, Robot, assemble, load_hand, parse_urdf


def box_arm(*, flange_rpy: str = "0 0 0") -> Arm:
    """One joint that carries a block of 40 x 40 x 60 mm; the flange is the middle of its upper face."""
    text = f"""<robot name="post"><link name="base"/>
      <link name="block"><collision><origin xyz="0 0 0.03"/><geometry><box size="0.04 0.04 0.06"/></geometry>
      </collision></link><joint name="j" type="revolute"><parent link="base"/><child link="block"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
      <link name="flange"/><joint name="f" type="fixed"><parent link="block"/><child link="flange"/>
      <origin xyz="0 0 0.06" rpy="{flange_rpy}"/></joint></robot>"""
    description = ArmDescription(kind="arm", version=1, name="post", urdf="post.urdf", flange="flange")
    return Arm(description, Robot(parse_urdf(text)))


def hand() -> Hand:
    """The shipped gripper: all of it lies in front of its mount."""
    return load_hand("parallel_gripper")


def mounted(depth: float) -> pin.SE3:
    return pin.SE3(np.eye(3), np.array([0.0, 0.0, -depth]))


@pytest.mark.parametrize("depth", [0.0, 0.002])
def test_a_hand_on_the_face_of_the_flange_is_none_of_it(depth):
    assert mount_problem(assemble(box_arm(), hand(), T_flange_hand=mounted(depth))) is None


@pytest.mark.parametrize("depth", [0.005, 0.023, 0.05])
def test_how_deep_a_hand_stands_in_the_arm_is_said_and_the_named_mount_is_free(depth):
    problem = mount_problem(assemble(box_arm(), hand(), T_flange_hand=mounted(depth)))
    assert problem is not None and "'block'" in problem.what
    told = float(re.search(r"stands (\d+) mm", problem.what)[1]) / 1e3
    assert told == pytest.approx(depth, abs=0.0015)
    position = [float(x) for x in re.search(r"position: \[(.*?)\]", problem.allowed)[1].split(",")]
    assert mount_problem(assemble(box_arm(), hand(), T_flange_hand=pin.SE3(np.eye(3), np.array(position)))) is None


def test_a_flange_that_looks_sideways_puts_the_hand_into_the_wrist():
    assert mount_problem(assemble(box_arm(flange_rpy="0 3.14159265 0"), hand())) is not None


def test_hands_alone_and_arms_alone_have_no_mount():
    assert mount_problem(assemble(hand=hand())) is None
    assert mount_problem(assemble(arm=box_arm())) is None


def test_plan_and_check_refuse_such_a_task_and_say_what_to_write(tmp_path, capsys):
    """The shipped task with a mount of 23 mm into the arm; with the mount that is named, check accepts it."""
    task = """robot: {arm: kawasaki_fs020n, hand: parallel_gripper, mount: {position: [0, 0, %s]}}
object: {shape: {sphere: {radius: 0.025}}, pose: {position: [0.95, 0, 0.6]},
  material: {young: 2.0e+5, poisson: 0.45, density: 1100, friction: 0.6}}
task: {lift: 0.05}
"""
    path = tmp_path / "deep.yaml"
    path.write_text(task % "-0.023")
    for command in (["check", str(path)], ["plan", str(path), "--out", str(tmp_path / "x.plan")]):
        assert run_command(command) == 2
        told = "".join(capsys.readouterr())
        assert "robot.mount" in told and "inside the arm's 'link6'" in told
    position = re.search(r"position: \[0, 0, (.*?)\]", told)[1]
    path.write_text(task % position)
    assert run_command(["check", str(path)]) == 0
