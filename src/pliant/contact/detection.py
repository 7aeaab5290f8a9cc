"""Where a pad and an object overlap.   (theory 6.1)

Broad phase: oriented boxes, and of each body only the surface inside the other's box. Narrow phase: surface points of
each against the signed distance of the other; from every promising point the deepest place of the *smooth* surfaces
nearby is sought, so that neither the triangulation nor the spacing of the points decides what is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.contact.deepest import candidates, search
from pliant.contact.surfaces import PreparedObject, Surface

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


def find_overlaps(
    prepared: PreparedObject,
    pad: Surface,
    T_object_pad: pin.SE3,
    *,
    near: float = 0.0,
    seeds: int = _MOST_SEEDS,
    only_deepest: bool = False,
) -> list[Overlap]:
    """Every region in which the pad reaches into the object, deepest first.

    Args:
        T_object_pad: pose of the pad's frame in the object's.
        near: also report places where the gap is below this [m], with negative depth.
        seeds: places to search from at most.
        only_deepest: only the first of the answer matters; the others may be rough or missing.
    """
    target = prepared.surface
    R, t = T_object_pad.rotation, T_object_pad.translation
    hints = np.empty((len(target.points) + len(pad.points), 7))
    found = 0
    if len(target.points):
        margin = 0.8 * target.spacing + near
        found = candidates(target.points, target.normals, R, t, pad.probe, margin, False, hints, found)
    if len(pad.points):
        margin = 0.8 * pad.spacing + near
        found = candidates(pad.points, pad.normals, R, t, target.probe, margin, True, hints, found)
    if not found:
        return []
    spread = max(target.spacing, pad.spacing)
    places = search(target.shape, pad.shape, R, t, hints[:found], spread, near, seeds, only_deepest)
    overlaps = [Overlap(row[:3], row[3:12].reshape(3, 3), row[12:14], float(row[14])) for row in places]
    return sorted(overlaps, key=lambda overlap: -overlap.depth)
