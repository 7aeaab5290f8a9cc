"""`pliant run`: carry out a plan with tactile control."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pliant.control import RunPhase
    from pliant.lab import LabDriver, SeriesResult, TrialResult, TrialSettings
    from pliant.planner import PlannedGrasp, Task

PERTURB = ("pose", "turn", "young", "friction", "mass")
SENSOR = ("noise", "dropout", "delay", "warmth", "joints")


def run(
    plan: Annotated[Path, typer.Argument(help="A plan (.plan), written by `pliant plan`.")],
    driver: Annotated[str, typer.Option(help="Who carries it out: lab, or MODULE:FACTORY of your own.")] = "lab",
    grasp: Annotated[int, typer.Option(help="Which grasp of the plan; 0 is the best.", min=0)] = 0,
    perturb: Annotated[
        str | None,
        typer.Option(
            help="How the world differs from the plan. One run: pose=dx/dy [m], turn=[deg], young, friction, mass as "
            "factors. A series: half widths of the ranges, relative for young, friction, mass."
        ),
    ] = None,
    sensor: Annotated[
        str | None,
        typer.Option(help="noise=counts, dropout=probability, delay=seconds, warmth=-1..1, joints=rad."),
    ] = None,
    series: Annotated[int, typer.Option(help="So many runs in worlds drawn at random.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Of everything random.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Processes of a series.", min=1)] = 1,
    out: Annotated[Path | None, typer.Option(help="Write the run log (.run) here; not of a series.")] = None,
    plots: Annotated[Path | None, typer.Option(help="Write plots, pad images and pictures into this folder.")] = None,
    from_pregrasp: Annotated[bool, typer.Option("--from-pregrasp", help="Leave the approach out.")] = False,
    no_force_loop: Annotated[
        bool, typer.Option("--no-force-loop", help="Play the planned joints as they are.")
    ] = False,
    no_filter: Annotated[bool, typer.Option("--no-filter", help="Believe every measurement as it comes.")] = False,
    speed: Annotated[
        float, typer.Option(help="Of playing the plan: 1 as planned, 0.2 five times as slow.", min=0.01, max=1.0)
    ] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Carry out a plan with tactile control, in the virtual lab or on hardware.

    A driver of your own is a function that is given the robot (an Assembly) and returns a pliant.control.Driver;
    MODULE is looked for in this folder first. Of a run on hardware only what the pads say is known: slip and pose
    errors are null. --perturb, --sensor, --series and --jobs are of the lab alone.

    Exit code 1 if the object is not held at the end (of a series: if it is not held every time).

    Examples:

        pliant run ring.plan --out ring.run --plots figures

        pliant run ring.plan --perturb pose=0.003/-0.002,young=0.8,friction=0.9 --sensor noise=5,dropout=0.05

        pliant run ring.plan --series 20 --seed 1 --json

        pliant run ring.plan --driver my_hand:connect --speed 0.2 --out first_try.run
    """
    from dataclasses import replace

    from pliant.cli.answers import EXIT_NO, emit, progress
    from pliant.control import ControlOptions
    from pliant.documents import make_folder, make_room
    from pliant.errors import OptionError, Problem
    from pliant.files import load_plan, save_run
    from pliant.tactile import PadSensor

    if driver != "lab":
        from pliant.cli.run_driver import known_driver, run_with_driver

        known_driver(driver)
        lab_only = {"--perturb": perturb, "--sensor": sensor, "--series": series or None}
        lab_only["--jobs"] = jobs if jobs > 1 else None
        wrong = [Problem(name, "is of the lab alone", "leave it out") for name, v in lab_only.items() if v is not None]
        if wrong:
            raise OptionError("--driver", wrong)
    if series:  # its answer is told, not written: better said now than missed after an hour
        remedy = "leave it out; --json gives every run's numbers, and a run of its own gives a log"
        wrong = [Problem(n, "is of a single run", remedy) for n, v in {"--out": out, "--plots": plots}.items() if v]
        if wrong:
            raise OptionError("--series", wrong)
    if out is not None:
        make_room(out)
    if plots is not None:
        make_folder(plots)
    loaded = load_plan(plan)
    if grasp >= len(loaded.grasps):
        allowed = f"the plan holds {len(loaded.grasps)}" if loaded.grasps else "the plan found none"
        raise OptionError("--grasp", Problem("", f"no grasp {grasp}", allowed))
    task, chosen = loaded.task, loaded.grasps[grasp]
    control = ControlOptions(force_loop=not no_force_loop, filter=not no_filter, speed=speed)
    if driver != "lab":
        run_with_driver(driver, plan, task, chosen, control, from_pregrasp, out, plots, json)
        return
    from pliant.lab import SensorSettings, TrialSettings, run_series, run_trial

    given = _values(sensor, SENSOR, "--sensor")
    defaults = PadSensor()
    pad = replace(defaults, noise=given.get("noise", defaults.noise), warmth=given.get("warmth", 0.0))
    sensors = SensorSettings(
        pad,
        delay=given.get("delay", 0.0),
        dropout=given.get("dropout", 0.0),
        joint_noise=given.get("joints", 0.0),
        seed=seed,
    )
    settings = TrialSettings(control, sensors, from_pregrasp=from_pregrasp)
    if series:
        with progress("runs", total=series) as show:
            many = run_series(
                task,
                chosen,
                count=series,
                seed=seed,
                ranges=_ranges(perturb),
                settings=settings,
                workers=jobs,
                progress=lambda done, total: show(done, total),
            )
        _tell_series(many, json)
        if many.rate < 1.0:
            raise typer.Exit(EXIT_NO)
        return
    pictures: list[Path] = []
    on_phase = _photographer(plots, task, pictures) if plots is not None else None
    result = run_trial(task, chosen, settings=settings, disturbance=_disturbance(perturb), on_phase=on_phase)
    answer = run_answer(result, settings, chosen)
    files: list[Path] = list(pictures)
    if out is not None:
        facts = {**result.log.facts, "trial": {k: v for k, v in answer.items() if k != "events"}, "plan": str(plan)}
        files.append(save_run(replace(result.log, facts=facts), out))
    if plots is not None:
        from pliant.viewer import write_run_plots

        assert task.assembly.hand is not None
        limit = min(contact.max_force for contact in chosen.grasp.contacts)
        files += write_run_plots(result.log, plots, task.assembly.hand, sensor=pad, limit=limit)
    answer["files"] = files
    if json:
        emit(answer, True)
    else:
        _tell(result, answer)
    if not result.held:
        raise typer.Exit(EXIT_NO)


