"""Work on hypotheses spread over processes; answers come in order, so their number does not matter."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from pliant.contact import PreparedObject, compiled_here
from pliant.planner.context import PlanningContext
from pliant.planner.task import Task
from pliant.workers import end_with_parent

Job = Callable[[PlanningContext, Any], Any]
"""A function of a module, so that another process finds it."""

T = TypeVar("T")
R = TypeVar("R")


class Answers(NamedTuple):
    """Answers for a list of items, in order, and the CPU time that they took [s]."""

    answers: list[Any]
    cpu_s: float


Spread = Callable[[Job, Iterable[list[Any]], int], Iterator[Answers]]
"""What to do, with which lists of items, and how many lists are taken before the first answer is given: in order."""


@dataclass
class Worker:
    """What one process knows of the task.

    Args:
        context: the task with everything made once.
        first: a lock, where nothing is compiled yet: one process compiles and the others wait, then take what it
            compiled.
        compiled: jobs that have been done once.
    """

    context: PlanningContext
    first: Any = None
    compiled: set[Job] = field(default_factory=set)

    def work(self, job: Job, items: list[Any]) -> Answers:
        """Answers for some items."""
        start = time.process_time()
        with self.first if self.first is not None and job not in self.compiled else nullcontext():
            answers = [job(self.context, item) for item in items]
        if compiled_here():  # most hypotheses are rejected before they touch anything, and compile nothing
            self.compiled.add(job)
        return Answers(answers, time.process_time() - start)


_here: Worker | None = None


def _begin(task: Task, first: Any) -> None:
    global _here
    # the terminal sends Ctrl-C to everyone; the parent decides what becomes of us
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _here = Worker(PlanningContext(task), first)


def _work(job: Job, items: list[Any]) -> Answers:
    assert _here is not None
    return _here.work(job, items)


@contextmanager
def worker_processes(task: Task, prepared: PreparedObject, count: int) -> Iterator[Spread]:
    """A function that spreads items over processes and gives the answers in order; one process: here and now."""
    if count == 1:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            worker = Worker(PlanningContext(task, prepared))
            yield lambda job, lists, ahead: _in_order(lambda items: partial(worker.work, job, items), lists, ahead)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # wrong questions must be reported here, not by a worker that dies
    PlanningContext(task, prepared)
    with _single_threaded_children(), _script_not_run_again():
        spawn = get_context("spawn")
        first = None if compiled_here() else spawn.Lock()
        pool = ProcessPoolExecutor(count, spawn, _begin, (task, first))

        def begin(job: Job, items: list[Any]) -> Callable[[], Answers]:
            with _deaf_children():
                return pool.submit(_work, job, items).result

        try:
            yield lambda job, lists, ahead: _in_order(partial(begin, job), lists, ahead)
            pool.shutdown()
        except BaseException:
            processes = list((getattr(pool, "_processes", None) or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            for process in processes:
                process.join(5.0)
            raise


def _in_order(begin: Callable[[T], Callable[[], R]], items: Iterable[T], ahead: int) -> Iterator[R]:
    """Answers in the order of the items; each is taken when all but ``ahead`` - 1 of those before it are answered."""
    waiting: deque[Callable[[], R]] = deque()
    for item in items:
        waiting.append(begin(item))
        if len(waiting) >= ahead:
            yield waiting.popleft()()
    while waiting:
        yield waiting.popleft()()


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Processes started meanwhile use one BLAS thread each: with more, milliseconds become seconds."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started meanwhile do not hear Ctrl-C, not even before their first line; here it is heard afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _script_not_run_again() -> Iterator[None]:
    """Processes started meanwhile do not import the user's script.

    They need nothing from it, and a script that plans without ``if __name__ == "__main__"`` would plan in each of them.
    """
    main = sys.modules.get("__main__")
    kept = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    if main is not None and "__file__" in kept:
        del main.__file__
    if main is not None and "__spec__" in kept:
        main.__spec__ = None
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)


def available_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
