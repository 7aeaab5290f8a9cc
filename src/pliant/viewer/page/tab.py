"""One tab: its own grasp, time, options and playing. What it does, no other tab sees."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.planner import Plan, PlannedGrasp, Task
from pliant.viewer.page.player import Player
from pliant.viewer.report.measured import RunMeasurements
from pliant.viewer.scene.plan_scene import PlanScene
from pliant.viewer.scene.view_options import FIELD_OF_VIEW, ViewOptions, default_viewpoint
from pliant.viewer.scene.viewed_task import ViewedTask

if TYPE_CHECKING:
    from pliant.viewer.page.viewer_page import Viewer

NARROW = 640
"""Below this width [pixels] a scene that is higher than wide has the panel over it instead of beside it."""


class Tab:
    """The state of one tab, from its connection to its end.

    What changes it does nothing before anything is open and after the tab has gone. Methods with an argument
    ``dragged`` are called from a slider that is being dragged and may have moved on since: they leave it where it is.

    Args:
        viewer: the server's side: what is open for new tabs, and who plans.
        client: viser's, with a scene and controls of its own; a server will do where no browser is.
    """

    def __init__(self, viewer: Viewer, client: Any) -> None:
        from pliant.viewer.page.panels import Panels

        self.viewer, self.client = viewer, client
        self.lock = threading.RLock()
        self.closed = False
        self.viewed: ViewedTask | None = None
        self.plan_scene: PlanScene | None = None
        self.options = ViewOptions()
        self.rank = 0
        self.player = Player(self._play_on)
        with client.atomic():
            self.panels = Panels(self)
        if hasattr(client, "camera"):
            client.camera.on_update(self._camera_moved)

    # -- what is open --------------------------------------------------------------------------------------------

    @property
    def task(self) -> Task | None:
        """What is open."""
        return self.viewed.task if self.viewed is not None else None

    @property
    def plan(self) -> Plan | None:
        """The plan, if there is one."""
        return self.viewed.plan if self.viewed is not None else None

    @property
    def measured(self) -> RunMeasurements | None:
        """What a run of the grasp that is shown measured."""
        measured = self.viewed.measured if self.viewed is not None else None
        return measured.of(self.rank) if measured is not None else None

    @property
    def grasp(self) -> PlannedGrasp | None:
        """The grasp that is shown."""
        return self.plan_scene.grasp if self.plan_scene is not None else None

    def open(self, viewed: ViewedTask, *, keep_fields: bool = False) -> None:
        """Show a task or a plan: the object first, then the robot, then texts and plots, then the other shapes.

        Args:
            viewed: what to show.
            keep_fields: leave the task's fields, and the message below them, as they are on the page.
        """
        with self.lock:
            if self.closed or self.viewed is viewed:
                return
            self.player.pause()
            before = self.task
            with self.client.atomic():
                if self.plan_scene is not None:
                    self.plan_scene.clear()
                self.viewed = viewed
                self.plan_scene = PlanScene(self.client.scene, viewed, self.options)
                if before is None:
                    self.aim()
                elif not np.allclose(default_viewpoint(before), default_viewpoint(viewed.task)):
                    self.aim(always=True)
                self._show_rank(self.plan_scene, viewed.first)
            self.client.flush()
            with self.client.atomic():
                self.plan_scene.add_robot(self.plan_scene.at(self.player.time))
            self.client.flush()
            with self.client.atomic():
                self.panels.show_task(keep_fields=keep_fields)
        self._send_shapes()

    def aim(self, *, always: bool = False) -> None:
        """Point the camera. In a narrow window the panel covers the lower half: the object moves into the upper.

        Args:
            always: in a wide window too; a new one already has the camera that the page opens with.
        """
        camera = getattr(self.client, "camera", None)
        if camera is None or self.task is None:
            return
        narrow = camera.image_width < NARROW and camera.image_height > 1.3 * camera.image_width
        if not (narrow or always):
            return
        eye, target = default_viewpoint(self.task)
        if narrow:
            away = 2.1 * (eye - target)
            target = target - [0.0, 0.0, 0.55 * float(np.linalg.norm(away)) * np.tan(0.5 * FIELD_OF_VIEW)]
            eye = target + away
        camera.position, camera.look_at = eye, target

    def _camera_moved(self, camera: Any) -> None:
        """A page starts, and resets its view, with the camera for wide windows; a narrow one is aimed again."""
        if self.task is not None and np.allclose(camera.position, default_viewpoint(self.task).eye, atol=1e-4):
            self.aim()

    # -- what the page does --------------------------------------------------------------------------------------

    def show_rank(self, rank: int, *, dragged: bool = False) -> None:
        """Show a kept grasp, just held."""
        with self.changing() as plan_scene:
            if plan_scene is None:
                return
            self._show_rank(plan_scene, rank)
            plan_scene.show_ghosts([])
            self.panels.show_rank(dragged=dragged)
        self._send_shapes()

    def _show_rank(self, plan_scene: PlanScene, rank: int) -> None:
        count = len(plan_scene.viewed.grasps)
        self.rank = int(min(max(rank, 0), max(count - 1, 0)))
        plan_scene.show_rank(self.rank if count else None)
        timeline = plan_scene.timeline
        self.player.load(timeline.duration if timeline is not None else 0.0)
        self.player.time = float(timeline.times[0]) if timeline is not None else 0.0
        plan_scene.show(plan_scene.at(self.player.time))

    def show_time(self, time: float, *, dragged: bool = False) -> None:
        """Show a time of the operation; playing goes on from there."""
        with self.changing() as plan_scene:
            if plan_scene is not None:
                self.player.time = time
                plan_scene.show(plan_scene.at(time))
                self.panels.show_moment(every=not self.player.playing, dragged=dragged)

    def restyle(self, **changes: Any) -> None:
        """Change what is shown, now and of what is opened later: any of ``ViewOptions``' fields."""
        with self.changing() as plan_scene:
            self.options = replace(self.options, **changes)
            if plan_scene is None:
                return
            plan_scene.restyle(self.options)
            plan_scene.show(plan_scene.at(self.player.time))
            self.panels.show_legend()
        self._send_shapes()

    def show_hypotheses(self, numbers: list[int]) -> None:
        """Ghosts of the hand at hypotheses, by number."""
        with self.changing() as plan_scene:
            plan = self.plan
            if plan_scene is None or plan is None:
                return
            # Not at the grasp that is shown: two hands in one place only flicker.
            wanted = set(numbers) - ({plan_scene.grasp.hypothesis.number} if plan_scene.grasp is not None else set())
            fingers = {g.hypothesis.number: g.grasp.q for g in plan.grasps}
            chosen = [h for h in plan.hypotheses if h.number in wanted]
            plan_scene.show_ghosts([(h, fingers.get(h.number)) for h in chosen])

    @contextlib.contextmanager
    def changing(self) -> Iterator[PlanScene | None]:
        """The scene, alone, its changes sent together; None where nothing is open, or nothing any more."""
        with self.lock:
            if self.plan_scene is None:
                yield None
                return
            with self.client.atomic():
                yield self.plan_scene

    def _play_on(self, seconds: float) -> None:
        with self.lock:
            if self.player.playing and not self.closed:
                self.show_time(self.player.after(seconds))

    def _send_shapes(self) -> None:
        """The object's other shapes, one at a time, so that dragging the slider never waits for all of them."""
        more = True
        while more:
            with self.lock:
                more = not self.closed and self.plan_scene is not None and self.plan_scene.send_next_shape()

    def close(self) -> None:
        """The tab is gone: stop its clock and let go of everything it showed."""
        self.player.pause()
        with self.lock:
            self.closed = True
            self.panels.task.stop()
            self.plan_scene = None
