"""What is plotted of a grasp over time: forces, joints and torques, planned and, where a run was logged, measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.planner import Plan, PlannedGrasp, Task
from pliant.viewer.figures import Line, line_figure
from pliant.viewer.timeline import Timeline

__all__ = ["Measured", "grasp_figures", "measured_run"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """What a run measured, as far as plots need it.

    Args:
        times: n, on the plan's clock [s].
        forces: n normal forces [N] by finger.
        joints: n values [rad, m] by joint name.
        torques: n values [N m, N] by joint name.
        title: where it comes from, in words.
    """

    times: Floats
    forces: dict[str, Floats] = field(default_factory=dict)
    joints: dict[str, Floats] = field(default_factory=dict)
    torques: dict[str, Floats] = field(default_factory=dict)
    title: str = ""


def measured_run(path: str | Path, plan: Plan) -> Measured:
    """A run log of a plan, as its plots want it; several regions of one finger are added up.

    Args:
        path: the run log.
        plan: the plan that was run; it knows which finger a contact's link belongs to.
    """
    import pliant.files

    log: Any = pliant.files.load_run(path)
    fingers = {c.link: c.finger or "palm" for g in plan.grasps for state in g.states for c in state.contacts}
    times = np.asarray(log["plan_time"] if np.isfinite(log["plan_time"]).any() else log["time"], dtype=np.float64)
    order = np.flatnonzero(np.isfinite(times))
    forces: dict[str, Floats] = {}
    for k, name in enumerate(log.contacts):
        link = next((link for link in fingers if name.startswith(link)), name)
        finger = fingers.get(link, link)
        values = np.nan_to_num(np.asarray(log["force_measured"], dtype=np.float64)[order, k])
        forces[finger] = forces.get(finger, np.zeros(len(order))) + values
    joints = {name: np.asarray(log["q_measured"])[order, j] for j, name in enumerate(log.joints)}
    torques = {name: np.asarray(log["torque_measured"])[order, j] for j, name in enumerate(log.joints)}
    torques = {name: values for name, values in torques.items() if np.isfinite(values).any()}
    return Measured(times[order], forces, joints, torques, f"run log {Path(path).name}: measured values are dotted")


def grasp_figures(
    task: Task, grasp: PlannedGrasp, measured: Measured | None = None, *, cursor: float | None = None
) -> dict[str, str]:
    """SVG plots by name: forces, hand joints, arm joints, torques."""
    timeline = Timeline(grasp)
    bands = [(phase.value, *span) for phase, span in timeline.phases.items()]
    common = {"x_label": "time [s]", "bands": bands, "cursor": cursor}
    robot = task.assembly.robot
    limit = task.body.limits.largest_force
    figures = {
        "forces": line_figure(
            _forces(timeline, measured),
            title="Normal force of every finger",
            y_label="N",
            limit=("limit", float(limit)) if np.isfinite(limit) else None,
            **common,  # type: ignore[arg-type]
        )
    }
    for title, indices in (("Hand joints", task.assembly.hand_joints), ("Arm joints", task.assembly.arm_joints)):
        if not len(indices):
            continue
        names = [robot.joint_names[i] for i in indices.tolist()]
        slides = [_slides(task, name) for name in names]
        unit = "mm" if all(slides) else "deg"
        figures[title.lower()] = line_figure(
            _joints(grasp, indices, names, slides, measured),
            title=title,
            y_label=unit,
            **common,  # type: ignore[arg-type]
        )
    figures["torques"] = line_figure(
        _torques(task, grasp, measured),
        title="Torques of the hand's joints while holding",
        y_label="N m",
        **common,  # type: ignore[arg-type]
    )
    return figures


def _forces(timeline: Timeline, measured: Measured | None) -> dict[str, Line]:
    states = timeline.grasp.states
    names = list(dict.fromkeys(c.finger or "palm" for state in states for c in state.contacts))
    times = np.concatenate([[0.0, timeline.touch], timeline.times])
    lines = {}
    for k, name in enumerate(names):
        held = [sum(c.normal_force for c in state.contacts if (c.finger or "palm") == name) for state in states]
        wanted = [sum(float(c.wanted[2]) for c in state.contacts if (c.finger or "palm") == name) for state in states]
        lines[name] = Line(times, [0.0, 0.0, *held], colour=k)
        if measured is not None and name in measured.forces:
            lines[f"{name} measured"] = Line(measured.times, measured.forces[name], measured=True, colour=k)
        elif measured is None and len(names) <= 4:
            lines[f"{name} needed"] = Line(timeline.times, wanted, measured=True, colour=k)
    return lines


def _joints(
    grasp: PlannedGrasp, indices: NDArray[np.int64], names: list[str], slides: list[bool], measured: Measured | None
) -> dict[str, Line]:
    lines = {}
    for k, (i, name, linear) in enumerate(zip(indices.tolist(), names, slides, strict=True)):
        factor = 1e3 if linear else 180.0 / np.pi
        lines[name] = Line(grasp.trajectory.times, factor * grasp.trajectory.q[:, i], colour=k)
        if measured is not None and name in measured.joints:
            lines[f"{name} measured"] = Line(measured.times, factor * measured.joints[name], measured=True, colour=k)
    return lines


def _torques(task: Task, grasp: PlannedGrasp, measured: Measured | None) -> dict[str, Line]:
    times = [state.time for state in grasp.states]
    lines = {}
    for k, i in enumerate(task.assembly.hand_joints.tolist()):
        name = task.assembly.robot.joint_names[i]
        lines[name] = Line(times, [float(state.torques[i]) for state in grasp.states], colour=k)
        if measured is not None and name in measured.torques:
            lines[f"{name} measured"] = Line(measured.times, measured.torques[name], measured=True, colour=k)
    return lines


def _slides(task: Task, name: str) -> bool:
    return any(joint.name == name and joint.kind == "prismatic" for joint in task.assembly.robot.urdf.joints)
