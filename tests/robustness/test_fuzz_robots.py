"""Damaged and senseless robot descriptions: URDF files and the YAML files that say what a hand is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from fuzzing import ask, damaged, empty_folder, fuzz, rewritten, seeds, write_yaml
from hypothesis import strategies as st

import pliant.robot

SHIPPED = Path(pliant.robot.__file__).parent / "shipped"
HANDS = ("parallel_gripper", "schunk_sdh2", "allegro_like")


def copied(name: str, folder: Path) -> Path:
    """A shipped robot in a folder of its own; its URDF."""
    shutil.copytree(SHIPPED / name, folder, dirs_exist_ok=True)
    return folder / f"{name}.urdf"


@fuzz(40, name=st.sampled_from((*HANDS, "kawasaki_fs020n")), seed=seeds)
def test_a_damaged_urdf_is_used_or_refused(name: str, seed: int) -> None:
    with empty_folder() as folder:
        urdf = copied(name, folder)
        urdf.write_bytes(damaged(urdf.read_bytes(), seed))
        ask("check", urdf.name)


@fuzz(8, seed=seeds)
def test_a_damaged_urdf_can_be_asked_for_inverse_kinematics(seed: int) -> None:
    with empty_folder() as folder:
        urdf = copied("kawasaki_fs020n", folder)
        urdf.write_bytes(damaged(urdf.read_bytes(), seed))
        ask("ik", urdf.name, "--frame", "flange", "--target", "1,0,1,0,1,0,0", allowed=(0, 1, 2), cpu=60)


@fuzz(6, name=st.sampled_from(HANDS), seed=seeds)
def test_a_hand_is_proposed_from_a_damaged_urdf_or_it_is_refused(name: str, seed: int) -> None:
    with empty_folder() as folder:
        urdf = copied(name, folder)
        urdf.write_bytes(damaged(urdf.read_bytes(), seed))
        ask("hand", "import", urdf.name, "--out", "proposed", "--no-picture", allowed=(0, 1, 2), cpu=60)


@fuzz(40, name=st.sampled_from(HANDS), seed=seeds)
def test_a_hand_description_with_wrong_fields_is_used_or_refused(name: str, seed: int) -> None:
    tree = yaml.safe_load((SHIPPED / name / "hand.yaml").read_text())
    with empty_folder() as folder:
        copied(name, folder)
        write_yaml(folder / "hand.yaml", rewritten(tree, seed))
        ask("check", "hand.yaml")


@fuzz(15, name=st.sampled_from((*HANDS, "kawasaki_fs020n")), seed=seeds)
def test_a_damaged_description_is_used_or_refused(name: str, seed: int) -> None:
    file = "arm.yaml" if name == "kawasaki_fs020n" else "hand.yaml"
    with empty_folder() as folder:
        copied(name, folder)
        (folder / file).write_bytes(damaged((folder / file).read_bytes(), seed))
        ask("check", file, "--json")


def robot(inside: str, head: str = "") -> str:
    return f'{head}<robot name="r">{inside}</robot>'


def joint(name: str, parent: str, child: str, *, kind: str = "revolute", inside: str = "") -> str:
    limit = "" if "<limit" in inside else '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<axis xyz="0 0 1"/>{limit}{inside}</joint>'


LINKS = '<link name="a"/><link name="b"/><link name="c"/>'
CHAIN = joint("one", "a", "b") + joint("two", "b", "c")


def mesh_link(filename: str) -> str:
    return robot(f'<link name="a"><visual><geometry><mesh filename="{filename}"/></geometry></visual></link>')


def limited(lower: str, upper: str = "1", velocity: str = "1") -> str:
    limit = f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="{velocity}"/>'
    return robot('<link name="a"/><link name="b"/>' + joint("one", "a", "b", inside=limit))


def mimics(first: str, second: str = "") -> str:
    return robot(LINKS + joint("one", "a", "b", inside=first) + joint("two", "b", "c", inside=second))


BOMB = "<!DOCTYPE r [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY {name} '{f'&{before};' * 10}'>" for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
BAD = {
    "empty": "",
    "not_xml": "robot: {}",
    "cut": robot(LINKS + CHAIN)[:-20],
    "other_root": "<mujoco/>",
    "nothing_in_it": robot(""),
    "entity_bomb": f"{BOMB}]><robot name='&j;'/>",
    "external_entity": "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><robot name='&x;'/>",
    "external_subset": "<!DOCTYPE r SYSTEM 'http://127.0.0.1:9/x.dtd'><robot name='r'><link name='a'/></robot>",
    "deep": robot("<link>" * 5000),
    "loop": robot(LINKS + joint("one", "a", "b") + joint("two", "b", "a")),
    "own_parent": robot('<link name="a"/>' + joint("one", "a", "a")),
    "two_parents": robot(LINKS + joint("one", "a", "c") + joint("two", "b", "c")),
    "two_roots": robot(LINKS),
    "unknown_link": robot(LINKS + joint("one", "a", "z")),
    "same_names": robot('<link name="a"/><link name="a"/>'),
    "nan_limit": limited("nan"),
    "infinite_limit": limited("-inf"),
    "limits_swapped": limited("2"),
    "huge_limit": limited("-1e300"),
    "negative_velocity": limited("-1", velocity="-1"),
    "mimic_of_nobody": mimics('<mimic joint="none"/>'),
    "mimic_of_itself": mimics('<mimic joint="one"/>'),
    "mimic_in_a_circle": mimics('<mimic joint="two"/>', '<mimic joint="one"/>'),
    "mimic_nan": mimics("", '<mimic joint="one" multiplier="nan"/>'),
    "mimic_huge": mimics("", '<mimic joint="one" offset="1e300"/>'),
    "mimic_empty": mimics("<mimic/>"),
    "axis_zero": robot(LINKS + joint("one", "a", "b").replace("0 0 1", "0 0 0") + joint("two", "b", "c")),
    "negative_mass": robot('<link name="a"><inertial><mass value="-1"/></inertial></link>'),
    "nan_inertia": robot('<link name="a"><inertial><mass value="1"/><inertia ixx="nan"/></inertial></link>'),
    "mesh_outside": mesh_link("../../../../../etc/passwd"),
    "mesh_absolute": mesh_link("/etc/passwd"),
    "mesh_by_uri": mesh_link("file:///etc/passwd"),
    "mesh_by_percent_signs": mesh_link("%2e%2e/%2e%2e/etc/passwd"),
    "mesh_from_the_network": mesh_link("http://127.0.0.1:9/m.stl"),
    "mesh_of_no_package": mesh_link("package://none/m.stl"),
    "mesh_of_the_package_above": mesh_link("package://../etc/passwd"),
    "mesh_that_is_a_device": mesh_link("/dev/zero"),
    "mesh_that_is_no_mesh": mesh_link("r.urdf"),
    "too_many_joints": robot(
        "".join(f'<link name="l{i}"/>' for i in range(400))
        + "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(399))
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_robot_that_is_none_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.urdf").write_text(BAD[name])
    ask("check", "r.urdf", allowed=(2,))


def test_a_chain_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases above are refused for what is wrong with them."""
    monkeypatch.chdir(tmp_path)
    Path("r.urdf").write_text(robot(LINKS + CHAIN))
    ask("check", "r.urdf", allowed=(0,))
    Path("r.urdf").write_text(mimics("", '<mimic joint="one" multiplier="-2" offset="0.1"/>'))
    ask("check", "r.urdf", allowed=(0,))
