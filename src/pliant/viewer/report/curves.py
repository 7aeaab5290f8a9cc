"""What is plotted of a grasp over time: forces, joints and torques, planned and, where a run was logged, measured."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Ints
from pliant.planner import PlannedGrasp, Task, Timeline, force_share
from pliant.viewer.report.figures import Line, line_figure
from pliant.viewer.report.measured import Measured


def grasp_figures(
    task: Task, grasp: PlannedGrasp, measured: Measured | None = None, *, cursor: float | None = None
) -> dict[str, str]:
    """SVG plots by name: forces, hand joints, arm joints, torques."""
    timeline = Timeline(grasp)
    bands = [(phase.value, *span) for phase, span in timeline.spans.items()]
    common = {"x_label": "time [s]", "bands": bands, "cursor": cursor}
    robot = task.assembly.robot
    limit = task.body.limits.largest_force
    figures = {
        "forces": line_figure(
            _forces(timeline, measured),
            title="Normal force of every finger" + _dotted(measured, "forces", "needed"),
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
            title=title + _dotted(measured, "joints"),
            y_label=unit,
            **common,  # type: ignore[arg-type]
        )
    figures["torques"] = line_figure(
        _torques(task, grasp, measured),
        title="Torques of the hand's joints while holding" + _dotted(measured, "torques"),
        y_label="N m",
        **common,  # type: ignore[arg-type]
    )
    return figures


def _forces(timeline: Timeline, measured: Measured | None) -> list[Line]:
    states = timeline.grasp.states
    names = list(dict.fromkeys(c.finger or "palm" for state in states for c in state.contacts))
    squeeze = np.linspace(timeline.touch_time, timeline.grasp_time, 9)[:-1]
    times = np.concatenate([[0.0], squeeze, timeline.times])
    growing = [force_share(timeline.depth_share(float(time))) for time in squeeze]
    lines: list[Line] = []
    for k, name in enumerate(names):
        held = [sum(c.normal_force for c in state.contacts if (c.finger or "palm") == name) for state in states]
        wanted = [sum(float(c.wanted[2]) for c in state.contacts if (c.finger or "palm") == name) for state in states]
        lines.append(Line(name, times, [0.0, *(share * held[0] for share in growing), *held], colour=k))
        if measured is not None and name in measured.forces:
            lines.append(Line("", measured.times, measured.forces[name], "dotted", k))
        elif measured is None:
            lines.append(Line("", timeline.times, wanted, "dotted", k))
    return lines


def _joints(
    grasp: PlannedGrasp, indices: Ints, names: list[str], slides: list[bool], measured: Measured | None
) -> list[Line]:
    lines: list[Line] = []
    for k, (i, name, linear) in enumerate(zip(indices.tolist(), names, slides, strict=True)):
        factor = 1e3 if linear else 180.0 / np.pi
        lines.append(Line(name, grasp.trajectory.times, factor * grasp.trajectory.q[:, i], colour=k))
        if measured is not None and name in measured.joints:
            lines.append(Line("", measured.times, factor * measured.joints[name], "dotted", k))
    return lines


def _torques(task: Task, grasp: PlannedGrasp, measured: Measured | None) -> list[Line]:
    times = [state.time for state in grasp.states]
    lines: list[Line] = []
    for k, i in enumerate(task.assembly.hand_joints.tolist()):
        name = task.assembly.robot.joint_names[i]
        lines.append(Line(name, times, [float(state.torques[i]) for state in grasp.states], colour=k))
        if measured is not None and name in measured.torques:
            lines.append(Line("", measured.times, measured.torques[name], "dotted", k))
    return lines


def _dotted(measured: Measured | None, what: str, otherwise: str = "") -> str:
    """What the dotted lines of a plot are, for its title: they have the colours of the solid ones beside them."""
    meaning = otherwise if measured is None else "measured" if getattr(measured, what) else ""
    return f" (dotted: {meaning})" if meaning else ""


def _slides(task: Task, name: str) -> bool:
    return any(joint.name == name and joint.kind == "prismatic" for joint in task.assembly.robot.urdf.joints)
