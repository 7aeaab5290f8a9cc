"""Where a pad and an object overlap.   (theory 6.1)

Broad phase: oriented boxes, and of each body only the surface inside the other's box. Narrow phase: surface points of
each against the signed distance of the other; from every promising point the deepest place of the *smooth* surfaces
nearby is sought, so that neither the triangulation nor the spacing of the points decides what is found.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.contact.deepest import NOWHERE, Candidates, Overlap, add_candidates, search
from pliant.contact.gap import SurfacePair
from pliant.contact.surfaces import PreparedObject, Surface

_MOST_SEEDS = 16


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
    known: Overlap | None = None,
) -> list[Overlap]:
    """Every region in which the pad reaches into the object, deepest first.

    Args:
        T_object_pad: pose of the pad's frame in the object's.
        near: also report places where the gap is below this [m], with negative depth.
        seeds: places to search from at most.
        only_deepest: only the first of the answer matters; the others may be rough or missing.
        known: one of the answers, if it is known already; only with ``only_deepest``.
    """
    target = prepared.surface
    R, t = T_object_pad.rotation, T_object_pad.translation
    most = len(target.points) + len(pad.points)
    hints = Candidates(np.empty((most, 3)), np.empty((most, 3)), np.empty(most))
    count = 0
    if len(target.points):
        margin = 0.8 * target.spacing + near
        count = add_candidates(target.points, target.normals, R, t, pad.probe, margin, False, hints, count)
    if len(pad.points):
        margin = 0.8 * pad.spacing + near
        count = add_candidates(pad.points, pad.normals, R, t, target.probe, margin, True, hints, count)
    if not count and known is None:
        return []
    hints = Candidates(hints.points[:count], hints.normals[:count], hints.distances[:count])
    pair = SurfacePair(target.arrays, pad.arrays, R, t)
    found = search(pair, hints, known or NOWHERE, max(target.spacing, pad.spacing), near, seeds, only_deepest)
    depths = found.depths.tolist()
    overlaps = [Overlap(*fields) for fields in zip(found.origins, found.axes, found.halves, depths, strict=True)]
    return sorted(overlaps, key=lambda overlap: -overlap.depth)
