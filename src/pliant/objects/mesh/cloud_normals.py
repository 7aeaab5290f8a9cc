"""Which way is out: normals of the points of a cloud."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.objects.mesh.cloud_grid import Grid
from pliant.objects.mesh.topology import connected

NEIGHBOURS = 16
TURNS = 10  # rounds in which normals that contradict the surface are turned


def normal_lines(points: Floats) -> tuple[Floats, Floats]:
    """Unit normals of the points, either way, and the area that each stands for."""
    from scipy.spatial import cKDTree

    distance, near = (np.asarray(found) for found in cKDTree(points).query(points, k=NEIGHBOURS + 1))
    local = points[near] - points[near].mean(axis=1, keepdims=True)
    lines = np.linalg.eigh(np.einsum("nki,nkj->nij", local, local))[1][:, :, 0]
    return lines, np.pi * distance[:, 8] ** 2 / 8.0


def along_tree(points: Floats, lines: Floats) -> Floats:
    """Normals turned alike along a spanning tree of likely neighbours, the topmost up (Hoppe et al. 1992).

    A tree goes wrong where a wall is thinner than the points are apart.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
    from scipy.spatial import cKDTree

    n, normals = len(points), np.array(lines)
    near = np.asarray(cKDTree(points).query(points, k=NEIGHBOURS + 1)[1])[:, 1:]
    first, second = np.repeat(np.arange(n), NEIGHBOURS), near.reshape(-1)
    cost = 1.0 + 1e-4 - np.abs(np.einsum("ij,ij->i", normals[first], normals[second]))
    graph = coo_array((cost, (first, second)), shape=(n, n)).tocsr()
    tree = minimum_spanning_tree(graph.maximum(graph.T))
    number, piece = connected_components(tree, directed=False)
    for k in range(number):
        members = np.flatnonzero(piece == k)
        top = members[np.argmax(points[members, 2])]
        if normals[top, 2] < 0:
            normals[top] *= -1
        order, before = breadth_first_order(tree, top, directed=False)
        for point in order[1:].tolist():
            if normals[point] @ normals[before[point]] < 0:
                normals[point] *= -1
    return normals


def from_outside(grid: Grid, points: Floats, lines: Floats, spacing: float) -> Floats:
    """Normals towards what is reached from outside without passing between neighbours.

    That goes wrong where the surface has a large hole; what is not decided looks away from the middle.
    """
    from scipy.ndimage import gaussian_filter

    wall = 1.5 * max(spacing, grid.step)
    outside = gaussian_filter(grid.outside(points, wall).astype(np.float64), 1.0)
    reach = wall + 1.5 * grid.step
    ahead, behind = (grid.at(points + side * reach * lines, outside) for side in (1.0, -1.0))
    undecided = np.abs(ahead - behind) < 0.1
    away = np.einsum("ij,ij->i", lines, points - points.mean(axis=0)) > 0
    return np.where(np.where(undecided, away, ahead > behind)[:, None], lines, -lines)


def agreeing(grid: Grid, points: Floats, normals: Floats, areas: Floats) -> tuple[Floats, Floats]:
    """Normals that agree with the indicator function that they make, and that function.

    First those of pieces that lie apart from the largest are turned as its surface wants, then single ones.
    """
    normals = np.array(normals)
    piece = _pieces(points)
    largest = np.bincount(piece).argmax()
    chi = grid.indicator(points, normals * np.where(piece == largest, areas, 0.0)[:, None])
    against = np.bincount(piece, weights=np.einsum("ij,ij->i", grid.slope(points, chi), normals)) > 0
    normals[against[piece] & (piece != largest)] *= -1
    for _ in range(TURNS):
        chi = grid.indicator(points, normals * areas[:, None])
        turned = np.einsum("ij,ij->i", grid.slope(points, chi), normals) > 0
        if not turned.any():
            break
        normals[turned] *= -1
    return normals, chi


def _pieces(points: Floats) -> Ints:
    """Piece numbers of the points: neighbours are of one piece."""
    from scipy.spatial import cKDTree

    near = np.asarray(cKDTree(points).query(points, k=NEIGHBOURS + 1)[1])[:, 1:]
    return connected(len(points), np.repeat(np.arange(len(points)), NEIGHBOURS), near.reshape(-1))
