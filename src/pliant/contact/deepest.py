"""Where two smooth surfaces overlap most, and how far the overlap reaches around that place.   (theory 6.1)

Compiled, since a planner asks thousands of times. Distances of surface points only say where to begin.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from pliant.arrays import Bools, Floats
from pliant.contact.distance import DistanceProbe, field_value
from pliant.contact.gap import (
    MESH,
    PLANE,
    SPHERE,
    ContactGrid,
    Penetrations,
    SurfacePair,
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
    """Whether the inner loops have been compiled on this machine before: it takes a minute or two, once.

    The compiler's cache then holds ``search`` as it is now, which calls most of the rest.
    """
    written = Path(__file__).stat().st_mtime
    try:
        return any(
            file.stat().st_mtime > written for file in Path(search.stats.cache_path).glob("deepest.search-*.nbi")
        )
    except OSError:
        return False


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def search(
    pair: SurfacePair, hints: Candidates, known: Overlap, spread: float, near: float, seeds: int, only_deepest: bool
) -> Overlaps:
    """Overlaps deeper than ``-near``, in the order they were found.

    Args:
        hints: where to search from.
        known: a place known before, which comes first; none if its depth is minus infinity.
        spread: spacing of the surface points [m].
        seeds: places to search from at most.
        only_deepest: places that cannot become the deepest may be left out.
    """
    floor, best = -np.inf if only_deepest else -near, _nowhere()
    most = seeds + 1
    origins, axes, halves, depths = np.empty((most, 3)), np.empty((most, 3, 3)), np.empty((most, 2)), np.empty(most)
    number = 0
    distances = hints.distances
    alive = np.ones(len(distances), dtype=np.bool_)
    if known.depth > -np.inf:
        floor, best = known.depth if only_deepest else floor, known
        origins[0], axes[0], halves[0], depths[0] = known
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
        place = _deepest(pair, hints.points[seed], hints.normals[seed], radius, 1e-3 * radius, floor, best)
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
                new = new and not _same(place, Overlap(origins[k], axes[k], halves[k], depths[k]))
            if new:
                origins[number], axes[number], halves[number], depths[number] = place
                number += 1
    return Overlaps(origins[:number], axes[:number], halves[:number], depths[:number])


@njit(cache=True)
def search_near(pair: SurfacePair, start: Floats, normal: Floats, radius: float, finest: float) -> Overlap:
    """The deepest place near a known one, for callers in Python; arguments as of ``_deepest``."""
    return _deepest(pair, start, normal, radius, finest, -np.inf, _nowhere())


@njit(cache=True)
def _nowhere() -> Overlap:
    """In place of a known place where there is none."""
    return Overlap(np.full(3, np.inf), np.eye(3), np.zeros(2), -np.inf)


@njit(cache=True)
def _drop_near(hints: Candidates, seed: int, spread: float, alive: Bools) -> None:
    """Points next to one that was searched from are not searched from."""
    points = hints.points
    for i in range(len(points)):
        if alive[i]:
            d0, d1, d2 = points[i, 0] - points[seed, 0], points[i, 1] - points[seed, 1], points[i, 2] - points[seed, 2]
            alive[i] = d0**2 + d1**2 + d2**2 > (0.8 * spread) ** 2


@njit(cache=True)
def _drop_explained(hints: Candidates, place: Overlap, spread: float, alive: Bools) -> None:
    """Points that a known region accounts for are not searched from."""
    points, _, distances = hints
    origin, axes, half, depth = place
    for i in range(len(points)):
        if not alive[i]:
            continue
        x, y, z = _local(points, i, origin, axes)
        # points outside the other body are only hints of a shallow touch: next to a known region they add nothing
        margin = (0.7 if distances[i] < 0.0 else 2.0) * spread
        inside = (x / (half[0] + margin)) ** 2 + (y / (half[1] + margin)) ** 2
        if inside <= 1.0 and abs(z) <= 2.0 * spread + abs(depth):
            alive[i] = False


@njit(cache=True)
def _local(points: Floats, i: int, origin: Floats, axes: Floats) -> tuple[float, float, float]:
    """Coordinates of point i in a frame; no row is taken out of the array, which would cost more than the rest."""
    d0, d1, d2 = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
    return (
        axes[0, 0] * d0 + axes[0, 1] * d1 + axes[0, 2] * d2,
        axes[1, 0] * d0 + axes[1, 1] * d1 + axes[1, 2] * d2,
        axes[2, 0] * d0 + axes[2, 1] * d1 + axes[2, 2] * d2,
    )


@njit(cache=True)
def _same(a: Overlap, b: Overlap) -> bool:
    """Two searches that ended in one place."""
    if a.axes[2, 0] * b.axes[2, 0] + a.axes[2, 1] * b.axes[2, 1] + a.axes[2, 2] * b.axes[2, 2] < 0.3:
        return False
    x, y, _ = _local(a.origin.reshape(1, 3), 0, b.origin, b.axes)
    return (x / (b.half[0] + 0.25 * a.half[0])) ** 2 + (y / (b.half[1] + 0.25 * a.half[1])) ** 2 < 1.0


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
    origin, axes = start.copy(), np.empty((3, 3))
    _any_frame(normal, axes)
    half = np.array([radius, radius])
    depth = 0.0
    listed = -1.0
    centre = origin.copy()
    near = np.arange(len(pair.target.faces))
    pad_near = np.arange(len(pair.pad.faces))
    xy = np.empty((_SEARCH * _SEARCH, 2))
    count = int(np.int64(_SEARCH))  # a number: for a constant everything below is compiled once more
    for _ in range(_STEPS):
        window = max(1.5 * np.sqrt(half[0] ** 2 + half[1] ** 2), 2.0 * abs(depth))
        needed = np.sqrt(half[0] ** 2 + half[1] ** 2) + window
        away = np.sqrt(((origin - centre) ** 2).sum())
        fits = needed + away <= listed
        if not fits or needed < 0.4 * listed:
            # faces are gathered once and serve as long as the search stays within them
            wide = 1.3 * needed
            if not (fits and wide + away <= listed):
                near, pad_near = np.arange(len(pair.target.faces)), np.arange(len(pair.pad.faces))
            centre = origin.copy()
            listed = wide
            near = faces_near(pair.target, near, centre, listed)
            pad_near = faces_near(pair.pad, pad_near, in_pad_frame(pair, centre), listed)
        seen = penetrations(pair, near, pad_near, ContactGrid(origin, axes, half, count), window)
        for cell in range(len(xy)):
            i, j = cell // _SEARCH, cell % _SEARCH
            xy[cell, 0] = ((i + 0.5) / _SEARCH * 2.0 - 1.0) * half[0]
            xy[cell, 1] = ((j + 0.5) / _SEARCH * 2.0 - 1.0) * half[1]
        seed = deepest_cell(seen.depth)
        if seed < 0:
            depth = -np.inf
            break
        depth = seen.depth[seed]
        if depth <= 0.0:
            if half[0] < finest:
                break
            tilt = 0.5 * (seen.target.slope[seed] + seen.pad.slope[seed])
            up = 0.5 * (seen.target.z[seed] + seen.pad.z[seed])
            origin = origin + xy[seed, 0] * axes[0] + xy[seed, 1] * axes[1] + up * axes[2]
            _any_frame(axes[2] - tilt[0] * axes[0] - tilt[1] * axes[1], axes)
            half = half * 0.3
            if depth + 2.0 * half[0] < floor or ((origin - known.origin) ** 2).sum() < half[0] ** 2:
                break
            continue
        if known.depth > 0.0:
            here = origin + xy[seed, 0] * axes[0] + xy[seed, 1] * axes[1]
            if _same(Overlap(here, axes, np.zeros(2), depth), known):
                depth = -np.inf
                break
        part = connected_cells(seen.depth > 0.0, count, seed)
        origin, half, settled = _recentre(seen, part, xy, origin, axes, half)
        if settled:
            break
    return Overlap(origin, axes, half, depth)


@njit(cache=True)
def _recentre(
    seen: Penetrations, part: Bools, xy: Floats, origin: Floats, axes: Floats, half: Floats
) -> tuple[Floats, Floats, bool]:
    """Move the frame (``axes`` in place) to the overlap's middle and principal axes; new origin, half widths, done?"""
    target, pad = seen.target, seen.pad
    weight = np.where(part, seen.depth, 0.0)
    weight /= weight.sum()
    at, tilt, moments = np.zeros(2), np.zeros(2), np.zeros((2, 2))
    share = target_share(target.slope, pad.slope, weight)
    up = 0.0
    for cell in np.flatnonzero(part):
        w = weight[cell]
        up += w * 0.5 * (target.z[cell] + pad.z[cell])
        for k in range(2):
            at[k] += w * xy[cell, k]
            tilt[k] += w * (share * target.slope[cell, k] + (1.0 - share) * pad.slope[cell, k])
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
