"""What is open in a viewer, with its geometry prepared once for all tabs that show it.

Tabs differ in what they choose to see, not in what there is to see: surfaces, coloured shapes and the robot's meshes
are made on first use and shared. They go when the last tab that shows them closes or opens something else.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np

from pliant.objects import Mesh
from pliant.planner import Plan, PlannedGrasp, Task
from pliant.viewer.page.view_options import VESSEL_OPACITY, Look
from pliant.viewer.report.measured import Measured
from pliant.viewer.scene.glb import glb_bytes
from pliant.viewer.scene.object_surface import PLAIN, ObjectSurface
from pliant.viewer.scene.robot_surfaces import link_shapes

MOST_SHAPES = 256
"""Coloured shapes that are kept; at most 24 belong to one grasp in one colouring."""


class Opened:
    """A task, and its plan if there is one.

    Args:
        task: what stands around.
        plan: of this task.
        measured: what a run of the plan measured.
        folder: where relative paths of the task start.
    """

    def __init__(
        self, task: Task, plan: Plan | None = None, measured: Measured | None = None, folder: Path | None = None
    ) -> None:
        self.task, self.plan, self.measured = task, plan, measured
        self.folder = folder if folder is not None else Path()
        self._robot: dict[str, list[tuple[Mesh, tuple[float, float, float]]]] | None = None
        self._surfaces: dict[int, ObjectSurface] = {}
        self._times: dict[int, list[float]] = {}
        self._shapes: OrderedDict[tuple[int | None, str, float, int], bytes] = OrderedDict()
        # Two locks: a tab that wants the object need not wait for another one's robot.
        self._robot_lock, self._lock = threading.Lock(), threading.Lock()

    @property
    def grasps(self) -> tuple[PlannedGrasp, ...]:
        """Kept grasps, best first."""
        return self.plan.grasps if self.plan is not None else ()

    @property
    def first(self) -> int:
        """Rank of the grasp to show first: the one that was run, else the best."""
        return self.measured.rank or 0 if self.measured is not None else 0

    def prepare(self) -> None:
        """Make what every tab shows first: the object of the first grasp, then the robot."""
        look = Look()
        if self.grasps:
            self.surface(self.first)
            for k in range(len(self.shape_times(self.first))):
                self.shape(self.first, look, k)
        else:
            self.shape(None, look, 0)
        self.robot_shapes()

    def robot_shapes(self) -> dict[str, list[tuple[Mesh, tuple[float, float, float]]]]:
        """Visual shapes and colours of every link, in its own frame."""
        with self._robot_lock:
            if self._robot is None:
                self._robot = link_shapes(self.task.assembly)
            return self._robot

    def surface(self, rank: int) -> ObjectSurface:
        """The displayed surface of a kept grasp."""
        with self._lock:
            return self._surface(rank)

    def shape_times(self, rank: int | None) -> list[float]:
        """When the object's shape is worth showing anew [s]; once if there is no grasp."""
        if rank is None:
            return [0.0]
        with self._lock:
            if rank not in self._times:
                self._times[rank] = self._surface(rank).key_times()
            return self._times[rank]

    def shape(self, rank: int | None, look: Look, number: int) -> bytes:
        """The object at one of its shape times as a coloured surface, ready to be sent."""
        key = (rank, look.colour_by.value, look.exaggerate, number)
        times = self.shape_times(rank)
        with self._lock:
            if key not in self._shapes:
                self._shapes[key] = self._coloured(rank, look, times[number])
                while len(self._shapes) > MOST_SHAPES:
                    self._shapes.popitem(last=False)
            self._shapes.move_to_end(key)
            return self._shapes[key]

    def _surface(self, rank: int) -> ObjectSurface:
        if rank not in self._surfaces:
            self._surfaces[rank] = ObjectSurface(self.task.body.mesh, self.grasps[rank])
        return self._surfaces[rank]

    def _coloured(self, rank: int | None, look: Look, time: float) -> bytes:
        opacity = 1.0 if self.task.body.liquid is None else VESSEL_OPACITY
        if rank is None:
            mesh = self.task.body.mesh
            return glb_bytes(mesh.vertices, mesh.faces, np.tile(PLAIN, (len(mesh.vertices), 1)), opacity=opacity)
        surface = self._surface(rank)
        moment = surface.timeline.at(time)
        return glb_bytes(
            surface.vertices(moment, exaggerate=look.exaggerate),
            surface.faces,
            surface.colours(moment, look.colour_by),
            opacity=opacity,
        )
