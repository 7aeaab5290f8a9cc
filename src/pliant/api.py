"""The main job in three calls: plan a task, run the plan, write the report.

plan = pliant.plan(pliant.load_task("ring"))
result = pliant.run(plan)
pliant.report(plan, "ring.html", run=result)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.errors import OptionError, Problem

if TYPE_CHECKING:
    from pliant.control import ControlOptions, Driver, RunLog, RunResult
    from pliant.lab import Disturbance
    from pliant.planner import Plan


def run(
    plan: Plan | str | Path,
    *,
    grasp: int = 0,
    driver: Driver | None = None,
    options: ControlOptions | None = None,
    world: Disturbance | None = None,
    from_pregrasp: bool = False,
) -> RunResult:
    """Carry out a plan with force control, in the virtual lab or on a driver.

    Args:
        plan: a plan, or the file of one.
        grasp: which of its grasps; 0 is the best.
        driver: your hardware (`pliant.control.Driver`); the virtual lab if left out.
        options: of the controller.
        world: how the lab's world differs from the planned one; lab only.
        from_pregrasp: the hand stands where the approach ends already; it is left out.

    Returns:
        Outcome, forces and the log; in the lab a `pliant.lab.TrialResult`, which knows slip and pose errors as well.

    Raises:
        OptionError: the plan has no such grasp, or ``world`` is given with a driver.
    """
    from pliant.control import ControlOptions, run_on_driver
    from pliant.files import load_plan

    found = load_plan(plan) if isinstance(plan, str | Path) else plan
    if not 0 <= grasp < len(found.grasps):
        allowed = f"0 to {len(found.grasps) - 1}" if found.grasps else "the plan found none"
        raise OptionError("run", Problem("grasp", f"{grasp}", allowed))
    task, chosen, options = found.task, found.grasps[grasp], options or ControlOptions(cost=found.task.options.cost)
    if driver is not None:
        if world is not None:
            raise OptionError("run", Problem("world", "is of the lab", "leave it out, or leave the driver out"))
        return run_on_driver(driver, chosen, task.assembly, options=options, from_pregrasp=from_pregrasp)
    from pliant.lab import TrialSettings, run_trial

    settings = TrialSettings(control=options, from_pregrasp=from_pregrasp)
    return run_trial(task, chosen, settings=settings, disturbance=world)


def report(
    plan: Plan | str | Path,
    path: str | Path,
    *,
    run: RunResult | RunLog | str | Path | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Path:
    """Write a plan as one HTML file that opens anywhere: text, pictures, a 3-D film, plots, tables.

    Args:
        plan: a plan, or the file of one.
        path: the file to write; folders are made as needed.
        run: a run of this plan, its log, or the file of one; drawn beside the planned values.
        progress: called with what is being done and the share that is done.
    """
    from pliant.control import RunResult
    from pliant.files import load_plan
    from pliant.viewer import measured_run, write_report

    found = load_plan(plan) if isinstance(plan, str | Path) else plan
    log = run.log if isinstance(run, RunResult) else run
    measured = None if log is None else measured_run(log, found)
    return write_report(found, path, measured=measured, progress=progress)
