"""The scene in one tab: robot, object, surroundings and everything that explains the grasp, at any moment.

The object's shapes are sent once, as a row of coloured surfaces; moving through time only shows one and hides the
others, so that scrubbing is quick and nothing flickers. The shape of the moment goes first, the others follow.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.objects import Mesh
from pliant.planner import Hypothesis, Moment, PlannedGrasp, Task, Timeline
from pliant.viewer.page.view_options import LIQUID, Look, floor_height
from pliant.viewer.scene.colours import ARROW, CENTRE, GHOST, REST, WEIGHT
from pliant.viewer.scene.lamps import add_lamps
from pliant.viewer.scene.markers import (
    ForceArrow,
    arrow_scale,
    centre_of_mass,
    cone_mesh,
    force_arrows,
    liquid_at,
    weight_arrow,
)
from pliant.viewer.scene.object_surface import ObjectSurface
from pliant.viewer.scene.robot_surfaces import creased, ghost_mesh, hand_links
from pliant.viewer.scene.shown import Opened

TABLE = (0.80, 0.75, 0.67)


class Stage:
    """A task on a viser scene.

    Args:
        scene: viser's; of one tab, or of a server for a film.
        opened: what there is to see. Its robot is copied: kinematics keep their own workspace here.
        look: how it is shown at first.
    """

    def __init__(self, scene: Any, opened: Opened, look: Look | None = None) -> None:
        self.scene, self.opened, self.task = scene, opened, opened.task
        robot = self.task.assembly.robot
        self.assembly = replace(self.task.assembly, robot=robot.at(robot.T_world_base))
        self.look = look if look is not None else Look()
        self.rank: int | None = None
        self.surface: ObjectSurface | None = None
        self._scale = 0.0
        self._generation = count()
        self._times: list[float] = []
        self._shapes: dict[int, Any] = {}
        self._series = 0
        self._shown: int | None = None
        self._labels: list[Any] = []
        self._cones: list[Any] = []
        self._ghosts: list[Any] = []
        self._liquid: Any = None
        self._links: dict[str, Any] = {}
        self._hand: list[Any] = []
        self._arm: list[Any] = []
        self._set_scene()
        self.object = scene.add_frame("/object", show_axes=False)
        self._arrows = scene.add_arrows("/forces", *_arrow_arrays([]), **_arrow_sizes(self.task), visible=False)
        self._balls = self._set_centres()
        self.show_rank(None)

    # -- what does not change with time --------------------------------------------------------------------------

    def _set_scene(self) -> None:
        self.scene.set_up_direction("+z")
        add_lamps(self.scene, self.task.T_world_object.translation)
        for i, mesh in enumerate(self.task.scene):
            shape = creased(mesh)
            self.scene.add_mesh_simple(f"/scene/{i}", shape.vertices, shape.faces, color=_bytes(TABLE))
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
        for n, (name, shapes) in enumerate(self.opened.robot_shapes().items()):
            # By number: a slash in a link's name would hang it on another link.
            self._links[name] = self.scene.add_frame(f"/robot/{n}", show_axes=False)
            for k, (mesh, colour) in enumerate(shapes):
                handle = self.scene.add_mesh_simple(
                    f"/robot/{n}/{k}",
                    mesh.vertices,
                    mesh.faces,
                    color=_bytes(colour),
                )
                (self._hand if name in of_hand else self._arm).append(handle)
        self._style_robot()
        self._place_robot(moment)

    def _style_robot(self) -> None:
        for handle in self._hand:
            handle.opacity = self.look.hand_opacity if self.look.hand_opacity < 1.0 else None
            handle.cast_shadow = self.look.hand_opacity >= 0.6
        for handle in self._arm:
            handle.visible = self.look.arm

    def _place_robot(self, moment: Moment | None) -> None:
        q = moment.q if moment is not None else self.task.q_start
        for handle, T in zip(self._links.values(), self.assembly.robot.poses(list(self._links), q), strict=True):
            _place(handle, T)

    def _set_centres(self) -> tuple[Any, Any]:
        size = 0.035 * float(self.task.body.mesh.extents.max())
        rest = self.scene.add_icosphere("/centre/rest", 1.35 * size, color=_bytes(REST), opacity=0.5, visible=False)
        now = self.scene.add_icosphere("/centre/now", size, color=_bytes(CENTRE), visible=False)
        return rest, now

    # -- what changes with the grasp -----------------------------------------------------------------------------

    @property
    def grasp(self) -> PlannedGrasp | None:
        """The grasp that is shown."""
        return self.opened.grasps[self.rank] if self.rank is not None else None

    def show_rank(self, rank: int | None) -> None:
        """Prepare a kept grasp; with none the object lies where the task puts it."""
        self._drop(self._labels)
        self._drop(self._cones)
        self.rank = rank
        self.surface = self.opened.surface(rank) if rank is not None else None
        grasp = self.grasp
        if grasp is not None:
            self._scale = arrow_scale(grasp, self.task.body.mesh)
            height = 0.45 * float(self.task.body.mesh.extents.max())
            cone = cone_mesh(self.task.body.material.friction, height)
            for i in range(max(len(state.contacts) for state in grasp.states)):
                self._cones.append(
                    self.scene.add_mesh_simple(
                        f"/cones/{i}",
                        cone.vertices,
                        cone.faces,
                        color=_bytes(ARROW),
                        opacity=0.16,
                        side="double",
                        cast_shadow=False,
                        receive_shadow=False,
                        visible=False,
                    )
                )
                self._labels.append(self._label(f"/labels/force_{i}"))
            self._labels.append(self._label("/labels/weight"))
        self._new_shapes()

    def restyle(self, look: Look) -> None:
        """Show things another way."""
        before, self.look = self.look, look
        if (before.colour_by, before.exaggerate) != (look.colour_by, look.exaggerate):
            time = self._times[self._shown] if self._shown is not None else 0.0
            self._new_shapes()
            self._pick_shape(time)
        self._style_robot()

    def _new_shapes(self) -> None:
        """The old shapes go; the new ones come as they are wanted."""
        old = list(self._shapes.values())
        self._times = self.opened.shape_times(self.rank)
        self._shapes, self._shown, self._series = {}, None, next(self._generation)
        self._drop(old)

    def send_next_shape(self) -> bool:
        """Send one shape that has not been wanted yet, hidden; False when all are there."""
        missing = [k for k in range(len(self._times)) if k not in self._shapes]
        if missing:
            self._send_shape(missing[0], visible=False)
        return len(missing) > 1

    def _send_shape(self, number: int, *, visible: bool) -> None:
        data = self.opened.shape(self.rank, self.look, number)
        name = f"/object/shape_{self._series}_{number}"
        self._shapes[number] = self.scene.add_glb(name, data, visible=visible)

    # -- what changes with time ----------------------------------------------------------------------------------

    def show(self, moment: Moment | None) -> None:
        """Bring everything to a moment; with none to the task's start."""
        if self._links:
            self._place_robot(moment)
        T_object = moment.T_world_object if moment is not None else self.task.T_world_object
        _place(self.object, T_object)
        self._pick_shape(0.0 if moment is None else moment.time)
        self._show_forces(moment)
        self._show_centres(moment)
        self._show_liquid(moment, T_object)

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

    def _show_forces(self, moment: Moment | None) -> None:
        arrows = force_arrows(moment, self._scale) if moment is not None else []
        arrows = [arrow for arrow in arrows if arrow.force > 0.0]
        cones = [moment.T_world_object * c.T_object_contact for c in moment.contacts] if moment is not None else []
        for handle, T in zip(self._cones, [*cones, *[None] * (len(self._cones) - len(cones))], strict=False):
            handle.visible = self.look.cones and T is not None
            if T is not None:
                _place(handle, T)
        weight = None
        if moment is not None:
            weight = weight_arrow(moment, self._scale, GRAVITY * self.task.body.mass)
        drawn = [*arrows, *([weight] if weight is not None else [])]
        self._arrows.visible = bool(drawn) and self.look.forces
        if drawn:
            points, colours = _arrow_arrays(drawn)
            self._arrows.points, self._arrows.colors = points, colours
        self._show_labels(arrows, weight)

    def _show_labels(self, arrows: list[ForceArrow], weight: ForceArrow | None) -> None:
        shown = self.look.forces and self.look.labels
        if not self._labels:
            return
        *of_contacts, of_weight = self._labels
        slots: list[ForceArrow | None] = [*arrows, *[None] * (len(of_contacts) - len(arrows))]
        for handle, arrow in zip([*of_contacts, of_weight], [*slots[: len(of_contacts)], weight], strict=True):
            # A contact that hardly carries anything keeps its arrow; its label would only cover the others.
            visible = shown and arrow is not None and arrow.force > 0.02 * max((a.force for a in arrows), default=0.0)
            handle.visible = visible
            if visible and arrow is not None:
                handle.text = arrow.label
                handle.position = arrow.start if arrow.contact is not None else arrow.end

    def _show_centres(self, moment: Moment | None) -> None:
        rest, now = self._balls
        visible = self.look.centres and moment is not None and moment.state is not None
        for handle in (rest, now):
            handle.visible = visible
        if visible and moment is not None:
            rest.position = centre_of_mass(moment, at_rest=True)
            now.position = centre_of_mass(moment)

    def _show_liquid(self, moment: Moment | None, T_world_object: pin.SE3) -> None:
        face = liquid_at(self.task.body, self.timeline, moment, T_world_object)
        if self._liquid is not None:
            self._liquid.visible = face is not None
        if face is not None:
            self._liquid = self.scene.add_mesh_simple(
                "/liquid", face.vertices, face.faces, color=_bytes(LIQUID), opacity=0.75, side="double"
            )

    # -- ghosts --------------------------------------------------------------------------------------------------

    def show_ghosts(self, ghosts: list[tuple[Hypothesis, Floats | None]]) -> None:
        """Hands where hypotheses put them, seen through; fingers as in ``q`` or open."""
        self._drop(self._ghosts)
        for i, (hypothesis, q) in enumerate(ghosts):
            mesh: Mesh = ghost_mesh(self.assembly, hypothesis, self.task.T_world_object, q)
            self._ghosts.append(
                self.scene.add_mesh_simple(
                    f"/ghosts/{next(self._generation)}_{i}",
                    mesh.vertices,
                    mesh.faces,
                    color=_bytes(GHOST),
                    opacity=0.3 if len(ghosts) < 4 else 0.12,
                    cast_shadow=False,
                    receive_shadow=False,
                )
            )

    def at(self, time: float) -> Moment | None:
        """The moment of the current grasp at a time."""
        return self.surface.timeline.at(time) if self.surface is not None else None

    @property
    def timeline(self) -> Timeline | None:
        """Of the current grasp."""
        return self.surface.timeline if self.surface is not None else None

    def clear(self) -> None:
        """Take everything off the scene."""
        self.scene.reset()

    def _label(self, name: str) -> Any:
        return self.scene.add_label(name, "", visible=False, font_screen_scale=1.0, anchor="bottom-center")

    @staticmethod
    def _drop(handles: list[Any]) -> None:
        while handles:
            with suppress(KeyError):
                handles.pop().remove()


def _bytes(colour: tuple[float, float, float]) -> tuple[int, int, int]:
    r, g, b = (round(255 * channel) for channel in colour)
    return r, g, b


def _place(handle: Any, T: pin.SE3) -> None:
    x, y, z, w = pin.Quaternion(T.rotation).coeffs()
    handle.wxyz = (w, x, y, z)
    handle.position = np.array(T.translation)


def _arrow_arrays(arrows: list[ForceArrow]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    points = np.array([[a.start, a.end] for a in arrows], dtype=np.float32).reshape(-1, 2, 3)
    colours = np.array([_bytes(ARROW if a.contact is not None else WEIGHT) for a in arrows], dtype=np.uint8)
    return points, colours.reshape(-1, 3)


def _arrow_sizes(task: Task) -> dict[str, float]:
    size = float(task.body.mesh.extents.max())
    return {"shaft_radius": 0.016 * size, "head_radius": 0.045 * size, "head_length": 0.11 * size}
