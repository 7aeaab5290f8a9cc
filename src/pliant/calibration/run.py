"""A trial squeeze from beginning to end, on any driver, and the fit of what it brought in.   (theory 9)"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pliant.calibration.fit import Calibration, SqueezeSamples, fit_squeeze
from pliant.calibration.squeeze import TrialSqueeze
from pliant.contact import PreparedObject
from pliant.control import ControlOptions, Driver, RunLog, RunPhase, drive
from pliant.errors import OptionError
from pliant.planner import PlannedGrasp, Task
from pliant.tactile import TactileProcessor


@dataclass(frozen=True, eq=False)
class CalibrationRun:
    """A calibration and how it came about; ``found`` is None where the squeeze failed, and ``reason`` says why."""

    found: Calibration | None
    reason: str
    log: RunLog
    samples: SqueezeSamples


def calibrate_on_driver(
    driver: Driver,
    task: Task,
    grasp: PlannedGrasp,
    prepared: PreparedObject,
    *,
    options: ControlOptions | None = None,
    processor: TactileProcessor | None = None,
    from_pregrasp: bool = False,
    levels: tuple[float, ...] | None = None,
    slip: bool = True,
    patience: float = 5.0,
    rigid_pads: bool = False,
    raises: bool = False,
) -> CalibrationRun:
    """Squeeze, lift a little and let slip on a driver, and fit what was measured.

    Nothing is commanded unless the robot stands where the plan begins. A driver that raises is stopped, and so is
    one that is interrupted from the keyboard; what was measured up to there is not fitted. The driver is not closed.

    Args:
        task, grasp: with the start values of E and friction.
        prepared: the object's contact model with these values.
        options: limits, times, gains; the hand is opened at the end whatever they say.
        processor: calibration of the pads; standard pads if left out.
        from_pregrasp: the hand stands where the approach ends already; it is left out.
        levels: of the trial squeeze.
        slip: whether to lift and let slip; otherwise friction stays unknown.
        patience: how long the first joint reading may take [s].
        rigid_pads: the hand has none of the soft covers of its description.
        raises: pass on what a driver raises, after it was stopped: for a driver of our own, the lab.
    """
    squeeze = TrialSqueeze(
        grasp,
        task.assembly,
        processor=processor,
        options=replace(options or ControlOptions(), release=True),
        start=RunPhase.CLOSE if from_pregrasp else RunPhase.APPROACH,
        levels=levels,
        slip=slip,
    )
    failure = drive(driver, squeeze.controller, patience=patience, raises=raises)
    log, samples = squeeze.controller.log, squeeze.samples
    if failure:
        return CalibrationRun(None, failure, log, samples)
    contact = grasp.grasp.contacts[0]
    stiffness = contact.stiffness[2, 2] if contact.stiffness.ndim == 2 else contact.stiffness[2]
    try:
        found = fit_squeeze(
            samples,
            task.assembly,
            task.body,
            task.T_world_object,
            prepared,
            planned_force=grasp.grasp.largest_force,
            planned_stiffness=float(stiffness),
            rigid_pads=rigid_pads,
        )
    except OptionError as bad:
        return CalibrationRun(None, log.reason or str(bad), log, samples)
    return CalibrationRun(found, log.reason, log, samples)
