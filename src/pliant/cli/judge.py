"""`pliant judge`: does a planned grasp hold, by finite elements that share nothing with the planner's contact model?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pliant.judge import CriticalFriction, JudgedGrasp, Outcome


def judge(
    plan: Annotated[Path, typer.Argument(help="A plan (.plan), written by `pliant plan`.")],
    grasp: Annotated[int, typer.Option(help="Which grasp of the plan; 0 is the best.", min=0)] = 0,
    friction: Annotated[
        list[float], typer.Option(help="Factor on the task's friction at which it is judged. Repeat; 1 if left out.")
    ] = [],  # noqa: B006 - typer copies it
    critical: Annotated[
        bool, typer.Option("--critical", help="Also find the friction factor below which it falls, to one per cent.")
    ] = False,
    edge: Annotated[
        float | None,
        typer.Option(help="Of the elements where links press [m]; from the contacts' radii if left out."),
    ] = None,
    pad_thickness: Annotated[
        float | None, typer.Option(help="Of every elastic pad, on a rigid core [m]; as thick as wide if left out.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge a planned grasp by finite elements with friction and its history: slow, and independent of the planner.

    The object stands on its support, the fingers squeeze it as planned, the support sinks away, it comes to rest or
    falls, and the task's disturbances push it, one after the other. Links that come near without pressing take part.
    The move after the lift is not judged. Solid objects only.

    Exit code 1 if it does not hold at the first of the friction factors.

    Examples:

        pliant judge ring.plan

        pliant judge ring.plan --grasp 1 --friction 1 --friction 0.8 --json

        pliant judge ball.plan --critical --pad-thickness 0.003
    """
    import math
    import time

    from pliant.cli.answers import EXIT_NO, emit, progress
    from pliant.errors import OptionError, Problem
    from pliant.files import load_plan
    from pliant.judge import JudgedGrasp, critical_friction

    factors = friction or [1.0]
    wrong = [Problem("", f"{value:g}", "a factor, 0 or more") for value in factors if not 0.0 <= value < math.inf]
    if wrong:
        raise OptionError("--friction", wrong)
    loaded = load_plan(plan)
    if grasp >= len(loaded.grasps):
        allowed = f"the plan holds {len(loaded.grasps)}" if loaded.grasps else "the plan found none"
        raise OptionError("--grasp", Problem("", f"no grasp {grasp}", allowed))
    begin = time.process_time()
    with progress("preparing", 1.0) as show:
        judged = JudgedGrasp.of(
            loaded.task,
            loaded.grasps[grasp],
            edge=edge,
            pad_thickness=math.inf if pad_thickness is None else pad_thickness,
            progress=lambda what, share: show(share, description=what),
        )
        outcomes: dict[float, Outcome] = {}

        def ask(factor: float) -> bool | None:
            if factor not in outcomes:
                outcomes[factor] = judged.ask(
                    factor, progress=lambda what: show(0.0, description=f"friction x {factor:.3g}: {what}")
                )
            return outcomes[factor].verdict.holds

        for factor in factors:
            ask(factor)
        found = critical_friction(ask) if critical else None
    answer = _answer(judged, [(factor, outcomes[factor]) for factor in factors], found)
    answer["cpu_s"] = time.process_time() - begin
    emit(answer, json)
    if not json:
        _print(answer)
    if not answer["holds"]:
        raise typer.Exit(EXIT_NO)


def _answer(
    judged: JudgedGrasp, outcomes: list[tuple[float, Outcome]], critical: CriticalFriction | None
) -> dict[str, Any]:
    partners = judged.question.partners
    links = [i for i, partner in enumerate(partners) if not partner.support]

    def forces(outcome: Outcome) -> list[float | None]:
        return [outcome.forces[i].normal if outcome.forces else None for i in links]

    first = outcomes[0][1]
    return {
        "holds": first.verdict.holds,
        "verdict": first.verdict,
        "links": [partners[i].name for i in links],
        "forces_n": forces(first),
        "planned_forces_n": [judged.question.planned[i] for i in links],
        "critical_friction_factor": critical.factor if critical is not None else None,
        "critical_friction_between": list(critical) if critical is not None else None,
        "friction": judged.question.friction,
        "verdicts": [
            {
                "friction_factor": factor,
                "holds": outcome.verdict.holds,
                "verdict": outcome.verdict,
                "forces_n": forces(outcome),
                "tangential_n": [outcome.forces[i].tangential if outcome.forces else None for i in links],
                "sliding_share": [outcome.forces[i].sliding if outcome.forces else None for i in links],
                "slid_m": [outcome.slid[i] if outcome.slid else None for i in links],
                "moved_m": outcome.moved,
                "turned_rad": outcome.turned,
            }
            for factor, outcome in outcomes
        ],
        "elements": judged.body.elements,
        "notes": list(dict.fromkeys(note for _, outcome in outcomes for note in judged.notes(outcome))),
    }


def _print(answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False, highlight=False)
    for verdict in answer["verdicts"]:
        factor = verdict["friction_factor"]
        table = Table(
            "link",
            "planned normal force [N]",
            "judged [N]",
            "along the surface [N]",
            "at the friction limit",
            "slid [mm]",
            title=f"friction {factor * answer['friction']:.3g} (x {factor:g}): {verdict['verdict']}",
        )
        rows = zip(
            answer["links"],
            answer["planned_forces_n"],
            verdict["forces_n"],
            verdict["tangential_n"],
            verdict["sliding_share"],
            verdict["slid_m"],
            strict=True,
        )
        for link, planned, *known in rows:
            shown = ["-"] * 4
            if None not in known:
                normal, along, share, slid = known
                shown = [f"{normal:.4g}", f"{along:.4g}", f"{100 * share:.0f} %", f"{1e3 * slid:.3f}"]
            table.add_row(link, f"{planned:.4g}", *shown)
        console.print(table)
    between = answer["critical_friction_between"]
    if between is not None:
        low, high = between
        if high == float("inf"):
            console.print(f"it holds at no friction up to {low:.3g} times the task's")
        elif low == 0.0:
            console.print(f"it still holds at {high:.3g} times the task's friction")
        else:
            console.print(f"it falls below {answer['critical_friction_factor']:.3f} times the task's friction")
    for note in answer["notes"]:
        console.print("note:", style="yellow", end=" ")
        console.print(note)
    console.print(f"{answer['elements']} elements, {answer['cpu_s']:.0f} s of CPU time")
