"""The complementarity problem of a whole grasp: grids, kernels, coupling, rigid motions.   (theory 6.2)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pinocchio as pin

from pliant.arrays import Bools, Floats, Ints
from pliant.contact.coupling import Footprint, Resolved, cross_block, cross_compliance, footprint, resolve
from pliant.contact.deepest import Overlap
from pliant.contact.detection import cross
from pliant.contact.gap import ContactGrid, MeasuredGap, SurfacePair, measure
from pliant.contact.pressure import love_matrix, love_table
from pliant.contact.surfaces import PadSurface, PreparedObject
from pliant.elastic import Compliance

_SMALLEST_FOOTPRINT = 1.25
"""Smallest half axis of a footprint in element edges; below, the elements cannot carry its shape."""
_STIFFENING = 0.02
"""What quadratic elements underestimate the half-space part of a footprint by, at a half axis of one edge; cubic
in that ratio."""
_RESOLVE = (0.8, 1.4)
"""Contact radius in element edges from which, and at which fully, the body's response varies over the contact."""
_PUSHED = 0.35
"""Two contacts further from opposed than this (sine of an angle) push the object out even in practice."""
_WEAK = 0.08
"""Rigid motions that change the gaps by less than this (sine of an angle) count as sliding along the contacts."""


@dataclass(frozen=True, eq=False)
class Footprints:
    """A contact's unit force on the elements, at the smallest size they carry and somewhat larger.

    Args:
        origin, axes, radii: where and how large the smaller one was laid.
        spread: the smaller one; None if no part of the surface lies under it.
        wider: the larger one; the same as ``spread`` where the contact itself is large enough.
    """

    origin: Floats
    axes: Floats
    radii: Floats
    spread: Footprint | None
    wider: Footprint | None


@dataclass(frozen=True, eq=False)
class Patch:
    """Where the grid of a contact region lies. Frames are the object's.

    Args:
        pad: index of the pad.
        origin, axes, half: the grid's frame and half widths [m].
        radii: half axes of the pressure, sqrt(5 <x^2>) [m].
        depth: largest penetration, as measured last [m].
        footprints: as laid last; None before that and for a half-space.
    """

    pad: int
    origin: Floats
    axes: Floats
    half: Floats
    radii: Floats
    depth: float
    footprints: Footprints | None = None

    @property
    def spread(self) -> Footprint | None:
        """The footprint that carries the contact's force."""
        return None if self.footprints is None else self.footprints.spread


def patch_of(pad: int, overlap: Overlap) -> Patch:
    """Start from an overlap: a Hertz contact has 1 / sqrt(2) of its width."""
    return Patch(pad, overlap.origin, overlap.axes, overlap.half, overlap.half / (1.15 * np.sqrt(2.0)), overlap.depth)


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """The linear complementarity problem of all patches, and what it was made from.

    Args:
        patches: with their footprints and measured depths.
        gaps: what their grids measured.
        resolved: of those patches that the elements resolve for the greater part.
        compliance: L + H, n x n [m/N].
        penetration: n [m].
        block: n numbers of the patches that the unknowns belong to.
        count: cells along a side of the grids.
    """

    patches: list[Patch]
    gaps: list[MeasuredGap]
    resolved: list[Resolved | None]
    compliance: Floats
    penetration: Floats
    block: Ints
    count: int

    def cell_area(self, k: int) -> float:
        """Area of a cell of patch k [m^2]."""
        half = self.patches[k].half
        return float(4.0 * half[0] * half[1] / self.count**2)


def assemble(
    prepared: PreparedObject,
    pads: list[PadSurface],
    Ts_object_pad: list[pin.SE3],
    patches: list[Patch],
    count: int,
) -> ContactProblem:
    """Lay footprints and grids, measure the gaps, fill L + H."""
    if prepared.body is not None:
        patches = [replace(patch, footprints=footprints_of(prepared.body, patch)) for patch in patches]
    coupling = coupling_matrix(prepared, patches)
    gaps = [_measure(prepared, pads[patch.pad], Ts_object_pad[patch.pad], patch, count) for patch in patches]
    patches = [replace(patch, depth=gap.depth) for patch, gap in zip(patches, gaps, strict=True)]
    sizes = [len(gap.cells) for gap in gaps]
    block = np.repeat(np.arange(len(patches)), sizes)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    compliance = np.empty((len(block), len(block)))
    dents: list[Floats | None] = []
    for a, (patch, gap) in enumerate(zip(patches, gaps, strict=True)):
        at = slice(ends[a], ends[a + 1])
        for b in range(len(patches)):
            if a != b:
                compliance[at, ends[b] : ends[b + 1]] = coupling[a, b]
        dx, dy = 2.0 * patch.half / count
        love_matrix(
            love_table(count, dx, dy),
            gap.cells,
            gap.xy,
            gap.tilt,
            *_half_space_constants(prepared, pads[patch.pad]),
            coupling[a, a],
            compliance[at, at],
        )
        dent = None
        if patch.spread is not None and patch.spread.shallow is not None:
            # what a vessel's wall adds to the half-space between the cells
            dent = patch.spread.shallow.matrix(gap.cells, count, dx, dy) / prepared.young
            compliance[at, at] += dent
        dents.append(dent)
    resolved = _resolve_large(prepared, pads, patches, gaps, compliance, coupling, dents, ends, count)
    penetration = np.concatenate([gap.penetration for gap in gaps])
    return ContactProblem(patches, gaps, resolved, compliance, penetration, block, count)


