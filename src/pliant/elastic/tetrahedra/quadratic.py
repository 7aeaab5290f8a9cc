"""Quadratic tetrahedra inside a closed surface.

The surface is filled with tetrahedra (``fill``); the middles of the boundary edges are then moved onto the smooth
surface (``smooth``), so that a ball of a few hundred corners still has the volume and curvature of a ball.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.compiled import inner, kernel
from pliant.elastic.tetrahedra.fill import Filling, fill_points
from pliant.elastic.tetrahedra.graded import graded_filling
from pliant.elastic.tetrahedra.spread import SharpEdges, sharp_edges, spread
from pliant.errors import MeshError
from pliant.objects import Mesh, SmoothSurface, mesh_volume

EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
_WORST = 0.02
"""Smallest acceptable ratio of a tetrahedron's volume to that of the regular one on its longest edge."""
_BENT = 0.05
"""Shape below which an element is straightened."""
_FOLD = np.deg2rad(30.0)
"""A boundary edge between two points of a sharp edge follows it if it is folded more than this."""
_FINER = (1.0, 0.9, 0.8, 0.7, 0.6)
"""Spacings tried, relative to the one wanted."""
_VOLUME = 0.1
"""Largest share of the volume that a filling may miss."""


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
    volume, euler = mesh_volume(mesh), _euler(mesh)
    worst = 0.0
    spare: Tetrahedra | None = None
    for share in _FINER:
        edges = sharp_edges(smooth, share * edge)
        filling = fill_points(mesh, *spread(smooth, edges, share * edge), share * edge)
        if filling is None or not filling.sound or abs(filling.volume - volume) > _VOLUME * volume:
            continue
        tets, worst = _quadratic(filling, smooth, edges)
        if worst <= _WORST:
            continue
        if filling.euler == euler:
            return tets
        # a scan may have handles finer than any element here
        spare = spare or tets
    if spare is not None:
        return spare
    raise MeshError(
        mesh.name or "mesh",
        f"cannot be filled with sound tetrahedra of edge {edge * 1e3:.3g} mm (worst shape {worst:.2g}); "
        "is the surface closed, free of self-intersections and not thinner than that?",
    )


def fill_graded(smooth: SmoothSurface, places: Floats, fine: float, reach: float, coarse: float) -> Tetrahedra:
    """Fill a closed surface with quadratic tetrahedra of edge ``fine`` near places on it, ``coarse`` far away [m].

    Args:
        smooth: the closed surface.
        places: k x 3, where it will be pressed [m].
        fine, reach: edge length, and how far around the places it is kept [m].
        coarse: largest edge length [m].

    Raises:
        MeshError: the surface cannot be filled, or only with degenerate tetrahedra.
    """
    worst = 0.0
    for share in _FINER:
        filling = graded_filling(smooth, places, share * fine, reach, share * coarse)
        if filling is None or not filling.sound:
            continue
        tets, worst = _quadratic(filling, smooth, sharp_edges(smooth, share * fine))
        if worst > _WORST:
            return tets
    raise MeshError(
        smooth.mesh.name or "mesh",
        f"cannot be filled with sound tetrahedra of edges {fine * 1e3:.3g} to {coarse * 1e3:.3g} mm "
        f"(worst shape {worst:.2g}); other edge lengths may do",
    )


