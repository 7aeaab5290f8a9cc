"""The part of a closed mesh below a plane, as a closed mesh, with the cut as flat triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.objects.mesh.mesh import Mesh, used_part


class Clipped(NamedTuple):
    """The closed part of a mesh below a plane, and the cut alone, facing up."""

    below: Mesh
    cap: Mesh


class Cut(NamedTuple):
    """The part of a mesh below a plane, with its rim on the plane open.

    Attributes:
        vertices: n x 3, those of the mesh and then those on the plane [m].
        faces: m x 3.
        start, end: the rim's directed edges, in the order in which faces that close it pass them.
    """

    vertices: Floats
    faces: Ints
    start: Ints
    end: Ints


def clip_below(mesh: Mesh, up: Floats, level: float) -> Clipped:
    """The part of a closed mesh with x . up < level."""
    cut = cut_below(mesh, up, level)
    cap = triangulate(cut.start, cut.end, cut.vertices, up)
    below = used_part(cut.vertices, np.concatenate([cut.faces, cap]), mesh.name)
    return Clipped(below, used_part(cut.vertices, cap, mesh.name))


def cut_below(mesh: Mesh, up: Floats, level: float) -> Cut:
    """The part of a mesh with x . up < level, open where it was cut.

    A vertex exactly on the plane counts as above it, so each edge is cut once or not at all and the cut of a closed
    mesh is a set of closed loops whatever the coincidences.
    """
    s = mesh.vertices @ up - level
    below = s < 0
    n = len(mesh.vertices)
    sides = below[mesh.faces]
    number = sides.sum(axis=1)
    cut_rows = np.flatnonzero((number == 1) | (number == 2))
    lone = np.where(number[cut_rows] == 1, np.argmax(sides[cut_rows], axis=1), np.argmin(sides[cut_rows], axis=1))
    p, q, r = (mesh.faces[cut_rows, (lone + k) % 3] for k in range(3))
    edges = np.sort(np.concatenate([np.stack([p, q], axis=1), np.stack([p, r], axis=1)]), axis=1)
    keys, which = np.unique(edges[:, 0] * n + edges[:, 1], return_inverse=True)
    first, second = keys // n, keys % n
    t = (s[first] / (s[first] - s[second]))[:, None] if len(keys) else np.zeros((0, 1))
    points = mesh.vertices[first] + t * (mesh.vertices[second] - mesh.vertices[first])
    pq, pr = n + which.reshape(-1)[: len(p)], n + which.reshape(-1)[len(p) :]
    one = number[cut_rows] == 1
    wall = [
        mesh.faces[number == 3],
        np.stack([p, pq, pr], axis=1)[one],
        np.stack([pq, q, r], axis=1)[~one],
        np.stack([pq, r, pr], axis=1)[~one],
    ]
    # Along the cut a cap runs against the wall: the wall goes pq -> pr where one corner is below, back where two are.
    start, end = np.where(one, pr, pq), np.where(one, pq, pr)
    return Cut(np.concatenate([mesh.vertices, points]), np.concatenate(wall), start, end)


def triangulate(start: Ints, end: Ints, points: Floats, up: Floats) -> Ints:
    """Triangles of the polygons (with holes) bounded by the directed edges ``start`` -> ``end``, counter-clockwise."""
    if not len(start):
        return np.zeros((0, 3), dtype=np.int64)
    import manifold3d

    across = np.cross(up, np.eye(3)[np.argmin(np.abs(up))])
    across /= np.linalg.norm(across)
    plane = np.stack([points @ across, points @ np.cross(up, across)], axis=1)
    loops = _loops(start, end)
    triangles = manifold3d.triangulate([plane[loop] for loop in loops])
    return np.concatenate(loops)[np.asarray(triangles, dtype=np.int64).reshape(-1, 3)]


def _loops(start: Ints, end: Ints) -> list[Ints]:
    following = dict(zip(start.tolist(), end.tolist(), strict=True))
    loops = []
    while following:
        vertex, after = following.popitem()
        loop = [vertex]
        while after != vertex:
            loop.append(after)
            after = following.pop(after)
        loops.append(np.array(loop, dtype=np.int64))
    return loops
