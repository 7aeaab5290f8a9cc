"""Where a surface passes through itself or touches itself.

Two triangles that share no edge meet exactly when an edge of one meets the other, and the same holds for two triangles
with one corner in common if only the edges opposite to that corner are tested. So it is enough to test edges against
triangles that have no vertex in common; two triangles on one edge overlap only if they are folded flat together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.errors import MeshError, Problem
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.topology import Edges, edges_of, half_edge_pairs

TOUCH = 1e-9  # closer than this fraction of the mesh's diagonal is touching: far below any scan, far above rounding
CHUNK = 2_000_000  # candidate pairs held in memory at a time
MOST_PAIRS, PAIRS_OF_A_BOX = 20_000_000, 1000
"""Of boxes that are compared, in all and for each box: of meshes of robots and scans each has 500 at most."""
ENOUGH = 1000  # intersections after which the search stops: the mesh is beyond repair anyway


@dataclass(frozen=True, eq=False)
class SelfIntersection:
    """Two faces of one surface that meet although they are no neighbours.

    Args:
        faces: the two face numbers.
        place: where [m].
        crossing: true if the surface passes through itself, false if it only touches.
    """

    faces: tuple[int, int]
    place: Floats
    crossing: bool


def self_intersections(mesh: Mesh, edges: Edges | None = None, *, near: Bools | None = None) -> list[SelfIntersection]:
    """Every place where the surface crosses or touches itself, crossings first; at most about a thousand are sought.

    Args:
        edges: the mesh's edges, where the caller has them already.
        near: m, search only for intersections in which one of these faces takes part.
    """
    edges = edges_of(mesh.faces) if edges is None else edges
    near = np.ones(len(mesh.faces), dtype=bool) if near is None else near
    edge_near = np.zeros(len(edges.ends), dtype=bool)
    edge_near[edges.of_half_edge[np.repeat(near, 3)]] = True
    found = _folds(mesh, edges)
    for e_set, f_set in ((edge_near, np.ones_like(near)), (~edge_near, near)):
        found += _intersections_between(mesh, edges, np.flatnonzero(e_set), np.flatnonzero(f_set))
    return sorted(found, key=lambda found_at: not found_at.crossing)


def _intersections_between(mesh: Mesh, edges: Edges, some_edges: Ints, some_faces: Ints) -> list[SelfIntersection]:
    tol = TOUCH * mesh.diagonal
    face_of_edge = np.empty(len(edges.ends), dtype=np.int64)
    face_of_edge[edges.of_half_edge] = np.arange(3 * len(mesh.faces)) // 3
    ends, corners = mesh.vertices[edges.ends[some_edges]], mesh.corners[some_faces]
    found: list[SelfIntersection] = []
    for i, j in overlapping_boxes(
        ends.min(axis=1) - tol, ends.max(axis=1) + tol, corners.min(axis=1) - tol, corners.max(axis=1) + tol
    ):
        e, f = some_edges[i], some_faces[j]
        apart = ~(edges.ends[e][:, :, None] == mesh.faces[f][:, None, :]).any(axis=(1, 2))
        e, f = e[apart], f[apart]
        meets, place, crossing = _segments_meet_triangles(ends[i[apart]], corners[j[apart]], mesh.face_normals[f], tol)
        found += [
            SelfIntersection((int(face_of_edge[e[k]]), int(f[k])), place[k], bool(crossing[k]))
            for k in np.flatnonzero(meets)
        ]
        if len(found) >= ENOUGH:
            break
    return found


def overlapping_boxes(low_a: Floats, high_a: Floats, low_b: Floats, high_b: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Index pairs of the overlapping axis-aligned boxes of two sets, in chunks of bounded size, each pair once.

    Boxes are sorted into classes by size. A class lives in a grid whose cells are as large as its largest box, so no
    box covers more than eight cells of it, and is searched by the boxes of the other set that are no larger.

    Raises:
        MeshError: so many are long and lie side by side that comparing them takes time with the square of their number.
    """
    if not len(low_a) or not len(low_b):
        return
    budget = _Budget(MOST_PAIRS + PAIRS_OF_A_BOX * (len(low_a) + len(low_b)))
    size_a, size_b = (high_a - low_a).max(axis=1), (high_b - low_b).max(axis=1)
    smallest = max(float(np.concatenate([size_a, size_b]).max()) * 1e-6, 1e-300)
    class_a, class_b = (np.ceil(np.log2(np.maximum(size, smallest))).astype(int) for size in (size_a, size_b))
    for level in np.unique(np.concatenate([class_a, class_b])):
        cell = 2.0 ** float(level)
        own_b, guests_a = np.flatnonzero(class_b == level), np.flatnonzero(class_a <= level)
        for j, i in _grid_pairs(low_b, high_b, own_b, low_a, high_a, guests_a, cell, budget):
            yield i, j
        own_a, guests_b = np.flatnonzero(class_a == level), np.flatnonzero(class_b < level)
        yield from _grid_pairs(low_a, high_a, own_a, low_b, high_b, guests_b, cell, budget)


@dataclass
class _Budget:
    """How many pairs of boxes may still be compared."""

    left: int

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            what = "has so many long faces side by side or around each other that it takes too long to see which meet"
            remedy = "make its triangles of like size (remesh), or split the long ones"
            raise MeshError("mesh", Problem("", what, remedy))


