"""`pliant run --driver MODULE:FACTORY`: a plan on somebody's own hardware."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pliant.control import ControlOptions, Driver, DriverRun
    from pliant.planner import PlannedGrasp, Task
    from pliant.robot import Assembly
    from pliant.tactile import PadSensor

Factory = Callable[["Assembly"], Any]


def known_driver(name: str) -> tuple[str, str]:
    """Module and factory named by ``MODULE:FACTORY``."""
    from pliant.errors import OptionError, Problem

    module, colon, factory = name.partition(":")
    if not colon or not factory.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        allowed = "lab, or MODULE:FACTORY of your own, such as my_hand:connect"
        raise OptionError("--driver", Problem("", f"no driver '{name}'", allowed))
    return module, factory


def load_factory(name: str) -> Factory:
    """The function that ``MODULE:FACTORY`` names; the module may lie in the current folder.

    Raises:
        OptionError: saying whether the module is missing, fails, or has no such function.
    """
    from pliant.errors import OptionError, Problem, unknown_name

    module, factory = known_driver(name)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as bad:
        if bad.name is None or not (module == bad.name or module.startswith(bad.name + ".")):
            raise OptionError("--driver", f"module '{module}' needs module '{bad.name}', which is missing") from None
        allowed = f"a module on the Python path, or {module.replace('.', '/')}.py in this folder"
        raise OptionError("--driver", Problem("", f"no module '{module}'", allowed)) from None
    except (Exception, SystemExit) as bad:  # a script without a guard ends itself when imported
        raise OptionError("--driver", f"module '{module}' cannot be imported: {type(bad).__name__}: {bad}") from bad
    found = getattr(loaded, factory, None)
    if not callable(found):
        names = [key for key, value in vars(loaded).items() if callable(value) and not key.startswith("_")]
        raise OptionError("--driver", unknown_name("factory", factory, names, where=module))
    return found


@contextmanager
def opened_driver(
    name: str, assembly: Assembly, control: ControlOptions
) -> Iterator[tuple[Driver, ControlOptions, PadSensor]]:
    """The driver that ``name`` makes for a robot, with the options and pads it asks for; closed whatever happens.

    A driver may have ``pad_sensor`` (a PadSensor, the calibration of its pads) and ``watch`` (WatchLimits). One that
    cannot be closed is told about; what was measured with it is not lost for that.
    """
    from dataclasses import replace

    from pliant.control import WatchLimits, check_driver
    from pliant.errors import InputError, OptionError, Problem
    from pliant.tactile import PadSensor

    factory = load_factory(name)
    try:
        made = factory(assembly)
    except InputError:
        raise
    except (Exception, SystemExit) as bad:
        raise OptionError("--driver", f"{name} failed: {type(bad).__name__}: {bad}") from bad
    try:
        driver = check_driver(made, assembly, source=f"--driver {name}")
        watch = getattr(driver, "watch", None) or control.watch
        sensor = getattr(driver, "pad_sensor", None) or PadSensor()
        for member, value, kind in (("watch", watch, WatchLimits), ("pad_sensor", sensor, PadSensor)):
            if not isinstance(value, kind):
                what = f"is of the kind '{type(value).__name__}'"
                raise OptionError(f"--driver {name}", Problem(member, what, f"a pliant.control.{kind.__name__}"))
        yield driver, replace(control, watch=watch), sensor
    finally:
        if callable(getattr(made, "close", None)):
            try:
                made.close()
            except (Exception, SystemExit) as bad:
                print(f"warning: {name} could not be closed: {type(bad).__name__}: {bad}", file=sys.stderr)


def run_with_driver(
    name: str,
    plan: Path,
    task: Task,
    grasp: PlannedGrasp,
    control: ControlOptions,
    from_pregrasp: bool,
    out: Path | None,
    plots: Path | None,
    json: bool,
) -> None:
    """Run a plan on the driver that ``name`` makes, and tell what became of it."""
    from dataclasses import replace

    from pliant.cli.answers import EXIT_NO, emit
    from pliant.control import RunOutcome, run_on_driver
    from pliant.files import save_run
    from pliant.tactile import TactileProcessor

    assert task.assembly.hand is not None
    with opened_driver(name, task.assembly, control) as (driver, control, sensor):
        result = run_on_driver(
            driver,
            grasp,
            task.assembly,
            options=control,
            processor=TactileProcessor.for_hand(task.assembly.hand, sensor=sensor),
            from_pregrasp=from_pregrasp,
        )
    answer = _answer(result, control, grasp)
    files: list[Path] = []
    if len(result.log):
        if out is not None:
            facts = {**result.log.facts, "driver": name, "plan": str(plan), "outcome": result.outcome}
            files.append(save_run(replace(result.log, facts=facts), out))
        if plots is not None:
            from pliant.viewer import write_run_plots

            limit = min(contact.max_force for contact in grasp.grasp.contacts)
            files += write_run_plots(result.log, plots, task.assembly.hand, sensor=sensor, limit=limit)
    answer["files"] = files
    emit(answer, json)
    if not json:
        _tell(result, answer)
    if result.outcome is not RunOutcome.HELD:
        raise typer.Exit(EXIT_NO)


def _answer(result: DriverRun, control: ControlOptions, grasp: PlannedGrasp) -> dict[str, Any]:
    """The keys of a run in the lab; what only a simulator can know is null."""
    unknown = ("slip_m", "object_error_m", "object_error_rad", "centre_error_m", "max_pressure_pa", "sim_s")
    return {
        "outcome": result.outcome,
        "reason": result.reason,
        **dict.fromkeys(unknown),
        "planned_force_n": result.planned_force,
        "measured_force_n": result.measured_force,
        "max_force_n": result.max_force,
        "permitted_force_n": min(contact.max_force for contact in grasp.grasp.contacts),
        "wall_s": result.duration,
        "force_loop": control.force_loop,
        "filter": control.filter,
        "end": result.log.end if len(result.log) else None,
        "events": [
            {"time_s": event.time, "phase": event.phase, "kind": event.kind, "text": event.text}
            for event in result.log.events
        ],
    }


def _tell(result: DriverRun, answer: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(markup=False, emoji=False)
    reason = f" ({result.reason})" if result.reason else ""
    console.print(f"{result.outcome}{reason}", highlight=False)
    felt = "none" if result.measured_force != result.measured_force else f"{result.measured_force:.2f}"
    forces = f"planned {result.planned_force:.2f}, measured {felt}, at most {result.max_force:.2f}"
    console.print(f"forces: {forces} of {answer['permitted_force_n']:.4g} N permitted", highlight=False)
    for event in result.log.events:
        console.print(f"{event.time:7.2f} s  {event.phase:9} {event.kind}: {event.text}", highlight=False)
    for path in answer["files"]:
        console.print(f"written: {path}", highlight=False)
