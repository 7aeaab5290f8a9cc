"""Mesh files in and out. Reading is bounded: nothing executed, no other file opened, every failure explained.

trimesh parses; this module decides beforehand whether the file may be parsed at all, and turns whatever goes wrong into
a ``MeshError`` that a user can act on. Materials, textures and files that the mesh refers to are never read.
"""

from __future__ import annotations

import io
import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import MeshError, Problem
from pliant.file_bytes import read_bytes, write_bytes
from pliant.objects.mesh.check import MAX_FACES, RepairedMesh, repair_mesh
from pliant.objects.mesh.mend import Mended, mend_mesh, offers, with_offers
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.preflight import FORMATS, inspect_bytes, is_text, sniff
from pliant.objects.mesh.repair import join_identical
from pliant.objects.mesh.units import UNITS

MAX_BYTES = 200_000_000
_ASIDE = re.compile(rb"(?m)^[ \t]*(?:usemtl|mtllib|usemap|g|o|s)(?:[ \t][^\n]*)?$")
"""Lines of an OBJ that name materials and groups: nothing of them is kept, and a parser sorts faces by them."""
_SOLID = re.compile(rb"(?:end)?solid[^\n]*", re.IGNORECASE)
"""Where a part of a text STL begins or ends, and its name."""
_ASCII = bytes(range(128)) + b"?" * 128
_BACKWARDS = re.compile(rb"(?:^|[\r\n])[ \t]*f[ \t][^\r\n]*?[ \t]-")
"""A face of an OBJ that counts its corners back from where it stands: -1 is the last one above it."""
WRITTEN_FORMATS = ("stl", "obj", "ply", "off")


def load_mesh(path: str | Path, *, scale: float = 1.0) -> RepairedMesh:
    """A sound mesh from a file, with the report on repairs; ``MeshError`` if it is not sound and cannot be made so.

    Args:
        path: .stl, .obj, .ply, .off, .glb or .gltf (with everything inside).
        scale: factor on every coordinate: 0.001 for a file in millimetres.
    """
    path = Path(path)
    mesh = read_mesh(path, points=True)
    try:
        if not len(mesh.faces):
            raise MeshError(str(path), _empty(mesh))
        return repair_mesh(mesh if scale == 1.0 else mesh.scaled(scale), source=str(path))
    except MeshError as bad:
        raise with_offers(bad, offers(mesh, path, scale)) from None


def mend_file(
    path: str | Path, *, cap: bool = False, smooth: bool = False, unit: str | None = None
) -> tuple[Mesh, Mended]:
    """What a file holds [m], and a sound mesh made of it on demand: ``mend_mesh``.

    Args:
        path: as for ``load_mesh``; points without faces are welcome.
        cap, smooth: as for ``mend_mesh``.
        unit: of the file, a key of ``UNITS``; metres where left out.
    """
    path = Path(path)
    given = read_mesh(path, points=True)
    mesh = given if unit is None else given.scaled(UNITS[unit].factor)
    try:
        return mesh, mend_mesh(mesh, cap=cap, smooth=smooth, source=str(path))
    except MeshError as bad:
        scale = 1.0 if unit is None else UNITS[unit].factor
        raise with_offers(bad, offers(given, path, scale)) from None


def read_mesh(path: str | Path, *, points: bool = False) -> Mesh:
    """The triangles in a file as they stand, unchecked and not repaired; metres are assumed.

    Args:
        path: as for ``load_mesh``.
        points: whether a file of points without faces is an answer too: a mesh of no faces.
    """
    path = Path(path)
    source = str(path)
    kind = path.suffix.lower().lstrip(".")
    data = read_bytes(
        path,
        most=MAX_BYTES,
        kind="a mesh",
        error=MeshError,
        remedy="decimate the mesh first",
        suffixes=[f".{name}" for name in FORMATS],
    )
    if not data:
        raise MeshError(source, Problem("", "is an empty file", "export the mesh again"))
    if kind not in FORMATS:
        given = f"'.{kind}' is not a mesh format that is read here" if kind else "has no extension"
        raise MeshError(source, Problem("", given + _likely_format(data, kind), _one_of(FORMATS)))
    problems = inspect_bytes(kind, data, MAX_FACES)
    if problems:
        raise MeshError(source, problems)
    mesh = _parse(path, kind, data)
    if not len(mesh.faces) and not points:
        raise MeshError(source, _empty(mesh))
    return join_identical(mesh) if kind == "stl" and np.isfinite(mesh.vertices).all() else mesh


