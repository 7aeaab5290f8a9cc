"""Meshes out, for other programs."""

from __future__ import annotations

from pathlib import Path

from pliant.errors import MeshError, Problem
from pliant.file_bytes import write_bytes
from pliant.objects.mesh.mesh import Mesh

FORMATS = ("stl", "obj", "ply", "off")


def write_mesh(mesh: Mesh, path: str | Path) -> Path:
    """Write a mesh [m] as .stl, .obj, .ply or .off; the file appears whole or not at all."""
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise MeshError(
            str(path), Problem("", f"cannot write '.{kind}'", f"one of {', '.join('.' + f for f in FORMATS)}")
        )
    data = mesh.to_trimesh().export(file_type=kind)
    write_bytes(path, data if isinstance(data, bytes) else data.encode(), error=MeshError)
    return path
