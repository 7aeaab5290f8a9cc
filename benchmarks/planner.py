"""How quick planning is, what the smallest-force choice is worth, and what deformation changes.

    python benchmarks/planner.py                       # the ring: stages, hypotheses per CPU second, forces, memory
    python benchmarks/planner.py --all --rigid         # every shipped task, and again with the object taken for rigid
    python benchmarks/planner.py --usable              # share of usable hypotheses by method of proposing them
    python benchmarks/planner.py --scaling             # CPU time over the number of hypotheses and over the mesh size

Numbers of peers for comparison are published ones (GraspIt! 12-27 rigid grasps per CPU second, FRoGGeR 1.8 s each).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from record import about, write

from pliant.contact import PreparedObject
from pliant.files import load_plan, load_task, save_plan, shipped_tasks
from pliant.objects import make_shape
from pliant.planner import Plan, PlannedGrasp, PlanStatus, Reason, Rejection, Stage, Task, plan
from pliant.planner.closing import close_hand, open_hand_gap
from pliant.planner.context import PlanningContext, with_arm
from pliant.planner.hypotheses import make_hypotheses
from pliant.planner.reasons import Failure

CLOSING, MOVING = "closing and pressing", "lifting, moving, approaching"


def one(task: Task, jobs: int) -> tuple[Plan, dict[str, Any]]:
    """Plan and print the profile."""
    found = plan(task, jobs=jobs)
    cpu = found.cpu_s
    search = sum(seconds for stage, seconds in cpu.items() if stage != "preparation")
    closing = cpu.get(CLOSING, 0.0)
    count = len(found.hypotheses)
    # of the largest process that has ended so far: one worker
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\n## {task.name}: {found.status}, {count} hypotheses, {jobs} processes")
    print(f"wall {found.wall_s:.1f} s; CPU " + ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in cpu.items()))
    print(f"{count / closing:.0f} hypotheses per CPU second through closing and contact, ", end="")
    print(f"{count / search:.0f} through everything; {memory:.0f} MB in the largest worker so far")
    print(found.advice, flush=True)
    numbers = {"hypotheses": count, "wall_s": found.wall_s, "cpu_s": cpu, "worker_mb": memory}
    return found, {**numbers, "rejected": found.counts}


def forces(plans: list[Plan]) -> dict[str, Any]:
    """The chosen grasp's force at rest beside what other choices would have given."""
    print("\n| task | stable | chosen [N] | first stable | median stable | best epsilon | below the median |")
    print("|---|---|---|---|---|---|---|")
    rows: dict[str, Any] = {}
    for found in plans:
        if not found.stable or found.best is None:
            print(f"| {found.task.name} | {len(found.stable)} | none | | | | |")
            continue
        median = float(np.median([grasp.largest_force for grasp in found.stable]))
        epsilon = max(found.stable, key=lambda grasp: grasp.epsilon).largest_force
        chosen, first = found.best.grasp.largest_force, found.stable[0].largest_force
        print(
            f"| {found.task.name} | {len(found.stable)} | {chosen:.3g} | {first:.3g} | {median:.3g} | "
            f"{epsilon:.3g} | {100 * (1 - chosen / median):.0f} % |"
        )
        rows[found.task.name] = {"chosen": chosen, "first": first, "median": median, "epsilon": epsilon}
    return rows


CRUSHED = (Reason.PRESSURE_LIMIT, Reason.FORCE_LIMIT, Reason.NEEDS_MORE_FORCE)
BESIDE_PADS = (Reason.NO_PAD, Reason.BESIDE_PAD, Reason.BESIDE_CELLS)
FREE = (Stage.CHOICE, Stage.APPROACH, Stage.REACH)
"""Stages at which a grasp that falls has held the object at rest."""


def rigid(soft: Plan, jobs: int) -> dict[str, Any]:
    """What a planner that takes the object for rigid, and so knows no pressure, would do to the soft one.

    Its stable grasps are looked up in the soft plan: a hand that keeps forces meets that fate. A hand that keeps
    positions goes where the rigid plan says; what the soft object then feels is simulated.
    """
    task, body = soft.task, soft.task.body
    stiff = replace(
        body,
        material=replace(body.material, young=1e3 * body.material.young),
        limits=replace(body.limits, pressure=None),
    )
    hard = plan(replace(task, body=stiff), jobs=jobs)
    fates = {rejection.number: rejection for rejection in soft.rejections}
    by_force = Counter(_verdict(fates.get(grasp.number)) for grasp in hard.stable)
    context = PlanningContext(task)
    by_position = [at_position(context, grasp) for grasp in hard.grasps]
    print(f"| {task.name} | {len(hard.stable)} | " + " | ".join(str(by_force[v]) for v in VERDICTS), end=" | ")
    print("; ".join(by_position) + " |", flush=True)
    return {"stable": len(hard.stable), "by_force": dict(by_force), "by_position": by_position}


VERDICTS = ("holds", "lost", "crushed", "beside pads")


def _verdict(fate: Rejection | None) -> str:
    """What becomes of the soft object in a grasp that the rigid plan found stable."""
    if fate is None or fate.stage in FREE:
        return "holds"
    if fate.reason in CRUSHED:
        return "crushed"
    # the soft object spreads: its contact lies elsewhere, where nothing is felt
    return "beside pads" if fate.reason in BESIDE_PADS else "lost"


