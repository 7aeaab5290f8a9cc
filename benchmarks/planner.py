"""How quickly planning finds a first operation and a good one, how far seeds differ, and what deformation changes.

    python benchmarks/planner.py --all                      # every shipped task, 200 s each
    python benchmarks/planner.py ball ring --seconds 20 --seeds 10
    python benchmarks/planner.py --rigid ball ring          # fingers where a plan for a rigid object would put them
    python benchmarks/planner.py --usable                   # share of usable hypotheses by source of directions

The object is prepared and everything is compiled before the clock starts. Peers: FRoGGeR needs 1.8 s for a rigid grasp,
GraspIt! tries 12-27 rigid grasps per CPU second (published numbers).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import time
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
from record import about, write

from pliant.contact import PreparedObject
from pliant.files import load_task, save_plan, shipped_tasks
from pliant.objects import make_shape
from pliant.planner import Plan, PlannedGrasp, Task, least_force, plan, verify_plan
from pliant.planner.closing import close_hand, open_hand_gap
from pliant.planner.context import PlanningContext, prepare_object
from pliant.planner.flying_hand import with_arm
from pliant.planner.hypotheses import make_hypotheses
from pliant.planner.reasons import Failure

SOON = 20.0
"""A good grasp should be there after so long [s]."""


def workers_cpu(jobs: int) -> float:
    """CPU time that the processes of the planner have used [s]; one works here."""
    if jobs == 1:
        return time.process_time()
    ticks = 0
    for process in active_children():
        stat = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(stat[11]) + int(stat[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def searched(
    task: Task, seconds: float, jobs: int, seed: int = 0, *, by_cpu: bool = False, first: bool = False
) -> tuple[Plan, dict[str, Any]]:
    """Search for so long, and note when it became better.

    By CPU time: a second is over when the processes have used one each. It may end with the first operation.
    """
    prepare_object(task.body)
    task = replace(task, options=replace(task.options, effort="thorough"))
    began: list[float] = []
    found: list[tuple[float, float]] = []

    def now() -> float:
        return workers_cpu(jobs) / jobs if by_cpu else time.monotonic()

    def progress(what: str, *counts: Any) -> None:
        if what == "searching" and not began:
            began.append(now())

    def improved(grasp: PlannedGrasp) -> None:
        found.append((now() - began[0], grasp.largest_force))

    def stop() -> bool:
        return bool(began) and now() - began[0] > seconds

    result = plan(task, jobs=jobs, seed=seed, first=first, progress=progress, improved=improved, stop=stop)
    problems = [str(problem) for problem in verify_plan(result).problems] if result.grasps else []
    least = min((grasp.largest_force for grasp in result.grasps), default=np.nan)
    contacts = len(result.best.grasp.contacts) if result.best is not None else 3
    return result, {
        "seed": seed,
        "seconds": seconds,
        "by_cpu": by_cpu,
        "first_s": found[0][0] if found else np.nan,
        "improved_s": found[-1][0] if found else np.nan,
        "least_n": least,
        "bound_n": least_force(task, contacts),
        "improvements": found,
        "tried": [result.tried.promised, result.tried.pressed, result.tried.stable, result.tried.completed],
        "cpu_s": result.cpu_s,
        "worker_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        "problems": problems,
        "advice": result.advice,
    }


def table(names: list[str], seconds: float, jobs: int, save: Path | None, by_cpu: bool) -> dict[str, Any]:
    """A long search for each task, and how far it was after `SOON`."""
    print(f"\n| task | first [s] | best of {SOON:g} s [N] | best of {seconds:g} s | bound | pressed | stable | check |")
    print("|---|---|---|---|---|---|---|---|")
    rows: dict[str, Any] = {}
    for name in names:
        result, row = searched(load_task(name), seconds, jobs, by_cpu=by_cpu)
        row["soon_s"] = SOON
        row["soon_n"] = min((force for when, force in row["improvements"] if when <= SOON), default=np.nan)
        _, pressed, stable, _ = row["tried"]
        forces = f"{row['soon_n']:.3g} | {row['least_n']:.3g} | {row['bound_n']:.2g}"
        share = f"{stable / max(pressed, 1):.0%}"
        problems = len(row["problems"])
        print(f"| {name} | {row['first_s']:.1f} | {forces} | {pressed} | {share} | {problems} problems |", flush=True)
        rows[name] = row
        if save is not None and result.grasps:
            save.mkdir(parents=True, exist_ok=True)
            save_plan(result, save / f"{name}.plan")
    first = [row["first_s"] for row in rows.values()]
    near = sum(row["soon_n"] <= 1.1 * row["least_n"] for row in rows.values())
    print(f"\nfirst operation: median {np.nanmedian(first):.1f} s, longest {np.nanmax(first):.1f} s, ", end="")
    print(f"{int(np.isnan(first).sum())} without; within 10 % of the long search: {near} of {len(rows)}")
    print(f"largest worker: {max(row['worker_mb'] for row in rows.values()):.0f} MB")
    return rows


def spread(names: list[str], seconds: float, jobs: int, seeds: int, by_cpu: bool) -> dict[str, Any]:
    """The same search with other seeds."""
    print(
        f"\n| task | seeds | best of {seconds:g} s [N]: least | median | largest | spread | first [s]: median | most |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rows: dict[str, Any] = {}
    for name in names:
        runs = [searched(load_task(name), seconds, jobs, seed, by_cpu=by_cpu)[1] for seed in range(seeds)]
        forces, first = np.array([run["least_n"] for run in runs]), np.array([run["first_s"] for run in runs])
        low, middle, high = np.nanmin(forces), np.nanmedian(forces), np.nanmax(forces)
        print(
            f"| {name} | {seeds}, {int(np.isnan(forces).sum())} without | {low:.3g} | {middle:.3g} | {high:.3g} | "
            f"{high / low - 1:.0%} | {np.nanmedian(first):.1f} | {np.nanmax(first):.1f} |",
            flush=True,
        )
        rows[name] = runs
    return rows


def rigid(task: Task, seconds: float, jobs: int) -> dict[str, Any]:
    """What becomes of the soft object between fingers that stand where a plan for a rigid one puts them."""
    body = task.body
    stiff = replace(
        body,
        material=replace(body.material, young=1e3 * body.material.young),
        limits=replace(body.limits, pressure=None),
    )
    hard, _ = searched(replace(task, body=stiff), seconds, jobs)
    context = PlanningContext(with_arm(task))
    fates = [at_position(context, grasp) for grasp in hard.grasps]
    print(f"| {task.name} | {'; '.join(fates)} |", flush=True)
    return {"by_position": fates}


def at_position(context: PlanningContext, grasp: PlannedGrasp) -> str:
    """What the soft object does between fingers that stand where a grasp of the rigid plan puts them."""
    T = context.task.T_world_object
    held = context.presser.simulate(grasp.grasp.q, T * grasp.hypothesis.T_object_palm, T, np.zeros(1))
    if isinstance(held, Failure):
        return str(held.reason)
    short = context.presser.shortfall(held)
    size = f"{held.largest_force:.2g} of {held.wanted.largest_force:.2g} N"
    return f"holds ({size})" if short is None else f"{short.reason} ({size})"


def usable(count: int = 300) -> None:
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
                groups = context.hand.groups(preshape, hypothesis.fingers)
                q = context.hand.at_opening(context.hand.q_open(preshape), groups, hypothesis.opening)
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
    parser.add_argument("--seconds", type=float, default=200.0, help="of the long search")
    parser.add_argument("--seeds", type=int, default=0, help="so many seeds instead of a long search")
    parser.add_argument("--rigid", action="store_true", help="plan with the object taken for rigid instead")
    parser.add_argument("--usable", action="store_true", help="usable hypotheses by method instead")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cpu", action="store_true", help="seconds of CPU time of each process: on a busy machine")
    parser.add_argument("--save", type=Path, help="folder for the plans of the long searches")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/planner.json"))
    chosen = parser.parse_args()
    began = time.monotonic()
    names = list(shipped_tasks()) if chosen.all else chosen.tasks or ["ball", "ring"]
    record: dict[str, Any] = about("pin", "clarabel", "numba")
    if chosen.usable:
        usable()
    elif chosen.rigid:
        print("\n| taken for rigid | fingers where its kept grasps put them |\n|---|---|")
        record["rigid"] = {name: rigid(load_task(name), chosen.seconds, chosen.jobs) for name in names}
    elif chosen.seeds:
        record["seeds"] = spread(names, chosen.seconds, chosen.jobs, chosen.seeds, chosen.cpu)
    else:
        record["tasks"] = table(names, chosen.seconds, chosen.jobs, chosen.save, chosen.cpu)
    print(f"\n{time.monotonic() - began:.0f} s")
    write(chosen.out, record)


if __name__ == "__main__":
    main()
