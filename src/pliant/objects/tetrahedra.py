"""Quadratic tetrahedra inside a closed surface.

fTetWild fills the surface; the corners on the boundary and the middles of the boundary edges are then moved onto
the smooth
surface (``smooth``), so that a ball of a few hundred corners still has the volume and curvature of a ball.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pliant.errors import MeshError
from pliant.objects.mesh import Mesh
from pliant.objects.smooth import SmoothSurface

__all__ = ["EDGES", "Tetrahedra", "fill", "thickness"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
_ENVELOPE = 0.08
"""How far the tetrahedra's boundary may stray from the given surface, in edge lengths; projection mends it
afterwards."""
_WORST = 0.02
"""Smallest acceptable ratio of a tetrahedron's volume to that of the regular one on its longest edge."""


@dataclass(frozen=True, eq=False)
class Tetrahedra:
    """Ten-node tetrahedra and their boundary.

    Args:
        nodes: n x 3 positions, corners first, then edge middles [m].
        elements: m x 10 node numbers: four corners, then the middles of ``EDGES``.
        corners: number of corner nodes.
        boundary: b x 6 node numbers of the outer triangles: three corners (outward), then the middles of 01, 12, 20.
        edge: mean edge length of the boundary [m].
    """

    nodes: Floats
    elements: Ints
    corners: int
    boundary: Ints
    edge: float


def fill(smooth: SmoothSurface, edge: float) -> Tetrahedra:
    """Fill a closed surface with quadratic tetrahedra of about the given edge length [m].

    Raises:
        MeshError: the surface cannot be filled, or only with degenerate tetrahedra.
    """
    mesh = smooth.mesh
    span = mesh.vertices.max(axis=0) - mesh.vertices.min(axis=0)
    diagonal = float(np.linalg.norm(span))
    # the mesher's tolerances are relative; a unit-size copy keeps metre-scale objects of millimetres out of trouble
    centre = 0.5 * (mesh.vertices.max(axis=0) + mesh.vertices.min(axis=0))
    unit = (mesh.vertices - centre) / diagonal
    worst = 0.0
    for attempt in range(3):
        import pytetwild

        shrink = 0.7**attempt
        # the mesher leaves a file in the working folder
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _silence():
            points, cells = pytetwild.tetrahedralize(
                unit,
                mesh.faces.astype(np.int32),
                edge_length_fac=edge / diagonal * shrink,
                epsilon=_ENVELOPE * edge / diagonal * shrink,
                num_threads=1,
            )
        if len(cells) == 0:
            continue
        tets, worst = _quadratic(np.asarray(points) * diagonal + centre, np.asarray(cells, dtype=np.int64), smooth)
        if worst > _WORST:
            return tets
    raise MeshError(
        mesh.name or "mesh",
        f"cannot be filled with sound tetrahedra of edge {edge * 1e3:.3g} mm (worst shape {worst:.2g}); "
        "is the surface closed, free of self-intersections and not thinner than that?",
    )


def _quadratic(points: Floats, cells: Ints, smooth: SmoothSurface) -> tuple[Tetrahedra, float]:
    used, cells = np.unique(cells, return_inverse=True)
    points, cells = points[used], cells.reshape(-1, 4).astype(np.int64)
    volume = np.einsum(
        "ij,ij->i",
        np.cross(points[cells[:, 1]] - points[cells[:, 0]], points[cells[:, 2]] - points[cells[:, 0]]),
        points[cells[:, 3]] - points[cells[:, 0]],
    )
    cells[volume < 0] = cells[volume < 0][:, [0, 2, 1, 3]]
    faces = np.concatenate([cells[:, [0, 2, 1]], cells[:, [0, 1, 3]], cells[:, [0, 3, 2]], cells[:, [1, 2, 3]]])
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outer = faces[first[count == 1]]
    pairs = np.sort(cells[:, EDGES].reshape(-1, 2), axis=1)
    edges, edge_of = np.unique(pairs, axis=0, return_inverse=True)
    n = len(points)
    elements = np.concatenate([cells, n + edge_of.reshape(-1, 6)], axis=1)
    on_boundary = np.unique(outer)
    keys = edges[:, 0] * n + edges[:, 1]

    def middle(a: Ints, b: Ints) -> Ints:
        return n + np.searchsorted(keys, np.minimum(a, b) * n + np.maximum(a, b))

    boundary = np.column_stack(
        [outer, middle(outer[:, 0], outer[:, 1]), middle(outer[:, 1], outer[:, 2]), middle(outer[:, 2], outer[:, 0])]
    )
    length = np.linalg.norm(points[outer] - points[np.roll(outer, -1, axis=1)], axis=2)
    flat = np.concatenate([points, points[edges].mean(axis=1)])
    nodes = flat.copy()
    nodes[on_boundary] = smooth.project(points[on_boundary])[0]
    nodes[n:] = nodes[edges].mean(axis=1)
    middles = np.unique(boundary[:, 3:])
    nodes[middles] = smooth.project(nodes[middles])[0]
    straight = np.concatenate([nodes[:n], nodes[:n][edges].mean(axis=1)])
    for _ in range(20):
        quality = _quality(nodes, elements)
        bad = quality < 0.05
        if not bad.any():
            break
        # take back what bent these elements: first their middles, then the moves of their corners
        at = np.unique(elements[bad])
        if np.array_equal(nodes[at], straight[at]):
            nodes[at] = flat[at]
            break
        nodes[at] = straight[at]
    quality = _quality(nodes, elements)
    return Tetrahedra(nodes, elements, n, boundary, float(length.mean())), float(quality.min())


