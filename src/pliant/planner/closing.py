"""Closing the fingers until they touch: exact first touches by advancing as far as the distance allows. (theory 8.2)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.contact import PreparedObject, clearance
from pliant.planner.closing_hand import ClosingGroup, ClosingHand

TOLERANCE = 5e-6
"""Clearance that counts as a touch [m]."""
NEAR = 1.5e-3
"""Below this the gap is taken as a smooth function of the closing [m]."""


@dataclass(frozen=True, eq=False)
class Touch:
    """Where a group of fingers first touches.

    Args:
        group: the fingers.
        closed: closing parameter at the first touch, 0 open .. 1 closed; None if they never touch.
        link: position of the link that touches first in the hand's ``links``; -1 if none.
    """

    group: ClosingGroup
    closed: float | None
    link: int


@dataclass(frozen=True, eq=False)
class Closing:
    """The hand around the object, every finger at its first touch (or fully closed where it never touches).

    Args:
        q_zero: joints at closing parameter zero.
        q_open: joints as the hand arrives.
        q: joints at the touches.
        touches: one per closing group.
    """

    q_zero: Floats
    q_open: Floats
    q: Floats
    touches: tuple[Touch, ...]

    @property
    def touching(self) -> tuple[Touch, ...]:
        """Groups that touch."""
        return tuple(touch for touch in self.touches if touch.closed is not None)


def open_hand_gap(
    prepared: PreparedObject, hand: ClosingHand, q: Floats, T_object_palm: pin.SE3, *, margin: float = 0.0
) -> tuple[float, str]:
    """Distance between the open hand and the object where it is below ``margin``, else a lower bound of it; the link.

    Negative: they overlap [m].
    """
    poses = hand.poses(q, T_object_palm)
    everything = tuple(range(len(hand.links)))
    bounds = hand.bounds(prepared, poses, everything)
    inside = hand.deepest_point(prepared, poses, everything)
    worst = int(np.argmin(inside))
    if inside[worst] < -1e-3:
        return float(inside[worst]), hand.links[worst].name
    best, where = np.inf, worst
    for i in np.argsort(bounds).tolist():
        if bounds[i] > min(best, margin):
            best, where = min((best, where), (float(bounds[i]), i))
            break
        gap = clearance(prepared, hand.links[i].surface, poses[i])
        if gap < best:
            best, where = gap, i
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
    tolerance: float = TOLERANCE,
) -> Closing:
    """Close the chosen fingers, each from its opening until its first touch; the others stay open."""
    way = hand.preshape(preshape)
    start = hand.q_open(way)
    groups = hand.groups(way, fingers)
    q = start
    for group in groups:
        q = hand.with_closing(q, group, start, opening)
    q_open = q
    touches = []
    for group in groups:
        touch = _first_touch(prepared, hand, group, start, T_object_palm, opening, tolerance)
        touches.append(touch)
        q = hand.with_closing(q, group, start, 1.0 if touch.closed is None else touch.closed)
    return Closing(start, q_open, q, tuple(touches))


class _Gap:
    """Distance of a finger group from the object over its closing parameter; exact where it is small."""

    def __init__(
        self, prepared: PreparedObject, hand: ClosingHand, group: ClosingGroup, start: Floats, T_object_palm: pin.SE3
    ) -> None:
        self.prepared, self.hand, self.group, self.start, self.T = prepared, hand, group, start, T_object_palm
        self.exact = max(hand.links[i].surface.surface.spacing for i in group.links)

    def __call__(self, closed: float) -> tuple[float, int]:
        q = self.hand.with_closing(self.start, self.group, self.start, closed)
        poses = self.hand.poses(q, self.T)
        bounds = self.hand.bounds(self.prepared, poses, self.group.links)
        least, which = np.inf, -1
        for k in np.argsort(bounds).tolist():
            i = self.group.links[k]
            if bounds[k] >= least:
                break
            gap = float(bounds[k])
            if gap < self.exact:
                gap = clearance(self.prepared, self.hand.links[i].surface, poses[i])
            if gap < least:
                least, which = gap, i
        return least, which


def _first_touch(
    prepared: PreparedObject,
    hand: ClosingHand,
    group: ClosingGroup,
    start: Floats,
    T_object_palm: pin.SE3,
    opening: float,
    tolerance: float,
) -> Touch:
    gap_at = _Gap(prepared, hand, group, start, T_object_palm)
    at, before = opening, (opening, 0.0)
    gap, link = gap_at(at)
    if gap <= tolerance:
        return Touch(group, at, link)
    for _ in range(400):
        step = 0.98 * gap / group.speed
        rate = (before[1] - gap) / (at - before[0]) if at > before[0] else 0.0
        if gap < NEAR and rate > 0.0:
            # aim a little beyond the zero, to have it between two values; never far beyond what is surely free
            step = max(step, min(1.05 * gap / rate, 4.0 * step))
        before = (at, gap)
        at = at + step
        if at >= 1.0:
            at = 1.0
        gap, link = gap_at(at)
        if abs(gap) <= tolerance:
            return Touch(group, at, link)
        if gap < 0.0:
            return Touch(group, *_between(gap_at, before, (at, gap), tolerance))
        if at == 1.0:
            return Touch(group, None, -1)
    return Touch(group, at, link)


def _between(gap_at: _Gap, low: tuple[float, float], high: tuple[float, float], tolerance: float) -> tuple[float, int]:
    """The zero between a clear and an overlapping pose (Illinois)."""
    middle, link = high[0], -1
    for _ in range(60):
        middle = low[0] + low[1] / (low[1] - high[1]) * (high[0] - low[0])
        gap, link = gap_at(middle)
        if abs(gap) <= tolerance or (high[0] - low[0]) * gap_at.group.speed <= tolerance:
            break
        if gap > 0.0:
            low, high = (middle, gap), (high[0], 0.5 * high[1])
        else:
            low, high = (low[0], 0.5 * low[1]), (middle, gap)
    return middle, link