def _euler(mesh: Mesh) -> int:
    edges = np.unique(np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    return len(np.unique(mesh.faces)) - len(edges) + len(mesh.faces)


def _quadratic(filling: Filling, smooth: SmoothSurface, creases: SharpEdges) -> tuple[Tetrahedra, float]:
    points, cells, outer = filling.points, filling.cells, filling.outer
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
    moved = points.copy()
    moving = on_boundary[~filling.sharp[on_boundary]]
    moved[moving] = smooth.project(points[moving]).points
    bent = moved[edges].mean(axis=1)
    middles = np.unique(boundary[:, 3:]) - n
    bent[middles] = smooth.project(bent[middles]).points
    along = middles[_on_folds(points, outer, edges[middles]) & filling.sharp[edges[middles]].all(axis=1)]
    if len(along):
        bent[along] = creases.nearest(moved[edges[along]].mean(axis=1))
    # where an element is turned inside out, take back what bent it: first its middles, then the moves of its corners
    back, straight = np.zeros(n, dtype=bool), np.zeros(len(edges), dtype=bool)
    for _ in range(40):
        corners = np.where(back[:, None], points, moved)
        straight |= back[edges].any(axis=1)
        nodes = np.concatenate([corners, np.where(straight[:, None], corners[edges].mean(axis=1), bent)])
        bad = elements[_quality(nodes, elements) < _BENT]
        if not len(bad):
            break
        still = straight[bad[:, 4:] - n].all(axis=1)
        if back[bad[still, :4]].all() and still.all():
            break
        straight[bad[~still, 4:] - n] = True
        back[bad[still, :4]] = True
    quality = _quality(nodes, elements)
    return Tetrahedra(nodes, elements, n, boundary, float(length.mean())), float(quality.min())


def _on_folds(points: Floats, outer: Ints, edges: Ints) -> Bools:
    """Whether boundary edges (sorted pairs) are folded like a sharp edge."""
    x = points[outer]
    normals = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    pairs = np.sort(np.stack([outer, np.roll(outer, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    keys = pairs[:, 0] * len(points) + pairs[:, 1]
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], edges[:, 0] * len(points) + edges[:, 1])
    one, two = order[at] // 3, order[at + 1] // 3
    return np.asarray(np.einsum("ij,ij->i", normals[one], normals[two]) < np.cos(_FOLD))


@kernel
def _quality(nodes: Floats, elements: Ints) -> Floats:
    """Smallest Jacobian determinant over the four corners and the centre, relative to the regular tetrahedron's."""
    out = np.empty(len(elements))
    grad = np.empty((10, 3))
    for e in range(len(elements)):
        longest = 0.0
        for i in range(4):
            for j in range(i):
                square = 0.0
                for k in range(3):
                    square += (nodes[elements[e, i], k] - nodes[elements[e, j], k]) ** 2
                longest = max(longest, square)
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
            det = (
                jac[0, 0] * (jac[1, 1] * jac[2, 2] - jac[1, 2] * jac[2, 1])
                - jac[0, 1] * (jac[1, 0] * jac[2, 2] - jac[1, 2] * jac[2, 0])
                + jac[0, 2] * (jac[1, 0] * jac[2, 1] - jac[1, 1] * jac[2, 0])
            )
            worst = min(worst, det)
        out[e] = worst / (longest**1.5 / np.sqrt(2.0))
    return out


@inner
def shape_gradients(x: float, y: float, z: float, out: Floats) -> None:
    """Gradients of the ten quadratic shape functions in the reference tetrahedron."""
    a, lam = 4, (1.0 - x - y - z, x, y, z)
    for i in range(4):
        for k in range(3):
            gi = -1.0 if i == 0 else 1.0 if i == k + 1 else 0.0  # gradients of the barycentric coordinates
            out[i, k] = (4.0 * lam[i] - 1.0) * gi
            for j in range(i + 1, 4):
                gj = 1.0 if j == k + 1 else 0.0
                out[a + j - i - 1, k] = 4.0 * (lam[i] * gj + lam[j] * gi)
        a += 3 - i


def thickness(mesh: Mesh, points: Floats, inward: Floats) -> Floats:
    """How much material lies behind surface points along their inward normals [m]; infinite where a ray finds no
    exit."""
    v, f = mesh.vertices, mesh.faces
    scale = float(np.linalg.norm(v.max(axis=0) - v.min(axis=0)))
    return _first_hit(
        np.ascontiguousarray(points + 1e-6 * scale * inward), np.ascontiguousarray(inward),
        v[f[:, 0]], v[f[:, 1]], v[f[:, 2]], 1e-4 * scale,
    )  # fmt: skip


@kernel
def _first_hit(o: Floats, d: Floats, a: Floats, b: Floats, c: Floats, least: float) -> Floats:
    out = np.empty(len(o))
    for i in range(len(o)):
        out[i] = np.inf
        for t in range(len(a)):
            e0, e1, e2 = b[t, 0] - a[t, 0], b[t, 1] - a[t, 1], b[t, 2] - a[t, 2]
            f0, f1, f2 = c[t, 0] - a[t, 0], c[t, 1] - a[t, 1], c[t, 2] - a[t, 2]
            p0, p1, p2 = d[i, 1] * f2 - d[i, 2] * f1, d[i, 2] * f0 - d[i, 0] * f2, d[i, 0] * f1 - d[i, 1] * f0
            det = e0 * p0 + e1 * p1 + e2 * p2
            if abs(det) < 1e-300:
                continue
            s0, s1, s2 = o[i, 0] - a[t, 0], o[i, 1] - a[t, 1], o[i, 2] - a[t, 2]
            u = (s0 * p0 + s1 * p1 + s2 * p2) / det
            if u < 0.0 or u > 1.0:
                continue
            q0, q1, q2 = s1 * e2 - s2 * e1, s2 * e0 - s0 * e2, s0 * e1 - s1 * e0
            w = (d[i, 0] * q0 + d[i, 1] * q1 + d[i, 2] * q2) / det
            if w < 0.0 or u + w > 1.0:
                continue
            hit = (f0 * q0 + f1 * q1 + f2 * q2) / det
            if least < hit < out[i]:
                out[i] = hit
    return out
