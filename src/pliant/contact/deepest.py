"""Where two smooth surfaces overlap most, and how far the overlap reaches around that place.   (theory 6.1)

Compiled, since a planner asks thousands of times. Distances of surface points only say where to begin.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.compiled import inner, kernel
from pliant.contact.distance import DistanceProbe, field_value
from pliant.contact.gap import (
    MESH,
    PLANE,
    SPHERE,
    ContactGrid,
    Penetrations,
    SurfacePair,
    all_faces,
    connected_cells,
    deepest_cell,
    faces_near,
    in_pad_frame,
    penetrations,
    target_share,
)

_SEARCH = 11
"""Cells along a side of the search's grid; odd, so that one cell lies on the deepest place."""
_STEPS = 14


class Overlap(NamedTuple):
    """One connected region in which pad and object, undeformed, share space; in the object's frame."""

    origin: Floats  # middle of the region [m]
    axes: Floats  # rows: principal directions of the region and the outward normal
    half: Floats  # half widths along them, as of the ellipse with the same second moments [m]
    depth: float  # largest penetration along the normal [m]; negative: the gap to the nearest place


NOWHERE = Overlap(np.full(3, np.inf), np.eye(3), np.zeros(2), -np.inf)
"""In place of a known place where there is none."""


class Candidates(NamedTuple):
    """Surface points of either body near the other, in the object's frame."""

    points: Floats  # n x 3 [m]
    normals: Floats  # n x 3, the object's outward normals
    distances: Floats  # n, signed, from the other body [m]


class Overlaps(NamedTuple):
    """Several overlaps, field by field."""

    origins: Floats
    axes: Floats
    halves: Floats
    depths: Floats


def compiled_here() -> bool:
    """Whether the inner loops have been compiled on this machine before.

    The compiler's cache then holds ``search`` as it is now, which calls most of the rest.
    """
    written = Path(__file__).stat().st_mtime
    try:
        return any(
            file.stat().st_mtime > written for file in Path(search.stats.cache_path).glob("deepest.search-*.nbi")
        )
    except OSError:
        return False


@kernel
def add_candidates(
    points: Floats,
    normals: Floats,
    rotation: Floats,
    translation: Floats,
    probe: DistanceProbe,
    margin: float,
    back: bool,
    out: Candidates,
    start: int,
) -> int:
    """Write the surface points of one body within ``margin`` of the other.

    Args:
        rotation, translation: pose of the pad's frame in the object's.
        probe: the other body.
        back: the points are the pad's, and the probe is the object's.
        out: written from ``start`` on.

    Returns:
        The place after the last one written.
    """
    turn, shift = _to_other_frame(rotation, translation, back)
    low, high = probe.low, probe.high
    p, n = np.empty(3), np.empty(3)
    for i in range(len(points)):
        for k in range(3):
            p[k] = shift[k] + turn[k, 0] * points[i, 0] + turn[k, 1] * points[i, 1] + turn[k, 2] * points[i, 2]
        if probe.kind == PLANE:
            if not p[2] < margin:
                continue
        elif not (
            low[0] - margin < p[0] < high[0] + margin
            and low[1] - margin < p[1] < high[1] + margin
            and low[2] - margin < p[2] < high[2] + margin
        ):
            continue
        s = p[2]
        if probe.kind == MESH:
            s = field_value(p[0], p[1], p[2], probe.values, probe.corner, probe.step)
        elif probe.kind == SPHERE:
            s = np.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2) - probe.radius
        if not s < margin:
            continue
        for k in range(3):
            out.points[start, k] = p[k] if back else points[i, k]
            out.normals[start, k] = normals[i, k]
            if back:
                n[k] = turn[k, 0] * normals[i, 0] + turn[k, 1] * normals[i, 1] + turn[k, 2] * normals[i, 2]
                out.normals[start, k] = -n[k]
        out.distances[start] = s
        start += 1
    return start


