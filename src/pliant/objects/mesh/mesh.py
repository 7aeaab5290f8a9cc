"""Surface meshes: the one type every package passes around."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.arrays import Floats, Ints
from pliant.errors import MeshError, Problem

if TYPE_CHECKING:
    import pinocchio


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh: plain, read-only arrays. Coordinates in metres, faces counter-clockwise from outside.

    The constructor checks that the arrays make sense (shapes, indices), not that the surface does: see ``repair_mesh``.

    Args:
        vertices: n x 3 positions [m].
        faces: m x 3 vertex indices.
        name: where it came from: a file name or a shape's name; used in messages only.
    """

    vertices: Floats
    faces: Ints
    name: str = ""

    def __init__(self, vertices: ArrayLike, faces: ArrayLike, name: str = "") -> None:
        v = _rows_of_three(vertices, np.float64, "vertices", name)
        f = _rows_of_three(faces, np.int64, "faces", name)
        if f.size and (f.min() < 0 or f.max() >= len(v)):
            row, column = np.argwhere((f < 0) | (f >= len(v)))[0]
            raise MeshError(
                name or "mesh",
                Problem(
                    f"face {row}", f"names vertex {f[row, column]}", f"there are {len(v)} vertices, counted from 0"
                ),
            )
        v.setflags(write=False)
        f.setflags(write=False)
        object.__setattr__(self, "vertices", v)
        object.__setattr__(self, "faces", f)
        object.__setattr__(self, "name", name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that a copy from another process is read-only as well."""
        return (Mesh, (self.vertices, self.faces, self.name))

    def __repr__(self) -> str:
        return f"Mesh({self.name or 'unnamed'}: {len(self.vertices)} vertices, {len(self.faces)} faces)"

    @cached_property
    def content_hash(self) -> str:
        """Hash of the exact coordinates and faces; equal meshes share it, whatever their name."""
        digest = hashlib.sha256()
        for array in (self.vertices, self.faces):
            digest.update(str(array.shape).encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    @cached_property
    def corners(self) -> Floats:
        """Corner positions of every face, m x 3 corners x 3 [m]."""
        return _frozen(self.vertices[self.faces])

    @cached_property
    def face_vectors(self) -> Floats:
        """Area vector of every face: (b - a) x (c - a) / 2, outwards, as long as the area is large [m^2]."""
        a, b, c = self.corners.transpose(1, 0, 2)
        return _frozen(0.5 * np.cross(b - a, c - a))

    @cached_property
    def face_areas(self) -> Floats:
        """Area of every face [m^2]."""
        return _frozen(np.linalg.norm(self.face_vectors, axis=1))

    @cached_property
    def face_normals(self) -> Floats:
        """Outward unit normal of every face; zero where a face has no area."""
        return _frozen(_unit(self.face_vectors))

    @cached_property
    def face_centres(self) -> Floats:
        """Centroid of every face [m]."""
        return _frozen(self.corners.mean(axis=1))

    @cached_property
    def vertex_normals(self) -> Floats:
        """Outward unit normals at the vertices, face normals weighted by the angle each face takes at the vertex.

        The angle weight makes the normal independent of how flat neighbourhoods are cut into triangles.
        """
        total = np.zeros_like(self.vertices)
        for k in range(3):
            here = self.corners[:, k]
            u = _unit(self.corners[:, (k + 1) % 3] - here)
            w = _unit(self.corners[:, (k + 2) % 3] - here)
            # atan2 keeps its digits for needle-shaped faces, where arccos of a number close to 1 has none left.
            angle = np.arctan2(np.linalg.norm(np.cross(u, w), axis=1), np.einsum("ij,ij->i", u, w))
            np.add.at(total, self.faces[:, k], angle[:, None] * self.face_normals)
        return _frozen(_unit(total))

    @cached_property
    def bounds(self) -> Floats:
        """Lowest and highest coordinates, 2 x 3 [m]."""
        if not len(self.vertices):
            return _frozen(np.zeros((2, 3)))
        return _frozen(np.stack([self.vertices.min(axis=0), self.vertices.max(axis=0)]))

    @property
    def extents(self) -> Floats:
        """Size of the axis-aligned bounding box [m]."""
        return self.bounds[1] - self.bounds[0]

    @property
    def diagonal(self) -> float:
        """Length of the bounding box's diagonal [m]: the size that tolerances are relative to."""
        return float(np.linalg.norm(self.extents))

    @cached_property
    def area(self) -> float:
        """Surface area [m^2]."""
        return float(self.face_areas.sum())

    def transformed(self, T_world_object: pinocchio.SE3) -> Mesh:
        """The same surface in world coordinates; the mesh's own coordinates are the object's."""
        rotation = np.asarray(T_world_object.rotation)
        return Mesh(self.vertices @ rotation.T + np.asarray(T_world_object.translation), self.faces, self.name)

    def moved(self, offset: ArrayLike) -> Mesh:
        """The same surface shifted by ``offset`` [m]."""
        return Mesh(self.vertices + np.asarray(offset, dtype=np.float64), self.faces, self.name)

    def scaled(self, factor: float) -> Mesh:
        """The same surface with every coordinate times ``factor``: ``scaled(0.001)`` turns millimetres to metres."""
        if not (np.isfinite(factor) and factor > 0):
            raise MeshError(self.name or "mesh", Problem("scale", f"factor {factor}", "a finite number above 0"))
        return Mesh(self.vertices * factor, self.faces, self.name)

    def flipped(self) -> Mesh:
        """The same surface with every face turned over: inside and outside change places."""
        return Mesh(self.vertices, self.faces[:, ::-1], self.name)

    def to_trimesh(self) -> Any:
        """The same surface as a ``trimesh.Trimesh``, untouched by trimesh's own clean-up."""
        import trimesh

        return trimesh.Trimesh(np.array(self.vertices), np.array(self.faces), process=False)


def used_part(vertices: Floats, faces: Ints, name: str) -> Mesh:
    """A mesh of some faces with the vertices that they use."""
    used, index = np.unique(faces, return_inverse=True)
    return Mesh(vertices[used], index.reshape(-1, 3), name)


def position_text(position: Floats) -> str:
    """A position [m] for a message, to the nanometre."""
    return "(" + ", ".join(f"{round(float(x), 9) + 0.0:.4g}" for x in position) + ") m"


def _rows_of_three(values: ArrayLike, dtype: type[Any], what: str, name: str) -> NDArray[Any]:
    try:
        raw = np.asarray(values)
        if dtype is np.int64 and raw.size and raw.dtype.kind == "f" and not (np.mod(raw, 1) == 0).all():
            raise ValueError("vertex indices must be whole numbers")
        array = np.array(raw, dtype=dtype, order="C")
    except (TypeError, ValueError, OverflowError) as bad:
        raise MeshError(name or "mesh", Problem(what, f"not numbers ({bad})", "an n x 3 array")) from None
    if array.size == 0:
        return array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise MeshError(name or "mesh", Problem(what, f"array of shape {array.shape}", "an n x 3 array, one row each"))
    return array


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
