"""What a frame should follow: which link, which rows of its twist count, in whose axes, how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Records
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
WORLD, OWN = -1, -2
"""In place of the number of a frame: the world, and the task's own frame."""


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

    @property
    def pointing_axis(self) -> int:
        """Number of the axis whose direction counts; -1 where the whole rotation does."""
        return AXES.index(self.axis) if self.points else -1


TASK = np.dtype(
    [
        ("frame", "i8"),
        ("reference", "i8"),
        ("basis", "i8"),
        ("axis", "i8"),
        ("rotation", "f8", (3, 3)),
        ("translation", "f8", (3,)),
        ("gain_linear", "f8"),
        ("gain_angular", "f8"),
        ("feed_forward", "f8"),
        ("wanted_rotation", "f8", (3, 3)),
        ("wanted_translation", "f8", (3,)),
        ("wanted_twist", "f8", (6,)),
    ]
)
"""A task for the kernels: numbers of the link's frame, of the frame in which the setpoint is given (`WORLD`: none) and
of the frame whose axes the rows are meant in (`WORLD`, or `OWN`: the task's); the pointing axis (-1: none);
T_link_frame; the gains [1/s], feed-forward 1 or 0; and the setpoint: pose and twist (linear first)."""


def in_order(tasks: Sequence[FrameTask]) -> tuple[FrameTask, ...]:
    """The tasks by priority, the first served first."""
    if not tasks:
        raise OptionError("tasks", Problem("", "no frame to move", "give at least one FrameTask"))
    return tuple(sorted(tasks, key=lambda task: task.priority))


def rows_of_levels(ordered: Sequence[FrameTask]) -> tuple[slice, ...]:
    """Rows of each priority in the stack of the tasks."""
    sizes = [len(list(group)) for _, group in groupby(ordered, key=lambda task: task.priority)]
    ends = np.cumsum([0, *sizes]).tolist()
    return tuple(slice(6 * a, 6 * b) for a, b in pairwise(ends))


def task_rows(robot: Robot, ordered: Sequence[FrameTask]) -> Records:
    """Check the tasks against the robot and pack them: rows of `TASK`, gains and setpoints still to be filled in."""
    named = {"world": WORLD, "frame": OWN}
    rows = np.zeros(len(ordered), TASK)
    for row, task in zip(rows, ordered, strict=True):
        T = task.T_link_frame if task.T_link_frame is not None else pin.SE3.Identity()
        row["frame"], row["axis"] = robot.frame_id(task.link), task.pointing_axis
        row["reference"] = WORLD if task.relative_to is None else robot.frame_id(task.relative_to)
        row["basis"] = named[task.basis] if task.basis in named else robot.frame_id(task.basis)
        row["rotation"], row["translation"] = T.rotation, T.translation
    return rows


def support(robot: Robot, ordered: Sequence[FrameTask]) -> Floats:
    """k x nv: +1 where a moving joint carries the frame, -1 where it carries the reference only, times its fold.

    Joints below both the frame and its reference cancel: relative motion does not see them.
    """
    fold = robot.fold.sum(axis=1)  # every moving joint follows exactly one coordinate
    return np.array([_carried(robot, task) * fold for task in ordered])


def _carried(robot: Robot, task: FrameTask) -> Floats:
    carried = robot.carriers(task.link)
    return carried - robot.carriers(task.relative_to) if task.relative_to is not None else carried
