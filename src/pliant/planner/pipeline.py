"""From a task to a plan: hypotheses, search, choice, over all cores.   (theory 8)"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pliant.arrays import Floats
from pliant.collision import mount_problem
from pliant.errors import OptionError, Problem
from pliant.planner.advice import advice
from pliant.planner.bound import least_force
from pliant.planner.compiling_aside import compiled_aside
from pliant.planner.context import PlanningContext, prepare_object
from pliant.planner.diagnosis import diagnose
from pliant.planner.flying_hand import with_arm
from pliant.planner.hypotheses import Hypothesis, make_hypotheses
from pliant.planner.reasons import Failure, Reason
from pliant.planner.results import Plan, PlannedGrasp, PlanStatus, Stopped
from pliant.planner.robustness import holds_share
from pliant.planner.search import Found, Progress, Search, nobody
from pliant.planner.selection import distinct, ranked, scored
from pliant.planner.task import EFFORTS, Task
from pliant.planner.worker_processes import available_cores, worker_processes


def plan(
    task: Task,
    *,
    jobs: int | None = None,
    seed: int = 0,
    first: bool = False,
    seconds: float | None = None,
    progress: Progress | None = None,
    improved: Callable[[PlannedGrasp], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Plan:
    """Find the grasps that hold and reach the goal with the smallest contact forces.

    Ctrl-C ends the search with the best grasp so far; once more, and nothing is kept.

    Args:
        task: robot, object, scene and goal; ``task.options.effort`` says how hard to search.
        jobs: processes; all cores by default. The answer does not depend on it.
        seed: of the choice of hypotheses.
        first: end with the first complete operation.
        seconds: end the search after so long; what is prepared before it does not count.
        progress: called with how far it is; see `Progress`.
        improved: called with every grasp that is better than all before.
        stop: asked now and then whether to end the search.

    Returns:
        The kept grasps, best first, and the reason why every other hypothesis was rejected. No plan is an answer too:
        look at ``status``, ``counts`` and ``advice``.

    Raises:
        OptionError: a question that makes no sense: no hand, one inside the arm, jobs below one, a start that collides.
    """
    if jobs is not None and jobs < 1:
        raise OptionError("jobs", f"{jobs}; allowed: 1 or more")
    if seconds is not None and not seconds > 0.0:
        raise OptionError("seconds", Problem("", f"{seconds:g} s", "above 0"))
    began = time.monotonic()
    if (problem := mount_problem(task.assembly)) is not None:
        raise OptionError(task.name, problem)
    task = with_arm(task)
    report = progress or (lambda what, done, total, rejected: None)

    def preparing(what: str, share: float) -> None:
        report(f"preparing the object: {what}", round(100 * share), 100, {})

    count = jobs if jobs is not None else available_cores()
    start = time.process_time()
    with compiled_aside(count) as compiled:
        context = PlanningContext(task, prepare_object(task.body, preparing))
        preparation = time.process_time() - start
        report("compiling for this processor, once", 0, 1, {})
        compiled(lambda: stop is not None and stop())
    options = task.options
    with _ctrl_c() as interrupted:

        def asked_to_stop() -> bool:
            return interrupted() or (stop is not None and stop())

        found = _searched(
            context,
            count,
            seed=seed,
            first=first,
            ends_at=time.monotonic() + (seconds if seconds is not None else float("inf")),
            asked_to_stop=asked_to_stop,
            progress=report,
            improved=improved or nobody,
        )
        diagnosis = None
        if not found.grasps and found.hypotheses:
            report("finding out what would help", 0, 1, {})

            def confirmed(changed: PlanningContext) -> PlannedGrasp | None:
                grasps = _searched(changed, count, seed=seed, first=True, asked_to_stop=asked_to_stop).grasps
                return grasps[0] if grasps else None

            trials = confirmed if found.stopped is Stopped.DONE else None
            diagnosis = diagnose(context, found.hypotheses, found.rejections, trials)
            report("finding out what would help", 1, 1, {})
    candidates = sorted(found.grasps, key=lambda g: (g.largest_force, g.hypothesis.number))
    candidates = distinct(candidates)
    most = max(options.keep, options.shortlist)
    candidates[:most] = [_judged(context, grasp, seed) for grasp in candidates[:most]]
    ranking = ranked(candidates, options)
    kept = ranking.grasps[: options.keep]
    numbers = {grasp.hypothesis.number for grasp in candidates}
    outdone = [
        Failure(Reason.SAME_GRASP, 0.0).rejection(grasp.hypothesis.number)
        for grasp in found.grasps
        if grasp.hypothesis.number not in numbers
    ]
    for place, grasp in enumerate(ranking.grasps[options.keep :], start=options.keep):
        listed = ranking.choice is not None and place < ranking.choice.shortlisted
        reason = Reason.BETTER_SCORE if scored(options) else Reason.BETTER_RANGE if listed else Reason.LESS_FORCE
        margin = grasp.joint_range if reason is Reason.BETTER_RANGE else grasp.largest_force
        outdone.append(Failure(reason, margin).rejection(grasp.hypothesis.number))
    answer = Plan(
        task=task,
        status=PlanStatus.FOUND if kept else PlanStatus.NONE,
        grasps=tuple(kept),
        hypotheses=tuple(found.hypotheses),
        rejections=tuple(sorted([*found.rejections, *outdone], key=lambda rejection: rejection.number)),
        choice=ranking.choice,
        stable=tuple(found.stable),
        seed=seed,
        wall_s=time.monotonic() - began,
        cpu_s={"preparation": preparation, **found.cpu_s},
        versions=_versions(),
        stopped=found.stopped,
        first_s=found.first_s,
        improved_s=found.improved_s,
        tried=found.tried,
    )
    return replace(answer, advice=advice(answer, diagnosis))


def _searched(context: PlanningContext, jobs: int, *, seed: int, **how: Any) -> Found:
    """A search among the hypotheses of a task; ``how`` are arguments of `Search`."""
    task, options = context.task, context.task.options

    def drawn(blocked: Callable[[Floats], bool] | None) -> list[Hypothesis]:
        return make_hypotheses(
            task.body.mesh,
            task.assembly,
            method=options.method,
            count=options.faces,
            rolls=options.rolls,
            limit=min(options.hypotheses, EFFORTS[options.effort].hypotheses),
            seed=seed,
            blocked=blocked,
        )

    # an object that is walled in on all sides: the hypotheses shall say what is in their way
    hypotheses = drawn(context.palm_blocked) or drawn(None)

    def least(fingers: int) -> float:
        return max(least_force(task, fingers), context.presser.wanted.least)

    with worker_processes(context, jobs) as spread:
        return Search(hypotheses, options, least, seed=seed, **how).run(spread)


def _judged(context: PlanningContext, grasp: PlannedGrasp, seed: int) -> PlannedGrasp:
    """A grasp with the share of pose errors under which it holds."""
    share = holds_share(context, grasp.hypothesis, seed)
    return replace(grasp, holds_share=share.share, holds_interval=(share.low, share.high))


@contextmanager
def _ctrl_c() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed meanwhile; the second time it interrupts as always.

    Nothing is raised at the first: an exception in the middle of compiled code would become an error of its own.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def note(signum: int, frame: object) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _versions() -> dict[str, str]:
    found = {}
    for name in ("pliant", "numpy", "scipy", "pin", "coal", "clarabel", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
