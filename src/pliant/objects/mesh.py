"""Surface meshes: the one type every package passes around."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Mesh"]


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh: plain, read-only arrays. Coordinates in metres, faces counter-clockwise from outside.

    Args:
        vertices: n x 3 positions [m].
        faces: m x 3 vertex indices.
        name: where it came from: a file name or a shape's name; used in messages only.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    name: str = ""

    def __init__(self, vertices: ArrayLike, faces: ArrayLike, name: str = "") -> None:
        v = np.array(vertices, dtype=np.float64, order="C").reshape(-1, 3)
        f = np.array(faces, dtype=np.int64, order="C").reshape(-1, 3)
        v.setflags(write=False)
        f.setflags(write=False)
        object.__setattr__(self, "vertices", v)
        object.__setattr__(self, "faces", f)
        object.__setattr__(self, "name", name)

    @cached_property
    def content_hash(self) -> str:
        """Hash of the exact coordinates and faces; equal meshes share it, whatever their name."""
        digest = hashlib.sha256()
        for array in (self.vertices, self.faces):
            digest.update(str(array.shape).encode())
            digest.update(array.tobytes())
        return digest.hexdigest()
