"""Plan files: what is read is what was written, to the last bit, on any machine; what is broken is refused in words."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import math
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from pydantic import BaseModel

import pliant.files.archive as archive_module
import pliant.files.plan_file as plan_file
from made_plans import ball_plan
from pliant.errors import InputError, PlanError
from pliant.files import load_plan, save_plan
from pliant.files.archive import pack
from pliant.objects import Mesh
from pliant.plain_arrays import array_bytes
from pliant.planner import (
    Choice,
    ChoiceRule,
    Plan,
    PlannerOptions,
    PlanStatus,
    Push,
    Reserve,
    Stopped,
    Tried,
    Uncertainty,
)
from pliant.robot import Robot, link_mesh, load_robot


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The plans themselves are made with the user's cache, so that distance fields are computed only once.
    ball_plan(), ball_plan(liquid=True)
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return save_plan(ball_plan(), tmp_path / "ball.plan")


def differences(a: Any, b: Any, where: str = "plan") -> Iterator[str]:
    """Every place where two plans differ, exact comparison throughout."""
    if isinstance(a, Path):
        if a.read_bytes() != b.read_bytes():
            yield f"{where}: other file content"
    elif isinstance(a, Robot):
        yield from differences((a.urdf, a.T_world_base), (b.urdf, b.T_world_base), where)
    elif isinstance(a, pin.SE3):
        if not np.array_equal(a.homogeneous, b.homogeneous):
            yield f"{where}: {a} and {b}"
    elif isinstance(a, np.ndarray):
        if a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=True):
            yield f"{where}: arrays differ"
    elif isinstance(a, Mesh):
        if (a.content_hash, a.name) != (b.content_hash, b.name):
            yield f"{where}: meshes differ"
    elif dataclasses.is_dataclass(a):
        if type(a) is not type(b):
            yield f"{where}: {type(a)} and {type(b)}"
        for field in dataclasses.fields(a):
            yield from differences(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, tuple):
        if type(b) is not tuple or len(a) != len(b):
            yield f"{where}: {a} and {b}"
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from differences(x, y, f"{where}[{i}]")
    else:
        assert isinstance(a, str | int | float | dict | None | Enum | BaseModel), f"{where}: {type(a)} is not compared"
        both_nan = isinstance(a, float) and math.isnan(a) and math.isnan(b)
        if (type(a) is not type(b) or a != b) and not both_nan:
            yield f"{where}: {a!r} and {b!r}"


def unpacked(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The same file with its members changed, packed again with right checksums."""
    members = unpacked(file)
    change(members)
    file.write_bytes(pack(members))
    return file


