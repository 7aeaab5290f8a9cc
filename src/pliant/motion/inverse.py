"""Pose inverse kinematics: deterministic multi-start, limits respected, honest failure with the closest pose."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem
from pliant.motion.chain import chain_to, empty_goal
from pliant.motion.frame_task import FrameTask, task_rows
from pliant.motion.poses import check_pose
from pliant.robot import Robot, live_link_poses


class IkStatus(Enum):
    """How a search for joint values ended."""

    FOUND = "found"
    NOT_FOUND = "not found"


@dataclass(frozen=True)
class IkAnswer:
    """Joint values for a pose, or the closest that were found.

    Attributes:
        status: whether every error is within the tolerance.
        q: the answer; if there is none, the closest, within the limits all the same.
        error_m, error_rad: distance and angle from the wanted pose at ``q``, by Pinocchio's forward kinematics.
        starts, iterations: how much searching it took.
    """

    status: IkStatus
    q: Floats
    error_m: float
    error_rad: float
    starts: int
    iterations: int

    @property
    def found(self) -> bool:
        """Whether the pose was reached within the tolerance."""
        return self.status is IkStatus.FOUND


class InverseKinematics:
    """Joint values that bring a frame of a robot to a pose.   (theory 5.7)

    Levenberg-Marquardt from the seed, then from starts that fill the joint ranges evenly, always the same ones. Only
    the joints that carry the frame move; the others keep their seed values. Every answer is verified by Pinocchio and
    against the joint limits before it is called one.

    Args:
        robot: the model.
        frame: a link's name, or a task that says more: a frame in the link, which rows count.
    """

    def __init__(self, robot: Robot, frame: str | FrameTask) -> None:
        from pliant.motion.chain_kernels import polish, search
        from pliant.motion.kernels import frame_error

        self.robot = robot
        self.task = FrameTask(frame) if isinstance(frame, str) else frame
        if self.task.relative_to is not None or self.task.basis != "frame":
            raise OptionError("ik", Problem("frame", "a moving or foreign basis", "a task in the frame's own axes"))
        self.chain = chain_to(robot, self.task.link, self.task.T_link_frame)
        if not len(self.chain.positions):
            raise OptionError("ik", Problem("frame", f"no joint moves link '{self.task.link}'", "a link that moves"))
        self._search: Any = search
        self._polish: Any = polish
        self._frame_error: Any = frame_error
        self._links = live_link_poses(robot)
        self._row, self._goal = task_rows(robot, [self.task]), empty_goal(self.task)
        self._goal_rotation, self._goal_translation = self._goal["rotation"][0], self._goal["translation"][0]
        self._middle = robot.mid_range

    def solve(
        self,
        T_world_frame: pin.SE3,
        *,
        seed: Floats | None = None,
        tolerance: float = 1e-5,
        starts: int = 400,
        iterations: int = 60,
        time_limit: float | None = None,
    ) -> IkAnswer:
        """Joint values for a pose.

        Args:
            seed: the first start, and the values of joints that do not carry the frame; mid-range by default.
            tolerance: of position [m] and rotation [rad].
            starts: at most so many, unless a time is given.
            iterations: of one start.
            time_limit: search on until this much CPU time is used [s]; makes failures (only) depend on the machine.
        """
        self._aim_at(T_world_frame)
        if not (math.isfinite(tolerance) and tolerance > 0.0) or starts < 1 or iterations < 1:
            what = f"tolerance {tolerance}, starts {starts}, iterations {iterations}"
            raise OptionError("ik", Problem("", what, "all above zero"))
        q = self._middle.copy() if seed is None else np.clip(self.robot.q(seed), self.robot.lower, self.robot.upper)
        joints, coordinates, positions = self.chain
        x = q[positions]
        best, cost = x.copy(), np.inf
        done, used, found = 0, 0, -1
        began = time.process_time() if time_limit is not None else 0.0
        while found < 0:
            batch = min(50, starts) if time_limit is not None else starts
            found, more, cost = self._search(
                joints, coordinates, self._goal, 0.99 * tolerance, done, batch, iterations, 0.1, x, best, cost
            )
            used += more
            done = done + batch if found < 0 else found + 1
            if time_limit is None or time.process_time() - began > time_limit:
                break
        if found < 0:
            self._polish(joints, coordinates, self._goal, best, 500)
        q[positions] = best
        error_m, error_rad = self._pose_error(q)  # by Pinocchio, independent of the search
        good = error_m <= tolerance and error_rad <= tolerance and self.robot.within_limits(q)
        return IkAnswer(IkStatus.FOUND if good else IkStatus.NOT_FOUND, q, error_m, error_rad, done, used)

    def random_pose(self, rng: np.random.Generator) -> pin.SE3:
        """A reachable pose: the joints that carry the frame uniform within their limits (-pi .. pi without)."""
        q, lower, upper = self._middle.copy(), self.chain.coordinates["lower"], self.chain.coordinates["upper"]
        lower = np.where(np.isfinite(lower), lower, -np.pi)
        upper = np.where(np.isfinite(upper), upper, np.pi)
        q[self.chain.positions] = lower + (upper - lower) * rng.random(len(lower))
        T = self.robot.pose(self.task.link, q)
        return T if self.task.T_link_frame is None else T * self.task.T_link_frame

    def pose_error(self, q: Floats, T_wanted: pin.SE3) -> tuple[float, float]:
        """Distance [m] and angle [rad] from a pose at ``q`` by Pinocchio, rows that do not count left out."""
        self._aim_at(T_wanted)
        return self._pose_error(q)

    def _aim_at(self, T_world_frame: pin.SE3) -> None:
        check_pose(T_world_frame, where="target")
        self._goal_rotation[:], self._goal_translation[:] = T_world_frame.rotation, T_world_frame.translation

    def _pose_error(self, q: Floats) -> tuple[float, float]:
        robot = self.robot
        pin.framesForwardKinematics(robot.model, robot.data, robot.full(q))
        linear, angular = self._frame_error(self._links, self._row, self._goal)
        return linear, angular


def solve_pose(robot: Robot, frame: str | FrameTask, T_world_frame: pin.SE3, **options: Any) -> IkAnswer:
    """One pose, one answer; see `InverseKinematics` for many poses of the same frame and for the options."""
    return InverseKinematics(robot, frame).solve(T_world_frame, **options)
