"""The viewer: one page that shows a plan, or lets a task be changed and planned, for as many tabs as are open.

Every tab has its own scene, controls and clock (`Tab`); geometry is prepared once for all of them (`ViewedTask`).
Nothing leaves the machine; the server listens on 127.0.0.1 unless another host is given.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pliant.planner import Plan, Task
from pliant.viewer.page.tab import Tab
from pliant.viewer.report.measured import RunMeasurements
from pliant.viewer.scene.server import PANEL_WIDTH, ServedPage
from pliant.viewer.scene.view_options import default_viewpoint
from pliant.viewer.scene.viewed_task import ViewedTask
from pliant.viewer.still.plan_pictures import opening_still

Planning = Callable[..., Plan]
"""Called like `pliant.planner.plan`, with ``jobs``, ``seed``, ``progress``, ``improved`` and ``stop``."""


class Viewer(ServedPage):
    """A running viewer. Close it, or use it as a context.

    Args:
        host: where it listens; 127.0.0.1 is this machine only.
        port: the first to try, then those above it, a hundred in all; 0 for any that is free.
        planning: the function behind the page's plan button; the package's own by default.
        jobs: processes for planning.
    """

    def __init__(
        self, *, host: str = "127.0.0.1", port: int = 8080, planning: Planning | None = None, jobs: int | None = None
    ) -> None:
        self.viewed: ViewedTask | None = None
        self._stills: dict[ViewedTask, bytes] = {}
        self._drawing = threading.Lock()
        super().__init__(host, port)
        self.planning, self.jobs = planning, jobs
        self.planner_free = threading.Lock()
        """Held by the tab that plans: one search at a time takes all processors."""
        self.server.gui.main_panel.dock_right()
        self.server.gui.main_panel.set_width(PANEL_WIDTH)
        self._lock = threading.Lock()
        self._tabs: dict[int, Tab] = {}
        self.server.on_client_connect(self._connect)
        self.server.on_client_disconnect(self._disconnect)

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """Every open tab, oldest first."""
        with self._lock:
            return tuple(self._tabs.values())

    def open_task(self, task: Task, *, folder: Path | None = None) -> None:
        """Show a task that has not been planned yet, in every tab."""
        self._open(ViewedTask(task, folder=folder))

    def open_plan(self, plan: Plan, measured: RunMeasurements | None = None, *, folder: Path | None = None) -> None:
        """Show a plan, with what a run of it measured, in every tab."""
        self._open(ViewedTask(plan.task, plan, measured, folder))

    def _open(self, viewed: ViewedTask) -> None:
        self.open_in_new_tabs(viewed)
        for tab in self.tabs:
            tab.open(viewed)
        viewed.prepare()

    def open_in_new_tabs(self, viewed: ViewedTask) -> None:
        """New tabs open with this; those that are open keep what they show."""
        self.viewed, self._stills = viewed, {}
        self.set_first_camera(default_viewpoint(viewed.task))

    def still(self) -> bytes | None:
        """What a new tab will show, by our own renderer; made once for each plan that is opened."""
        viewed = self.viewed
        if viewed is None or not viewed.grasps:
            return None
        with self._drawing:
            if viewed not in self._stills:
                self._stills = {viewed: opening_still(viewed)}
            return self._stills[viewed]

    def _connect(self, client: Any) -> None:
        tab = Tab(self, client)
        with self._lock:
            self._tabs[client.client_id] = tab
        if client.client_id not in self.server.get_clients():  # gone while its page was being made
            self._disconnect(client)
            return
        # What is open may change while the tab is made; `_open` reaches every tab that it finds.
        while (viewed := self.viewed) is not None and not tab.closed and tab.viewed is not viewed:
            tab.open(viewed)

    def _disconnect(self, client: Any) -> None:
        with self._lock:
            tab = self._tabs.pop(client.client_id, None)
        if tab is not None:
            tab.close()
            # A tab's handles point at each other in circles; a few megabytes that would wait for a rare full sweep.
            del tab
            gc.collect()

    def close(self) -> None:
        """Stop playing and serving."""
        for tab in self.tabs:
            tab.close()
        super().close()
