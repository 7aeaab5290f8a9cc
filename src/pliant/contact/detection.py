"""Where a pad and an object overlap.   (SPEC 6.1)

Broad phase: oriented boxes, and of each body only the surface inside the other's box. Narrow phase: surface points
of each
against the signed distance of the other; from every promising point the deepest place of the *smooth* surfaces
nearby is
sought, so that neither the triangulation nor the spacing of the points decides what is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from pliant.contact.gap import components
from pliant.contact.surfaces import Heights, MeshSurface, PlaneSurface, PreparedObject, SphereSurface, Surface

__all__ = ["Overlap", "cross", "find_overlaps", "grid", "interface_slope", "local_penetration", "tangent_frame"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_SEARCH = 11
"""Odd, so that one cell lies on the deepest place."""
_MOST_SEEDS = 16


@dataclass(frozen=True, eq=False)
class Overlap:
    """One connected region in which pad and object, undeformed, share space.

    Args:
        origin: middle of the region, in the object's frame [m].
        axes: rows: principal directions of the region and the outward normal, in the object's frame.
        half: half widths of the region along them, as of the ellipse with the same second moments [m].
        depth: largest penetration along the normal [m]; negative: the gap to the nearest place.
    """

    origin: Floats
    axes: Floats
    half: Floats
    depth: float


def tangent_frame(normal: Floats) -> Floats:
    """Rows: two tangents and the unit normal."""
    n = normal / np.linalg.norm(normal)
    axis = np.zeros(3)
    axis[int(np.argmin(np.abs(n)))] = 1.0
    t = cross(axis, n)
    t /= np.linalg.norm(t)
    return np.array([t, cross(n, t), n])


def cross(a: Floats, b: Floats) -> Floats:
    """a x b; for single vectors much quicker than numpy's."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def grid(half: Floats, count: int) -> Floats:
    """Cell centres, count^2 x 2, row-major along x."""
    x = ((np.arange(count) + 0.5) / count * 2.0 - 1.0) * half[0]
    y = ((np.arange(count) + 0.5) / count * 2.0 - 1.0) * half[1]
    return np.column_stack([np.repeat(x, count), np.tile(y, count)])


def local_penetration(
    target: Surface,
    pad: Surface,
    T_object_pad: pin.SE3,
    origin: Floats,
    axes: Floats,
    half: Floats,
    count: int,
    apart: float = 0.0,
) -> tuple[Floats, Heights, Heights]:
    """Penetration over a grid (NaN: no pair of surfaces there) and the heights of object and pad.

    ``apart``: how far the two surfaces are from each other, as far as known [m].
    """
    window = max(1.5 * float(np.hypot(half[0], half[1])), apart)
    mine = target.heights(origin, axes, half, count, 1.0, window)
    R, t = T_object_pad.rotation, T_object_pad.translation
    theirs = pad.heights((origin - t) @ R, np.ascontiguousarray(axes @ R), half, count, -1.0, window)
    return mine.z - theirs.z, mine, theirs


def interface_slope(mine: Heights, theirs: Heights, weight: Floats) -> Floats:
    """Slope of the interface at every cell: that of the smoother surface where one has an edge, else the mean of both.

    Args:
        weight: cells' weights, sum 1.
    """
    spread = []
    for surface in (mine, theirs):
        mean = weight @ surface.slope
        spread.append(float(weight @ ((surface.slope - mean) ** 2).sum(axis=1)) + 1e-12)
    share = spread[1] / (spread[0] + spread[1])
    return np.asarray(share * mine.slope + (1.0 - share) * theirs.slope)


def find_overlaps(
    thing: PreparedObject, pad: Surface, T_object_pad: pin.SE3, *, near: float = 0.0, seeds: int = _MOST_SEEDS
) -> list[Overlap]:
    """Every region in which the pad reaches into the object, deepest first.

    Args:
        T_object_pad: pose of the pad's frame in the object's.
        near: also report places where the gap is below this [m], with negative depth.
        seeds: places to search from at most.
    """
    points, normals, distance = _candidates(thing.surface, pad, T_object_pad, near)
    found: list[Overlap] = []
    spread = max(_spacing(thing.surface), _spacing(pad))
    for _ in range(seeds):
        if not len(points):
            break
        seed = int(np.argmin(distance))
        start = points[seed]
        radius = max(1.2 * spread, 2.0 * abs(float(distance[seed])))
        place = _deepest(thing.surface, pad, T_object_pad, start, normals[seed], radius)
        away = np.linalg.norm(points - start, axis=1) > 0.8 * spread
        if place is not None:
            local = (points - place.origin) @ place.axes.T
            # points outside the other body are only hints of a shallow touch: next to a known region they add nothing
            margin = np.where(distance < 0.0, 0.7, 2.0) * spread
            inside = (local[:, 0] / (place.half[0] + margin)) ** 2 + (local[:, 1] / (place.half[1] + margin)) ** 2
            away &= (inside > 1.0) | (np.abs(local[:, 2]) > 2.0 * spread + abs(place.depth))
            if place.depth > -near and not any(_same(place, other) for other in found):
                found.append(place)
        points, normals, distance = points[away], normals[away], distance[away]
    return sorted(found, key=lambda overlap: -overlap.depth)


def _spacing(surface: Surface) -> float:
    return surface.spacing


