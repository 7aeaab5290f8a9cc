"""Where two smooth surfaces overlap most, and how far the overlap reaches around that place.   (theory 6.1)

Compiled, since a planner asks thousands of times. Distances of surface points only say where to begin.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pliant.arrays import Bools, Floats
from pliant.contact.distance import Probe, field_value
from pliant.contact.gap import MESH, PLANE, SPHERE, Shape, components, faces_near, faces_nearer, penetrations

_SEARCH = 11
"""Odd, so that one cell lies on the deepest place."""
_STEPS = 14
_PLACE = 16
"""Numbers of a place: origin 3, axes 9, half widths 2, depth, found."""


@njit(cache=True)
def candidates(
    points: Floats,
    normals: Floats,
    rotation: Floats,
    translation: Floats,
    probe: Probe,
    margin: float,
    back: bool,
    out: Floats,
    start: int,
) -> int:
    """Surface points of one body within ``margin`` of the other: position and object normal (object frame), distance.

    Args:
        rotation, translation: pose of the pad's frame in the object's.
        probe: the other body.
        back: the points are the pad's, and the probe is the object's.
        out: rows of 7, written from row ``start`` on.

    Returns:
        The row after the last one written.
    """
    kind, radius, values, corner, step, low, high = probe
    turn, shift = _there(rotation, translation, back)
    p, n = np.empty(3), np.empty(3)
    for i in range(len(points)):
        for k in range(3):
            p[k] = shift[k] + turn[k, 0] * points[i, 0] + turn[k, 1] * points[i, 1] + turn[k, 2] * points[i, 2]
        if kind == PLANE:
            if not p[2] < margin:
                continue
        elif not (
            low[0] - margin < p[0] < high[0] + margin
            and low[1] - margin < p[1] < high[1] + margin
            and low[2] - margin < p[2] < high[2] + margin
        ):
            continue
        s = p[2]
        if kind == MESH:
            s = field_value(p[0], p[1], p[2], values, corner, step)
        elif kind == SPHERE:
            s = np.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2) - radius
        if not s < margin:
            continue
        for k in range(3):
            out[start, k] = p[k] if back else points[i, k]
            out[start, 3 + k] = normals[i, k]
            if back:
                n[k] = turn[k, 0] * normals[i, 0] + turn[k, 1] * normals[i, 1] + turn[k, 2] * normals[i, 2]
                out[start, 3 + k] = -n[k]
        out[start, 6] = s
        start += 1
    return start


@njit(cache=True)
def least_distance(points: Floats, rotation: Floats, translation: Floats, probe: Probe, back: bool) -> float:
    """Smallest signed distance of one body's surface points from the other body [m]; arguments as ``candidates``."""
    kind, radius, values, corner, step, low, high = probe
    turn, shift = _there(rotation, translation, back)
    least = np.inf
    for i in range(len(points)):
        x = shift[0] + turn[0, 0] * points[i, 0] + turn[0, 1] * points[i, 1] + turn[0, 2] * points[i, 2]
        y = shift[1] + turn[1, 0] * points[i, 0] + turn[1, 1] * points[i, 1] + turn[1, 2] * points[i, 2]
        z = shift[2] + turn[2, 0] * points[i, 0] + turn[2, 1] * points[i, 1] + turn[2, 2] * points[i, 2]
        if kind == MESH:
            # a point is no nearer to the surface than to the box around it
            dx = max(low[0] - x, x - high[0], 0.0)
            dy = max(low[1] - y, y - high[1], 0.0)
            dz = max(low[2] - z, z - high[2], 0.0)
            box = dx * dx + dy * dy + dz * dz
            if least > 0.0 and box >= least * least:
                continue
            value = field_value(x, y, z, values, corner, step)
            least = min(least, max(value, np.sqrt(box)) if box > 0.0 else value)
        elif kind == SPHERE:
            least = min(least, np.sqrt(x * x + y * y + z * z) - radius)
        else:
            least = min(least, z)
    return least


