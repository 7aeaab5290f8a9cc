"""What is plotted of a grasp over time: forces, joints and torques, planned and, where a run was logged, measured."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from pliant.planner import PlannedContact, PlannedGrasp, Task, Timeline, force_share
from pliant.viewer.report.figures import Band, Line, line_figure
from pliant.viewer.report.measured import RunMeasurements


def grasp_figures(
    task: Task, grasp: PlannedGrasp, measured: RunMeasurements | None = None, *, cursor: float | None = None
) -> dict[str, str]:
    """SVG plots by name: forces, hand joints, arm joints, torques."""
    timeline = Timeline(grasp)
    robot, hand, arm = task.assembly.robot, task.assembly.hand_joints.tolist(), task.assembly.arm_joints.tolist()
    bands = [Band(phase.value, *span) for phase, span in timeline.spans.items()]
    figure = partial(line_figure, x_label="time [s]", bands=bands, cursor=cursor)
    limit = task.body.limits.largest_force
    figures = {
        "forces": figure(
            _forces(timeline, measured),
            title="Normal force of every finger" + _dotted(measured, "forces", "needed"),
            y_label="N",
            limit=float(limit) if np.isfinite(limit) else None,
        )
    }
    for title, indices in (("Hand joints", hand), ("Arm joints", arm)):
        if not indices:
            continue
        factors = [1e3 if _slides(task, robot.joint_names[i]) else 180.0 / np.pi for i in indices]
        lines: list[Line] = []
        for k, (i, factor) in enumerate(zip(indices, factors, strict=True)):
            q = factor * grasp.trajectory.q[:, i]
            lines.append(Line(robot.joint_names[i], grasp.trajectory.times, q, colour=k))
            lines += _measured(measured, "joints", robot.joint_names[i], k, factor)
        unit = "mm" if set(factors) == {1e3} else "deg"
        figures[title.lower()] = figure(lines, title=title + _dotted(measured, "joints"), y_label=unit)
    lines = []
    for k, i in enumerate(hand):
        torques = [float(state.torques[i]) for state in grasp.states]
        lines.append(Line(robot.joint_names[i], timeline.times, torques, colour=k))
        lines += _measured(measured, "torques", robot.joint_names[i], k)
        lines += _measured(measured, "contact_torques", robot.joint_names[i], k, style="dashed")
    known = measured is not None and measured.contact_torques
    title = "Torques of the hand's joints while holding" + _dotted(measured, "torques")
    title += " (dashed: from measured forces)" if known else ""
    figures["torques"] = figure(lines, title=title, y_label="N m")
    return figures


def _forces(timeline: Timeline, measured: RunMeasurements | None) -> list[Line]:
    states = timeline.grasp.states
    squeeze = np.linspace(timeline.touch_time, timeline.grasp_time, 9)[:-1]
    times = np.concatenate([[0.0], squeeze, timeline.times])
    growing = [force_share(timeline.depth_share(float(time))) for time in squeeze]
    lines: list[Line] = []
    for k, name in enumerate(dict.fromkeys(_finger(c) for state in states for c in state.contacts)):
        held = [sum(c.normal_force for c in state.contacts if _finger(c) == name) for state in states]
        lines.append(Line(name, times, [0.0, *(share * held[0] for share in growing), *held], colour=k))
        if measured is None:
            needed = [sum(float(c.wanted[2]) for c in state.contacts if _finger(c) == name) for state in states]
            lines.append(Line("", timeline.times, needed, "dotted", k))
        lines += _measured(measured, "forces", name, k)
    return lines


def _finger(contact: PlannedContact) -> str:
    return contact.finger or "palm"


def _measured(
    measured: RunMeasurements | None,
    what: str,
    name: str,
    colour: int,
    factor: float = 1.0,
    style: Literal["dashed", "dotted"] = "dotted",
) -> list[Line]:
    """The thin line beside a planned one, if that was measured."""
    if measured is None or name not in (values := getattr(measured, what)):
        return []
    return [Line("", measured.times, factor * values[name], style, colour)]


def _dotted(measured: RunMeasurements | None, what: str, otherwise: str = "") -> str:
    """What the dotted lines of a plot are, for its title: they have the colours of the solid ones beside them."""
    meaning = otherwise if measured is None else "measured" if getattr(measured, what) else ""
    return f" (dotted: {meaning})" if meaning else ""


def _slides(task: Task, name: str) -> bool:
    return any(joint.name == name and joint.kind == "prismatic" for joint in task.assembly.robot.urdf.joints)
