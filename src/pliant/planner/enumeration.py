"""Every hypothesis to a stable grasp first, then these to whole operations, least force first (effort "all").

A grasp's force while it is moved is never below its force at rest, so the search stops when no other can be among the
gentlest or those to be kept. Where joint range or arm path have a weight, there is no such bound: all are completed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pliant.planner.completion import complete
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.reasons import Failure, Reason, Rejection
from pliant.planner.results import PlannedGrasp, StableGrasp, Stopped, Tried
from pliant.planner.search import Found, Progress, by_stage, try_hypothesis
from pliant.planner.selection import settled
from pliant.planner.stability import HeldGrasp
from pliant.planner.task import PlannerOptions
from pliant.planner.worker_processes import Job, Spread

CHUNK = 20
"""Hypotheses that a process is given at once."""
AHEAD = 4
"""Stable grasps in the making while it is decided whether one more is needed; fixed, so that workers do not matter."""


class Stable(NamedTuple):
    """Stable grasps in the order of their hypotheses, why the others were rejected, and the CPU time [s]."""

    grasps: list[HeldGrasp]
    rejections: list[Rejection]
    cpu_s: float


class Completed(NamedTuple):
    """Completed grasps, why the other stable ones were rejected, and the CPU time [s]."""

    grasps: list[PlannedGrasp]
    rejections: list[Rejection]
    cpu_s: float


def find_stable(
    hypotheses: list[Hypothesis],
    job: Job,
    spread: Spread,
    progress: Progress,
    ended: Callable[[], bool] = lambda: False,
) -> Stable:
    """Every hypothesis to a stable grasp, or why it is none.

    Args:
        job: does this for one hypothesis: a HeldGrasp or a Rejection.
    """
    what, total = "closing and pressing", len(hypotheses)
    grasps: list[HeldGrasp] = []
    rejections: list[Rejection] = []
    cpu_s = 0.0
    chunks = [hypotheses[i : i + CHUNK] for i in range(0, total, CHUNK)]
    progress(what, 0, total, {})
    for answers, seconds in spread(job, chunks, len(chunks), ended):
        for answer in answers:
            (rejections if isinstance(answer, Rejection) else grasps).append(answer)
        cpu_s += seconds
        progress(what, len(grasps) + len(rejections), total, by_stage(rejections))
    return Stable(grasps, rejections, cpu_s)


def complete_stable(
    stable: Stable,
    options: PlannerOptions,
    job: Job,
    spread: Spread,
    progress: Progress,
    ended: Callable[[], bool] = lambda: False,
) -> Completed:
    """Stable grasps to whole operations, until no other can be among the gentlest or those to keep.   (theory 8.8)

    Args:
        job: does this for one stable grasp: a PlannedGrasp or a Rejection.
    """
    what = "lifting, moving, approaching"
    order = sorted(stable.grasps, key=lambda g: (g.held.largest_force, g.hypothesis.number))
    done: list[PlannedGrasp] = []
    rejections: list[Rejection] = []
    cpu_s = 0.0

    def needed() -> Iterator[list[HeldGrasp]]:
        for grasp in order:
            if settled(sorted(found.largest_force for found in done), grasp.held.largest_force, options):
                return
            rejected = by_stage([*stable.rejections, *rejections])
            progress(what, len(done) + len(rejections), len(order), rejected)
            yield [grasp]

    for answers, seconds in spread(job, needed(), AHEAD, ended):
        cpu_s += seconds
        for answer in answers:
            (rejections if isinstance(answer, Rejection) else done).append(answer)
    progress(what, len(order), len(order), by_stage([*stable.rejections, *rejections]))
    rejections += [
        Failure(Reason.LESS_FORCE, grasp.held.largest_force).rejection(grasp.hypothesis.number)
        for grasp in order[len(done) + len(rejections) :]
    ]
    return Completed(done, rejections, cpu_s)


def enumerate_all(
    hypotheses: list[Hypothesis],
    options: PlannerOptions,
    spread: Spread,
    progress: Progress,
    asked_to_stop: Callable[[], bool],
) -> Found:
    """Press every hypothesis, then complete the gentlest stable grasps, until done or asked to stop."""
    began = time.monotonic()
    stable = find_stable(hypotheses, try_hypothesis, spread, progress, asked_to_stop)
    known = {grasp.hypothesis.number for grasp in stable.grasps} | {r.number for r in stable.rejections}
    tried = [hypothesis for hypothesis in hypotheses if hypothesis.number in known]
    completed = complete_stable(stable, options, complete, spread, progress, asked_to_stop)
    seconds = time.monotonic() - began if completed.grasps else math.nan
    return Found(
        completed.grasps,
        tried,
        [*stable.rejections, *completed.rejections],
        [StableGrasp(g.hypothesis.number, g.held.largest_force, g.epsilon) for g in stable.grasps],
        Tried(len(tried), len(tried), len(stable.grasps), len(completed.grasps)),
        Stopped.INTERRUPTED if asked_to_stop() else Stopped.DONE,
        seconds,
        seconds,
        {"closing and pressing": stable.cpu_s, "lifting, moving, approaching": completed.cpu_s},
    )
