"""The open hand is placed, and its fingers close until they touch: exact first touches.   (theory 8.1, 8.2)"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.contact import (
    Gap,
    NearestPlace,
    Overlap,
    PreparedObject,
    advance_to_touch,
    clearance,
    gap_near,
    nearest_place,
)
from pliant.planner.closing_hand import Closing, ClosingGroup, ClosingHand, Touch
from pliant.planner.context import KEEP_OUT, PlanningContext
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.reasons import Failure, Reason

TOLERANCE = 5e-6
"""Clearance that counts as a touch [m]."""
AT_OBJECT = 2e-3
"""What the open hand keeps away from the object [m]; a plan for the apple with 1 mm touched it in the lab."""
CLOSE = 1e-2
"""Links whose quick bound is above this need no better one [m]."""
EXACT = 2.5e-3
"""Where the better bound is below this the gap itself is computed [m]."""


def place_open_hand(context: PlanningContext, hypothesis: Hypothesis) -> Floats | Failure:
    """Joints of arm and open hand at a hypothesis, clear of the object and of the surroundings."""
    hand = context.hand
    preshape = hand.preshape(hypothesis.preshape)
    start = hand.q_open(preshape, hypothesis.posture)
    q_open = hand.at_opening(start, hand.groups(preshape, hypothesis.fingers), hypothesis.opening)
    gap, link = open_hand_gap(context.prepared, hand, q_open, hypothesis.T_object_palm, margin=AT_OBJECT)
    if gap < AT_OBJECT:
        return Failure(Reason.OPEN_HAND_IN_OBJECT, AT_OBJECT - gap, detail=link)
    return place_arm(context, context.task.T_world_object * hypothesis.T_object_palm, q_open)


def place_arm(context: PlanningContext, T_world_palm: pin.SE3, q_open: Floats) -> Floats | Failure:
    """Joints with the arm at a palm pose, clear of the surroundings; a few solutions are tried."""
    hand = context.hand
    seed = hand.with_arm(q_open, context.task.q_start)
    rng = np.random.default_rng(0)
    failure = Failure(Reason.PALM_OUT_OF_REACH, np.inf)
    for attempt in range(3):
        found = context.ik.solve(T_world_palm, seed=seed, starts=20 if attempt == 0 else 4)
        if not found.found:
            return Failure(Reason.PALM_OUT_OF_REACH, found.error_m) if attempt == 0 else failure
        q = hand.with_arm(q_open, found.q)
        hit = context.surroundings.collision(q, margin=KEEP_OUT) or context.arm_beside_object.collision(q)
        if hit is None:
            return q
        failure = Failure(Reason.OPEN_HAND_HITS, 0.0, detail=str(hit))
        if hit.first in {link.name for link in hand.links}:
            break  # another elbow does not move the hand
        seed = hand.with_arm(q_open, context.robot.random_q(rng))
    return failure


def close_around(context: PlanningContext, hypothesis: Hypothesis, q_arm: Floats) -> Closing | Failure:
    """Close the fingers of a hypothesis around the object: enough of them must touch, with pads, and hit nothing."""
    closing = close_hand(
        context.prepared,
        context.hand,
        hypothesis.preshape,
        hypothesis.fingers,
        hypothesis.T_object_palm,
        opening=hypothesis.opening,
        posture=hypothesis.posture,
    )
    touching = closing.touching
    fingers = {finger for touch in touching for finger in touch.group.fingers}
    if not touching or (len(touching) < 2 and len(fingers) < 2):
        return Failure(Reason.TOO_FEW_FINGERS, float(len(touching)))
    for touch in touching:
        link = context.hand.links[touch.link]
        if link.pad is None and not link.may_touch:
            return Failure(Reason.NO_PAD, 0.0, detail=link.name)
    hit = context.surroundings.collision(context.hand.with_arm(closing.q, q_arm), margin=0.0)
    if hit is not None:
        return Failure(Reason.CLOSING_HITS, 0.0, detail=str(hit))
    return closing


def open_hand_gap(
    prepared: PreparedObject,
    hand: ClosingHand,
    q: Floats,
    T_object_palm: pin.SE3,
    *,
    margin: float = 0.0,
    believed: float = np.inf,
) -> tuple[float, str]:
    """Distance between the open hand and the object where it is below ``margin``, else a lower bound of it; the link.

    Negative: they overlap [m].

    Args:
        believed: sample points of a link that are further away than this are believed [m].
    """
    poses = hand.poses(q, T_object_palm)
    everything = tuple(range(len(hand.links)))
    bounds = hand.bounds(prepared, poses, everything)
    inside = hand.sample_distances(prepared, bounds)
    worst = int(np.argmin(inside))
    if inside[worst] < -1e-3:
        return float(inside[worst]), hand.links[worst].name
    best, where = np.inf, worst
    for i in np.argsort(bounds).tolist():
        if bounds[i] > min(best, margin):
            best, where = min((best, where), (float(bounds[i]), i))
            break
        gap = inside[i] if inside[i] > believed else clearance(prepared, hand.links[i].surface, poses[i])
        if gap < best:
            best, where = float(gap), i
        if best < 0.0:
            break
    return float(best), hand.links[where].name


def close_hand(
    prepared: PreparedObject,
    hand: ClosingHand,
    preshape: str,
    fingers: tuple[str, ...],
    T_object_palm: pin.SE3,
    *,
    opening: float = 0.0,
    posture: tuple[float, ...] = (),
    tolerance: float = TOLERANCE,
) -> Closing:
    """Close the chosen fingers, each from its opening until its first touch; the others stay open."""
    chosen = hand.preshape(preshape)
    start = hand.q_open(chosen, posture)
    groups = hand.groups(chosen, fingers)
    q = q_open = hand.at_opening(start, groups, opening)
    touches = []
    for group in groups:
        gap = _GroupGap(prepared, hand, group, start, T_object_palm)
        found = advance_to_touch(
            gap, start=opening, stop=1.0, speed=group.speed, tolerance=tolerance, same_place=gap.same_place
        )
        touch = Touch(group, None, -1) if found is None else Touch(group, found.at, found.nearest)
        touches.append(touch)
        q = hand.with_closing(q, group, start, 1.0 if touch.closed is None else touch.closed)
    return Closing(T_object_palm, start, q_open, q, tuple(touches))


class _GroupGap:
    """Distance of a finger group from the object over its closing parameter; exact where it is small."""

    def __init__(
        self, prepared: PreparedObject, hand: ClosingHand, group: ClosingGroup, start: Floats, T_object_palm: pin.SE3
    ) -> None:
        self.prepared, self.hand, self.group, self.start, self.T = prepared, hand, group, start, T_object_palm
        # what the last call found, and at which parameter
        self.nearest, self.found_at = -1, 0.0
        self.place: Overlap | None = None

    def __call__(self, closed: float) -> Gap:
        poses = self._poses(closed, self.group.links)
        bounds = self.hand.bounds(self.prepared, poses, self.group.links)
        followed, known = self.nearest, self.place if self.found_at == closed else None
        least, self.nearest, self.place, self.found_at = np.inf, -1, None, closed
        for k in np.argsort(bounds).tolist():
            i = self.group.links[k]
            if bounds[k] >= least:
                break
            found = NearestPlace(float(bounds[k]))
            if found.gap < CLOSE:
                pad, place = self.hand.links[i].surface, known if i == followed else None
                found = nearest_place(self.prepared, pad, poses[k], exact=EXACT, known=place)
            if found.gap < least:
                (least, self.place), self.nearest = found, i
        return Gap(least, self.nearest)

    def same_place(self, closed: float) -> float | None:
        """The gap of the link that was nearest, followed from where it was found."""
        if self.place is None:
            return None
        (T,) = self._poses(closed, (self.nearest,))
        moved = self.group.speed * abs(closed - self.found_at)
        found = gap_near(self.prepared, self.hand.links[self.nearest].surface, T, self.place, moved)
        if found is None:
            return None
        self.place, self.found_at = found.place, closed
        return found.gap

    def _poses(self, closed: float, links: tuple[int, ...]) -> list[pin.SE3]:
        return self.hand.poses(self.hand.with_closing(self.start, self.group, self.start, closed), self.T, links)
