"""How quick planning is, what the smallest-force choice is worth, and what deformation changes.

    python benchmarks/planner.py ring             # one task: stages, hypotheses per CPU second, forces
    python benchmarks/planner.py --tables         # share of usable hypotheses by method; all shipped tasks

Numbers of peers for comparison are published ones (GraspIt! 12-27 rigid grasps per CPU second, FRoGGeR 1.8 s each).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from dataclasses import replace

import numpy as np

from pliant.files import shipped_task, shipped_tasks
from pliant.objects import make_shape
from pliant.planner import Plan, PlanStatus, Task, plan
from pliant.planner.closing import close_hand, open_hand_gap
from pliant.planner.hypotheses import make_hypotheses
from pliant.planner.setting import Setting, with_arm


def one(task: Task, jobs: int) -> Plan:
    """Plan and print the profile."""
    found = plan(task, jobs=jobs)
    cpu = found.cpu_s
    search = sum(seconds for stage, seconds in cpu.items() if stage != "preparation")
    closing = cpu.get("closing and pressing", 0.0)
    print(f"\n## {task.name}: {found.status}, {len(found.hypotheses)} hypotheses, {jobs} processes")
    print(f"wall {found.wall_s:.1f} s; CPU " + ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in cpu.items()))
    if closing and search:
        print(
            f"{len(found.hypotheses) / closing:.0f} hypotheses per CPU second through closing and contact, "
            f"{len(found.hypotheses) / search:.0f} through everything"
        )
    print(found.advice)
    return found


def forces(plans: list[Plan]) -> None:
    """The chosen grasp's force beside what other choices would have given."""
    print("\n| task | chosen [N] | first stable | median stable | best epsilon | below the median |")
    print("|---|---|---|---|---|---|")
    for found in plans:
        if not found.stable:
            print(f"| {found.task.name} | none | | | | |")
            continue
        at_rest = {grasp.number: grasp.largest_force for grasp in found.stable}
        median = float(np.median(list(at_rest.values())))
        epsilon = max(found.stable, key=lambda grasp: grasp.epsilon).largest_force
        chosen = found.best.grasp.largest_force if found.best is not None else float("nan")
        print(
            f"| {found.task.name} | {chosen:.3g} | {found.stable[0].largest_force:.3g} | {median:.3g} | "
            f"{epsilon:.3g} | {100 * (1 - chosen / median):.0f} % |"
        )


def rigid(task: Task, soft: Plan, jobs: int) -> None:
    """What a planner that takes the object for rigid would do to the soft one."""
    stiff = replace(task.body, material=replace(task.body.material, young=1e3 * task.body.material.young))
    hard = plan(replace(task, body=stiff), jobs=jobs)
    print(f"\n{task.name} taken as a thousand times stiffer: {hard.status}, {len(hard.stable)} stable", end="")
    if hard.best is not None and soft.best is not None:
        both = {grasp.number for grasp in hard.stable} & {grasp.number for grasp in soft.stable}
        depth = max(contact.depth for contact in hard.best.grasp.contacts)
        needed = max(contact.depth for contact in soft.best.grasp.contacts)
        print(f", {len(both)} of them stable when soft too; it would press {1e3 * depth:.3g} mm deep,", end=" ")
        print(f"the soft object needs {1e3 * needed:.3g} mm")
    else:
        print()


def usable(hands: tuple[str, ...] = ("schunk_sdh2",), count: int = 300) -> None:
    """Share of hypotheses in which two or more fingers touch, by method; open-hand collisions removed."""
    print("\n| object | method | hypotheses | free open hand | two or more fingers touch | share |")
    print("|---|---|---|---|---|---|")
    for name in ("torus", "bottle", "banana"):
        mesh = make_shape(name)
        base = shipped_task("ring")
        task = with_arm(replace(base, body=replace(base.body, mesh=mesh), scene=()))
        from pliant.contact import PreparedObject

        thing = PreparedObject.of(mesh, young=5e5, poisson=0.45, model="halfspace")
        setting = Setting(task, thing)
        for method in ("polyhedron", "sphere", "box"):
            free = touching = 0
            found = make_hypotheses(mesh, task.assembly, method=method, count=60, rolls=8, limit=count)
            for hypothesis in found:
                preshape = setting.hand.preshape(hypothesis.preshape)
                q = setting.hand.q_open(preshape)
                for group in setting.hand.groups(preshape, hypothesis.fingers):
                    q = setting.hand.with_closing(q, group, q, hypothesis.opening)
                if open_hand_gap(thing, setting.hand, q, hypothesis.T_object_palm)[0] < 0.0:
                    continue
                free += 1
                closing = close_hand(
                    thing,
                    setting.hand,
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
    parser.add_argument("--tables", action="store_true", help="usable hypotheses by method")
    parser.add_argument("--rigid", action="store_true", help="also plan with the object taken as rigid")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    began = time.monotonic()
    plans = [one(shipped_task(name), chosen.jobs) for name in chosen.tasks]
    if plans:
        forces(plans)
    if chosen.rigid:
        for found in plans:
            if found.status is PlanStatus.FOUND:
                rigid(shipped_task(found.task.name), found, chosen.jobs)
    if chosen.tables:
        usable()
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
