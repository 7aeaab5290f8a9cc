"""What explains a grasp beside its surfaces: force arrows, friction cones, centres of mass, the liquid's face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.objects import Body, Mesh, clip_below
from pliant.planner import Moment, PlannedContact, PlannedGrasp, Task, Timeline
from pliant.viewer.scene.colours import ARROW, PUSH, WEIGHT, Colour


@dataclass(frozen=True, eq=False)
class ForceArrow:
    """A force as an arrow in the world: a contact's and a push end where they act, the weight starts there.

    Attributes:
        start, end: of the arrow [m].
        force: its size [N].
        contact: the contact it belongs to; None for weight and pushes.
        name: of a force that is no contact's: ``weight``, ``push``.
    """

    start: Floats
    end: Floats
    force: float
    contact: PlannedContact | None
    name: str = ""

    @property
    def label(self) -> str:
        """The force as a short text."""
        return f"{self.name} {self.force:.2f} N".strip()

    @property
    def colour(self) -> Colour:
        """Of contact forces, of the weight and of pushes."""
        return ARROW if self.contact is not None else PUSH if self.name == "push" else WEIGHT

    @property
    def outer(self) -> Floats:
        """The end that is away from where it acts [m]."""
        return self.end if self.name == "weight" else self.start


class MarkerSizes(NamedTuple):
    """How large markers are drawn [m]."""

    arrow_radius: float
    head_radius: float
    head_length: float
    centre_radius: float
    cone_height: float


class Markers(NamedTuple):
    """Everything that explains a grasp at one moment, in the world.

    Attributes:
        arrows: contact forces other than zero, then weight and pushes if the object is held.
        Ts_world_cone: where the friction cones have their tips.
        centre, centre_at_rest: centre of mass of the deformed and the undeformed object [m]; None before the touch.
        liquid: the liquid's surface; None for a solid.
    """

    arrows: list[ForceArrow]
    Ts_world_cone: list[pin.SE3]
    centre: Floats | None
    centre_at_rest: Floats | None
    liquid: Mesh | None


def marker_sizes(mesh: Mesh) -> MarkerSizes:
    """In proportion to the object."""
    size = float(mesh.extents.max())
    return MarkerSizes(0.016 * size, 0.045 * size, 0.11 * size, 0.035 * size, 0.45 * size)


def markers_at(task: Task, timeline: Timeline | None, moment: Moment | None) -> Markers:
    """The markers at a moment of a grasp; with none only the liquid where the task starts."""
    if timeline is None or moment is None:
        liquid = liquid_surface(task.body, task.T_world_object, gravity=task.goal.gravity)
        return Markers([], [], None, None, liquid)
    scale = arrow_scale(timeline.grasp, task.body.mesh)
    arrows = [*force_arrows(moment, scale), weight_arrow(moment, scale), *push_arrows(task, moment, scale)]
    touched = moment.state is not None
    return Markers(
        [arrow for arrow in arrows if arrow is not None and arrow.force > 0.0],
        [moment.T_world_object * contact.T_object_contact for contact in moment.contacts],
        centre_of_mass(moment) if touched else None,
        centre_of_mass(moment, at_rest=True) if touched else None,
        liquid_surface(task.body, moment.T_world_object, timeline, moment, gravity=task.goal.gravity),
    )


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


def weight_arrow(moment: Moment, scale: float) -> ForceArrow | None:
    """The weight, from the centre of mass along gravity; None while nothing holds the object."""
    if moment.state is None or moment.depth_share < 1.0:
        return None
    start, weight = centre_of_mass(moment), moment.state.load[:3]
    return ForceArrow(start, start + scale * weight, float(np.linalg.norm(weight)), None, "weight")


def push_arrows(task: Task, moment: Moment, scale: float) -> list[ForceArrow]:
    """The task's given pushes, each to the centre of mass and no longer than the object; none while nothing holds it.

    Pushes from any direction have none to be drawn.
    """
    if moment.state is None or moment.depth_share < 1.0:
        return []
    centre, longest, arrows = centre_of_mass(moment), float(task.body.mesh.extents.max()), []
    for push in task.goal.disturbances:
        force = np.array(push.force)
        size = float(np.linalg.norm(force))
        length = min(scale, longest / size) * force if size > 0.0 else force
        arrows.append(ForceArrow(centre - length, centre, size, None, "push"))
    return arrows


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


def liquid_surface(
    body: Body,
    T_world_object: pin.SE3,
    timeline: Timeline | None = None,
    moment: Moment | None = None,
    *,
    gravity: ArrayLike = (0.0, 0.0, -1.0),
) -> Mesh | None:
    """The liquid's surface in the world; None for a solid.

    Args:
        timeline, moment: for the deformed vessel and the plan's level; without them the vessel is undeformed.
        gravity: its direction in the world.
    """
    if body.liquid is None:
        return None
    up = -np.asarray(gravity, dtype=np.float64) / np.linalg.norm(gravity)
    vertices, level = body.mesh.vertices, None
    if timeline is not None and moment is not None and moment.state is not None:
        vertices = vertices + timeline.displacement(moment)
        level = moment.liquid_level
    if level is None:
        state = body.liquid_at(T_world_object.rotation.T @ up)
        assert state is not None
        level = float(state.level + up @ T_world_object.translation)
    _, cap = clip_below(Mesh(vertices, body.mesh.faces).transformed(T_world_object), up, level)
    return cap if len(cap.faces) else None
