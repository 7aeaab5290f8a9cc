"""Forces while held, and what the force loop and the filter are worth: the same disturbed worlds with and without them.

    python benchmarks/planner.py ring sponge --save plans
    python benchmarks/trials.py plans/*.plan [--count 20] [--worlds own] [--ways ...] [--workers 2]
                                [--out out/benchmarks/trials.json]

Every plan is carried out ``count`` times in worlds drawn from one seed: pose +-5 mm and +-5 deg, Young's modulus
+-30 %, friction +-20 %, mass +-10 %, pad noise; with ``--worlds own`` from the task's own uncertainty, for which the
plan has reserves. Each way in turn: force loop on, off, on without filter, joint torques. Told are how often the object
was held, Wilson's 95 % interval, and the largest true force in lift, move and hold over the largest planned one, in the
median and the worst world. Without plans nothing runs: a trial costs 10 to 60 CPU seconds, so this is no part of a
quick round of benchmarks. What has been found is written after every series.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from record import about, write

from pliant.control import ControlOptions, RunOutcome, TorqueOptions
from pliant.files import load_plan
from pliant.lab import LabOptions, SeriesResult, TrialSettings, run_series
from pliant.planner import Uncertainty

WAYS = {
    "loop on": {"control": ControlOptions()},
    "loop off": {"control": ControlOptions(force_loop=False)},
    "no filter": {"control": ControlOptions(filter=False)},
    "torques": {"torques": TorqueOptions()},
}
WORLDS = Uncertainty(0.005, float(np.radians(5.0)), young=0.3, friction=0.2, mass=0.1)
"""Wider than the default uncertainty of a task, for which its plan has reserves."""
SETTINGS = TrialSettings(
    from_pregrasp=True, period=0.012, lab=LabOptions(step=0.004, friction_stiffness=100.0, nodes=200)
)


def entry(result: SeriesResult) -> dict[str, Any]:
    return {
        "peak_over_planned": result.peaks_over_plan.tolist(),
        "counts": result.counts,
        "rate": result.rate,
        "interval": result.interval,
        "max_force_n": result.max_force,
        "permitted_force_n": result.limit,
        "longest_overload_s": max(e.overload_s for e in result.entries),
        "reasons": [e.reason for e in result.entries if e.reason],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plans", type=Path, nargs="*")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--worlds", choices=("wide", "own"), default="wide")
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=tuple(WAYS)[:3])
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/trials.json"))
    options = parser.parse_args()
    if not options.plans:
        print("no plans given: nothing to carry out")
        return
    found: dict[str, dict[str, Any]] = {}
    print("| series | held | 95 % interval | peak over plan, median | worst | planned [N] | permitted [N] |")
    print("|---|---|---|---|---|---|---|")
    for path in options.plans:
        plan = load_plan(path)
        if plan.best is None:
            print(f"{path}: holds no grasp")
            continue
        for name in options.ways:
            result = run_series(
                plan.task,
                plan.best,
                count=options.count,
                seed=options.seed,
                ranges=WORLDS if options.worlds == "wide" else None,
                settings=replace(SETTINGS, **WAYS[name]),
                workers=options.workers,
            )
            series = f"{plan.task.name}, {name}"
            found[series] = entry(result)
            low, high = result.interval
            over = result.peaks_over_plan
            print(
                f"| {series} | {result.counts['held']}/{options.count} | {low:.0%} to {high:.0%} | "
                f"{np.nanmedian(over):.2f} | {np.nanmax(over):.2f} | "
                f"{result.planned_peak:.2f} | {result.limit:.0f} |",
                flush=True,
            )
            for reason in sorted({e.reason for e in result.entries if e.outcome is not RunOutcome.HELD}):
                print(f"    {reason}", file=sys.stderr, flush=True)
            write(options.out, {**about("mujoco"), "count": options.count, "seed": options.seed, "series": found})


if __name__ == "__main__":
    main()
