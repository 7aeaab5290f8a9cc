"""Work on hypotheses spread over processes; answers come in order, so their number does not matter."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from pliant.contact import compiled_here
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


Spread = Callable[[Job, Iterable[list[Any] | None], int, Callable[[], bool]], Iterator[Answers]]
"""What to do, with which lists of items, how many lists are taken before the first answer is given, and whether to end
before all are answered. Answers come in order."""
POLL = 0.1
"""Time between two looks at whether to end [s]."""


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


def _serve(known: PlanningContext | Task, first: Any, questions: Any) -> None:
    """What a worker process does: answer until nobody asks any more."""
    # the terminal sends Ctrl-C to everyone; the parent decides what becomes of us
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent()
    worker = Worker(known if isinstance(known, PlanningContext) else PlanningContext(known), first)
    while True:
        try:
            job, items = questions.recv()
        except EOFError:
            return
        try:
            questions.send(worker.work(job, items))
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            questions.send(error)


class _Pool:
    """Worker processes with a pipe of its own for each.

    One that is ended in the middle of an answer leaves no lock taken and no half answer that another would read: with
    the shared queues of `concurrent.futures` the program waited for the rest of such an answer for ever.
    """

    def __init__(self, processes: Any, count: int, known: PlanningContext | Task, first: Any) -> None:
        self._asked: SimpleQueue[tuple[Future[Answers], Job, list[Any]] | None] = SimpleQueue()
        self._processes, self._threads = [], []
        for _ in range(count):
            here, there = processes.Pipe()
            process = processes.Process(target=_serve, args=(known, first, there), daemon=True)
            with _deaf_children():
                process.start()
            there.close()
            self._processes.append(process)
            self._threads.append(threading.Thread(target=self._relay, args=(here,), daemon=True))
        for thread in self._threads:  # only now: a thread that runs while another process is forked may hold a lock
            thread.start()

    def _relay(self, pipe: Any) -> None:
        """Give one worker question after question."""
        with pipe:
            while (asked := self._asked.get()) is not None:
                future, job, items = asked
                try:
                    pipe.send((job, items))
                    answer = pipe.recv()
                except (EOFError, OSError):
                    answer = RuntimeError("a worker process ended unexpectedly, perhaps for want of memory")
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def begin(self, job: Job, items: list[Any]) -> Callable[..., Answers]:
        """Ask; the answer is what the returned function returns, unless nobody waits for it any more."""
        future: Future[Answers] = Future()
        self._asked.put((future, job, items))

        def answer(ended: Callable[[], bool] = lambda: False) -> Answers:
            while True:
                try:
                    return future.result(POLL)
                except TimeoutError:
                    if ended():
                        raise Ended from None

        return answer

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(5.0)
            if process.exitcode is None:
                process.kill()
        for _ in self._threads:
            self._asked.put(None)


@contextmanager
def worker_processes(context: PlanningContext, count: int) -> Iterator[Spread]:
    """A function that spreads items over processes and gives the answers in order; one process: here and now."""
    if count == 1:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            worker = Worker(context)

            def here(job: Job, items: list[Any]) -> Callable[[], Answers]:
                return partial(worker.work, job, items)

            yield lambda job, lists, ahead, ended: _in_order(partial(here, job), lists, ahead, ended)
        return
    from multiprocessing import get_all_start_methods, get_context

    forks = "fork" in get_all_start_methods()
    known = context if forks else context.task
    with _single_threaded_children(), _script_not_run_again():
        # a forked process has the context already; making it again takes seconds
        processes = get_context("fork" if forks else "spawn")
        first = None if compiled_here() else processes.Lock()
        pool = _Pool(processes, count, known, first)
        try:
            yield lambda job, lists, ahead, ended: _in_order(partial(pool.begin, job), lists, ahead, ended)
        finally:
            pool.close()


class Ended(Exception):
    """Nobody waits for the answer any more."""


def _in_order(
    begin: Callable[[T], Callable[..., R]], items: Iterable[T | None], ahead: int, ended: Callable[[], bool]
) -> Iterator[R]:
    """Answers in the order of the items; each is taken when all but ``ahead`` - 1 of those before it are answered.

    An item of None means that the next one depends on an answer that is not given yet; where all are, it is the last.
    They stop where ``ended`` says so; where items are worked on here and now, after the one that is.
    """
    waiting: deque[Callable[..., R]] = deque()
    try:
        for item in items:
            if item is not None:
                waiting.append(begin(item))
            elif not waiting:
                return
            if item is None or len(waiting) >= ahead:
                yield _answered(waiting.popleft(), ended)
        while waiting:
            yield _answered(waiting.popleft(), ended)
    except Ended:
        return


def _answered(answer: Callable[..., R], ended: Callable[[], bool]) -> R:
    if ended():
        raise Ended
    return answer() if isinstance(answer, partial) else answer(ended)


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
