"""Many trials under seeded disturbances: success rate with its confidence interval.   (theory 10)"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.control import RunOutcome
from pliant.errors import OptionError, Problem
from pliant.lab.pushes import PushOutcome
from pliant.lab.trial import Disturbance, TrialSettings, run_trial
from pliant.planner import PlannedGrasp, Task, Uncertainty
from pliant.workers import end_with_parent


def draw_disturbance(ranges: Uncertainty, number: int, seed: int = 0) -> Disturbance:
    """Disturbance number 0, 1, ... of a seed."""
    u = np.random.default_rng([seed, number]).uniform(-1.0, 1.0, 6)
    return Disturbance(
        (float(ranges.position * u[0]), float(ranges.position * u[1])),
        float(ranges.turn * u[2]),
        float(1.0 + ranges.young * u[3]),
        float(1.0 + ranges.friction * u[4]),
        float(1.0 + ranges.mass * u[5]),
    )


def number_in_series(
    number: int, ranges: Uncertainty, settings: TrialSettings, seed: int
) -> tuple[Disturbance, TrialSettings]:
    """World and noise of one run of a series: they depend on its number and the seed, not on how many there are."""
    noise = int(np.random.default_rng([seed, number, 1]).integers(2**31))
    own = replace(settings, sensors=replace(settings.sensors, seed=noise))
    return draw_disturbance(ranges, number, seed), own


class _Job(NamedTuple):
    task: Task
    grasp: PlannedGrasp
    number: int
    disturbance: Disturbance
    settings: TrialSettings


@dataclass(frozen=True, eq=False)
class SeriesEntry:
    """One trial of a series, without its log."""

    number: int
    disturbance: Disturbance
    outcome: RunOutcome
    reason: str
    slip: float
    object_error: tuple[float, float]
    measured_force: float
    max_force: float
    peak_force: float
    max_pressure: float
    overload_s: float
    cpu_s: float
    pushes: tuple[PushOutcome, ...] = ()


@dataclass(frozen=True, eq=False)
class SeriesResult:
    """What became of a series.

    Attributes:
        entries: in the order of the disturbances.
        rate: part of the trials in which the object was held.
        interval: 95 % confidence interval of the true rate (Wilson).
        max_force: largest force of all [N].
        limit: the permitted force [N].
        planned_peak: the plan's largest normal force [N].
    """

    entries: tuple[SeriesEntry, ...]
    rate: float
    interval: tuple[float, float]
    max_force: float
    limit: float
    planned_peak: float

    @property
    def peaks_over_plan(self) -> Floats:
        """Largest force in lift, move and hold over the largest planned one, of every trial; NaN if there was none."""
        return np.array([entry.peak_force for entry in self.entries]) / self.planned_peak

    @property
    def counts(self) -> dict[str, int]:
        """How many ended how."""
        return {str(o): sum(entry.outcome is o for entry in self.entries) for o in RunOutcome}


def wilson(successes: int, trials: int, *, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval for a rate: where p^ lies within z standard deviations sqrt(p (1 - p) / n) of p."""
    if trials == 0:
        return 0.0, 1.0
    p, n = successes / trials, trials
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * float(np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))
    return max(0.0, middle - half), min(1.0, middle + half)


def run_series(
    task: Task,
    grasp: PlannedGrasp,
    *,
    count: int = 20,
    seed: int = 0,
    ranges: Uncertainty | None = None,
    settings: TrialSettings | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> SeriesResult:
    """Carry out a grasp again and again in differing worlds.

    The same seed gives the same worlds and the same noise, however many workers there are.

    Args:
        workers: processes; 1: in this one.
        progress: called with how many are done and how many there are.
    """
    if count < 1 or workers < 1:
        raise OptionError("series", Problem("", f"{count} trials, {workers} workers", "one or more of each"))
    settings, ranges = settings or TrialSettings(), ranges or task.uncertainty
    jobs = [_Job(task, grasp, i, *number_in_series(i, ranges, settings, seed)) for i in range(count)]
    entries: list[SeriesEntry] = []

    def done(entry: SeriesEntry) -> None:
        entries.append(entry)
        if progress is not None:
            progress(len(entries), count)

    if workers == 1:
        for job in jobs:
            done(_entry(job))
    else:
        context = multiprocessing.get_context("spawn")  # a forked simulator shares what must not be shared
        with ProcessPoolExecutor(min(workers, count), mp_context=context, initializer=end_with_parent) as pool:
            for entry in pool.map(_entry, jobs):
                done(entry)
    held = sum(entry.outcome is RunOutcome.HELD for entry in entries)
    limit = min(contact.max_force for state in grasp.states for contact in state.contacts)
    largest, planned = max(entry.max_force for entry in entries), max(state.largest_force for state in grasp.states)
    return SeriesResult(tuple(entries), held / count, wilson(held, count), largest, limit, planned)


def _entry(job: _Job) -> SeriesEntry:
    result = run_trial(job.task, job.grasp, settings=job.settings, disturbance=job.disturbance)
    known = {f.name: getattr(result, f.name) for f in fields(SeriesEntry) if f.name not in ("number", "disturbance")}
    return SeriesEntry(number=job.number, disturbance=job.disturbance, **known)


def table_of(results: Sequence[tuple[str, SeriesResult]]) -> str:
    """One row per series, in plain text."""
    rows = [f"{'series':28} {'held':>9} {'95 % interval':>15} {'largest force':>14} {'limit':>7} {'peak / plan':>18}"]
    for name, result in results:
        low, high = result.interval
        held = f"{result.counts['held']}/{len(result.entries)}"
        rows.append(
            f"{name:28} {held:>9} {low:>6.0%} .. {high:>4.0%} {result.max_force:>12.1f} N {result.limit:>5.1f} N "
            f"{_span(result.peaks_over_plan):>18}"
        )
    return "\n".join(rows)


def _span(ratios: Floats) -> str:
    """Median and largest of those that are known."""
    known = ratios[np.isfinite(ratios)]
    return f"{np.median(known):.2f}, at most {known.max():.2f}" if len(known) else "not measured"
