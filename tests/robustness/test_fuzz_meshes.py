"""Damaged and senseless mesh files: each is used or refused in words, soon, with nothing left behind."""

from __future__ import annotations

import base64
import json
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import ask, damaged, empty_folder, fuzz, seeds
from hypothesis import strategies as st

from pliant.objects import make_shape, read_mesh

KINDS = ("stl", "obj", "ply", "off", "glb")


@lru_cache
def sound(kind: str) -> bytes:
    """A box as a file, by trimesh."""
    import trimesh

    mesh = make_shape("box", size=(0.03, 0.04, 0.05), edge=0.02)
    made = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    data = made.export(file_type=kind)
    return data.encode() if isinstance(data, str) else bytes(data)


@lru_cache
def text_of(kind: str) -> bytes:
    import trimesh

    mesh = make_shape("box", size=(0.03, 0.04, 0.05), edge=0.03)
    made = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    if kind == "stl":
        return made.export(file_type="stl_ascii").encode()
    return bytes(made.export(file_type="ply", encoding="ascii"))


@fuzz(60, kind=st.sampled_from(KINDS), seed=seeds)
def test_a_damaged_mesh_is_used_or_refused(kind: str, seed: int) -> None:
    with empty_folder() as folder:
        (folder / f"m.{kind}").write_bytes(damaged(sound(kind), seed))
        ask("check", f"m.{kind}")


@fuzz(20, kind=st.sampled_from(("stl", "ply")), seed=seeds)
def test_a_damaged_text_mesh_is_used_or_refused(kind: str, seed: int) -> None:
    with empty_folder() as folder:
        (folder / f"m.{kind}").write_bytes(damaged(text_of(kind), seed))
        ask("check", f"m.{kind}", "--json")


@fuzz(30, kind=st.sampled_from(KINDS), data=st.binary(max_size=400))
def test_any_bytes_are_no_mesh(kind: str, data: bytes) -> None:
    with empty_folder() as folder:
        (folder / f"m.{kind}").write_bytes(data)
        ask("check", f"m.{kind}", allowed=(2,))


def stl(triangles: np.ndarray) -> bytes:
    """Binary STL of n x 3 x 3 corners."""
    rows = b"".join(struct.pack("<12fH", *np.zeros(3), *t.ravel(), 0) for t in np.asarray(triangles, dtype=np.float32))
    return bytes(80) + struct.pack("<I", len(triangles)) + rows


