"""Hand-arm approach: one servo takes arm and fingers to the pre-grasp together; the sequential way beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pliant.arrays import Floats
from pliant.collision import Clearance
from pliant.errors import OptionError, Problem, unknown_name
from pliant.motion.drive import Motion, drive_to
from pliant.motion.frame_task import FrameTask
from pliant.motion.joint_path import time_path
from pliant.motion.limits import JointLimits
from pliant.robot import Assembly, tip_frame

GAIN = 60.0
"""How much of what is left to go the servo covers in a second, where speed limits no longer count [1/s]."""

JOINTS_WEIGHT = 0.1
"""How much the joints' own way to the end counts beside the tips' straight lines [m/rad]: about a finger's lever."""


def drive_hand_and_arm(
    assembly: Assembly,
    q_start: Floats,
    q_end: Floats,
    *,
    limits: JointLimits,
    fingers: Sequence[str] | None = None,
    tip_targets: Literal["position", "pose"] = "position",
    clearance: Clearance | None = None,
    **options: Any,
) -> Motion:
    """Finger tips straight to where they are at ``q_end``, arm and fingers moving together.   (theory 5.6; [B])

    The joints are drawn to ``q_end`` as well: the motion ends in these joint values and not in others with the tips at
    the same places, and where straight lines of the tips would take long detours in the joints, they bend. A collision,
    or a stall, ends it early and is reported.

    Args:
        fingers: whose tips are steered; those of the whole hand by default.
        tip_targets: three rows for every tip (position), or six (X, Y, Z, alpha, beta, gamma of [B]).
        clearance: what must not be touched; nothing by default.
        options: of `drive_to`.
    """
    if assembly.hand is None or assembly.arm is None:
        missing = "hand" if assembly.hand is None else "arm"
        raise OptionError("approach", Problem("assembly", f"has no {missing}", "an arm with a hand"))
    known = [finger.name for finger in assembly.hand.fingers]
    for name in fingers or ():
        if name not in known:
            raise OptionError("approach", unknown_name("finger", name, known))
    tips = [tip_frame(name) for name in fingers or known]
    places = assembly.robot.poses(tips, q_end)
    goals = [(FrameTask(tip, rows=tip_targets, basis="world"), T) for tip, T in zip(tips, places, strict=True)]
    options = {"gain": GAIN, "posture_weight": JOINTS_WEIGHT, **options}
    return drive_to(assembly.robot, goals, q_start, limits=limits, posture=q_end, clearance=clearance, **options)


def arm_then_fingers(assembly: Assembly, corners: Floats, limits: JointLimits) -> tuple[Floats, Floats]:
    """Times and joints of the sequential way: the arm along ``corners`` with fixed fingers, then the fingers to the
    last of them, straight in joint space and as fast as the joints allow.
    """
    hand = assembly.hand_joints
    arm_first = np.vstack([corners, corners[-1]])
    arm_first[:-1, hand] = corners[0, hand]
    return time_path(arm_first, limits)
