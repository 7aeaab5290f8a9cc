"""A chain split at links: each part of it is solved under its own setpoints, as if the parts before were its base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Bools, Floats
from pliant.errors import OptionError, Problem
from pliant.motion.frame_task import FrameTask
from pliant.motion.path import Path
from pliant.motion.tracking import Gains, Servo
from pliant.robot import Robot

TargetPairs = Mapping[FrameTask, Path | pin.SE3] | Sequence[tuple[FrameTask, Path | pin.SE3]]


class SplitServo:
    """A servo for every part of a chain, from its root outwards.   (theory 5.5; [C, 10])

    The first part is the joints up to the first link of ``at``, the next those from there to the second link, the last
    all that remain. A target belongs to the first part with which no joint beyond moves its link (nor that it is
    relative to). Each part sees the parts before it as a moving base, and makes up for their motion.

    Args:
        at: the links at which the chain is split, from the root outwards.
        targets: as for `Servo`; every part needs one.
        gains, joints, options: as for `Servo`.
    """

    def __init__(
        self,
        robot: Robot,
        at: str | Sequence[str],
        targets: TargetPairs,
        *,
        gains: Gains | Sequence[Gains] = Gains(),  # noqa: B008 - frozen
        joints: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        pairs = list(targets.items() if isinstance(targets, Mapping) else targets)
        self.robot = robot
        self.parts: list[Servo] = []
        for mask, own in split_chain(robot, [at] if isinstance(at, str) else at, [task for task, _ in pairs]):
            names = [name for name, inside in zip(robot.joint_names, mask, strict=True) if inside]
            free = names if joints is None else [name for name in joints if name in names]
            each = gains if isinstance(gains, Gains) else [gains[i] for i in own]
            self.parts.append(Servo(robot, [pairs[i] for i in own], gains=each, joints=free, **options))
        self.tasks = tuple(task for part in self.parts for task in part.tasks)
        # What one part calls the speed of a ball joint the next must call so too.
        columns = [{int(ball["column"]) for ball in part.balls} for part in self.parts]
        shared = set.intersection(*columns)
        for part in self.parts:
            part.balls = part.balls[[int(ball["column"]) in shared for ball in part.balls]]
        self.speeds = np.zeros(robot.dof)

    def step(self, q: Floats, t: float) -> Floats:
        """Joint speeds of all parts together."""
        self.speeds = np.zeros(self.robot.dof)
        for part in self.parts:
            part.step(q, t, carried=self.speeds)
            self.speeds = self.speeds + part.speeds
        return (self.moved(q, self.speeds) - q) / self.parts[0].dt

    def moved(self, q: Floats, speeds: Floats) -> Floats:
        """Joint values one step after ``q`` at such speeds."""
        return self.parts[0].moved(q, speeds)

    def observe(self, q: Floats, t: float) -> None:
        """Pose errors at ``q``, without moving."""
        for part in self.parts:
            part.observe(q, t)

    @property
    def setpoint_positions(self) -> Floats:
        """Where the frames should have been in the last step, in the order of ``tasks``."""
        return np.concatenate([part.setpoint_positions for part in self.parts])

    def errors(self) -> tuple[Floats, Floats]:
        """Distance [m] and angle [rad] of each task from its setpoint in the last step."""
        linear, angular = zip(*(part.errors() for part in self.parts), strict=True)
        return np.concatenate(linear), np.concatenate(angular)

    def counted_error(self) -> Floats:
        """k x 6: the errors of the last step, zero in rows that do not count."""
        return np.concatenate([part.counted_error() for part in self.parts])


def make_servo(robot: Robot, targets: TargetPairs, *, split: Sequence[str] = (), **options: Any) -> Servo | SplitServo:
    """A `Servo`, or a `SplitServo` where the chain is to be split at links."""
    return SplitServo(robot, split, targets, **options) if split else Servo(robot, targets, **options)


def split_chain(robot: Robot, at: Sequence[str], tasks: Sequence[FrameTask]) -> list[tuple[Bools, list[int]]]:
    """For every part of a chain split at links: which joints are its own, and the numbers of its tasks."""
    masks: list[Bools] = []
    done = np.zeros(robot.dof, dtype=bool)
    for place in at:
        own = robot.joints_moving(place) & ~done
        if not own.any():
            what = f"no joint moves '{place}' that is not in the part before it"
            raise OptionError("split", Problem("", what, "links that move, from the root outwards"))
        masks.append(own)
        done = done | own
    if done.all():
        raise OptionError("split", Problem("", f"no joint lies beyond '{at[-1]}'", "a link with joints beyond it"))
    masks.append(~done)
    part_of = [_part_of(robot, task, masks) for task in tasks]
    for k in range(len(masks)):
        if k not in part_of:
            where = f"up to '{at[k]}'" if k < len(at) else f"beyond '{at[-1]}'"
            what = f"no frame belongs to the part {where}: its joints have nothing to follow"
            raise OptionError("split", Problem("", what, "give it a frame, or split elsewhere"))
    return [(mask, [i for i, part in enumerate(part_of) if part == k]) for k, mask in enumerate(masks)]


def _part_of(robot: Robot, task: FrameTask, masks: Sequence[Bools]) -> int:
    moving = robot.joints_moving(task.link)
    if task.relative_to is not None:
        moving = moving | robot.joints_moving(task.relative_to)
    return int(max((k for k, mask in enumerate(masks) if (moving & mask).any()), default=0))
