"""The inner loops, compiled in a second process while the object is prepared, where they have never been compiled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pliant.contact import compiled_here

COMMAND = ("-m", "pliant.compiling")
"""What Python is to do."""
POLL = 0.1
"""Time between two looks at whether to stop waiting [s]."""


@contextmanager
def compiled_aside(jobs: int) -> Iterator[Callable[[Callable[[], bool]], None]]:
    """Compile meanwhile; what is given waits for the rest of it, or until its argument says to stop.

    Numba compiles in one thread at a time, so this takes a process; with a single one everything is compiled when it
    is first needed, as it is where this fails.
    """
    if jobs == 1 or compiled_here() or _jit_is_off() or not sys.executable:
        yield lambda stop: None
        return
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, *COMMAND], stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere
    ) as compiler:

        def wait(stop: Callable[[], bool]) -> None:
            while not stop():
                try:
                    compiler.wait(POLL)
                    return
                except subprocess.TimeoutExpired:
                    continue

        try:
            yield wait
        finally:
            compiler.kill()


def _jit_is_off() -> bool:
    from numba import config

    return bool(config.DISABLE_JIT)
