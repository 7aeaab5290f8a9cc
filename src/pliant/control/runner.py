"""Carrying out a plan on somebody's own driver: looked at first, begun only where the plan begins.   (theory 9)

In the lab the simulator knows what became of the object. Here nobody does but the pads, so the outcome is what they
say: *held* is a run that went to its end with every planned contact still felt.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from pliant.arrays import Floats
from pliant.control.controller import Command, GraspController
from pliant.control.driver import Driver, Sample
from pliant.control.options import ControlOptions
from pliant.control.phases import Fault, RunPhase
from pliant.control.run_log import RunLog
from pliant.errors import OptionError, Problem, unknown_name
from pliant.planner import PlannedGrasp
from pliant.robot import Assembly
from pliant.tactile import TactileProcessor

METHODS = ("read", "command_positions", "command_torques", "step", "emergency_stop", "close")
MEMBERS = ("joint_names", "array_names", "takes_torques", "period", "time", *METHODS)


class RunOutcome(StrEnum):
    """What became of a run, as far as the pads can tell."""

    HELD = "held"
    """Carried to the end, every planned contact still felt."""
    DROPPED = "dropped"
    """A contact was lost after the lift had begun."""
    ABORTED = "aborted"
    """Ended before its end for any other reason, or never begun."""


@dataclass(frozen=True, eq=False)
class DriverRun:
    """What became of a run on a driver.

    Attributes:
        outcome, reason: in words; no reason if held.
        planned_force: largest planned normal force while it is held [N].
        measured_force: largest force of a contact while it is held, mean over that time [N]; NaN if it never was.
        max_force: largest force that a contact has felt at any time [N]; 0 if none.
        duration: on the driver's clock [s].
        log: everything; empty if the run never began.
    """

    outcome: RunOutcome
    reason: str
    planned_force: float
    measured_force: float
    max_force: float
    duration: float
    log: RunLog


def check_driver(driver: object, assembly: Assembly, *, source: str = "driver") -> Driver:
    """The driver, if it can drive this robot: all members there, joints in the plan's order, arrays that exist.

    Raises:
        OptionError: naming every member that is missing or wrong.
    """
    has: dict[str, Any] = {}
    missing, wrong = [], []
    for name in MEMBERS:
        try:
            has[name] = getattr(driver, name)
        except AttributeError:
            missing.append(name)
        except Exception as bad:  # somebody's own property: what is wrong with it is for them to read
            wrong.append(Problem(name, f"fails: {type(bad).__name__}: {bad}"))
    if missing:
        what = f"'{type(driver).__name__}' has no {', '.join(missing)}"
        wrong.insert(0, Problem("", what, "a driver has the members of pliant.control.Driver"))
    wrong += [Problem(name, "cannot be called", "a method") for name in METHODS if not callable(has.get(name, len))]
    joints, arrays = assembly.robot.joint_names, assembly.hand.tactile if assembly.hand is not None else ()
    known = [array.name for array in arrays]
    if "joint_names" in has and _strings(has["joint_names"]) != joints:
        wrong.append(Problem("joint_names", _short(has["joint_names"]), f"the plan's, in this order: {joints}"))
    names = _strings(has.get("array_names", ()))
    if names is None:
        wrong.append(Problem("array_names", _short(has["array_names"]), f"some of: {', '.join(known)}"))
    unknown = [name for name in names or () if name not in known]
    wrong += [unknown_name("tactile array", name, known, where="array_names") for name in unknown]
    for name, low, high, allowed in (("period", 1e-4, 1.0, "0.0001 to 1 s"), ("time", -1e12, 1e12, "seconds")):
        value = has.get(name, low)
        if not low <= _number(value) <= high:
            wrong.append(Problem(name, _short(value), allowed))
    if wrong:
        raise OptionError(source, wrong)
    assert isinstance(driver, Driver)
    return driver


def _strings(value: object) -> tuple[str, ...] | None:
    """Names as a tuple; None if they are none."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return None
    return tuple(str(name) for name in value)


def _number(value: Any) -> float:
    """NaN where it is none; a text is none, whatever it says."""
    try:
        return float("nan") if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _short(value: object) -> str:
    return f"{value!r}"[:200]


def run_on_driver(
    driver: Driver,
    grasp: PlannedGrasp,
    assembly: Assembly,
    *,
    options: ControlOptions | None = None,
    processor: TactileProcessor | None = None,
    from_pregrasp: bool = False,
    patience: float = 5.0,
) -> DriverRun:
    """Carry out a planned grasp on a driver. Nothing is commanded unless the robot stands where the plan begins.

    A driver that raises is told to stop, and so is one whose run is interrupted from the keyboard; both end as
    *aborted*, with the log up to there. The driver is not closed.

    Args:
        options: limits, times, gains.
        processor: calibration of the pads; standard pads if left out.
        from_pregrasp: the open hand stands at the object already; the approach is left out.
        patience: how long the first joint reading may take [s].
    """
    options = options or ControlOptions()
    controller = GraspController(
        grasp,
        assembly,
        processor=processor,
        options=options,
        start=RunPhase.CLOSE if from_pregrasp else RunPhase.APPROACH,
    )
    q_start = grasp.q_pregrasp if from_pregrasp else grasp.trajectory.q[0]
    return _judge(controller, grasp, attend(driver, controller, q_start, patience))