def _same(a: Overlap, b: Overlap) -> bool:
    """Two searches that ended in one place."""
    if float(a.axes[2] @ b.axes[2]) < 0.3:
        return False
    local = b.axes @ (a.origin - b.origin)
    reach = b.half + 0.25 * a.half
    return bool((local[0] / reach[0]) ** 2 + (local[1] / reach[1]) ** 2 < 1.0)


def _candidates(target: Surface, pad: Surface, T_object_pad: pin.SE3, near: float) -> tuple[Floats, Floats, Floats]:
    """Surface points of either body that may lie inside the other: positions, outward normals of the object,
    distances."""
    R, t = T_object_pad.rotation, T_object_pad.translation
    points: list[Floats] = []
    normals: list[Floats] = []
    distances: list[Floats] = []
    if len(target.points):
        local = (target.points - t) @ R
        margin = 0.8 * _spacing(target) + near
        keep = _in_box(pad, local, margin)
        if keep.any():
            s = pad.signed_distance(local[keep])
            close = s < margin
            points.append(target.points[keep][close])
            normals.append(target.normals[keep][close])
            distances.append(s[close])
    if len(pad.points):
        local = pad.points @ R.T + t
        margin = 0.8 * _spacing(pad) + near
        keep = _in_box(target, local, margin)
        if keep.any():
            s = target.signed_distance(local[keep])
            close = s < margin
            points.append(local[keep][close])
            normals.append(-(pad.normals[keep][close] @ R.T))
            distances.append(s[close])
    if not points:
        return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0)
    return np.concatenate(points), np.concatenate(normals), np.concatenate(distances)


def _in_box(surface: Surface, points: Floats, margin: float) -> Bools:
    """Potential interaction region: which points lie in the surface's own box, widened by the margin."""
    if isinstance(surface, MeshSurface):
        low, high = surface.box
    elif isinstance(surface, SphereSurface):
        low, high = np.full(3, -surface.radius), np.full(3, surface.radius)
    else:
        assert isinstance(surface, PlaneSurface)
        return np.asarray(points[:, 2] < margin)
    return np.asarray(((points > low - margin) & (points < high + margin)).all(axis=1))


def _deepest(
    target: Surface, pad: Surface, T_object_pad: pin.SE3, start: Floats, normal: Floats, radius: float
) -> Overlap | None:
    """Home in on the deepest place near a start, then on the extent of the overlap around it."""
    origin, axes = start.copy(), tangent_frame(normal)
    half = np.array([radius, radius])
    xy_unit = grid(np.ones(2), _SEARCH)
    depth = 0.0
    for _ in range(14):
        pen, mine, theirs = local_penetration(target, pad, T_object_pad, origin, axes, half, _SEARCH, 2.0 * abs(depth))
        height = 0.5 * (mine.z + theirs.z)
        valid = ~np.isnan(pen)
        if not valid.any():
            return None
        seed = int(np.nanargmax(pen))
        depth = float(pen[seed])
        xy = xy_unit * half
        if depth <= 0.0:
            if half[0] < 1e-3 * radius:
                break
            at, up, half = xy[seed], float(height[seed]), half * 0.3
            tilt = 0.5 * (mine.slope[seed] + theirs.slope[seed])
            settled = False
        else:
            part = components(valid & (pen > 0.0), _SEARCH, seed)
            weight = np.where(part, pen, 0.0)
            weight /= weight.sum()
            at, up = weight @ xy, float(weight @ np.where(part, height, 0.0))
            tilt = weight @ interface_slope(mine, theirs, weight)
            centred = xy - at
            moments = (centred * weight[:, None]).T @ centred + np.diag((2 * half / _SEARCH) ** 2 / 12.0)
            values, vectors = np.linalg.eigh(moments)
            extent = np.sqrt(6.0 * np.maximum(values[::-1], 0.0))
            border = part.reshape(_SEARCH, _SEARCH)
            clipped = border[0].any() or border[-1].any() or border[:, 0].any() or border[:, -1].any()
            turn = vectors[:, ::-1]
            if extent[0] - extent[1] < 0.05 * extent[0]:
                turn = np.eye(2)  # round: any axes do, keep the old ones
            span = np.abs((centred @ turn)[part]).max(axis=0) + 2.0 * (np.abs(turn).T @ half) / _SEARCH
            grown = np.minimum(1.15 * extent, 1.05 * span)
            settled = not clipped and part.sum() > 0.3 * _SEARCH**2
            first = turn[0, 0] * axes[0] + turn[1, 0] * axes[1]
            if not clipped:
                half = grown
            elif span[1] < 0.7 * half.min():
                # long and narrow, an edge lying on the pad: grow along it only, or the cells would step over it
                half = np.array([2.0 * half.max(), 1.3 * span[1]])
            else:
                half = 2.0 * half
        origin = origin + at[0] * axes[0] + at[1] * axes[1] + up * axes[2]
        normal = axes[2] - tilt[0] * axes[0] - tilt[1] * axes[1]
        normal = normal / np.linalg.norm(normal)
        if depth <= 0.0:
            axes = tangent_frame(normal)
            continue
        first = first - (first @ normal) * normal
        first /= np.linalg.norm(first)
        axes = np.array([first, cross(normal, first), normal])
        if settled:
            break
    return Overlap(origin, axes, half, depth)
