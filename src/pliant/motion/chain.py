"""The chain of joints below one frame as rows of numbers, for the compiled inverse kinematics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Ints, Records
from pliant.motion.frame_task import FrameTask
from pliant.robot import Robot

JOINT = np.dtype(
    [
        ("rotation", "f8", (3, 3)),
        ("translation", "f8", (3,)),
        ("axis", "f8", (3,)),
        ("multiplier", "f8"),
        ("offset", "f8"),
        ("column", "i8"),
        ("slides", "i8"),
    ]
)
"""A joint of a chain: its pose at zero in the joint before it, its axis (unit, in its own frame), its value, which is
multiplier * coordinate + offset, the column of that coordinate, and whether it is prismatic."""

COORDINATE = np.dtype([("lower", "f8"), ("upper", "f8")])

GOAL = np.dtype(
    [
        ("rotation", "f8", (3, 3)),
        ("translation", "f8", (3,)),
        ("weights", "f8", (6,)),
        ("axis", "i8"),
        ("own_axes", "i8"),
    ]
)
"""What a frame is to reach: a pose in the world; weights W of the six rows of the error, zero where a row does not
count; the axis that shall point as in the pose, the turn about it free (-1: the whole rotation counts); and whether the
weights are meant in the frame's own axes, not the world's."""


class JointChain(NamedTuple):
    """Joints from the root to a frame. c joints (followers included), n coordinates that move them.

    Attributes:
        joints: c + 1 rows of `JOINT`; of the last, which is the frame, only the pose counts.
        coordinates: n rows of `COORDINATE`.
        positions: n; where the coordinates are in ``q``.
    """

    joints: Records
    coordinates: Records
    positions: Ints


def chain_to(robot: Robot, link: str, T_link_frame: pin.SE3 | None = None) -> JointChain:
    """Constants of the chain, read off the Pinocchio model."""
    frame = robot.model.frames[robot.frame_id(link)]
    joint_ids = [i for i in robot.model.supports[frame.parentJoint] if i > 0]
    rows = np.array([i - 1 for i in joint_ids], dtype=np.int64)
    moved_by = np.argmax(robot.fold[rows] != 0.0, axis=1) if len(rows) else rows
    positions, column = np.unique(moved_by, return_inverse=True)
    joints = np.zeros(len(joint_ids) + 1, JOINT)
    for row, joint_id in zip(joints, joint_ids, strict=False):
        joint, T = robot.urdf.joint(robot.model.names[joint_id]), robot.model.jointPlacements[joint_id]
        row["rotation"], row["translation"], row["axis"] = T.rotation, T.translation, joint.axis
        row["slides"] = joint.kind == "prismatic"
    joints["multiplier"][:-1], joints["offset"][:-1] = robot.fold[rows, moved_by], robot.fold_offset[rows]
    joints["column"][:-1] = column
    end = frame.placement * T_link_frame if T_link_frame is not None else frame.placement
    joints["rotation"][-1], joints["translation"][-1] = end.rotation, end.translation
    coordinates = np.zeros(len(positions), COORDINATE)
    coordinates["lower"], coordinates["upper"] = robot.lower[positions], robot.upper[positions]
    return JointChain(joints, coordinates, positions.astype(np.int64))


def empty_goal(task: FrameTask) -> Records:
    """One row of `GOAL` for a task, its pose still to be filled in."""
    goal = np.zeros(1, GOAL)
    weights = task.row_weights() ** 2
    goal["weights"], goal["axis"] = weights, task.pointing_axis
    goal["own_axes"] = bool((weights != weights[[0, 0, 0, 3, 3, 3]]).any())
    return goal
