"""The electronics of a pad: forces on the cells become counts, with noise, a threshold and 12 bits.   (theory 9, 10)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.errors import OptionError, Problem
from pliant.tactile.pad_response import SDH2_RESPONSE, PadResponse


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
        """Counts of cells that feel these normal forces [N]. Noise is on loaded cells only.

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
