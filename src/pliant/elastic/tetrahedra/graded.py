"""Tetrahedra that are small around places on the surface, where the body will be pressed, and larger far away.

Shells of points, each spread evenly over its part of the surface and inside, every one coarser than the one before;
joined and carved like an even filling (``fill``).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from pliant.arrays import Bools, Floats
from pliant.elastic.tetrahedra.fill import Filling, fill_points, lattice
from pliant.elastic.tetrahedra.spread import sharp_edges, spread
from pliant.objects import SmoothSurface

INNER = 1.25
"""Spacing inside over spacing on the surface, where contact needs the nodes."""
GROWTH = 1.6
"""Spacing of one shell over the next finer one."""
SHELL = 1.6
"""Thickness of a shell in its spacings."""
APART = 0.75
"""Nodes of a coarser shell keep so far from finer ones, in their own spacings."""


class Layer(NamedTuple):
    """Points of one spacing, spread over the surface (those on sharp edges first) and inside."""

    points: Floats
    normals: Floats
    edged: int
    inner: Floats


def graded_filling(
    smooth: SmoothSurface,
    at: Floats,
    fine: float,
    reach: float,
    coarse: float,
    *,
    layers: dict[tuple[float, float], Layer] | None = None,
) -> Filling | None:
    """Fill a closed surface with points ``fine`` apart near places, then shell by shell farther; None if nothing fits.

    Args:
        smooth: the closed surface [m].
        at: k x 3 places on it [m].
        fine, reach: distance of the points, and how far around the places it is kept [m].
        coarse: largest distance of points [m].
        layers: what earlier calls for the same surface and places have spread; spreading is the work.
    """
    mesh = smooth.mesh
    layers = {} if layers is None else layers
    edges, skins, normals, inner = (np.zeros((0, 3)) for _ in range(4))
    spacing, start, end = fine, 0.0, reach
    while True:
        last = spacing >= coarse
        if last:
            spacing, end = coarse, np.inf
        if (spacing, start) not in layers:
            shell = partial(_between, at=at, start=start - 2.0 * spacing, end=end + 2.0 * spacing)
            on_surface = spread(smooth, sharp_edges(smooth, spacing), spacing, shell)
            layers[spacing, start] = Layer(*on_surface, lattice(mesh, spacing, INNER))
        points, outward, edged, lat = layers[spacing, start]
        kept = _between(points, at, start, end) & _clear(points, np.vstack([edges, skins]), APART * spacing)
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
    return fill_points(mesh, outside, across, len(edges), float(np.sqrt(fine * coarse)), INNER, inner)


def _between(points: Floats, at: Floats, start: float, end: float) -> Bools:
    away = np.linalg.norm(points[:, None] - at[None], axis=2).min(axis=1)
    return np.asarray((away >= start) & (away < end))


def _clear(points: Floats, others: Floats, distance: float) -> Bools:
    if not len(others) or not len(points):
        return np.ones(len(points), dtype=bool)
    return np.asarray(cKDTree(others).query(points)[0] >= distance)