def _grid_pairs(
    low_a: Floats, high_a: Floats, a: Ints, low_b: Floats, high_b: Floats, b: Ints, cell: float, budget: _Budget
) -> Iterator[tuple[Ints, Ints]]:
    """Overlapping pairs between boxes ``a`` and ``b``, neither larger than ``cell``."""
    if not len(a) or not len(b):
        return
    origin = np.minimum(low_a[a].min(axis=0), low_b[b].min(axis=0))
    top = np.maximum(high_a[a].max(axis=0), high_b[b].max(axis=0))
    shape = ((top - origin) / cell).astype(np.int64) + 2
    item_a, key_a = _cells(low_a[a], high_a[a], origin, cell, shape)
    item_b, key_b = _cells(low_b[b], high_b[b], origin, cell, shape)
    order = np.argsort(key_a, kind="stable")
    item_a, key_a = item_a[order], key_a[order]
    first, last = np.searchsorted(key_a, key_b, "left"), np.searchsorted(key_a, key_b, "right")
    count = last - first
    total = np.cumsum(count)
    budget.spend(int(total[-1]))
    begin = 0
    while begin < len(count):
        done = total[begin - 1] if begin else 0
        end = max(int(np.searchsorted(total, done + CHUNK, "right")), begin + 1)
        n = count[begin:end]
        slot = np.repeat(np.arange(begin, end), n)
        within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        i, j = a[item_a[first[slot] + within]], b[item_b[slot]]
        low = np.maximum(low_a[i], low_b[j])
        overlap = (low <= np.minimum(high_a[i], high_b[j])).all(axis=1)
        # A pair shares several cells; it is reported in the one that holds the low corner of the common box.
        home = _key(((low[overlap] - origin) / cell).astype(np.int64), shape) == key_b[slot[overlap]]
        yield i[overlap][home], j[overlap][home]
        begin = end


def _cells(low: Floats, high: Floats, origin: Floats, cell: float, shape: Ints) -> tuple[Ints, Ints]:
    """Box number and cell key of every grid cell that a box covers."""
    start, stop = (((corner - origin) / cell).astype(np.int64) for corner in (low, high))
    items, keys = [], []
    everyone = np.arange(len(low))
    for step in np.ndindex(3, 3, 3):  # rounding may let a box of one cell's size reach a third cell
        here = start + np.array(step)
        inside = (here <= stop).all(axis=1)
        if inside.any():
            items.append(everyone[inside])
            keys.append(_key(here[inside], shape))
    return np.concatenate(items), np.concatenate(keys)


def _key(index: Ints, shape: Ints) -> Ints:
    return (index[:, 0] * shape[1] + index[:, 1]) * shape[2] + index[:, 2]


def _segments_meet_triangles(ends: Floats, corners: Floats, normals: Floats, tol: float) -> tuple[Bools, Floats, Bools]:
    """Whether segments come within ``tol`` of triangles: (meets, place, crossing).

    A triangle is thickened by ``tol`` on every side, which makes it five half-spaces; the segment meets it if some
    parameter t in [0, 1] satisfies all five linear inequalities. Parallel and coplanar cases need no case of their own.
    """
    p, q = ends[:, 0], ends[:, 1]
    dp, dq = (np.einsum("ij,ij->i", x - corners[:, 0], normals) for x in (p, q))
    meets = ~(((dp > tol) & (dq > tol)) | ((dp < -tol) & (dq < -tol))) & (normals != 0).any(axis=1)
    some = np.flatnonzero(meets)
    at_p, at_q = [dp[some] + tol, tol - dp[some]], [dq[some] + tol, tol - dq[some]]
    for k in range(3):
        side = corners[some, (k + 1) % 3] - corners[some, k]
        inward = np.cross(normals[some], side)
        inward /= np.linalg.norm(inward, axis=1, keepdims=True)
        at_p.append(np.einsum("ij,ij->i", p[some] - corners[some, k], inward) + tol)
        at_q.append(np.einsum("ij,ij->i", q[some] - corners[some, k], inward) + tol)
    g0, g1 = np.array(at_p), np.array(at_q)
    slope = g1 - g0
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -g0 / slope
    t_low = np.where(slope > 0, zero, 0.0).max(axis=0, initial=0.0)
    t_high = np.where(slope < 0, zero, 1.0).min(axis=0, initial=1.0)
    never = ((slope == 0) & (g0 < 0)).any(axis=0)
    meets[some] = (t_low <= t_high) & ~never
    place = np.zeros_like(p)
    t = (0.5 * (t_low + t_high))[:, None]
    place[some] = (1 - t) * p[some] + t * q[some]
    # Through the triangle, not along its rim: from one side to the other, well inside all three edges.
    crossing = np.zeros(len(p), dtype=bool)
    through = np.clip(
        np.divide(dp[some], dp[some] - dq[some], out=np.zeros(len(some)), where=dp[some] != dq[some]), 0, 1
    )
    inside = ((1 - through) * g0[2:] + through * g1[2:]).min(axis=0, initial=np.inf) > 2 * tol
    crossing[some] = inside & (np.minimum(dp[some], dq[some]) < -tol) & (np.maximum(dp[some], dq[some]) > tol)
    return meets, place, meets & crossing


def _folds(mesh: Mesh, edges: Edges) -> list[SelfIntersection]:
    """Neighbours folded flat onto each other: opposite normals across a shared edge."""
    first, second = half_edge_pairs(edges)
    f, g = first // 3, second // 3
    sound = (mesh.face_areas[f] > 0) & (mesh.face_areas[g] > 0)
    # Opposite normals to 1e-6 rad; the sum of two unit vectors keeps the digits that a scalar product loses.
    flat = np.linalg.norm(mesh.face_normals[f] + mesh.face_normals[g], axis=1) < 1e-6
    middles = mesh.vertices[edges.ends[edges.of_half_edge[first]]].mean(axis=1)
    return [SelfIntersection((int(f[k]), int(g[k])), middles[k], crossing=False) for k in np.flatnonzero(sound & flat)]
