"""Points spread evenly over a closed surface, on its sharp edges first.

Many places stand for the smooth surface (``smooth``), evenly over every face; sharp edges are divided finely on the
curve where their two sides meet. Points are picked farthest-first and evened out by Lloyd's iteration.
Nothing is random: the same surface gives the same points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.objects import CREASE, SmoothSurface

_FINE = 0.22
"""Distance of the places that stand for the surface, in spacings."""
_CLOSEST = 0.71
"""Points are picked until none is farther than this from its nearest, in spacings; evened out they are one apart."""
_TIP = np.deg2rad(50.0)
_ROUNDS = 12
_TURN = 0.5
"""Distance added between points of opposite normals, in spacings: the two sides of a thin wall are no neighbours."""


@dataclass(frozen=True, eq=False)
class SharpEdges:
    """The sharp edges of a surface, as fine polygons.

    Args:
        points: n x 3 [m].
        pieces: m x 2 point numbers.
    """

    points: Floats
    pieces: Ints

    def nearest(self, places: Floats) -> Floats:
        """The points of the edges nearest to ``places``."""
        a, b = self.points[self.pieces[:, 0]], self.points[self.pieces[:, 1]]
        along = b - a
        square = np.maximum(np.einsum("ij,ij->i", along, along), np.finfo(float).tiny)
        out = np.empty_like(places)
        for i, p in enumerate(places):
            share = np.clip(np.einsum("ij,ij->i", p - a, along) / square, 0.0, 1.0)
            foot = a + share[:, None] * along
            out[i] = foot[np.argmin(((foot - p) ** 2).sum(axis=1))]
        return out


def sharp_edges(smooth: SmoothSurface, spacing: float) -> SharpEdges:
    """Edges folded more than ``CREASE``, divided until finer than ``spacing`` [m]."""
    vertices, faces = smooth.mesh.vertices, smooth.mesh.faces
    pairs = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    twin = np.flatnonzero((pairs[order[1:]] == pairs[order[:-1]]).all(axis=1))
    one, two = order[twin] // 3, order[twin + 1] // 3
    folded = np.einsum("ij,ij->i", smooth.normals[one], smooth.normals[two]) < np.cos(CREASE)
    ends, sides = pairs[order[twin[folded]]], (one[folded], two[folded])
    length = np.linalg.norm(vertices[ends[:, 0]] - vertices[ends[:, 1]], axis=1)
    parts = np.maximum(np.ceil(length / (2.0 * _FINE * spacing)).astype(np.int64), 1)
    which = np.repeat(np.arange(len(ends)), parts - 1)
    within = np.arange(len(which)) - np.repeat(np.cumsum(parts - 1) - (parts - 1), parts - 1)
    share = ((within + 1) / parts[which])[:, None]
    straight = (1.0 - share) * vertices[ends[which, 0]] + share * vertices[ends[which, 1]]
    # a point of a sharp edge belongs to both its sides: to and fro between them leads to where they meet
    points = straight
    for _ in range(6):
        for side in sides:
            points = smooth.project_on(points, side[which]).points
    astray = np.linalg.norm(points - straight, axis=1) > 0.3 * length[which]
    points = np.where(astray[:, None], straight, points)
    number = len(vertices) + np.arange(len(which))
    first, last = within == 0, within == parts[which] - 2
    pieces = [
        ends[parts == 1],
        np.column_stack([ends[which[first], 0], number[first]]),
        np.column_stack([number[~last], number[~last] + 1]),
        np.column_stack([number[last], ends[which[last], 1]]),
    ]
    return SharpEdges(np.concatenate([vertices, points]), np.concatenate(pieces))


def _pieces(smooth: SmoothSurface, spacing: float) -> tuple[Floats, Floats, Floats]:
    """Places evenly over every face, on the smooth surface; the areas they stand for and the normals there."""
    areas = smooth.mesh.face_areas
    number = np.ceil(areas / (_FINE * spacing) ** 2).astype(np.int64)
    owner = np.repeat(np.arange(len(areas)), number)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(number) - number, number)
    # Roberts' sequence in the unit square, folded onto the triangle; alone in its face a place is its centre
    alone = number[owner] == 1
    u, w = (within + 0.5) / number[owner], (within * 0.6180339887498949 + 0.5) % 1.0
    root = np.sqrt(u)
    share = np.column_stack([1.0 - root, root * (1.0 - w), root * w])
    share[alone] = 1.0 / 3.0
    places = np.einsum("fk,fkx->fx", share, smooth.mesh.corners[owner])
    flat, (places, normals, _) = places, smooth.project_on(places, owner)
    # a scan's needles may have no quadric to speak of: there the facet serves
    lost = ~np.isfinite(np.concatenate([places, normals], axis=1)).all(axis=1, keepdims=True)
    places, normals = np.where(lost, flat, places), np.where(lost, smooth.normals[owner], normals)
    return places, areas[owner] / number[owner], normals


def spread(
    smooth: SmoothSurface, edges: SharpEdges, spacing: float, within: Callable[[Floats], Bools] | None = None
) -> tuple[Floats, Floats, int]:
    """Points about ``spacing`` apart [m], their outward normals, and how many, the first, lie on sharp edges.

    ``within``: which of given points lie in the part of the surface that is wanted; all of it if left out.
    """
    tips = smooth.mesh.vertices[np.setdiff1d(_tips(smooth), edges.pieces)]
    edged = _apart(np.concatenate([tips, _on_chains(edges.points, edges.pieces, spacing)]), 0.4 * spacing)
    centres, areas, normals = _pieces(smooth, spacing)
    if within is not None:
        edged, part = edged[within(edged)], within(centres)
        centres, areas, normals = centres[part], areas[part], normals[part]
        if not len(centres):
            return edged, np.zeros_like(edged), len(edged)
    places = np.concatenate([centres, _TURN * spacing * normals], axis=1)
    picked = _farthest(places, edged, spacing)
    points, turned = centres[picked], normals[picked]
    for _ in range(_ROUNDS if len(picked) else 0):
        points, turned = _evened(places, areas, edged, points, turned, spacing)
    return np.concatenate([edged, points]), np.concatenate([np.zeros((len(edged), 3)), turned]), len(edged)


def _farthest(places: Floats, edged: Floats, spacing: float) -> Ints:
    """Always the place farthest from all chosen before, until none is far enough."""
    distance = np.full(len(places), np.inf)
    for p in edged:
        np.minimum(distance, ((places[:, :3] - p) ** 2).sum(axis=1), out=distance)
    if not len(edged):
        distance = ((places[:, :3] - places[:, :3].mean(axis=0)) ** 2).sum(axis=1) + 1e6 * spacing**2
        first = int(np.argmax(distance))
        chosen = [first]
        distance = ((places - places[first]) ** 2).sum(axis=1)
    else:
        chosen = []
    while True:
        best = int(np.argmax(distance))
        if distance[best] < (_CLOSEST * spacing) ** 2:
            return np.array(chosen, dtype=np.int64)
        chosen.append(best)
        np.minimum(distance, ((places - places[best]) ** 2).sum(axis=1), out=distance)


def _evened(
    places: Floats, areas: Floats, edged: Floats, points: Floats, turned: Floats, spacing: float
) -> tuple[Floats, Floats]:
    """One of Lloyd's steps: every point to the mean of the surface nearest to it."""
    from scipy.spatial import cKDTree

    free = np.concatenate([points, _TURN * spacing * turned], axis=1)
    distance, owner = cKDTree(free).query(places)
    if len(edged):
        # points on edges have no one normal: they are near to either side
        nearer = cKDTree(edged).query(places[:, :3])[0] < distance
        owner = np.where(nearer, len(points), owner)
    count = len(points) + 1
    weight = np.maximum(np.bincount(owner, areas, minlength=count), np.finfo(float).tiny)
    mean = np.column_stack([np.bincount(owner, areas * places[:, k], minlength=count) / weight for k in range(6)])
    mean, lost = mean[:-1], np.bincount(owner, minlength=count)[:-1] == 0
    mean[lost] = free[lost]
    # back onto the surface: to the plane of the nearest small face
    _, nearest = cKDTree(places).query(mean)
    normal = places[nearest, 3:] / (_TURN * spacing)
    off = np.einsum("ij,ij->i", mean[:, :3] - places[nearest, :3], normal)
    return mean[:, :3] - off[:, None] * normal, normal


