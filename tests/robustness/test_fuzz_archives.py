"""Plans, run logs and recordings with damage: bytes, fields, parts, arrays that lie, archives that explode."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import ask, damaged, empty_folder, fuzz, rewritten, seeds
from hypothesis import strategies as st

from pliant.control import Event, RunPhase, RunRecorder
from pliant.files import load_plan, save_run
from pliant.tactile import SDH2_RECORDING, TactileFrame

from made_plans import ball_plan  # isort: skip
from pliant.files import save_plan


@lru_cache
def sound(kind: str) -> bytes:
    """A small file of each kind, as it should be."""
    with empty_folder() as folder:
        if kind == "plan":
            return save_plan(ball_plan(), folder / "a.plan").read_bytes()
        if kind == "run":
            return _run(folder / "a.run")
        return _recording()


def _run(path: Path) -> bytes:
    rng = np.random.default_rng(1)
    recorder = RunRecorder(("a", "b"), ("left", "right"))
    for i in range(40):
        row = {"time": 0.01 * i, "plan_time": 0.01 * i, "phase": i % len(RunPhase), "q_measured": rng.normal(size=2)}
        recorder.append(row | {"force_measured": [1.0, np.nan], "point_measured": rng.normal(size=(2, 3))})
        recorder.frame(TactileFrame("pad", 0.01 * i, rng.integers(0, 4096, (4, 3))))
    recorder.event(Event(0.1, RunPhase.LIFT, "abort", "force over limit"))
    return save_run(recorder.log({"seed": 3}), path).read_bytes()


def _recording() -> bytes:
    """A grasp as long as a breath: nothing, then a slow squeeze with all pads."""
    rng = np.random.default_rng(2)
    n = 30
    counts = rng.integers(0, 5, (n, SDH2_RECORDING.cells)) + np.linspace(0, 900, n)[:, None].astype(np.int64)
    arrays = {
        "g0_frames": counts.astype(np.uint16),
        "g0_frame_time_s": np.arange(n) / 30.0,
        "g0_joints_deg": np.outer(np.linspace(0, 1, n), [0, -30, 20, -30, 20, -30, 20]),
        "g0_joint_time_s": np.arange(n) / 30.0,
    }
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def claimed(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    """The head of an array that claims a shape, and hardly any numbers."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(64)


QUESTIONS: dict[str, list[Callable[[str], tuple[Any, ...]]]] = {
    "plan": [
        lambda file: ("check", file),
        lambda file: ("export", file, "--format", "json", "--out", "o.json"),
        lambda file: ("export", file, "--format", "csv", "--out", "o.csv"),
    ],
    "run": [lambda file: ("check", file), lambda file: ("export", file, "--format", "json", "--out", "o.json")],
    "npz": [lambda file: ("recording", file, "--json")],
}


def question(kind: str, data: bytes, which: int = 0, **limits: Any) -> None:
    with empty_folder() as folder:
        (folder / f"a.{kind}").write_bytes(data)
        kinds = QUESTIONS[kind]
        allowed = (0, 1, 2) if kind == "npz" else (0, 2)
        ask(*kinds[which % len(kinds)](f"a.{kind}"), **({"allowed": allowed} | limits))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_the_files_that_are_damaged_here_are_sound(kind: str) -> None:
    question(kind, sound(kind), allowed=(0, 1) if kind == "npz" else (0,))


@fuzz(40, kind=st.sampled_from(tuple(QUESTIONS)), seed=seeds, which=st.integers(0, 5))
def test_a_damaged_archive_is_used_or_refused(kind: str, seed: int, which: int) -> None:
    question(kind, damaged(sound(kind), seed), which)


@fuzz(40, kind=st.sampled_from(tuple(QUESTIONS)), seed=seeds, which=st.integers(0, 5))
def test_an_archive_with_a_damaged_part_is_used_or_refused(kind: str, seed: int, which: int) -> None:
    """Unlike above, checksums are right: the damage gets past the zip."""
    members = parts(sound(kind))
    name = sorted(members)[seed % len(members)]
    question(kind, zipped(members | {name: damaged(members[name], seed)}), which)


