"""Mesh files in and out. Reading is bounded: nothing executed, no other file opened, every failure explained.

trimesh parses; this module decides beforehand whether the file may be parsed at all, and turns whatever goes wrong into
a ``MeshError`` that a user can act on. Materials, textures and files that the mesh refers to are never read.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import MeshError, Problem
from pliant.file_bytes import read_bytes, write_bytes
from pliant.objects.mesh.check import MAX_FACES, RepairedMesh, repair_mesh
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.preflight import FORMATS, inspect_bytes, sniff
from pliant.objects.mesh.repair import join_identical

MAX_BYTES = 200_000_000
WRITTEN_FORMATS = ("stl", "obj", "ply", "off")


def load_mesh(path: str | Path, *, scale: float = 1.0) -> RepairedMesh:
    """A sound mesh from a file, with the report on repairs; ``MeshError`` if it is not sound and cannot be made so.

    Args:
        path: .stl, .obj, .ply, .off, .glb or .gltf (with everything inside).
        scale: factor on every coordinate: 0.001 for a file in millimetres.
    """
    mesh = read_mesh(path)
    if scale != 1.0:
        mesh = mesh.scaled(scale)
    return repair_mesh(mesh, source=str(path))


def read_mesh(path: str | Path) -> Mesh:
    """The triangles in a file as they stand, unchecked and not repaired; metres are assumed."""
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
    return join_identical(mesh) if kind == "stl" and np.isfinite(mesh.vertices).all() else mesh


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
        loaded = trimesh.load(
            io.BytesIO(data), file_type=kind, resolver=None, force="mesh", allow_remote=False, **options
        )
        vertices, faces = np.asarray(loaded.vertices), np.asarray(loaded.faces)
    except MeshError:
        raise
    except Exception as bad:  # a parser fed with anything may raise anything
        reason = (str(bad).splitlines() or [""])[0][:120] or type(bad).__name__
        what = f"cannot be read as {kind.upper()} ({reason}){_likely_format(data, kind)}"
        raise MeshError(str(path), Problem("", what, "export the mesh again")) from None
    return Mesh(vertices, faces, path.name)


def _likely_format(data: bytes, kind: str) -> str:
    found = sniff(data)
    return f"; its content looks like {found.upper()}" if found and found != kind else ""


def _one_of(formats: tuple[str, ...]) -> str:
    return f"one of {', '.join('.' + name for name in formats)}"
