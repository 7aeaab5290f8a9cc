"""Task files: what a user writes becomes a task, or an answer that names field, value and remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pliant.errors import DocumentError, OptionError
from pliant.files import load_task, read_task, shipped_tasks

GOOD = """
robot: {arm: kawasaki_fs020n, hand: schunk_sdh2, base: {position: [0.1, 0, 0]}, start_deg: [0, 30, -60, 0, 0, 0]}
object:
  shape: {torus: {major: 0.035, minor: 0.015}}
  pose: {position: [0.9, 0, 0.1], rpy_deg: [0, 0, 90]}
  material: {young: 5e5, poisson: 0.45, density: 1100, friction: 0.8}
  limits: {force: 15, pressure: 2.0e5}
scene: [{box: {size: [1, 1, 0.05], position: [0.9, 0, -0.025]}}, {sphere: {radius: 0.1, position: [0, 1, 0]}}]
task: {lift: 0.05, move: {translate: [0, 0, 0.01], rotate: {axis: [0, 0, 2], angle_deg: 10}, frame: palm}, by: both}
"""


def task(tmp_path: Path, text: str):
    path = tmp_path / "task.yaml"
    path.write_text(text)
    return read_task(path)


def test_a_task_file_becomes_a_task(tmp_path: Path) -> None:
    t = task(tmp_path, GOOD)
    assert t.assembly.robot.dof == 13
    np.testing.assert_allclose(np.degrees(t.q_start[:6]), [0, 30, -60, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(t.assembly.robot.pose("base", t.q_start).translation, [0.1, 0, 0])
    np.testing.assert_allclose(t.T_world_object.rotation @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(t.goal.rotation, [0, 0, np.radians(10)])
    assert t.body.mass == pytest.approx(1100 * 2 * np.pi**2 * 0.035 * 0.015**2, rel=0.01)
    assert len(t.scene) == 2
    np.testing.assert_allclose(t.scene[0].bounds, [[0.4, -0.5, -0.05], [1.4, 0.5, 0.0]])


def test_swapping_the_hand_touches_one_line(tmp_path: Path) -> None:
    for hand, joints in (("allegro_like", 22), ("parallel_gripper", 7)):
        assert task(tmp_path, GOOD.replace("schunk_sdh2", hand)).assembly.robot.dof == joints
    assert (
        task(
            tmp_path, GOOD.replace("arm: kawasaki_fs020n, ", "").replace(", start_deg: [0, 30, -60, 0, 0, 0]", "")
        ).assembly.robot.dof
        == 7
    )


@pytest.mark.parametrize("name", shipped_tasks())
def test_shipped_tasks_load(name: str) -> None:
    assert load_task(name).assembly.hand is not None


def test_load_task_takes_names_and_files_alike_and_suggests_the_nearest() -> None:
    by_name, by_file = load_task("ball_gripper"), load_task(shipped_tasks()["ball_gripper"])
    assert by_name.source == by_file.source and by_name.name == by_file.name == "ball_gripper"
    with pytest.raises(OptionError, match="closest: ring"):
        load_task("rign")


BOTTLE = GOOD.replace("{torus: {major: 0.035, minor: 0.015}}", "{bottle: {}}")
CHANGES = {
    "zero modulus": ("young: 5e5", "young: 0", r"object.material: young: 0.0; must be a finite number above 0"),
    "negative modulus": ("young: 5e5", "young: -1", r"young: -1"),
    "incompressible": ("poisson: 0.45", "poisson: 0.5", r"poisson: 0.5.*0.49"),
    "poisson above a half": ("poisson: 0.45", "poisson: 0.7", r"poisson: 0.7"),
    "negative friction": ("friction: 0.8", "friction: -0.1", r"friction: -0.1"),
    "unknown field": ("material:", "materail:", r"object.materail: unknown field; closest: material"),
    "unknown hand": ("schunk_sdh2", "shunk_sdh2", r"robot: no hand 'shunk_sdh2'; closest: schunk_sdh2"),
    "unknown shape": ("torus:", "tours:", r"object.shape: no shape 'tours'; closest: torus"),
    "unknown parameter": ("major:", "mayor:", r"mayor: no parameter 'mayor'; closest: major"),
    "missing mesh": ("shape: {torus: {major: 0.035, minor: 0.015}}", "mesh: no.stl", r"object: .*no.stl: no such file"),
    "mesh outside": ("shape: {torus: {major: 0.035, minor: 0.015}}", "mesh: ../no.stl", r"leads out of the folder"),
    "mesh and shape": ("  shape:", "  mesh: a.stl\n  shape:", r"object: give either mesh .* or shape"),
    "two obstacles in one": ("{sphere:", "{mesh: a.stl, sphere:", r"scene\[1\]: an obstacle is one of .* sphere, mesh"),
    "pose beside a sphere": ("{sphere:", "{pose: {position: [0, 1, 0]}, sphere:", r"scene\[1\]: pose and scale are a"),
    "place in millimetres": ("[0.9, 0, 0.1]", "[900, 0, 100]", r"900 m is too far .*; if it is in mm, write 0.9"),
    "word for a number": ("lift: 0.05", "lift: high", r"task.lift: 'high': should be a number, without quotes"),
    "who": ("by: both", "by: feet", r"task.by: 'feet': input should be 'fingers', 'arm' or 'both'"),
    "no axis": ("axis: [0, 0, 2]", "axis: [0, 0, 0]", r"task.move.rotate: axis \(0, 0, 0\) has no direction"),
    "start outside": ("[0, 30,", "[0, 300,", r"robot.start_deg: joint2: 300 is outside .*; allowed: -105 .. 140 deg"),
    "start too short": ("[0, 30, -60, 0, 0, 0]", "[0, 30]", r"robot.start_deg: has 2 values; give 6 \(the arm\) or 13"),
    "start of nothing": (
        "start_deg: [0, 30, -60, 0, 0, 0]",
        "start_deg: {joint9: 1}",
        r"start_deg: no independent joint",
    ),
    "arm outside": ("arm: kawasaki_fs020n", "arm: ../../../etc/passwd", r"robot.arm: .*leads out of the folder"),
    "hand of no name": ("hand: schunk_sdh2", 'hand: ""', r"robot"),
    "name with a null": (
        "shape: {torus: {major: 0.035, minor: 0.015}}",
        'mesh: "a\\0b.stl"',
        r"has the control character",
    ),
    "obstacle of absurd size": ("{radius: 0.1,", "{radius: 1.0e+30,", r"scene\[1\].shape: radius: 1e\+30"),
    "foam in a skin": (
        "  material:",
        "  skin: {thickness: 0.001, young: 1e7}\n  material:",
        r"object.skin: cannot be given; a body is of one material throughout. Of foam in a skin, .* when it is pressed",
    ),
    "ring of absurd size": ("{major: 0.035, minor: 0.015}", "{major: 50, minor: 15}", r"object.*130 m across"),
    "no weights": ("task: {", "planner: {weights: [0, 0, 0]}\ntask: {", r"planner: weights are all 0"),
    "no steps": ("task: {", "task: {steps: 0, ", r"task.steps: 0: .*greater than or equal to 1"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_wrong_value_is_answered_with_its_field(tmp_path: Path, name: str) -> None:
    old, new, message = CHANGES[name]
    assert old in GOOD
    with pytest.raises(DocumentError, match=message) as caught:
        task(tmp_path, GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(str(tmp_path / "task.yaml") + ": ")


def test_liquid_beyond_the_vessel_says_how_much_it_holds(tmp_path: Path) -> None:
    full = BOTTLE.replace("limits:", "liquid: {volume: 3.0e-4, wall: 0.0005}\n  limits:")
    assert task(tmp_path, full).body.kind == "vessel"
    with pytest.raises(DocumentError, match=r"object.liquid: .*holds"):
        task(tmp_path, full.replace("3.0e-4", "3.0e-3"))


def test_a_mesh_in_millimetres_is_suspected_and_the_remedy_is_one(tmp_path: Path) -> None:
    """The same words for the object and for an obstacle; with the field they name, both are read."""
    from pliant.objects import make_shape, write_mesh

    ring = make_shape("torus", edge=0.01)
    write_mesh(ring.scaled(1000.0), tmp_path / "ring_mm.stl")
    text = GOOD.replace("shape: {torus: {major: 0.035, minor: 0.015}}", "mesh: ring_mm.stl").replace(
        "{sphere: {radius: 0.1, position: [0, 1, 0]}}", "{mesh: ring_mm.stl}"
    )
    with pytest.raises(DocumentError) as caught:
        task(tmp_path, text)
    words = "its coordinates are almost surely millimetres; scale by 0.001, in a task file with 'scale: 0.001'"
    told = [str(problem) for problem in caught.value.problems]
    assert len(told) == 2
    for field, said in zip(("object", "scene[1]"), told, strict=True):
        assert said.startswith(field) and words in said and "(0.1 m then)" in said
    mended = text.replace("mesh: ring_mm.stl\n", "mesh: ring_mm.stl\n  scale: 0.001\n").replace(
        "{mesh: ring_mm.stl}", "{mesh: ring_mm.stl, scale: 0.001}"
    )
    t = task(tmp_path, mended)
    np.testing.assert_allclose([t.body.mesh.extents, t.scene[1].extents], [ring.extents] * 2, rtol=1e-6)


def test_problems_of_robot_and_object_are_told_together(tmp_path: Path) -> None:
    text = GOOD.replace("schunk_sdh2", "shunk").replace("young: 5e5", "young: 0")
    with pytest.raises(DocumentError) as caught:
        task(tmp_path, text)
    assert len(caught.value.problems) == 2


def test_a_linear_joint_starts_in_metres(tmp_path: Path) -> None:
    text = GOOD.replace("schunk_sdh2", "parallel_gripper").replace(
        "start_deg: [0, 30, -60, 0, 0, 0]", "start_deg: {opening: 0.02}"
    )
    t = task(tmp_path, text)
    assert t.q_start[t.assembly.robot.joint_index("opening")] == 0.02
    with pytest.raises(DocumentError, match=r"opening: 30 is outside .*allowed: 0 .. 0.05 m"):
        task(tmp_path, text.replace("opening: 0.02", "opening: 30"))
