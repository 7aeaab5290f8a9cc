"""One worker process at a time, supervised: its death, its time and its memory cost one item, nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pliant.batch.items import Item
from pliant.errors import InputError, OptionError, Problem

TICK = 0.05
"""How often the memory of a worker is measured [s]."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class WorkerError(InputError):
    """Worker processes do not even start; no item can be blamed for that."""


@dataclass(frozen=True)
class Limits:
    """What one item may use.

    Args:
        time: wall time [s]; None: any.
        memory: resident memory of the worker [bytes]; None: any.
    """

    time: float | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("time", self.time), ("memory", self.memory)):
            if value is not None and not 0 < value < float("inf"):
                raise OptionError("batch", Problem(f"{name} limit", f"{value:g}", "a positive number"))


@dataclass(frozen=True)
class AttemptFailure:
    """Why an attempt at an item failed.

    Args:
        kind: ``error`` (the work raised), ``died``, ``time``, ``memory``, ``node``.
        reason: in a line.
        detail: a traceback or the last lines of the worker's log.
    """

    kind: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Attempt:
    """What became of one attempt at an item.

    Args:
        made: the scratch folder, with rows and files if it is finished.
        failure: None: it is finished.
        facts: wall time, CPU time, memory, worker.
    """

    made: Path | None
    failure: AttemptFailure | None
    facts: dict[str, Any] = field(default_factory=dict)


class _LostError(Exception):
    """The worker cannot go on with its item: kind of failure and reason; without a reason its exit code is one."""


class SupervisedWorker:
    """Runs items one after the other in a worker process, and starts a new one whenever the last is gone.

    Args:
        work: name of the work.
        limits: of every item.
        paths: where modules are imported from, as in this process by default.
    """

    STARTS = 3
    STARTING_S = 300.0

    def __init__(self, work: str, limits: Limits, paths: Iterable[str] | None = None) -> None:
        self.work, self.limits = work, limits
        self.paths = list(sys.path if paths is None else paths)
        self.closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._received = b""
        # Without a name: it is gone with this process, however that ends.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - read as long as this object lives
        self._log_from = 0

    @property
    def pid(self) -> int | None:
        """Of the worker that is running now."""
        process = self._process
        return process.pid if process is not None else None

    def run(self, item: Item, scratch: Path) -> Attempt:
        """One attempt at an item; never raises for what the item does.

        Args:
            scratch: the folder to make for rows and files.
        """
        process = self._worker()
        question = {
            "item": item.name,
            "arguments": item.arguments,
            "scratch": str(scratch),
            "memory_limit": self.limits.memory,
        }
        began = time.monotonic()
        self._log_from = self._log_size()
        facts: dict[str, Any] = {"pid": process.pid}
        try:
            answer = self._ask(process, question, began)
        except _LostError as lost:
            facts["wall_s"] = time.monotonic() - began
            kind, reason = lost.args
            death = _death(self._end())
            return Attempt(scratch, AttemptFailure(kind, reason or death, self._log_end()), facts)
        failure = answer.pop("failure")
        return Attempt(scratch, failure and AttemptFailure(**failure), facts | answer)

    def close(self) -> None:
        """End the worker now, from any thread; an item that it was at is lost."""
        self.closed = True
        process = self._process
        if process is not None:
            _kill(process)

    def end(self) -> None:
        """Release a closed worker; from the thread that ran it, or when that has ended."""
        self._end()
        self._log.close()

    # -- the process -------------------------------------------------------------------------------------------------

    def _worker(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        reason = ""
        for _ in range(self.STARTS):
            self._end()
            if self.closed:
                break
            process = self._start()
            try:
                answer = self._receive(process, time.monotonic(), self.STARTING_S, None)
            except _LostError:
                reason = f"{_death(self._end())}. {self._log_end()}"
                continue
            if answer["ready"]:
                return process
            reason = answer["reason"]
        self._end()
        raise WorkerError("batch", f"workers for '{self.work}' do not start: {reason.strip() or 'stopped'}")

    def _start(self) -> subprocess.Popen[bytes]:
        # More threads than one per worker only wait for each other, and change the order of sums.
        one = dict.fromkeys(THREADS, "1")
        environment = os.environ | one | {"PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in self.paths)}
        self._received = b""
        self._log_from = 0
        os.ftruncate(self._log.fileno(), 0)
        os.lseek(self._log.fileno(), 0, os.SEEK_SET)
        self._process = subprocess.Popen(
            # -P: our paths and no others; the current folder may be a stranger's and have a numpy.py
            [sys.executable, "-P", "-m", "pliant.batch.worker", self.work],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            # A session of its own: Ctrl-C in the terminal reaches us, not the item; and its children end with it.
            start_new_session=True,
        )
        if self.closed:
            _kill(self._process)
        return self._process

    def _ask(self, process: subprocess.Popen[bytes], question: dict[str, Any], began: float) -> dict[str, Any]:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            raise _LostError("died", "") from None
        return self._receive(process, began, self.limits.time, self.limits.memory)

    def _receive(
        self, process: subprocess.Popen[bytes], began: float, time_limit: float | None, memory_limit: float | None
    ) -> dict[str, Any]:
        """The worker's next line; `_LostError` when it died or went beyond a limit."""
        assert process.stdout is not None
        file = process.stdout.fileno()
        poll = select.poll()
        poll.register(file, select.POLLIN)
        while True:
            left = None if time_limit is None else began + time_limit - time.monotonic()
            if left is not None and left <= 0:
                raise _LostError("time", f"took longer than the time limit of {time_limit:g} s")
            wait = left if memory_limit is None else min(TICK, TICK if left is None else left)
            if poll.poll(None if wait is None else 1000 * wait):
                more = os.read(file, 65536)
                if not more:
                    raise _LostError("died", "")
                line, end, rest = (self._received + more).partition(b"\n")
                self._received = rest if end else line
                if end:
                    answer: dict[str, Any] = json.loads(line)
                    return answer
            if memory_limit is not None and (used := _resident(process.pid)) > memory_limit:
                what = f"used {used / 1e6:.0f} MB of memory; the limit is {memory_limit / 1e6:.0f} MB"
                raise _LostError("memory", what)

    def _end(self) -> int:
        """End the worker if there is one; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None
        assert process.stdout is not None
        poll = select.poll()
        poll.register(process.stdout.fileno(), select.POLLIN)
        if any(event & select.POLLHUP for _, event in poll.poll(0)):
            # Its output has ended, so it is about to end by itself: then its own exit code says more than ours.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2.0)
        if process.poll() is None:
            _kill(process)
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        return code

    def _log_size(self) -> int:
        return os.fstat(self._log.fileno()).st_size

    def _log_end(self) -> str:
        # What earlier items printed is of no use to this one. The worker writes where the file stands: we do not seek.
        start = max(self._log_from, self._log_size() - 4000)
        return os.pread(self._log.fileno(), 4000, start).decode(errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _death(code: int) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return f"the worker was ended by {name}"
    return f"the worker ended by itself with code {code}"


def _resident(pid: int) -> int:
    """Resident memory of a process [bytes]; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