def numbers_by_name(text: str | None, names: tuple[str, ...], option: str, *, pair: str = "") -> dict[str, list[float]]:
    """``a=1,b=2/3`` as numbers by name; only ``pair`` may have two."""
    import math

    from pliant.errors import OptionError, Problem, unknown_name

    found: dict[str, list[float]] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in names:
            raise OptionError(option, unknown_name("setting", name, names))
        try:
            found[name] = [float(number) for number in value.split("/")]
        except ValueError:
            found[name] = []
        most = 2 if name == pair else 1
        if not equals or not 1 <= len(found[name]) <= most or not all(map(math.isfinite, found[name])):
            allowed = "a finite number" + (", or two with a slash between" if most == 2 else "")
            raise OptionError(option, Problem(name, f"'{value}'", allowed))
    return found


def _values(text: str | None, names: tuple[str, ...], option: str) -> dict[str, float]:
    return {name: numbers[0] for name, numbers in numbers_by_name(text, names, option).items()}


def _disturbance(text: str | None) -> Any:
    from math import radians

    from pliant.errors import OptionError, Problem
    from pliant.lab import Disturbance

    values = numbers_by_name(text, PERTURB, "--perturb", pair="pose")
    pose = values.get("pose", [0.0, 0.0])
    factors = {name: values.get(name, [1.0])[0] for name in ("young", "friction", "mass")}
    wrong = [Problem(name, f"{value:g}", "a factor above 0") for name, value in factors.items() if value <= 0]
    if wrong:
        raise OptionError("--perturb", wrong)
    turn = values.get("turn", [0.0])[0]
    return Disturbance((pose[0], pose[1] if len(pose) > 1 else 0.0), radians(turn), **factors)


