"""What a run measured, on the plan's clock: forces, joints, torques, and every frame of the tactile arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats, Ints
from pliant.errors import DocumentError, Problem
from pliant.planner import Plan, link_of

if TYPE_CHECKING:
    from pliant.control import RunLog
    from pliant.tactile import PadSensor

NEAR = 0.1
"""Joints move by less in a cycle of the controller [rad, m]."""


@dataclass(frozen=True, eq=False)
class MeasuredPad:
    """All frames of one tactile array.

    Attributes:
        times: k, on the plan's clock, never falling [s].
        counts: k x rows x columns; a cell that sent nothing is negative.
        cell_area: [m^2].
        sensor: what counts mean.
    """

    times: Floats
    counts: NDArray[np.int16]
    cell_area: float
    sensor: PadSensor

    def pressures(self, time: float) -> Floats | None:
        """rows x columns [Pa] of the newest frame at a time of the plan; None before the first one."""
        newest = int(np.searchsorted(self.times, time + 1e-9, side="right")) - 1
        if newest < 0:
            return None
        counts = np.maximum(self.counts[newest], 0).astype(np.int64)
        return np.asarray(self.sensor.forces(counts, cell_area=self.cell_area) / self.cell_area)


@dataclass(frozen=True, eq=False)
class RunMeasurements:
    """What a run measured, as far as plots and pictures need it.

    Attributes:
        times: n, on the plan's clock [s].
        forces: n normal forces [N] by finger.
        joints: n values [rad, m] by joint name.
        torques: n values [N m, N] by joint name, of joints that report them.
        contact_torques: n values [N m, N] by joint name of the hand, from the measured contact forces.
        title: where it comes from.
        pads: frames by tactile array.
        rank: of the grasp that was run; None where that is not known.
        pushes: what each push on the held object did, as `pliant run` answers.
    """

    times: Floats
    forces: dict[str, Floats] = field(default_factory=dict)
    joints: dict[str, Floats] = field(default_factory=dict)
    torques: dict[str, Floats] = field(default_factory=dict)
    contact_torques: dict[str, Floats] = field(default_factory=dict)
    title: str = ""
    pads: dict[str, MeasuredPad] = field(default_factory=dict)
    rank: int | None = None
    pushes: tuple[Mapping[str, Any], ...] = ()

    def of(self, rank: int) -> RunMeasurements | None:
        """This, where it may be compared with the grasp of this rank; None where another one was run."""
        return self if self.rank in (None, rank) else None

    def pressures(self, time: float) -> dict[str, Floats]:
        """Pressures [Pa] by tactile array at a time of the plan; nothing where the run has not begun."""
        found = {name: pad.pressures(time) for name, pad in self.pads.items()}
        return {name: pressures for name, pressures in found.items() if pressures is not None}


def measured_run(run: RunLog | str | Path, plan: Plan) -> RunMeasurements:
    """A run log of a plan, as its plots need it; several regions of one finger are added up.

    Args:
        run: the run log, or its file.
        plan: the plan that was run; it knows which finger a contact's link belongs to.

    Raises:
        DocumentError: the log cannot be read, is of another robot, or of a plan with other motions.
    """
    from pliant.control import RunLog
    from pliant.files import load_run

    source = "run log" if isinstance(run, RunLog) else str(run)
    log = run if isinstance(run, RunLog) else load_run(run)
    foreign = [name for name in log.joints if name not in plan.task.assembly.robot.joint_names]
    if foreign:
        what = f"is of another robot than the plan: it moves '{foreign[0]}'"
        raise DocumentError(source, Problem("", what, f"a run of {plan.task.assembly.name}"))
    fingers = {c.link: c.finger or "palm" for g in plan.grasps for state in g.states for c in state.contacts}
    clock = _plan_clock(log)
    order = np.flatnonzero(np.isfinite(clock))
    forces: dict[str, Floats] = {}
    for k, contact in enumerate(log.contacts):
        link = link_of(contact)
        finger = fingers.get(link, link)
        values = np.nan_to_num(np.asarray(log["force_measured"], dtype=np.float64)[order, k])
        forces[finger] = forces.get(finger, np.zeros(len(order))) + values
    joints = {name: np.asarray(log["q_measured"])[order, j] for j, name in enumerate(log.joints)}
    torques = {name: np.asarray(log["torque_measured"])[order, j] for j, name in enumerate(log.joints)}
    torques = {name: values for name, values in torques.items() if np.isfinite(values).any()}
    title = f"{source if isinstance(run, RunLog) else 'run log ' + Path(source).name}: measured values are dotted"
    pads = _pads(log, plan, clock, order)
    rank = _rank(log, plan, clock, order, source)
    bears = _contact_torques(log, plan, rank, order)
    return RunMeasurements(clock[order], forces, joints, torques, bears, title, pads, rank, _pushes(log))


def _contact_torques(log: RunLog, plan: Plan, rank: int | None, order: Ints) -> dict[str, Floats]:
    """What the hand's joints bear by the measured contact forces, where it is known which grasp was run."""
    from pliant.control import finger_torques
    from pliant.planner import contact_names

    if rank is None or log.contacts != contact_names([c.link for c in plan.grasps[rank].grasp.contacts]):
        return {}
    found = finger_torques(log, plan.grasps[rank], plan.task.assembly, gravity=plan.task.goal.gravity)
    return {log.joints[j]: found.from_forces[order, k] for k, j in enumerate(found.joints)}