@fuzz(30, seed=seeds, count=st.integers(1, 12))
def test_triangles_thrown_together_are_refused_or_mended(seed: int, count: int) -> None:
    """Corners from a small grid, so that equal points, needles, doubled and crossing faces are frequent."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(-2, 3, (count, 3, 3)) * 0.01
    with empty_folder() as folder:
        (folder / "m.stl").write_bytes(stl(corners))
        ask("check", "m.stl")


def gltf(**parts: Any) -> bytes:
    """A glTF with a view of a hundred points, of which one mesh is made, and what is changed in it."""
    room = 100 * 12
    tree: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"componentType": 5126, "type": "VEC3", "count": 99, "bufferView": 0}],
        "bufferViews": [{"buffer": 0, "byteLength": room}],
        "buffers": [{"byteLength": room, "uri": "data:;base64," + base64.b64encode(bytes(room)).decode()}],
    }
    return json.dumps(tree | parts).encode()


VERTEX = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\n"
TETRAHEDRON = VERTEX + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
BAD = {
    "empty.stl": b"",
    "header_only.stl": bytes(84),
    "counts_that_lie.stl": bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(50),
    "text_without_end.stl": b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n",
    "nan.stl": stl(np.full((4, 3, 3), np.nan)),
    "infinite.stl": stl(np.full((4, 3, 3), np.inf)),
    "one_point.stl": stl(np.zeros((4, 3, 3))),
    "on_one_line.obj": b"v 0 0 0\nv 0 0 1\nv 0 0 0.1\nf 1 2 3\n",
    "corner_before_the_first.obj": (VERTEX + "f -1 -2 -5\nf 1 2 4\nf 1 4 3\nf 2 3 4\n").encode(),
    "corner_zero_and_backwards.obj": (VERTEX + "f -1 -2 0\nf 1 2 4\nf 1 4 3\nf 2 3 4\n").encode(),
    "one_face.stl": stl(np.array([[[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]]])),
    "far_away.stl": stl(np.array([[[0, 0, 0], [3e38, 0, 0], [0, 3e38, 0]]] * 4)),
    "no_faces.obj": VERTEX.encode(),
    "index_out_of_range.obj": (VERTEX + "f 1 2 99\nf 1 2 4\nf 1 4 3\nf 2 3 4\n").encode(),
    "index_zero.obj": (VERTEX + "f 0 1 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n").encode(),
    "huge_index.obj": (VERTEX + "f 1 2 99999999999999999999\n").encode(),
    "words_for_numbers.obj": b"v a b c\nf 1 1 1\n",
    "three_sheets.obj": (VERTEX + "v 0.1 0.1 0\nf 1 2 3\nf 1 2 4\nf 1 2 5\n").encode(),
    "billion_vertices.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 1000000000\nproperty float x\n"
    b"property float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n",
    "negative_count.ply": b"ply\nformat ascii 1.0\nelement vertex -5\nelement face 1\nend_header\n",
    "superscript.ply": "ply\nformat ascii 1.0\nelement vertex \u00b2\nelement face 1\nend_header\n".encode("latin-1"),
    "digits.ply": b"ply\nformat ascii 1.0\nelement vertex " + b"9" * 5000 + b"\nelement face 1\nend_header\n",
    "digits.off": b"OFF\n" + b"9" * 400 + b" 1 0\n0 0 0\n",
    "twice.ply": b"ply\nformat ascii 1.0\nelement vertex 1\nelement vertex 1\nelement face 1\nend_header\n0\n0\n0\n",
    "long_face.obj": VERTEX.encode() + b"f" + b" 1 2 3" * 1_000_000,
    "lines_that_go_on.obj": VERTEX.encode() + b"f 1 2 3 \\\n 4 1 2\n",
    "claims.gltf": gltf(accessors=[{"componentType": 5126, "type": "MAT4", "count": 6_000_000}]),
    "claims_a_view.gltf": gltf(
        accessors=[{"componentType": 5126, "type": "MAT4", "count": 6_000_000, "bufferView": 0}]
    ),
    "overlapping.gltf": gltf(accessors=[{"componentType": 5126, "type": "VEC3", "count": 100, "bufferView": 0}] * 1500),
    "negative.gltf": gltf(accessors=[{"componentType": 5126, "type": "VEC3", "count": -1, "bufferView": 0}]),
    "ladder.gltf": gltf(nodes=[{"children": [i + 1, i + 1]} for i in range(60)] + [{"mesh": 0}]),
    "deep_chain.gltf": gltf(nodes=[{"children": [i + 1]} for i in range(1500)] + [{"mesh": 0}]),
    "ring.gltf": gltf(nodes=[{"children": [1]}, {"children": [0], "mesh": 0}]),
    "key_twice.gltf": b'{"asset": {"version": "2.0"}, "asset": {}}',
    "no_end.ply": b"ply\nformat ascii 1.0\nelement vertex 3\n" * 50,
    "billion.off": b"OFF\n1000000000 1000000000 0\n0 0 0\n",
    "json_array.gltf": b"[]",
    "deep.gltf": b'{"asset":' + b"[" * 100_000,
    "other_file.gltf": b'{"asset":{"version":"2.0"},"buffers":[{"uri":"../../etc/passwd","byteLength":10}]}',
    "no_suffix": TETRAHEDRON.encode(),
    "is_a.zip": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("name", BAD)
def test_a_mesh_that_is_none_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(BAD[name])
    ask("check", name, allowed=(2,))


def test_a_tetrahedron_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases above are refused for what is wrong with them, not for being small."""
    monkeypatch.chdir(tmp_path)
    Path("m.obj").write_text(TETRAHEDRON)
    ask("check", "m.obj", allowed=(0,))


def test_corners_that_are_counted_back_are_those_above_the_face(tmp_path: Path) -> None:
    """A parser that counts from the end of the file reads two tetrahedra as the second one, twice."""
    faces = "f -4 -2/1/-1 -3\nf -4 -3 -1\nf -4 -1 -2\nf -3 -2 -1\n"
    (tmp_path / "m.obj").write_text(VERTEX + faces.replace("-4", "1") + VERTEX.replace("v 0 ", "v 0.2 ") + faces)
    mesh = read_mesh(tmp_path / "m.obj")
    one = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    assert np.array_equal(mesh.faces, np.concatenate([one, one + 4]))


def test_a_foreign_material_file_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe in its place would make a reader wait for ever."""
    import os

    monkeypatch.chdir(tmp_path)
    os.mkfifo("m.mtl")
    Path("m.obj").write_text("mtllib m.mtl\nmtllib ../../etc/passwd\nmtllib http://127.0.0.1:9/x\n" + TETRAHEDRON)
    ask("check", "m.obj", allowed=(0,))


SENSELESS = ("0", "-1", "nan", "inf", "1e300", "1e-300", "x", "")
PLACES = ("0,0,0", "nan,0,0", "0,0", "1e300,0,0", "x", "0,0,0.025;0,0,0", "0,0,0.025;0,0,-1", "0,0,0.025;nan,0,1")
PADS = ("sphere:0.01", "plane", "sphere:0", "sphere:-1", "sphere:nan", "sphere:1e300", "cube", "", "m.stl")


@fuzz(
    15,
    place=st.sampled_from(PLACES),
    pad=st.sampled_from(PADS),
    depth=st.sampled_from(("1e-3", *SENSELESS)),
    young=st.sampled_from(("1e5", "1e5", *SENSELESS)),
    poisson=st.sampled_from(("0.4", "0.4", "0.5", *SENSELESS)),
)
def test_an_indentation_with_senseless_numbers_is_refused(
    place: str, pad: str, depth: str, young: str, poisson: str
) -> None:
    with empty_folder() as folder:
        (folder / "m.stl").write_bytes(sound("stl"))
        numbers = (f"--young={young}", f"--poisson={poisson}", f"--depth={depth}")
        arguments = ("press", "m.stl", "--model", "halfspace", "--pad", pad, "--contact", place, *numbers)
        ask(*arguments, allowed=(0, 1, 2))