def _on_chains(vertices: Floats, sharp: Ints, spacing: float) -> Floats:
    """Ends of the sharp edges' chains, and points at equal lengths between."""
    if not len(sharp):
        return np.zeros((0, 3))
    around: dict[int, list[int]] = {}
    for a, b in sharp.tolist():
        around.setdefault(a, []).append(b)
        around.setdefault(b, []).append(a)

    def is_end(v: int) -> bool:
        if len(around[v]) != 2:
            return True
        one, two = (vertices[w] - vertices[v] for w in around[v])
        return float(one @ two) > -np.cos(CREASE) * float(np.linalg.norm(one) * np.linalg.norm(two))

    ends = sorted(v for v in around if is_end(v))
    used: set[tuple[int, int]] = set()
    chains: list[list[int]] = []

    def follow(start: int, second: int, stops: set[int]) -> list[int]:
        chain = [start, second]
        used.update({(start, second), (second, start)})
        while chain[-1] not in stops:
            onward = [w for w in around[chain[-1]] if (chain[-1], w) not in used]
            if not onward:
                break
            used.update({(chain[-1], onward[0]), (onward[0], chain[-1])})
            chain.append(onward[0])
        return chain

    stops = set(ends)
    for end in ends:
        chains += [follow(end, w, stops) for w in around[end] if (end, w) not in used]
    chains += [follow(v, around[v][0], {v}) for v in sorted(around) if (v, around[v][0]) not in used and v not in stops]
    out: list[Floats] = []
    for chain in chains:
        line = vertices[chain]
        length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        closed = chain[0] == chain[-1]
        if length[-1] < 0.5 * spacing:  # a speck of roughness, not an edge
            continue
        parts = max(round(length[-1] / spacing), 3 if closed else 1)
        at = np.linspace(0.0, length[-1], parts + 1)
        at = at[:-1] if closed else at
        out.append(np.column_stack([np.interp(at, length, line[:, k]) for k in range(3)]))
    if not out:
        return np.zeros((0, 3))
    return np.concatenate(out)


def _tips(smooth: SmoothSurface) -> Ints:
    """Vertices like a cone's: faces around them look away from their mean, though no edge there is sharp."""
    faces, n = smooth.mesh.faces, smooth.normals
    mean = np.zeros_like(smooth.mesh.vertices)
    for k in range(3):
        np.add.at(mean, faces[:, k], n)
    mean /= np.maximum(np.linalg.norm(mean, axis=1), np.finfo(float).tiny)[:, None]
    away = np.full(len(mean), 1.0)
    for k in range(3):
        np.minimum.at(away, faces[:, k], np.einsum("ij,ij->i", mean[faces[:, k]], n))
    return np.flatnonzero(away < np.cos(_TIP))


def _apart(points: Floats, least: float) -> Floats:
    """Points without those that are too near to an earlier one."""
    kept: list[int] = []
    for i, p in enumerate(points):
        if not kept or ((points[kept] - p) ** 2).sum(axis=1).min() > least**2:
            kept.append(i)
    return np.asarray(points[kept])