@njit(cache=True)
def _there(rotation: Floats, translation: Floats, back: bool) -> tuple[Floats, Floats]:
    """Rotation and translation that carry one body's points into the other's frame."""
    if back:
        return rotation.copy(), translation.copy()
    turn, shift = np.empty((3, 3)), np.zeros(3)
    for k in range(3):
        for m in range(3):
            turn[k, m] = rotation[m, k]
            shift[k] -= rotation[m, k] * translation[m]
    return turn, shift


@njit(cache=True)
def search(
    target: Shape,
    pad: Shape,
    rotation: Floats,
    translation: Floats,
    hints: Floats,
    spread: float,
    near: float,
    seeds: int,
    only_deepest: bool,
) -> Floats:
    """Places deeper than ``-near``, one row each: origin, axes, half widths, depth, in the order they were found.

    Args:
        hints: rows of ``candidates``.
        spread: spacing of the surface points [m].
        seeds: places to search from at most.
        only_deepest: places that cannot become the deepest may be left out.
    """
    floor = -np.inf
    found = np.empty((seeds, _PLACE))
    number = 0
    alive = np.ones(len(hints), dtype=np.bool_)
    for _ in range(seeds):
        seed = -1
        for i in range(len(hints)):
            if alive[i] and (seed < 0 or hints[i, 6] < hints[seed, 6]):
                seed = i
        # where the surfaces come closer than ``-floor`` some point of theirs is hardly further than that
        if seed < 0 or hints[seed, 6] > 0.8 * spread - floor:
            break
        radius = max(1.2 * spread, 2.0 * abs(hints[seed, 6]))
        place = _deepest(target, pad, rotation, translation, hints[seed, :3], hints[seed, 3:6], radius, floor)
        known = place[15] > 0.0
        if known and only_deepest:
            floor = max(floor, place[14])
        for i in range(len(hints)):
            if alive[i]:
                alive[i] = _away(hints, i, seed, spread) and not (known and _explained(hints, i, place, spread))
        if known and place[14] > -near:
            new = True
            for k in range(number):
                new = new and not _same(place, found[k])
            if new:
                found[number] = place
                number += 1
    return found[:number]


@njit(cache=True)
def _away(hints: Floats, i: int, seed: int, spread: float) -> bool:
    square = 0.0
    for k in range(3):
        square += (hints[i, k] - hints[seed, k]) ** 2
    return square > (0.8 * spread) ** 2


@njit(cache=True)
def _local(point: Floats, place: Floats) -> tuple[float, float, float]:
    d0, d1, d2 = point[0] - place[0], point[1] - place[1], point[2] - place[2]
    return (
        place[3] * d0 + place[4] * d1 + place[5] * d2,
        place[6] * d0 + place[7] * d1 + place[8] * d2,
        place[9] * d0 + place[10] * d1 + place[11] * d2,
    )


@njit(cache=True)
def _explained(hints: Floats, i: int, place: Floats, spread: float) -> bool:
    """A known region accounts for this point."""
    x, y, z = _local(hints[i], place)
    # points outside the other body are only hints of a shallow touch: next to a known region they add nothing
    margin = (0.7 if hints[i, 6] < 0.0 else 2.0) * spread
    inside = (x / (place[12] + margin)) ** 2 + (y / (place[13] + margin)) ** 2
    return inside <= 1.0 and abs(z) <= 2.0 * spread + abs(place[14])


@njit(cache=True)
def _same(a: Floats, b: Floats) -> bool:
    """Two searches that ended in one place."""
    if a[9] * b[9] + a[10] * b[10] + a[11] * b[11] < 0.3:
        return False
    x, y, _ = _local(a, b)
    return (x / (b[12] + 0.25 * a[12])) ** 2 + (y / (b[13] + 0.25 * a[13])) ** 2 < 1.0


@njit(cache=True)
def _frame(normal: Floats, first: Floats, axes: Floats) -> None:
    """Write rows: ``first`` made orthogonal to the normal, their cross product, the unit normal."""
    n = normal / np.sqrt((normal * normal).sum())
    t = first - (first * n).sum() * n
    t /= np.sqrt((t * t).sum())
    axes[0] = t
    axes[1, 0] = n[1] * t[2] - n[2] * t[1]
    axes[1, 1] = n[2] * t[0] - n[0] * t[2]
    axes[1, 2] = n[0] * t[1] - n[1] * t[0]
    axes[2] = n