def attend(driver: Driver, controller: GraspController, q_start: Floats, patience: float) -> str:
    """Let a controller drive, from ``q_start`` alone; why that failed beside what the controller itself says."""
    try:
        failure = _not_ready(_first_reading(driver, patience), q_start, controller.watch.off, driver, patience)
        if not failure:
            execute(driver, controller)
    except KeyboardInterrupt:
        failure = "interrupted from the keyboard"
        failure += _stop(driver, failure) or "; the robot was told to stop"
    except Exception as bad:
        failure = f"the driver failed: {_told(bad)}"
        failure += _stop(driver, failure)
    return failure


def _stop(driver: Driver, why: str) -> str:
    """Stop the robot; what to add to the reason where even that fails."""
    try:
        driver.emergency_stop(why)
    except Exception as bad:
        return f"; its emergency stop failed as well: {_told(bad)}"
    return ""


def _first_reading(driver: Driver, patience: float) -> Sample:
    """The first sample with finite joints, or the last one there was time for."""
    sample = driver.read()
    for _ in range(round(patience / driver.period)):
        if sample.joints is not None and np.isfinite(sample.joints.positions).all():
            break
        driver.step()
        sample = driver.read()
    return sample


def _not_ready(sample: Sample, q_start: Floats, allowed: Floats, driver: Driver, patience: float) -> str:
    """Why the run must not begin; empty if it may."""
    if sample.stopped:
        return f"the driver has stopped: {sample.stopped}"
    if sample.joints is None or not np.isfinite(sample.joints.positions).all():
        return f"no joint reading within {patience:g} s"
    off = np.abs(sample.joints.positions - q_start)
    far = [
        f"{name} at {here:.3f}, plan begins at {there:.3f}"
        for name, here, there, wrong in zip(
            driver.joint_names, sample.joints.positions, q_start, off > allowed, strict=True
        )
        if wrong
    ]
    if far:
        return f"the robot is not where the plan begins: {'; '.join(far)}. Bring it there, or plan from where it is"
    return ""


def _judge(controller: GraspController, grasp: PlannedGrasp, failure: str) -> DriverRun:
    log = controller.log
    felt = log["force_measured"]
    holding = felt[log.during(RunPhase.HOLD)]
    mean = np.array([column[np.isfinite(column)].mean() for column in holding.T if np.isfinite(column).any()])
    finite = felt[np.isfinite(felt)]
    reason = failure or controller.reason
    outcome = RunOutcome.ABORTED
    if not failure and controller.phase is RunPhase.DONE:
        outcome = RunOutcome.HELD
        last = log["force_measured"][-1] if len(log) else felt
        gone = controller.tracker.sensed & ~(last > controller.options.watch.lost_force)
        if gone.any() and not controller.options.release:
            outcome, reason = RunOutcome.DROPPED, "a planned contact is not felt at the end"
    elif not failure and RunPhase.LIFT in log.phases and reason.startswith(Fault.CONTACT_LOST):
        outcome = RunOutcome.DROPPED
    return DriverRun(
        outcome,
        reason,
        grasp.states[-1].largest_force,
        float(mean.max()) if len(mean) else float("nan"),
        float(finite.max(initial=0.0)),
        float(log["time"][-1] - log["time"][0]) if len(log) else 0.0,
        log,
    )


def _told(bad: BaseException) -> str:
    """An error and where it was raised, so that a driver's author finds the line."""
    steps = traceback.extract_tb(bad.__traceback__)
    place = f" ({Path(steps[-1].filename).name}:{steps[-1].lineno})" if steps else ""
    return f"{type(bad).__name__}: {bad}{place}"


def execute(
    driver: Driver,
    controller: GraspController,
    *,
    linger: float = 0.0,
    longest: float = 600.0,
    after_step: Callable[[Sample, Command], None] | None = None,
) -> RunLog:
    """Run a controller on a driver to its end.

    The driver is stopped when something raises, and when the loop takes longer than anything may (counted in cycles,
    so that a driver whose clock stands still cannot hang it). A controller that ends in ``stopped`` leaves its last
    command standing: a hand that is told positions keeps its grip.

    Args:
        linger: how long to go on commanding after the end [s].
        longest: upper bound of the whole run [s].
        after_step: called with every sample and command.
    """
    left = round(longest / driver.period)
    more = round(linger / driver.period)
    try:
        while left > 0:
            left -= 1
            sample = driver.read()
            command = controller.step(sample)
            if after_step is not None:
                after_step(sample, command)
            driver.command_positions(command.positions)
            if command.finished:
                if more <= 0:
                    break
                more -= 1
            driver.step()
        else:
            driver.emergency_stop(f"the run took longer than {longest:g} s")
    except BaseException as bad:
        driver.emergency_stop(f"{type(bad).__name__}: {bad}")
        raise
    return controller.log
