"""Still pictures of a plan: what the page shows, drawn without a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.objects import Mesh
from pliant.planner import Moment, Plan, Task, Timeline
from pliant.viewer.scene.colours import ARROW, CENTRE, LIQUID
from pliant.viewer.scene.drawables import Drawable, arrow, ball
from pliant.viewer.scene.markers import cone_mesh, marker_sizes, markers_at
from pliant.viewer.scene.object_surface import VESSEL_OPACITY, ColourBy, ObjectSurface
from pliant.viewer.scene.pad_dents import dent_patches
from pliant.viewer.scene.robot_surfaces import hand_links, robot_drawables
from pliant.viewer.scene.view_options import FIELD_OF_VIEW, ViewOptions, default_viewpoint, floor_height
from pliant.viewer.scene.viewed_task import ViewedTask
from pliant.viewer.still.render import look_at, png_bytes, render, save_png

WOOD = (0.60, 0.56, 0.50)
"""The page's table colour under the stills' stronger lamp."""
CLOSE_UP = ViewOptions(hand_opacity=0.28, arm=True)
CONTACT_PATCHES = ViewOptions(colour_by=ColourBy.PRESSURE, hand_opacity=0.07, arm=False, forces=False, cones=False)
"""Nothing in front of the contact patches."""


class Shot(NamedTuple):
    """A picture of a grasp that is worth taking.

    Attributes:
        name: of the file.
        caption: what is seen.
        moment, options, distance: as for ``draw_moment``.
    """

    name: str
    caption: str
    moment: Moment
    options: ViewOptions
    distance: float


def shots_of(timeline: Timeline) -> list[Shot]:
    """At the start, held (by displacement and by pressure) and at the end."""
    held, end = timeline.at(timeline.grasp_time), timeline.at(timeline.duration)
    solid = replace(CLOSE_UP, hand_opacity=1.0)
    return [
        Shot("start", "at the start", timeline.at(0.0), solid, 4.0),
        Shot("held_displacement", "held, coloured by displacement", held, CLOSE_UP, 0.8),
        Shot("held_pressure", "held, coloured by contact pressure", held, CONTACT_PATCHES, 0.55),
        Shot("end", "at the end of the operation", end, replace(solid, cones=False), 1.15),
    ]


def moment_drawables(
    task: Task, surface: ObjectSurface, moment: Moment, options: ViewOptions = CLOSE_UP
) -> list[Drawable]:
    """Everything at one moment of a grasp."""
    robot = task.assembly.robot.at(task.assembly.robot.T_world_base)
    of_hand = set(hand_links(task.assembly))
    items = []
    for item in robot_drawables(robot, moment.q):
        if item.name in of_hand:
            items.append(replace(item, opacity=options.hand_opacity))
        elif options.arm:
            items.append(item)
    vertices = surface.vertices(moment, exaggerate=options.exaggerate)
    colours = surface.colours(moment, options.colour_by)
    deformed = Mesh(vertices, surface.faces).transformed(moment.T_world_object)
    opacity = VESSEL_OPACITY if task.body.liquid is not None else 1.0
    items.append(Drawable(deformed, colours, "object", gloss=0.12, opacity=opacity))
    items += [Drawable(_tiled(mesh), WOOD, "scene", gloss=0.05) for mesh in task.scene]
    return [*items, *_marker_drawables(task, surface.timeline, moment, options)]


def _marker_drawables(task: Task, timeline: Timeline, moment: Moment, options: ViewOptions) -> list[Drawable]:
    sizes, markers = marker_sizes(task.body.mesh), markers_at(task, timeline, moment)
    items: list[Drawable] = []
    if options.forces:
        items += [
            arrow(item.start, item.end - item.start, radius=sizes.arrow_radius, colour=item.colour)
            for item in markers.arrows
        ]
    if options.cones:
        cone = cone_mesh(task.body.material.friction, sizes.cone_height)
        items += [Drawable(cone.transformed(T), ARROW, "cone", gloss=0.0, opacity=0.16) for T in markers.Ts_world_cone]
    if options.centres and markers.centre is not None:
        items.append(ball(markers.centre, radius=sizes.centre_radius, colour=CENTRE))
    if options.dents:
        patches = dent_patches(timeline.grasp, moment, options.exaggerate)
        items += [Drawable(patch.mesh, patch.colours, "dent", gloss=0.0) for patch in patches]
    if markers.liquid is not None:
        items.append(Drawable(markers.liquid, LIQUID, "liquid", gloss=0.4))
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
    options: ViewOptions = CLOSE_UP,
    width: int = 960,
    height: int = 640,
    distance: float = 1.0,
) -> NDArray[np.uint8]:
    """The picture of one moment; coloured by pressure it is taken from the side of the strongest contact.

    Args:
        distance: of the camera, 1 for the object with its fingers, larger for more of the arm.
    """
    outwards = None
    if options.colour_by is ColourBy.PRESSURE and moment.contacts:
        strongest = max(moment.contacts, key=lambda contact: contact.normal_force)
        outwards = -(moment.T_world_object * strongest.T_object_contact).rotation[:, 2]
    eye, target = default_viewpoint(task, outwards=outwards)
    away = distance * (eye - target)
    centre = task.body.mesh.bounds.mean(axis=0)
    # From nearby the hand's room above the object is not needed.
    above = min(distance**2, 1.0) * (target - task.T_world_object.act(centre))
    target = moment.T_world_object.act(centre) + above
    camera = look_at(target + away, target, field_of_view_deg=34.0)
    items = moment_drawables(task, surface, moment, options)
    return render(items, camera, width=width, height=height, ground=floor_height(task))


def opening_still(viewed: ViewedTask, *, width: int = 480, height: int = 300) -> bytes:
    """The PNG file of what a page shows of a plan when it opens, from where its camera stands; coarse, but soon."""
    task, surface = viewed.task, viewed.surface(viewed.first)
    moment = surface.timeline.at(float(surface.timeline.times[0]))
    eye, target = default_viewpoint(task)
    camera = look_at(eye, target, field_of_view_deg=np.degrees(FIELD_OF_VIEW))
    items = moment_drawables(task, surface, moment, ViewOptions())
    return png_bytes(render(items, camera, width=width, height=height))


def save_stills(plan: Plan, folder: str | Path, *, width: int = 960, height: int = 640) -> list[Path]:
    """PNG pictures of the best grasp: at the start, held (by displacement and by pressure), at the end."""
    if plan.best is None:
        return []
    surface = ObjectSurface(plan.task.body.mesh, plan.best)
    files = []
    for name, _, moment, options, distance in shots_of(surface.timeline):
        size = {"width": width, "height": height}
        picture = draw_moment(plan.task, surface, moment, options=options, distance=distance, **size)
        files.append(save_png(picture, Path(folder) / f"{name}.png"))
    return files
