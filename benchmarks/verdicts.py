"""The planner's verdict on a grasp beside the lab's: how often they agree, and what each costs.

    python benchmarks/planner.py ball ring sponge --save plans
    python benchmarks/verdicts.py plans/*.plan [--grasps 2] [--friction 0.3 0.6 0.8 1 1.3]
                                  [--out out/benchmarks/verdicts.json]

Every kept grasp is carried out in worlds whose friction differs from the planned one by a factor, twice: with its
planned joints alone (no force loop), and with its planned forces (the loop holds them, without any reserve and without
gripping harder when something slips). The planner answers for the same friction: one contact simulation at rest, and
whether friction balances the weight. "Holds" of both is held, everything else is not. The rest pose decides for the
planner; the lab lifts, moves and holds. Frictions near the planned one are the hard cases: a plan keeps only 5 % of
reserve. Without plans nothing runs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from record import about, write

from pliant.control import ControlOptions, RunOutcome
from pliant.files import load_plan
from pliant.lab import CALIBRATION_SETTINGS, Disturbance, TrialSettings, run_trial
from pliant.planner import PlannedGrasp, Task
from pliant.planner.context import PlanningContext
from pliant.planner.reasons import Failure

JOINTS = TrialSettings(
    from_pregrasp=True,
    period=0.012,
    lab=CALIBRATION_SETTINGS.lab,  # a fine one: planned contacts are tenths of a millimetre deep
    control=ControlOptions(force_loop=False),
    fine=True,
)
FORCES = replace(JOINTS, control=ControlOptions(slip_gain=0.0))


def planner_says(task: Task, grasp: PlannedGrasp, factor: float) -> tuple[bool, float]:
    """Whether the planned joints hold the object at another friction, and the CPU time of the answer [s]."""
    material = replace(task.body.material, friction=factor * task.body.material.friction)
    bare = replace(task, body=replace(task.body, material=material), options=replace(task.options, margin=0.0))
    context = PlanningContext(bare)
    T = task.T_world_object
    question = grasp.grasp.q, T * grasp.hypothesis.T_object_palm, T, np.zeros(1)
    context.presser.simulate(*question)
    start = time.process_time()
    held = context.presser.simulate(*question)
    seconds = time.process_time() - start
    return not isinstance(held, Failure) and held.friction.holds, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", type=Path, nargs="*")
    parser.add_argument("--grasps", type=int, default=1, help="of each plan")
    parser.add_argument("--friction", type=float, nargs="+", default=[0.3, 0.6, 0.8, 1.0, 1.3])
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/verdicts.json"))
    options = parser.parse_args()
    if not options.plans:
        print("no plans given: nothing to carry out")
        return
    rows: list[dict[str, Any]] = []
    print("| grasp | friction | planner | lab, joints | lab, forces | planner [ms] | lab [s] |\n" + "|---" * 7 + "|")
    for path in options.plans:
        plan = load_plan(path)
        for k, grasp in enumerate(plan.grasps[: options.grasps]):
            for factor in options.friction:
                ours, seconds = planner_says(plan.task, grasp, factor)
                world = Disturbance(friction=factor)
                start = time.process_time()
                runs = [run_trial(plan.task, grasp, settings=how, disturbance=world) for how in (JOINTS, FORCES)]
                lab = (time.process_time() - start) / len(runs)
                joints, forces = (run.outcome is RunOutcome.HELD for run in runs)
                rows.append({"task": plan.task.name, "grasp": k, "friction": factor, "planner": ours, "joints": joints,
                             "forces": forces, "reasons": [run.reason for run in runs], "planner_s": seconds,
                             "lab_s": lab})  # fmt: skip
                words = " | ".join("holds" if verdict else "not" for verdict in (ours, joints, forces))
                print(
                    f"| {plan.task.name} {k} | x {factor:g} | {words} | {1e3 * seconds:.0f} | {lab:.1f} |", flush=True
                )
    equal = {how: sum(row["planner"] == row[how] for row in rows) / len(rows) for how in ("joints", "forces")}
    ratio = float(np.median([row["lab_s"] / row["planner_s"] for row in rows]))
    print(
        f"\nof {len(rows)} verdicts {equal['joints']:.0%} are equal with planned joints, {equal['forces']:.0%} with"
        f" planned forces; the lab takes {ratio:.0f} times the CPU time (median)"
    )
    write(options.out, {**about("mujoco"), "rows": rows, "equal": equal, "cpu_ratio": ratio})


if __name__ == "__main__":
    main()
