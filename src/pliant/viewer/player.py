"""Playing through time: a clock in the background that can be paused, sped up and moved."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable

__all__ = ["Player"]

TICK = 0.05
"""Between two pictures [s]."""


class Player:
    """Calls ``show(time)`` about twenty times a second while playing; starts again from zero at the end.

    Args:
        show: draws a moment; while it is busy no further call is made, so a slow machine skips pictures.
    """

    def __init__(self, show: Callable[[float], None]) -> None:
        self.time, self.duration, self.speed = 0.0, 0.0, 1.0
        self._show = show
        self._playing, self._closed = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="pliant-player", daemon=True)
        self._thread.start()

    @property
    def playing(self) -> bool:
        return self._playing.is_set()

    def load(self, duration: float) -> None:
        """A new operation of this length [s]."""
        self.duration = duration
        self.time = min(self.time, duration)

    def play(self) -> None:
        """Go on from where it is; from the start if it is at the end."""
        if self.duration > 0.0:
            if self.time >= self.duration - 1e-6:
                self.time = 0.0
            self._playing.set()

    def pause(self) -> None:
        """Stop where it is."""
        self._playing.clear()

    def close(self) -> None:
        """End the clock."""
        self._closed.set()
        self._playing.set()
        self._thread.join(timeout=5.0)

    def _run(self) -> None:
        last = None
        while not self._closed.is_set():
            if not self._playing.is_set():
                last = None
                self._playing.wait()
                continue
            now = clock.monotonic()
            step = 0.0 if last is None else now - last
            last = now
            # Never more than a fifth of a second at once: after a stall the motion goes on instead of jumping.
            time = self.time + self.speed * min(step, 0.2)
            self._show(time if time <= self.duration else time - self.duration)
            self._closed.wait(max(TICK - (clock.monotonic() - now), 0.005))
