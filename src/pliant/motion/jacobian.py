"""The stacked velocity Jacobian of any frames of a tree, in any basis, followers folded in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from scipy.linalg.lapack import dposv

from pliant.arrays import Floats
from pliant.motion.frame_task import FrameTask, in_order, support, task_rows
from pliant.robot import Robot, live_link_poses


class StackedJacobian:
    """J with V = J qdot, where V stacks the twists (linear first) of k frames: 6k x dof.   (theory 5.1)

    For FS020N + SDH2 and its three finger tips this is the block matrix of [B], 18 x 14 before and 18 x 13 after the
    coupled base rotations are folded into one column. A frame given ``relative_to`` a link has the twist relative to
    that link.

    Joint Jacobians and link poses are Pinocchio's; their memory is read in place, so nothing is copied per joint.
    """

    def __init__(self, robot: Robot, tasks: Sequence[FrameTask]) -> None:
        from pliant.motion import kernels

        self.robot = robot
        self.tasks = in_order(tasks)
        self.rows, self.support = task_rows(robot, self.tasks), support(robot, self.tasks)
        self.column = np.argmax(robot.fold != 0.0, axis=1).astype(np.int64)
        self.joints = robot.data.J
        self.links = live_link_poses(robot)
        self._stack = kernels.stack_jacobian

    def at(self, q: Floats) -> Floats:
        """6k x dof at the joint vector ``q``."""
        self.robot.update(q)
        J = np.empty((6 * len(self.tasks), self.robot.dof))
        self._stack(self.joints, self.links, self.rows, self.support, self.column, J)
        return J

    def poses(self, q: Floats) -> list[pin.SE3]:
        """Ts_world_frame of the tasks' frames."""
        poses = self.robot.poses([task.link for task in self.tasks], q)
        placements = (task.T_link_frame or pin.SE3.Identity() for task in self.tasks)
        return [T_world_link * T_link_frame for T_world_link, T_link_frame in zip(poses, placements, strict=True)]


def damped_least_squares(J: Floats, error: Floats, damping: float) -> Floats:
    """The joint step dx that minimises |J dx - error|^2 + damping^2 |dx|^2: J^T (J J^T + damping^2)^-1 error.

    Args:
        J: m x n.
        error: m.
        damping: in the units of J; singular values below it are given up for the sake of small steps.
    """
    normal = J @ J.T
    normal.flat[:: len(normal) + 1] += damping**2
    # LAPACK itself: the checks around it cost more than the work on matrices this small
    _, weights, info = dposv(normal, error)
    return np.asarray(J.T @ (weights if info == 0 else np.linalg.solve(normal, error)))
