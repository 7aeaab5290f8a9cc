"""The server behind a page: it listens on this machine unless asked otherwise, and shares nothing."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, Self

from pliant.errors import OptionError, Problem
from pliant.parts import need
from pliant.viewer.scene.first_picture import with_still
from pliant.viewer.scene.guard import Guard, guarded
from pliant.viewer.scene.view_options import FIELD_OF_VIEW, Viewpoint

PANEL_WIDTH = 400
"""Of the controls beside the scene [pixels]."""
PORTS = 100
"""How many are tried."""


class ServedPage:
    """A page with a running server. Close it, or use it as a context.

    Args:
        host: where it listens; 127.0.0.1 is this machine only. Elsewhere who comes must know a token.
        port: the first to try, then those above it, a hundred in all; 0 for any that is free.
    """

    def __init__(self, host: str, port: int) -> None:
        self._guard = Guard(host)
        self.server = start_server(host, port, self._guard, self.still)

    def still(self) -> bytes | None:
        """A PNG file to be looked at until the browser has drawn the scene; None for none."""
        return None

    @property
    def address(self) -> str:
        """What to type into a browser; with a token where other machines can reach the page."""
        token = f"/?token={self._guard.token}" if self._guard.token else ""
        return server_address(self.server) + token

    def set_first_camera(self, viewpoint: Viewpoint, field_of_view: float = FIELD_OF_VIEW) -> None:
        """Where the camera of a new tab stands; the field of view is vertical [rad]."""
        camera = self.server.initial_camera
        camera.position, camera.look_at = viewpoint
        camera.fov = field_of_view

    def wait(self, ended: threading.Event | None = None) -> None:
        """Serve until interrupted with Ctrl-C.

        Args:
            ended: set when Ctrl-C was pressed: what the scene is made with may have swallowed it.
        """
        ended = ended if ended is not None else threading.Event()
        with contextlib.suppress(KeyboardInterrupt):
            while not ended.wait(0.5):  # looking up: another thread may be given the signal
                pass

    def close(self) -> None:
        """Stop serving, without a message: standard output belongs to the commands' answers."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def _repr_html_(self) -> str:
        """The page in the cell of a notebook, for as long as it is served."""
        return f'<iframe src="{self.address}" title="pliant" width="100%" height="640" style="border:0"></iframe>'

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def server_address(server: Any) -> str:
    """Where a server listens, as a browser takes it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.get_host(), server.get_host())
    return f"http://{f'[{host}]' if ':' in host else host}:{server.get_port()}"


def start_server(host: str, port: int, guard: Guard, still: Callable[[], bytes | None]) -> Any:
    """A viser server that listens on ``host``, asks ``guard`` about every request and offers nothing to share.

    Args:
        still: as in `with_still`.
    """
    need("viewer")
    import viser

    # A tab may close while something is being sent to it, and a visitor may send nonsense; that is no news for anybody.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", message="Queued a .* on a closed connection")
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            guarded(guard, lambda answer: with_still(answer, still, PANEL_WIDTH)),
        ):
            # Asked before: viser waits for ever for a host that is not this machine's, and for a port above the last.
            free = _free_port(host, port)
            server = viser.ViserServer(host=host, port=free, label="pliant", verbose=False)
    except OSError as bad:
        raise OptionError("view", Problem("port", f"{host}:{port} cannot be used: {bad.strerror or bad}")) from None
    # Lamps instead of an environment map: the same picture at 25 times the frame rate without a graphics card. For all
    # tabs at once, so that no page draws its first picture slowly.
    server.scene.set_up_direction("+z")
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(enabled=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(20, 90, 160))
    server.gui.set_panel_label("pliant")
    return server


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
