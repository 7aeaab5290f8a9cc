"""Hands whose URDFs are odd as other people's are: each is understood, or refused with what to do about it."""

from __future__ import annotations

import re
from pathlib import Path

import made_hands
import numpy as np
import pytest

from pliant.errors import InputError
from pliant.files import check_file
from pliant.objects import make_shape
from pliant.robot import link_mesh, load_hand, parse_urdf, read_urdf
from pliant.robot.proposal.propose import propose_hand
from pliant.robot.proposal.write import write_proposal

GRIPPER = made_hands.opening_gripper()
FINGER = '<geometry><box size="0.02 0.012 0.09"/></geometry>'
MESH = '<geometry><mesh filename="finger.obj" scale="{}"/></geometry>'


def without(pattern: str, text: str = GRIPPER) -> str:
    changed = re.sub(pattern, "", text)
    assert changed != text
    return changed


def as_mesh(scale: str) -> str:
    return GRIPPER.replace(FINGER, MESH.format(scale))


def with_forearm() -> str:
    """The gripper on a wrist that turns, on a forearm longer than it."""
    shape = (
        '<collision><origin xyz="0 0 -0.15"/><geometry><cylinder radius="0.03" length="0.3"/></geometry></collision>'
    )
    ends = '<parent link="forearm"/><child link="gripper_palm"/><axis xyz="1 0 0"/>'
    limits = '<limit lower="-1" upper="1" effort="5" velocity="1"/>'
    wrist = f'<joint name="wrist" type="revolute">{ends}{limits}</joint>'
    return GRIPPER.replace("</robot>", f'<link name="forearm">{shape}</link>{wrist}</robot>')


def sliding(second: str, axis: str) -> str:
    """Two jaws that slide apart; the second as given."""
    jaw = '<collision><origin xyz="0 0 0.03"/><geometry><box size="0.02 0.01 0.06"/></geometry></collision></link>'
    base = '<collision><origin xyz="0 0 0.03"/><geometry><box size="0.08 0.12 0.06"/></geometry></collision></link>'
    joint = '<joint name="{}" type="prismatic"><parent link="base"/><child link="{}"/><origin xyz="0 {} 0.06"/>'
    end = '<axis xyz="0 {} 0"/><limit lower="{}" upper="{}" effort="20" velocity="0.1"/>{}</joint>'
    low, high = ("-0.04", "0") if axis == "1" else ("0", "0.04")
    return (
        f'<robot name="slider"><link name="base">{base}<link name="left">{jaw}<link name="right">{jaw}'
        + joint.format("slide", "left", "0.005")
        + end.format("1", "0", "0.04", "")
        + joint.format("other_slide", "right", "-0.005")
        + end.format(axis, low, high, second)
        + "</robot>"
    )


UNDERSTOOD = {
    "no inertias": without(r"<inertial>.*?</inertial>"),
    "collision shapes only": without(r"<visual>.*?</visual>"),
    "visual shapes only": without(r"<collision>.*?</collision>"),
    "missing visual meshes": re.sub(
        r"(<visual>.*?<geometry>).*?(</geometry></visual>)", r'\1<mesh filename="package://nowhere/a.stl"/>\2', GRIPPER
    ),
    "meshes in millimetres with a scale": as_mesh("0.001 0.001 0.001"),
    "mirrored meshes": as_mesh("0.001 -0.001 0.001"),
    "capsules": GRIPPER.replace(FINGER, '<geometry><capsule radius="0.008" length="0.074"/></geometry>'),
    "two jaws that slide": sliding("", "-1"),
    "a jaw that follows backwards": sliding('<mimic joint="slide" multiplier="-1"/>', "1"),
    "a forearm with a wrist": with_forearm(),
    "axes that are no unit vectors": GRIPPER.replace('<axis xyz="1 0 0"/>', '<axis xyz="2 0 0"/>'),
    "what other programs write": GRIPPER.replace(
        "</robot>", '<ros2_control name="a"/><transmission name="b"/><gazebo reference="l_finger"/></robot>'
    ),
}
REFUSED = {
    "a package that is nowhere": (
        re.sub(r"<geometry>.*?</geometry>", '<geometry><mesh filename="package://nowhere/a.stl"/></geometry>', GRIPPER),
        r"package 'nowhere' of .* was not found; looked in .*--package-dir",
    ),
    "a joint without limits": (without(r"<limit[^>]*/>"), r"'l_joint': is revolute but has no <limit>; give lower"),
    "limits that are all zero": (
        re.sub(r'lower="[^"]*" upper="[^"]*"', 'lower="0" upper="0"', GRIPPER),
        r"finger of 'l_finger': 'l_joint' cannot move: both limits are the same .*; give their <limit>s",
    ),
    "a xacro": (GRIPPER.replace("<link", "<xacro:property/><link", 1), r"xacro, the macro language; expand it first"),
    "millimetres in boxes": (
        GRIPPER.replace('size="0.05 0.06 0.06"', 'size="50.5 60 60"'),
        r"'gripper_palm', collision: <box> with size \(50.5, 60, 60\) m; at most 50 m; the lengths .* are metres",
    ),
    "meshes in millimetres without a scale": (as_mesh("1 1 1"), r'almost surely millimetres.*scale="0.001 0.001'),
}