@njit(cache=True)
def _any_frame(normal: Floats, axes: Floats) -> None:
    """Some frame about the normal, as ``tangent_frame``: x is along (coordinate axis furthest from it) x normal."""
    n = normal / np.sqrt((normal * normal).sum())
    k = int(np.argmin(np.abs(n)))
    first = np.zeros(3)
    first[(k + 1) % 3] = -n[(k + 2) % 3]
    first[(k + 2) % 3] = n[(k + 1) % 3]
    _frame(n, first, axes)


@njit(cache=True)
def _deepest(
    target: Shape,
    pad: Shape,
    rotation: Floats,
    translation: Floats,
    start: Floats,
    normal: Floats,
    radius: float,
    floor: float,
) -> Floats:
    """Home in on the deepest place near a start, then on the extent of the overlap around it.

    Given up, and reported as it stands, once it is clear that it stays below ``floor``: the search still moves by less
    than twice its window, and the surfaces do not approach each other more steeply than 45 degrees there.
    """
    out = np.zeros(_PLACE)
    origin, axes = start.copy(), np.empty((3, 3))
    _any_frame(normal, axes)
    half = np.array([radius, radius])
    depth = 0.0
    listed = -1.0
    centre = origin.copy()
    near = np.empty(0, dtype=np.int64)
    pad_near = near
    xy = np.empty((_SEARCH * _SEARCH, 2))
    count = np.int64(_SEARCH)  # a number, not a constant: for a constant everything below is compiled once more
    for _ in range(_STEPS):
        window = max(1.5 * np.sqrt(half[0] ** 2 + half[1] ** 2), 2.0 * abs(depth))
        needed = np.sqrt(half[0] ** 2 + half[1] ** 2) + window
        away = np.sqrt(((origin - centre) ** 2).sum())
        fits = needed + away <= listed
        if not fits or needed < 0.4 * listed:
            # faces are gathered once and serve as long as the search stays within them
            wide = 1.3 * needed
            shrink = fits and wide + away <= listed
            centre = origin.copy()
            listed = wide
            local = np.zeros(3)
            for k in range(3):
                for m in range(3):
                    local[k] += rotation[m, k] * (centre[m] - translation[m])
            if shrink:
                near = faces_nearer(target, near, centre, listed)
                pad_near = faces_nearer(pad, pad_near, local, listed)
            else:
                near = faces_near(target, centre, listed)
                pad_near = faces_near(pad, local, listed)
        pen, z, slope, pad_z, pad_slope, _ = penetrations(
            target, pad, near, pad_near, rotation, translation, origin, axes, half, count, window
        )
        seed = np.int64(-1)
        for cell in range(len(pen)):
            i, j = cell // _SEARCH, cell % _SEARCH
            xy[cell, 0] = ((i + 0.5) / _SEARCH * 2.0 - 1.0) * half[0]
            xy[cell, 1] = ((j + 0.5) / _SEARCH * 2.0 - 1.0) * half[1]
            if not np.isnan(pen[cell]) and (seed < 0 or pen[cell] > pen[seed]):
                seed = np.int64(cell)
        if seed < 0:
            return out
        depth = pen[seed]
        if depth <= 0.0:
            if half[0] < 1e-3 * radius:
                break
            tilt = 0.5 * (slope[seed] + pad_slope[seed])
            up = 0.5 * (z[seed] + pad_z[seed])
            origin = origin + xy[seed, 0] * axes[0] + xy[seed, 1] * axes[1] + up * axes[2]
            _any_frame(axes[2] - tilt[0] * axes[0] - tilt[1] * axes[1], axes)
            half = half * 0.3
            if depth + 2.0 * half[0] < floor:
                break
            continue
        part = components(pen > 0.0, count, seed)
        origin, half, settled = _recentre(pen, z, slope, pad_z, pad_slope, part, xy, origin, axes, half)
        if settled:
            break
    out[:3] = origin
    out[3:12] = axes.ravel()
    out[12:14] = half
    out[14] = depth
    out[15] = 1.0
    return out