@kernel
def least_distance(points: Floats, rotation: Floats, translation: Floats, probe: DistanceProbe, back: bool) -> float:
    """Smallest signed distance of one body's points from the other body [m]; arguments as ``add_candidates``."""
    low, high = probe.low, probe.high
    turn, shift = _to_other_frame(rotation, translation, back)
    least = np.inf
    for i in range(len(points)):
        x = shift[0] + turn[0, 0] * points[i, 0] + turn[0, 1] * points[i, 1] + turn[0, 2] * points[i, 2]
        y = shift[1] + turn[1, 0] * points[i, 0] + turn[1, 1] * points[i, 1] + turn[1, 2] * points[i, 2]
        z = shift[2] + turn[2, 0] * points[i, 0] + turn[2, 1] * points[i, 1] + turn[2, 2] * points[i, 2]
        if probe.kind == MESH:
            # a point is no nearer to the surface than to the box around it
            dx = max(low[0] - x, x - high[0], 0.0)
            dy = max(low[1] - y, y - high[1], 0.0)
            dz = max(low[2] - z, z - high[2], 0.0)
            box = dx * dx + dy * dy + dz * dz
            if least > 0.0 and box >= least * least:
                continue
            value = field_value(x, y, z, probe.values, probe.corner, probe.step)
            least = min(least, max(value, np.sqrt(box)) if box > 0.0 else value)
        elif probe.kind == SPHERE:
            least = min(least, np.sqrt(x * x + y * y + z * z) - probe.radius)
        else:
            least = min(least, z)
    return least


@inner
def _to_other_frame(rotation: Floats, translation: Floats, back: bool) -> tuple[Floats, Floats]:
    """Rotation and translation that carry one body's points into the other's frame."""
    if back:
        return rotation.copy(), translation.copy()
    turn, shift = np.empty((3, 3)), np.zeros(3)
    for k in range(3):
        for m in range(3):
            turn[k, m] = rotation[m, k]
            shift[k] -= rotation[m, k] * translation[m]
    return turn, shift


@kernel
def search(
    pair: SurfacePair, hints: Candidates, known: Overlap, spread: float, near: float, seeds: int, only_deepest: bool
) -> Overlaps:
    """Overlaps deeper than ``-near``, in the order they were found.

    Args:
        hints: where to search from.
        known: a place known before, which comes first; or ``NOWHERE``.
        spread: spacing of the surface points [m].
        seeds: places to search from at most.
        only_deepest: places that cannot become the deepest may be left out.
    """
    floor, best = -np.inf if only_deepest else -near, known
    most = seeds + 1
    origins, axes, halves, depths = np.empty((most, 3)), np.empty((most, 3, 3)), np.empty((most, 2)), np.empty(most)
    number = 0
    distances = hints.distances
    alive = np.empty(len(distances), dtype=np.bool_)
    for i in range(len(distances)):
        alive[i] = True
    if known.depth > -np.inf:
        floor = known.depth if only_deepest else floor
        _write(known, origins, axes, halves, depths, 0)
        number = 1
        _drop_explained(hints, known, spread, alive)
    for _ in range(seeds):
        seed = -1
        for i in range(len(distances)):
            if alive[i] and (seed < 0 or distances[i] < distances[seed]):
                seed = i
        # where the surfaces come closer than ``-floor`` some point of theirs is hardly further than that
        if seed < 0 or distances[seed] > 0.8 * spread - floor:
            break
        radius = max(1.2 * spread, 2.0 * abs(distances[seed]))
        place = deepest(pair, hints.points[seed], hints.normals[seed], radius, 1e-3 * radius, floor, best)
        facing = place.depth > -np.inf
        if facing and place.depth > best.depth:
            best = place
            floor = place.depth if only_deepest else floor
        _drop_near(hints, seed, spread, alive)
        if facing:
            _drop_explained(hints, place, spread, alive)
        if facing and place.depth > -near:
            new = True
            for k in range(number):
                new = new and not _same(
                    place.origin, place.axes, place.half, Overlap(origins[k], axes[k], halves[k], depths[k])
                )
            if new:
                _write(place, origins, axes, halves, depths, number)
                number += 1
    return Overlaps(origins[:number], axes[:number], halves[:number], depths[:number])


@inner
def _write(place: Overlap, origins: Floats, axes: Floats, halves: Floats, depths: Floats, number: int) -> None:
    """Write an overlap into a list of them."""
    for k in range(3):
        origins[number, k] = place.origin[k]
        for m in range(3):
            axes[number, k, m] = place.axes[k, m]
    halves[number, 0], halves[number, 1], depths[number] = place.half[0], place.half[1], place.depth


@kernel
def search_near(
    pair: SurfacePair, start: Floats, normal: Floats, radius: float, finest: float, nowhere: Overlap
) -> Overlap:
    """The deepest place near a known one, for callers in Python; arguments as of ``deepest``."""
    return deepest(pair, start, normal, radius, finest, -np.inf, nowhere)


