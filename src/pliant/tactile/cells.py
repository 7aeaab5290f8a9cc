"""Cells that cannot be believed: dead, stuck or noisy ones, found by comparison with their neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats, Ints

# Opposite neighbours: a cell between two pressed ones is pressed too, since patches of contact have no pinholes.
_PAIRS = (((0, -1), (0, 1)), ((-1, 0), (1, 0)), ((-1, -1), (1, 1)), ((-1, 1), (1, -1)))


@dataclass(frozen=True, eq=False)
class CellHealth:
    """Which cells of an array to leave out; rows x columns each.

    Attributes:
        dead: silent although the cells on both sides were pressed.
        stuck: one and the same value above 0 throughout.
        noisy: jumps from frame to frame more than a pressed cell does.
    """

    dead: Bools
    stuck: Bools
    noisy: Bools

    @property
    def bad(self) -> Bools:
        """Cells that cannot be believed, for whichever reason."""
        return np.asarray(self.dead | self.stuck | self.noisy)

    @classmethod
    def sound(cls, shape: tuple[int, int]) -> CellHealth:
        """An array without fault."""
        return cls(np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool))


def judge_cells(
    frames: Ints, exists: Bools, *, pressed: int = 300, noise_limit: float = 60.0, least_frames: int = 8
) -> CellHealth:
    """Judge cells by a stretch of frames. Fewer than ``least_frames`` are too few to blame anybody.

    Noise is judged by second differences |c(k-1) - 2 c(k) + c(k+1)|, whose median is blind to the few frames in which
    a contact is made, and which for white noise of deviation s is 0.6745 sqrt(6) s.

    Args:
        frames: n x rows x columns counts.
        exists: rows x columns, False where there is no cell.
        pressed: counts above which a cell is surely pressed.
        noise_limit: standard deviation above which a cell is noisy [counts].
        least_frames: how many frames a judgement needs.
    """
    shape = frames.shape[1:]
    if len(frames) < least_frames:
        return CellHealth.sound((shape[0], shape[1]))
    silent = (frames == frames[0]).all(axis=0)
    zero = silent & (frames[0] == 0)
    between = np.zeros(shape, dtype=bool)
    padded = np.pad(np.where(exists, frames, 0), ((0, 0), (1, 1), (1, 1)))
    rows, columns = shape
    for first, second in _PAIRS:
        sides = [padded[:, 1 + i : 1 + i + rows, 1 + j : 1 + j + columns] for i, j in (first, second)]
        between |= ((sides[0] > pressed) & (sides[1] > pressed)).any(axis=0)
    second_differences = np.abs(np.diff(frames, n=2, axis=0))
    deviation = np.median(second_differences, axis=0) / (0.6745 * np.sqrt(6.0))
    return CellHealth(zero & between & exists, silent & ~zero & exists, (deviation > noise_limit) & exists)


def mend_forces(forces: Floats, bad: Bools, exists: Bools) -> Floats:
    """Forces with bad cells replaced by the mean of their good neighbours (the four beside, else the diagonal ones).

    A bad cell without good neighbours reads 0.
    """
    if not bad.any():
        return forces
    good = exists & ~bad
    mended = np.where(good, forces, 0.0)
    rows, columns = forces.shape
    for i, j in np.argwhere(bad & exists):
        for ring in (((-1, 0), (1, 0), (0, -1), (0, 1)), ((-1, -1), (-1, 1), (1, -1), (1, 1))):
            cells = [(i + a, j + b) for a, b in ring if 0 <= i + a < rows and 0 <= j + b < columns]
            values = [forces[cell] for cell in cells if good[cell]]
            if values:
                mended[i, j] = float(np.mean(values))
                break
    return mended
