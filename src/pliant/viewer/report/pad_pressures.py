"""What the pads feel: planned contact pressures laid on the cells of the tactile arrays, and what a run measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Floats
from pliant.planner import Moment, Task
from pliant.robot import CellLayout, cell_layout
from pliant.viewer.report.measured import Measured
from pliant.viewer.report.pad_image import below_each_other, pressure_image

if TYPE_CHECKING:
    from PIL.Image import Image


def felt_pressures(task: Task, moment: Moment) -> dict[str, Floats]:
    """Mean pressure on every tactile cell [Pa], rows x columns, by array; forces are kept, cell by cell."""
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
            # Centred on where the plan says the link is touched: object and pad overlap a little in the plan.
            cells = np.array([T_link_object.act(p) for p in contact.p_object_cells])
            weights = contact.pressures * contact.cell_area
            cells += contact.p_link - (weights @ cells) / weights.sum()
            _add(forces, layout, cells, moment.force_share * weights)
        out[array.name] = forces / layout.area
    return out


def felt_image(
    task: Task, moment: Moment, measured: Measured | None = None, *, largest: float | None = None, scale: int = 18
) -> Image:
    """The arrays that feel something side by side, the finger tip on top; all of them while nothing touches.

    With a run log what was measured at this moment lies below what was planned, in the same colours.

    Args:
        measured: what a run measured.
        largest: pressure of the brightest colour [Pa]; the largest of this moment if None.
        scale: pixels per cell.
    """
    hand = task.assembly.hand
    exists = {array.name: cell_layout(array).exists for array in hand.tactile} if hand is not None else {}
    planned = felt_pressures(task, moment)
    rows = {"planned": planned}
    if measured is not None and measured.pads:
        silent = {name: np.zeros_like(pressures) for name, pressures in planned.items()}
        rows["measured"] = silent | measured.felt(moment.time)
    felt = [name for name in planned if any(row[name].any() for row in rows.values())] or list(planned)
    top = largest if largest is not None else largest_of(rows.values())
    pictures = [
        pressure_image(
            {name: row[name] for name in felt},
            exists=exists,
            centres=_centres(row),
            largest=max(top, 1.0),
            scale=scale,
            title=title,
        )
        for title, row in rows.items()
    ]
    return below_each_other(pictures)


def largest_of(rows: Iterable[Mapping[str, Floats]]) -> float:
    """The largest pressure [Pa]."""
    return max((float(p.max()) for row in rows for p in row.values()), default=0.0)


def _centres(pressures: Mapping[str, Floats]) -> dict[str, tuple[float, float]]:
    """Centre of pressure of every array that feels something: row and column, fractional."""
    found = {}
    for name, p in pressures.items():
        if total := float(p.sum()):
            rows, columns = np.indices(p.shape)
            found[name] = (float((rows * p).sum() / total), float((columns * p).sum() / total))
    return found


def _add(forces: Floats, layout: CellLayout, places: Floats, values: Floats) -> None:
    """Share each force among the cells near it by a bell as wide as a cell; what is far from the array is not felt."""
    centres = layout.centres[layout.exists]
    width = float(np.sqrt(layout.area))
    distance = np.linalg.norm(places[:, None] - centres[None], axis=2)
    weights = np.exp(-0.5 * (distance / (0.5 * width)) ** 2)
    felt = distance.min(axis=1) < 3.0 * width
    total = weights.sum(axis=1, keepdims=True)
    shares = np.where(felt[:, None], weights / np.maximum(total, 1e-300), 0.0)
    forces[layout.exists] += values @ shares
