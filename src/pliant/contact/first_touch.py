"""First touch, found by advancing as far as the clearance allows.   (theory 6.1, 8.2)"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.contact.deepest import NOWHERE, Overlap, least_distance, search_near
from pliant.contact.detection import find_overlaps
from pliant.contact.gap import SurfacePair
from pliant.contact.surfaces import PadSurface, PreparedObject

NEAR = 1.5e-3
"""Below this the gap is taken as a smooth function of the motion's parameter [m]."""
FOLLOWED = 4e-3
"""Below this the gap at one place is followed to its zero [m]."""


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


class NearestPlace(NamedTuple):
    """How far pad and object are apart [m], negative where they overlap, and where; None: the gap is a lower bound."""

    gap: float
    place: Overlap | None = None


def clearance(prepared: PreparedObject, pad: PadSurface, T_object_pad: pin.SE3, *, exact: float | None = None) -> float:
    """Distance between the smooth surfaces of pad and object [m]; negative: how deep they overlap.

    Near contact it is exact to the surfaces; far away it is a lower bound, good for advancing.

    Args:
        exact: where the lower bound is above this it will do [m]; one and a half times the spacing of the surfaces'
            points if left out.
    """
    return nearest_place(prepared, pad, T_object_pad, exact=exact).gap


def nearest_place(
    prepared: PreparedObject,
    pad: PadSurface,
    T_object_pad: pin.SE3,
    *,
    exact: float | None = None,
    known: Overlap | None = None,
) -> NearestPlace:
    """``clearance`` with the place that it was found at; ``known`` is a place at this pose that ``gap_near`` found."""
    surface, other = prepared.surface, pad.surface
    R, t = T_object_pad.rotation, T_object_pad.translation
    spacing = max(surface.spacing, other.spacing)
    exact = 1.5 * spacing if exact is None else exact
    # no place of a surface is much further than its spacing from one of its points: each bound holds by itself
    bound, least = -np.inf, np.inf
    if len(other.points):
        least = least_distance(other.points, R, t, surface.probe, True)
        bound = least - 0.8 * other.spacing
    if len(surface.points) and bound <= exact:
        found = least_distance(surface.points, R, t, other.probe, False)
        bound, least = max(bound, found - 0.8 * surface.spacing), min(least, found)
    if bound > exact:
        return NearestPlace(bound)
    # what is nearest is no further away than the nearest point
    near = 2.0 * max(least, 0.0) + 0.25 * spacing
    places: list[Overlap] = []
    for seeds in (3, 16):
        # at an edge or a corner no surfaces may face each other around the nearest points: then look at more of them
        places = places or find_overlaps(
            prepared, other, T_object_pad, near=near, seeds=seeds, only_deepest=True, known=known
        )
    return NearestPlace(-places[0].depth, places[0]) if places else NearestPlace(max(bound, 1e-6 * spacing))


def gap_near(
    prepared: PreparedObject, pad: PadSurface, T_object_pad: pin.SE3, place: Overlap, moved: float
) -> NearestPlace | None:
    """The gap at the place that has become of a known one; quick, but blind to all others.

    Args:
        place: of this pad, found before.
        moved: how far the pad has moved since, at most [m].

    Returns:
        None if no surfaces face each other there any more.
    """
    spacing = max(prepared.surface.spacing, pad.surface.spacing)
    pair = SurfacePair(prepared.surface.arrays, pad.surface.arrays, T_object_pad.rotation, T_object_pad.translation)
    radius = min(moved, spacing) + 0.02 * spacing
    found = search_near(pair, place.origin, place.axes[2], radius, 2e-3 * spacing, NOWHERE)
    return NearestPlace(-found.depth, found) if np.isfinite(found.depth) else None


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
    gap_at: Callable[[float], Gap],
    *,
    start: float,
    stop: float,
    speed: float,
    tolerance: float,
    same_place: Callable[[float], float | None] | None = None,
) -> FirstTouch | None:
    """The first touch of a motion, by conservative advancement.   (theory 8.2)

    Each step is as long as the gap allows at the largest speed. Near the object the gap is smooth: there a step aims at
    its zero, which is then closed in on from both sides.

    Args:
        gap_at: the gap at a parameter of the motion.
        start: first parameter.
        stop: last parameter, larger than ``start``.
        speed: no point moves faster than this per unit of the parameter [m].
        tolerance: gap that counts as touching [m].
        same_place: a quicker gap that only knows the place ``gap_at`` found last, to aim with; None where it is lost.

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
        before = _Sample(at, gap)
        # an aimed step never goes far beyond what is surely free
        free = min(at + step, stop)
        furthest = max(free, min(at + float(np.clip(4.0 * gap, NEAR, 6.0 * NEAR)) / speed, stop))
        aimed = None
        if gap < FOLLOWED and same_place is not None:
            aimed = _aimed(same_place, before, free, furthest, tolerance)
        if aimed is None and gap < NEAR and rate > 0.0:
            # aim a little beyond the zero, to have it between two values
            aimed = min(at + 1.05 * gap / rate, furthest)
        at = free if aimed is None else max(free, aimed)
        gap, nearest = gap_at(at)
        if abs(gap) <= tolerance:
            return FirstTouch(at, nearest)
        if gap < 0.0:
            return _between(gap_at, before, _Sample(at, gap), speed, tolerance)
        if at == stop:
            return None
    return FirstTouch(at, nearest)


def _aimed(
    same_place: Callable[[float], float | None], now: _Sample, free: float, furthest: float, tolerance: float
) -> float | None:
    """Where the place that is nearest now is about to touch, between ``free`` and ``furthest`` (secant method); None
    if it does not come nearer."""
    last, at = now, free
    for _ in range(8):
        gap = same_place(at)
        if gap is None:
            return None
        rate = (last.gap - gap) / (at - last.at)
        short = gap - 0.25 * tolerance
        if rate <= 0.0 or abs(short) <= 0.5 * tolerance:
            return at if rate > 0.0 else None
        last = _Sample(at, gap)
        at = min(max(at + short / rate, free), furthest)
        if at == last.at:
            break
    return at


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
