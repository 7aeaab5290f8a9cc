"""A trial squeeze in the lab: what the controller learns about an object that differs from the task."""

from __future__ import annotations

from dataclasses import replace

from pliant.calibration import CalibrationRun, calibrate_on_driver
from pliant.contact import PreparedObject
from pliant.lab.driver import SensorSettings
from pliant.lab.options import LabOptions
from pliant.lab.trial import Disturbance, TrialSettings, lab_at_start
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
    """Squeeze, lift and let slip an object in the lab, and fit what was measured.

    Args:
        task, grasp: with the start values of E and friction.
        truth: how the lab's object differs from them.
        settings: ``calibration_settings`` if left out.
        prepared: contact model with the start values; made here if left out.
        levels, slip: of the trial squeeze.
    """
    settings = settings or calibration_settings(task, truth)
    assert task.assembly.hand is not None
    lab = lab_at_start(task, grasp, settings, truth, fine=True)
    done = calibrate_on_driver(
        lab,
        task,
        grasp,
        prepared or prepare_object(task.body),
        options=settings.control,
        processor=TactileProcessor.for_hand(task.assembly.hand, sensor=settings.sensors.pad),
        from_pregrasp=settings.from_pregrasp,
        levels=levels,
        slip=slip,
        rigid_pads=True,  # links of the lab are rigid hulls
        raises=True,
    )
    return replace(done, found=None, reason=lab.fault) if lab.fault else done