def edited(file: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The same file with plan.json changed."""

    def edit(members: dict[str, bytes]) -> None:
        fields = json.loads(members["plan.json"])
        change(fields)
        members["plan.json"] = json.dumps(fields).encode()

    return rewritten(file, edit)


def refusal(file: Path) -> str:
    with pytest.raises(PlanError) as caught:
        load_plan(file)
    assert str(file) in str(caught.value)
    return str(caught.value)


# -- what is read is what was written ----------------------------------------------------------------------------------


@pytest.mark.parametrize("liquid", [False, True])
def test_what_is_read_is_what_was_written_field_by_field(tmp_path: Path, liquid: bool) -> None:
    plan = ball_plan(liquid=liquid)
    assert list(differences(plan, load_plan(save_plan(plan, tmp_path / "x.plan")))) == []


def test_the_comparison_sees_a_single_bit(tmp_path: Path) -> None:
    plan = ball_plan()
    grasp = plan.grasps[0]
    q = grasp.q_touch.copy()
    q[3] = np.nextafter(q[3], 1.0)
    other = dataclasses.replace(plan, grasps=(dataclasses.replace(grasp, q_touch=q),))
    assert list(differences(plan, other)) == ["plan.grasps[0].q_touch: arrays differ"]


def test_a_plan_without_a_grasp_is_written_with_its_reasons(tmp_path: Path) -> None:
    none = dataclasses.replace(ball_plan(), status=PlanStatus.NONE, grasps=(), advice="make the table lower")
    read = load_plan(save_plan(none, tmp_path / "none.plan"))
    assert list(differences(none, read)) == []
    assert read.best is None
    assert read.counts == {"open hand: the open hand touches the scene": 2, "closing: never touched": 1}


def test_no_field_is_left_at_its_default(tmp_path: Path) -> None:
    """A field that the file forgets would come back as its default; here none has its default."""
    plan = ball_plan(move=True)
    numbers = (61, 9, 6, "box", 99, 0.1, 0.4, 1e-3, 0.1, (0.5, 0.3, 0.2), 7, 0.1, "loading", 0.02, "pose", True)
    options = PlannerOptions("quick", *numbers)
    for value, field in zip(dataclasses.astuple(options), dataclasses.fields(options), strict=True):
        assert value != field.default
    hypotheses = tuple(dataclasses.replace(h, opening=0.5, posture=(0.1, -0.2)) for h in plan.hypotheses)
    goal = dataclasses.replace(plan.task.goal, disturbances=(Push(any_force=0.3),), gravity=(0.0, 1.0, 0.0))
    unsure = Uncertainty(0.001, 0.1, 0.2, 0.3, 0.4)
    task = dataclasses.replace(plan.task, options=options, goal=goal, uncertainty=unsure, notes=("mended", "guessed"))
    trajectory = plan.grasps[0].trajectory
    grasp = dataclasses.replace(
        plan.grasps[0],
        hypothesis=hypotheses[2],
        trajectory=dataclasses.replace(trajectory, commands=trajectory.q + 1e-3),
        reserve=Reserve(0.85, 1.05),
        nominal_force=0.5,
        approach_s=2.0,
        sequential_s=3.0,
        approach_way="hand-arm",
        holds_share=0.9,
        holds_interval=(0.7, 0.97),
    )
    choice = Choice(ChoiceRule.JOINT_RANGE, 3)
    searched = {"stopped": Stopped.SECONDS, "first_s": 1.5, "improved_s": 2.5, "tried": Tried(9, 4, 3, 2)}
    answered = {"hypotheses": hypotheses, "grasps": (grasp,), "choice": choice, "advice": "hm", **searched}
    other = dataclasses.replace(plan, task=task, **answered)
    for item in (other, other.grasps[0], other.task, other.hypotheses[0], other.rejections[0]):
        for field in dataclasses.fields(item):
            assert field.default is dataclasses.MISSING or getattr(item, field.name) != field.default, field.name
    assert list(differences(other, load_plan(save_plan(other, tmp_path / "x.plan")))) == []


def test_numbers_that_are_not_finite_survive(tmp_path: Path) -> None:
    plan = ball_plan()
    assert math.isinf(plan.rejections[1].margin)
    grasp = dataclasses.replace(plan.grasps[0], epsilon=math.nan, joint_range=-math.inf)
    read = load_plan(save_plan(dataclasses.replace(plan, grasps=(grasp,)), tmp_path / "x.plan"))
    assert math.isnan(read.grasps[0].epsilon)
    assert read.grasps[0].joint_range == -math.inf
    assert read.rejections[1].margin == math.inf


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    first = save_plan(ball_plan(), tmp_path / "a.plan").read_bytes()
    assert save_plan(ball_plan(), tmp_path / "b.plan").read_bytes() == first
    assert save_plan(load_plan(tmp_path / "a.plan"), tmp_path / "c.plan").read_bytes() == first


def test_a_plan_of_version_1_opens_and_is_written_as_one_of_today(tmp_path: Path) -> None:
    """Written by pliant 0.1.0: a vessel held by the gripper and moved by the arm, without the arm's meshes."""
    old = Path(__file__).with_name("version_1.plan")
    plan = load_plan(old)
    grasp = plan.grasps[0]
    assert plan.status is PlanStatus.FOUND
    assert (grasp.slack, grasp.grasp.liquid_level is None, plan.task.goal.by.value) == (0.25, False, "arm")
    assert np.array_equal(grasp.trajectory.commands, grasp.trajectory.q)
    assert (grasp.reserve, math.isnan(grasp.nominal_force)) == (Reserve(), True)
    again = save_plan(plan, tmp_path / "again.plan")
    assert list(differences(plan, load_plan(again))) == []
    before, after = unpacked(old), unpacked(again)
    assert set(after) - set(before) == {"arrays/grasp_0_commands.npy"}
    assert [name for name in before if before[name] != after[name]] == ["plan.json"]


def test_coordinates_of_a_compound_joint_stay_so_and_older_files_have_none(tmp_path: Path) -> None:
    plan = ball_plan()
    assembly = plan.task.assembly
    urdf, first = assembly.robot.urdf, next(joint for joint in assembly.robot.urdf.joints if joint.moves)
    joints = tuple(dataclasses.replace(j, compound="cart") if j is first else j for j in urdf.joints)
    robot = Robot(dataclasses.replace(urdf, joints=joints), T_world_base=assembly.robot.T_world_base)
    task = dataclasses.replace(plan.task, assembly=dataclasses.replace(assembly, robot=robot))
    file = save_plan(dataclasses.replace(plan, task=task), tmp_path / "cart.plan")
    assert load_plan(file).task.assembly.robot.urdf.joint(first.name).compound == "cart"

    def forget(fields: dict[str, Any]) -> None:
        for joint in _robot(fields)["joints"]:
            del joint["compound"]

    assert {j.compound for j in load_plan(edited(file, forget)).task.assembly.robot.urdf.joints} == {""}


def test_the_robot_opens_where_its_files_are_not(file: Path, tmp_path: Path) -> None:
    before, after = ball_plan().task.assembly, load_plan(file).task.assembly
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = before.robot.random_q(rng)
        for link in before.robot.link_names:
            assert np.array_equal(before.robot.pose(link, q).homogeneous, after.robot.pose(link, q).homogeneous)
    for a, b in zip(before.robot.urdf.links, after.robot.urdf.links, strict=True):
        for x, y in zip(a.collisions + a.visuals, b.collisions + b.visuals, strict=True):
            if y.path is not None:
                assert y.path.is_relative_to(tmp_path / "cache")
                assert y.path.read_bytes() == x.path.read_bytes()
        mesh, again = link_mesh(a), link_mesh(b)
        assert mesh is None or mesh.content_hash == again.content_hash


def test_an_unpacked_plan_is_a_robot_that_any_reader_loads(file: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "out")
    robot, wanted = load_robot(tmp_path / "out" / "robot.urdf"), ball_plan().task.assembly.robot
    assert robot.joint_names == wanted.joint_names
    q = wanted.random_q(np.random.default_rng(2))
    for link in wanted.link_names:
        np.testing.assert_allclose(robot.pose(link, q).homogeneous, wanted.pose(link, q).homogeneous, atol=1e-12)


def test_a_program_reads_forces_without_pliant(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        fields = json.loads(archive.read("plan.json"))
        q = np.load(io.BytesIO(archive.read("arrays/grasp_0_joints.npy")), allow_pickle=False)
    assert (fields["format"], fields["version"], fields["units"]["force"]) == ("pliant plan", 2, "N")
    contact = fields["grasps"][0]["states"][0]["contacts"][0]
    held = ball_plan().grasps[0].grasp.contacts[0]
    assert contact["link"] == "left_finger"
    assert contact["force"] == held.force.tolist()
    assert contact["peak_pressure"] == held.peak_pressure
    assert q.shape == (fields["grasps"][0]["trajectory"]["points"], len(fields["task"]["robot"]["joint_names"]))
    assert fields["counts"]["closing: never touched"] == 1


def test_a_failed_write_leaves_the_old_file_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PlanError, match="No space left"):
        save_plan(dataclasses.replace(ball_plan(), seed=8), file)
    assert file.read_bytes() == before
    assert sorted(p.name for p in file.parent.iterdir() if p.is_file()) == ["ball.plan"]


def test_a_plan_whose_fields_make_no_sense_is_not_written(tmp_path: Path) -> None:
    plan = ball_plan()
    state = plan.grasps[0].states[0]
    contact = dataclasses.replace(state.contacts[0], stiffness=np.eye(3))
    state = dataclasses.replace(state, contacts=(contact,))
    broken = dataclasses.replace(plan, grasps=(dataclasses.replace(plan.grasps[0], states=(state,)),))
    with pytest.raises(PlanError, match="stiffness"):
        save_plan(broken, tmp_path / "x.plan")
    assert not (tmp_path / "x.plan").exists()


def test_a_damaged_cache_is_mended_and_an_unwritable_one_not_needed(file: Path, tmp_path: Path, monkeypatch) -> None:
    load_plan(file)
    cached = next((tmp_path / "cache" / "meshes").iterdir())
    good = cached.read_bytes()
    cached.write_bytes(b"v 0 0 0\n" + good[8:])
    load_plan(file)
    assert cached.read_bytes() == good
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("PLIANT_CACHE", str(blocked))
    assert list(differences(ball_plan(), load_plan(file))) == []


# -- what is broken is refused -----------------------------------------------------------------------------------------


def test_a_truncated_file_is_refused_whatever_its_length(file: Path) -> None:
    data = file.read_bytes()
    for share in (0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.9999):
        file.write_bytes(data[: int(share * len(data))])
        refusal(file)


def test_a_flipped_bit_is_refused_or_carries_nothing(file: Path) -> None:
    """Checksums cover the content; a bit of a time stamp or an attribute changes nothing that is read."""
    data, rng = file.read_bytes(), np.random.default_rng(3)
    places = np.concatenate(
        [rng.integers(0, 8000, 30), rng.integers(len(data) - 4500, len(data), 50), rng.integers(0, len(data), 20)]
    )
    refused = 0
    for place in places.tolist():
        broken = bytearray(data)
        broken[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(broken)
        try:
            plan = load_plan(file)
        except PlanError:
            refused += 1
        else:
            assert list(differences(ball_plan(), plan)) == []
    assert refused > 50


def test_random_bytes_and_other_files_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for data in (b"", b"PK", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"PK" + rng.bytes(5000), rng.bytes(5000)):
        (tmp_path / "x.plan").write_bytes(data)
        refusal(tmp_path / "x.plan")
    assert "is a folder" in refusal(tmp_path)


def test_a_missing_file_is_answered_with_the_nearest(file: Path) -> None:
    assert "closest there: ball.plan" in refusal(file.with_name("bal.plan"))


@pytest.mark.parametrize(
    "name", ["../evil.npy", "/etc/passwd", "arrays/../../x.npy", "meshes/a/b.stl", "x.exe", "a\x00b"]
)
def test_a_part_with_a_foreign_name_is_refused_and_nothing_is_written(file: Path, tmp_path: Path, name: str) -> None:
    before = set(tmp_path.rglob("*"))
    rewritten(file, lambda members: members.update({name: b"x"}))
    assert "is no part of a plan" in refusal(file)
    assert set(tmp_path.rglob("*")) == before


def test_a_bomb_is_refused_before_it_is_unpacked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_file, "ARCHIVE", dataclasses.replace(plan_file.ARCHIVE, most_unpacked=2_000_000))
    rewritten(file, lambda members: members.update({"arrays/bomb.npy": bytes(30_000_000)}))
    assert file.stat().st_size < 2_000_000
    assert "unpacks to 31 MB; at most 2 MB" in refusal(file)


def test_a_size_that_lies_is_noticed(file: Path) -> None:
    """The directory says 10 bytes where thousands are packed: no more than 10 are read, and they do not check."""
    data = bytearray(file.read_bytes())
    entry = data.rfind(b"PK\x01\x02", 0, data.rfind(b"arrays/object_faces.npy"))
    data[entry + 24 : entry + 28] = (10).to_bytes(4, "little")
    file.write_bytes(data)
    assert "arrays/object_faces.npy" in refusal(file)


def test_too_many_parts_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(file) as archive:
        count = len(archive.namelist())
    monkeypatch.setattr(archive_module, "MOST_MEMBERS", 20)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # they are counted before any of them is read
    assert f"has {count} parts; at most 20" in refusal(file)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([{"a": 1}], dtype=object), "kind '|O'; expected '<f8'"),
        (np.zeros(10, dtype=np.complex128), "kind '<c16'; expected '<f8'"),
        (np.zeros(10, dtype=np.float32), "kind '<f4'; expected '<f8'"),
        (np.zeros((10, 1)), r"has the shape (10, 1); expected 10"),
        (np.zeros(11), "has the shape (11,); expected 10"),
        (np.full(10, np.nan), "the value at (0,) is nan"),
        (np.append(np.arange(9.0), 1e300), "the value at (9,) is 1e+300"),
        (np.arange(10.0)[::-1], "does not increase from 0"),
    ],
)
def test_an_array_of_another_kind_is_refused(file: Path, array: np.ndarray, words: str) -> None:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    rewritten(file, lambda members: members.update({"arrays/grasp_0_times.npy": out.getvalue()}))
    assert words in refusal(file)


