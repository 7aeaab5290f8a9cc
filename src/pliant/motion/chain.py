"""The chain of joints below one frame as plain arrays, for the compiled inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Bools, Floats, Ints
from pliant.robot import Robot


@dataclass(frozen=True, eq=False)
class JointChain:
    """Joints from the root to a frame. c joints (followers included), n coordinates that move them.

    Attributes:
        placements: (c+1) x 12: each joint in the one before it at zero, then the frame in the last; rotation row by
            row.
        axes: c x 3, unit, in the joint's own frame.
        slides: c; whether the joint is prismatic.
        column: c; which of the n coordinates moves the joint.
        multiplier, offset: c; joint value = multiplier * coordinate + offset.
        coordinates: n; the coordinates' positions in ``q``.
        lower, upper: n.
    """

    placements: Floats
    axes: Floats
    slides: Bools
    column: Ints
    multiplier: Floats
    offset: Floats
    coordinates: Ints
    lower: Floats
    upper: Floats


def chain_to(robot: Robot, link: str, T_link_frame: pin.SE3 | None = None) -> JointChain:
    """Constants of the chain, read off the Pinocchio model."""
    frame = robot.model.frames[robot.frame_id(link)]
    joint_ids = [i for i in robot.model.supports[frame.parentJoint] if i > 0]
    joints = [robot.urdf.joint(robot.model.names[i]) for i in joint_ids]
    placements = [robot.model.jointPlacements[i] for i in joint_ids]
    end = frame.placement * T_link_frame if T_link_frame is not None else frame.placement
    rows = np.array([i - 1 for i in joint_ids], dtype=np.int64)
    moved_by = np.argmax(robot.fold[rows] != 0.0, axis=1) if len(rows) else rows
    coordinates, column = np.unique(moved_by, return_inverse=True)
    return JointChain(
        placements=np.array([np.concatenate([T.rotation.ravel(), T.translation]) for T in (*placements, end)]),
        axes=np.array([joint.axis for joint in joints], dtype=np.float64).reshape(-1, 3),
        slides=np.array([joint.kind == "prismatic" for joint in joints], dtype=np.bool_),
        column=column.astype(np.int64),
        multiplier=robot.fold[rows, moved_by],
        offset=robot.fold_offset[rows],
        coordinates=coordinates.astype(np.int64),
        lower=robot.lower[coordinates],
        upper=robot.upper[coordinates],
    )