@inner
def _drop_near(hints: Candidates, seed: int, spread: float, alive: Bools) -> None:
    """Points next to one that was searched from are not searched from."""
    points = hints.points
    for i in range(len(points)):
        if alive[i]:
            d0, d1, d2 = points[i, 0] - points[seed, 0], points[i, 1] - points[seed, 1], points[i, 2] - points[seed, 2]
            alive[i] = d0**2 + d1**2 + d2**2 > (0.8 * spread) ** 2


@inner
def _drop_explained(hints: Candidates, place: Overlap, spread: float, alive: Bools) -> None:
    """Points that a known region accounts for are not searched from."""
    points, _, distances = hints
    origin, axes, half, depth = place
    for i in range(len(points)):
        if not alive[i]:
            continue
        # no row is taken out of the array, which would cost more than the rest
        d0, d1, d2 = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
        x = axes[0, 0] * d0 + axes[0, 1] * d1 + axes[0, 2] * d2
        y = axes[1, 0] * d0 + axes[1, 1] * d1 + axes[1, 2] * d2
        z = axes[2, 0] * d0 + axes[2, 1] * d1 + axes[2, 2] * d2
        # points outside the other body are only hints of a shallow touch: next to a known region they add nothing
        margin = (0.7 if distances[i] < 0.0 else 2.0) * spread
        inside = (x / (half[0] + margin)) ** 2 + (y / (half[1] + margin)) ** 2
        if inside <= 1.0 and abs(z) <= 2.0 * spread + abs(depth):
            alive[i] = False


@inner
def _same(origin: Floats, axes: Floats, half: Floats, other: Overlap) -> bool:
    """Two searches that ended in one place."""
    o, a = other.origin, other.axes
    if axes[2, 0] * a[2, 0] + axes[2, 1] * a[2, 1] + axes[2, 2] * a[2, 2] < 0.3:
        return False
    d0, d1, d2 = origin[0] - o[0], origin[1] - o[1], origin[2] - o[2]
    x = (a[0, 0] * d0 + a[0, 1] * d1 + a[0, 2] * d2) / (other.half[0] + 0.25 * half[0])
    y = (a[1, 0] * d0 + a[1, 1] * d1 + a[1, 2] * d2) / (other.half[1] + 0.25 * half[1])
    return x * x + y * y < 1.0


@inner
def _frame(n0: float, n1: float, n2: float, t0: float, t1: float, t2: float, axes: Floats) -> None:
    """Write rows: the direction t made orthogonal to the normal n, their cross product, the unit normal."""
    size = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    n0, n1, n2 = n0 / size, n1 / size, n2 / size
    along = t0 * n0 + t1 * n1 + t2 * n2
    t0, t1, t2 = t0 - along * n0, t1 - along * n1, t2 - along * n2
    size = np.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    t0, t1, t2 = t0 / size, t1 / size, t2 / size
    axes[0, 0], axes[0, 1], axes[0, 2] = t0, t1, t2
    axes[1, 0], axes[1, 1], axes[1, 2] = n1 * t2 - n2 * t1, n2 * t0 - n0 * t2, n0 * t1 - n1 * t0
    axes[2, 0], axes[2, 1], axes[2, 2] = n0, n1, n2


@inner
def _any_frame(n0: float, n1: float, n2: float, axes: Floats) -> None:
    """Some frame about the normal, as ``tangent_frame``: x is along (coordinate axis furthest from it) x normal."""
    size = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    n0, n1, n2 = n0 / size, n1 / size, n2 / size
    if abs(n0) <= abs(n1) and abs(n0) <= abs(n2):
        _frame(n0, n1, n2, 0.0, -n2, n1, axes)
    elif abs(n1) <= abs(n2):
        _frame(n0, n1, n2, n2, 0.0, -n0, axes)
    else:
        _frame(n0, n1, n2, -n1, n0, 0.0, axes)