def _half_space_constants(prepared: PreparedObject, pad: PadSurface) -> tuple[float, float, float]:
    """Normal, mixed and shear compliances of ``love_matrix`` for the two materials [1/Pa]."""
    constants = np.zeros(3)
    for body, sign in ((prepared, 1.0), (pad, -1.0)):
        nu, c = body.poisson, body.compliance
        constants += c, sign * 0.5 * c * (1.0 - 2.0 * nu) / (1.0 - nu), c * nu / (1.0 - nu)
    return float(constants[0]), float(constants[1]), float(constants[2])


def _measure(prepared: PreparedObject, pad: PadSurface, T_object_pad: pin.SE3, patch: Patch, count: int) -> MeasuredGap:
    # the stiffer body shapes the interface
    total = prepared.compliance + pad.compliance
    share = prepared.compliance / total if total > 0.0 else 0.5
    pair = SurfacePair(prepared.surface.arrays, pad.surface.arrays, T_object_pad.rotation, T_object_pad.translation)
    return measure(pair, ContactGrid(patch.origin, patch.axes, patch.half, count), 2.0 * abs(patch.depth), share)


def likely_cells(problem: ContactProblem, *, known: bool) -> Bools:
    """A first guess of the cells in contact: those inside the ellipse of the pressure, if that is known already."""
    # under a Hertz contact the undeformed surfaces overlap by half the depth at its rim
    guess = np.asarray(problem.penetration > 0.5 * np.array([gap.depth for gap in problem.gaps])[problem.block])
    if not known:
        return guess
    start = 0
    for patch, gap in zip(problem.patches, problem.gaps, strict=True):
        here = slice(start, start + len(gap.cells))
        ellipse = ((gap.xy / patch.radii) ** 2).sum(axis=1) < 1.0
        # an edge may have its pressure on one row of cells: an ellipse that falls between the cells says nothing
        if 2 * int(ellipse.sum()) > int(guess[here].sum()):
            guess[here] = ellipse
        start = here.stop
    return guess


def coupling_matrix(prepared: PreparedObject, patches: list[Patch]) -> Floats:
    """h_AB between the patches [m/N]; zero for a half-space.   (theory 6.2, H)

    The elements cannot carry footprints smaller than about their edge. What they add to the half-space varies slowly,
    so its dependence on the footprint is quadratic at first, and from two footprints the value at the true contact
    radius follows.
    """
    body = prepared.body
    if body is None:
        return np.zeros((len(patches), len(patches)))
    laid = [footprints_of(body, patch) for patch in patches]
    fine = _coupling(prepared, patches, [found.spread for found in laid])
    if all(found.wider is found.spread for found in laid):
        return fine
    # position of the true radius on the line through the two squared radii: -1 (a point) to 0 (the smaller footprint)
    least = _SMALLEST_FOOTPRINT * body.edge
    place = np.array([float(np.minimum(patch.radii**2 / least**2 - 1.0, 0.0).mean()) for patch in patches])
    coarse = _coupling(prepared, patches, [found.wider for found in laid])
    return fine + 0.5 * (place[:, None] + place[None, :]) * (coarse - fine)


def footprints_of(body: Compliance, patch: Patch) -> Footprints:
    """The footprints of a patch: those of the pass before if they still serve, else laid anew."""
    least = _SMALLEST_FOOTPRINT * body.edge
    radii = np.maximum(least, patch.radii)
    old = patch.footprints
    if (
        old is not None
        and np.abs(old.radii / radii - 1.0).max() < 0.02
        and np.linalg.norm(old.origin - patch.origin) < 0.03 * least
        and float(old.axes[2] @ patch.axes[2]) > 0.9998
    ):
        return old
    spread = wider = footprint(body, patch.origin, patch.axes, radii)
    if (patch.radii < least).any():
        wide = np.where(patch.radii < least, np.sqrt(2.0) * least, patch.radii)
        wider = footprint(body, patch.origin, patch.axes, wide, None if spread is None else spread.shallow)
    return Footprints(patch.origin, patch.axes, radii, spread, wider)


def _coupling(prepared: PreparedObject, patches: list[Patch], spreads: list[Footprint | None]) -> Floats:
    body = prepared.body
    assert body is not None
    out = np.zeros((len(patches), len(patches)))
    for a, (pa, sa) in enumerate(zip(patches, spreads, strict=True)):
        if sa is None:
            continue
        for b, (pb, sb) in enumerate(zip(patches[: a + 1], spreads, strict=False)):
            if sb is None:
                continue
            na, nb = -pa.axes[2], -pb.axes[2]
            value = (
                cross_compliance(body.matrix, sa.corners, sa.weights, na, sb.corners, sb.weights, nb) / prepared.young
            )
            if a == b:
                value -= (
                    1.0 - stiffening(body, pa.radii)
                ) * sa.halfspace * prepared.compliance + sa.dent / prepared.young
            out[a, b] = out[b, a] = value
    return out


