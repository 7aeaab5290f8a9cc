"""`pliant run`: carry out a plan with tactile control, in the lab or on a driver of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from pliant.control import CalibrationFactors, ControlOptions, RunPhase, RunResult
    from pliant.lab import (
        Disturbance,
        LabDriver,
        SensorSettings,
        TrialSettings,
    )
    from pliant.planner import PlannedGrasp, Task, Uncertainty
    from pliant.tactile import PadSensor

RELATIVE = ("young", "friction", "mass")
PERTURB = ("pose", "position", "turn_deg", *RELATIVE)
WORLD = ("shift", "turn", *RELATIVE)
SENSOR = ("noise", "dropout", "delay", "warmth", "joints")


class CompletedRun(NamedTuple):
    """A run and what it was made with: options and pads are a driver's own where it has any."""

    result: RunResult
    control: ControlOptions
    pad: PadSensor
    pictures: list[Path]


def run(
    plan: Annotated[Path, typer.Argument(help="A plan (.plan), written by `pliant plan`.")],
    driver: Annotated[str, typer.Option(help="Who carries it out: lab, or MODULE:FACTORY of your own.")] = "lab",
    grasp: Annotated[int, typer.Option(help="Which grasp of the plan; 0 is the best.", min=0)] = 0,
    perturb: Annotated[
        str | None,
        typer.Option(
            help="Draw worlds that differ from the plan, with --seed. Half widths, as `uncertainty` in a task file: "
            "pose (or position) [m], turn_deg; relative: young, friction, mass."
        ),
    ] = None,
    world: Annotated[
        str | None,
        typer.Option(help="One chosen world: shift=dx/dy [m], turn [deg], and factors: young, friction, mass."),
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
    torques: Annotated[
        bool,
        typer.Option("--torques", help="Grip by joint torques (law (6)) from the touch on, on drivers that take them."),
    ] = False,
    no_filter: Annotated[bool, typer.Option("--no-filter", help="Believe every measurement as it comes.")] = False,
    calibration: Annotated[
        Path | None,
        typer.Option(help="What `pliant calibrate` has found; PLAN's NAME.calibration.yaml beside it if left out."),
    ] = None,
    no_calibration: Annotated[
        bool, typer.Option("--no-calibration", help="Do not use the calibration beside the plan.")
    ] = False,
    speed: Annotated[
        float, typer.Option(help="Of playing the plan: 1 as planned, 0.2 five times as slow.", min=0.01, max=1.0)
    ] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Carry out a plan with tactile control, in the virtual lab or on hardware.

    A driver of your own is a function that is given the robot (an Assembly) and returns a pliant.control.Driver;
    MODULE is looked for in this folder first. Of a run on hardware only what the pads measure is known: slip and pose
    errors are null. --perturb, --world, --sensor, --series and --jobs are of the lab alone.

    A single run with --perturb is in the world of number 0 of a series with the same --perturb and --seed. A series
    without --perturb draws from the plan's own uncertainty (the task's `uncertainty`).

    Exit code 1 if the object is not held at the end (of a series: if it is not held every time).

    Examples:

        pliant run ring.plan --out ring.run --plots figures

        pliant run ring.plan --perturb pose=0.003,young=0.2,friction=0.15 --sensor noise=5,dropout=0.05

        pliant run ring.plan --world shift=0.003/-0.002,turn=4,young=0.8,friction=0.9,mass=1.05

        pliant run ring.plan --series 20 --seed 1 --json

        pliant run ball.plan --torques --json

        pliant run ring.plan --calibration ring.calibration.yaml

        pliant run ring.plan --driver my_hand:connect --speed 0.2 --out first_try.run
    """
    from pliant.cli.answers import EXIT_NO, progress
    from pliant.cli.run_answers import print_run, print_series, run_answer
    from pliant.cli.run_driver import known_driver, run_on_named_driver
    from pliant.control import CalibrationFactors, ControlOptions, TorqueOptions
    from pliant.documents import make_folder, make_room
    from pliant.errors import OptionError, Problem
    from pliant.files import load_plan

    if driver != "lab":
        known_driver(driver)
        lab_only = {"--perturb": perturb, "--world": world, "--sensor": sensor, "--series": series or None}
        lab_only["--jobs"] = jobs if jobs > 1 else None
        _refuse("--driver", lab_only, "is of the lab alone", "leave it out")
    if series:  # its answer is printed, not written: better reported now than missed after an hour
        remedy = "leave it out; --json gives every run's numbers, and a run of its own gives a log"
        _refuse("--series", {"--out": out, "--plots": plots}, "is of a single run", remedy)
        _refuse("--series", {"--world": world}, "is one chosen world", "--perturb draws worlds")
    if perturb is not None:
        _refuse("--perturb", {"--world": world}, "is one chosen world", "give --perturb or --world, not both")
    if out is not None:
        make_room(out, plan, calibration)
    if plots is not None:
        make_folder(plots)
    loaded = load_plan(plan)
    if grasp >= len(loaded.grasps):
        allowed = f"the plan holds {len(loaded.grasps)}" if loaded.grasps else "the plan found none"
        raise OptionError("--grasp", Problem("", f"no grasp {grasp}", allowed))
    task, chosen = loaded.task, loaded.grasps[grasp]
    known = _calibration(plan, task, calibration, no_calibration)
    control = ControlOptions(
        force_loop=not no_force_loop,
        filter=not no_filter,
        speed=speed,
        cost=task.options.cost,
        calibration=known.factors if known is not None else CalibrationFactors(),
    )
    by_torques = TorqueOptions() if torques else None
    if driver != "lab":
        done = CompletedRun(*run_on_named_driver(driver, task, chosen, control, from_pregrasp, by_torques), [])
    else:
        from pliant.lab import TrialSettings, number_in_series, run_series

        settings = TrialSettings(control, _sensors(sensor, seed), from_pregrasp=from_pregrasp, torques=by_torques)
        ranges, truth = _ranges(perturb), _chosen_world(world)
        if series:
            with progress("runs", total=series) as show:
                many = run_series(
                    task,
                    chosen,
                    count=series,
                    seed=seed,
                    ranges=ranges,
                    settings=settings,
                    workers=jobs,
                    progress=lambda done, total: show(done, total),
                )
            print_series(many, json)
            if many.rate < 1.0:
                raise typer.Exit(EXIT_NO)
            return
        if ranges is not None:
            truth, settings = number_in_series(0, ranges, settings, seed)
        done = _in_lab(task, chosen, settings, truth, plots)
    answer = run_answer(done.result, done.control, chosen)
    answer["files"] = _write(done, answer, task, chosen, plan, driver, out, plots)
    print_run(done.result, answer, json)
    if not done.result.held:
        raise typer.Exit(EXIT_NO)


class UsedCalibration(NamedTuple):
    """A calibration file and what it says about the plan."""

    file: Path
    factors: CalibrationFactors


def _calibration(plan: Path, task: Task, given: Path | None, ignored: bool) -> UsedCalibration | None:
    """The calibration of a run: the one that is given, else the one beside the plan; None where there is none."""
    from pliant.errors import OptionError, Problem
    from pliant.files import calibration_path, load_calibration

    if ignored:
        if given is not None:
            raise OptionError("--no-calibration", Problem("--calibration", f"names {given}", "one of the two"))
        return None
    file = given if given is not None else calibration_path(plan)
    if given is None and not file.is_file():
        return None
    return UsedCalibration(file, load_calibration(file).factors(task.body.material.young))


def _refuse(option: str, given: dict[str, Any], what: str, remedy: str) -> None:
    """Options that are given and do not go with ``option``."""
    from pliant.errors import OptionError, Problem

    wrong = [Problem(name, what, remedy) for name, value in given.items() if value is not None]
    if wrong:
        raise OptionError(option, wrong)


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


def _sensors(text: str | None, seed: int) -> SensorSettings:
    from dataclasses import replace

    from pliant.lab import SensorSettings
    from pliant.tactile import PadSensor

    given = {name: values[0] for name, values in numbers_by_name(text, SENSOR, "--sensor").items()}
    defaults = PadSensor()
    pad = replace(defaults, noise=given.get("noise", defaults.noise), warmth=given.get("warmth", 0.0))
    return SensorSettings(
        pad,
        delay=given.get("delay", 0.0),
        dropout=given.get("dropout", 0.0),
        joint_noise=given.get("joints", 0.0),
        seed=seed,
    )


def factors(values: dict[str, list[float]], option: str) -> dict[str, float]:
    """Young's modulus, friction and mass as factors; 1 where they are left out."""
    from pliant.errors import OptionError, Problem

    found = {name: values.get(name, [1.0])[0] for name in RELATIVE}
    wrong = [Problem(name, f"{value:g}", "a factor above 0") for name, value in found.items() if value <= 0]
    if wrong:
        raise OptionError(option, wrong)
    return found


def _chosen_world(text: str | None) -> Disturbance:
    from math import radians

    from pliant.lab import Disturbance

    values = numbers_by_name(text, WORLD, "--world", pair="shift")
    x, y = (*values.get("shift", [0.0]), 0.0)[:2]
    return Disturbance((x, y), radians(values.get("turn", [0.0])[0]), **factors(values, "--world"))


def _ranges(text: str | None) -> Uncertainty | None:
    """Half widths of the ranges; 0 for those that are left out, None where all are."""
    from math import radians

    from pliant.errors import OptionError, Problem
    from pliant.planner import Uncertainty

    if text is None:
        return None
    values = {name: numbers[0] for name, numbers in numbers_by_name(text, PERTURB, "--perturb").items()}
    if "pose" in values and "position" in values:
        raise OptionError("--perturb", Problem("position", "is the same as pose", "one of the two"))
    for name, value in values.items():
        most = 1.0 if name in RELATIVE else float("inf")
        if not 0.0 <= value < most:
            allowed = "a half width, 0 or more" + (", below 1" if name in RELATIVE else "")
            raise OptionError("--perturb", Problem(name, f"{value:g}", allowed))
    shift = values.get("pose", values.get("position", 0.0))
    relative = {name: values.get(name, 0.0) for name in RELATIVE}
    return Uncertainty(shift, radians(values.get("turn_deg", 0.0)), **relative)


def _in_lab(
    task: Task, grasp: PlannedGrasp, settings: TrialSettings, truth: Disturbance, plots: Path | None
) -> CompletedRun:
    from pliant.lab import run_trial

    pictures: list[Path] = []
    on_phase = _photographer(plots, pictures) if plots is not None else None
    result = run_trial(task, grasp, settings=settings, disturbance=truth, on_phase=on_phase)
    return CompletedRun(result, settings.control, settings.sensors.pad, pictures)


def _photographer(folder: Path, files: list[Path]) -> Any:
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


def _write(
    done: CompletedRun,
    answer: dict[str, Any],
    task: Task,
    grasp: PlannedGrasp,
    plan: Path,
    driver: str,
    out: Path | None,
    plots: Path | None,
) -> list[Path]:
    """Write what was asked for of a run that began."""
    from dataclasses import replace

    from pliant.cli.run_answers import permitted_force
    from pliant.files import save_run

    log, files = done.result.log, list(done.pictures)
    if out is not None and len(log):
        trial = {name: value for name, value in answer.items() if name != "events"}
        facts = {**log.facts, "trial": trial, "driver": driver, "plan": str(plan)}
        files.append(save_run(replace(log, facts=facts), out))
    if plots is not None and len(log):
        from pliant.control import finger_torques
        from pliant.viewer import write_run_plots

        assert task.assembly.hand is not None
        fingers = finger_torques(log, grasp, task.assembly, gravity=task.goal.gravity)
        limit = permitted_force(grasp)
        files += write_run_plots(log, plots, task.assembly.hand, sensor=done.pad, limit=limit, fingers=fingers)
    return files
