"""From counts to contact regions: force and centre of pressure of every patch that touches a pad.   (theory 9)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.compiled import kernel
from pliant.errors import OptionError, Problem, unknown_name
from pliant.robot import CellLayout, HandDescription, TactileArray, cell_layout
from pliant.tactile.cells import CellHealth, mend_forces
from pliant.tactile.pad import PadSensor

SPREAD = 6.0
"""A patch without a strong cell counts from so many times the smallest force of a cell on."""


@dataclass(frozen=True, eq=False)
class TactileFrame:
    """One picture of one tactile array.

    Args:
        array: name of the array, as in the hand description.
        time: when it was taken, on the driver's clock [s].
        counts: rows x columns, raw counts of the cells; cells that do not exist read 0.
    """

    array: str
    time: float
    counts: Ints


@dataclass(frozen=True, eq=False)
class TactileRegion:
    """One connected patch of pressed cells.

    Attributes:
        array, link: where it lies.
        force: sum of the cells' normal forces [N].
        centre: centre of pressure on the pad's surface, in the link's frame [m].
        normal: outward normal of the pad there, in the link's frame.
        cell: centre of pressure in (row, column), fractional.
        cells: rows x columns, which cells belong to it.
        peak_pressure: largest pressure on a cell [Pa].
        saturated: whether a cell of it is at full scale, so that the true force is larger.
    """

    array: str
    link: str
    force: float
    centre: Floats
    normal: Floats
    cell: tuple[float, float]
    cells: Bools
    peak_pressure: float
    saturated: bool


@dataclass(frozen=True, eq=False)
class ArrayReading:
    """One frame, understood.

    Attributes:
        array, time: of the frame.
        forces: rows x columns [N], bad cells mended.
        regions: patches that count as contact, strongest first.
    """

    array: str
    time: float
    forces: Floats
    regions: tuple[TactileRegion, ...]

    @property
    def force(self) -> float:
        """Sum over the regions [N]."""
        return float(sum(region.force for region in self.regions))


@dataclass(frozen=True, eq=False)
class TactileProcessor:
    """Turns the frames of a hand into contact regions.

    Args:
        arrays: descriptions by name.
        sensor: calibration, temperature.
        health: cells to leave out, by array.
        saturation: counts from which a cell counts as saturated; full scale if None.
        gains: what the forces of an array are multiplied with, by array; 1 where left out. Pads of one kind may differ
            by a factor of two.
    """

    arrays: Mapping[str, TactileArray]
    sensor: PadSensor = field(default_factory=PadSensor)
    health: Mapping[str, CellHealth] = field(default_factory=dict)
    saturation: int | None = None
    gains: Mapping[str, float] = field(default_factory=dict)
    _layouts: dict[str, CellLayout] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, gain in self.gains.items():
            if not (np.isfinite(gain) and gain > 0.0):
                raise OptionError("pads", Problem(f"gains.{name}", f"{gain!r}", "finite, above 0"))
            self._known(name)
        object.__setattr__(self, "_layouts", {name: cell_layout(array) for name, array in self.arrays.items()})

    @classmethod
    def for_hand(
        cls,
        hand: HandDescription,
        *,
        sensor: PadSensor | None = None,
        health: Mapping[str, CellHealth] | None = None,
        saturation: int | None = None,
        gains: Mapping[str, float] | None = None,
    ) -> TactileProcessor:
        """A processor for all arrays of a hand."""
        arrays = {array.name: array for array in hand.tactile}
        return cls(arrays, sensor or PadSensor(), health or {}, saturation, gains or {})

    def layout(self, name: str) -> CellLayout:
        """Where the cells of an array lie."""
        return self._layouts[self._known(name)]

    def process(self, frame: TactileFrame) -> ArrayReading:
        """Forces and regions of one frame."""
        array, layout = self.arrays[self._known(frame.array)], self._layouts[frame.array]
        counts = np.asarray(frame.counts)
        if counts.shape != layout.exists.shape:
            expected = f"expected {layout.exists.shape[0]} x {layout.exists.shape[1]}"
            raise OptionError(frame.array, f"tactile frame of shape {counts.shape}; {expected}")
        if not counts.any():
            return ArrayReading(frame.array, frame.time, np.zeros(counts.shape), ())
        forces = np.where(layout.exists, self.sensor.forces(counts, cell_area=layout.area), 0.0)
        if (gain := self.gains.get(frame.array)) is not None:
            forces *= gain
        if (health := self.health.get(frame.array)) is not None:
            forces = mend_forces(forces, health.bad, layout.exists)
        full = self.sensor.response.full_scale if self.saturation is None else self.saturation
        return ArrayReading(frame.array, frame.time, forces, find_regions(array, layout, forces, counts >= full))

    def warm_up(self) -> None:
        """Load the compiled code now: the first touch must not wait for it (a second in a fresh process)."""
        _patches(np.ones((2, 2)))

    def _known(self, name: str) -> str:
        if name not in self.arrays:
            raise OptionError("", unknown_name("tactile array", name, self.arrays))
        return name


def find_regions(
    array: TactileArray, layout: CellLayout, forces: Floats, saturated: Bools | None = None
) -> tuple[TactileRegion, ...]:
    """Patches of cells that hang together (diagonals count) and reach the array's smallest force with their strongest
    cell, or ``SPREAD`` times that all together, as a soft thing that lies flat on the pad does; strongest first.

    A patch includes its weak rim, so its force is the whole force there; the centre of pressure is the mean of row and
    column weighted with force, put back on the (bent) surface.
    """
    labels, sums = _patches(np.ascontiguousarray(forces, dtype=np.float64))
    regions = []
    for i, (total, row, column, peak) in enumerate(sums.tolist()):
        if peak < array.min_force and total < SPREAD * array.min_force:
            continue
        cells = labels == i + 1
        cell = (row / total, column / total)
        centre, normal = surface_point(layout, cell)
        full = bool(saturated[cells].any()) if saturated is not None else False
        regions.append(
            TactileRegion(array.name, array.link, total, centre, normal, cell, cells, peak / layout.area, full)
        )
    return tuple(sorted(regions, key=lambda region: -region.force))


@kernel
def _patches(forces: Floats) -> tuple[Ints, Floats]:
    """Numbers of the patches, from 1 on, and a row of each: force, force times row, force times column, peak.

    One walk over the cells: a frame is understood within the step in which it comes.
    """
    rows, columns = forces.shape
    labels = np.zeros((rows, columns), dtype=np.int64)
    sums = np.zeros((rows * columns // 2 + 1, 4))
    waiting = np.empty((rows * columns, 2), dtype=np.int64)
    number = 0
    for r in range(rows):
        for c in range(columns):
            if labels[r, c] != 0 or not forces[r, c] > 0.0:
                continue
            labels[r, c] = number + 1
            waiting[0, 0], waiting[0, 1] = r, c
            count = 1
            while count > 0:
                count -= 1
                i, j = waiting[count, 0], waiting[count, 1]
                f = forces[i, j]
                sums[number, 0] += f
                sums[number, 1] += f * i
                sums[number, 2] += f * j
                sums[number, 3] = max(sums[number, 3], f)
                for a in range(max(i - 1, 0), min(i + 2, rows)):
                    for b in range(max(j - 1, 0), min(j + 2, columns)):
                        if labels[a, b] == 0 and forces[a, b] > 0.0:
                            labels[a, b] = number + 1
                            waiting[count, 0], waiting[count, 1] = a, b
                            count += 1
            number += 1
    return labels, sums[:number]


def surface_point(layout: CellLayout, cell: tuple[float, float]) -> tuple[Floats, Floats]:
    """Point and outward unit normal of an array at a fractional (row, column), in the link's frame.

    Bilinear between cell centres: on an arc of radius r that is at most cell^2 / 8 r off (0.02 mm on an SDH2's tip).
    """
    rows, columns = layout.exists.shape
    row, column = min(max(cell[0], 0.0), rows - 1.0), min(max(cell[1], 0.0), columns - 1.0)
    i, j = min(int(row), max(rows - 2, 0)), min(int(column), max(columns - 2, 0))
    a, b = row - i, column - j
    i1, j1 = min(i + 1, rows - 1), min(j + 1, columns - 1)

    def blend(values: Floats) -> Floats:
        upper = (1 - b) * values[i, j] + b * values[i, j1]
        lower = (1 - b) * values[i1, j] + b * values[i1, j1]
        return np.asarray((1 - a) * upper + a * lower)

    normal = blend(layout.normals)
    return blend(layout.centres), normal / np.linalg.norm(normal)