def _empty(mesh: Mesh) -> Problem:
    return Problem("", f"is empty: {len(mesh.vertices)} vertices, no faces", "export it with its triangles")


def write_mesh(mesh: Mesh, path: str | Path) -> Path:
    """Write a mesh [m] as .stl, .obj, .ply or .off; the file appears whole or not at all."""
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in WRITTEN_FORMATS:
        raise MeshError(str(path), Problem("", f"cannot write '.{kind}'", _one_of(WRITTEN_FORMATS)))
    data = mesh.to_trimesh().export(file_type=kind)
    write_bytes(path, data if isinstance(data, bytes) else data.encode(), error=MeshError)
    return path


def _parse(path: Path, kind: str, data: bytes) -> Mesh:
    import trimesh

    options: dict[str, Any] = {} if kind == "off" else {"process": False}
    if kind in ("obj", "glb", "gltf", "ply"):
        options["skip_materials"] = True
    if kind == "obj":
        options["maintain_order"] = True
    try:
        if is_text(data, kind):
            data = _plain_text(data, kind)
        load = partial(trimesh.load, file_type=kind, resolver=None, allow_remote=False, **options)
        # What the parser remarks on textures and the like is nothing that a user could act on.
        with warnings.catch_warnings(action="ignore"):
            loaded = load(io.BytesIO(data), force="mesh")
            vertices, faces = np.asarray(loaded.vertices), np.asarray(loaded.faces)
            if not len(faces) and not len(vertices):  # forced to be a mesh, a cloud loses its points
                vertices = np.asarray(getattr(load(io.BytesIO(data)), "vertices", vertices))
    except MeshError:
        raise
    except Exception as bad:  # a parser fed with anything may raise anything
        reason = (str(bad).splitlines() or [""])[0][:120] or type(bad).__name__
        what = f"cannot be read as {kind.upper()} ({reason}){_likely_format(data, kind)}"
        raise MeshError(str(path), Problem("", what, "export the mesh again")) from None
    return Mesh(vertices, faces, path.name)


def _plain_text(data: bytes, kind: str) -> bytes:
    """What a parser gets of a text: one part, its corners in order, no letters of an encoding that it must guess."""
    if not data.isascii():
        data = data.translate(_ASCII)
    if kind == "obj":
        return _from_first(_ASIDE.sub(b"", data))
    return b"solid\n%s\nendsolid\n" % _SOLID.sub(b"", data) if kind == "stl" else data


def _from_first(data: bytes) -> bytes:
    """The text of an OBJ whose faces count their corners from the first of the file; ValueError where there are none.

    The parser takes -1 for the last corner of the file.
    """
    if not _BACKWARDS.search(data):
        return data
    out, above = bytearray(), 0
    for line in io.BytesIO(data.replace(b"\r", b"\n")):
        words = line.split()
        if words[:1] == [b"v"]:
            above += 1
        elif words[:1] == [b"f"]:
            corners = [int(word.partition(b"/")[0]) for word in words[1:]]
            if 0 in corners or min(corners, default=0) < -above:
                raise ValueError(f"a face names corner {min(corners)}; {above} are above it")
            line = b"f %s\n" % b" ".join(b"%d" % (k if k > 0 else above + 1 + k) for k in corners)
        out += line
    return bytes(out)


def _likely_format(data: bytes, kind: str) -> str:
    found = sniff(data)
    return f"; its content looks like {found.upper()}" if found and found != kind else ""


def _one_of(formats: tuple[str, ...]) -> str:
    return f"one of {', '.join('.' + name for name in formats)}"