def _pushes(log: RunLog) -> tuple[Mapping[str, Any], ...]:
    """The pushes that the log tells of; a log is a file, so whatever is no such table is left out."""
    trial = log.facts.get("trial")
    pushes = trial.get("pushes") if isinstance(trial, Mapping) else None
    return tuple(push for push in pushes if isinstance(push, Mapping)) if isinstance(pushes, list) else ()


def _plan_clock(log: RunLog) -> Floats:
    """The plan's time at every step; the run's own where the log does not know it."""
    known = np.isfinite(log["plan_time"]).any()
    return np.asarray(log["plan_time"] if known else log["time"], dtype=np.float64)


def _rank(log: RunLog, plan: Plan, clock: Floats, order: Ints, source: str) -> int | None:
    """The grasp whose joints are those that the run was to follow, if it is clearly one of them.

    In logs of earlier versions times and planned joints are a cycle of the controller apart.

    Raises:
        DocumentError: it was to follow joints that are those of no grasp.
    """
    names = plan.task.assembly.robot.joint_names
    if set(log.joints) != set(names):
        return None
    columns = [log.joints.index(name) for name in names]
    planned = np.asarray(log["q_planned"], dtype=np.float64)[:, columns]
    known = order[np.isfinite(planned[order]).all(axis=1)]
    if not len(known) or not plan.grasps:
        return None
    some = known[np.unique(np.linspace(0, len(known) - 1, 100).astype(np.int64))]
    paths = (grasp.trajectory for grasp in plan.grasps)
    apart = np.array([[np.abs(path.at(clock[i]) - planned[i]).max() for i in some] for path in paths])
    first, *others = np.argsort(apart.mean(axis=1)).tolist()
    if apart[first].mean() > NEAR:
        what = f"is of another plan: its planned joints are {apart[first].mean():.2g} rad or m from those of any grasp"
        raise DocumentError(source, Problem("", what, f"a run of this plan of '{plan.task.name}'"))
    clear = all(apart[first].mean() < 0.5 * apart[other].mean() for other in others)
    return int(first) if clear and apart[first].max() < NEAR else None


def _pads(log: RunLog, plan: Plan, clock: Floats, order: Ints) -> dict[str, MeasuredPad]:
    from pliant.robot import cell_layout

    hand = plan.task.assembly.hand
    if hand is None or not len(order):
        return {}
    run_times = np.asarray(log["time"], dtype=np.float64)[order]
    # A run may wait or go back a little; what was measured last at a time of the plan counts.
    plan_times = np.maximum.accumulate(clock[order])
    sensor = log.pad_sensor
    pads = {}
    for array in hand.tactile:
        frames = log.frames.get(array.name)
        layout = cell_layout(array)
        if frames is None or not len(frames.times) or frames.counts.shape[1:] != layout.exists.shape:
            continue
        times = np.interp(frames.times, run_times, plan_times)
        pads[array.name] = MeasuredPad(times, frames.counts, layout.area, sensor)
    return pads