@fuzz(30, kind=st.sampled_from(("plan", "run")), seed=seeds, which=st.integers(0, 5))
def test_an_archive_with_wrong_fields_is_used_or_refused(kind: str, seed: int, which: int) -> None:
    members = parts(sound(kind))
    fields = rewritten(json.loads(members[f"{kind}.json"]), seed)
    question(kind, zipped(members | {f"{kind}.json": json.dumps(fields).encode()}), which)


@fuzz(30, kind=st.sampled_from(tuple(QUESTIONS)), seed=seeds, which=st.integers(0, 5))
def test_an_archive_with_odd_arrays_is_used_or_refused(kind: str, seed: int, which: int) -> None:
    rng = np.random.default_rng(seed)
    members = parts(sound(kind))
    name = str(rng.choice([name for name in members if name.endswith(".npy")]))
    was = np.load(io.BytesIO(members[name]))
    odd: list[Callable[[], bytes]] = [
        lambda: npy(was[:0]),
        lambda: npy(was[:1]),
        lambda: npy(np.concatenate([was, was])),
        lambda: npy(was[..., None]),
        lambda: npy(was.astype(np.float32)),
        lambda: npy(was.astype(np.complex128)),
        lambda: npy(was.astype(">f8")),
        lambda: npy(np.asfortranarray(was)),
        lambda: npy(was[::-1]),
        lambda: npy(np.where(rng.random(was.shape) < 0.1, np.nan, was)),
        lambda: npy(np.full(was.shape, 1e300)),
        lambda: npy(np.full(was.shape, -(2**62))),
        lambda: npy(np.array(5.0)),
        lambda: npy(np.array(["a", "b"])),
        lambda: npy(np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])),
        lambda: claimed((10**10,)),
        lambda: claimed((2**62, 2**62)),
        lambda: claimed((-5,)),
        lambda: claimed((3,), "|O"),
        lambda: b"",
        lambda: members[name][:30],
    ]
    question(kind, zipped(members | {name: odd[int(rng.integers(len(odd)))]()}), which)


@fuzz(15, kind=st.sampled_from(tuple(QUESTIONS)), data=st.binary(max_size=300))
def test_any_bytes_are_no_archive(kind: str, data: bytes) -> None:
    question(kind, data, allowed=(2,))
    question(kind, b"PK\x03\x04" + data, allowed=(2,))


class Hacked:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path("hacked").touch, ()


def bomb(name: str, pieces: int = 60, *, told: int | None = None) -> bytes:
    """A zip of one part, ``pieces`` times 50 MB of zeros, that says it has ``told`` bytes; written by hand.

    Packing 3 GB would take a while: a piece that ends in a full flush can be repeated as it is.
    """
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = squeeze.compress(bytes(50_000_000)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    packed = piece * pieces + squeeze.flush()
    size = 50_000_000 * pieces if told is None else told
    facts = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, 0, len(packed), size, len(name), 0)
    local = b"PK\x03\x04" + facts + name.encode() + packed
    directory = b"PK\x01\x02" + struct.pack("<H", 20) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name.encode()
    return local + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), len(local), 0)


def with_part(kind: str, name: str, data: bytes) -> bytes:
    return zipped(parts(sound(kind)) | {name: data})


FIRST = {"plan": "arrays/object_vertices.npy", "run": "table/time.npy", "npz": "g0_frames.npy"}
NAMES = ("../hacked", "/tmp/hacked", "a/../../hacked", "C:\\hacked", "x" * 3000, "\u202e.npy", "plan.json/x")


@pytest.mark.parametrize("kind", QUESTIONS)
def test_nothing_stored_is_executed(kind: str) -> None:
    pickled = npy(np.array([1]))[:0] + b"\x80" + pickle.dumps(Hacked())[1:]
    with_objects = io.BytesIO()
    np.save(with_objects, np.array([Hacked()], dtype=object), allow_pickle=True)
    question(kind, with_part(kind, FIRST[kind], with_objects.getvalue()), allowed=(2,))
    question(kind, with_part(kind, FIRST[kind], pickled), allowed=(2,))
    question(kind, pickled, allowed=(2,))
    assert not Path("hacked").exists()


