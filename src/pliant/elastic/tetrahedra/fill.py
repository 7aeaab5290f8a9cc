"""Tetrahedra inside a closed surface, the same ones every time.

Points on the surface (``spread``) and on a lattice inside are joined by Delaunay's tetrahedra; those outside are
taken away (``carve``), inner points are evened out, and what flat tetrahedra are left are opened by moving their
corners: inside freely, on the surface along it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.compiled import inner, kernel
from pliant.elastic.tetrahedra.carve import carve, stars_of
from pliant.errors import MeshError
from pliant.objects import Mesh

_INNER = 1.3
"""Spacing inside over spacing on the surface, where contact needs the nodes."""
_SKIN = 0.65
"""Lattice points this near to the surface, in spacings, are left out."""
_ROUNDS = 8
_STRAY = 0.15
"""How far, in spacings, the centre of a tetrahedron may be on the wrong side at the cost of a flat one."""
_POOR = 0.3
"""Shape below which the corners of a tetrahedron are moved."""
_SLIDE = 0.25
"""How far a point may be moved along the surface, in spacings."""
_SHAKE = 1e-3
"""Points on planes and lattices have many equal Delaunay fillings; so little, in spacings, picks one."""
_MOST_PLACES = 20_000_000
"""Of the lattice in the body's box; one of a ball has some thousand, and a gigabyte of memory is full with these."""
_FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
"""Face i lies opposite corner i and looks outwards."""
_PAIRS = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


