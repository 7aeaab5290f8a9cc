"""A plan on a viser scene: robot, object, surroundings and everything that explains the grasp, at any moment.

The object's shapes are sent once, as a row of coloured surfaces; moving through time only shows one and hides the
others, so that scrubbing is quick and nothing flickers. The shape of the moment goes first, the others follow.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import count, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.planner import Hypothesis, Moment, PlannedGrasp, Timeline
from pliant.viewer.scene.colours import ARROW, CENTRE, GHOST, LIQUID, REST
from pliant.viewer.scene.glb import glb_bytes
from pliant.viewer.scene.markers import ForceArrow, cone_mesh, marker_sizes, markers_at
from pliant.viewer.scene.object_surface import ObjectSurface
from pliant.viewer.scene.pad_dents import dent_patches
from pliant.viewer.scene.robot_surfaces import ColouredMesh, creased, ghost_mesh, hand_links
from pliant.viewer.scene.view_options import ViewOptions, floor_height
from pliant.viewer.scene.viewed_task import ViewedTask
from pliant.viewer.scene.viser_nodes import add_clear_mesh, add_lamps, add_mesh, place, rgb_bytes

TABLE = (0.80, 0.75, 0.67)


class PlanScene:
    """A task, and its plan if there is one, on a viser scene.

    Args:
        scene: viser's; of one tab, or of a server for a film.
        viewed: what there is to see. Its robot is copied: kinematics keep their own workspace here.
        options: how it is shown at first.
    """

    def __init__(self, scene: Any, viewed: ViewedTask, options: ViewOptions | None = None) -> None:
        self.scene, self.viewed, self.task = scene, viewed, viewed.task
        robot = self.task.assembly.robot
        self.assembly = replace(self.task.assembly, robot=robot.at(robot.T_world_base))
        self.options = options if options is not None else ViewOptions()
        self.rank: int | None = None
        self.surface: ObjectSurface | None = None
        self._generation = count()
        self._times: list[float] = []
        self._shapes: dict[int, Any] = {}
        self._series = 0
        self._shown: int | None = None
        self._labels: list[Any] = []
        self._cones: list[Any] = []
        self._dents: list[Any] = []
        self._ghosts: list[Any] = []
        self._liquid: Any = None
        self._links: dict[str, Any] = {}
        self._hand_shapes: dict[str, ColouredMesh] = {}
        self._hand: list[Any] = []
        self._hand_opacity = -1.0
        self._arm: list[Any] = []
        self._add_surroundings()
        self.object = scene.add_frame("/object", show_axes=False)
        sizes = marker_sizes(self.task.body.mesh)
        self._arrows = scene.add_arrows(
            "/forces",
            *_arrow_arrays([]),
            shaft_radius=sizes.arrow_radius,
            head_radius=sizes.head_radius,
            head_length=sizes.head_length,
            visible=False,
        )
        self._centre_at_rest = scene.add_icosphere(
            "/centre/rest", 1.35 * sizes.centre_radius, color=rgb_bytes(REST), opacity=0.5, visible=False
        )
        self._centre = scene.add_icosphere("/centre/now", sizes.centre_radius, color=rgb_bytes(CENTRE), visible=False)
        self.show_rank(None)

    # -- what does not change with time --------------------------------------------------------------------------

    def _add_surroundings(self) -> None:
        self.scene.set_up_direction("+z")
        add_lamps(self.scene, self.task.T_world_object.translation)
        for i, mesh in enumerate(self.task.scene):
            add_mesh(self.scene, f"/scene/{i}", creased(mesh), TABLE)
        self.scene.add_grid(
            "/floor",
            width=4.0,
            height=4.0,
            position=(0.0, 0.0, floor_height(self.task) - 1e-3),
            cell_size=0.1,
            section_size=0.5,
            cell_color=(214, 217, 222),
            section_color=(190, 195, 202),
        )

    def add_robot(self, moment: Moment | None) -> None:
        """Put the robot on the scene as it stands at a moment; its many meshes come after the object."""
        of_hand = set(hand_links(self.assembly))
        for n, (name, shapes) in enumerate(self.viewed.robot_shapes().items()):
            # By number: a slash in a link's name would hang it on another link.
            self._links[name] = self.scene.add_frame(f"/robot/{n}", show_axes=False)
            nodes = {f"/robot/{n}/{k}": shape for k, shape in enumerate(shapes)}
            if name in of_hand:
                self._hand_shapes |= nodes
            else:
                self._arm += [add_mesh(self.scene, node, *shape) for node, shape in nodes.items()]
        self._style_robot()
        self._place_robot(moment)

    def _style_robot(self) -> None:
        opacity = self.options.hand_opacity
        if self._hand_opacity != opacity and self._hand_shapes:
            self._hand_opacity = opacity
            # A node of the same name takes the place of the one before.
            self._hand = [
                add_clear_mesh(self.scene, node, *shape, opacity=opacity)
                if opacity < 1.0
                else add_mesh(self.scene, node, *shape)
                for node, shape in self._hand_shapes.items()
            ]
        for handle in self._arm:
            handle.visible = self.options.arm

    def _place_robot(self, moment: Moment | None) -> None:
        q = moment.q if moment is not None else self.task.q_start
        for handle, T in zip(self._links.values(), self.assembly.robot.poses(list(self._links), q), strict=True):
            place(handle, T)

    # -- what changes with the grasp -----------------------------------------------------------------------------

    @property
    def grasp(self) -> PlannedGrasp | None:
        """The grasp that is shown."""
        return self.viewed.grasps[self.rank] if self.rank is not None else None

    @property
    def timeline(self) -> Timeline | None:
        """Of the grasp that is shown."""
        return self.surface.timeline if self.surface is not None else None

    def at(self, time: float) -> Moment | None:
        """The moment of the grasp that is shown at a time."""
        return self.surface.timeline.at(time) if self.surface is not None else None

    def show_rank(self, rank: int | None) -> None:
        """Prepare a kept grasp; with none the object lies where the task puts it."""
        self._drop(self._labels)
        self._drop(self._cones)
        self.rank = rank
        self.surface = self.viewed.surface(rank) if rank is not None else None
        contacts = max((len(state.contacts) for state in self.grasp.states), default=0) if self.grasp is not None else 0
        cone = cone_mesh(self.task.body.material.friction, marker_sizes(self.task.body.mesh).cone_height)
        style = {"opacity": 0.16, "side": "double", "cast_shadow": False, "receive_shadow": False, "visible": False}
        self._cones = [add_mesh(self.scene, f"/cones/{i}", cone, ARROW, **style) for i in range(contacts)]
        self._labels = [
            self.scene.add_label(f"/labels/{i}", "", visible=False, font_screen_scale=1.0, anchor="bottom-center")
            for i in range(contacts + 1 + len(self.task.goal.disturbances))  # one for the weight
        ]
        self._new_shapes()

    def restyle(self, options: ViewOptions) -> None:
        """Change what is shown, and how; the forces, cones and centres follow with the next moment that is shown."""
        before, self.options = self.options, options
        if (before.colour_by, before.exaggerate) != (options.colour_by, options.exaggerate):
            time = self._times[self._shown] if self._shown is not None else 0.0
            self._new_shapes()
            self._pick_shape(time)
        self._style_robot()

    def _new_shapes(self) -> None:
        """The old shapes go; the new ones come as they are wanted."""
        old = list(self._shapes.values())
        self._times = self.viewed.shape_times(self.rank)
        self._shapes, self._shown, self._series = {}, None, next(self._generation)
        self._drop(old)

    def send_next_shape(self) -> bool:
        """Send one shape that has not been wanted yet, hidden; False when all are there."""
        missing = [k for k in range(len(self._times)) if k not in self._shapes]
        if missing:
            self._send_shape(missing[0], visible=False)
        return len(missing) > 1

    def _send_shape(self, number: int, *, visible: bool) -> None:
        data = self.viewed.shape(self.rank, self.options, number)
        name = f"/object/shape_{self._series}_{number}"
        self._shapes[number] = self.scene.add_glb(name, data, visible=visible)

    # -- what changes with time ----------------------------------------------------------------------------------

    def show(self, moment: Moment | None) -> None:
        """Bring everything to a moment; with none to the task's start."""
        if self._links:
            self._place_robot(moment)
        place(self.object, moment.T_world_object if moment is not None else self.task.T_world_object)
        self._pick_shape(0.0 if moment is None else moment.time)
        markers = markers_at(self.task, self.timeline, moment)
        self._show_forces(markers.arrows)
        for handle, T in zip_longest(self._cones, markers.Ts_world_cone):
            handle.visible = self.options.cones and T is not None
            if T is not None:
                place(handle, T)
        for handle, centre in ((self._centre, markers.centre), (self._centre_at_rest, markers.centre_at_rest)):
            handle.visible = self.options.centres and centre is not None
            if centre is not None:
                handle.position = centre
        self._show_liquid(markers.liquid)
        self._show_dents(moment)

    def _pick_shape(self, time: float) -> None:
        index = int(np.argmin([abs(t - time) for t in self._times]))
        if index == self._shown:
            return
        if index in self._shapes:
            self._shapes[index].visible = True
        else:
            self._send_shape(index, visible=True)
        if self._shown is not None:
            self._shapes[self._shown].visible = False
        self._shown = index

    def _show_forces(self, arrows: list[ForceArrow]) -> None:
        self._arrows.visible = bool(arrows) and self.options.forces
        if arrows:
            self._arrows.points, self._arrows.colors = _arrow_arrays(arrows)
        # A contact that hardly carries anything keeps its arrow; its label would only cover the others.
        least = 0.02 * max((arrow.force for arrow in arrows if arrow.contact is not None), default=0.0)
        labelled = [arrow for arrow in arrows if arrow.force > least]
        for handle, arrow in zip_longest(self._labels, labelled):
            handle.visible = self.options.forces and self.options.labels and arrow is not None
            if arrow is not None:
                handle.text = arrow.label
                handle.position = arrow.outer

    def _show_dents(self, moment: Moment | None) -> None:
        patches = []
        if self.options.dents and moment is not None and self.grasp is not None:
            patches = dent_patches(self.grasp, moment, self.options.exaggerate)
        self._drop(self._dents[len(patches) :])
        del self._dents[len(patches) :]
        for i, patch in enumerate(patches):
            data = glb_bytes(patch.mesh.vertices, patch.mesh.faces, patch.colours)
            handle = self.scene.add_glb(f"/dents/{i}", data)
            self._dents[i : i + 1] = [handle]

    def _show_liquid(self, surface: Mesh | None) -> None:
        if self._liquid is not None:
            self._liquid.visible = surface is not None
        if surface is not None:
            self._liquid = add_mesh(self.scene, "/liquid", surface, LIQUID, opacity=0.75, side="double")

    # -- ghosts --------------------------------------------------------------------------------------------------

    def show_ghosts(self, ghosts: list[tuple[Hypothesis, Floats | None]]) -> None:
        """Hands where hypotheses put them, seen through; fingers as in ``q`` or open."""
        self._drop(self._ghosts)
        opacity = 0.3 if len(ghosts) < 4 else 0.12
        for hypothesis, q in ghosts:
            mesh = ghost_mesh(self.assembly, hypothesis, self.task.T_world_object, q)
            node = f"/ghosts/{next(self._generation)}"
            self._ghosts.append(add_clear_mesh(self.scene, node, creased(mesh), GHOST, opacity=opacity))

    def clear(self) -> None:
        """Take everything off the scene."""
        self.scene.reset()

    @staticmethod
    def _drop(handles: list[Any]) -> None:
        while handles:
            with suppress(KeyError):
                handles.pop().remove()


def _arrow_arrays(arrows: list[ForceArrow]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    points = np.array([[a.start, a.end] for a in arrows], dtype=np.float32).reshape(-1, 2, 3)
    colours = np.array([rgb_bytes(a.colour) for a in arrows], dtype=np.uint8)
    return points, colours.reshape(-1, 3)
