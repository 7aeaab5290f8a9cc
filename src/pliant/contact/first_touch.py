"""First touch, found by advancing as far as the clearance allows.   (theory 6.1, 8.2)"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from pliant.contact.deepest import least_distance
from pliant.contact.detection import find_overlaps
from pliant.contact.surfaces import PadSurface, PreparedObject

_CLOSE = 1e3
"""Clearances this many times apart are measured in the same way: near contact, on the smooth surfaces."""


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
    """The first parameter at which the pad touches the object, by conservative advancement; None if it never does.

    Args:
        T_object_pad: the pad's pose in the object's frame along the motion.
        start: first parameter; the pad must be clear of the object there.
        stop: last parameter, larger than ``start``.
        speed: no point of the pad moves faster than this per unit of the parameter [m].
        tolerance: clearance that counts as touching [m].

    Returns:
        None if there is no touch up to ``stop``; ``start`` itself if the pad overlaps the object there already.
    """
    at = start
    before: tuple[float, float] | None = None
    for _ in range(200):
        gap = clearance(prepared, pad, T_object_pad(at))
        if gap <= tolerance:
            break
        # the clearance may be a little too large next to a touch: leave a hair
        step = 0.98 * gap / speed
        if before is not None and gap < before[1] < _CLOSE * gap:
            # as fast as it last closed in, if that is safe too: a smaller hair
            step = max(step, 0.998 * min(gap * (at - before[0]) / (before[1] - gap), gap / speed))
        before = (at, gap)
        at = at + step
        if at > stop:
            return None
    if before is None or gap > -tolerance:
        return at
    # the last step went through by a hair: close in between the last clear and the first overlapping pose (Illinois)
    low, high = before, (at, gap)
    middle = low[0]
    for _ in range(40):
        middle = low[0] + low[1] / (low[1] - high[1]) * (high[0] - low[0])
        gap = clearance(prepared, pad, T_object_pad(middle))
        if abs(gap) <= tolerance or (high[0] - low[0]) * speed <= tolerance:
            break
        if gap > 0:
            low, high = (middle, gap), (high[0], 0.5 * high[1])
        else:
            low, high = (low[0], 0.5 * low[1]), (middle, gap)
    return middle
