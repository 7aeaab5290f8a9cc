"""A trial squeeze in the lab: what the controller learns about an object that is not what the task says."""

from __future__ import annotations

from dataclasses import replace

from pliant.calibration import CalibrationRun, TrialSqueeze, fit_run
from pliant.contact import PreparedObject
from pliant.control import RunPhase, execute
from pliant.lab.driver import LabDriver, SensorSettings
from pliant.lab.options import LabOptions
from pliant.lab.trial import SETTLING, Disturbance, TrialSettings, pressed_places, trial_scene
from pliant.planner import PlannedGrasp, Task, prepare_object
from pliant.tactile import TactileProcessor

# Friction must not creep while the grip is loosened; nodes are many only where the pads press, and contacts give way so
# little that a ball between plates follows the fine finite elements within 3 % (at the usual 0.01 it is 8 % too soft).
CALIBRATION_SETTINGS = TrialSettings(
    from_pregrasp=True,
    period=0.012,
    lab=LabOptions(step=0.004, friction_stiffness=100.0, yielding=0.003, nodes=400),
)
# How far contacts give way goes with the square of the step and hardly with the object's stiffness: under an apple of
# 6 MPa it was 0.3 mm at 15 N, as much as the apple itself gave, and E came out as 0.70 of the true one (now 0.1 mm).
STIFF = 2e6  # from this modulus on [Pa]
STIFF_LAB = replace(CALIBRATION_SETTINGS.lab, step=0.002, yielding=0.001)


def calibration_settings(
    task: Task, truth: Disturbance | None = None, *, sensors: SensorSettings | None = None
) -> TrialSettings:
    """``CALIBRATION_SETTINGS``, with harder contacts where the lab's object is so stiff that theirs would count."""
    young = task.body.material.young * (truth or Disturbance()).young
    lab = STIFF_LAB if young >= STIFF else CALIBRATION_SETTINGS.lab
    return replace(CALIBRATION_SETTINGS, lab=lab, sensors=sensors or CALIBRATION_SETTINGS.sensors)


def calibrate_in_lab(
    task: Task,
    grasp: PlannedGrasp,
    *,
    truth: Disturbance | None = None,
    settings: TrialSettings | None = None,
    prepared: PreparedObject | None = None,
    levels: tuple[float, ...] | None = None,
    slip: bool = True,
) -> CalibrationRun:
    """Squeeze, lift and let slip an object in the lab, and fit what was felt.

    Args:
        task, grasp: with the start values of E and friction.
        truth: how the lab's object differs from them.
        settings: ``calibration_settings`` if left out.
        thing: contact model with the start values; made here if left out.
        levels, slip: of the trial squeeze.
    """
    settings = settings or calibration_settings(task, truth)
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
    # links of the lab are rigid hulls
    return fit_run(squeeze, log, task, grasp, prepared or prepare_object(task.body), rigid_pads=True)
