"""What a viewer shows: a task and its plan, with its geometry prepared once for all tabs that show it.

Tabs differ in what they choose to see, not in what there is to see: surfaces, coloured shapes and the robot's meshes
are made on first use and shared. They go when the last tab that shows them closes or opens something else.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.planner import Plan, PlannedGrasp, Task
from pliant.viewer.scene.glb import glb_bytes
from pliant.viewer.scene.object_surface import PLAIN, VESSEL_OPACITY, ColourBy, ObjectSurface
from pliant.viewer.scene.robot_surfaces import ColouredMesh, link_shapes
from pliant.viewer.scene.view_options import ViewOptions

if TYPE_CHECKING:
    from pliant.viewer.report.measured import RunMeasurements

CACHED_SHAPES = 256
"""Coloured shapes that are kept; at most 24 belong to one grasp in one colouring."""


class ViewedTask:
    """A task, and its plan if there is one, or the grasps that a search has found so far (``add``).

    Args:
        task: what stands around.
        plan: of this task.
        measured: what a run of the plan measured.
        folder: where relative paths of the task start.
    """

    def __init__(
        self, task: Task, plan: Plan | None = None, measured: RunMeasurements | None = None, folder: Path | None = None
    ) -> None:
        self.task, self.plan, self.measured = task, plan, measured
        self.folder = folder if folder is not None else Path()
        self._found: tuple[PlannedGrasp, ...] = ()
        self._robot: dict[str, list[ColouredMesh]] | None = None
        self._surfaces: dict[int, ObjectSurface] = {}
        self._shapes: OrderedDict[tuple[int | None, ColourBy, float, int], bytes] = OrderedDict()
        # Two locks: a tab that wants the object need not wait for another one's robot.
        self._robot_lock, self._lock = threading.Lock(), threading.RLock()

    @property
    def grasps(self) -> tuple[PlannedGrasp, ...]:
        """Kept grasps, best first; while a search goes on, those found so far, each better than those before."""
        return self.plan.grasps if self.plan is not None else self._found

    def add(self, grasp: PlannedGrasp) -> None:
        """A search has found a better grasp. The ranks of the others stay: their shapes are cached by rank."""
        self._found = (*self._found, grasp)

    @property
    def first(self) -> int:
        """Rank of the grasp to show first: the one that was run, else the best."""
        if self.plan is None:
            return max(len(self._found) - 1, 0)
        return self.measured.rank or 0 if self.measured is not None else 0

    def prepare(self) -> None:
        """Make what every tab shows first: the object of the first grasp, then the robot."""
        rank = self.first if self.grasps else None
        for number in range(len(self.shape_times(rank))):
            self.shape(rank, ViewOptions(), number)
        self.robot_shapes()

    def robot_shapes(self) -> dict[str, list[ColouredMesh]]:
        """Visual shapes and colours of every link, in its own frame."""
        with self._robot_lock:
            if self._robot is None:
                self._robot = link_shapes(self.task.assembly)
            return self._robot

    def surface(self, rank: int) -> ObjectSurface:
        """The displayed surface of a kept grasp."""
        with self._lock:
            if rank not in self._surfaces:
                self._surfaces[rank] = ObjectSurface(self.task.body.mesh, self.grasps[rank])
            return self._surfaces[rank]

    def shape_times(self, rank: int | None) -> list[float]:
        """When the object's shape is worth showing anew [s]; once if there is no grasp."""
        return self.surface(rank).key_times if rank is not None else [0.0]

    def shape(self, rank: int | None, options: ViewOptions, number: int) -> bytes:
        """The object at one of its shape times as a coloured surface, ready to be sent."""
        key = rank, options.colour_by, options.exaggerate, number
        times = self.shape_times(rank)
        with self._lock:
            if key not in self._shapes:
                self._shapes[key] = self._coloured(rank, options, times[number])
                while len(self._shapes) > CACHED_SHAPES:
                    self._shapes.popitem(last=False)
            self._shapes.move_to_end(key)
            return self._shapes[key]

    def _coloured(self, rank: int | None, options: ViewOptions, time: float) -> bytes:
        opacity = 1.0 if self.task.body.liquid is None else VESSEL_OPACITY
        if rank is None:
            mesh = self.task.body.mesh
            return glb_bytes(mesh.vertices, mesh.faces, np.tile(PLAIN, (len(mesh.vertices), 1)), opacity=opacity)
        surface = self.surface(rank)
        moment = surface.timeline.at(time)
        return glb_bytes(
            surface.vertices(moment, exaggerate=options.exaggerate),
            surface.faces,
            surface.colours(moment, options.colour_by),
            opacity=opacity,
        )
