"""`pliant ik`."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pinocchio as pin
import pytest
import typer
from typer.testing import CliRunner

from made_arms import rover
from pliant.cli.ik import ik
from pliant.cli.robot_argument import choose_robot
from pliant.errors import InputError
from pliant.motion import pose_from_numbers, pose_numbers
from pliant.robot import load_arm
from pliant.robot.catalogue import SHIPPED


@pytest.fixture
def call():
    app = typer.Typer()
    app.command()(ik)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_description_file_may_have_a_plus_in_its_path(tmp_path):
    file = shutil.copytree(SHIPPED / "parallel_gripper", tmp_path / "c++") / "hand.yaml"
    assert choose_robot(str(file)).robot.joint_names == ("opening",)
    assert choose_robot("kawasaki_fs020n+parallel_gripper").robot.dof == 7


def test_values_of_linear_joints_are_not_told_in_degrees(call):
    result = call("parallel_gripper", "--frame", "left_finger", "--rows", "position", "--target", "0,0,0,1,0,0,0")
    assert "mm" in next(line for line in result.stdout.splitlines() if "opening" in line)


def test_an_arm_of_planar_and_spherical_joints_reaches_poses_and_tells_metres_and_degrees(call, tmp_path):
    arm = rover(tmp_path)
    # The hand hangs from the column; pointing it along x is a pitch of 90 degrees.
    result = call(arm, "--frame", "flange", "--target", "3.0,-2.0,0.7,0.5,0.5,0.5,0.5", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["joints"] == [
        *("drive.x", "drive.y", "drive.theta", "lift"),
        *("wrist.yaw", "wrist.pitch", "wrist.roll"),
    ]
    np.testing.assert_allclose(answer["pose"], [3.0, -2.0, 0.7, 0.5, 0.5, 0.5, 0.5], atol=1e-5)
    assert answer["q"][3] == pytest.approx(0.3, abs=1e-5)  # only the lift reaches a height
    shown = call(arm, "--frame", "flange", "--target", "3.0,-2.0,0.7,0.5,0.5,0.5,0.5").stdout.splitlines()
    assert "mm" in next(line for line in shown if "drive.x" in line)
    assert "mm" not in next(line for line in shown if "wrist.yaw" in line)


def test_a_reachable_pose_is_solved(call):
    robot = load_arm("kawasaki_fs020n").robot
    T = robot.pose("flange", robot.q({"joint1": 0.4, "joint2": 0.5, "joint3": -0.8, "joint5": 0.7}))
    numbers = ",".join(f"{value:.9f}" for value in pose_numbers(T))
    result = call("kawasaki_fs020n", "--frame", "flange", "--target", numbers, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["status"] == "found"
    assert answer["error_m"] <= 1e-5
    reached = robot.pose("flange", np.array(answer["q"]))
    error = pin.log6(reached.actInv(pose_from_numbers(pose_numbers(T), where="x"))).vector
    assert np.linalg.norm(error) < 3e-5
    assert "found; error" in call("kawasaki_fs020n", "--frame", "flange", "--target", numbers).stdout


def test_an_unreachable_pose_is_an_honest_no(call):
    result = call("kawasaki_fs020n", "--frame", "flange", "--target", "5,0,0,1,0,0,0", "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["status"] == "not found"
    assert answer["error_m"] > 3.0
    assert "closest" in call("kawasaki_fs020n", "--frame", "flange", "--target", "5,0,0,1,0,0,0").stdout


def test_samples_give_rate_and_times(call):
    result = call("kawasaki_fs020n+schunk_sdh2", "--frame", "palm_frame", "--samples", 200, "--json")
    answer = json.loads(result.stdout)
    assert answer["samples"] == answer["solved"] == 200
    assert answer["rate"] == 1.0
    assert 0.0 < answer["mean_ms"] <= answer["max_ms"]
    assert "100.000 %" in call("kawasaki_fs020n", "--frame", "flange", "--samples", 20).stdout


def test_a_urdf_file_will_do(call, shared_data):
    urdf = shared_data / "kawasaki_fs020n" / "kawasaki_fs020n.urdf"
    assert json.loads(call(urdf, "--frame", "tool0", "--samples", 20, "--json").stdout)["rate"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kawasaki_fs020m", "--frame", "flange", "--samples", "1"), "closest: kawasaki_fs020n"),
        (("kawasaki_fs020n", "--frame", "flang", "--samples", "1"), "closest: flange"),
        (("kawasaki_fs020n", "--frame", "flange"), "either --target or --samples"),
        (("kawasaki_fs020n", "--frame", "flange", "--target", "1,2,3"), "3 numbers; seven"),
        (("kawasaki_fs020n", "--frame", "flange", "--target", "a,b"), "seven numbers"),
        (("kawasaki_fs020n", "--frame", "flange", "--target", "0,0,1,2,0,0,0"), "length 2"),
        (("kawasaki_fs020n", "--frame", "flange", "--target", "nan,0,1,1,0,0,0"), "NaN"),
        (("kawasaki_fs020n", "--frame", "flange", "--samples", "0"), "from 1"),
        (("nowhere/arm.urdf", "--frame", "flange", "--samples", "1"), "no such file"),
    ],
)
def test_broken_questions_say_what_is_allowed(call, arguments, message):
    result = call(*arguments)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_names_that_look_like_markup_are_told_as_they_are(call, tmp_path):
    """Square brackets and colons are also the language of the library that draws the tables."""
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        '<robot name="r"><link name="base"/><link name="tip"/><joint name="[red]elbow:warning:" type="revolute">'
        '<parent link="base"/><child link="tip"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    result = call(urdf, "--frame", "tip", "--target", "0,0,0.1,1,0,0,0")
    assert result.exit_code == 0
    assert "[red]elbow:warning:" in result.stdout
