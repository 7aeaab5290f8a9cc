"""What explains a grasp beside its surfaces: force arrows, friction cones, centres of mass, the liquid's face."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.objects import Body, Mesh, clip_below
from pliant.planner import Moment, PlannedContact, PlannedGrasp, Timeline


@dataclass(frozen=True, eq=False)
class ForceArrow:
    """A force as an arrow in the world: a contact's ends where it acts, the weight starts there.

    Args:
        start, end: of the arrow [m].
        force: its size [N].
        contact: the contact it belongs to; None for the weight.
    """

    start: Floats
    end: Floats
    force: float
    contact: PlannedContact | None

    @property
    def label(self) -> str:
        """The force in words as short as the picture allows."""
        return f"{self.force:.2f} N" if self.contact is not None else f"weight {self.force:.2f} N"


def arrow_scale(grasp: PlannedGrasp, mesh: Mesh) -> float:
    """Metres of arrow per newton: the largest force of the operation is as long as the object is large."""
    longest = max((float(np.linalg.norm(c.force)) for state in grasp.states for c in state.contacts), default=0.0)
    return float(mesh.extents.max()) / longest if longest > 0.0 else 0.0


def force_arrows(moment: Moment, scale: float) -> list[ForceArrow]:
    """Contact forces on the object; every arrow ends where the force acts."""
    arrows = []
    for contact in moment.contacts:
        T = moment.T_world_object * contact.T_object_contact
        force = moment.force_share * (T.rotation @ contact.force)
        end = np.array(T.translation)
        arrows.append(ForceArrow(end - scale * force, end, float(np.linalg.norm(force)), contact))
    return arrows


def weight_arrow(moment: Moment, scale: float, weight: float) -> ForceArrow | None:
    """The weight, from the centre of mass downwards; None while nothing holds the object."""
    if moment.state is None or moment.depth_share < 1.0:
        return None
    start = centre_of_mass(moment)
    return ForceArrow(start, start - np.array([0.0, 0.0, scale * weight]), weight, None)


def centre_of_mass(moment: Moment, *, at_rest: bool = False) -> Floats:
    """Of the deformed (or undeformed) object in the world at this moment [m]; the state's own, carried along."""
    state = moment.state
    assert state is not None
    p = state.centre_at_rest if at_rest else state.centre_of_mass
    return np.asarray(moment.T_world_object.act(state.T_world_object.actInv(p)))


def cone_mesh(friction: float, height: float, *, sides: int = 40) -> Mesh:
    """The friction cone as seen from outside: apex at the contact, opening along -z of the contact frame.

    Every force that the friction allows points from inside this cone to its apex.
    """
    angle = 2.0 * np.pi * np.arange(sides) / sides
    rim = np.column_stack(
        [friction * height * np.cos(angle), friction * height * np.sin(angle), np.full(sides, -height)]
    )
    k = np.arange(sides)
    faces = np.column_stack([np.zeros(sides, dtype=int), 1 + (k + 1) % sides, 1 + k])
    return Mesh(np.vstack([np.zeros(3), rim]), faces, "cone")


def liquid_at(body: Body, timeline: Timeline | None, moment: Moment | None, T_world_object: pin.SE3) -> Mesh | None:
    """The liquid's surface at a moment, in the deformed vessel and at the plan's level; None for a solid."""
    if body.liquid is None:
        return None
    vertices, level = body.mesh.vertices, None
    if timeline is not None and moment is not None and moment.state is not None:
        vertices = vertices + timeline.displacement(moment)
        level = moment.liquid_level
    return liquid_face(body, vertices, T_world_object, level)


def liquid_face(body: Body, vertices: Floats, T_world_object: pin.SE3, level: float | None = None) -> Mesh | None:
    """The liquid's surface inside a vessel in world coordinates; None for a solid.

    Args:
        vertices: the vessel's own vertices, displaced, in its frame [m].
        level: height of the surface in the world [m]; that of the undeformed vessel if None.
    """
    if body.liquid is None:
        return None
    up = np.array([0.0, 0.0, 1.0])
    world = Mesh(vertices, body.mesh.faces).transformed(T_world_object)
    if level is None:
        local = T_world_object.rotation.T @ up
        state = body.liquid_at(local)
        assert state is not None
        level = float(state.level + T_world_object.translation[2])
    _, cap = clip_below(world, up, level)
    return cap if len(cap.faces) else None
