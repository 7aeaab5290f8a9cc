"""Pads on links whose shapes are no sound surface, and robots whose visual meshes are lost."""

from __future__ import annotations

import json
from pathlib import Path

import made_hands
import numpy as np
import pinocchio as pin
import pytest

from pliant.cli import run_command
from pliant.files import check_file
from pliant.objects import Mesh, make_shape, mesh_volume, repair_mesh, write_mesh
from pliant.robot import Pad, link_surfaces, load_hand, load_robot, pad_mesh, parse_urdf, propose_hand
from pliant.robot.proposal.write import write_proposal
from pliant.viewer import hand_picture

UP = Pad(link="tip", facing=(0, 0, 1), max_force=1.0)


def joined(*meshes: Mesh) -> Mesh:
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + k for mesh, k in zip(meshes, offsets, strict=False)]
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(faces))


def box(size: tuple[float, float, float], centre: tuple[float, float, float] = (0, 0, 0)) -> Mesh:
    return make_shape("box", size=size, edge=0.004).transformed(pin.SE3(np.eye(3), np.array(centre, dtype=float)))


def one_link(folder: Path, *meshes: Mesh):
    shapes = ""
    for i, mesh in enumerate(meshes):
        write_mesh(mesh, folder / f"shape_{i}.obj")
        shapes += f'<collision><geometry><mesh filename="shape_{i}.obj"/></geometry></collision>'
    return parse_urdf(f'<robot name="r"><link name="tip">{shapes}</link></robot>', folder=folder)


def test_a_pad_over_several_shapes_lies_on_their_union(tmp_path):
    """Two boxes, overlapping by half: the union's top is 30 mm long, its volume that of both less the overlap."""
    urdf = one_link(tmp_path, box((0.02, 0.01, 0.01)), box((0.02, 0.01, 0.01), (0.01, 0, 0)))
    found = pad_mesh(urdf, UP)
    assert mesh_volume(found.mesh) == pytest.approx(0.03 * 0.01 * 0.01, rel=1e-6)
    assert found.mesh.face_areas[found.faces].sum() == pytest.approx(0.03 * 0.01, rel=1e-6)
    assert found.notes == ("the union of 2 collision shapes is taken",)


def test_separate_bodies_in_one_file_are_united_like_shapes(tmp_path):
    urdf = one_link(tmp_path, joined(box((0.02, 0.01, 0.01)), box((0.02, 0.01, 0.01), (0.01, 0, 0))))
    assert mesh_volume(pad_mesh(urdf, UP).mesh) == pytest.approx(0.03 * 0.01 * 0.01, rel=1e-6)


def test_bodies_with_a_slit_between_them_are_one_and_those_further_apart_are_mentioned(tmp_path):
    """A plate, a block 0.5 mm beside it and a tip as far beside that: the tip keeps its pad."""
    one, two = box((0.02, 0.01, 0.01)), box((0.004, 0.02, 0.01), (0.0125, 0, 0))
    found = pad_mesh(one_link(tmp_path, one, two, box((0.01, 0.01, 0.01), (0.02, 0, 0))), UP)
    moved = "bodies with slits between them are moved together, by up to 1.1 mm"
    assert found.notes == ("the union of 3 collision shapes is taken", moved)
    assert found.mesh.extents[0] == pytest.approx(0.034, abs=2.5e-4)
    area = found.mesh.face_areas[found.faces].sum()
    assert area == pytest.approx(0.02 * 0.01 + 0.004 * 0.02 + 0.01 * 0.01, rel=0.01)
    (folder := tmp_path / "apart").mkdir()
    apart = pad_mesh(one_link(folder, one, box((0.01, 0.01, 0.01), (0.02, 0, 0))), UP)
    assert apart.notes[-1] == "1 of 2 bodies that lie apart are no pad"


def test_a_sheet_beside_a_body_is_left_out_of_the_union(tmp_path):
    sheet = Mesh([[0, 0, 0.02], [0.02, 0, 0.02], [0, 0.02, 0.02]], [[0, 1, 2]])
    found = pad_mesh(one_link(tmp_path, box((0.02, 0.01, 0.01)), sheet), UP)
    assert mesh_volume(found.mesh) == pytest.approx(2e-6, rel=1e-6)
    assert any("without volume" in note for note in found.notes)


def test_one_sound_shape_with_the_pad_is_taken_as_it_is(tmp_path):
    urdf = one_link(tmp_path, box((0.02, 0.01, 0.01)), box((0.004, 0.004, 0.004), (0, 0, -0.01)))
    found = pad_mesh(urdf, UP)
    assert found.notes == () and mesh_volume(found.mesh) == pytest.approx(2e-6, rel=1e-6)


