"""What the pads feel according to the plan: contact pressures laid on the cells of the tactile arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.planner import Task
from pliant.robot import CellLayout, cell_layout
from pliant.viewer.pad_image import pressure_image
from pliant.viewer.timeline import Moment

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["felt_image", "felt_pressures"]

Floats = NDArray[np.float64]


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
            _add(forces, layout, cells, moment.share * weights)
        out[array.name] = forces / layout.area
    return out


def felt_image(task: Task, moment: Moment, *, largest: float | None = None, scale: int = 18) -> Image:
    """The arrays that feel something side by side, the finger tip on top; all of them while nothing touches."""
    hand = task.assembly.hand
    exists = {array.name: cell_layout(array).exists for array in hand.tactile} if hand is not None else {}
    pressures = felt_pressures(task, moment)
    pressures = {name: p for name, p in pressures.items() if p.any()} or pressures
    top = largest if largest is not None else max((float(p.max()) for p in pressures.values()), default=0.0)
    return pressure_image(pressures, exists=exists, largest=max(top, 1.0), scale=scale, title="planned")


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
