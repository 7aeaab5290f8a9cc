"""A soft solid with small tetrahedra where it will be pressed and large ones elsewhere.   (theory 10)

A contact is only as good as the nodes it rests on: a patch smaller than their distance is met by a corner or by a face,
and pushes back accordingly. Fine nodes everywhere would cost the square of their number; a trial squeeze knows where
the pads will press.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Bools, Floats
from pliant.elastic import fill_points, lattice, sharp_edges, spread
from pliant.errors import MeshError, Problem
from pliant.lab.soft_body import INNER, LEAST_QUALITY, TetMesh
from pliant.objects import Mesh, SmoothSurface, smooth_surface

FINE = 0.045  # spacing at the places over the body's width between them
COARSE = 0.22  # .. and far away, to begin with
REACH = 0.11  # how far around a place the nodes are as fine as that, over the width
GROWTH = 1.6  # spacing of one shell over the next finer one
SHELL = 1.6  # thickness of a shell in its spacings
APART = 0.75  # nodes of a coarser shell keep so far from finer ones, in their own spacings
TRIES = 14


def graded_tetrahedra(mesh: Mesh, places: ArrayLike, *, nodes: int = 400) -> TetMesh:
    """Fill a closed mesh with tetrahedra that are small around places on its surface, with at most ``nodes`` nodes.

    Around every place the nodes are a twentieth of the body's width apart, out to a ninth of it; from there on they
    grow apart. Where that takes too many nodes, those far away are the first to go.

    Args:
        mesh: closed [m].
        places: k x 3, where it will be pressed [m].
    """
    at = np.ascontiguousarray(np.asarray(places, dtype=np.float64).reshape(-1, 3))
    faces = np.ascontiguousarray(mesh.faces, dtype=np.int64)
    return _graded(mesh.vertices.tobytes(), faces.tobytes(), at.tobytes(), mesh.name or "object", int(nodes))


@lru_cache(maxsize=16)
def _graded(vertices: bytes, faces: bytes, places: bytes, name: str, limit: int) -> TetMesh:
    V = np.frombuffer(vertices).reshape(-1, 3).copy()
    F = np.frombuffer(faces, dtype=np.int64).reshape(-1, 3).copy()
    at = np.frombuffer(places).reshape(-1, 3).copy()
    mesh = Mesh(V, F, name)
    smooth = smooth_surface(mesh)
    middle = at.mean(axis=0)
    width = 2.0 * float(np.linalg.norm(at - middle, axis=1).mean()) if len(at) > 1 else float(np.ptp(V, axis=0).min())
    fine, reach, coarse = FINE * width, REACH * width, COARSE * width
    known: dict[float, tuple[Floats, Floats, int, Floats]] = {}  # spreading is the work; tries share most of it
    for _ in range(TRIES):
        found = _fill(mesh, smooth, at, fine, reach, coarse, known)
        if found is not None and len(found.nodes) <= limit:
            return found
        coarse *= 1.08
        if coarse > 0.35 * width:
            fine, reach = 1.06 * fine, 0.97 * reach
    allowed = "allow more nodes; thin or finely shaped things need them"
    raise MeshError(name, Problem("", f"no sound graded filling with at most {limit} tetrahedron nodes", allowed))


def _fill(
    mesh: Mesh,
    smooth: SmoothSurface,
    at: Floats,
    fine: float,
    reach: float,
    coarse: float,
    known: dict[float, tuple[Floats, Floats, int, Floats]],
) -> TetMesh | None:
    edges, skins, normals, inner = np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))
    spacing, start, end = fine, 0.0, reach
    while True:
        last = spacing >= coarse
        if last:
            spacing, end = coarse, np.inf
        if spacing not in known:
            known[spacing] = (*spread(smooth, sharp_edges(smooth, spacing), spacing), lattice(mesh, spacing, INNER))
        points, outward, edged, lat = known[spacing]
        shell = _between(points, at, start, end)
        kept = shell & _clear(points, np.vstack([edges, skins]), APART * spacing)
        on_edge = np.arange(len(points)) < edged
        edges = np.vstack([edges, points[kept & on_edge]])
        skins, normals = np.vstack([skins, points[kept & ~on_edge]]), np.vstack([normals, outward[kept & ~on_edge]])
        good = _between(lat, at, start, end) & _clear(lat, np.vstack([inner, edges, skins]), APART * spacing)
        inner = np.vstack([inner, lat[good]])
        if last:
            break
        start, spacing = end, GROWTH * spacing
        end = start + SHELL * spacing
    outside = np.vstack([edges, skins])
    across = np.vstack([np.zeros_like(edges), normals])
    found = fill_points(mesh, outside, across, len(edges), float(np.sqrt(fine * coarse)), INNER, inner)
    if found is None or not found.sound:
        return None
    tets = TetMesh(found.points, found.cells, np.unique(found.outer))
    # Fine faces lie hardly below the surface: nothing is scaled, as it is in an even filling.
    return tets if tets.qualities.min() >= LEAST_QUALITY else None


def _between(points: Floats, at: Floats, start: float, end: float) -> Bools:
    away = np.linalg.norm(points[:, None] - at[None], axis=2).min(axis=1)
    return np.asarray((away >= start) & (away < end))


def _clear(points: Floats, others: Floats, distance: float) -> Bools:
    from scipy.spatial import cKDTree

    if not len(others) or not len(points):
        return np.ones(len(points), dtype=bool)
    return np.asarray(cKDTree(others).query(points)[0] >= distance)
