"""Closed link surfaces from parameters: rings stacked along z, capped at both ends.

A ring is a rounded outline in the plane of x and y. Consecutive rings have the same number of points, so the surface
is a regular net of quads cut into triangles: closed and consistently oriented by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from pliant.objects import Mesh

Ring = NDArray[np.float64]


def rounded_rectangle(x0: float, x1: float, half_width: float, corner: float, counts: tuple[int, int, int]) -> Ring:
    """Outline from x0 to x1 and +-half_width, corners rounded; counter-clockwise.

    Args:
        counts: segments along y (front and back), along x (each side), and around a corner.
    """
    along_y, along_x, around = counts
    corner = min(corner, 0.4999 * (x1 - x0), 0.9999 * half_width)
    w = half_width - corner
    points: list[tuple[float, float]] = []

    def line(start: tuple[float, float], end: tuple[float, float], count: int) -> None:
        for k in range(count):
            t = k / count
            points.append((start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])))

    def arc(centre: tuple[float, float], start: float) -> None:
        for k in range(around):
            angle = start + 0.5 * np.pi * k / around
            points.append((centre[0] + corner * np.cos(angle), centre[1] + corner * np.sin(angle)))

    line((x1, -w), (x1, w), along_y)
    arc((x1 - corner, w), 0.0)
    line((x1 - corner, half_width), (x0 + corner, half_width), along_x)
    arc((x0 + corner, w), 0.5 * np.pi)
    line((x0, w), (x0, -w), along_y)
    arc((x0 + corner, -w), np.pi)
    line((x0 + corner, -half_width), (x1 - corner, -half_width), along_x)
    arc((x1 - corner, -w), 1.5 * np.pi)
    return np.array(points)


def even_ring(x0: float, x1: float, half_width: float, corner: float, count: int) -> Ring:
    """The same outline with ``count`` points at equal distances along it, from the middle of the front on."""
    corner = min(corner, 0.5 * (x1 - x0), half_width)
    w, d, quarter = half_width - corner, 0.5 * (x1 - x0) - corner, 0.5 * np.pi * corner
    middle = 0.5 * (x0 + x1)
    lengths = [w, quarter, 2 * d, quarter, 2 * w, quarter, 2 * d, quarter, w]
    starts = np.concatenate([[0.0], np.cumsum(lengths)])
    points = []
    for s in starts[-1] * np.arange(count) / count:
        i = min(int(np.searchsorted(starts, s, side="right")) - 1, 8)
        t = s - starts[i]
        if i % 2:
            angle = (i // 2) * 0.5 * np.pi + t / corner
            sign_x, sign_y = ((1, 1), (-1, 1), (-1, -1), (1, -1))[i // 2]
            points.append((middle + sign_x * d + corner * np.cos(angle), sign_y * w + corner * np.sin(angle)))
        else:
            line = {
                0: (x1, t),
                2: (middle + d - t, half_width),
                4: (x0, w - t),
                6: (middle - d + t, -half_width),
                8: (x1, t - w),
            }
            points.append(line[i])
    return np.array(points)


def circle(radius: float, count: int) -> Ring:
    angle = 2 * np.pi * np.arange(count) / count
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def rounded_polygon(corners: Sequence[tuple[float, float]], radius: float, edge: float) -> Ring:
    """A convex polygon (counter-clockwise) grown by ``radius``; points about ``edge`` apart."""
    p = np.array(corners)
    points: list[NDArray[np.float64]] = []
    for i in range(len(p)):
        before, here, after = p[i - 1], p[i], p[(i + 1) % len(p)]
        start, end = (np.arctan2(-(b - a)[0], (b - a)[1]) for a, b in ((before, here), (here, after)))
        # Outward normal of an edge d (counter-clockwise) is (d_y, -d_x).
        turn = (end - start) % (2 * np.pi)
        count = max(2, round(radius * turn / edge))
        for k in range(count + 1):
            angle = start + turn * k / count
            points.append(here + radius * np.array([np.cos(angle), np.sin(angle)]))
        straight = max(1, round(np.linalg.norm(after - here) / edge))
        normal = radius * np.array([np.cos(end), np.sin(end)])
        points += [here + normal + (after - here) * k / straight for k in range(1, straight)]
    return np.array(points)


def scaled(ring: Ring, factor: float) -> Ring:
    centre = ring.mean(axis=0)
    return centre + factor * (ring - centre)


def loft(rings: Sequence[Ring], heights: Sequence[float], *, cap: int = 4, name: str = "") -> Mesh:
    """Stack rings at increasing heights (z) and close both ends with ``cap`` concentric rings each."""
    assert len({len(ring) for ring in rings}) == 1, "all rings need the same number of points"
    assert np.all(np.diff(heights) > 0), "heights must increase"
    layers = [np.column_stack([ring, np.full(len(ring), z)]) for ring, z in zip(rings, heights, strict=True)]
    bottom = [np.column_stack([scaled(rings[0], k / cap), np.full(len(rings[0]), heights[0])]) for k in range(1, cap)]
    top = [np.column_stack([scaled(rings[-1], k / cap), np.full(len(rings[-1]), heights[-1])]) for k in range(1, cap)]
    layers = bottom + layers + top[::-1]
    n = len(rings[0])
    centres = [np.append(rings[0].mean(axis=0), heights[0]), np.append(rings[-1].mean(axis=0), heights[-1])]
    vertices = np.vstack([*layers, *centres])
    k = np.arange(n)
    after = (k + 1) % n
    faces = []
    for i in range(len(layers) - 1):
        a, b, c, d = i * n + k, i * n + after, (i + 1) * n + after, (i + 1) * n + k
        faces += [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    low, high, last = len(vertices) - 2, len(vertices) - 1, (len(layers) - 1) * n
    faces.append(np.column_stack([after, k, np.full(n, low)]))
    faces.append(np.column_stack([last + k, last + after, np.full(n, high)]))
    return Mesh(vertices, np.vstack(faces), name)


def spaced(breaks: Sequence[float], edge: float) -> NDArray[np.float64]:
    """The break points with equal steps of at most ``edge`` between them."""
    parts = [np.linspace(a, b, max(2, int(np.ceil((b - a) / edge)) + 1))[:-1] for a, b in pairwise(breaks)]
    return np.append(np.concatenate(parts), breaks[-1])


def rounded_end(radius: float, centre: float, *, up: bool, count: int = 6) -> NDArray[np.float64]:
    """Heights at which a round end of ``radius`` around ``centre`` is cut, denser towards its pole."""
    angle = np.linspace(np.radians(8), np.pi / 2, count)
    heights = centre + (radius if up else -radius) * np.cos(angle)
    return heights[::-1] if up else heights


def swept(heights: Sequence[float], ring_at: Callable[[float], Ring], **options: object) -> Mesh:
    """A loft whose ring is a function of the height."""
    return loft([ring_at(float(z)) for z in heights], list(heights), **options)  # type: ignore[arg-type]


def bevelled(ring: Ring, length: float, bevel: float, *, edge: float = 0.03, name: str = "") -> Mesh:
    """A prism over ``ring`` from -length/2 to length/2 with rounded rims."""
    half = np.abs(ring - ring.mean(axis=0)).max()
    angle = np.linspace(0.0, np.pi / 2, 4)
    rim = bevel * (1 - np.sin(angle))
    rise = bevel * (1 - np.cos(angle))
    heights = [
        *(-length / 2 + rise),
        *spaced([-length / 2 + bevel, length / 2 - bevel], edge)[1:-1],
        *(length / 2 - rise[::-1]),
    ]
    insets = [*rim, *np.zeros(len(heights) - 2 * len(rim)), *rim[::-1]]
    return loft([scaled(ring, 1 - inset / half) for inset in insets], heights, name=name)


def block(size: tuple[float, float, float], corner: float = 0.02, bevel: float = 0.012) -> Mesh:
    """A box with rounded edges, centred."""
    x, y, z = size
    return bevelled(rounded_rectangle(-x / 2, x / 2, y / 2, corner, (6, 6, 4)), z, bevel)


def drum(radius: float, length: float, bevel: float = 0.01) -> Mesh:
    """A cylinder along z with rounded rims, centred."""
    return bevelled(circle(radius, 48), length, bevel)


def placed(mesh: Mesh, T: pin.SE3) -> Mesh:
    """The surface moved by T."""
    return Mesh(mesh.vertices @ T.rotation.T + T.translation, mesh.faces, mesh.name)