@dataclass(frozen=True, eq=False)
class Filling:
    """Linear tetrahedra.

    Args:
        points: n x 3 [m].
        cells: m x 4, positive volumes.
        outer: b x 3 boundary triangles, outwards.
        sharp: whether each point was picked on a sharp edge.
        sound: whether the boundary is a closed surface without pinched edges or corners, in one piece.
    """

    points: Floats
    cells: Ints
    outer: Ints
    sharp: Bools
    sound: bool

    @property
    def volume(self) -> float:
        """[m^3]."""
        return float(_six_volumes(self.points, self.cells).sum() / 6.0)

    @property
    def euler(self) -> int:
        """Euler's number of the boundary: 2 for a ball, 0 for a ring, 4 for a hollow ball."""
        edges = np.unique(np.sort(self.outer[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
        return len(np.unique(self.outer)) - len(edges) + len(self.outer)


def fill_points(
    surface: Mesh,
    points: Floats,
    normals: Floats,
    edged: int,
    spacing: float,
    inner: float = _INNER,
    inside: Floats | None = None,
) -> Filling | None:
    """Fill a closed surface between points spread over it; None if nothing lies inside.

    Args:
        surface: closed [m].
        points: on the surface [m].
        normals: outward there; along the surface is across these.
        edged: how many of the points, the first, lie on sharp edges and stay where they are.
        spacing: typical distance of the points [m].
        inner: spacing inside over that.
        inside: points well inside to begin with; a lattice if left out.
    """
    inside = lattice(surface, spacing, inner) if inside is None else inside
    n = len(points)
    nodes = np.concatenate([points, inside])
    for _ in range(_ROUNDS if len(inside) else 0):
        # tetrahedra of inner nodes lie inside, nearly all of them
        cells = _delaunay(nodes, spacing)[0]
        nodes = _evened(nodes, cells[(cells >= n).any(axis=1)], n)
    every, neighbours = _delaunay(nodes, spacing)
    depths = _depth(surface, nodes[every].mean(axis=1)) / (_STRAY * spacing)
    kept = (depths > 0.0) & ~_astray(surface, nodes, every, n, spacing)
    kept &= (shapes(nodes, every) > 1e-3) | (every >= n).any(axis=1)
    stars = stars_of(every, len(nodes))
    carve(every, neighbours, n, depths, shapes(nodes, every), kept, stars)
    if not kept.any():
        return None
    kind = np.zeros(len(nodes), dtype=np.int64)  # 0 inside, 1 along the surface, 2 fixed
    kind[:n] = 1
    kind[:edged] = 2
    across = np.zeros_like(nodes)
    across[:n] = normals
    cells = every[kept]
    _open_flat(nodes, cells, kind, across, spacing, *stars_of(cells, len(nodes)))
    carve(every, neighbours, n, depths, shapes(nodes, every), kept, stars)
    cells = every[kept]
    used, compact = np.unique(cells, return_inverse=True)
    cells = compact.reshape(-1, 4).astype(np.int64)
    outer = outer_faces(cells)
    return Filling(nodes[used], cells, outer, used < edged, _sound(cells, outer))


def shapes(points: Floats, cells: Ints) -> Floats:
    """sqrt(2) 6 V / (root mean square edge)^3: 1 for a regular tetrahedron, 0 for a flat one, negative inside out."""
    x = points[cells]
    squares = np.stack([((x[:, i] - x[:, j]) ** 2).sum(axis=1) for i, j in _PAIRS]).sum(axis=0)
    return np.asarray(np.sqrt(2.0) * _six_volumes(points, cells) / (squares / 6.0) ** 1.5)


def outer_faces(cells: Ints) -> Ints:
    """Triangles that only one tetrahedron has, outwards."""
    faces = cells[:, _FACES].reshape(-1, 3)
    return np.asarray(faces[_alone(faces)])


def _alone(faces: Ints) -> Bools:
    _, inverse, count = np.unique(np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse.ravel()] == 1)


def _six_volumes(points: Floats, cells: Ints) -> Floats:
    a, b, c, d = (points[cells[:, i]] for i in range(4))
    return np.asarray(np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a))


def _depth(surface: Mesh, points: Floats) -> Floats:
    """How deep points lie inside; negative outside [m]."""
    import igl

    if not len(points):
        return np.zeros(0)
    v, f, p = np.array(surface.vertices), np.array(surface.faces), np.ascontiguousarray(points)
    squares = igl.point_mesh_squared_distance(p, v, f)[0]
    return np.where(_within(surface, points), 1.0, -1.0) * np.sqrt(squares)


def _within(surface: Mesh, points: Floats) -> Bools:
    import igl

    v, f, p = np.array(surface.vertices), np.array(surface.faces), np.ascontiguousarray(points)
    return np.asarray(igl.fast_winding_number(v, f, p) > 0.5)


def lattice(surface: Mesh, spacing: float, inner: float) -> Floats:
    """Points of a body-centred lattice well inside.

    Raises:
        MeshError: the body is so thin, and so far bent, that its box has too many of them.
    """
    low, high = surface.bounds
    a = 2.0 * inner * spacing / np.sqrt(3.0)
    axes = []
    for lo, hi in zip(low, high, strict=True):
        count = int(np.ceil((hi - lo) / a)) + 1
        axes.append(0.5 * (lo + hi) + a * (np.arange(count) - 0.5 * (count - 1)))
    if (number := 2 * math.prod(map(len, axes))) > _MOST_PLACES:
        what = f"is a thread in a large box: {number:.2g} places to look at in steps of {a * 1e3:.2g} mm"
        raise MeshError(surface.name or "mesh", what)
    cubes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    lattice = np.concatenate([cubes, cubes + 0.5 * a])
    return np.asarray(lattice[_depth(surface, lattice) > _SKIN * spacing])


def _delaunay(nodes: Floats, spacing: float) -> tuple[Ints, Ints]:
    """Delaunay's tetrahedra of the nodes, volumes positive, and the neighbours opposite to their corners."""
    from scipy.spatial import Delaunay

    shake = np.random.default_rng(0).uniform(-_SHAKE, _SHAKE, nodes.shape) * spacing
    found = Delaunay(nodes + shake)
    cells, neighbours = found.simplices.astype(np.int64), found.neighbors.astype(np.int64)
    turned = _six_volumes(nodes, cells) < 0
    for array in (cells, neighbours):
        array[turned] = array[turned][:, [0, 2, 1, 3]]
    return cells, neighbours


def _astray(surface: Mesh, nodes: Floats, cells: Ints, outer: int, spacing: float) -> Bools:
    """Whether a tetrahedron has an edge far outside, as one across a hollow; only surface points make such edges."""
    edges, number = np.unique(np.sort(cells[:, _PAIRS].reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    among = np.flatnonzero((edges < outer).all(axis=1))
    out = np.zeros(len(edges), dtype=bool)
    out[among] = _depth(surface, nodes[edges[among]].mean(axis=1)) < -0.2 * spacing
    return np.asarray(out[number.reshape(-1, 6)].any(axis=1))


def _evened(nodes: Floats, cells: Ints, outer: int) -> Floats:
    """Inner nodes half way to the volume-weighted mean of the centres of their tetrahedra."""
    volume = np.abs(_six_volumes(nodes, cells))
    centres = nodes[cells].mean(axis=1) * volume[:, None]
    size = len(nodes)
    weight = np.bincount(cells.ravel(), np.repeat(volume, 4), minlength=size)
    sums = np.column_stack([np.bincount(cells.ravel(), np.repeat(centres[:, k], 4), minlength=size) for k in range(3)])
    moved = nodes.copy()
    at = np.flatnonzero(weight > 0)
    at = at[at >= outer]
    moved[at] = 0.5 * nodes[at] + 0.5 * sums[at] / weight[at, None]
    return moved


@inner
def _shape(nodes: Floats, cells: Ints, e: int) -> float:
    a, b, c, d = cells[e, 0], cells[e, 1], cells[e, 2], cells[e, 3]
    ab0, ab1, ab2 = nodes[b, 0] - nodes[a, 0], nodes[b, 1] - nodes[a, 1], nodes[b, 2] - nodes[a, 2]
    ac0, ac1, ac2 = nodes[c, 0] - nodes[a, 0], nodes[c, 1] - nodes[a, 1], nodes[c, 2] - nodes[a, 2]
    ad0, ad1, ad2 = nodes[d, 0] - nodes[a, 0], nodes[d, 1] - nodes[a, 1], nodes[d, 2] - nodes[a, 2]
    six = (ab1 * ac2 - ab2 * ac1) * ad0 + (ab2 * ac0 - ab0 * ac2) * ad1 + (ab0 * ac1 - ab1 * ac0) * ad2
    square = 0.0
    for axis in range(3):
        ab, ac, ad = nodes[b, axis] - nodes[a, axis], nodes[c, axis] - nodes[a, axis], nodes[d, axis] - nodes[a, axis]
        bc, bd, cd = nodes[c, axis] - nodes[b, axis], nodes[d, axis] - nodes[b, axis], nodes[d, axis] - nodes[c, axis]
        square += ab * ab + ac * ac + ad * ad + bc * bc + bd * bd + cd * cd
    square /= 6.0
    return float(np.sqrt(2.0) * six / square**1.5)


@kernel
def _open_flat(
    nodes: Floats, cells: Ints, kind: Ints, across: Floats, spacing: float, offsets: Ints, stars: Ints
) -> None:
    """Move corners of poor tetrahedra, one at a time, to where the worst tetrahedron around them is best."""
    golden = 2.399963229728653
    start = nodes.copy()
    quality = np.empty(len(cells))
    for e in range(len(cells)):
        quality[e] = _shape(nodes, cells, e)
    for sweep in range(30):
        reach = spacing * (0.12, 0.06, 0.03)[sweep % 3]
        changed = False
        for i in range(len(nodes)):
            lo, hi = offsets[i], offsets[i + 1]
            if kind[i] == 2 or lo == hi:
                continue
            worst = np.inf
            for k in range(lo, hi):
                worst = min(worst, quality[stars[k]])
            if worst >= _POOR:
                continue
            x, y, z = nodes[i, 0], nodes[i, 1], nodes[i, 2]
            best, best_x, best_y, best_z = worst, x, y, z
            a0, a1, a2 = across[i, 0], across[i, 1], across[i, 2]
            for t in range(26):
                dz = 1.0 - 2.0 * (t + 0.5) / 26
                r = np.sqrt(1.0 - dz * dz)
                dx, dy = r * np.cos(golden * t), r * np.sin(golden * t)
                if kind[i] == 1:
                    out = dx * a0 + dy * a1 + dz * a2
                    dx, dy, dz = dx - out * a0, dy - out * a1, dz - out * a2
                nodes[i, 0], nodes[i, 1], nodes[i, 2] = x + reach * dx, y + reach * dy, z + reach * dz
                if kind[i] == 1:
                    sx, sy, sz = nodes[i, 0] - start[i, 0], nodes[i, 1] - start[i, 1], nodes[i, 2] - start[i, 2]
                    if sx * sx + sy * sy + sz * sz > (_SLIDE * spacing) ** 2:
                        continue
                least = np.inf
                for k in range(lo, hi):
                    least = min(least, _shape(nodes, cells, stars[k]))
                    if least <= best:
                        break
                if least > best:
                    best, best_x, best_y, best_z = least, nodes[i, 0], nodes[i, 1], nodes[i, 2]
            nodes[i, 0], nodes[i, 1], nodes[i, 2] = best_x, best_y, best_z
            if best > worst:
                changed = True
                for k in range(lo, hi):
                    quality[stars[k]] = _shape(nodes, cells, stars[k])
        if not changed and sweep % 3 == 2:
            break


def _sound(cells: Ints, outer: Ints) -> bool:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(cells.max()) + 1
    rows = np.repeat(cells[:, 0], 3)
    graph = coo_array((np.ones(len(rows)), (rows, cells[:, 1:].ravel())), shape=(size, size))
    if int(connected_components(graph, directed=False)[0]) != 1:
        return False
    ends = outer[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    _, count = np.unique(np.sort(ends, axis=1), axis=0, return_counts=True)
    if (count != 2).any():
        return False
    # around every corner the triangles form one fan: opposite edges form one loop
    corner, other = outer.ravel(), np.roll(outer, -1, axis=1).ravel()
    third = np.roll(outer, -2, axis=1).ravel()
    keys, number = np.unique(np.concatenate([corner * size + other, corner * size + third]), return_inverse=True)
    half = len(corner)
    links = coo_array((np.ones(half), (number[:half], number[half:])), shape=(len(keys),) * 2)
    return int(connected_components(links, directed=False)[0]) == len(np.unique(outer))
