"""Running a controller on a driver: the one loop for hardware and lab, and what became of the run.   (theory 9)

The loop starts only where the plan begins. A judge beside the driver decides what became of the object: on hardware
only the pads know, so *held* is a run that went to its end with every planned contact still measured; a simulator
knows better.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np

from pliant.arrays import Floats
from pliant.control.controller import Command, GraspController, operation_phases
from pliant.control.driver import Driver, Sample, torque_drive
from pliant.control.events import Fault, RunPhase
from pliant.control.interrupts import heard_once
from pliant.control.options import ControlOptions
from pliant.control.phases.context import PhaseStrategy, RunContext
from pliant.control.run_log import RunLog
from pliant.control.torque_grip import TorqueOptions, torque_phases
from pliant.planner import PlannedGrasp
from pliant.robot import Assembly
from pliant.tactile import TactileProcessor

Observer = Callable[[Sample, Command], None]


class RunOutcome(StrEnum):
    """What became of a run."""

    HELD = "held"
    """Carried to the end, the object in the hand."""
    DROPPED = "dropped"
    """Not in the hand after the lift had begun or at the end, whatever the controller reports."""
    ABORTED = "aborted"
    """Ended before its end for any other reason, or never begun."""
    UNSTABLE = "unstable"
    """The simulation failed: nothing is known. Never of hardware."""


class ControlMode(StrEnum):
    """By what the forces of a run came about."""

    PADS = "pads"
    """Positions, corrected until the pads measure the wanted forces."""
    TORQUES = "torques"
    """Joint torques by law (6)."""
    COMMANDS = "commands"
    """The planned commands alone."""


@dataclass(frozen=True, eq=False)
class RunResult:
    """What became of a run, as far as any driver knows.

    Attributes:
        outcome, reason: in words; no reason if held.
        planned_force: largest planned normal force while it is held [N].
        measured_force: largest force of a contact while it is held, mean over that time [N]; NaN if it never was.
        max_force: largest force of a contact at any time [N], as the pads measured it, or as a judge knows; NaN if
            nothing measures it.
        control: by what the forces came about.
        peak_force: largest force of a contact in lift, move and hold [N], known as ``max_force`` is; NaN if there was
            none of them, or nothing measures it.
        planned_peak_force: the plan's largest normal force in them [N].
        point_error: largest distance of a measured centre of pressure from the planned one in the grasp [m].
        duration: on the driver's clock [s].
        log: everything; empty if the run never began.
    """

    outcome: RunOutcome
    reason: str
    planned_force: float
    measured_force: float
    max_force: float
    control: ControlMode
    peak_force: float
    planned_peak_force: float
    point_error: float
    duration: float
    log: RunLog

    @property
    def held(self) -> bool:
        """Whether the object was in the hand at the end."""
        return self.outcome is RunOutcome.HELD


class Judge(Protocol):
    """Decides what became of the object."""

    def observe(self, sample: Sample, command: Command) -> None:
        """Called with every sample and the command for it."""
        ...

    def verdict(self, controller: GraspController, failure: str) -> tuple[RunOutcome, str]:
        """The outcome and the reason; ``failure``: why the driver ended the run, or empty."""
        ...


class PadJudge:
    """Judges by what the pads measured."""

    def observe(self, sample: Sample, command: Command) -> None:
        """Nothing to do: the log has it all."""

    def verdict(self, controller: GraspController, failure: str) -> tuple[RunOutcome, str]:
        if failure:
            return RunOutcome.ABORTED, failure
        log, options = controller.log, controller.options
        if controller.phase is RunPhase.DONE:
            last = log["force_measured"][-1] if len(log) else log["force_measured"]
            gone = controller.run.tracker.sensed & ~(last > options.watch.lost_force)
            if gone.any() and not options.release:
                return RunOutcome.DROPPED, "a planned contact is not measured at the end"
            return RunOutcome.HELD, controller.reason
        lost = controller.failure is not None and controller.failure.fault is Fault.CONTACT_LOST
        return RunOutcome.DROPPED if lost and RunPhase.LIFT in log.phases else RunOutcome.ABORTED, controller.reason


def run_on_driver(
    driver: Driver,
    grasp: PlannedGrasp,
    assembly: Assembly,
    *,
    options: ControlOptions | None = None,
    processor: TactileProcessor | None = None,
    from_pregrasp: bool = False,
    patience: float = 5.0,
    linger: float = 0.0,
    judge: Judge | None = None,
    raises: bool = False,
    torques: TorqueOptions | None = None,
) -> RunResult:
    """Carry out a planned grasp on a driver. Nothing is commanded unless the robot stands where the plan begins.

    A driver that raises is stopped, and so is one whose run is interrupted from the keyboard; both end as
    *aborted*, with the log up to there. The driver is not closed.

    Args:
        options: limits, times, gains.
        processor: calibration of the pads; standard pads if left out.
        from_pregrasp: the hand stands where the approach ends already; it is left out.
        patience: how long the first joint reading may take [s].
        linger: how long to go on commanding after the end [s].
        judge: decides what became of the object; the pads if left out.
        raises: pass on what a driver raises, after it was stopped: for a driver of our own, the lab.
        torques: grip by torques; by positions if left out.
    """
    start = RunPhase.CLOSE if from_pregrasp else RunPhase.APPROACH
    phases: Callable[[RunContext], dict[RunPhase, PhaseStrategy]] = operation_phases
    if torques is not None:
        phases = torque_phases(torque_drive(driver, assembly), grasp.reserve, torques)
    controller = GraspController(grasp, assembly, processor=processor, options=options, start=start, phases=phases)
    judge = judge or PadJudge()
    failure = drive(driver, controller, patience=patience, linger=linger, observe=judge.observe, raises=raises)
    outcome, reason = judge.verdict(controller, failure)
    log = controller.log
    forces = log["force_measured"]
    finite = forces[np.isfinite(forces)]
    carried = forces[log.during(RunPhase.LIFT) | log.during(RunPhase.MOVE) | log.during(RunPhase.HOLD)]
    mode = ControlMode.PADS if controller.run.tracker.sensed.any() else ControlMode.COMMANDS
    if not controller.options.force_loop:
        mode = ControlMode.COMMANDS
    return RunResult(
        outcome,
        reason,
        grasp.states[-1].largest_force,
        _largest_mean(forces[log.during(RunPhase.HOLD)]),
        float(finite.max()) if len(finite) else float("nan"),
        ControlMode.TORQUES if torques is not None else mode,
        float(np.nanmax(carried)) if np.isfinite(carried).any() else float("nan"),
        max(state.largest_force for state in grasp.states),
        _point_error(log),
        float(log["time"][-1] - log["time"][0]) if len(log) else 0.0,
        log,
    )


def drive(
    driver: Driver,
    controller: GraspController,
    *,
    patience: float = 5.0,
    linger: float = 0.0,
    observe: Observer | None = None,
    raises: bool = False,
) -> str:
    """Let a controller drive if the robot stands where it begins; why the driver ended it, or empty.

    Args:
        patience, linger, raises: as for ``run_on_driver``.
        observe: called with every sample and command.
    """
    signals: AbstractContextManager[list[str]] = nullcontext([]) if raises else heard_once()
    with signals as heard:
        try:
            failure = _not_ready(_first_reading(driver, patience), controller, driver, patience)
            if not failure:
                execute(driver, controller, linger=linger, observe=observe)
        except (KeyboardInterrupt, Exception) as bad:
            if raises:
                raise
            if heard or isinstance(bad, KeyboardInterrupt):  # in compiled code a signal arrives as that code's failure
                failure = f"interrupted {_by_whom(heard)}"
                failure += _stop(driver, failure) or "; the robot was told to stop"
            else:
                failure = f"the driver failed: {_described(bad)}"
                failure += _stop(driver, failure)
    return failure


def execute(
    driver: Driver,
    controller: GraspController,
    *,
    linger: float = 0.0,
    longest: float = 600.0,
    observe: Observer | None = None,
) -> RunLog:
    """The loop: run a controller on a driver to its end.

    The driver is stopped when something raises, and when the loop takes longer than anything may (counted in cycles,
    so that a driver whose clock stands still cannot hang it). A controller that ends in ``stopped`` leaves its last
    command standing: a hand that is given positions keeps its grip.

    Args:
        linger: how long to go on commanding after the end [s].
        longest: upper bound of the whole run [s].
        observe: called with every sample and command.
    """
    left = round(longest / driver.period)
    more = round(linger / driver.period)
    try:
        while left > 0:
            left -= 1
            sample = driver.read()
            command = controller.step(sample)
            if observe is not None:
                observe(sample, command)
            _send(driver, command)
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


def _send(driver: Driver, command: Command) -> None:
    if command.torques is None:
        driver.command_positions(command.positions)
    elif command.torque_joints.all():
        driver.command_torques(command.torques)
    else:
        driver.command_torques(command.torques, joints=command.torque_joints, positions=command.positions)


def _stop(driver: Driver, why: str) -> str:
    """Stop the robot; what to add to the reason where even that fails."""
    try:
        driver.emergency_stop(why)
    except Exception as bad:
        return f"; its emergency stop failed as well: {_described(bad)}"
    return ""


def _by_whom(heard: list[str]) -> str:
    return f"by {heard[0]}" if heard and heard[0] != "SIGINT" else "from the keyboard"


def _described(bad: BaseException) -> str:
    """An error and where it was raised, so that a driver's author finds the line."""
    steps = traceback.extract_tb(bad.__traceback__)
    place = f" ({Path(steps[-1].filename).name}:{steps[-1].lineno})" if steps else ""
    return f"{type(bad).__name__}: {bad}{place}"