def test_an_array_that_claims_to_be_huge_takes_no_memory(file: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10, 1000000000), }"
    npy = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n" + bytes(80)
    rewritten(file, lambda members: members.update({"arrays/grasp_0_joints.npy": npy}))
    assert "has the shape (10, 1000000000)" in refusal(file)


def test_an_operation_without_end_is_refused(file: Path) -> None:
    """Films and bags are made of instants at a rate: of a thousand years there are too many."""
    times = np.load(io.BytesIO(unpacked(file)["arrays/grasp_0_times.npy"]))
    times[-1] = 3e10
    changed = {"arrays/grasp_0_times.npy": array_bytes(times)}
    assert "ends at 3e+10 s; at most 100000 s" in refusal(rewritten(file, lambda members: members.update(changed)))


def test_a_newer_version_is_refused_in_words(file: Path) -> None:
    edited(file, lambda fields: fields.update(version=3, something_new=[1]))
    assert "version: is 3; this pliant reads version 2: use a newer pliant" in refusal(file)


def _contact(fields: dict[str, Any]) -> dict[str, Any]:
    return fields["grasps"][0]["states"][0]["contacts"][0]


def _robot(fields: dict[str, Any]) -> dict[str, Any]:
    return fields["task"]["robot"]


def _shape(fields: dict[str, Any]) -> dict[str, Any]:
    return next(link["collisions"][0] for link in _robot(fields)["links"] if link["collisions"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.update(format="zip"), "expected 'pliant plan'"),
        (lambda f: f.update(advise=""), "advise: unknown field; closest: advice"),
        (lambda f: f.pop("seed"), "seed: required field is missing"),
        (lambda f: _contact(f).update(radius="large"), "contacts[0].radius: 'large'"),
        (lambda f: _contact(f).update(friction=-1.0), "contacts[0].friction"),
        (lambda f: _contact(f).update(link="left_fingr"), "no link 'left_fingr'"),
        (lambda f: _contact(f).update(cells=3), "arrays/grasp_0_state_0_cells.npy has"),
        (lambda f: _contact(f)["pose"][0].__setitem__(0, 3.0), "no rotation"),
        (lambda f: f["counts"].update({"closing: never touched": 9}), "counts: do not agree"),
        (lambda f: f["grasps"][0]["q_touch"].pop(), "q_touch: has 6 values; the robot has 7"),
        (lambda f: f["grasps"][0]["trajectory"]["phases"].pop(), "phases: do not add up"),
        (lambda f: f["grasps"][0]["states"][0].update(phase="fly"), "phase"),
        (lambda f: _robot(f)["joints"][0].update(child="base"), "task.robot"),
        (lambda f: _robot(f)["joints"][3].update(parent="nowhere"), "no link 'nowhere'"),
        (lambda f: _robot(f)["hand"].update(mount="flnge"), "hand: mount: no link 'flnge'; closest: flange"),
        (lambda f: _robot(f)["links"][1].update(name="base"), "used twice"),
        (lambda f: _robot(f)["joints"][1].update(velocity="nan"), "nan is no limit"),
        (lambda f: _robot(f)["joints"][1]["pose"][0].__setitem__(0, 1e300), "no rotation"),
        (lambda f: _robot(f)["joints"][1].update(axis=[0.0, 0.0, 2.0]), "joints[1].axis: the axis"),
        (lambda f: _shape(f).update(mesh=None), "collisions[0]: a mesh needs a mesh file"),
        (lambda f: _shape(f).update(kind="box", mesh=None, size=[1.0]), "collisions[0]: a box has 3 sizes, not 1"),
        (lambda f: _shape(f).update(kind="sphere", mesh=None, size=[-1.0]), "collisions[0]: a sphere of size"),
        (lambda f: _robot(f).update(arm_joints=[0, 0, 1]), "each once"),
        (lambda f: _robot(f)["joint_names"].reverse(), "are not those of the tree"),
        (lambda f: f["task"]["object"]["material"].update(poisson=0.5), "poisson"),
        (lambda f: f["task"]["object"]["mesh"].update(array="../x"), "array"),
        (lambda f: f["task"]["object"]["mesh"].update(array="elsewhere"), "is missing from the plan file"),
    ],
)
def test_a_wrong_field_is_named(file: Path, change: Callable[[dict[str, Any]], None], words: str) -> None:
    assert words in refusal(edited(file, change))