@inner
def deepest(
    pair: SurfacePair, start: Floats, normal: Floats, radius: float, finest: float, floor: float, known: Overlap
) -> Overlap:
    """Search for the deepest place near a start, then for the extent of the overlap around it.

    Given up, and reported as it stands, once it is clear that it stays below ``floor``: the search still moves by less
    than twice its window, and the surfaces do not approach each other more steeply than 45 degrees there; or once it
    arrives at the place ``known`` already. The depth is minus infinity where no two surfaces face each other, or where
    they overlap in ``known``.

    Args:
        start, normal: where to begin, and the object's outward normal there.
        radius: half width of the first window [m].
        finest: half width at which a place without overlap is found well enough [m].
    """
    origin, axes, half, centre = start.copy(), np.empty((3, 3)), np.empty(2), start.copy()
    point, no_size = np.empty(3), np.zeros(2)
    _any_frame(normal[0], normal[1], normal[2], axes)
    half[0], half[1] = radius, radius
    depth = 0.0
    listed = -1.0
    near, pad_near = all_faces(pair.target), all_faces(pair.pad)
    count = int(np.int64(_SEARCH))  # a number: for a constant everything below is compiled once more
    for _ in range(_STEPS):
        window = max(1.5 * np.sqrt(half[0] ** 2 + half[1] ** 2), 2.0 * abs(depth))
        needed = np.sqrt(half[0] ** 2 + half[1] ** 2) + window
        away = np.sqrt((origin[0] - centre[0]) ** 2 + (origin[1] - centre[1]) ** 2 + (origin[2] - centre[2]) ** 2)
        fits = needed + away <= listed
        if not fits or needed < 0.4 * listed:
            # faces are gathered once and serve as long as the search stays within them
            wide = 1.3 * needed
            if not (fits and wide + away <= listed):
                near, pad_near = all_faces(pair.target), all_faces(pair.pad)
            for k in range(3):
                centre[k] = origin[k]
            listed = wide
            near = faces_near(pair.target, near, centre, listed)
            pad_near = faces_near(pair.pad, pad_near, in_pad_frame(pair, centre), listed)
        seen = penetrations(pair, near, pad_near, ContactGrid(origin, axes, half, count), window)
        seed = deepest_cell(seen.depth)
        if seed < 0:
            depth = -np.inf
            break
        depth = seen.depth[seed]
        x = ((seed // _SEARCH + 0.5) / _SEARCH * 2.0 - 1.0) * half[0]
        y = ((seed % _SEARCH + 0.5) / _SEARCH * 2.0 - 1.0) * half[1]
        if depth <= 0.0:
            if half[0] < finest:
                break
            tilt0 = 0.5 * (seen.target.slope[seed, 0] + seen.pad.slope[seed, 0])
            tilt1 = 0.5 * (seen.target.slope[seed, 1] + seen.pad.slope[seed, 1])
            up = 0.5 * (seen.target.z[seed] + seen.pad.z[seed])
            away = 0.0
            for k in range(3):
                origin[k] = origin[k] + x * axes[0, k] + y * axes[1, k] + up * axes[2, k]
                point[k] = axes[2, k] - tilt0 * axes[0, k] - tilt1 * axes[1, k]
                away += (origin[k] - known.origin[k]) ** 2
            _any_frame(point[0], point[1], point[2], axes)
            half[0], half[1] = 0.3 * half[0], 0.3 * half[1]
            if depth + 2.0 * half[0] < floor or away < half[0] ** 2:
                break
            continue
        if known.depth > 0.0:
            for k in range(3):
                point[k] = origin[k] + x * axes[0, k] + y * axes[1, k]
            if _same(point, axes, no_size, known):
                depth = -np.inf
                break
        if _recentre(seen, connected_cells(seen.depth, count, seed), origin, axes, half):
            break
    return Overlap(origin, axes, half, depth)


@inner
def _principal(xx: float, xy: float, yy: float) -> tuple[float, float, float, float]:
    """Larger and smaller eigenvalue of a symmetric 2 x 2 matrix, and the larger one's unit vector.

    In the order and with the signs of LAPACK (dlaev2), which compiling takes ten times as long.
    """
    if abs(xy) <= np.sqrt(abs(xx)) * np.sqrt(abs(yy)) * 1.1102230246251565e-16:
        return (xx, yy, 1.0, 0.0) if xx > yy else (yy, xx, 0.0, 1.0)
    difference, twice = xx - yy, 2.0 * xy
    root = np.hypot(difference, twice)
    larger = 0.5 * (xx + yy + root)
    most, least = (xx, yy) if abs(xx) > abs(yy) else (yy, xx)
    smaller = (most / larger) * least - (xy / larger) * xy
    ratio = -twice / (difference + root if difference >= 0.0 else difference - root)
    sine = 1.0 / np.sqrt(1.0 + ratio * ratio)
    return (larger, smaller, -sine, ratio * sine) if difference >= 0.0 else (larger, smaller, ratio * sine, sine)


@inner
def _recentre(seen: Penetrations, part: Bools, origin: Floats, axes: Floats, half: Floats) -> bool:
    """Move the frame and its half widths, in place, to the overlap's middle and principal axes; whether that is all."""
    target, pad = seen.target, seen.pad
    weight, total, number = np.empty(len(part)), 0.0, 0
    for cell in range(len(part)):
        weight[cell] = seen.depth[cell] if part[cell] else 0.0
        total += weight[cell]
        number += part[cell]
    for cell in range(len(part)):
        weight[cell] /= total
    share = target_share(target.slope, pad.slope, weight)
    x_mean, y_mean, tilt0, tilt1, up = 0.0, 0.0, 0.0, 0.0, 0.0
    for cell in range(len(part)):
        if part[cell]:
            w = weight[cell]
            up += w * 0.5 * (target.z[cell] + pad.z[cell])
            x_mean += w * (((cell // _SEARCH + 0.5) / _SEARCH * 2.0 - 1.0) * half[0])
            y_mean += w * (((cell % _SEARCH + 0.5) / _SEARCH * 2.0 - 1.0) * half[1])
            tilt0 += w * (share * target.slope[cell, 0] + (1.0 - share) * pad.slope[cell, 0])
            tilt1 += w * (share * target.slope[cell, 1] + (1.0 - share) * pad.slope[cell, 1])
    xx, xy, yy = 0.0, 0.0, 0.0
    for cell in range(len(part)):
        if part[cell]:
            x = ((cell // _SEARCH + 0.5) / _SEARCH * 2.0 - 1.0) * half[0] - x_mean
            y = ((cell % _SEARCH + 0.5) / _SEARCH * 2.0 - 1.0) * half[1] - y_mean
            xx += weight[cell] * x * x
            xy += weight[cell] * y * x
            yy += weight[cell] * y * y
    xx += (2.0 * half[0] / _SEARCH) ** 2 / 12.0
    yy += (2.0 * half[1] / _SEARCH) ** 2 / 12.0
    larger, smaller, cosine, sine = _principal(xx, xy, yy)
    extent0, extent1 = np.sqrt(6.0 * max(larger, 0.0)), np.sqrt(6.0 * max(smaller, 0.0))
    if extent0 - extent1 < 0.05 * extent0:
        cosine, sine = 1.0, 0.0  # round: any axes do, keep the old ones
    span0, span1 = 0.0, 0.0
    clipped = False
    for cell in range(len(part)):
        if part[cell]:
            i, j = cell // _SEARCH, cell % _SEARCH
            clipped = clipped or i == 0 or j == 0 or i == _SEARCH - 1 or j == _SEARCH - 1
            x = ((i + 0.5) / _SEARCH * 2.0 - 1.0) * half[0] - x_mean
            y = ((j + 0.5) / _SEARCH * 2.0 - 1.0) * half[1] - y_mean
            span0, span1 = max(span0, abs(x * cosine + y * sine)), max(span1, abs(y * cosine - x * sine))
    span0 += 2.0 * (abs(cosine) * half[0] + abs(sine) * half[1]) / _SEARCH
    span1 += 2.0 * (abs(sine) * half[0] + abs(cosine) * half[1]) / _SEARCH
    if not clipped:
        half[0], half[1] = min(1.15 * extent0, 1.05 * span0), min(1.15 * extent1, 1.05 * span1)
    elif span1 < 0.7 * min(half[0], half[1]):
        # long and narrow, an edge lying on the pad: grow along it only, or the cells would step over it
        half[0], half[1] = 2.0 * max(half[0], half[1]), 1.3 * span1
    else:
        half[0], half[1] = 2.0 * half[0], 2.0 * half[1]
    normal, first = np.empty(3), np.empty(3)
    for k in range(3):
        first[k] = cosine * axes[0, k] + sine * axes[1, k]
        origin[k] = origin[k] + x_mean * axes[0, k] + y_mean * axes[1, k] + up * axes[2, k]
        normal[k] = axes[2, k] - tilt0 * axes[0, k] - tilt1 * axes[1, k]
    _frame(normal[0], normal[1], normal[2], first[0], first[1], first[2], axes)
    return not clipped and number > 0.3 * _SEARCH**2
