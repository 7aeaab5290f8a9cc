"""`pliant arm import` as a user meets it: flange, home and limits of an arm from its URDF alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pliant.cli import run_command as run
from pliant.files import check_file
from pliant.robot import load_arm


def arm_text(*, flange_rpy: str = "0 0 0", flange_x: float = 0.06, velocity: str = "2", extra: str = "") -> str:
    """A pedestal with six joints, 0.8 m of reach; the last body reaches 60 mm beyond the wrist along its z."""

    def link(name: str, shape: str = "") -> str:
        return f'<link name="{name}">{f"<collision>{shape}</collision>" if shape else ""}</link>'

    def box(size: str, z: float) -> str:
        return f'<origin xyz="0 0 {z}"/><geometry><box size="{size}"/></geometry>'

    def joint(name: str, parent: str, child: str, z: float, axis: str, end: float) -> str:
        limit = f'<limit lower="{-end}" upper="{end}" velocity="{velocity}" effort="50"/>'
        return (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="0 0 {z}"/><axis xyz="{axis}"/>{limit}</joint>'
        )

    names = ["base", "turret", "upper", "fore", "roll", "bend", "last"]
    sizes = ["0.1 0.1 0.1", "0.1 0.1 0.1", "0.06 0.06 0.36", "0.05 0.05 0.26", "0.04 0.04 0.04", "0.03 0.03 0.03"]
    middles = [0.05, 0.0, 0.2, 0.15, 0.0, 0.0]
    links = [link(n, box(s, z)) for n, s, z in zip(names[:-1], sizes, middles, strict=True)]
    links.append(link("last", box("0.04 0.04 0.05", 0.035)))
    axes = ["0 0 1", "0 1 0", "0 1 0", "0 0 1", "0 1 0", "0 0 1"]
    heights = [0.2, 0.1, 0.4, 0.3, 0.06, 0.04]
    joints = [
        joint(f"j{i + 1}", names[i], names[i + 1], z, axis, 2.6)
        for i, (axis, z) in enumerate(zip(axes, heights, strict=True))
    ]
    fixed = (
        f'<link name="ee_link"/><joint name="ee" type="fixed"><parent link="last"/><child link="ee_link"/>'
        f'<origin xyz="0 0 {flange_x}" rpy="{flange_rpy}"/></joint>'
    )
    return f'<robot name="Six">{"".join([*links, *joints, fixed])}{extra}</robot>'


def imported(tmp_path, capsys, text: str, *options: str) -> dict:
    (tmp_path / "arm.urdf").write_text(text)
    code = run(["arm", "import", str(tmp_path / "arm.urdf"), "--out", str(tmp_path / "out"), "--json", *options])
    return json.loads(capsys.readouterr().out) | {"code": code}


def test_a_flange_that_looks_out_of_the_arm_is_taken_and_home_looks_down(tmp_path, capsys):
    answer = imported(tmp_path, capsys, arm_text())
    assert answer["code"] == 0 and answer["flange"] == "ee_link" and answer["warnings"] == []
    arm = load_arm(tmp_path / "out" / "arm.yaml")
    T = arm.robot.pose("ee_link", arm.q_home)
    assert T.rotation[:, 2] @ (0, 0, -1) > np.cos(np.radians(10))
    assert T.translation[0] > 0.3
    assert arm.robot.within_limits(arm.q_home)
    assert {guess["what"] for guess in answer["guesses"]} == {"flange", "home"}
    assert all(0 < guess["sure"] <= 1 and guess["why"] for guess in answer["guesses"])
    text = (tmp_path / "out" / "arm.yaml").read_text()
    for guess in answer["guesses"]:
        assert f"% sure: {guess['value']}: {guess['why']}" in text


@pytest.mark.parametrize("rpy", ["0 1.5708 0", "1.5708 0 0", "3.14159 0 0"])
def test_a_flange_that_looks_sideways_or_back_gets_one_that_looks_out(tmp_path, capsys, rpy):
    """The new flange's z is the last joint's axis, pointing away from the wrist, its origin that of the old one."""
    answer = imported(tmp_path, capsys, arm_text(flange_rpy=rpy))
    assert answer["flange"] == "flange"
    assert any("deg off the way out of the arm" in guess["why"] for guess in answer["guesses"])
    arm = load_arm(tmp_path / "out" / "arm.yaml")
    q = arm.robot.neutral  # straight up
    T = arm.robot.pose("flange", q)
    assert np.allclose(T.rotation[:, 2], (0, 0, 1), atol=1e-4)
    assert np.allclose(T.translation, arm.robot.pose("ee_link", q).translation)


def test_a_flange_inside_the_wrist_is_moved_to_its_face(tmp_path, capsys):
    """The last body ends 60 mm above its joint; a frame at the joint lies 60 mm inside it."""
    imported(tmp_path, capsys, arm_text(flange_x=0.0))
    arm = load_arm(tmp_path / "out" / "arm.yaml")
    above = (
        arm.robot.pose("flange", arm.robot.neutral).translation - arm.robot.pose("last", arm.robot.neutral).translation
    )
    assert np.allclose(above, (0, 0, 0.06), atol=1e-9)


def test_check_warns_of_a_flange_that_looks_sideways(tmp_path, capsys):
    imported(tmp_path, capsys, arm_text(flange_rpy="0 1.5708 0"))
    path = tmp_path / "out" / "arm.yaml"
    assert not any("WARNING" in note for note in check_file(path).notes)
    path.write_text(path.read_text().replace('flange: "flange"', 'flange: "ee_link"'))
    assert check_file(path).notes[0].startswith("WARNING: flange 'ee_link': its z looks 90 deg off")


@pytest.mark.parametrize(("velocity", "guessed"), [("2", False), ("0", True), ("100", True)])
def test_speeds_that_no_arm_has_are_replaced_and_said(tmp_path, capsys, velocity, guessed):
    answer = imported(tmp_path, capsys, arm_text(velocity=velocity))
    assert any(guess["what"] == "limits.velocity" for guess in answer["guesses"]) is guessed
    speeds = {joint.velocity for joint in load_arm(tmp_path / "out" / "arm.yaml").robot.urdf.joints if joint.moves}
    assert speeds == {1.5 if guessed else 2.0}


def test_a_named_flange_is_taken_and_a_wrong_one_is_refused_with_the_nearest(tmp_path, capsys):
    assert imported(tmp_path, capsys, arm_text(), "--flange", "ee_lnk")["code"] == 2
    answer = imported(tmp_path, capsys, arm_text(), "--flange", "last")
    assert answer["flange"] == "flange" and "'last'" in answer["guesses"][0]["why"]
    assert imported(tmp_path, capsys, arm_text())["code"] == 2  # corrections are not overwritten


def test_an_arm_with_a_hand_is_refused_with_the_joints_that_are_too_many(tmp_path, capsys):
    finger = (
        '<link name="{0}"/><joint name="{0}_joint" type="prismatic"><parent link="ee_link"/><child link="{0}"/>'
        '<limit lower="0" upper="0.05" velocity="1" effort="1"/></joint>'
    )
    answer = imported(tmp_path, capsys, arm_text(extra=finger.format("left") + finger.format("right")))
    assert answer["code"] == 2
    assert (
        "right_joint" in answer["error"]["problems"][0]["what"]
        or "left_joint" in answer["error"]["problems"][0]["what"]
    )


def test_a_real_arm_is_bolted_on_by_the_face_of_its_last_link(tmp_path, capsys, shared_data):
    """The makers' end-effector frame of an xArm 7 lies in the face of its flange, z outwards."""
    assert run(["arm", "import", str(shared_data / "xarm7/xarm7.urdf"), "--out", str(tmp_path / "x"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["flange"] == "link_eef" and not any("inside the wrist" in guess["why"] for guess in answer["guesses"])


@pytest.mark.parametrize(("flange", "offset"), [("base", "0 0 0.3"), ("tool0", "0 0 0")], ids=["root", "no length"])
def test_a_flange_that_no_joint_moves_is_refused(
    flange: str, offset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.urdf"
    file.write_text(
        '<robot name="a"><link name="base"/><link name="tool0"/><joint name="j" type="revolute"><parent link="base"/>'
        f'<child link="tool0"/><origin xyz="{offset}"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    assert run(["arm", "import", str(file), "--out", str(tmp_path / "a"), "--flange", flange]) == 2
    assert f"no joint moves '{flange}'" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()
