"""Playing through time: a clock in the background, there only while it plays."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable

TICK = 0.05
"""Between two pictures [s]."""


class Player:
    """Calls ``show(seconds)`` about twenty times a second while playing.

    Args:
        show: moves on by so much (see ``after``) and draws; while it is busy no further call is made, so a slow machine
            skips pictures. It gets a step, not a time: the time may be changed while it waits for its turn.
    """

    def __init__(self, show: Callable[[float], None]) -> None:
        self.time, self.duration, self.speed = 0.0, 0.0, 1.0
        self._show = show
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._stop.set()

    @property
    def playing(self) -> bool:
        """Whether time is moving."""
        return not self._stop.is_set()

    def load(self, duration: float) -> None:
        """A new operation of this length [s]."""
        self.duration = duration
        self.time = min(self.time, duration)

    def after(self, seconds: float) -> float:
        """The time that so much more playing leads to; past the end it starts again from zero."""
        time = self.time + seconds
        return time if time <= self.duration else time % self.duration

    def play(self) -> None:
        """Go on from where it is; from the start if it is at the end."""
        with self._lock:
            if self.duration <= 0.0 or self.playing:
                return
            if self.time >= self.duration - 1e-6:
                self.time = 0.0
            self._stop = threading.Event()
            threading.Thread(target=self._run, args=(self._stop,), name="pliant-player", daemon=True).start()

    def pause(self) -> None:
        """Stop where it is; the clock's thread ends within a tick."""
        with self._lock:
            self._stop.set()

    def _run(self, stop: threading.Event) -> None:
        last = clock.monotonic()
        while not stop.is_set():
            now = clock.monotonic()
            # Never more than a fifth of a second at once: after a stall the motion goes on instead of jumping.
            step = self.speed * min(now - last, 0.2)
            last = now
            self._show(step)
            stop.wait(max(TICK - (clock.monotonic() - now), 0.005))
