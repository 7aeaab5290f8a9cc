"""The inner loops, compiled in processes of their own while the object is prepared, where they never were before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from pliant.contact import compiled_here

COMMANDS = (("-m", "pliant.compiling", "touch"), ("-m", "pliant.compiling", "carry"))
"""What Python is to do; the first takes twice as long as the second, and that as long as preparing an object."""
POLL = 0.1
"""Time between two looks at whether to stop waiting [s]."""


@contextmanager
def compiled_aside(jobs: int) -> Iterator[Callable[[Callable[[], bool]], None]]:
    """Compile meanwhile; what is given waits for the rest of it, or until its argument says to stop.

    Numba compiles in one thread at a time, so this takes processes; where there shall be one only, everything is
    compiled when it is first needed, as it is where this fails.
    """
    if jobs == 1 or compiled_here() or _jit_is_off() or not sys.executable:
        yield lambda stop: None
        return
    with ExitStack() as stack:
        compilers = [stack.enter_context(_started(command)) for command in COMMANDS]

        def wait(stop: Callable[[], bool]) -> None:
            for compiler in compilers:
                while compiler.poll() is None and not stop():
                    with suppress(subprocess.TimeoutExpired):
                        compiler.wait(POLL)

        yield wait


@contextmanager
def _started(command: tuple[str, ...]) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that ends here at the latest."""
    nowhere = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere) as process:
        try:
            yield process
        finally:
            process.kill()


def _jit_is_off() -> bool:
    from numba import config

    return bool(config.DISABLE_JIT)
