"""Accuracy against polygon count against planning time: ball and ring at several mesh sizes, in one table.

    python benchmarks/resolution.py [--vertices 120 400 1500 6000 20000] [--hypotheses 60]
                                    [--out out/benchmarks/resolution.json]

Force errors are of the `body` model under two spherical pads, in per cent of fine finite elements (the truth table of
`contact.py`, largest over its depths) and of the finest mesh of the run. Times are CPU time of this process: preparing
the object without the cache, one press of both pads, and a plan of so many hypotheses with a gripper, without the
preparation.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from record import about, write

from contact import POISSON, TRUTH, YOUNG, force, least
from pliant.contact import PreparedObject
from pliant.objects import Body, Material, Mesh
from pliant.planner import Goal, PlannerOptions, Task, plan
from pliant.robot import load_assembly

CASES = {"ball": "ball, spheres", "ring": "torus, pinched"}


def measured(case: str, vertices: int, hypotheses: int) -> dict[str, Any]:
    """Errors and times at one mesh size."""
    make, places, radius, truths = TRUTH[case]
    mesh = make(vertices)
    start = time.process_time()
    prepared = PreparedObject.of(mesh, young=YOUNG, poisson=POISSON, cache=False)
    prepare_s = time.process_time() - start
    forces = {depth: force(prepared, places, depth, radius) for depth in truths}
    middle = sorted(truths)[len(truths) // 2]
    press_s = least(lambda: force(prepared, places, middle, radius), 3)
    return {
        "polygons": len(mesh.faces),
        "forces_n": forces,
        "error_percent": {depth: 100 * (forces[depth] / truth - 1) for depth, truth in truths.items()},
        "prepare_s": prepare_s,
        "press_ms": 1e3 * press_s,
        **planned(mesh, hypotheses),
    }


def planned(mesh: Mesh, hypotheses: int) -> dict[str, Any]:
    """CPU time and force of a plan with a gripper that flies freely."""
    gripper = load_assembly(None, "parallel_gripper")
    body = Body.from_mesh(mesh, Material(YOUNG, POISSON, None, 0.6), mass=0.12)
    place = pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.3]))
    search = PlannerOptions(faces=20, rolls=4, keep=3, hypotheses=hypotheses)
    found = plan(Task(gripper, gripper.q_home, body, place, (), Goal(lift=0.05), search), jobs=1)
    cpu = sum(seconds for stage, seconds in found.cpu_s.items() if stage != "preparation")
    best = None if found.best is None else found.best.largest_force
    return {"plan_s": cpu, "stable": len(found.stable), "plan_force_n": best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vertices", type=int, nargs="+", default=[120, 400, 1500, 6000, 20000])
    parser.add_argument("--hypotheses", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/resolution.json"))
    options = parser.parse_args()
    measured("ball, spheres", min(options.vertices), 10)  # what is compiled once does not count
    record: dict[str, Any] = {}
    print("| body | polygons | error against FEM [%] | against the finest [%] | prepare [s] | press [ms] | ", end="")
    print("plan [s] | force [N] |")
    print("|---|---|---|---|---|---|---|---|")
    for name, case in CASES.items():
        rows = [measured(case, count, options.hypotheses) for count in sorted(options.vertices)]
        record[name] = rows
        for row in rows:
            finest = [100 * (row["forces_n"][d] / rows[-1]["forces_n"][d] - 1) for d in row["forces_n"]]
            row["from_finest_percent"] = finest
            errors = " / ".join(f"{error:+.1f}" for error in row["error_percent"].values())
            beside = " / ".join(f"{error:+.1f}" for error in finest)
            print(
                f"| {name} | {row['polygons']} | {errors} | {beside} | {row['prepare_s']:.1f} | "
                f"{row['press_ms']:.0f} | {row['plan_s']:.1f} | {row['plan_force_n'] or np.nan:.2f} |",
                flush=True,
            )
    write(options.out, {**about("numba"), "hypotheses": options.hypotheses, "bodies": record})


if __name__ == "__main__":
    main()
