"""Where items run. An engine takes items and gives outcomes; everything else is the same for all of them."""

from __future__ import annotations

import itertools
import os
import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Protocol

from pliant.batch.items import Item
from pliant.batch.supervised_worker import Attempt, Limits, SupervisedWorker
from pliant.errors import OptionError, Problem


class Engine(Protocol):
    """Runs attempts at items."""

    def open(self, work: str, folder: Path, limits: Limits) -> None:
        """Begin; ``folder`` takes scratch folders."""

    def capacity(self) -> int:
        """How many items can run at once, now."""

    def submit(self, item: Item) -> Any:
        """Start one attempt; a ticket."""

    def finished(self, tickets: Sequence[Any], timeout: float) -> Iterator[tuple[Any, Attempt]]:
        """Wait until an attempt has ended or the time is over; every one that has ended with its outcome."""

    def close(self) -> None:
        """End at once; attempts that are running are lost."""


class LocalEngine:
    """Worker processes on this machine, one thread of linear algebra each.

    Args:
        jobs: how many at once; the processors of this machine by default.

    Attributes:
        workers: one for each job, while it is open.
    """

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None and not 1 <= jobs <= 4096:
            raise OptionError("batch", Problem("jobs", f"{jobs}", "1 .. 4096"))
        own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.jobs = jobs if jobs is not None else own
        self.workers: list[SupervisedWorker] = []
        self._free: queue.SimpleQueue[SupervisedWorker] = queue.SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None
        self._count = itertools.count(1)

    def open(self, work: str, folder: Path, limits: Limits) -> None:
        self.workers = [SupervisedWorker(work, limits) for _ in range(self.jobs)]
        self._folder = folder
        for worker in self.workers:
            self._free.put(worker)
        # The threads only wait for their workers.
        self._threads = ThreadPoolExecutor(self.jobs, thread_name_prefix="pliant-batch")

    def capacity(self) -> int:
        return self.jobs

    def submit(self, item: Item) -> Future[Attempt]:
        assert self._threads is not None
        return self._threads.submit(self._run, item)

    def _run(self, item: Item) -> Attempt:
        worker = self._free.get()
        try:
            return worker.run(item, self._folder / f"local.{next(self._count)}")
        finally:
            self._free.put(worker)

    def finished(self, tickets: Sequence[Any], timeout: float) -> Iterator[tuple[Any, Attempt]]:
        for future in wait(tickets, timeout, return_when=FIRST_COMPLETED).done:
            yield future, future.result()

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self.workers:
            worker.end()
