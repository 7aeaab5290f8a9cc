"""What a frame should follow: which link, which rows of its twist count, in whose axes, how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Ints
from pliant.errors import OptionError, Problem, unknown_name
from pliant.robot import Robot

# Rows of (v, w) that count. Along a pointing axis the turn about it is free: that row is cleared separately.
ROWS = {
    "pose": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    "position": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    "orientation": (0.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    "direction": (0.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    "position+direction": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
}
AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class FrameTask:
    """One frame of the robot that is to follow a setpoint.   (theory 5.2)

    Args:
        link: the link that carries the frame.
        T_link_frame: the frame in the link (a finger tip in its distal link); the link's own frame by default.
        rows: what counts: ``pose``, ``position``, ``orientation``, ``direction`` (the frame's ``axis`` points where the
            setpoint's does; the turn about it is free) or ``position+direction``.
        basis: axes in which rows and weights are meant: ``frame`` (its own), ``world``, or the name of a link.
        relative_to: link in whose moving frame the setpoint is given; the world by default.
        weights: of the six rows (linear first), or one number for all. Zero leaves a row out.
        priority: 0 is served first; a later level moves only what does not disturb the earlier ones.
        axis: pointing axis of the frame for ``direction``.
    """

    link: str
    T_link_frame: pin.SE3 | None = None
    rows: str = "pose"
    basis: str = "frame"
    relative_to: str | None = None
    weights: float | Sequence[float] = 1.0
    priority: int = 0
    axis: str = "z"

    def __post_init__(self) -> None:
        self.row_weights()

    def row_weights(self) -> Floats:
        """Six weights, zero where a row does not count."""
        where = f"task of link '{self.link}'"
        if self.rows not in ROWS:
            raise OptionError(where, unknown_name("choice of rows", self.rows, ROWS))
        given = np.asarray(self.weights, dtype=np.float64)
        if given.shape not in ((), (6,)) or not np.isfinite(given).all() or (given < 0.0).any():
            raise OptionError(
                where, Problem("weights", f"{self.weights}", "one number or six, finite and not below zero")
            )
        weights = np.array(ROWS[self.rows]) * given
        if self.points:
            if self.axis not in AXES:
                raise OptionError(where, unknown_name("axis", self.axis, AXES))
            if self.basis != "frame":
                what = f"'{self.basis}' cannot be used with rows '{self.rows}'"
                raise OptionError(where, Problem("basis", what, "the free turn is about the frame's own axis: frame"))
            weights[3 + AXES.index(self.axis)] = 0.0
        if not weights.any():
            raise OptionError(where, Problem("weights", "every row has weight zero", "let at least one row count"))
        return weights

    @property
    def points(self) -> bool:
        """Whether only the direction of one axis counts, not the turn about it."""
        return self.rows.endswith("direction")


@dataclass(frozen=True)
class TaskArrays:
    """Tasks as plain arrays for the kernels, highest priority first. k tasks, nv moving joints.

    Attributes:
        tasks: in the order of the rows.
        numbers: k x 4: frame, reference frame (-1: world), basis frame (-1: world, -2: own), pointing axis (-1: none).
        placements: k x 12: T_link_frame as rotation (row by row) and translation.
        row_weights: 6k.
        support: k x nv: +1 where the joint carries the frame, -1 where it carries the reference only, times its fold.
        column: column of ``q`` that moves each moving joint.
        levels: rows of each priority.
    """

    tasks: tuple[FrameTask, ...]
    numbers: Ints
    placements: Floats
    row_weights: Floats
    support: Floats
    column: Ints
    levels: tuple[slice, ...]


def compile_tasks(robot: Robot, tasks: Sequence[FrameTask]) -> TaskArrays:
    """Check the tasks against the robot and pack them."""
    if not tasks:
        raise OptionError("tasks", Problem("", "no frame to move", "give at least one FrameTask"))
    ordered = tuple(sorted(tasks, key=lambda task: task.priority))
    priorities = [task.priority for task in ordered]
    ends = [i + 1 for i in range(len(ordered)) if i + 1 == len(ordered) or priorities[i + 1] != priorities[i]]
    starts = [0, *ends[:-1]]
    fold = robot.fold.sum(axis=1)  # every moving joint follows exactly one coordinate
    return TaskArrays(
        tasks=ordered,
        numbers=np.array([_numbers(robot, task) for task in ordered], dtype=np.int64),
        placements=np.array([_placement(task) for task in ordered]),
        row_weights=np.concatenate([task.row_weights() for task in ordered]),
        support=np.array([_support(robot, task) * fold for task in ordered]),
        column=np.argmax(robot.fold != 0.0, axis=1).astype(np.int64),
        levels=tuple(slice(6 * a, 6 * b) for a, b in zip(starts, ends, strict=True)),
    )


def _numbers(robot: Robot, task: FrameTask) -> tuple[int, int, int, int]:
    reference = -1 if task.relative_to is None else robot.frame_id(task.relative_to)
    basis = {"world": -1, "frame": -2}.get(task.basis)
    return (
        robot.frame_id(task.link),
        reference,
        robot.frame_id(task.basis) if basis is None else basis,
        AXES.index(task.axis) if task.points else -1,
    )


def _placement(task: FrameTask) -> Floats:
    T = task.T_link_frame if task.T_link_frame is not None else pin.SE3.Identity()
    return np.concatenate([T.rotation.ravel(), T.translation])


def _support(robot: Robot, task: FrameTask) -> Floats:
    """Joints below both the frame and its reference cancel: relative motion does not see them."""
    support = _carriers(robot, task.link)
    return support - _carriers(robot, task.relative_to) if task.relative_to is not None else support


def _carriers(robot: Robot, link: str) -> Floats:
    carriers = np.zeros(robot.model.nv)
    joint_id = robot.model.frames[robot.frame_id(link)].parentJoint
    carriers[[i - 1 for i in robot.model.supports[joint_id] if i > 0]] = 1.0
    return carriers
