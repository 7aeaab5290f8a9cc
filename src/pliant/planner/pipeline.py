"""The planner's door: from a task to a plan, over all cores, the same whatever their number.   (theory 8)

First every hypothesis is taken to a stable grasp or falls. Then the stable ones are completed, least force first; a
grasp's force while it is moved is never below its force at rest, so the search stops when no other can need less than
those to be kept. Where joint range or arm path have a weight, nothing can be said beforehand: all are completed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from pliant.contact import compiled_here
from pliant.errors import OptionError
from pliant.planner.advice import advice
from pliant.planner.context import PlanningContext, prepare_object, with_arm
from pliant.planner.hypotheses import Hypothesis, make_hypotheses
from pliant.planner.operation import complete
from pliant.planner.results import Plan, PlannedGrasp, PlanStatus, Rejection, StableGrasp, Stage
from pliant.planner.selection import ranked
from pliant.planner.stability import HeldGrasp, try_hypothesis
from pliant.planner.task import PlannerOptions, Task
from pliant.workers import end_with_parent

Progress = Callable[[str, int, int, dict[str, int]], None]
"""Called with what is being done, how much of it is done, out of how much, and how many fell for which reason."""
CHUNK = 20
AHEAD = 4
"""Stable grasps in the making while it is decided whether one more is needed; fixed, so that workers do not matter."""

LESS_FORCE = "others need less force"

T = TypeVar("T")
R = TypeVar("R")


def plan(task: Task, *, jobs: int | None = None, seed: int = 0, progress: Progress | None = None) -> Plan:
    """Find the grasps that hold and carry out the wish with the smallest contact forces.

    Args:
        task: robot, object, scene and wish.
        jobs: processes; all cores by default. The answer does not depend on it.
        seed: of the choice of hypotheses.
        progress: told how far it is; see `Progress`.

    Returns:
        The kept grasps, best first, and the reason why every other hypothesis fell. No plan is an answer too: look at
        ``status``, ``counts`` and ``advice``.

    Raises:
        OptionError: a question that makes no sense: no hand, jobs below one, a start that collides.
    """
    if jobs is not None and jobs < 1:
        raise OptionError("jobs", f"{jobs}; allowed: 1 or more")
    began = time.monotonic()
    task = with_arm(task)
    tell = progress or (lambda stage, done, total, rejected: None)

    def preparing(what: str, share: float) -> None:
        tell(f"preparing the object: {what}", round(100 * share), 100, {})

    start = time.process_time()
    prepared = prepare_object(task.body, preparing)
    preparation = time.process_time() - start
    options = task.options
    hypotheses = make_hypotheses(
        task.body.mesh,
        task.assembly,
        method=options.method,
        count=options.faces,
        rolls=options.rolls,
        limit=options.hypotheses,
        seed=seed,
    )
    count = jobs if jobs is not None else _cores()
    cpu = {"preparation": preparation}
    with _workers(task, prepared, min(count, max(1, len(hypotheses) // CHUNK))) as over:
        grasps, rejections = _stable(hypotheses, over, tell, cpu)
        stable = tuple(StableGrasp(g.hypothesis.number, g.held.largest_force, g.epsilon) for g in grasps)
        done, more = _completed(grasps, options, over, tell, cpu, rejections)
    rejections += more
    kept = ranked(done, options.weights)
    reason = "others are better by the weights" if any(options.weights[1:]) else LESS_FORCE
    rejections += [_outdone(grasp.hypothesis, grasp.largest_force, reason) for grasp in kept[options.keep :]]
    kept = kept[: options.keep]
    rejections.sort(key=lambda rejection: rejection.number)
    answer = Plan(
        task=task,
        status=PlanStatus.FOUND if kept else PlanStatus.NONE,
        grasps=tuple(kept),
        hypotheses=tuple(hypotheses),
        rejections=tuple(rejections),
        stable=stable,
        seed=seed,
        wall_s=time.monotonic() - began,
        cpu_s=cpu,
        versions=_versions(),
    )
    return replace(answer, advice=advice(answer))


def _outdone(hypothesis: Hypothesis, force: float, reason: str = LESS_FORCE) -> Rejection:
    return Rejection(hypothesis.number, Stage.CHOICE, reason, force, "N")


Over = Callable[[str, Iterable[Any], int], Iterator[tuple[Any, float]]]
"""What to do, with which lists of items, and how many lists are taken before the first answer is given: in order."""


def _stable(
    hypotheses: list[Hypothesis], over: Over, tell: Progress, cpu: dict[str, float]
) -> tuple[list[HeldGrasp], list[Rejection]]:
    grasps: list[HeldGrasp] = []
    rejections: list[Rejection] = []
    rejected: dict[str, int] = {}
    chunks = [hypotheses[i : i + CHUNK] for i in range(0, len(hypotheses), CHUNK)]
    tell("closing and pressing", 0, len(hypotheses), rejected)
    for answers, seconds in over("try", chunks, len(chunks)):
        for answer in answers:
            if isinstance(answer, Rejection):
                rejections.append(answer)
                rejected[answer.stage] = rejected.get(answer.stage, 0) + 1
            else:
                grasps.append(answer)
        cpu["closing and pressing"] = cpu.get("closing and pressing", 0.0) + seconds
        tell("closing and pressing", len(grasps) + len(rejections), len(hypotheses), dict(rejected))
    return grasps, rejections


def _completed(
    grasps: list[HeldGrasp],
    options: PlannerOptions,
    over: Over,
    tell: Progress,
    cpu: dict[str, float],
    before: list[Rejection],
) -> tuple[list[PlannedGrasp], list[Rejection]]:
    order = sorted(grasps, key=lambda g: (g.held.largest_force, g.hypothesis.number))
    done: list[PlannedGrasp] = []
    rejections: list[Rejection] = []
    rejected: dict[str, int] = {}
    for rejection in before:
        rejected[rejection.stage] = rejected.get(rejection.stage, 0) + 1

    def needed() -> Iterator[list[HeldGrasp]]:
        for grasp in order:
            enough = len(done) >= options.keep and not any(options.weights[1:])
            if enough and grasp.held.largest_force >= sorted(found.largest_force for found in done)[options.keep - 1]:
                return
            tell("lifting, moving, approaching", len(done) + len(rejections), len(order), dict(rejected))
            yield [grasp]

    for answers, seconds in over("complete", needed(), AHEAD):
        cpu["lifting, moving, approaching"] = cpu.get("lifting, moving, approaching", 0.0) + seconds
        for answer in answers:
            if isinstance(answer, Rejection):
                rejections.append(answer)
                rejected[answer.stage] = rejected.get(answer.stage, 0) + 1
            else:
                done.append(answer)
    rejections += [_outdone(g.hypothesis, g.held.largest_force) for g in order[len(done) + len(rejections) :]]
    tell("lifting, moving, approaching", len(order), len(order), dict(rejected))
    return done, rejections


# -- workers -----------------------------------------------------------------------------------------------------


@dataclass
class _Worker:
    """What one process knows of the task."""

    context: PlanningContext
    first: Any = None
    """A lock, where nothing is compiled yet: one process compiles and the others wait, then take what it compiled."""
    begun: set[str] = field(default_factory=set)

    def work(self, what: str, items: list[Any]) -> tuple[list[Any], float]:
        """Answers for some items, and the CPU time they took [s]."""
        start = time.process_time()
        run: Callable[[PlanningContext, Any], Any] = complete if what == "complete" else try_hypothesis
        with self.first if self.first is not None and what not in self.begun else nullcontext():
            answers = [run(self.context, item) for item in items]
        if self.first is not None and (what != "try" or compiled_here()):  # most hypotheses fall before they touch
            self.begun.add(what)
        return answers, time.process_time() - start


_here: _Worker | None = None


def _begin(task: Task, first: Any) -> None:
    global _here
    # the terminal sends Ctrl-C to everyone; the parent decides what becomes of us
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _here = _Worker(PlanningContext(task), first)


def _work(what: str, items: list[Any]) -> tuple[list[Any], float]:
    assert _here is not None
    return _here.work(what, items)


@contextmanager
def _workers(task: Task, prepared: Any, count: int) -> Iterator[Over]:
    """A function that spreads items over processes and gives the answers in order; one process: here and now."""
    if count == 1:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            worker = _Worker(PlanningContext(task, prepared))
            yield lambda what, items, ahead: _in_order(lambda i: partial(worker.work, what, list(i)), items, ahead)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # wrong questions must be told here, not by a worker that dies
    PlanningContext(task, prepared)
    with _single_threaded_children(), _script_not_run_again():
        spawn = get_context("spawn")
        first = None if compiled_here() else spawn.Lock()
        pool = ProcessPoolExecutor(count, spawn, _begin, (task, first))
        try:

            def over(what: str, items: Iterable[Any], ahead: int) -> Iterator[tuple[Any, float]]:
                return _in_order(lambda item: begin(what, list(item)), items, ahead)

            def begin(what: str, items: list[Any]) -> Callable[[], tuple[Any, float]]:
                with _deaf_children():
                    return pool.submit(_work, what, items).result

            yield over
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


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _versions() -> dict[str, str]:
    found = {}
    for name in ("pliant", "numpy", "scipy", "pin", "coal", "clarabel", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