def test_random_changes_of_the_document_are_read_or_refused(file: Path) -> None:
    """Values of every kind in random places: never another error than a refusal."""
    rng, members = random.Random(5), unpacked(file)
    strange: list[Any] = [None, True, -1, 1e308, 1e-320, 2**70, "", "nan", "\x00", "../..", [], {}, [[1]], {"a": 1}]

    def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            yield (*place, key)
            yield from places(inner, (*place, key))

    everywhere = list(places(json.loads(members["plan.json"])))
    refused = 0
    for _ in range(60):
        fields = json.loads(members["plan.json"])
        *above, last = rng.choice(everywhere)
        inside = functools.reduce(lambda value, key: value[key], above, fields)
        inside[last] = rng.choice(strange)
        file.write_bytes(pack(members | {"plan.json": json.dumps(fields).encode()}))
        try:
            load_plan(file)
        except PlanError:
            refused += 1
    assert refused > 30


def test_json_that_is_none_is_refused(file: Path) -> None:
    for text in (b"", b"[1, 2]", b'{"a": NaN}', b"[" * 100_000, b"\xff\xfe", b"null"):
        rewritten(file, lambda members, text=text: members.update({"plan.json": text}))
        refusal(file)


def test_faces_that_name_no_vertex_are_refused(file: Path) -> None:
    faces = np.array([[0, 1, 10_000_000]])
    rewritten(file, lambda members: members.update({"arrays/object_faces.npy": array_bytes(faces)}))
    assert "names vertex 10000000" in refusal(file)


def test_a_mesh_that_is_not_what_its_name_says_is_refused(file: Path) -> None:
    def swap(members: dict[str, bytes]) -> None:
        name = next(name for name in members if name.startswith("meshes/"))
        members[name] += b"\n"

    assert "its content is not what its name says" in refusal(rewritten(file, swap))


def test_every_refusal_is_an_input_error() -> None:
    assert issubclass(PlanError, InputError)
    assert isinstance(ball_plan(), Plan)
