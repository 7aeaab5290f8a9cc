"""A coarse body that stands where the real one stands.

A ball of few nodes is a polyhedron: on a table it rolls over its edges by some millimetres until a face lies flat, and
sinks by as much as a face lies below the ball. Its lowest nodes are therefore brought to the ground, as many as it
takes to stand on them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from pliant.arrays import Floats
from pliant.lab.soft_body import LEAST_QUALITY, TetMesh

MOST_FEET = 16
WITHIN = 0.25
"""So far inside the polygon of its feet lies the centre of mass, over the distance of nodes."""


def standing(tets: TetMesh, up: Floats, ground: float) -> TetMesh:
    """The mesh with its lowest surface nodes at ``ground`` (a height along ``up`` [m]), or itself where none serve.

    The lowest nodes come first; three at least, and so many that the centre of mass is above the polygon they span.
    """
    heights = tets.nodes[tets.surface] @ up
    order = tets.surface[np.argsort(heights, kind="stable")]
    aside = _across(up)
    flat = tets.nodes @ aside.T
    centre = tets.node_shares @ flat
    for count in range(3, min(MOST_FEET, len(order)) + 1):
        feet = order[:count]
        if _inside(flat[feet], centre) > WITHIN * tets.spacing:
            nodes = tets.nodes.copy()
            nodes[feet] += (ground - nodes[feet] @ up)[:, None] * up
            moved = replace(tets, nodes=nodes)
            return moved if moved.volumes.min() > 0.0 and moved.qualities.min() >= LEAST_QUALITY else tets
    return tets


def _across(up: Floats) -> Floats:
    """Two directions square to ``up`` and to each other."""
    first = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    first /= np.linalg.norm(first)
    return np.vstack([first, np.cross(up, first)])


def _inside(points: Floats, centre: Floats) -> float:
    """How far a point lies inside the convex polygon of others; negative outside [m]."""
    try:
        hull = ConvexHull(points)
    except QhullError:
        return -np.inf
    return float(-(hull.equations[:, :2] @ centre + hull.equations[:, 2]).max())
