"""The stacked velocity Jacobian of any frames of a tree, in any basis, followers folded in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.motion.frame_task import FrameTask, compile_tasks
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
        self.arrays = compile_tasks(robot, tasks)
        self.joints = robot.data.J
        self.frames = live_link_poses(robot)
        self._stack = kernels.stack_jacobian

    def at(self, q: Floats) -> Floats:
        """6k x dof at the joint vector ``q``."""
        self.robot.update(q)
        a = self.arrays
        J = np.empty((6 * len(a.tasks), self.robot.dof))
        self._stack(self.joints, self.frames, a.numbers, a.placements, a.support, a.column, J)
        return J

    def poses(self, q: Floats) -> list[pin.SE3]:
        """Ts_world_frame of the tasks' frames."""
        poses = self.robot.poses([task.link for task in self.arrays.tasks], q)
        placements = (task.T_link_frame or pin.SE3.Identity() for task in self.arrays.tasks)
        return [T_world_link * T_link_frame for T_world_link, T_link_frame in zip(poses, placements, strict=True)]
