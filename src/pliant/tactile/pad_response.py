"""How a pad's counts follow from force: a measured, non-linear curve that shifts with temperature.   (theory 9)

The curve is per cell: pressure on the cell to counts of the cell. It is known at a few pressures and a few
temperatures; between pressures it is straight, between temperatures counts at equal pressure are blended. Blends of
increasing curves increase, so the way back from counts to force is unique at every temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem


@dataclass(frozen=True)
class PadResponse:
    """Calibration table of a kind of pad.

    Args:
        pressures: [Pa], increasing, above 0.
        counts: one row per temperature, counts of a single cell at these pressures, increasing.
        warmths: where the rows stand on the warmth scale, increasing. The scale is a name, not degrees: -1 is a pad
            just switched on, 0 at its operating temperature, 1 hot.
        full_scale: largest count.
    """

    pressures: tuple[float, ...]
    counts: tuple[tuple[float, ...], ...]
    warmths: tuple[float, ...] = (-1.0, 0.0, 1.0)
    full_scale: int = 4095

    def __post_init__(self) -> None:
        problems = [
            *_increasing("pressures", (0.0, *self.pressures)),
            *(p for i, row in enumerate(self.counts) for p in _increasing(f"counts[{i}]", (0.0, *row))),
        ]
        if len(self.warmths) > 1:
            problems += _increasing("warmths", self.warmths)
        if len(self.counts) != len(self.warmths) or not self.counts:
            problems.append(Problem("counts", f"{len(self.counts)} rows", f"one per warmth: {len(self.warmths)}"))
        if any(len(row) != len(self.pressures) for row in self.counts):
            problems.append(Problem("counts", "rows differ in length", f"{len(self.pressures)} values, as pressures"))
        if not self.pressures:
            problems.append(Problem("pressures", "none", "at least one"))
        if self.full_scale < 1:
            problems.append(Problem("full_scale", f"{self.full_scale!r}", "1 or more [counts]"))
        if problems:
            raise OptionError("pad calibration", problems)

    @classmethod
    def from_stamp(
        cls, forces: Sequence[float], totals: Sequence[Sequence[float]], *, stamp_area: float, cell_area: float
    ) -> PadResponse:
        """From dead weights on a stamp that presses evenly: force to the total of all counts under it.

        Evenly pressed, each cell gives its share of the area of the total, whichever way the stamp lies on the grid.

        Args:
            forces: weights [N].
            totals: one row per warmth, summed counts.
            stamp_area, cell_area: [m^2].
        """
        share = cell_area / stamp_area
        return cls(
            tuple(float(force) / stamp_area for force in forces),
            tuple(tuple(float(total) * share for total in row) for row in totals),
        )

    def counts_of(self, pressures: ArrayLike, *, warmth: float = 0.0) -> Floats:
        """Counts (not rounded, not above full scale) of cells under these pressures [Pa]; 0 under none."""
        p = np.maximum(np.asarray(pressures, dtype=np.float64), 0.0)
        return np.minimum(_line(p, *self._knots(warmth)), self.full_scale)

    def pressures_of(self, counts: ArrayLike, *, warmth: float = 0.0) -> Floats:
        """Pressures [Pa] that give these counts; at full scale the least one that does."""
        c = np.clip(np.asarray(counts, dtype=np.float64), 0.0, self.full_scale)
        p, y = self._knots(warmth)
        return _line(c, y, p)

    @lru_cache(maxsize=64)  # noqa: B019  (frozen, hashable, few: tables live as long as the program)
    def _knots(self, warmth: float) -> tuple[Floats, Floats]:
        if not self.warmths[0] <= warmth <= self.warmths[-1]:
            allowed = f"{self.warmths[0]:g} (cold) .. 0 (operating) .. {self.warmths[-1]:g} (hot)"
            raise OptionError("pad calibration", Problem("warmth", f"{warmth!r}", allowed))
        rows = np.array(self.counts)
        blended = [np.interp(warmth, self.warmths, column) for column in rows.T]
        return np.array([0.0, *self.pressures]), np.array([0.0, *blended])


def _line(x: Floats, knots: Floats, values: Floats) -> Floats:
    """Straight between knots, and on with the last slope beyond them."""
    slope = (values[-1] - values[-2]) / (knots[-1] - knots[-2])
    return np.asarray(np.interp(x, knots, values) + np.maximum(x - knots[-1], 0.0) * slope)


def _increasing(where: str, values: Sequence[float]) -> list[Problem]:
    if np.all(np.isfinite(values)) and np.all(np.diff(values) > 0):
        return []
    return [Problem(where, f"{tuple(values)}", "finite, above 0 and increasing")]


# Dead weights on a square stamp of 1.1025 cm^2; measured by P. Kiechle on the pads of an SDH2 (cold, operating, hot).
SDH2_RESPONSE = PadResponse.from_stamp(
    (1.96, 2.94, 3.92, 4.91, 5.89, 6.87, 7.85, 8.83),
    (
        (3500, 5400, 9500, 17100, 23000, 28200, 29700, 33400),
        (5600, 10300, 16900, 21500, 26200, 31200, 34800, 39300),
        (6100, 12500, 18000, 24600, 29200, 33300, 36900, 41000),
    ),
    stamp_area=1.1025e-4,
    cell_area=0.0034**2,
)
