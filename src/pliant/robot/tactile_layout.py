"""Where the cells of a tactile array lie on its link: flat, or flat and then bent over the finger tip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.robot.description import TactileArray


@dataclass(frozen=True)
class CellLayout:
    """Cells of one array in its link's frame.

    Attributes:
        centres: rows x columns x 3 positions [m].
        normals: rows x columns x 3 outward unit normals.
        exists: rows x columns, False where a cell is missing.
        area: area of a cell [m^2].
    """

    centres: Floats
    normals: Floats
    exists: Bools
    area: float


def cell_layout(array: TactileArray) -> CellLayout:
    """Unroll the rows along the pad's developed length: straight, then on an arc of the bend's radius."""
    along_row, across_rows = array.cell
    s = (np.arange(array.rows, dtype=np.float64) + 0.5) * across_rows
    x = (np.arange(array.columns) - 0.5 * (array.columns - 1)) * along_row
    y, z, angle = _unrolled(s, array)
    local = np.empty((array.rows, array.columns, 3))
    local[..., 0], local[..., 1], local[..., 2] = x[None, :], y[:, None], z[:, None]
    normal = np.zeros_like(local)
    normal[..., 1], normal[..., 2] = np.sin(angle)[:, None], np.cos(angle)[:, None]
    T = array.pose.se3
    exists = np.ones((array.rows, array.columns), dtype=bool)
    for row, column in array.missing:
        exists[row, column] = False
    return CellLayout(local @ T.rotation.T + T.translation, normal @ T.rotation.T, exists, along_row * across_rows)


def _unrolled(s: Floats, array: TactileArray) -> tuple[Floats, Floats, Floats]:
    """Position (y, z) and turn of the normal at developed length s; the surface bends towards -z."""
    if array.bend is None:
        return s, np.zeros_like(s), np.zeros_like(s)
    bend = array.bend
    angle = (np.clip(s, bend.start, bend.end) - bend.start) / bend.radius
    after = np.maximum(s - bend.end, 0.0)
    y = np.minimum(s, bend.start) + bend.radius * np.sin(angle) + after * np.cos(angle)
    z = -bend.radius * (1.0 - np.cos(angle)) - after * np.sin(angle)
    return y, z, angle
