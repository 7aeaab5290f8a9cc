"""A pad: forces on its cells become counts, with noise, a threshold and 12 bits, and back.   (theory 9, 10)

How counts follow from force is a measured, non-linear curve that shifts with temperature. It is per cell: pressure on
the cell to counts of the cell. It is known at a few pressures and a few temperatures; between pressures it is straight,
between temperatures counts at equal pressure are blended. Blends of increasing curves increase, so the inverse from
counts to force is unique at every temperature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats, Ints
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
        c = np.minimum(np.maximum(np.asarray(counts, dtype=np.float64), 0.0), self.full_scale)
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


@dataclass(frozen=True)
class PadSensor:
    """What lies between the force on a cell and the number a controller reads.

    Args:
        response: the calibration table.
        warmth: -1 cold, 0 operating, 1 hot.
        noise: standard deviation of a loaded cell's counts, the same at any load.
        threshold: smaller counts are sent as 0, as the real electronics do.
    """

    response: PadResponse = SDH2_RESPONSE
    warmth: float = 0.0
    noise: float = 3.0
    threshold: int = 2

    def __post_init__(self) -> None:
        problems = []
        if not (np.isfinite(self.noise) and self.noise >= 0):
            problems.append(Problem("noise", f"{self.noise!r}", "a standard deviation, 0 or more [counts]"))
        if self.threshold < 0:
            problems.append(Problem("threshold", f"{self.threshold!r}", "0 or more [counts]"))
        if problems:
            raise OptionError("pad sensor", problems)
        self.response.counts_of(0.0, warmth=self.warmth)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], *, source: str) -> PadSensor:
        """Read what ``dataclasses.asdict`` of a sensor became in a file; ``source`` names it in messages."""
        try:
            table = facts["response"]
            response = PadResponse(
                tuple(float(pressure) for pressure in table["pressures"]),
                tuple(tuple(float(count) for count in row) for row in table["counts"]),
                tuple(float(warmth) for warmth in table["warmths"]),
                int(table["full_scale"]),
            )
            return cls(response, float(facts["warmth"]), float(facts["noise"]), int(facts["threshold"]))
        except (KeyError, TypeError, ValueError, OverflowError) as bad:
            what = f"cannot be read: {type(bad).__name__}: {bad}"
            raise OptionError(source, Problem("pad_sensor", what, "write the file again")) from None

    def counts(self, forces: Floats, *, cell_area: float, rng: np.random.Generator | None = None) -> Ints:
        """Counts of cells under these normal forces [N]. Noise is on loaded cells only.

        Args:
            forces: any shape, 0 or more [N].
            cell_area: [m^2].
            rng: source of the noise; None: no noise.
        """
        ideal = self.response.counts_of(forces / cell_area, warmth=self.warmth)
        if rng is not None and self.noise > 0:
            ideal = ideal + np.where(ideal > 0, rng.normal(0.0, self.noise, ideal.shape), 0.0)
        counts = np.clip(np.rint(ideal), 0, self.response.full_scale).astype(np.int64)
        counts[counts < self.threshold] = 0
        return counts

    def forces(self, counts: Ints | Floats, *, cell_area: float) -> Floats:
        """Normal forces [N] that these counts stand for at the sensor's warmth."""
        return self.response.pressures_of(counts, warmth=self.warmth) * cell_area
