"""The viewer: one page that shows a plan, or lets a task be changed and planned, for as many tabs as are open.

Every tab has its own scene, controls and clock (`Session`); geometry is prepared once for all of them (`Opened`).
Nothing leaves the machine; the server listens on 127.0.0.1 unless told otherwise.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pliant.errors import OptionError, Problem
from pliant.planner import Plan, Task
from pliant.viewer.page.tab import Session
from pliant.viewer.page.view_options import FIELD_OF_VIEW, default_camera
from pliant.viewer.report.measured import Measured
from pliant.viewer.scene.shown import Opened

PANEL_WIDTH = 400
"""Of the controls beside the scene [pixels]."""
LOCAL = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that nobody else can reach."""
PORTS = 100
"""How many are tried."""
Planning = Callable[..., Plan]
"""``plan(task, jobs=, seed=, progress=)`` with ``progress(stage, done, total, rejected)``."""


class Viewer:
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
        self.server = start_server(host, port)
        self.planning, self.jobs = planning, jobs
        self.planner_free = threading.Lock()
        """Held by the tab that plans: one search at a time takes all processors."""
        self.server.gui.main_panel.dock_right()
        self.server.gui.main_panel.set_width(PANEL_WIDTH)
        self.opened: Opened | None = None
        self._lock = threading.Lock()
        self._sessions: dict[int, Session] = {}
        self.server.on_client_connect(self._connect)
        self.server.on_client_disconnect(self._disconnect)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """One for every open tab, oldest first."""
        with self._lock:
            return tuple(self._sessions.values())

    # -- what is open --------------------------------------------------------------------------------------------

    def open_task(self, task: Task, *, folder: Path | None = None) -> None:
        """Show a task that has not been planned yet, in every tab."""
        self._open(Opened(task, folder=folder))

    def open_plan(self, plan: Plan, measured: Measured | None = None, *, folder: Path | None = None) -> None:
        """Show a plan, with what a run of it measured, in every tab."""
        self._open(Opened(plan.task, plan, measured, folder))

    def _open(self, opened: Opened) -> None:
        self.offer(opened)
        for session in self.sessions:
            session.open(opened)
        opened.prepare()

    def offer(self, opened: Opened) -> None:
        """New tabs open with this; those that are open keep what they show."""
        self.opened = opened
        camera = self.server.initial_camera
        camera.position, camera.look_at = default_camera(opened.task)
        camera.fov = FIELD_OF_VIEW

    # -- tabs ----------------------------------------------------------------------------------------------------

    def _connect(self, tab: Any) -> None:
        session = Session(self, tab)
        with self._lock:
            self._sessions[tab.client_id] = session
        if tab.client_id not in self.server.get_clients():  # gone while its page was being made
            self._disconnect(tab)
            return
        # What is open now, which may have changed while the tab was made; `_open` tells every session it finds.
        while (opened := self.opened) is not None and not session.closed and session.opened is not opened:
            session.open(opened)

    def _disconnect(self, tab: Any) -> None:
        with self._lock:
            session = self._sessions.pop(tab.client_id, None)
        if session is not None:
            session.close()
            # A tab's handles point at each other in circles; a few megabytes that would wait for a rare full sweep.
            del session
            gc.collect()

    # -- the server ----------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return server_address(self.server)

    def wait(self) -> None:
        """Serve until interrupted."""
        wait_for_interrupt()

    def close(self) -> None:
        """Stop playing and serving."""
        for session in self.sessions:
            session.close()
        stop_server(self.server)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def stop_server(server: Any) -> None:
    """Stop quietly: standard output belongs to the commands' answers."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def server_address(server: Any) -> str:
    """What to type into a browser."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.get_host(), server.get_host())
    return f"http://{f'[{host}]' if ':' in host else host}:{server.get_port()}"


def wait_for_interrupt() -> None:
    """Until Ctrl-C."""
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()


def start_server(host: str, port: int) -> Any:
    """A viser server that listens on ``host`` and offers nothing to share."""
    import viser

    # A tab may close while something is being sent to it; that is no news for anybody.
    warnings.filterwarnings("ignore", message="Queued a .* on a closed connection")
    try:
        with contextlib.redirect_stdout(io.StringIO()), _only_own_pages(host):
            # Asked before: viser waits for ever for a host that is not this machine's, and for a port above the last.
            free = _free_port(host, port)
            server = viser.ViserServer(host=host, port=free, label="pliant", verbose=False)
    except OSError as bad:
        raise OptionError("view", Problem("port", f"{host}:{port} cannot be used: {bad.strerror or bad}")) from None
    # Lamps instead of an environment map: the same picture at 25 times the frame rate without a graphics card. For all
    # tabs at once, so that no page draws its first picture the slow way.
    server.scene.set_up_direction("+z")
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(enabled=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(20, 90, 160))
    server.gui.set_panel_label("pliant")
    return server


@contextlib.contextmanager
def _only_own_pages(host: str) -> Iterator[None]:
    """Connections that a page of another site makes are refused, while the server listens on this machine only.

    A browser lets any page talk to 127.0.0.1 and says where the page came from (Origin); viser does not look at it, so
    the function with which it starts to listen is told what to allow. Programs that are no browsers say nothing.
    """
    import websockets.asyncio.server as library

    if host not in LOCAL:
        yield
        return
    listen = library.serve
    names = "|".join(re.escape(name) for name in (*LOCAL, "[::1]"))
    own = [None, re.compile(rf"https?://({names})(:[0-9]+)?")]
    library.serve = partial(listen, origins=own)  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        library.serve = listen  # type: ignore[misc]


def _free_port(host: str, first: int) -> int:
    """The first port from ``first`` on that can be listened on; any, where that is 0."""
    any_port = _listened_on(host, 0)
    if not first:
        return any_port
    last = min(first + PORTS, 2**16) - 1
    forbidden = False
    for port in range(first, last + 1):
        try:
            return _listened_on(host, port)
        except PermissionError:
            forbidden = True
        except OSError:
            continue
    why = "free and allowed; without privileges take one from 1024 on" if forbidden else "free"
    raise OSError(f"no port from {first} to {last} is {why}")


def _listened_on(host: str, port: int) -> int:
    """The port, or the one that the system chose for 0; ``OSError`` where one cannot listen."""
    import socket

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        if os.name == "posix":  # as the server will: what a program left a minute ago is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        probe.listen()
        return int(probe.getsockname()[1])
