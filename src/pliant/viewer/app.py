"""The viewer: one page that shows a plan, or lets a task be changed and planned, for as many tabs as are open.

All tabs share one stage and one timeline: whoever scrubs, scrubs for everyone. Nothing leaves the machine; the server
listens on 127.0.0.1 unless told otherwise.
"""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pliant.errors import OptionError, Problem
from pliant.planner import Plan, PlannedGrasp, Task
from pliant.viewer.curves import Measured
from pliant.viewer.player import Player
from pliant.viewer.stage import FIELD_OF_VIEW, Look, Stage, default_camera

__all__ = ["Planning", "Viewer", "start_server", "stop_server"]

Planning = Callable[..., Plan]
"""``plan(task, jobs=, seed=, progress=)`` with ``progress(stage, done, total, rejected)``."""


class Viewer:
    """A running viewer. Close it, or use it as a context.

    Args:
        host: where it listens; 127.0.0.1 is this machine only.
        port: the first of ten ports to try; 0 for any that is free.
        planning: the function behind the page's plan button; the package's own by default.
        jobs: processes for planning.
    """

    def __init__(
        self, *, host: str = "127.0.0.1", port: int = 8080, planning: Planning | None = None, jobs: int | None = None
    ) -> None:
        from pliant.viewer.panels import Panels

        self.server = start_server(host, port)
        self.lock = threading.RLock()
        self.planning, self.jobs = planning, jobs
        self.task: Task | None = None
        self.plan: Plan | None = None
        self.measured: Measured | None = None
        self.folder = Path()
        self.rank = 0
        self.stage: Stage | None = None
        self.player = Player(self._play_to)
        self.panels = Panels(self)

    # -- what is open --------------------------------------------------------------------------------------------

    def open_task(self, task: Task, *, folder: Path | None = None) -> None:
        """Show a task that has not been planned yet."""
        self._open(task, None, None, folder)

    def open_plan(self, plan: Plan, measured: Measured | None = None, *, folder: Path | None = None) -> None:
        """Show a plan, with what a run of it measured."""
        self._open(plan.task, plan, measured, folder)

    def _open(self, task: Task, plan: Plan | None, measured: Measured | None, folder: Path | None) -> None:
        with self.lock, self.server.atomic():
            self.player.pause()
            look = self.stage.look if self.stage is not None else Look()
            first = self.stage is None
            if self.stage is None or self.task is not task:
                if self.stage is not None:
                    self.stage.clear()
                self.stage = Stage(self.server.scene, task)
            self.stage.restyle(look)
            self.task, self.plan, self.measured, self.rank = task, plan, measured, 0
            self.folder = folder if folder is not None else self.folder
            eye, target = default_camera(task)
            self.server.initial_camera.position, self.server.initial_camera.look_at = eye, target
            self.server.initial_camera.fov = FIELD_OF_VIEW
            if not first:
                for client in self.server.get_clients().values():
                    client.camera.position, client.camera.look_at = eye, target
            self.show_rank(0)
            self.panels.opened()

    @property
    def grasp(self) -> PlannedGrasp | None:
        """The grasp that is shown."""
        return self.plan.grasps[self.rank] if self.plan is not None and self.plan.grasps else None

    # -- what the page does --------------------------------------------------------------------------------------

    def show_rank(self, rank: int) -> None:
        """Show a kept grasp, just held."""
        with self.changing() as stage:
            if self.plan is not None and self.plan.grasps:
                self.rank = int(min(max(rank, 0), len(self.plan.grasps) - 1))
            stage.show_grasp(self.grasp)
            stage.show_ghosts([])
            timeline = stage.timeline
            self.player.load(timeline.duration if timeline is not None else 0.0)
            self.player.time = float(timeline.times[0]) if timeline is not None else 0.0
            stage.show(stage.at(self.player.time))
            self.panels.ranked()

    def show_time(self, time: float) -> None:
        """Bring the stage to a time; playing goes on from there."""
        with self.changing() as stage:
            self.player.time = time
            stage.show(stage.at(time))
            self.panels.timed(every=not self.player.playing)

    def restyle(self, **changes: Any) -> None:
        """Change what is shown: any of ``Look``'s fields."""
        with self.changing() as stage:
            stage.restyle(replace(stage.look, **changes))
            stage.show(stage.at(self.player.time))
            self.panels.styled()

    def show_hypotheses(self, numbers: list[int]) -> None:
        """Ghosts of the hand at hypotheses, by number."""
        with self.changing() as stage:
            assert self.plan is not None
            wanted = set(numbers)
            fingers = {g.hypothesis.number: g.grasp.q for g in self.plan.grasps}
            chosen = [h for h in self.plan.hypotheses if h.number in wanted]
            stage.show_ghosts([(h, fingers.get(h.number)) for h in chosen])

    @contextlib.contextmanager
    def changing(self) -> Iterator[Stage]:
        """The stage, alone, its changes sent together."""
        with self.lock, self.server.atomic():
            assert self.stage is not None
            yield self.stage

    def _play_to(self, time: float) -> None:
        if self.server.get_clients():
            self.show_time(time)

    # -- the server ----------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """What to type into a browser."""
        host = self.server.get_host()
        return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{self.server.get_port()}"

    def wait(self) -> None:
        """Serve until interrupted."""
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()

    def close(self) -> None:
        """Stop playing and serving."""
        self.player.close()
        stop_server(self.server)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def stop_server(server: Any) -> None:
    """Stop quietly: standard output belongs to the commands' answers."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def start_server(host: str, port: int) -> Any:
    """A viser server that listens on ``host`` and offers nothing to share."""
    import viser

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            server = viser.ViserServer(host=host, port=port or _free_port(host), label="pliant", verbose=False)
    except OSError as bad:
        raise OptionError("view", Problem("port", f"{host}:{port} cannot be used: {bad.strerror or bad}")) from None
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(20, 90, 160))
    server.gui.set_panel_label("pliant")
    return server


def _free_port(host: str) -> int:
    import socket

    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