def _resolve_large(
    prepared: PreparedObject,
    pads: list[PadSurface],
    patches: list[Patch],
    gaps: list[MeasuredGap],
    compliance: Floats,
    coupling: Floats,
    dents: list[Floats | None],
    ends: Ints,
    count: int,
) -> list[Resolved | None]:
    """Where a contact spans several elements, let the body's response vary over it: blend its rows and columns.

    Returns:
        The patches resolved for the greater part.
    """
    body = prepared.body
    if body is None:
        return [None] * len(patches)
    shares: list[float] = []
    resolved: list[Resolved | None] = []
    for patch, gap in zip(patches, gaps, strict=True):
        # a patch whose cells have all come free has nothing to resolve
        share = _resolved_share(body, patch) if patch.spread is not None and len(gap.cells) else 0.0
        grid = ContactGrid(patch.origin, patch.axes, patch.half, count)
        shares.append(share)
        resolved.append(
            resolve(body, grid, gap.cells, patch.spread) if share > 0.0 and patch.spread is not None else None
        )
    at = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    normals = [interface_normals(patch, gap) for patch, gap in zip(patches, gaps, strict=True)]
    loads = [None if r is None else _along(r.weights, n) for r, n in zip(resolved, normals, strict=True)]
    for a, (ra, left) in enumerate(zip(resolved, loads, strict=True)):
        if ra is None or left is None:
            continue
        for b, (rb, right) in enumerate(zip(resolved, loads, strict=True)):
            spread = patches[b].spread
            if spread is None or (rb is not None and b < a):
                continue
            if rb is None or right is None:
                # all of its cells act on the footprint alike, each along its own normal
                along = _along(np.tile(spread.weights, (3, 1)), np.eye(3))
                value = cross_block(body, ra.corners, left, spread.corners, along) @ normals[b].T
            else:
                value = cross_block(body, ra.corners, left, rb.corners, right)
            value /= prepared.young
            place = at[a], at[b]
            if a == b:
                mine = prepared.compliance / (prepared.compliance + pads[patches[a].pad].compliance)
                local, dent = compliance[place] - coupling[a, a], dents[a]
                if dent is not None:
                    # shell elements hold nothing of the half-space, and of the dent what the corners can show
                    value += local - 0.99 * dent + 0.99 * ra.rough_part(dent)
                else:
                    value += (1.0 - mine + 0.01 * mine) * local + 0.99 * mine * ra.rough_part(local)
            share = min(shares[a], shares[b]) if rb is not None else shares[a]
            compliance[place] += share * (value - compliance[place])
            if a != b:
                compliance[at[b], at[a]] = compliance[place].T
    return [found if share >= 0.5 else None for found, share in zip(resolved, shares, strict=True)]


def interface_normals(patch: Patch, gap: MeasuredGap) -> Floats:
    """k x 3: the tilted normals of the interface, along which the cells' forces act."""
    return np.asarray(patch.axes[2] - gap.tilt @ patch.axes[:2])


def _along(weights: Floats, directions: Floats) -> Floats:
    """Loads (k x 3 corners) of forces along k directions, shared by the corners as the k x corners weights say."""
    return (weights[:, :, None] * directions[:, None, :]).reshape(len(weights), -1)


def _resolved_share(body: Compliance, patch: Patch) -> float:
    """0 for contacts of an element or so, 1 for those over several, smoothly between."""
    t = float(np.clip((patch.radii.max() / body.edge - _RESOLVE[0]) / (_RESOLVE[1] - _RESOLVE[0]), 0.0, 1.0))
    return t * t * (3.0 - 2.0 * t)


def stiffening(body: Compliance, radii: Floats) -> float:
    """Part of a footprint's half-space compliance that the elements are too coarse to show."""
    size = np.sqrt(np.prod(np.maximum(radii, _SMALLEST_FOOTPRINT * body.edge)))
    return float(_STIFFENING * (body.edge / size) ** 3)


def gap_modes(patches: list[Patch], scale: float) -> tuple[Floats, Floats]:
    """Rigid motions of the object that change gaps.   (theory 6.2, several contacts)

    Returns:
        patterns: k x r, what a unit of each motion adds to the penetration of each patch.
        motions: 6 x r, the motions: translation, rotation vector about the object's origin, in the object's frame.
    """
    rows = np.array([np.concatenate([p.axes[2], cross(p.origin, p.axes[2]) / scale]) for p in patches])
    u, s, vt = np.linalg.svd(rows, full_matrices=False)
    keep = s > _WEAK * s[0]
    if keep.all() and len(patches) == len(s) > 1 and s[-1] < _PUSHED * s[0]:
        # contacts that nearly oppose each other: the last motion slides along them, which any friction stops
        keep[-1] = False
    motions = (vt[keep] / s[keep, None]).T
    motions[3:] /= scale
    return u[:, keep], motions