def written(text: str, folder: Path) -> Path:
    """The URDF, beside a mesh of its finger in millimetres."""
    box = make_shape("box", size=(0.02, 0.012, 0.09), edge=0.1)
    corners = [f"v {x} {y} {z}\n" for x, y, z in 1000 * box.vertices]
    (folder / "finger.obj").write_text("".join([*corners, *(f"f {a} {b} {c}\n" for a, b, c in box.faces + 1)]))
    (folder / "odd.urdf").write_text(text)
    return folder / "odd.urdf"


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_an_odd_hand_closes_on_a_ball(tmp_path: Path, name: str) -> None:
    proposal = propose_hand(read_urdf(written(UNDERSTOOD[name], tmp_path)))
    path = write_proposal(proposal, tmp_path / "out")
    assert check_file(path).ok
    hand = load_hand(path)
    assert not proposal.warnings
    assert [len(finger.pads) for finger in hand.description.fingers] == [1, 1]
    assert proposal.largest_ball["tips"] > 0.05
    tips = hand.description.preshapes[0]
    ends = [finger.links[-1] for finger in hand.description.fingers]
    open_, closed = (hand.robot.poses(ends, q) for q in (hand.q_open(tips), hand.q_closed(tips)))
    last = [np.array(finger.pads[-1].region).mean(axis=0) for finger in hand.description.fingers]
    widths = [np.linalg.norm(a.act(last[0]) - b.act(last[1])) for a, b in (open_, closed)]
    assert widths[1] < 0.5 * widths[0]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    text, words = REFUSED[name]
    with pytest.raises(InputError, match=words):
        propose_hand(read_urdf(written(text, tmp_path)))


def test_a_capsule_is_as_long_as_its_cylinder_and_both_its_caps() -> None:
    text = '<robot name="r"><link name="a"><collision><geometry><capsule radius="0.01" length="0.05"/></geometry>'
    link = parse_urdf(f"{text}</collision></link></robot>").links[0]
    mesh = link_mesh(link)
    assert mesh is not None
    np.testing.assert_allclose(mesh.extents, [0.02, 0.02, 0.07], atol=2e-4)


def test_two_fingers_that_swing_apart_together_come_from_all_sides_with_the_third() -> None:
    """Either finger alone would gain nothing: only both, by 60 degrees, balance the third."""
    text = re.sub(r'<mimic joint="bh_spread_1" multiplier="-1"/>', "", made_hands.barrett_like())
    found = {preshape.name: preshape for preshape in propose_hand(parse_urdf(text)).description.preshapes}
    assert found["round"].open["bh_spread_1"] == pytest.approx(-np.pi / 3, abs=0.03)
    assert found["round"].open["bh_spread_2"] == pytest.approx(np.pi / 3, abs=0.03)


def test_a_plate_behind_the_root_frame_is_not_inside_the_arm() -> None:
    """9 mm of the palm lie behind its frame: the mount goes back by as much."""
    text = GRIPPER.replace('xyz="0 0 0.03"', 'xyz="0 0 0.021"')
    proposal = propose_hand(parse_urdf(text))
    mount = next(joint for joint in proposal.urdf.joints if joint.parent == proposal.description.mount)
    np.testing.assert_allclose(mount.T_parent_joint.translation, [0.0, 0.0, 0.009], atol=1e-6)
    assert propose_hand(parse_urdf(GRIPPER)).urdf.root == "gripper_palm"
