"""Mesh files in: bounded, nothing executed, no other file opened, every failure explained.

trimesh parses; this module decides beforehand whether the file may be parsed at all, and turns whatever goes wrong into
a ``MeshError`` that a user can act on. Materials, textures and files that the mesh refers to are never looked at.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import MeshError, Problem
from pliant.file_bytes import read_bytes
from pliant.objects.mesh.check import MAX_FACES, MendedMesh, mend_mesh
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.preflight import FORMATS, inspect_bytes, sniff
from pliant.objects.mesh.repair import join_identical

MAX_BYTES = 200_000_000


def load_mesh(path: str | Path, *, scale: float = 1.0, repair: bool = True) -> MendedMesh:
    """A sound mesh from a file, with the report on what was mended; ``MeshError`` if it is not and cannot be made so.

    Args:
        path: .stl, .obj, .ply, .off, .glb or .gltf (with everything inside).
        scale: factor on every coordinate: 0.001 for a file in millimetres.
        repair: mend what can be mended safely; without it a mesh must be sound as it is.
    """
    mesh = read_mesh(path)
    if scale != 1.0:
        mesh = mesh.scaled(scale)
    return mend_mesh(mesh, repair=repair, source=str(path))


def read_mesh(path: str | Path) -> Mesh:
    """The triangles in a file as they stand, unchecked and not mended; metres are assumed."""
    path = Path(path)
    source = str(path)
    kind = path.suffix.lower().lstrip(".")
    data = _read_bytes(path)
    if kind not in FORMATS:
        found = sniff(data)
        hint = f"; its content looks like {found.upper()}" if found else ""
        given = f"'.{kind}' is not a mesh format that is read here" if kind else "has no extension"
        raise MeshError(source, Problem("", f"{given}{hint}", f"one of {', '.join('.' + name for name in FORMATS)}"))
    problems = inspect_bytes(kind, data, MAX_FACES)
    if problems:
        raise MeshError(source, problems)
    vertices, faces = _parse(source, kind, data)
    mesh = Mesh(vertices, faces, path.name)
    return join_identical(mesh) if kind == "stl" and np.isfinite(mesh.vertices).all() else mesh


def _read_bytes(path: Path) -> bytes:
    suffixes = [f".{name}" for name in FORMATS]
    data = read_bytes(
        path, most=MAX_BYTES, kind="a mesh", error=MeshError, remedy="decimate the mesh first", suffixes=suffixes
    )
    if not data:
        raise MeshError(str(path), Problem("", "is an empty file", "export the mesh again"))
    return data


def _parse(source: str, kind: str, data: bytes) -> tuple[Any, Any]:
    import trimesh

    options: dict[str, Any] = {"process": False}
    if kind in ("obj", "glb", "gltf", "ply"):
        options["skip_materials"] = True
    if kind == "obj":
        options["maintain_order"] = True
    if kind == "off":
        options = {}
    try:
        loaded = trimesh.load(
            io.BytesIO(data), file_type=kind, resolver=None, force="mesh", allow_remote=False, **options
        )
        return np.asarray(loaded.vertices), np.asarray(loaded.faces)
    except MeshError:
        raise
    except Exception as bad:  # a parser fed with anything may raise anything
        reason = (str(bad).splitlines() or [""])[0][:120] or type(bad).__name__
        found = sniff(data)
        hint = f"; its content looks like {found.upper()}" if found and found != kind else ""
        raise MeshError(
            source, Problem("", f"cannot be read as {kind.upper()} ({reason}){hint}", "export the mesh again")
        ) from None