@pytest.mark.parametrize("kind", ["plan", "run"])
@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere_are_refused(kind: str, name: str) -> None:
    question(kind, with_part(kind, name, b"x"), allowed=(2,))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_an_archive_that_explodes_is_refused_unopened(kind: str) -> None:
    name = {"plan": "plan.json", "run": "run.json", "npz": "g0_frames.npy"}[kind]
    data = bomb(name)
    assert len(data) < 5_000_000
    with zipfile.ZipFile(io.BytesIO(data)) as archive:  # it is a zip, and a large one
        assert archive.infolist()[0].file_size == 3_000_000_000
    question(kind, data, allowed=(2,), cpu=5)
    question(kind, bomb(name, told=100), allowed=(2,), cpu=5)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_archives_packed_in_other_ways_are_refused_or_read(kind: str) -> None:
    members = parts(sound(kind))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        question(kind, zipped(members, method))
    encrypted = bytearray(sound(kind))
    for at in range(len(encrypted) - 4):  # the flag of encryption in every head
        if encrypted[at : at + 4] in (b"PK\x01\x02", b"PK\x03\x04"):
            encrypted[at + (8 if encrypted[at + 2] == 1 else 6)] |= 1
    question(kind, bytes(encrypted), allowed=(2,))


@pytest.mark.parametrize("kind", ["plan", "run"])
def test_json_that_goes_on_for_ever_is_refused(kind: str) -> None:
    question(kind, with_part(kind, f"{kind}.json", b"[" * 2_000_000), allowed=(2,))
    question(kind, with_part(kind, f"{kind}.json", b'{"a":' * 100_000), allowed=(2,))
    question(kind, with_part(kind, f"{kind}.json", b"9" * 100_000), allowed=(2,))
    question(kind, with_part(kind, f"{kind}.json", b'"\xff"'), allowed=(2,))


@fuzz(3, seed=seeds)
def test_a_plan_with_wrong_fields_is_reported_or_refused(seed: int) -> None:
    members = parts(sound("plan"))
    fields = rewritten(json.loads(members["plan.json"]), seed)
    with empty_folder() as folder:
        (folder / "a.plan").write_bytes(zipped(members | {"plan.json": json.dumps(fields).encode()}))
        ask("report", "a.plan", "--out", "o.html", cpu=60)


