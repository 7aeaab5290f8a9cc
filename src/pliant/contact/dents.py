"""How far an elastic pad is pressed in by its own contact.   (theory 6.3)"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.contact.pressure import love_table


class PadDent(NamedTuple):
    """Depths of a pad's dent at the cells of a contact [m], and the cells' places in their grid, k x 2."""

    depths: Floats
    cells: Ints


def pad_dent(xy: Floats, pressures: Floats, cell_area: float, compliance: float) -> PadDent:
    """The pad's part of the approach at every loaded cell: u = (1 - nu^2) / E  sum_j L_ij f_j, Love's L with E* = 1.

    In a Hertz contact that is the pad's share (1 - nu_i^2) / E_i of the sum over both bodies.

    Args:
        xy: k x 2 centres of the loaded cells along the grid's axes, in the tangent plane [m].
        pressures: k [Pa].
        cell_area: of one cell [m^2].
        compliance: (1 - nu^2) / E of the pad [1/Pa]; 0 for a rigid one.
    """
    steps = _steps(xy, cell_area)
    cells = np.rint((xy - xy.min(axis=0)) / steps).astype(np.int64)
    apart = np.abs(cells[:, None, :] - cells[None, :, :])
    table = love_table(int(cells.max()) + 1, float(steps[0]), float(steps[1]))
    depths = compliance * (table[apart[..., 0], apart[..., 1]] @ (pressures * cell_area))
    return PadDent(np.asarray(depths), cells)


def _steps(xy: Floats, cell_area: float) -> Floats:
    """Width and height of a cell: what neighbours are apart; a single row tells one of them, and the area the other."""
    side = float(np.sqrt(cell_area))
    gaps = []
    for values in xy.T:
        apart = np.diff(np.sort(values))
        apart = apart[apart > 1e-3 * side]
        gaps.append(float(apart.min()) if len(apart) else None)
    dx, dy = gaps
    if dx is None:
        dx = side if dy is None else cell_area / dy
    return np.array([dx, cell_area / dx])
