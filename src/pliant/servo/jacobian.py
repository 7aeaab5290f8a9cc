"""The stacked velocity Jacobian of any frames of a tree, in any basis, followers folded in."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from pliant.robot import Robot
from pliant.servo.task import FrameTask, compile_tasks

__all__ = ["StackedJacobian", "live_link_poses"]

Array = NDArray[np.float64]


class StackedJacobian:
    """J with V = J qdot, where V stacks the twists (linear first) of k frames: 6k x dof.   (SPEC 5.1)

    For FS020N + SDH2 and its three finger tips this is the block matrix of [B], 18 x 14 before and 18 x 13 after the
    coupled base rotations are folded into one column. A frame given ``relative_to`` a link has the twist relative to
    that link.

    Joint Jacobians and link poses are Pinocchio's; their memory is read in place, so nothing is copied per joint.
    """

    def __init__(self, robot: Robot, tasks: Sequence[FrameTask]) -> None:
        from pliant.servo import kernels

        self.robot = robot
        self.arrays = compile_tasks(robot, tasks)
        self.joints = robot.data.J
        self.frames = live_link_poses(robot)
        self._stack = kernels.stack_jacobian

    def at(self, q: Array) -> Array:
        """6k x dof at the joint vector ``q``."""
        self.robot.update(q)
        a = self.arrays
        J = np.empty((6 * len(a.tasks), self.robot.dof))
        self._stack(self.joints, self.frames, a.numbers, a.placements, a.support, a.column, J)
        return J

    def poses(self, q: Array) -> list[pin.SE3]:
        """Ts_world_frame of the tasks' frames."""
        poses = self.robot.poses([task.link for task in self.arrays.tasks], q)
        placements = (task.T_link_frame or pin.SE3.Identity() for task in self.arrays.tasks)
        return [T_world_link * T_link_frame for T_world_link, T_link_frame in zip(poses, placements, strict=True)]


def live_link_poses(robot: Robot) -> Array:
    """Pinocchio's poses of all frames as one array that changes with ``robot.update``: frames x 12.

    Each row is a rotation column by column, then a translation. Asking Pinocchio for one pose from Python takes as
    long as the whole forward kinematics; reading its memory takes nothing. The layout is checked here, not assumed.
    """
    poses = robot.data.oMf
    count = len(poses)
    address = [poses[i].rotation.__array_interface__["data"][0] for i in range(count)]
    memory = (ctypes.c_double * (12 * count)).from_address(address[0])
    view = np.ctypeslib.as_array(memory).reshape(count, 12)
    robot.update(np.linspace(0.1, 0.9, robot.dof))
    expected = [np.concatenate([pose.rotation.ravel(order="F"), pose.translation]) for pose in poses]
    if not np.array_equal(view, np.array(expected)):
        raise RuntimeError("pinocchio stores poses in a layout that pliant does not know; pin 4.1 is known to work")
    return view
