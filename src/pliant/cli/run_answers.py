"""What `pliant run` answers: one JSON object, or tables for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.control import ControlOptions, RunResult
    from pliant.lab import PushOutcome, SeriesResult
    from pliant.planner import PlannedGrasp

CONTROLLED = {
    "pads": "what the pads feel",
    "torques": "joint torques",
    "commands": "the planned commands alone (nothing is measured; pliant run --torques presses by joint torques)",
}


def run_answer(result: RunResult, control: ControlOptions, grasp: PlannedGrasp) -> dict[str, Any]:
    """The JSON answer of one run; what only a simulator can know is null on hardware."""
    known = vars(result)
    object_error = known.get("object_error", (None, None))
    return {
        "outcome": result.outcome,
        "reason": result.reason,
        "slip_m": known.get("slip"),
        "object_error_m": object_error[0],
        "object_error_rad": object_error[1],
        "centre_error_m": known.get("centre_error"),
        "planned_force_n": result.planned_force,
        "measured_force_n": result.measured_force,
        "point_error_m": result.point_error,
        "max_force_n": result.max_force,
        "peak_force_n": result.peak_force,
        "planned_peak_force_n": result.planned_peak_force,
        "max_pressure_pa": known.get("max_pressure"),
        "permitted_force_n": permitted_force(grasp),
        "over_limit_s": known.get("overload_s"),
        "sim_s": known.get("sim_s"),
        "wall_s": known.get("wall_s", result.duration),
        "control": result.control,
        "force_loop": control.force_loop,
        "filter": control.filter,
        "calibration": {"k": control.calibration.force, "stiffness_factor": control.calibration.stiffness},
        "estimates": result.log.facts.get("estimates"),
        "end": result.log.end if len(result.log) else None,
        "events": [
            {"time_s": event.time, "phase": event.phase, "kind": event.kind, "text": event.text}
            for event in result.log.events
        ],
        "notes": known.get("notes", ()),
        "pushes": [_push(push) for push in known.get("pushes", ())],
    }


def _push(push: PushOutcome) -> dict[str, Any]:
    return {
        "force_n": push.force,
        "torque_nm": push.torque,
        "phase": push.phase,
        "start_s": push.start,
        "slip_m": push.slip,
        "remaining_m": push.remaining,
        "held": push.held,
    }


def permitted_force(grasp: PlannedGrasp) -> float:
    """The least permitted force of its contacts [N]."""
    return min(contact.max_force for contact in grasp.grasp.contacts)


def print_run(result: RunResult, answer: dict[str, Any], json: bool) -> None:
    """Print one run: a table for people, or its JSON object."""
    from rich.console import Console
    from rich.table import Table

    from pliant.cli.answers import emit

    if json:
        emit(answer, True)
        return
    console = Console(markup=False, emoji=False)
    used = answer["calibration"]
    if used["k"] != 1.0 or used["stiffness_factor"] != 1.0:
        text = f"calibration: forces {used['k']:.2f}, stiffness {used['stiffness_factor']:.2f} times the plan's"
        console.print(text, highlight=False)
    console.print(result.outcome, style="bold", end="")
    console.print(f" ({result.reason})" if result.reason else "", highlight=False)
    if answer["slip_m"] is None:
        console.print(f"controlled by {CONTROLLED[result.control]}", highlight=False)
        measured, most = _or_not(result.measured_force), _or_not(result.max_force)
        forces = f"planned {result.planned_force:.2f}, while held: {measured}, at most: {most}"
        console.print(f"forces: {forces} of {answer['permitted_force_n']:.4g} N permitted", highlight=False)
    else:
        table = Table(show_header=False)
        off = f"{1e3 * answer['object_error_m']:.2f} mm, {answer['object_error_rad']:.3f} rad"
        rows = (
            ("slip in the hand", f"{1e3 * answer['slip_m']:.2f} mm"),
            ("object off its planned pose", off),
            ("centre of mass off", f"{1e3 * answer['centre_error_m']:.2f} mm"),
            ("controlled by", CONTROLLED[result.control]),
            ("largest force: planned / measured", f"{result.planned_force:.2f} / {_or_not(result.measured_force)} N"),
            ("largest true force / permitted", f"{result.max_force:.2f} / {answer['permitted_force_n']:.4g} N"),
            ("largest true pressure", _pressure(answer["max_pressure_pa"])),
            ("time simulated / real", f"{answer['sim_s']:.2f} / {answer['wall_s']:.1f} s"),
        )
        for name, value in rows:
            table.add_row(name, value)
        console.print(table)
    if told := _estimated(answer["estimates"] or {}):
        console.print(f"felt during the run: {told}", highlight=False)
    _print_pushes(console, answer["pushes"])
    for note in answer["notes"]:
        console.print(f"note: {note}", highlight=False)
    for event in result.log.events:
        console.print(f"{event.time:7.2f} s  {event.phase:9} {event.kind}: {event.text}", highlight=False)
    for path in answer["files"]:
        console.print(f"written: {path}", highlight=False)


def _estimated(estimates: dict[str, float | None]) -> str:
    """What the run has learned of its object, in words."""
    words = {
        "friction_at_least": "friction {:.2f} or more (nothing slipped)",
        "friction_at_slip": "friction {:.2f} (when it slipped)",
        "stiffness_factor": "contacts {:.2f} times as stiff as planned",
    }
    known = ((text, estimates.get(name)) for name, text in words.items())
    return ", ".join(text.format(value) for text, value in known if value is not None)


def _or_not(force: float) -> str:
    """A force [N], or that there is none."""
    return f"{force:.2f}" if math.isfinite(force) else "not measured"


def _pressure(pressure: float) -> str:
    return f"{pressure / 1e3:.1f} kPa" if math.isfinite(pressure) else "not measured: the hand has no tactile arrays"


def _print_pushes(console: Any, pushes: list[dict[str, Any]]) -> None:
    """One row for each push on the held object."""
    from rich.table import Table

    if not pushes:
        return
    table = Table(title="pushes on the held object", title_justify="left")
    for name in ("force [N]", "torque [N m]", "in", "slip [mm]", "remaining [mm]", "held"):
        table.add_column(name, justify="left" if name in ("in", "held") else "right")
    for push in pushes:
        sizes = (" ".join(f"{value:.3g}" for value in push[name]) for name in ("force_n", "torque_nm"))
        if push["held"] is None:
            table.add_row(*sizes, "", "", "", "not pushed: the run ended before")
            continue
        moved = (f"{1e3 * push[name]:.2f}" for name in ("slip_m", "remaining_m"))
        table.add_row(*sizes, str(push["phase"]), *moved, "yes" if push["held"] else "no")
    console.print(table)


def print_series(result: SeriesResult, json: bool) -> None:
    """Print a series: a table and what went wrong, or its JSON object."""
    from pliant.cli.answers import emit

    answer = {
        "trials": len(result.entries),
        "counts": result.counts,
        "rate": result.rate,
        "interval": result.interval,
        "max_force_n": result.max_force,
        "planned_peak_force_n": result.planned_peak,
        "permitted_force_n": result.limit,
        "entries": [
            {
                "number": entry.number,
                "outcome": entry.outcome,
                "reason": entry.reason,
                "disturbance": vars(entry.disturbance),
                "slip_m": entry.slip,
                "object_error_m": entry.object_error[0],
                "object_error_rad": entry.object_error[1],
                "measured_force_n": entry.measured_force,
                "max_force_n": entry.max_force,
                "peak_force_n": entry.peak_force,
                "max_pressure_pa": entry.max_pressure,
                "over_limit_s": entry.overload_s,
                "pushes": [_push(push) for push in entry.pushes],
            }
            for entry in result.entries
        ],
    }
    emit(answer, json)
    if json:
        return
    from rich.console import Console

    from pliant.lab import table_of

    console = Console(markup=False, emoji=False)
    console.print(table_of([("this plan", result)]), highlight=False)
    for entry in result.entries:
        if entry.outcome != "held":
            console.print(f"{entry.number}: {entry.outcome}: {entry.reason}", highlight=False)
