"""First touch, found by advancing as far as the clearance allows.   (theory 6.1, 8.2)"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.contact.deepest import least_distance
from pliant.contact.detection import find_overlaps
from pliant.contact.surfaces import PadSurface, PreparedObject

NEAR = 1.5e-3
"""Below this the gap is taken as a smooth function of the motion's parameter [m]."""


class Gap(NamedTuple):
    """Distance between moving surfaces and an object [m], negative where they overlap; which of them is nearest."""

    distance: float
    nearest: int = 0


class FirstTouch(NamedTuple):
    """The parameter of a motion at its first touch, and which of the moving surfaces touches."""

    at: float
    nearest: int


class _Sample(NamedTuple):
    """A parameter of the motion and the gap there [m]."""

    at: float
    gap: float


def clearance(prepared: PreparedObject, pad: PadSurface, T_object_pad: pin.SE3) -> float:
    """Distance between the smooth surfaces of pad and object [m]; negative: how deep they overlap.

    Near contact it is exact to the surfaces; far away it is a lower bound, good for advancing.
    """
    surface, other = prepared.surface, pad.surface
    R, t = T_object_pad.rotation, T_object_pad.translation
    bound = np.inf
    if len(surface.points):
        bound = least_distance(surface.points, R, t, other.probe, False) - 0.8 * surface.spacing
    if len(other.points):
        bound = min(bound, least_distance(other.points, R, t, surface.probe, True) - 0.8 * other.spacing)
    margin = 1.5 * max(surface.spacing, other.spacing)
    if bound > margin:
        return bound
    places = find_overlaps(prepared, other, T_object_pad, near=4.0 * margin, seeds=3, only_deepest=True)
    if places:
        return -max(place.depth for place in places)
    return max(bound, 1e-6 * margin)


def find_first_touch(
    prepared: PreparedObject,
    pad: PadSurface,
    T_object_pad: Callable[[float], pin.SE3],
    *,
    start: float,
    stop: float,
    speed: float,
    tolerance: float = 3e-8,
) -> float | None:
    """The first parameter at which the pad touches the object; None if it never does.

    Args:
        T_object_pad: the pad's pose in the object's frame along the motion.
        start, stop, speed, tolerance: as of `advance_to_touch`.
    """
    touch = advance_to_touch(
        lambda at: Gap(clearance(prepared, pad, T_object_pad(at))),
        start=start,
        stop=stop,
        speed=speed,
        tolerance=tolerance,
    )
    return None if touch is None else touch.at


def advance_to_touch(
    gap_at: Callable[[float], Gap], *, start: float, stop: float, speed: float, tolerance: float
) -> FirstTouch | None:
    """The first touch of a motion, by conservative advancement.   (theory 8.2)

    Each step is as long as the gap allows at the largest speed. Near the object the gap is smooth: there a step aims a
    little beyond its zero, which is then closed in on from both sides.

    Args:
        gap_at: the gap at a parameter of the motion.
        start: first parameter.
        stop: last parameter, larger than ``start``.
        speed: no point moves faster than this per unit of the parameter [m].
        tolerance: gap that counts as touching [m].

    Returns:
        None if there is no touch up to ``stop``; ``start`` itself if there is an overlap already.
    """
    at, before = start, _Sample(start, 0.0)
    gap, nearest = gap_at(at)
    if gap <= tolerance:
        return FirstTouch(at, nearest)
    for _ in range(400):
        step = 0.98 * gap / speed
        rate = (before.gap - gap) / (at - before.at) if at > before.at else 0.0
        if gap < NEAR and rate > 0.0:
            # aim a little beyond the zero, to have it between two values; never far beyond what is surely free
            step = max(step, min(1.05 * gap / rate, 4.0 * step))
        before = _Sample(at, gap)
        at = at + step
        if at >= stop:
            at = stop
        gap, nearest = gap_at(at)
        if abs(gap) <= tolerance:
            return FirstTouch(at, nearest)
        if gap < 0.0:
            return _between(gap_at, before, _Sample(at, gap), speed, tolerance)
        if at == stop:
            return None
    return FirstTouch(at, nearest)


def _between(gap_at: Callable[[float], Gap], low: _Sample, high: _Sample, speed: float, tolerance: float) -> FirstTouch:
    """The zero between a clear and an overlapping pose (Illinois)."""
    middle, nearest = high.at, -1
    for _ in range(60):
        middle = low.at + low.gap / (low.gap - high.gap) * (high.at - low.at)
        gap, nearest = gap_at(middle)
        if abs(gap) <= tolerance or (high.at - low.at) * speed <= tolerance:
            break
        if gap > 0.0:
            low, high = _Sample(middle, gap), _Sample(high.at, 0.5 * high.gap)
        else:
            low, high = _Sample(low.at, 0.5 * low.gap), _Sample(middle, gap)
    return FirstTouch(middle, nearest)