def test_an_open_shape_becomes_its_hull_and_it_is_said_how_far_that_stands_out(tmp_path):
    """A box without bottom, too large a hole to fill: the hull is the box again."""
    whole = box((0.02, 0.01, 0.01))
    urdf = one_link(tmp_path, Mesh(whole.vertices, whole.faces[whole.face_normals[:, 2] > -0.5]))
    found = pad_mesh(urdf, UP)
    assert mesh_volume(found.mesh) == pytest.approx(2e-6, rel=1e-6)
    assert found.mesh.face_areas[found.faces].sum() == pytest.approx(2e-4, rel=1e-6)
    (note,) = found.notes
    assert "convex hull" in note and "is open: 1 hole" in note
    repair_mesh(found.mesh)  # closed, no crossings


def test_alike_fingers_are_repaired_once(tmp_path, monkeypatch):
    from pliant.robot import sound_shapes

    calls = []
    monkeypatch.setattr(sound_shapes, "repair_mesh", lambda mesh: calls.append(mesh) or repair_mesh(mesh))
    sound_shapes._repaired.cache_clear()
    urdf = one_link(tmp_path, box((0.02, 0.01, 0.01)))
    for _ in range(3):
        pad_mesh(urdf, UP)
    assert len(calls) == 1


def hand_text(visual: str) -> str:
    """A hand of boxes whose visual shapes are that file."""
    text = made_hands.opening_gripper()
    head, *rest = text.split("<visual>")
    return head + "".join(
        f'<visual><geometry><mesh filename="{visual}"/></geometry></visual>{part.partition("</visual>")[2]}'
        for part in rest
    )


@pytest.mark.parametrize("content", [None, "no mesh at all"])
def test_lost_visual_meshes_are_a_note_and_collision_shapes_are_drawn(tmp_path, content):
    """The same picture as of the hand whose collision shapes are its visual ones."""
    if content is not None:
        (tmp_path / "lost.obj").write_text(content)
    (tmp_path / "hand.urdf").write_text(hand_text("lost.obj"))
    report = check_file(tmp_path / "hand.urdf")
    assert report.ok and "lost.obj" in " ".join(report.notes) and "collision shapes" in " ".join(report.notes)
    robot = load_robot(tmp_path / "hand.urdf")
    for link in robot.urdf.links:
        assert len(link_surfaces(link, "visual")) == 1
    pictures = []
    for name, urdf in (("lost", robot.urdf), ("whole", parse_urdf(made_hands.opening_gripper()))):
        hand = load_hand(write_proposal(propose_hand(urdf), tmp_path / name))
        pictures.append(hand_picture(hand, size=60))
    assert np.array_equal(*pictures)


def test_lost_visual_meshes_of_a_robot_without_collision_shapes_are_a_problem(tmp_path):
    text = hand_text("lost.obj")
    while "<collision>" in text:
        text = text.partition("<collision>")[0] + text.partition("<collision>")[2].partition("</collision>")[2]
    (tmp_path / "hand.urdf").write_text(text)
    report = check_file(tmp_path / "hand.urdf")
    assert not report.ok and "lost.obj" in str(report.problems[0])
    (tmp_path / "lost.obj").write_text("no mesh at all")
    assert not check_file(tmp_path / "hand.urdf").ok


def test_a_finger_without_a_tip_pad_is_a_warning_at_import_and_in_check(tmp_path, capsys):
    """The finger tip is a sheet: nothing on it can be a pad, while the link before it carries one."""
    text = made_hands.linkage_gripper()
    write_mesh(Mesh([[0, 0, 0], [0.02, 0, 0], [0, 0, 0.04]], [[0, 1, 2]]), tmp_path / "sheet.obj")
    head, _, rest = text.partition('<link name="left_pad">')
    shape, _, rest = rest.partition("</link>")
    shape = shape.replace('<box size="0.022 0.008 0.04"/>', '<mesh filename="sheet.obj"/>')
    (tmp_path / "hand.urdf").write_text(f'{head}<link name="left_pad">{shape}</link>{rest}')
    out = tmp_path / "out"
    assert (
        run_command(["hand", "import", str(tmp_path / "hand.urdf"), "--out", str(out), "--no-picture", "--json"]) == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["warnings"][0].startswith("finger 'left' has no pad on its last link 'left_pad'")
    pads = next(guess for guess in answer["guesses"] if guess["what"] == "fingers.left.pads")
    assert pads["sure"] <= 0.2
    (report,) = [check_file(out / "hand.yaml")]
    assert report.ok and report.notes[0].startswith("WARNING: finger 'left' has no pad on its last link")
    assert run_command(["check", str(out / "hand.yaml")]) == 0
    assert "WARNING: finger 'left'" in capsys.readouterr().out


def test_a_hand_that_is_only_seen_touches_with_what_is_seen(tmp_path):
    text = made_hands.opening_gripper().replace("collision>", "was>")
    proposal = propose_hand(parse_urdf(text))
    assert all(finger.pads for finger in proposal.description.fingers)
    assert any("visual shapes are taken" in note for note in proposal.notes)
