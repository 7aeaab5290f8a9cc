"""Meshes of surfaces of revolution with nearly uniform triangles.

A profile in the (r, z) half-plane is cut into steps of one triangle's height; each of its points becomes a ring with as
many vertices as fit, always a multiple of six, and neighbouring rings are sewn together sector by sector. The mesh has
six-fold symmetry about the axis, so its centre of mass lies on it, and every vertex lies on the true surface.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.objects.mesh.mesh import Mesh

Curve = Callable[[Floats], Floats]
"""Points (r, z), n x 2, of a smooth piece of profile for parameters in [0, 1]."""

FOLD = 6  # symmetry about the axis
HEIGHT = np.sqrt(3.0) / 2.0  # of an equilateral triangle of edge one


def polyline(*points: tuple[float, float]) -> list[Curve]:
    """Straight pieces of profile from point to point, each (r, z)."""

    def piece(a: Floats, b: Floats) -> Curve:
        return lambda t: (1 - t)[:, None] * a + t[:, None] * b

    return [piece(np.array(a), np.array(b)) for a, b in pairwise(points)]


def arc(centre: tuple[float, float], radius: float, start_deg: float, end_deg: float) -> Curve:
    """A piece of circle in the (r, z) plane; angles from the r axis towards z."""

    def points(t: Floats) -> Floats:
        angle = np.radians(start_deg + t * (end_deg - start_deg))
        # Sine and cosine of right angles leave a rounding that would put a pole beside the axis.
        directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        directions[np.abs(directions) < 1e-15] = 0.0
        return np.array(centre) + radius * directions

    return points


def _curve_points(curve: Curve, step: float, *, even: bool) -> Floats:
    """Points on a curve, evenly spaced by arc length about ``step`` apart, ends included."""
    t = np.linspace(0.0, 1.0, 2001)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve(t), axis=0), axis=1))])
    number = max(1, round(length[-1] / step))
    if even:
        number = 2 * max(1, round(length[-1] / step / 2))
    parameters = np.interp(np.linspace(0.0, length[-1], number + 1), length, t)
    parameters[0], parameters[-1] = 0.0, 1.0
    return curve(parameters)


def revolve(pieces: Sequence[Curve], edge: float, *, name: str = "") -> Mesh:
    """The closed surface swept by a profile about the z axis.

    Args:
        pieces: the profile, end to end. With the material on its left (seen with r to the right and z up) faces point
            outwards. It begins and ends on the axis, or ends where it began.
        edge: edge length of the triangles aimed at [m].
        name: of the mesh.
    """
    rings = _profile(pieces, edge)
    closed = bool(np.allclose(rings[0], rings[-1], rtol=0, atol=1e-12))
    if closed:
        rings = rings[:-1]
    radius, z = rings[:, 0], rings[:, 1]
    on_axis = radius < 1e-12
    count = np.where(on_axis, 1, FOLD * np.maximum(1, np.round(2 * np.pi * radius / edge / FOLD).astype(np.int64)))
    first = np.concatenate([[0], np.cumsum(count)])
    vertices, sectors = [], []
    for i, (n, r, height) in enumerate(zip(count.tolist(), radius.tolist(), z.tolist(), strict=True)):
        # Every second ring is turned by half a step: neighbours of equal count then make equilateral triangles.
        fraction = (np.arange(n) + 0.5 * (i % 2)) / n
        sectors.append(fraction)
        angle = 2 * np.pi * fraction
        vertices.append(np.stack([r * np.cos(angle), r * np.sin(angle), np.full(n, height)], axis=1))
        if n == 1:
            vertices[-1][:] = (0.0, 0.0, height)
    faces = []
    pairs = [(i, i + 1) for i in range(len(count) - 1)] + ([(len(count) - 1, 0)] if closed else [])
    for i, j in pairs:
        faces.append(_sew(sectors[i], sectors[j], int(first[i]), int(first[j])))
    return Mesh(np.concatenate(vertices), np.concatenate(faces), name)


def _profile(pieces: Sequence[Curve], edge: float) -> Floats:
    """All points of a profile; the joints between pieces stay where they are."""
    sampled = [_curve_points(piece, HEIGHT * edge, even=len(pieces) == 1) for piece in pieces]
    return np.concatenate([sampled[0], *(points[1:] for points in sampled[1:])])


def _sew(inner: Floats, outer: Floats, first_inner: int, first_outer: int) -> Ints:
    """Triangles between two rings given by the positions of their vertices around the axis, in turns.

    Always the next vertex that is less far round is taken; a tie goes to the ring with fewer vertices, so the pattern
    depends on the pair of rings only and repeats in every sector.
    """
    n, m = len(inner), len(outer)
    if n == 1 or m == 1:
        here = np.arange(max(n, m))
        following = (here + 1) % max(n, m)
        if n == 1:
            return np.stack([np.full(m, first_inner), first_outer + following, first_outer + here], axis=1)
        return np.stack([first_inner + here, first_inner + following, np.full(n, first_outer)], axis=1)
    sector_n, sector_m = n // FOLD, m // FOLD
    a = np.append(inner[:sector_n], inner[0] + 1 / FOLD)
    b = np.append(outer[:sector_m], outer[0] + 1 / FOLD)
    i = j = 0
    strip = []
    while i < sector_n or j < sector_m:
        # Of the two diagonals that could come next the shorter one wins.
        step_inner = abs(a[i + 1] - b[j]) if i < sector_n else np.inf
        step_outer = abs(b[j + 1] - a[i]) if j < sector_m else np.inf
        tie = abs(step_inner - step_outer) < 1e-12
        if n <= m if tie else step_inner < step_outer:
            strip.append((i, j, i + 1, True))
            i += 1
        else:
            strip.append((i, j, j + 1, False))
            j += 1
    i_all, j_all, following, on_inner = np.array(strip).T
    fold = np.arange(FOLD)[:, None]

    def inner_vertex(index: Ints) -> Ints:
        return first_inner + (fold * sector_n + index) % n

    def outer_vertex(index: Ints) -> Ints:
        return first_outer + (fold * sector_m + index) % m

    third = np.where(on_inner, inner_vertex(following), outer_vertex(following))
    return np.stack([inner_vertex(i_all), third, outer_vertex(j_all)], axis=2).reshape(-1, 3)
