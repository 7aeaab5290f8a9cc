"""Pressures on the cells of tactile arrays, planned and measured, and pictures of them.

A picture has one block per array, the finger tip on top, colour by pressure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Bools, Floats
from pliant.planner import Moment, Task
from pliant.robot import CellLayout, cell_layout
from pliant.viewer.report.measured import RunMeasurements

if TYPE_CHECKING:
    from PIL.Image import Image

    from pliant.tactile import ArrayReading, TactileProcessor

# Dark blue over green to yellow and white: brightness grows throughout, so it reads in grey as well.
_STOPS = np.array([[13, 8, 66], [30, 70, 140], [32, 145, 140], [120, 200, 90], [250, 225, 60], [255, 255, 240]], float)
_ABSENT = (225, 225, 225)
_MARK = (220, 30, 30)


def planned_pressures(task: Task, moment: Moment) -> dict[str, Floats]:
    """Mean planned pressure on every tactile cell [Pa], rows x columns, by array; forces are kept, cell by cell."""
    hand = task.assembly.hand
    if hand is None:
        return {}
    robot = task.assembly.robot.at(task.assembly.robot.T_world_base)
    out = {}
    for array in hand.tactile:
        layout = cell_layout(array)
        forces = np.zeros(layout.exists.shape)
        for contact in moment.contacts:
            if contact.link != array.link or not len(contact.pressures):
                continue
            T_link_object = robot.pose(contact.link, moment.q).actInv(moment.T_world_object)
            # Centred on the planned contact of the link: object and pad overlap a little in the plan.
            cells = np.array([T_link_object.act(p) for p in contact.p_object_cells])
            weights = contact.pressures * contact.cell_area
            cells += contact.p_link - (weights @ cells) / weights.sum()
            _add(forces, layout, cells, moment.force_share * weights)
        out[array.name] = forces / layout.area
    return out


def pad_image(
    task: Task, moment: Moment, measured: RunMeasurements | None = None, *, largest: float | None = None
) -> Image:
    """The loaded arrays side by side, the finger tip on top; all of them while nothing touches.

    With a run log what was measured at this moment lies below what was planned, in the same colours.

    Args:
        measured: what a run measured.
        largest: pressure of the brightest colour [Pa]; the largest of this moment if None.
    """
    hand = task.assembly.hand
    exists = {array.name: cell_layout(array).exists for array in hand.tactile} if hand is not None else {}
    planned = planned_pressures(task, moment)
    rows = {"planned": planned}
    if measured is not None and measured.pads:
        unloaded = {name: np.zeros_like(pressures) for name, pressures in planned.items()}
        rows["measured"] = unloaded | measured.pressures(moment.time)
    loaded = [name for name in planned if any(row[name].any() for row in rows.values())] or list(planned)
    top = largest if largest is not None else largest_of(rows.values())
    return _below_each_other(
        [
            pressure_image(
                {name: row[name] for name in loaded},
                exists=exists,
                centres=_centres(row),
                largest=max(top, 1.0),
                scale=18,
                title=title,
            )
            for title, row in rows.items()
        ]
    )


def pressure_image(
    pressures: Mapping[str, Floats],
    *,
    exists: Mapping[str, Bools] | None = None,
    centres: Mapping[str, tuple[float, float]] | None = None,
    largest: float | None = None,
    scale: int = 16,
    title: str = "",
) -> Image:
    """Arrays side by side, row 0 on top; a red cross marks the centre of pressure.

    Args:
        pressures: rows x columns [Pa], by array.
        exists: False where there is no cell (drawn grey).
        centres: (row, column), fractional, by array.
        largest: pressure of the brightest colour [Pa]; the largest present if None.
        scale: pixels per cell.
        title: written above.
    """
    from PIL import Image, ImageDraw

    top = largest if largest is not None else max((float(p.max()) for p in pressures.values()), default=0.0)
    gap, header = scale, 46
    rows = max((p.shape[0] for p in pressures.values()), default=1)
    widths = [max(p.shape[1] * scale, 130) for p in pressures.values()]
    size = (max(sum(widths) + gap * (len(widths) + 1), 300), header + rows * scale + gap)
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    draw.text((gap, 6), f"{title}  (white: {top / 1e3:.1f} kPa)".strip(), fill="black")
    left = gap
    for (name, values), width in zip(pressures.items(), widths, strict=True):
        draw.text((left, 26), name, fill="black")
        colours = _colours(values / top if top > 0 else np.zeros_like(values))
        if exists is not None and name in exists:
            colours[~exists[name]] = _ABSENT
        block = Image.fromarray(np.kron(colours, np.ones((scale, scale, 1), dtype=np.uint8)))
        picture.paste(block, (left, header))
        if centres is not None and name in centres:
            row, column = centres[name]
            x, y = left + (column + 0.5) * scale, header + (row + 0.5) * scale
            reach = scale / 3
            draw.line((x - reach, y, x + reach, y), fill=_MARK, width=2)
            draw.line((x, y - reach, x, y + reach), fill=_MARK, width=2)
        left += width + gap
    return picture


def _colours(shares: Floats) -> NDArray[np.uint8]:
    place = np.clip(shares, 0.0, 1.0) * (len(_STOPS) - 1)
    channels = [np.interp(place, np.arange(len(_STOPS)), _STOPS[:, c]) for c in range(3)]
    return np.stack(channels, axis=-1).astype(np.uint8)


def readings_image(readings: Mapping[str, ArrayReading], processor: TactileProcessor, *, title: str) -> Image:
    """The pressures of processed frames, by array, the centre of each array's strongest region marked."""
    return pressure_image(
        {name: reading.forces / processor.layout(name).area for name, reading in readings.items()},
        exists={name: processor.layout(name).exists for name in readings},
        centres={name: reading.regions[0].cell for name, reading in readings.items() if reading.regions},
        title=title,
    )


def largest_of(rows: Iterable[Mapping[str, Floats]]) -> float:
    """The largest pressure [Pa]."""
    return max((float(p.max()) for row in rows for p in row.values()), default=0.0)


def _centres(pressures: Mapping[str, Floats]) -> dict[str, tuple[float, float]]:
    """Centre of pressure of every loaded array: row and column, fractional."""
    found = {}
    for name, p in pressures.items():
        if total := float(p.sum()):
            rows, columns = np.indices(p.shape)
            found[name] = (float((rows * p).sum() / total), float((columns * p).sum() / total))
    return found


def _add(forces: Floats, layout: CellLayout, places: Floats, values: Floats) -> None:
    """Share each force among the cells near it by a bell as wide as a cell; what is far from all is left out."""
    centres = layout.centres[layout.exists]
    width = float(np.sqrt(layout.area))
    distance = np.linalg.norm(places[:, None] - centres[None], axis=2)
    weights = np.exp(-0.5 * (distance / (0.5 * width)) ** 2)
    near = distance.min(axis=1) < 3.0 * width
    total = weights.sum(axis=1, keepdims=True)
    shares = np.where(near[:, None], weights / np.maximum(total, 1e-300), 0.0)
    forces[layout.exists] += values @ shares


def _below_each_other(pictures: Sequence[Image]) -> Image:
    """Pictures as one, the first on top."""
    from PIL import Image

    size = (max(picture.width for picture in pictures), sum(picture.height for picture in pictures))
    whole = Image.new("RGB", size, "white")
    top = 0
    for picture in pictures:
        whole.paste(picture, (0, top))
        top += picture.height
    return whole