def at_position(context: PlanningContext, grasp: PlannedGrasp) -> str:
    """What the soft object does between fingers that stand where a grasp of the rigid plan puts them."""
    T = context.task.T_world_object
    held = context.presser.simulate(grasp.grasp.q, T * grasp.hypothesis.T_object_palm, T, np.zeros(1))
    if isinstance(held, Failure):
        return held.reason
    short = context.presser.shortfall(held)
    size = f"{held.largest_force:.2g} of {held.wanted.largest_force:.2g} N"
    return f"holds ({size})" if short is None else f"{short.reason} ({size})"


def scaling(jobs: int) -> dict[str, Any]:
    """CPU time of the ring over the number of hypotheses, and over the number of faces of its mesh."""
    base = load_task("ring")
    print("\n| hypotheses | faces | CPU closing [s] | per hypothesis [ms] | CPU moving [s] | grasps completed |")
    print("|---|---|---|---|---|---|")
    rows = []
    few = replace(base, options=replace(base.options, hypotheses=200))
    tasks = [replace(base, options=replace(base.options, hypotheses=n)) for n in (100, 200, 400, 800)]
    for edge in (8e-3, 4e-3, 2e-3, 1.4e-3):
        mesh = make_shape("torus", major=0.035, minor=0.015, edge=edge)
        tasks.append(replace(few, body=replace(few.body, mesh=mesh)))
    for task in tasks:
        found = plan(task, jobs=jobs)
        count, faces = len(found.hypotheses), len(task.body.mesh.faces)
        closing, moving = found.cpu_s.get(CLOSING, 0.0), found.cpu_s.get(MOVING, 0.0)
        completed = sum(r.stage in ("reach", "manipulation") for r in found.rejections) + len(found.grasps)
        print(
            f"| {count} | {faces} | {closing:.1f} | {1e3 * closing / count:.0f} | {moving:.1f} | {completed} |",
            flush=True,
        )
        rows.append({"hypotheses": count, "faces": faces, "closing_s": closing, "moving_s": moving})
    return {"rows": rows}


def usable(hands: tuple[str, ...] = ("schunk_sdh2",), count: int = 300) -> None:
    """Share of hypotheses in which two or more fingers touch, by method; open-hand collisions removed."""
    print("\n| object | method | hypotheses | free open hand | two or more fingers touch | share |")
    print("|---|---|---|---|---|---|")
    for name in ("torus", "bottle", "banana"):
        mesh = make_shape(name)
        base = load_task("ring")
        task = with_arm(replace(base, body=replace(base.body, mesh=mesh), scene=()))
        prepared = PreparedObject.of(mesh, young=5e5, poisson=0.45, model="halfspace")
        context = PlanningContext(task, prepared)
        for method in ("polyhedron", "sphere", "box"):
            free = touching = 0
            found = make_hypotheses(mesh, task.assembly, method=method, count=60, rolls=8, limit=count)
            for hypothesis in found:
                preshape = context.hand.preshape(hypothesis.preshape)
                q = context.hand.q_open(preshape)
                for group in context.hand.groups(preshape, hypothesis.fingers):
                    q = context.hand.with_closing(q, group, q, hypothesis.opening)
                if open_hand_gap(prepared, context.hand, q, hypothesis.T_object_palm)[0] < 0.0:
                    continue
                free += 1
                closing = close_hand(
                    prepared,
                    context.hand,
                    hypothesis.preshape,
                    hypothesis.fingers,
                    hypothesis.T_object_palm,
                    opening=hypothesis.opening,
                )
                touching += len(closing.touching) >= 2
            share = touching / max(free, 1)
            print(f"| {name} | {method} | {len(found)} | {free} | {touching} | {share:.0%} |")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help=f"shipped tasks: {', '.join(shipped_tasks())}")
    parser.add_argument("--all", action="store_true", help="every shipped task")
    parser.add_argument("--rigid", action="store_true", help="also plan with the object taken for rigid")
    parser.add_argument("--usable", action="store_true", help="usable hypotheses by method")
    parser.add_argument("--scaling", action="store_true", help="CPU time over hypotheses and mesh size")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=Path, help="folder for the plans")
    parser.add_argument("--load", type=Path, help="folder with plans of these tasks, instead of making them")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/planner.json"))
    chosen = parser.parse_args()
    began = time.monotonic()
    other = chosen.usable or chosen.scaling
    names = shipped_tasks() if chosen.all else chosen.tasks or ([] if other else ["ring"])
    record: dict[str, Any] = {**about("pin", "clarabel", "numba"), "tasks": {}}
    plans = []
    for name in names:
        if chosen.load is not None:
            plans.append(load_plan(chosen.load / f"{name}.plan"))
            continue
        found, record["tasks"][name] = one(load_task(name), chosen.jobs)
        plans.append(found)
        if chosen.save is not None:
            chosen.save.mkdir(parents=True, exist_ok=True)
            save_plan(found, chosen.save / f"{name}.plan")
    if plans:
        record["forces_n"] = forces(plans)
    if chosen.rigid:
        found_plans = [found for found in plans if found.status is PlanStatus.FOUND]
        print(f"\n| taken for rigid | stable | {' | '.join(VERDICTS)} | fingers where its kept grasps put them |")
        print("|---|---|---|---|---|---|---|")
        record["rigid"] = {found.task.name: rigid(found, chosen.jobs) for found in found_plans}
    if chosen.scaling:
        record["scaling"] = scaling(chosen.jobs)
    if chosen.usable:
        usable()
    print(f"\n{time.monotonic() - began:.0f} s")
    write(chosen.out, record)


if __name__ == "__main__":
    main()