def test_a_plan_read_here_is_the_plan(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_bytes(sound("plan"))
    assert load_plan(tmp_path / "a.plan").best is not None


ODD_TIMES: dict[str, tuple[str, np.ndarray]] = {
    "huge": ("table/time.npy", np.arange(40) * 1e300),
    "after_2033": ("table/time.npy", np.arange(40) * 1e11),
    "smallest_integer": ("table/time.npy", np.full(40, -(2**63), dtype=np.int64)),
    "frames_before_all_time": ("frames/0_times.npy", -np.arange(40) * 1e300),
    "frames_at_no_time": ("frames/0_times.npy", np.full(40, np.nan)),
    "before_the_start": ("table/time.npy", np.arange(40) * 0.01 - 5.0),
    "backwards": ("table/time.npy", np.arange(40)[::-1] * 0.01),
}


@pytest.mark.parametrize("name", ODD_TIMES)
def test_a_run_log_with_odd_times_is_made_a_bag_or_refused(name: str) -> None:
    """Bags count seconds in 32 bits."""
    where, times = ODD_TIMES[name]
    data = zipped(parts(sound("run")) | {where: npy(times)})
    for kind in ("mcap", "ros1"):
        with empty_folder() as folder:
            (folder / "a.run").write_bytes(data)
            allowed = (0, 2) if name in ("before_the_start", "backwards") else (2,)
            ask("export", "a.run", "--format", kind, "--out", "o.bag", allowed=allowed)


@pytest.mark.parametrize("odd", ["../../x", "a b\nc", "x" * 4000, "", "<script>alert(1)</script>"])
def test_names_in_a_run_log_are_no_paths_and_no_topics(odd: str) -> None:
    document = json.loads(parts(sound("run"))["run.json"])
    document |= {"joints": [odd, "b"], "contacts": [odd, "right"], "arrays": [odd], "events": [[0.1, "lift", odd, odd]]}
    data = zipped(parts(sound("run")) | {"run.json": json.dumps(document).encode()})
    for kind in ("mcap", "csv"):
        with empty_folder() as folder:
            (folder / "a.run").write_bytes(data)
            ask("export", "a.run", "--format", kind, "--out", "o.x")
            assert {path.parent for path in folder.rglob("*")} == {folder}


def _again(fields: dict[str, Any], what: str) -> dict[str, Any]:
    """The fields of a plan that names one part of the file again and again."""
    if what == "scene":
        fields["task"]["scene"] = [{"name": "s", "array": "scene_0"}] * 10_000
    elif what == "vertices":
        fields["task"]["scene"] = [{"name": "s", "array": "scene_1"}] * 10_000
    else:
        links = [link for link in fields["task"]["robot"]["links"] if link["collisions"]]
        for link in links:
            link["collisions"] = link["collisions"][:1] * 1000
    return fields


@pytest.mark.parametrize("what", ["scene", "vertices", "shapes"])
def test_a_part_of_a_plan_counts_as_often_as_it_is_named(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte that is named ten thousand times is ten gigabytes."""
    members = parts(sound("plan"))
    faces = np.load(io.BytesIO(members["arrays/scene_0_faces.npy"]))
    vertices = np.load(io.BytesIO(members["arrays/scene_0_vertices.npy"]))
    members["arrays/scene_1_faces.npy"] = members["arrays/scene_0_faces.npy"]
    members["arrays/scene_1_vertices.npy"] = npy(np.tile(vertices, (50_000, 1)))
    members["arrays/scene_0_faces.npy"] = npy(np.tile(faces, (10_000, 1)))
    fields = _again(json.loads(members["plan.json"]), what)
    with empty_folder() as folder:
        (folder / "a.plan").write_bytes(
            zipped(members | {"plan.json": json.dumps(fields).encode()}, zipfile.ZIP_STORED)
        )
        words = {"scene": "faces; at most", "vertices": "named again and again", "shapes": "shapes; at most"}
        assert words[what] in ask("check", "a.plan", allowed=(2,)).words


def test_a_trajectory_of_so_many_points_that_no_bag_could_be_made_of_it_is_refused() -> None:
    fields = json.loads(parts(sound("plan"))["plan.json"])
    fields["grasps"][0]["trajectory"]["points"] = 300_000
    question("plan", with_part("plan", "plan.json", json.dumps(fields).encode()), allowed=(2,))


def test_a_trajectory_with_more_pairs_of_solids_than_can_be_looked_at_is_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pliant.planner.verify.collisions.MOST_PAIRS", 100)
    with empty_folder() as folder:
        (folder / "a.plan").write_bytes(sound("plan"))
        assert "100 looks at pairs of solids did not do" in ask("check", "a.plan", allowed=(2,)).words


@pytest.mark.parametrize("rows", [1_000_000])
def test_room_for_what_a_run_log_leaves_out_is_made_only_where_there_is_some(rows: int) -> None:
    """A million rows for a thousand joints that are not there would be gigabytes."""
    document = json.loads(parts(sound("run"))["run.json"]) | {"arrays": [], "quantities": ["time", "phase"]}
    document |= {"joints": [f"j{i}" for i in range(1000)]}
    members = {"run.json": json.dumps(document).encode(), "table/time.npy": npy(np.zeros(rows))}
    question("run", zipped(members | {"table/phase.npy": npy(np.zeros(rows, dtype=np.int8))}), allowed=(2,))
