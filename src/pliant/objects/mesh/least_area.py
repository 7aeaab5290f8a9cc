"""The triangulation of least area over a closed ring of points."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.compiled import kernel


@kernel
def least_area(ring: Floats) -> Ints:
    """Triangles over a closed ring of points with the least total area.

    Dynamic programming over all triangulations (Klincsek 1980; Barequet and Sharir 1995): best[i, j] is the least area
    over the part of the ring from i to j.
    """
    n = len(ring)
    best = np.zeros((n, n))
    split = np.zeros((n, n), dtype=np.int64)
    for gap in range(2, n):
        for i in range(n - gap):
            j = i + gap
            least = np.inf
            ux, uy, uz = ring[j] - ring[i]
            for k in range(i + 1, j):
                wx, wy, wz = ring[k] - ring[i]
                area = 0.5 * np.sqrt((uy * wz - uz * wy) ** 2 + (uz * wx - ux * wz) ** 2 + (ux * wy - uy * wx) ** 2)
                cost = best[i, k] + best[k, j] + area
                if cost < least:
                    least = cost
                    split[i, j] = k
            best[i, j] = least
    triangles = np.empty((n - 2, 3), dtype=np.int64)
    count = 0
    todo = [(0, n - 1)]
    while len(todo):
        i, j = todo.pop()
        if j - i >= 2:
            k = split[i, j]
            triangles[count, 0], triangles[count, 1], triangles[count, 2] = i, k, j
            count += 1
            todo.append((i, k))
            todo.append((k, j))
    return triangles
