"""What one contact's grid sees: cells, penetrations, slopes.   (theory 6.2, local problem)"""

from __future__ import annotations

import numpy as np
from numba import njit

from pliant.arrays import Floats, Ints
from pliant.contact.deepest import mine_share
from pliant.contact.gap import Shape, components, faces_near, penetrations


@njit(cache=True)
def measure(
    target: Shape,
    pad: Shape,
    rotation: Floats,
    translation: Floats,
    origin: Floats,
    axes: Floats,
    half: Floats,
    count: int,
    apart: float,
    share: float,
) -> tuple[float, Ints, Floats, Floats, Floats, Floats, Floats, Ints]:
    """Measure the undeformed surfaces over a grid.

    Args:
        rotation, translation: pose of the pad's frame in the object's.
        origin, axes, half, count: the grid, in the object's frame.
        apart: how far the surfaces are from each other, as far as known [m].
        share: the pad's share of the shape of the interface under load.

    Returns:
        depth: largest penetration [m], zero if the surfaces do not face each other.
        cells: the k cells that may carry pressure.
        penetration: k [m].
        xy: k x 2 positions in the grid's plane [m].
        slope: k x 2 slopes of the interface, undeformed.
        tilt: k x 2 slopes of the interface under load.
        height: k, halfway between the surfaces [m].
        owner: k faces of the pad.
    """
    diagonal = np.sqrt(half[0] ** 2 + half[1] ** 2)
    window = max(1.5 * diagonal, apart)
    local = np.zeros(3)
    for k in range(3):
        for m in range(3):
            local[k] += rotation[m, k] * (origin[m] - translation[m])
    near, pad_near = faces_near(target, origin, diagonal + window), faces_near(pad, local, diagonal + window)
    pen, z, mine, pad_z, theirs, owners = penetrations(
        target, pad, near, pad_near, rotation, translation, origin, axes, half, count, window
    )
    valid = ~np.isnan(pen)
    seed = np.int64(-1)  # a number, not a constant: for a constant ``components`` is compiled once more
    for cell in range(len(pen)):
        if valid[cell] and (seed < 0 or pen[cell] > pen[seed]):
            seed = np.int64(cell)
    depth = pen[seed] if seed >= 0 else 0.0
    if depth > 0.0:
        main = components(pen > 0.0, count, seed)
        for cell in range(len(pen)):
            # what overlaps elsewhere in this window is another region's business
            if valid[cell] and pen[cell] > 0.0 and not main[cell]:
                valid[cell] = False
    weight = np.zeros(len(pen))
    if seed >= 0:
        for cell in range(len(pen)):
            if valid[cell]:
                weight[cell] = max(pen[cell], 0.0)
        total = weight.sum()
        weight = weight / total if total > 0.0 else valid / valid.sum()
    smoother = mine_share(mine, theirs, weight)
    cells = np.flatnonzero(valid & (pen > depth - 1.5 * abs(depth) - 1e-12))
    k = len(cells)
    penetration, height, owner = np.empty(k), np.empty(k), np.empty(k, dtype=np.int64)
    xy, slope, tilt = np.empty((k, 2)), np.empty((k, 2)), np.empty((k, 2))
    for a in range(k):
        cell = cells[a]
        penetration[a] = pen[cell]
        height[a] = 0.5 * (z[cell] + pad_z[cell])
        owner[a] = owners[cell]
        xy[a, 0] = ((cell // count + 0.5) / count * 2.0 - 1.0) * half[0]
        xy[a, 1] = ((cell % count + 0.5) / count * 2.0 - 1.0) * half[1]
        for m in range(2):
            slope[a, m] = smoother * mine[cell, m] + (1.0 - smoother) * theirs[cell, m]
            tilt[a, m] = share * theirs[cell, m] + (1.0 - share) * mine[cell, m]
    return depth, cells, penetration, xy, slope, tilt, height, owner
