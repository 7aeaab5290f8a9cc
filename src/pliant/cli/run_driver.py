"""`pliant run --driver MODULE:FACTORY`: a plan on somebody's own hardware."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.control import ControlOptions, Driver, RunResult, TorqueOptions
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
def connected_driver(
    name: str, assembly: Assembly, control: ControlOptions
) -> Iterator[tuple[Driver, ControlOptions, PadSensor]]:
    """The driver that ``name`` makes for a robot, with the options and pads it asks for; closed whatever happens.

    A driver may have ``pad_sensor`` (a PadSensor, the calibration of its pads) and ``watch`` (WatchLimits). One that
    cannot be closed is warned about; what was measured with it is not lost for that.
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


def run_on_named_driver(
    name: str,
    task: Task,
    grasp: PlannedGrasp,
    control: ControlOptions,
    from_pregrasp: bool,
    torques: TorqueOptions | None = None,
) -> tuple[RunResult, ControlOptions, PadSensor]:
    """Run a plan on the driver that ``name`` makes: the result, and the options and pads it was run with."""
    from pliant.control import run_on_driver
    from pliant.tactile import TactileProcessor

    assert task.assembly.hand is not None
    with connected_driver(name, task.assembly, control) as (driver, control, sensor):
        processor = TactileProcessor.for_hand(task.assembly.hand, sensor=sensor)
        result = run_on_driver(
            driver,
            grasp,
            task.assembly,
            options=control,
            processor=processor,
            from_pregrasp=from_pregrasp,
            torques=torques,
        )
    return result, control, sensor
