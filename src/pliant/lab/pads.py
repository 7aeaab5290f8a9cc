"""What the tactile arrays measure in the lab: contact forces of the simulator, spread over cells.   (theory 10)

The simulator's own touch sensors see nothing of soft bodies, so the forces of its contacts are read one by one. A
soft body touches with few, far-apart nodes; each node's force is spread with a kernel as wide as a fraction of the node
spacing, which stands for the facets between nodes and the rubber of the pad. Spreading keeps the force.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from pliant.arrays import Floats
from pliant.lab.simulation import Simulation
from pliant.robot import CellLayout, TactileArray, cell_layout

KERNEL = 0.4  # of the node spacing
SMALLEST_KERNEL = 0.5  # of a cell
REACH = 0.004  # how far off the array's surface a contact may lie and still press on it [m]
FACING = 0.5  # least cosine between the force and the inward normal of a cell


@dataclass(frozen=True, eq=False)
class LinkContact:
    """One contact point between the object and a link.

    Attributes:
        link: the link.
        point: in the link's frame [m].
        force: on the link, in the link's frame [N].
    """

    link: str
    point: Floats
    force: Floats


@dataclass(frozen=True, eq=False)
class PadForces:
    """Normal forces on the cells of one array.

    Attributes:
        cells: rows x columns [N].
        total: sum of the normal forces of the contacts on it [N]; equals the sum of the cells.
    """

    cells: Floats
    total: float


class Pads:
    """Reads the tactile arrays of a simulated hand."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        scene = simulation.scene
        hand = scene.assembly.hand if scene.assembly is not None else None
        self.arrays: dict[str, TactileArray] = {a.name: a for a in hand.tactile} if hand is not None else {}
        self.layouts: dict[str, CellLayout] = {name: cell_layout(array) for name, array in self.arrays.items()}
        self._arrays_of_link: dict[str, list[str]] = {}
        for name, array in self.arrays.items():
            self._arrays_of_link.setdefault(array.link, []).append(name)
        model = simulation.model
        # A soft body's side of a contact names no geom.
        self._object_geoms = {-1, *(i for i in range(model.ngeom) if model.geom(i).name.startswith("vessel:"))}
        self._spacing = scene.object.spacing if scene.object is not None else 0.0

    def contacts(self) -> list[LinkContact]:
        """Contacts between links and the object that were active in the last step."""
        model, data = self.simulation.model, self.simulation.data
        links, held = self.simulation.scene.link_of_geom, self._object_geoms
        wrench = np.zeros(6)
        found = []
        for i in range(data.ncon):
            contact = data.contact[i]
            for side in (0, 1):
                link = links.get(int(contact.geom[side]))
                if link is None or int(contact.geom[1 - side]) not in held:
                    continue
                mujoco.mj_contactForce(model, data, i, wrench)
                if wrench[0] <= 0.0:
                    continue
                # The contact frame's first axis points from the first to the second; its force acts on the second.
                force = contact.frame.reshape(3, 3).T @ wrench[:3] * (1.0 if side == 1 else -1.0)
                body = int(model.geom_bodyid[contact.geom[side]])
                R, p = data.xmat[body].reshape(3, 3), data.xpos[body]
                found.append(LinkContact(link, R.T @ (contact.pos - p), R.T @ force))
        return found

    def read(self) -> dict[str, PadForces]:
        """Forces on the cells of every array, as they were in the last step."""
        cells = {name: np.zeros(layout.exists.shape) for name, layout in self.layouts.items()}
        totals = dict.fromkeys(self.layouts, 0.0)
        for contact in self.contacts():
            for name in self._arrays_of_link.get(contact.link, ()):
                share = self._press(name, contact)
                if share is not None:
                    cells[name] += share
                    totals[name] += float(share.sum())
        return {name: PadForces(cells[name], totals[name]) for name in self.layouts}

    def _press(self, name: str, contact: LinkContact) -> Floats | None:
        """The normal force of a contact spread over the cells; None where it does not press on this array."""
        layout, array = self.layouts[name], self.arrays[name]
        offsets = contact.point - layout.centres
        squares = np.where(layout.exists, (offsets**2).sum(axis=-1), np.inf)
        nearest = np.unravel_index(int(np.argmin(squares)), squares.shape)
        normal = layout.normals[nearest]
        off = float(offsets[nearest] @ normal)
        beside = float(np.sqrt(max(squares[nearest] - off**2, 0.0)))
        if abs(off) > REACH or beside > 0.75 * float(np.hypot(*array.cell)):
            return None
        size = float(np.linalg.norm(contact.force))
        pressing = -float(contact.force @ normal)
        if size <= 0.0 or pressing < FACING * size:
            return None
        width = max(KERNEL * self._spacing, SMALLEST_KERNEL * min(array.cell))
        tangential = (offsets**2).sum(axis=-1) - (offsets * layout.normals).sum(axis=-1) ** 2
        weights = np.where(layout.exists, np.exp(-0.5 * np.maximum(tangential, 0.0) / width**2), 0.0)
        return np.asarray(pressing * weights / weights.sum())