def _ranges(text: str | None) -> Any:
    from math import radians

    from pliant.lab import DisturbanceRange

    if text is None:
        return DisturbanceRange()
    values = _values(text, PERTURB, "--perturb")
    rest = {name: values.get(name, 0.0) for name in ("young", "friction", "mass")}
    return DisturbanceRange(values.get("pose", 0.0), radians(values.get("turn", 0.0)), **rest)


def _photographer(folder: Path, task: Task, files: list[Path]) -> Any:
    """Takes a picture at the beginning of every phase, where the machine can draw without a screen."""
    from pliant.documents import make_folder
    from pliant.errors import OptionError
    from pliant.lab import picture
    from pliant.viewer import save_png

    target = make_folder(folder)
    blind = False

    def photograph(driver: LabDriver, phase: RunPhase) -> None:
        nonlocal blind
        if blind:
            return
        try:
            pixels = picture(driver.simulation, looking_at=driver.simulation.object_state().centre)
        except OptionError:
            blind = True
            return
        files.append(save_png(pixels, target / f"phase_{len(files)}_{phase}.png"))

    return photograph


def run_answer(result: TrialResult, settings: TrialSettings, grasp: PlannedGrasp) -> dict[str, Any]:
    """The JSON answer of one run."""
    return {
        "outcome": result.outcome,
        "reason": result.reason,
        "slip_m": result.slip,
        "object_error_m": result.object_error[0],
        "object_error_rad": result.object_error[1],
        "centre_error_m": result.centre_error,
        "planned_force_n": result.planned_force,
        "measured_force_n": result.measured_force,
        "point_error_m": result.point_error,
        "max_force_n": result.max_force,
        "max_pressure_pa": result.max_pressure,
        "permitted_force_n": min(contact.max_force for contact in grasp.grasp.contacts),
        "over_limit_s": result.overload_s,
        "sim_s": result.sim_s,
        "wall_s": result.wall_s,
        "force_loop": settings.control.force_loop,
        "filter": settings.control.filter,
        "end": result.log.end,
        "events": [
            {"time_s": event.time, "phase": event.phase, "kind": event.kind, "text": event.text}
            for event in result.log.events
        ],
        "notes": result.notes,
    }


def _tell(result: TrialResult, answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False)
    reason = f" ({result.reason})" if result.reason else ""
    console.print(result.outcome, style="bold", end="")
    console.print(reason, highlight=False)
    table = Table(show_header=False)
    rows = (
        ("slip in the hand", f"{1e3 * result.slip:.2f} mm"),
        ("object off its planned pose", f"{1e3 * result.object_error[0]:.2f} mm, {result.object_error[1]:.3f} rad"),
        ("centre of mass off", f"{1e3 * result.centre_error:.2f} mm"),
        ("largest force: planned / measured", f"{result.planned_force:.2f} / {result.measured_force:.2f} N"),
        ("largest true force / permitted", f"{result.max_force:.2f} / {answer['permitted_force_n']:.4g} N"),
        ("largest true pressure", f"{result.max_pressure / 1e3:.1f} kPa"),
        ("time simulated / real", f"{result.sim_s:.2f} / {result.wall_s:.1f} s"),
    )
    for name, value in rows:
        table.add_row(name, value)
    console.print(table)
    for event in result.log.events:
        console.print(f"{event.time:7.2f} s  {event.phase:9} {event.kind}: {event.text}", highlight=False)
    for path in answer["files"]:
        console.print(f"written: {path}", highlight=False)


def _tell_series(result: SeriesResult, json: bool) -> None:
    from pliant.cli.answers import emit

    answer = {
        "trials": len(result.entries),
        "counts": result.counts,
        "rate": result.rate,
        "interval": result.interval,
        "max_force_n": result.max_force,
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
                "max_pressure_pa": entry.max_pressure,
                "over_limit_s": entry.overload_s,
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
