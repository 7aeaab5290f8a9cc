"""One tab: its own grasp, time, look and playing. What it does, no other tab sees."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.planner import Plan, PlannedGrasp, Task
from pliant.viewer.page.player import Player
from pliant.viewer.page.view_options import FIELD_OF_VIEW, Look, default_camera
from pliant.viewer.report.measured import Measured
from pliant.viewer.scene.scene import Stage
from pliant.viewer.scene.shown import Opened

if TYPE_CHECKING:
    from pliant.viewer.page.app import Viewer

NARROW = 640
"""Below this width [pixels] a scene that is higher than wide has the panel over it instead of beside it."""


class Session:
    """The state of one tab, from its connection to its end.

    Args:
        viewer: the server's side: what is open for new tabs, and who plans.
        tab: viser's client, with a scene and controls of its own; a server will do where nobody looks.
    """

    def __init__(self, viewer: Viewer, tab: Any) -> None:
        from pliant.viewer.page.panels import Panels

        self.viewer, self.tab = viewer, tab
        self.lock = threading.RLock()
        self.closed = False
        self.opened: Opened | None = None
        self.stage: Stage | None = None
        self.look = Look()
        self.rank = 0
        self.player = Player(self._play_on)
        with tab.atomic():
            self.panels = Panels(self)
        if hasattr(tab, "camera"):
            tab.camera.on_update(self._camera_moved)

    # -- what is open --------------------------------------------------------------------------------------------

    @property
    def task(self) -> Task | None:
        """What stands around."""
        return self.opened.task if self.opened is not None else None

    @property
    def plan(self) -> Plan | None:
        """The plan, if there is one."""
        return self.opened.plan if self.opened is not None else None

    @property
    def measured(self) -> Measured | None:
        """What a run of the grasp that is shown measured."""
        measured = self.opened.measured if self.opened is not None else None
        return measured.of(self.rank) if measured is not None else None

    @property
    def grasp(self) -> PlannedGrasp | None:
        """The grasp that is shown."""
        return self.stage.grasp if self.stage is not None else None

    def open(self, opened: Opened) -> None:
        """Show a task or a plan: the object first, then the robot, then words and plots, then the other shapes."""
        with self.lock:
            if self.closed or self.opened is opened:
                return
            self.player.pause()
            again = self.opened is not None
            with self.tab.atomic():
                if self.stage is not None:
                    self.stage.clear()
                self.opened, self.rank = opened, opened.first
                self.stage = Stage(self.tab.scene, opened, self.look)
                self.aim(everyone=again)
                self._show_rank(self.stage, opened.first)
            self.tab.flush()
            with self.tab.atomic():
                self.stage.add_robot(self.stage.at(self.player.time))
            self.tab.flush()
            with self.tab.atomic():
                self.panels.opened()
        self._send_shapes()

    def aim(self, *, everyone: bool = False) -> None:
        """Point the camera. In a narrow window the panel covers the lower half: the object moves into the upper.

        Args:
            everyone: a wide window too; a new one already has the camera that the page opens with.
        """
        camera = getattr(self.tab, "camera", None)
        if camera is None or self.task is None:
            return
        narrow = camera.image_width < NARROW and camera.image_height > 1.3 * camera.image_width
        if not (narrow or everyone):
            return
        eye, target = default_camera(self.task)
        if narrow:
            away = 2.1 * (eye - target)
            target = target - [0.0, 0.0, 0.55 * float(np.linalg.norm(away)) * np.tan(0.5 * FIELD_OF_VIEW)]
            eye = target + away
        camera.position, camera.look_at = eye, target

    def _camera_moved(self, camera: Any) -> None:
        """A page starts, and resets its view, with the camera for wide windows; a narrow one is aimed again."""
        if self.task is not None and np.allclose(camera.position, default_camera(self.task)[0], atol=1e-4):
            self.aim()

    # -- what the page does, which is nothing before anything is open and after the tab has gone -----------------

    def show_rank(self, rank: int, *, dragged: bool = False) -> None:
        """Show a kept grasp, just held.

        Args:
            dragged: a hand on the slider says so, and may have moved it on since: it is left where it is.
        """
        with self.changing() as stage:
            if stage is None:
                return
            self._show_rank(stage, rank)
            stage.show_ghosts([])
            self.panels.ranked(dragged=dragged)
        self._send_shapes()

    def _show_rank(self, stage: Stage, rank: int) -> None:
        count = len(stage.opened.grasps)
        self.rank = int(min(max(rank, 0), max(count - 1, 0)))
        stage.show_rank(self.rank if count else None)
        timeline = stage.timeline
        self.player.load(timeline.duration if timeline is not None else 0.0)
        self.player.time = float(timeline.times[0]) if timeline is not None else 0.0
        stage.show(stage.at(self.player.time))

    def show_time(self, time: float, *, dragged: bool = False) -> None:
        """Bring the stage to a time; playing goes on from there.

        Args:
            dragged: a hand on the slider says so, and may have moved it on since: it is left where it is.
        """
        with self.changing() as stage:
            if stage is None:
                return
            self.player.time = time
            stage.show(stage.at(time))
            self.panels.timed(every=not self.player.playing, dragged=dragged)

    def restyle(self, **changes: Any) -> None:
        """Change what is shown, now and of what is opened later: any of ``Look``'s fields."""
        with self.changing() as stage:
            self.look = replace(self.look, **changes)
            if stage is None:
                return
            stage.restyle(self.look)
            stage.show(stage.at(self.player.time))
            self.panels.styled()
        self._send_shapes()

    def show_hypotheses(self, numbers: list[int]) -> None:
        """Ghosts of the hand at hypotheses, by number."""
        with self.changing() as stage:
            plan = self.plan
            if stage is None or plan is None:
                return
            # Not at the grasp that is shown: two hands in one place only flicker.
            wanted = set(numbers) - ({stage.grasp.hypothesis.number} if stage.grasp is not None else set())
            fingers = {g.hypothesis.number: g.grasp.q for g in plan.grasps}
            chosen = [h for h in plan.hypotheses if h.number in wanted]
            stage.show_ghosts([(h, fingers.get(h.number)) for h in chosen])

    @contextlib.contextmanager
    def changing(self) -> Iterator[Stage | None]:
        """The stage, alone, its changes sent together; None where nothing is open, or nothing any more."""
        with self.lock:
            if self.stage is None:
                yield None
                return
            with self.tab.atomic():
                yield self.stage

    def _play_on(self, seconds: float) -> None:
        with self.lock:
            if self.player.playing and not self.closed:
                self.show_time(self.player.after(seconds))

    def _send_shapes(self) -> None:
        """The object's other shapes, one at a time, so that a hand on the slider never waits for all of them."""
        more = True
        while more:
            with self.lock:
                more = not self.closed and self.stage is not None and self.stage.send_next_shape()

    def close(self) -> None:
        """The tab is gone: stop its clock and let go of everything it showed."""
        self.player.pause()
        with self.lock:
            self.closed = True
            self.panels.task.stop()
            self.stage = None
