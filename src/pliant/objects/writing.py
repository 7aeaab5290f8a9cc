"""Meshes out, for other programs."""

from __future__ import annotations

import os
from pathlib import Path

from pliant.errors import MeshError, Problem
from pliant.objects.mesh import Mesh

__all__ = ["write_mesh"]

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
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data if isinstance(data, bytes) else data.encode())
        partial.replace(path)
    except OSError as bad:
        partial.unlink(missing_ok=True)
        raise MeshError(str(path), f"cannot be written: {bad.strerror}") from None
    return path
