"""`pliant plan`: from a task to the grasp that holds with the smallest forces."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.completion import tasks


class Effort(StrEnum):
    """How hard to search."""

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"


def plan(
    task: Annotated[str, typer.Argument(help="A task file, or the name of a shipped task.", autocompletion=tasks)],
    out: Annotated[Path | None, typer.Option(help="Where to write the plan; TASK.plan by default.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores by default.")] = None,
    seed: Annotated[int, typer.Option(help="Chooses the hypotheses; same seed, same plan.", min=0)] = 0,
    effort: Annotated[Effort | None, typer.Option(help="How hard to search; the task's own when left out.")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="End the search after so long, with the best grasp so far.", min=0.1)
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="End with the first complete operation.")] = False,
    allow_outside: Annotated[
        bool, typer.Option("--allow-outside", help="Let the task name files outside its own folder.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find the grasp that holds, moves and does not squash, with the smallest contact forces.

    Exit code 1 means there is no such grasp; the answer says why and what to change. The most promising
    hypotheses are pressed first and improved; Ctrl-C keeps the best grasp so far (pressed twice, nothing is kept).

    Examples:

        pliant plan ring

        pliant plan ring --effort quick

        pliant plan my_task.yaml --seconds 10

        pliant plan my_task.yaml --first

        pliant plan my_task.yaml --out my.plan --jobs 4 --seed 7

        pliant plan my_task.yaml --json | jq .best.max_force_n
    """
    from pliant.cli.answers import emit
    from pliant.documents import make_room
    from pliant.files import load_task, save_plan
    from pliant.planner import PlanStatus, Stopped
    from pliant.planner import plan as search

    question = load_task(task, allow_outside=allow_outside)
    if effort is not None:
        question = replace(question, options=replace(question.options, effort=effort.value))
    path = make_room(out if out is not None else f"{question.name}.plan", task)
    with planning_progress() as tell:
        found = search(question, jobs=jobs, seed=seed, first=first, seconds=seconds, progress=tell)
    if found.stopped is Stopped.INTERRUPTED and not found.grasps:
        raise KeyboardInterrupt
    save_plan(found, path)
    answer = plan_answer(found) | {"file": str(path)}
    emit(answer, json)
    if not json:
        _print(found, path)
    if found.status is not PlanStatus.FOUND:
        raise typer.Exit(1)


def planning_progress() -> Any:
    """A bar on stderr that says which stage rejects how many."""
    from contextlib import contextmanager

    from pliant.cli.answers import progress, remark
    from pliant.contact import compiled_here

    @contextmanager
    def bar() -> Any:
        if not compiled_here():
            remark("first use here: compiling for this processor takes half a minute, once")
        with progress("planning", 100) as show:

            def show_stage(stage: str, done: int, total: int, rejected: dict[str, int]) -> None:
                words = stage + "".join(f", {count} {name}" for name, count in rejected.items())
                show(100.0 * done / max(total, 1), description=words)

            yield show_stage

    return bar()


def plan_answer(found: Any) -> dict[str, Any]:
    """The JSON answer of a plan."""
    answer: dict[str, Any] = {
        "status": str(found.status),
        "hypotheses": len(found.hypotheses),
        "rejected": found.counts,
        "stable": len(found.stable),
        "stopped": found.stopped,
        "first_s": _known(found.first_s),
        "improved_s": _known(found.improved_s),
        "tried": asdict(found.tried),
        "effort": found.task.options.effort,
        "best": _grasp(found.best, found.task) if found.best is not None else None,
        "runners_up": [_grasp(grasp, found.task) for grasp in found.grasps[1:]],
        "choice": _choice(found),
        "advice": found.advice,
        "seed": found.seed,
        "wall_s": found.wall_s,
        "cpu_s": found.cpu_s,
    }
    return answer


def _choice(found: Any) -> dict[str, Any] | None:
    choice, options = found.choice, found.task.options
    if choice is None:
        return None
    return {
        "rule": choice.rule,
        "shortlisted": choice.shortlisted,
        "force_tolerance": options.force_tolerance,
        "weights": options.weights,
        "cost": options.cost,
    }


def _known(value: float) -> float | None:
    """None for what is not known."""
    return None if math.isnan(value) else value