@njit(cache=True)
def _quality(nodes: Floats, elements: Ints) -> Floats:
    """Smallest Jacobian determinant over the four corners and the centre, relative to the regular tetrahedron's."""
    out = np.empty(len(elements))
    grad = np.empty((10, 3))
    for e in range(len(elements)):
        longest = 0.0
        for i in range(4):
            for j in range(i):
                d = nodes[elements[e, i]] - nodes[elements[e, j]]
                longest = max(longest, (d * d).sum())
        worst = np.inf
        for q in range(5):
            shape_gradients(
                1.0 if q == 1 else 0.25 * (q == 4),
                1.0 if q == 2 else 0.25 * (q == 4),
                1.0 if q == 3 else 0.25 * (q == 4),
                grad,
            )
            jac = np.zeros((3, 3))
            for a in range(10):
                for i in range(3):
                    for j in range(3):
                        jac[i, j] += nodes[elements[e, a], i] * grad[a, j]
            worst = min(worst, np.linalg.det(jac))
        out[e] = worst / (longest**1.5 / np.sqrt(2.0))
    return out


@njit(cache=True)
def shape_gradients(x: float, y: float, z: float, out: Floats) -> None:
    """Gradients of the ten quadratic shape functions in the reference tetrahedron."""
    l0 = 1.0 - x - y - z
    lam = (l0, x, y, z)
    g = np.array([[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for i in range(4):
        for k in range(3):
            out[i, k] = (4.0 * lam[i] - 1.0) * g[i, k]
    a = 4
    for i in range(4):
        for j in range(i + 1, 4):
            for k in range(3):
                out[a, k] = 4.0 * (lam[i] * g[j, k] + lam[j] * g[i, k])
            a += 1


def thickness(mesh: Mesh, points: Floats, inward: Floats) -> Floats:
    """How much material lies behind surface points along their inward normals [m]; infinite where a ray finds no
    way out."""
    v, f = mesh.vertices, mesh.faces
    scale = float(np.linalg.norm(v.max(axis=0) - v.min(axis=0)))
    return _first_hit(
        np.ascontiguousarray(points + 1e-6 * scale * inward), np.ascontiguousarray(inward),
        v[f[:, 0]], v[f[:, 1]], v[f[:, 2]], 1e-4 * scale,
    )  # fmt: skip


@njit(cache=True)
def _first_hit(o: Floats, d: Floats, a: Floats, b: Floats, c: Floats, least: float) -> Floats:
    out = np.full(len(o), np.inf)
    for t in range(len(a)):
        e1, e2 = b[t] - a[t], c[t] - a[t]
        for i in range(len(o)):
            p = np.cross(d[i], e2)
            det = (e1 * p).sum()
            if abs(det) < 1e-300:
                continue
            s = o[i] - a[t]
            u = (s * p).sum() / det
            if u < 0.0 or u > 1.0:
                continue
            q = np.cross(s, e1)
            w = (d[i] * q).sum() / det
            if w < 0.0 or u + w > 1.0:
                continue
            hit = (e2 * q).sum() / det
            if least < hit < out[i]:
                out[i] = hit
    return out


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Send the process's standard output and error elsewhere: the mesher prints from C++."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    try:
        with open(os.devnull, "wb") as sink:  # noqa: PTH123 (a descriptor is wanted)
            os.dup2(sink.fileno(), 1)
            os.dup2(sink.fileno(), 2)
        yield
    finally:
        for target, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, target)
            os.close(copy)
