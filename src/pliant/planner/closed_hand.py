"""The fingers of a closed hand press on from their first touches, each by its own depth.   (theory 8.2, 8.3)"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.contact import clearance
from pliant.planner.closing_hand import Closing, ClosingHand, Touch
from pliant.planner.hand_links import HandLink
from pliant.planner.pressing import DEEPEST, HandPose, Held, Presser
from pliant.planner.reasons import Failure, Reason

LARGEST_SHIFT = 0.02
"""A grasp that moves the object further than this while it closes is not the grasp that was asked for [m]."""


def press_hand(
    presser: Presser,
    closing: Closing,
    placed: HandPose,
    T_world_object: pin.SE3,
    *,
    forces: Floats | None = None,
    bound: float = np.inf,
) -> Held | Failure:
    """Press the fingers of a closed hand further, each as deep as the smallest sufficient forces need.

    Args:
        placed: joints with the arm in place, and the palm.
        T_world_object: where the object stands before it is touched.
        forces: what every group that touches is expected to need [N].
        bound: grasps that need more force are of no use [N].
    """
    hand, touches = presser.hand, closing.touching
    speeds = closing_speeds(presser, closing)
    most = np.array([_room(hand, closing, touch) for touch in touches]) * speeds

    def pose(depths: Floats) -> HandPose:
        return HandPose(hand.with_arm(pressed_joints(hand, closing, depths, speeds), placed.q), placed.T_world_palm)

    def owner(link: HandLink) -> int:
        return next((k for k, touch in enumerate(touches) if link.finger in touch.group.fingers), -1)

    first = np.full(len(touches), presser.first_depth(len(touches)))
    if forces is not None and forces.min() > 0.0:
        first = np.array([presser.first_depth(len(touches), float(force)) for force in forces])
    deepest = np.minimum(most, DEEPEST * presser.prepared.surface.size)
    held = presser.hold(pose, np.minimum(first, most), deepest, T_world_object, owner, bound=bound)
    if isinstance(held, Held):
        moved = float(np.linalg.norm(held.state.motion[:3]))
        if moved > LARGEST_SHIFT:
            return Failure(Reason.PUSHED_AWAY, moved, "m", "the object would move while the fingers close")
    return held


def closing_speeds(presser: Presser, closing: Closing) -> Floats:
    """How fast the gap of every group that touches closes at its touch, per unit of closing [m]."""
    return np.array([_normal_speed(presser, closing, touch) for touch in closing.touching])


def pressed_joints(hand: ClosingHand, closing: Closing, depths: Floats, speeds: Floats) -> Floats:
    """Joints with every group that touches pressed in by its depth [m]."""
    q = closing.q
    for touch, depth, speed in zip(closing.touching, depths, speeds, strict=True):
        assert touch.closed is not None
        q = hand.with_closing(q, touch.group, closing.q_zero, touch.closed + float(depth / speed))
    return q


def _normal_speed(presser: Presser, closing: Closing, touch: Touch) -> float:
    """How fast a group's gap closes at its touch, per unit of closing [m]."""
    hand = presser.hand
    assert touch.closed is not None
    step = 3e-4 / touch.group.speed
    q = hand.with_closing(closing.q, touch.group, closing.q_zero, touch.closed - step)
    T = hand.poses(q, closing.T_object_palm)[touch.link]
    gap = clearance(presser.prepared, hand.links[touch.link].surface, T)
    return float(np.clip(gap / step, 0.02 * touch.group.speed, touch.group.speed))


def _room(hand: ClosingHand, closing: Closing, touch: Touch) -> float:
    """How much further a group can close before its first joint reaches a limit; at most half of its travel."""
    group, robot = touch.group, hand.robot
    q = closing.q[group.joints]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(group.travel > 0, robot.upper[group.joints] - q, q - robot.lower[group.joints])
        share = np.where(group.travel != 0.0, room / np.abs(group.travel), np.inf)
    return float(np.clip(share.min(), 1e-6, 0.5))
