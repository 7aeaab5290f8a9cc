"""The dents that contacts press into elastic pads, as coloured patches.   (theory 6.3)"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.planner import Moment, PlannedContact, PlannedGrasp
from pliant.viewer.scene.colours import scale_colours

OUTSIDE = 2e-4
"""How far outside the contact a patch is drawn, so that the object's surface does not hide it [m]."""


class DentPatch(NamedTuple):
    """The dented surface of a pad under a contact: a mesh in the world and a colour for each of its vertices."""

    mesh: Mesh
    colours: Floats


def dent_patches(grasp: PlannedGrasp, moment: Moment, exaggerate: float = 1.0) -> list[DentPatch]:
    """A patch for every contact of an elastic pad; the brightest colour is the deepest dent of the whole operation."""
    deepest = max((contact.pad_depth for state in grasp.states for contact in state.contacts), default=0.0)
    if deepest <= 0.0:
        return []
    patches = (_patch(contact, moment, deepest, exaggerate) for contact in moment.contacts)
    return [patch for patch in patches if patch is not None]


def _patch(contact: PlannedContact, moment: Moment, deepest: float, exaggerate: float) -> DentPatch | None:
    if contact.pad_depth <= 0.0 or len(contact.pressures) < 4:
        return None
    T = contact.T_object_contact
    local = (contact.p_object_cells - T.translation) @ T.rotation
    # Only the depth's shape is needed: the plan knows how deep the deepest cell is.
    from pliant.contact import pad_dent  # brings compiled loops, which a page without dents does not need

    shape = pad_dent(local[:, :2], contact.pressures, contact.cell_area, 1.0)
    depths = moment.depth_share * contact.pad_depth * shape.depths / shape.depths.max()
    at = {(int(i), int(j)): k for k, (i, j) in enumerate(shape.cells)}
    faces = []
    for (i, j), k in at.items():
        corners = (k, at.get((i + 1, j)), at.get((i + 1, j + 1)), at.get((i, j + 1)))
        faces += [
            (corners[0], corners[a], corners[b])
            for a, b in ((1, 2), (2, 3))
            if corners[a] is not None and corners[b] is not None
        ]
    if not faces:
        return None
    outwards = -T.rotation[:, 2]  # the pad lies outside the object, and its dent goes into the pad
    points = contact.p_object_cells + (OUTSIDE + (exaggerate - 1.0) * depths)[:, None] * outwards
    mesh = Mesh(points, np.array(faces)).transformed(moment.T_world_object)
    return DentPatch(mesh, scale_colours(depths / deepest))
