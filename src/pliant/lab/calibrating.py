"""A trial squeeze in the lab: what the controller learns about an object that is not what the task says."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pliant.contact import PreparedObject
from pliant.control import (
    Calibration,
    RunLog,
    RunPhase,
    SqueezeSamples,
    TactileProcessor,
    TrialSqueeze,
    execute,
    fit_squeeze,
)
from pliant.errors import OptionError
from pliant.lab.driver import LabDriver
from pliant.lab.options import LabOptions
from pliant.lab.trial import SETTLING, Disturbance, TrialSettings, pressed_places, trial_scene
from pliant.planner import PlannedGrasp, Task

__all__ = ["CALIBRATION_SETTINGS", "CalibrationRun", "calibrate_in_lab", "prepared_thing"]

Floats = NDArray[np.float64]


# Friction must not creep while the grip is loosened; nodes are many only where the pads press.
CALIBRATION_SETTINGS = TrialSettings(
    from_pregrasp=True, period=0.012, lab=LabOptions(step=0.004, friction_stiffness=100.0, nodes=300)
)


@dataclass(frozen=True, eq=False)
class CalibrationRun:
    """A calibration and how it came about; ``found`` is None where the squeeze failed, and ``reason`` says why."""

    found: Calibration | None
    reason: str
    log: RunLog
    samples: SqueezeSamples


def prepared_thing(task: Task) -> PreparedObject:
    """The contact model of a task's object."""
    body = task.body
    wall = body.liquid.wall if body.liquid is not None else None
    return PreparedObject.of(
        body.mesh,
        young=body.material.young,
        poisson=body.material.poisson,
        wall=wall,
        contents=body.liquid if wall is not None else None,
    )


def calibrate_in_lab(
    task: Task,
    grasp: PlannedGrasp,
    *,
    truth: Disturbance | None = None,
    settings: TrialSettings | None = None,
    thing: PreparedObject | None = None,
    levels: tuple[float, ...] | None = None,
    slip: bool = True,
) -> CalibrationRun:
    """Squeeze, lift and let slip an object in the lab, and fit what was felt.

    Args:
        task, grasp: with the start values of E and friction.
        truth: how the lab's object differs from them.
        settings: ``CALIBRATION_SETTINGS`` if left out.
        thing: contact model with the start values; made here if left out.
        levels, slip: of the trial squeeze.
    """
    settings = settings or CALIBRATION_SETTINGS
    assembly = task.assembly
    assert assembly.hand is not None
    q_start = grasp.q_pregrasp if settings.from_pregrasp else grasp.trajectory.q[0]
    lab = LabDriver(
        trial_scene(task, q_start, truth or Disturbance(), settings.lab, pressed_places(grasp)),
        period=settings.period,
        sensors=settings.sensors,
    )
    lab.command_positions(q_start)
    for _ in range(round(SETTLING / settings.period)):
        lab.step()
    squeeze = TrialSqueeze(
        grasp,
        assembly,
        processor=TactileProcessor.for_hand(assembly.hand, sensor=settings.sensors.pad),
        options=replace(settings.control, release=True),
        start=RunPhase.CLOSE if settings.from_pregrasp else RunPhase.APPROACH,
        levels=levels,
        slip=slip,
    )
    log = execute(lab, squeeze)
    if lab.fault:
        return CalibrationRun(None, lab.fault, log, squeeze.samples)
    contact = grasp.grasp.contacts[0]
    stiffness = contact.stiffness[2, 2] if contact.stiffness.ndim == 2 else contact.stiffness[2]
    try:
        found = fit_squeeze(
            squeeze.samples,
            assembly,
            task.body,
            task.T_world_object,
            thing or prepared_thing(task),
            planned_force=grasp.grasp.largest_force,
            planned_stiffness=float(stiffness),
            rigid_pads=True,  # links of the lab are rigid hulls
        )
    except OptionError as bad:
        return CalibrationRun(None, log.reason or str(bad), log, squeeze.samples)
    return CalibrationRun(found, log.reason, log, squeeze.samples)
