"""Every wrong URDF is answered with file, place, value and remedy; all problems of a file at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pliant.errors import RobotError
from pliant.robot import Robot, load_robot, parse_urdf, read_urdf

LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


def robot(joints: str, links: str = '<link name="base"/><link name="arm"/>') -> str:
    return f'<?xml version="1.0"?>\n<robot name="r">\n{links}\n{joints}\n</robot>'


def joint(
    body: str = LIMIT, *, kind: str = "revolute", parent: str = "base", child: str = "arm", name: str = "j"
) -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{body}</joint>'


CASES = {
    "unknown joint type": (robot(joint(kind="ball")), r"line 4, joint 'j': no joint type 'ball'; allowed: revolute"),
    "missing link": (robot(joint(child="arn")), r"joint 'j', child: no link 'arn'; closest: arm"),
    "no child": (robot('<joint name="j" type="fixed"><parent link="base"/></joint>'), r"has no <child link=...>"),
    "loop": (
        robot(joint(name="j") + joint(name="k", parent="arm", child="base")),
        r"the links form a loop: \w+ -> \w+ -> \w+; cut it at one joint",
    ),
    "two parents": (
        robot(joint() + joint(name="k", parent="c"), '<link name="base"/><link name="arm"/><link name="c"/>'),
        r"joint 'k': link 'arm' is already the child of joint 'j'",
    ),
    "two roots": (robot(""), r"2 links are nobody's child \(base, arm\)"),
    "no links": ("<robot name='r'/>", r"has no link"),
    "NaN limit": (robot(joint(LIMIT.replace('"-1"', '"nan"'))), r'line 4, joint \'j\': lower="nan" is not finite'),
    "lower above upper": (
        robot(joint(LIMIT.replace('"-1"', '"2"'))),
        r"joint 'j': lower limit 2 is above upper limit 1; swap",
    ),
    "no limits": (robot(joint("")), r"joint 'j': is revolute but has no <limit>"),
    "negative speed": (robot(joint(LIMIT.replace('velocity="1"', 'velocity="-1"'))), r"limit velocity -1 is negative"),
    "zero axis": (robot(joint(LIMIT + '<axis xyz="0 0 0"/>')), r"axis \(0, 0, 0\) has no direction"),
    "two numbers in an axis": (robot(joint(LIMIT + '<axis xyz="0 1"/>')), r"has 2 numbers; expected 3"),
    "words in an origin": (robot(joint(LIMIT + '<origin xyz="a b c"/>')), r'xyz="a b c" is not a number'),
    "mimic of a missing joint": (
        robot(
            joint(LIMIT + '<mimic joint="other"/>') + joint(name="othr", child="c"),
            '<link name="base"/><link name="arm"/><link name="c"/>',
        ),
        r"joint 'j', mimic: no other moving joint 'other'; closest: othr",
    ),
    "mimic of itself": (robot(joint(LIMIT + '<mimic joint="j"/>')), r"follow each other in a circle: j -> j"),
    "same name twice": (
        robot(joint(), '<link name="base"/><link name="arm"/>\n<link name="arm"/>'),
        r"line 4, link 'arm': the name is used twice \(first at line 3\)",
    ),
    "negative mass": (
        robot(joint(), '<link name="base"><inertial><mass value="-1"/></inertial></link><link name="arm"/>'),
        r"mass -1 kg is negative",
    ),
    "unknown shape": (
        robot(joint(), '<link name="base"><visual><geometry><cone/></geometry></visual></link><link name="arm"/>'),
        r"shape <cone> is not known; allowed: mesh, box, cylinder, sphere, capsule",
    ),
    "flat box": (
        robot(
            joint(),
            '<link name="base"><visual><geometry><box size="1 0 1"/></geometry></visual></link><link name="arm"/>',
        ),
        r"<box> with size \(1, 0, 1\); sizes must be positive",
    ),
    "xacro": (
        '<robot name="r" xmlns:xacro="x"><xacro:property name="a" value="1"/><link name="l"/></robot>',
        r"<xacro:property> belongs to xacro.*expand it first",
    ),
    "unexpanded macro": ('<robot name="r"><link name="${p}arm"/></robot>', r"belongs to xacro"),
    "absurd origin": (robot(joint(LIMIT + '<origin xyz="1e300 0 0"/>')), r"is absurdly large; at most 1e\+09"),
    "too many joints": (
        robot(
            "".join(joint(name=f"j{i}", child=f"l{i}") for i in range(250)),
            '<link name="base"/>' + "".join(f'<link name="l{i}"/>' for i in range(250)),
        ),
        r"has 251 links and 250 moving joints; at most 2000 links and 200 moving joints",
    ),
    "not XML": ("<robot><link</robot>", r"line 1, column \d+: not valid XML"),
    "not a robot": ("<html/>", r"the root element is <html>; expected <robot>"),
    "document type": (
        '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">]><robot name="&lol;"/>',
        r"has a document type \(DOCTYPE\)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_urdf_is_refused_with_place_and_remedy(name: str) -> None:
    text, message = CASES[name]
    with pytest.raises(RobotError, match=message):
        parse_urdf(text, source="r.urdf")


def test_all_problems_of_a_file_are_told_at_once() -> None:
    text = robot(joint(LIMIT + '<axis xyz="0 0 0"/>', kind="ball", child="arn"))
    with pytest.raises(RobotError) as caught:
        parse_urdf(text, source="r.urdf")
    assert len(caught.value.problems) >= 3
    assert all(line.startswith("r.urdf: ") for line in str(caught.value).splitlines())


def test_entity_bomb_is_refused_at_once() -> None:
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    bomb = f'<!DOCTYPE r [<!ENTITY l0 "ha">{entities}]><robot name="&l11;"/>'
    with pytest.raises(RobotError, match="DOCTYPE"):
        parse_urdf(bomb)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(RobotError, match="nested more than 60 deep"):
        parse_urdf("<robot>" + "<a>" * 100_000)


def mesh_robot(filename: str) -> str:
    return robot(
        joint(),
        f'<link name="base"><visual><geometry><mesh filename="{filename}"/></geometry></visual></link>'
        '<link name="arm"/>',
    )


@pytest.mark.parametrize(
    "filename",
    [
        "package://../../secret.stl",
        "package://pack/../../secret.stl",
        "../secret.stl",
        "package://..",
        "file:///etc/passwd",
    ],
)
def test_mesh_paths_cannot_leave_their_folders(tmp_path: Path, filename: str) -> None:
    folder = tmp_path / "outer" / "pack"
    folder.mkdir(parents=True)
    (tmp_path / "secret.stl").write_text("solid")
    (tmp_path / "outer" / "secret.stl").write_text("solid")
    file = folder / "r.urdf"
    file.write_text(mesh_robot(filename))
    with pytest.raises(RobotError, match=r"leads out|leaves the package|lies outside|expected package"):
        read_urdf(file, package_dirs=[tmp_path / "outer"])


def test_symbolic_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.stl").write_text("solid")
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "inner.stl").symlink_to(tmp_path / "secret.stl")
    (folder / "r.urdf").write_text(mesh_robot("inner.stl"))
    with pytest.raises(RobotError, match="leads out of pack"):
        read_urdf(folder / "r.urdf")


def test_missing_mesh_and_missing_package_say_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "finger.stl").write_text("solid")
    (tmp_path / "r.urdf").write_text(mesh_robot("finfer.stl"))
    with pytest.raises(RobotError, match=r"mesh file 'finfer.stl' does not exist; closest there: finger.stl"):
        read_urdf(tmp_path / "r.urdf")
    (tmp_path / "r.urdf").write_text(mesh_robot("package://hand/finger.stl"))
    with pytest.raises(RobotError, match=r"package 'hand' of .* was not found; looked in"):
        read_urdf(tmp_path / "r.urdf")


def test_package_paths_find_the_package_the_file_lies_in(tmp_path: Path) -> None:
    folder = tmp_path / "hand" / "urdf"
    (tmp_path / "hand" / "meshes").mkdir(parents=True)
    folder.mkdir()
    (tmp_path / "hand" / "meshes" / "a.stl").write_text("solid")
    (folder / "r.urdf").write_text(mesh_robot("package://hand/meshes/a.stl"))
    assert read_urdf(folder / "r.urdf").links[0].visuals[0].path == tmp_path / "hand" / "meshes" / "a.stl"


def test_missing_file_names_the_closest(tmp_path: Path) -> None:
    (tmp_path / "hand.urdf").write_text("")
    with pytest.raises(RobotError, match=r"no such file; closest there: hand.urdf"):
        load_robot(tmp_path / "hnad.urdf")


def test_huge_file_is_refused_without_reading_it(tmp_path: Path) -> None:
    file = tmp_path / "big.urdf"
    with file.open("wb") as f:
        f.truncate(100_000_000)
    with pytest.raises(RobotError, match=r"has 100.0 MB; a robot description file may have at most 20 MB"):
        load_robot(file)


def test_a_chain_longer_than_pythons_own_stack_is_no_problem() -> None:
    links = "".join(f'<link name="l{i}"/>' for i in range(1900))
    fixed = "".join(joint("", kind="fixed", name=f"j{i}", parent=f"l{i}", child=f"l{i + 1}") for i in range(1899))
    chain = Robot(parse_urdf(robot(fixed, links)))
    assert chain.dof == 0
    assert len(chain.link_names) == 1900


def test_elements_that_nobody_knows_are_mentioned() -> None:
    urdf = parse_urdf(robot(joint(), '<link name="base"/><Link name="x"/><link name="arm"><colision/></link><gazebo/>'))
    assert [note.split(": ", 1)[1] for note in urdf.notes] == [
        "<Link> is not known here and is passed over; closest: <link>",
        "<colision> is not known here and is passed over; closest: <collision>",
    ]


@pytest.mark.parametrize("encoding", ["klingon", "shift_jis", "base64", "utf-16"])
def test_an_encoding_that_cannot_be_read_is_named(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(f'<?xml version="1.0" encoding="{encoding}"?><robot name="r"><link name="a"/></robot>')
    with pytest.raises(RobotError, match="encoding"):
        read_urdf(file)
