"""Signals while a robot is driven: every one that would end the program stops the robot first, and only once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
"""Ctrl-C, an end that was asked for, a closed terminal, and Ctrl-\\\\: all but the first would end Python at once."""
SUSPENDING = "SIGTSTP"
"""Ctrl-Z: a hand that nobody controls goes on pressing, so it is not heard while the robot is driven."""


@contextmanager
def heard_once() -> Iterator[list[str]]:
    """The first ending signal raises KeyboardInterrupt; it and those after it are in the list, and do nothing more.

    So what is done about the first, an emergency stop, is not interrupted by an impatient second. What is ignored
    already (``nohup``) stays so. Elsewhere than in the main thread Python hears no signals, and nothing is changed.
    """
    heard: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def note(number: int, _frame: FrameType | None) -> None:
        heard.append(signal.Signals(number).name)
        if len(heard) == 1:
            raise KeyboardInterrupt

    before = {}
    try:
        for name in (*ENDING, SUSPENDING):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, signal.SIG_IGN if name == SUSPENDING else note)
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
