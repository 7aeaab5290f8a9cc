"""`pliant calibrate`: a trial squeeze measures what the object is really like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.completion import tasks

if TYPE_CHECKING:
    from pliant.calibration import CalibrationRun
    from pliant.planner import PlannedGrasp, Task


def calibrate(
    task: Annotated[str, typer.Argument(help="A task file, or the name of a shipped task.", autocompletion=tasks)],
    plan: Annotated[
        Path | None, typer.Option(help="Squeeze with the grasp of this plan instead of planning one.")
    ] = None,
    grasp: Annotated[int, typer.Option(help="Which grasp of the plan; 0 is the best.", min=0)] = 0,
    truth: Annotated[
        str | None,
        typer.Option(help="How the lab's object differs from the task, as factors: young=2,friction=0.6,mass=1."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to keep it; beside the task file if left out.")] = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="Only print, keep nothing.")] = False,
    no_slip: Annotated[bool, typer.Option("--no-slip", help="Do not lift and let slip: no friction.")] = False,
    driver: Annotated[str, typer.Option(help="Who squeezes: lab, or MODULE:FACTORY of your own.")] = "lab",
    speed: Annotated[float, typer.Option(help="Part of the planned speed, on a driver.", min=0.01, max=1.0)] = 1.0,
    from_pregrasp: Annotated[
        bool, typer.Option("--from-pregrasp", help="On a driver: the open hand stands at the object already.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of everything random.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Squeeze the object in steps, lift it a little, let it slip: k, D, Young's modulus and friction.

    The result is kept in NAME.calibration.yaml beside the task and used whenever the task is read again. Exit code 1 if
    the squeeze failed. On hardware stand by the emergency stop: a driver is what `pliant run --driver` takes.

    Examples:

        pliant calibrate sponge.yaml

        pliant calibrate sponge.yaml --plan sponge.plan --truth young=2,friction=0.6 --json

        pliant calibrate sponge.yaml --plan sponge.plan --driver my_hand:connect --speed 0.2
    """
    from pliant.cli.answers import EXIT_NO, emit
    from pliant.cli.run import RELATIVE, factors, numbers_by_name
    from pliant.cli.run_driver import known_driver, load_factory
    from pliant.documents import make_room
    from pliant.errors import OptionError, Problem
    from pliant.files import calibration_path, find_task, load_plan, read_task, save_calibration, shipped_tasks
    from pliant.parts import need
    from pliant.planner import plan as search

    if driver != "lab":
        known_driver(driver)
        if truth is not None:
            raise OptionError("--driver", Problem("--truth", "is of the lab alone", "leave it out"))
        load_factory(driver)  # before the search: that takes long
    else:
        need("lab")
    real = factors(numbers_by_name(truth, RELATIVE, "--truth"), "--truth")
    file = find_task(task)
    if out is None and task in shipped_tasks():
        out = Path(f"{task}.calibration.yaml")
    target = out if out is not None else calibration_path(task)
    if not no_save:
        make_room(target, task, plan)
    question = read_task(file, calibrated=False)
    found = load_plan(plan) if plan is not None else search(question, seed=seed)
    if found.task.body.mesh.content_hash != question.body.mesh.content_hash:
        what = f"holds '{found.task.body.mesh.name}' of task '{found.task.name}', another object than that of {task}"
        raise OptionError(str(plan), Problem("--plan", what, "a plan of the same task"))
    if grasp >= len(found.grasps):
        raise OptionError(str(plan or task), Problem("", f"no grasp {grasp}", f"the plan holds {len(found.grasps)}"))
    world = found.task
    chosen = found.grasps[grasp]
    done: CalibrationRun
    if driver != "lab":
        done = _on_driver(driver, world, chosen, speed=speed, from_pregrasp=from_pregrasp, slip=not no_slip)
    else:
        from pliant.lab import Disturbance, SensorSettings, calibrate_in_lab, calibration_settings

        differs = Disturbance((0.0, 0.0), **real)
        settings = calibration_settings(world, differs, sensors=SensorSettings(seed=seed))
        done = calibrate_in_lab(world, chosen, truth=differs, settings=settings, slip=not no_slip)
    files: list[Path] = []
    material = world.body.material
    if done.found is not None and not no_save:
        files.append(save_calibration(done.found, target, young=material.young, friction=material.friction))
    answer: dict[str, Any] = {
        "status": "found" if done.found is not None else "failed",
        "reason": done.reason,
        "started_from": {"young_pa": material.young, "friction": material.friction},
        "files": files,
    }
    if done.found is not None:
        answer |= {
            "k": done.found.k,
            "stiffness_n_per_m": done.found.stiffness,
            "stiffness_factor": done.found.stiffness_factor,
            "young_pa": done.found.young,
            "friction": done.found.friction,
            "touch_offset_m": done.found.touch_offset,
            "misfit": done.found.misfit,
            "notes": [note.text for note in done.found.notes],
        }
    if json:
        emit(answer, True)
    else:
        _print(answer, slip=not no_slip)
    if done.found is None:
        raise typer.Exit(EXIT_NO)


def _on_driver(
    name: str, task: Task, grasp: PlannedGrasp, *, speed: float, from_pregrasp: bool, slip: bool
) -> CalibrationRun:
    from pliant.calibration import calibrate_on_driver
    from pliant.cli.run_driver import connected_driver
    from pliant.control import ControlOptions
    from pliant.planner import prepare_object
    from pliant.tactile import TactileProcessor

    assert task.assembly.hand is not None
    prepared = prepare_object(task.body)  # before the robot is spoken to: it may take some seconds
    with connected_driver(name, task.assembly, ControlOptions(speed=speed)) as (driver, control, sensor):
        processor = TactileProcessor.for_hand(task.assembly.hand, sensor=sensor)
        return calibrate_on_driver(
            driver, task, grasp, prepared, options=control, processor=processor, from_pregrasp=from_pregrasp, slip=slip
        )


def _print(answer: dict[str, Any], *, slip: bool) -> None:
    from rich.console import Console

    console = Console(markup=False, emoji=False)
    if answer["status"] == "failed":
        console.print(f"the squeeze failed: {answer['reason']}", highlight=False)
        return
    before = answer["started_from"]
    unknown = "not seen" if slip else "not tried (--no-slip)"
    friction = unknown if answer["friction"] is None else f"{answer['friction']:.3f}"
    console.print(f"Young's modulus  {before['young_pa']:.4g} -> {answer['young_pa']:.4g} Pa", highlight=False)
    console.print(f"friction         {before['friction']:.3f} -> {friction}", highlight=False)
    console.print(f"k (measured over planned force)  {answer['k']:.3f}", highlight=False)
    stiffness = f"D  {answer['stiffness_n_per_m']:.0f} N/m, {answer['stiffness_factor']:.2f} times the plan's"
    console.print(f"{stiffness}; the fit leaves {answer['misfit']:.1%}", highlight=False)
    for note in answer["notes"]:
        console.print(f"note: {note}", highlight=False)
    for path in answer["files"]:
        console.print(f"written: {path}", highlight=False)