def _grasp(grasp: Any, task: Any) -> dict[str, Any]:
    from pliant.planner import least_force

    T = grasp.grasp.T_world_object
    return {
        "hypothesis": grasp.hypothesis.number,
        "max_force_n": grasp.largest_force,
        "nominal_force_n": grasp.nominal_force,
        "bound_n": least_force(task, len(grasp.grasp.contacts)),
        "holds_share": _known(grasp.holds_share),
        "holds_interval": [_known(value) for value in grasp.holds_interval],
        "reserve": {"friction": grasp.reserve.friction, "load": grasp.reserve.load},
        "max_pressure_pa": grasp.largest_pressure,
        "contacts": [
            {
                "link": contact.link,
                "force_n": contact.normal_force,
                "wanted_n": float(contact.wanted[2]),
                "normal": T.rotation @ contact.T_object_contact.rotation[:, 2],
                "point_m": T.act(contact.T_object_contact.translation),
                "radius_m": contact.radius,
                "pressure_pa": contact.peak_pressure,
                "pad_depth_m": contact.pad_depth,
            }
            for contact in grasp.grasp.contacts
        ],
        "com_shift_m": grasp.com_shift,
        "joint_range": grasp.joint_range,
        "arm_path_rad": grasp.arm_path,
        "duration_s": grasp.trajectory.duration,
        "approach_s": grasp.approach_s,
        "sequential_s": grasp.sequential_s,
        "approach_way": grasp.approach_way,
        "epsilon": grasp.epsilon,
        "grasp_singular_value": grasp.grasp_singular_value,
        "hand_singular_value": grasp.hand_singular_value,
        "fingers": list(grasp.hypothesis.fingers),
        "preshape": grasp.hypothesis.preshape,
        "source": grasp.hypothesis.source,
        "warnings": list(grasp.warnings),
    }


def _approach(best: Any) -> str:
    """How the best grasp is reached, beside the arm first and then the fingers."""
    return (
        f"approach of the first: {best.approach_s:.2f} s to the touch, arm first and then fingers "
        f"{best.sequential_s:.2f} s; {best.approach_way}"
    )


def _robust(best: Any, task: Any) -> str:
    """How sure the best grasp is, and how good it can be at most."""
    from pliant.planner import least_force

    low, high = best.holds_interval
    count = len(best.grasp.contacts)
    return (
        f"it holds under {100 * best.holds_share:.0f} % ({100 * low:.0f} to {100 * high:.0f} %) of the pose errors of "
        f"the task's uncertainty, by its promise; {count} contacts cannot do with less than "
        f"{least_force(task, count):.3g} N"
    )


def _effort(found: Any) -> str:
    """How much was tried, and what ended the search."""
    ends = {"seconds": "ended by --seconds", "first": "ended by --first", "interrupted": "interrupted"}
    tried = found.tried
    words = (
        f"{tried.promised} promises, {tried.pressed} pressed, {tried.stable} stable, {tried.completed} complete "
        f"(effort {found.task.options.effort})"
    )
    if not math.isnan(found.first_s):
        words += f"; the first after {found.first_s:.1f} s, the best after {found.improved_s:.1f} s"
    return words + (f"; {ends[found.stopped]}" if found.stopped in ends else "")


def _print(found: Any, path: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from pliant.cli.answers import plain

    console = Console(markup=False, emoji=False)
    rejected = Table(title=f"{len(found.hypotheses)} hypotheses", title_justify="left")
    rejected.add_column("rejected at")
    rejected.add_column("count", justify="right")
    for reason, count in found.counts.items():
        rejected.add_row(plain(reason), str(count))
    console.print(rejected)
    if found.grasps:
        table = Table(title="kept, best first", title_justify="left")
        # Narrow enough for a terminal of 80 columns: names may break, numbers may not.
        table.add_column("", justify="right", no_wrap=True)
        for name in ("force\n[N]", "nominal\n[N]", "peak\n[kPa]"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("fingers")
        table.add_column("preshape")
        for name in ("joint\nrange", "touch\n[s]", "time\n[s]"):
            table.add_column(name, justify="right", no_wrap=True)
        for rank, grasp in enumerate(found.grasps, start=1):
            table.add_row(
                str(rank),
                f"{grasp.largest_force:.3g}",
                f"{grasp.nominal_force:.3g}",
                f"{grasp.largest_pressure / 1e3:.3g}",
                plain(", ".join(grasp.hypothesis.fingers)),
                plain(grasp.hypothesis.preshape),
                f"{grasp.joint_range:.3g}",
                f"{grasp.approach_s:.3g}",
                f"{grasp.trajectory.duration:.3g}",
            )
        console.print(table)
        console.print(plain(_approach(found.best)))
        console.print(plain(_robust(found.best, found.task)))
    console.print(plain(found.advice))
    console.print(plain(_effort(found)))
    console.print(f"{found.wall_s:.1f} s; written to {plain(str(path))}")