@njit(cache=True)
def _recentre(
    pen: Floats,
    z: Floats,
    slope: Floats,
    pad_z: Floats,
    pad_slope: Floats,
    part: Bools,
    xy: Floats,
    origin: Floats,
    axes: Floats,
    half: Floats,
) -> tuple[Floats, Floats, bool]:
    """Move the frame (``axes`` in place) to the overlap's middle and principal axes; new origin, half widths, done?"""
    weight = np.where(part, pen, 0.0)
    weight /= weight.sum()
    at, tilt, moments = np.zeros(2), np.zeros(2), np.zeros((2, 2))
    share = mine_share(slope, pad_slope, weight)
    up = 0.0
    for cell in np.flatnonzero(part):
        w = weight[cell]
        up += w * 0.5 * (z[cell] + pad_z[cell])
        for k in range(2):
            at[k] += w * xy[cell, k]
            tilt[k] += w * (share * slope[cell, k] + (1.0 - share) * pad_slope[cell, k])
    for cell in np.flatnonzero(part):
        for k in range(2):
            for m in range(2):
                moments[k, m] += weight[cell] * (xy[cell, k] - at[k]) * (xy[cell, m] - at[m])
    for k in range(2):
        moments[k, k] += (2.0 * half[k] / _SEARCH) ** 2 / 12.0
    values, vectors = np.linalg.eigh(moments)
    extent = np.array([np.sqrt(6.0 * max(values[1], 0.0)), np.sqrt(6.0 * max(values[0], 0.0))])
    turn = np.ascontiguousarray(vectors[:, ::-1])
    if extent[0] - extent[1] < 0.05 * extent[0]:
        turn = np.eye(2)  # round: any axes do, keep the old ones
    span = np.zeros(2)
    clipped = False
    for cell in np.flatnonzero(part):
        i, j = cell // _SEARCH, cell % _SEARCH
        clipped = clipped or i == 0 or j == 0 or i == _SEARCH - 1 or j == _SEARCH - 1
        x, y = xy[cell, 0] - at[0], xy[cell, 1] - at[1]
        for k in range(2):
            span[k] = max(span[k], abs(x * turn[0, k] + y * turn[1, k]))
    for k in range(2):
        span[k] += 2.0 * (abs(turn[0, k]) * half[0] + abs(turn[1, k]) * half[1]) / _SEARCH
    if not clipped:
        size = np.minimum(1.15 * extent, 1.05 * span)
    elif span[1] < 0.7 * half.min():
        # long and narrow, an edge lying on the pad: grow along it only, or the cells would step over it
        size = np.array([2.0 * half.max(), 1.3 * span[1]])
    else:
        size = 2.0 * half
    first = turn[0, 0] * axes[0] + turn[1, 0] * axes[1]
    moved = origin + at[0] * axes[0] + at[1] * axes[1] + up * axes[2]
    _frame(axes[2] - tilt[0] * axes[0] - tilt[1] * axes[1], first, axes)
    return moved, size, not clipped and part.sum() > 0.3 * _SEARCH**2


@njit(cache=True)
def mine_share(mine: Floats, theirs: Floats, weight: Floats) -> float:
    """Object's share of the interface's slope: that of the smoother surface where one has an edge, else about half.

    Args:
        mine, theirs: slopes of object and pad at the cells.
        weight: cells' weights, sum 1.
    """
    a, b = _spread(mine, weight), _spread(theirs, weight)
    return b / (a + b)


@njit(cache=True)
def _spread(slope: Floats, weight: Floats) -> float:
    mean0, mean1 = (weight * slope[:, 0]).sum(), (weight * slope[:, 1]).sum()
    return (weight * ((slope[:, 0] - mean0) ** 2 + (slope[:, 1] - mean1) ** 2)).sum() + 1e-12
