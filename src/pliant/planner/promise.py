"""What a well-aimed hypothesis promises, with exact first touches, before anything is pressed.   (theory 8.9)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.contact import find_overlaps
from pliant.planner.closed_hand import closing_speeds, pressed_joints
from pliant.planner.closing import close_around, place_open_hand
from pliant.planner.closing_hand import Closing
from pliant.planner.context import PlanningContext
from pliant.planner.finger_reach import Touching
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.reasons import Failure, Reason
from pliant.planner.stability import beside_pad
from pliant.planner.touch_forces import promised_forces, promised_move

PROBED = 2e-4
"""Fingers are pushed in at least so far to see where they touch [m]; further into what is soft."""


@dataclass(frozen=True, eq=False)
class Promise:
    """A hypothesis that may hold.

    Args:
        hypothesis: the hypothesis.
        q_open: joints with the arm in place and the hand open.
        closing: the hand closed to its first touches.
        force: the largest of the smallest sufficient normal forces, at the grasp or at the end of the move [N].
        forces: the same for every closing group that touches, at the grasp [N].
    """

    hypothesis: Hypothesis
    q_open: Floats
    closing: Closing
    force: float
    forces: Floats


def promise(context: PlanningContext, hypothesis: Hypothesis) -> Promise | Failure:
    """What a hypothesis promises, or why it is not worth pressing."""
    q_open = place_open_hand(context, hypothesis)
    if isinstance(q_open, Failure):
        return q_open
    closing = close_around(context, hypothesis, q_open)
    if isinstance(closing, Failure):
        return closing
    T_world_object = context.task.T_world_object
    T_world_palm = T_world_object * hypothesis.T_object_palm
    speeds = closing_speeds(context.presser, closing)
    probed = max(PROBED, context.presser.first_depth(len(speeds)))
    q = pressed_joints(context.hand, closing, np.full(len(speeds), probed), speeds)
    touching = _touching_at(context, q, T_world_palm)
    if isinstance(touching, Failure):
        return touching
    poses = context.hand.poses(q, T_world_palm)
    by_name = {link.name: T for link, T in zip(context.hand.links, poses, strict=True)}
    for link, point, normal in zip(*touching[:3], strict=True):
        # where a flat pad touches first says little about where it presses: that is judged when it does
        if (failure := beside_pad(link, by_name[link.name], point, normal, around=None)) is not None:
            return failure
    forces = promised_forces(context, q, T_world_palm, T_world_object, touching, explain=True)
    if isinstance(forces, Failure):
        return forces
    largest = float(forces.max())
    if context.task.goal.moves:
        moved = promised_move(context, q, T_world_palm, touching)
        if isinstance(moved, Failure):
            return moved
        largest = max(largest, moved)
    groups = [
        float(sum(f for f, link in zip(forces, touching.links, strict=True) if link.finger in touch.group.fingers))
        for touch in closing.touching
    ]
    return Promise(hypothesis, q_open, closing, largest, np.array(groups))


def _touching_at(context: PlanningContext, q: Floats, T_world_palm: pin.SE3) -> Touching | Failure:
    """Where the links reach into the object with these joints."""
    hand, T = context.hand, context.task.T_world_object
    poses = hand.poses(q, T_world_palm)
    found = [
        (i, place)
        for i in context.presser.near(poses, T)
        for place in find_overlaps(context.prepared, hand.links[i].surface.surface, T.actInv(poses[i]))
    ]
    if len(found) < 2:
        return Failure(Reason.TOO_FEW_REGIONS, float(len(found)))
    patch_radius, count = context.presser.patch_radius, len(found)
    sharp = [hand.sharpness(context.prepared, place.origin, place.axes[2]) for _, place in found]
    return Touching(
        tuple(hand.links[i] for i, _ in found),
        np.array([T.act(place.origin) for _, place in found]),
        np.array([-T.rotation @ place.axes[2] for _, place in found]),
        np.array([patch_radius(i, sharpness, count) for (i, _), sharpness in zip(found, sharp, strict=True)]),
    )