def _first_reading(driver: Driver, patience: float) -> Sample:
    """The first sample with finite joints, or the last one there was time for."""
    sample = driver.read()
    for _ in range(round(patience / driver.period)):
        if sample.joints is not None and np.isfinite(sample.joints.positions).all():
            break
        driver.step()
        sample = driver.read()
    return sample


def _not_ready(sample: Sample, controller: GraspController, driver: Driver, patience: float) -> str:
    """Why the run must not begin; empty if it may."""
    if sample.stopped:
        return f"the driver has stopped: {sample.stopped}"
    if sample.joints is None or not np.isfinite(sample.joints.positions).all():
        return f"no joint reading within {patience:g} s"
    q, q_start = sample.joints.positions, controller.run.command
    far = [
        f"{name} at {here:.3f}, plan begins at {there:.3f}"
        for name, here, there, wrong in zip(
            driver.joint_names, q, q_start, np.abs(q - q_start) > controller.watch.off, strict=True
        )
        if wrong
    ]
    if far:
        return f"the robot is not where the plan begins: {'; '.join(far)}. Bring it there, or plan from where it is"
    return ""


def _largest_mean(forces: Floats) -> float:
    """Of the columns' means; NaN where there is no number at all."""
    known = np.isfinite(forces).any(axis=0)
    return float(np.nanmean(np.where(known, forces, 0.0), axis=0)[known].max()) if known.any() else float("nan")


def _point_error(log: RunLog) -> float:
    rows = log.during(RunPhase.LIFT) | log.during(RunPhase.HOLD)
    away = np.linalg.norm(log["point_measured"][rows] - log["point_planned"][rows], axis=2)
    columns = [column[np.isfinite(column)] for column in away.T]
    return float(max((np.median(column) for column in columns if len(column)), default=np.nan))
