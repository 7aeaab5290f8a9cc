"""Still pictures of a plan: the same things as on the page, drawn without a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.constants import GRAVITY
from pliant.objects import Mesh
from pliant.planner import Moment, Plan, Task, Timeline
from pliant.viewer.page.view_options import LIQUID, VESSEL_OPACITY, Look, default_camera, floor_height
from pliant.viewer.scene.colours import ARROW, CENTRE, WEIGHT
from pliant.viewer.scene.drawables import Drawable, arrow, ball, robot_drawables
from pliant.viewer.scene.markers import arrow_scale, centre_of_mass, cone_mesh, force_arrows, liquid_at, weight_arrow
from pliant.viewer.scene.object_surface import ColourBy, ObjectSurface
from pliant.viewer.scene.robot_surfaces import hand_links
from pliant.viewer.still.png import save_png
from pliant.viewer.still.render import look_at, render

WOOD = (0.60, 0.56, 0.50)
"""The page's table colour under the stills' stronger lamp."""
CLOSE = Look(hand_opacity=0.28, arm=True)
PATCHES = Look(colour_by=ColourBy.PRESSURE, hand_opacity=0.07, arm=False, forces=False, cones=False)
"""Nothing in front of the contact patches."""


def moment_drawables(task: Task, surface: ObjectSurface, moment: Moment, look: Look = CLOSE) -> list[Drawable]:
    """Everything at one moment of a grasp."""
    robot = task.assembly.robot.at(task.assembly.robot.T_world_base)
    of_hand = set(hand_links(task.assembly))
    items = []
    for item in robot_drawables(robot, moment.q):
        if item.name in of_hand:
            items.append(replace(item, opacity=look.hand_opacity))
        elif look.arm:
            items.append(item)
    vertices = surface.vertices(moment, exaggerate=look.exaggerate)
    colours = surface.colours(moment, look.colour_by)
    thing = Mesh(vertices, surface.faces).transformed(moment.T_world_object)
    vessel = task.body.liquid is not None
    items.append(Drawable(thing, colours, "object", gloss=0.12, opacity=VESSEL_OPACITY if vessel else 1.0))
    items += [Drawable(_tiled(mesh), WOOD, "scene", gloss=0.05) for mesh in task.scene]
    return [*items, *_marks(task, surface.timeline, moment, look)]


def _marks(task: Task, timeline: Timeline, moment: Moment, look: Look) -> list[Drawable]:
    size = float(task.body.mesh.extents.max())
    scale = arrow_scale(timeline.grasp, task.body.mesh)
    items: list[Drawable] = []
    if look.forces:
        weight = weight_arrow(moment, scale, GRAVITY * task.body.mass)
        for item in [*force_arrows(moment, scale), *([weight] if weight is not None else [])]:
            if item.force > 0.0:
                colour = ARROW if item.contact is not None else WEIGHT
                items.append(arrow(item.start, item.end - item.start, radius=0.016 * size, colour=colour))
    if look.cones:
        cone = cone_mesh(task.body.material.friction, 0.45 * size)
        for contact in moment.contacts:
            T = moment.T_world_object * contact.T_object_contact
            items.append(Drawable(cone.transformed(T), ARROW, "cone", gloss=0.0, opacity=0.16))
    if look.centres and moment.state is not None:
        items.append(ball(centre_of_mass(moment), radius=0.035 * size, colour=CENTRE))
    face = liquid_at(task.body, timeline, moment, moment.T_world_object)
    if face is not None:
        items.append(Drawable(face, LIQUID, "liquid", gloss=0.4))
    return items


def _tiled(mesh: Mesh) -> Mesh:
    """The same obstacle in small triangles: one that reaches behind the camera is not drawn, so none may be large."""
    from trimesh.remesh import subdivide_to_size

    longest = max(0.08, float(mesh.extents.max()) / 40)
    vertices, faces = subdivide_to_size(mesh.vertices, mesh.faces, max_edge=longest, max_iter=12)
    return Mesh(vertices, faces, mesh.name)


def draw_moment(
    task: Task,
    surface: ObjectSurface,
    moment: Moment,
    *,
    look: Look = CLOSE,
    width: int = 960,
    height: int = 640,
    distance: float = 1.0,
    face_contact: bool = False,
) -> NDArray[np.uint8]:
    """The picture of one moment.

    Args:
        distance: of the camera, 1 for the object with its fingers, larger for more of the arm.
        face_contact: look at the strongest contact instead of from the usual side.
    """
    outwards = None
    if face_contact and moment.contacts:
        strongest = max(moment.contacts, key=lambda contact: contact.normal_force)
        outwards = -(moment.T_world_object * strongest.T_object_contact).rotation[:, 2]
    eye, target = default_camera(task, outwards=outwards)
    away = distance * (eye - target)
    centre = task.body.mesh.bounds.mean(axis=0)
    # From nearby the hand's room above the object is not needed.
    above = min(distance**2, 1.0) * (target - task.T_world_object.act(centre))
    target = moment.T_world_object.act(centre) + above
    eye = target + away
    items = moment_drawables(task, surface, moment, look)
    camera = look_at(eye, target, field_of_view_deg=34.0)
    return render(items, camera, width=width, height=height, ground=floor_height(task))


def save_stills(plan: Plan, folder: str | Path, *, width: int = 960, height: int = 640) -> list[Path]:
    """PNG pictures of the best grasp: at rest, held (by displacement and by pressure), at the end."""
    if plan.best is None:
        return []
    surface = ObjectSurface(plan.task.body.mesh, plan.best)
    timeline = surface.timeline
    held, end = timeline.at(float(timeline.times[0])), timeline.at(timeline.duration)
    shots = {
        "start": (timeline.at(0.0), replace(CLOSE, hand_opacity=1.0), 4.0),
        "held_displacement": (held, CLOSE, 0.8),
        "held_pressure": (held, PATCHES, 0.55),
        "end": (end, replace(CLOSE, hand_opacity=1.0, cones=False), 1.15),
    }
    return [
        save_png(
            draw_moment(
                plan.task,
                surface,
                moment,
                look=look,
                width=width,
                height=height,
                distance=distance,
                face_contact=look.colour_by is ColourBy.PRESSURE,
            ),
            Path(folder) / f"{name}.png",
        )
        for name, (moment, look, distance) in shots.items()
    ]
