"""What the whole body adds to the half-space under each contact, and what contacts do to each other.   (theory 6.2, H)

    h_AB = b_A . C b_B  (A != B),      h_AA = b_A . C b_A - (what L already contains of it).

b_A is a unit force along -n_A, spread as sqrt(1 - r^2 / rho^2). What the finite elements see of it is its projection on
piecewise linear tractions; the half-space part taken out is that of the projected traction, not of the ideal one, so
that the coarseness of the elements cancels instead of ending up in the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pliant.arrays import Floats, Ints
from pliant.compiled import kernel
from pliant.contact.gap import ContactGrid, cells_under, face_in_frame
from pliant.contact.pressure import compiled_love_table
from pliant.contact.region import SurfaceLoad
from pliant.contact.wall import ShallowWall, shallow_wall
from pliant.elastic import Compliance, ElementSurface

_GRID = 20
_FINER = 3
_TAIL = 2.0
"""How far, in edge lengths, the projected traction is followed beyond its footprint."""


@dataclass(frozen=True, eq=False)
class Footprint:
    """A unit force spread over an ellipse of the finite-element surface.

    Args:
        corners: k corners that carry it.
        weights: k shares, sum 1.
        halfspace: mean normal displacement of a half-space with E* = 1 under the same (projected) traction [1/m].
        thickness: material behind it, averaged over the shares [m].
        shallow: for a vessel, the wall's local kernel.
        dent: its mean normal displacement under the same traction, times E [1/m].
    """

    corners: Ints
    weights: Floats
    halfspace: float
    thickness: float
    shallow: ShallowWall | None = None
    dent: float = 0.0


@dataclass(frozen=True, eq=False)
class Resolved:
    """A contact so large that the elements resolve it: every grid cell has its own place on the body.

    Args:
        corners: k corners under the contact.
        weights: cells x k shares of the cells' forces.
        smooth: cells x r, orthonormal: the cell forces that the elements can show, the columns' span of the weights.
    """

    corners: Ints
    weights: Floats
    smooth: Floats

    def rough_part(self, matrix: Floats) -> Floats:
        """R A R of a symmetric matrix A, where R = I - Q Q^T projects on what the elements cannot show."""
        q = self.smooth
        half = matrix @ q
        half -= 0.5 * (q @ (q.T @ half))
        taken = half @ q.T
        return np.asarray(matrix - taken - taken.T)


class HatRaster(NamedTuple):
    """Which finite-element triangle lies over each cell of a grid."""

    owner: Ints  # triangle, -1: none
    bary: Floats  # cells x 2: its last two barycentric coordinates there
    stretch: Floats  # its area per area of the tangent plane


def footprint(
    body: Compliance, origin: Floats, axes: Floats, radii: Floats, shallow: ShallowWall | None = None
) -> Footprint | None:
    """Spread a unit force over the ellipse with the given half axes (at least one element edge each) about ``origin``.

    Args:
        origin: centre, in the object's frame [m].
        axes: rows: the ellipse's x and y, and the outward normal.
        radii: half axes [m].
        shallow: the wall's kernel of a footprint at the same place, to be used here too.

    Returns:
        None if no part of the surface lies under the ellipse.
    """
    weights = np.zeros(len(body.points))
    _spread(body.elements, origin, axes, radii, weights)
    total = weights.sum()
    if not total > 0.0:
        return None
    corners = np.flatnonzero(weights)
    shares = weights[corners] / total
    traction = shares.astype(np.float32) @ body.inverse_mass[corners]
    grid = _wide_grid(body, origin, axes, radii)
    raster = hat_raster(body.elements, grid)
    if not (raster.owner >= 0).any():
        return None  # seen along its normal, nothing of the surface lies there
    if body.wall is not None:
        # a shell has no half-space in it; what its corners see of the wall's own dent is taken out instead
        shallow = shallow or shallow_wall(body, corners, shares, axes, float(grid.half.max()))
        forces = _grid_forces(body, raster, traction)
        dent = shallow.energy(forces.reshape(_GRID, _GRID), *(2.0 * grid.half / _GRID))
        return Footprint(corners, shares, 0.0, body.wall.thickness, shallow, dent)
    energy = _halfspace_energy(grid.half, grid.side, body.faces, raster, traction)
    # infinite thickness (a ray that found no exit) says nothing about the wall
    wall = body.thickness[corners]
    known = np.isfinite(wall)
    share = float(shares[known].sum())
    return Footprint(corners, shares, energy, float(wall[known] @ shares[known]) / share if share > 0.0 else np.inf)


def _wide_grid(body: Compliance, origin: Floats, axes: Floats, radii: Floats) -> ContactGrid:
    """A grid that holds a footprint and most of what its projected traction spreads beyond it."""
    return ContactGrid(origin, axes, radii + _TAIL * body.edge, _GRID)


def _grid_forces(body: Compliance, raster: HatRaster, traction: NDArray[np.float32]) -> Floats:
    """Forces of the grid's cells under the traction given at the corners, total 1."""
    shares = np.column_stack([1.0 - raster.bary.sum(axis=1), raster.bary])
    value = np.einsum("ck,ck->c", shares, traction[body.faces[raster.owner]])
    force = np.where(raster.owner >= 0, value * raster.stretch, 0.0)
    return np.asarray(force / force.sum())


def fine_dent(
    body: Compliance, origin: Floats, axes: Floats, load: SurfaceLoad, cells: Floats, forces: Floats, points: Floats
) -> tuple[Ints, Floats]:
    """The part of a vessel's dent that is finer than its corners.

    Args:
        origin, axes: of the contact, in the object's frame.
        load: the force as the corners see it.
        cells, forces: places (k x 3) and forces [N] of the contact's cells.
        points: n x 3 where it is wanted.

    Returns:
        numbers: of the points that it moves.
        inward: how far, along the inward normal, times E [N/m].
    """
    along = load.forces @ axes[2]
    corners, shares = load.corners, along / along.sum()
    grid = _wide_grid(body, origin, axes, load.radii)
    half = grid.half
    traction = shares.astype(np.float32) @ body.inverse_mass[corners]
    seen = _grid_forces(body, hat_raster(body.elements, grid), traction) * forces.sum()
    steps = (np.arange(_GRID) + 0.5) * 2.0 / _GRID - 1.0
    x, y = np.meshgrid(steps * half[0], steps * half[1], indexing="ij")
    local = (points - origin) @ axes.T
    near = np.flatnonzero((np.abs(local[:, :2]) < half).all(axis=1) & (np.abs(local[:, 2]) < half.max()))
    at = np.concatenate([((cells - origin) @ axes.T)[:, :2], np.column_stack([x.ravel(), y.ravel()])])
    shallow = shallow_wall(body, corners, shares, axes, float(half.max()))
    return near, shallow.deflection(at, np.concatenate([forces, -seen]), local[near, :2])


def resolve(body: Compliance, grid: ContactGrid, cells: Ints, spread: Footprint) -> Resolved:
    """Give every cell of a contact's grid its own place on the body.

    The response to what the elements can show of the cell forces is theirs, W C W^T; the rest is rougher than an
    element and meets the half-space's kernel, projected. The sum is positive definite by construction.

    Args:
        grid: of the contact.
        cells: those of its cells that may carry pressure.
        spread: what a cell falls back to where the finite-element surface does not lie under it.
    """
    # a cell's force is spread over the cell: sample it at _FINER^2 places
    raster = hat_raster(body.elements, grid._replace(side=_FINER * grid.side))
    column = np.full(len(body.points), -1)
    column[spread.corners] = 0
    weights = _cell_shares(body.elements.faces, raster, cells, grid.side, column)
    total = weights.sum(axis=1)
    weights[total > 0.0] /= total[total > 0.0, None]
    weights[np.ix_(total == 0.0, column[spread.corners])] = spread.weights
    values, vectors = np.linalg.eigh(weights.T @ weights)
    kept = values > 1e-6 * values[-1]  # singular values of the weights down to a thousandth of the largest
    smooth = weights @ (vectors[:, kept] / np.sqrt(values[kept]))
    return Resolved(np.flatnonzero(column >= 0), weights, smooth)


@kernel
def _cell_shares(faces: Ints, raster: HatRaster, cells: Ints, count: int, column: Ints) -> Floats:
    """What the corners carry of each cell's force, not yet normalised: cells x corners.

    Args:
        raster: on the grid _FINER times as fine.
        column: of each corner of the body; on entry 0 for those wanted in any case and -1 for the others.
    """
    fine = _FINER * count
    for a in range(len(cells) * _FINER * _FINER):
        f = raster.owner[_place(cells, a, count, fine)]
        if f >= 0:
            for k in range(3):
                column[faces[f, k]] = 0
    number = 0
    for corner in range(len(column)):
        if column[corner] >= 0:
            column[corner] = number
            number += 1
    out = np.zeros((len(cells), number))
    for a in range(len(cells) * _FINER * _FINER):
        place = _place(cells, a, count, fine)
        f = raster.owner[place]
        if f >= 0:
            row, b1, b2 = a // (_FINER * _FINER), raster.bary[place, 0], raster.bary[place, 1]
            out[row, column[faces[f, 0]]] += 1.0 - b1 - b2
            out[row, column[faces[f, 1]]] += b1
            out[row, column[faces[f, 2]]] += b2
    return out


@njit(cache=True, inline="always")
def _place(cells: Ints, a: int, count: int, fine: int) -> int:
    """Cell of the finer grid for place number ``a`` of all cells."""
    cell, inner = cells[a // (_FINER * _FINER)], a % (_FINER * _FINER)
    return (_FINER * (cell // count) + inner // _FINER) * fine + _FINER * (cell % count) + inner % _FINER


def cross_block(body: Compliance, at: Ints, left: Floats, bt: Ints, right: Floats) -> Floats:
    """Compliance (E = 1) between loads on two sets of corners [1/m].

    Args:
        at, bt: corner numbers.
        left, right: loads x (3 corners): forces on the corners.
    """
    rows = (3 * at[:, None] + np.arange(3)).ravel()
    columns = (3 * bt[:, None] + np.arange(3)).ravel()
    block = body.matrix[rows[:, None], columns[None, :]].astype(np.float64)
    return np.asarray(left @ block @ right.T)


@kernel
def _spread(elements: ElementSurface, origin: Floats, axes: Floats, radii: Floats, weights: Floats) -> None:
    """Shares of the corners: integrals of sqrt(1 - r^2 / rho^2) times their hat functions over the curved patches."""
    _, faces, patches, centres, reach = elements
    divisions = 6
    largest = max(radii[0], radii[1])
    deep = 1.2 * largest
    x6 = np.empty(6)
    d1 = np.empty(6)
    d2 = np.empty(6)
    p = np.empty(3)
    e1 = np.empty(3)
    e2 = np.empty(3)
    for f in range(len(faces)):
        far = np.sqrt(largest**2 + deep**2) + reach[f]
        a, b, c = centres[f, 0] - origin[0], centres[f, 1] - origin[1], centres[f, 2] - origin[2]
        if a * a + b * b + c * c > far * far:
            continue
        for i in range(divisions):
            for j in range(2 * (divisions - i) - 1):
                # centroids of the small triangles, pointing up (even j) and down (odd j)
                shift = 1.0 / 3.0 if j % 2 == 0 else 2.0 / 3.0
                l1 = (i + shift) / divisions
                l2 = (j // 2 + shift) / divisions
                l0 = 1.0 - l1 - l2
                x6[0], x6[1], x6[2] = l0 * (2 * l0 - 1), l1 * (2 * l1 - 1), l2 * (2 * l2 - 1)
                x6[3], x6[4], x6[5] = 4 * l0 * l1, 4 * l1 * l2, 4 * l2 * l0
                d1[0], d1[1], d1[2], d1[3], d1[4], d1[5] = 1 - 4 * l0, 4 * l1 - 1, 0.0, 4 * (l0 - l1), 4 * l2, -4 * l2
                d2[0], d2[1], d2[2], d2[3], d2[4], d2[5] = 1 - 4 * l0, 0.0, 4 * l2 - 1, -4 * l1, 4 * l1, 4 * (l0 - l2)
                for m in range(3):
                    p[m] = -origin[m]
                    e1[m] = 0.0
                    e2[m] = 0.0
                    for k in range(6):
                        p[m] += x6[k] * patches[f, k, m]
                        e1[m] += d1[k] * patches[f, k, m]
                        e2[m] += d2[k] * patches[f, k, m]
                u = (axes[0, 0] * p[0] + axes[0, 1] * p[1] + axes[0, 2] * p[2]) / radii[0]
                v = (axes[1, 0] * p[0] + axes[1, 1] * p[1] + axes[1, 2] * p[2]) / radii[1]
                q = 1.0 - u * u - v * v
                if q <= 0.0:
                    continue
                depth = axes[2, 0] * p[0] + axes[2, 1] * p[1] + axes[2, 2] * p[2]
                if abs(depth) > deep:
                    continue
                nx = e1[1] * e2[2] - e1[2] * e2[1]
                ny = e1[2] * e2[0] - e1[0] * e2[2]
                nz = e1[0] * e2[1] - e1[1] * e2[0]
                up = axes[2, 0] * nx + axes[2, 1] * ny + axes[2, 2] * nz
                if up <= 0.2 * np.sqrt(nx * nx + ny * ny + nz * nz):
                    continue
                w = np.sqrt(q) * up
                weights[faces[f, 0]] += w * l0
                weights[faces[f, 1]] += w * l1
                weights[faces[f, 2]] += w * l2


@kernel
def hat_raster(elements: ElementSurface, grid: ContactGrid) -> HatRaster:
    """The triangle over each cell of a grid in the object's frame."""
    points, faces, _, centres, reach = elements
    origin, axes, half, count = grid
    dx, dy = 2.0 * half[0] / count, 2.0 * half[1] / count
    radius = np.sqrt(half[0] ** 2 + half[1] ** 2)
    deep = 1.2 * max(half[0], half[1])
    owner, best = np.empty(count * count, dtype=np.int64), np.empty(count * count)
    bary, stretch = np.zeros((count * count, 2)), np.zeros(count * count)
    for cell in range(count * count):
        owner[cell], best[cell] = -1, np.inf
    local = np.empty((3, 3))
    for f in range(len(faces)):
        far = radius + reach[f]
        d0, d1, d2 = centres[f, 0] - origin[0], centres[f, 1] - origin[1], centres[f, 2] - origin[2]
        distance = d0 * d0 + d1 * d1 + d2 * d2
        up = d0 * axes[2, 0] + d1 * axes[2, 1] + d2 * axes[2, 2]
        if distance - up * up > far * far or abs(up) > deep + reach[f]:
            continue
        face_in_frame(points, faces, f, origin, axes, local)
        ux, uy, uz = local[1, 0] - local[0, 0], local[1, 1] - local[0, 1], local[1, 2] - local[0, 2]
        vx, vy, vz = local[2, 0] - local[0, 0], local[2, 1] - local[0, 1], local[2, 2] - local[0, 2]
        det = ux * vy - uy * vx
        nx, ny = uy * vz - uz * vy, uz * vx - ux * vz
        size = np.sqrt(nx * nx + ny * ny + det * det)
        if det <= 0.2 * size:
            continue
        i0, i1, j0, j1 = cells_under(local, half, count, 0.0)
        for i in range(i0, i1 + 1):
            x = -half[0] + (i + 0.5) * dx - local[0, 0]
            for j in range(j0, j1 + 1):
                y = -half[1] + (j + 0.5) * dy - local[0, 1]
                b1 = (x * vy - y * vx) / det
                b2 = (ux * y - uy * x) / det
                if b1 < 0.0 or b2 < 0.0 or b1 + b2 > 1.0:
                    continue
                height = abs(local[0, 2] + b1 * uz + b2 * vz)
                cell = i * count + j
                if height < best[cell] and height < deep:
                    best[cell] = height
                    owner[cell] = f
                    bary[cell, 0] = b1
                    bary[cell, 1] = b2
                    stretch[cell] = size / det
    return HatRaster(owner, bary, stretch)


@kernel
def _halfspace_energy(half: Floats, count: int, faces: Ints, raster: HatRaster, traction: NDArray[np.float32]) -> float:
    """f . L f on a grid in the tangent plane for the traction given at the corners (E* = 1, total force 1)."""
    force, total = np.zeros(count * count), 0.0
    for cell in range(count * count):
        f = raster.owner[cell]
        if f >= 0:
            b1, b2 = raster.bary[cell, 0], raster.bary[cell, 1]
            value = (1.0 - b1 - b2) * traction[faces[f, 0]] + b1 * traction[faces[f, 1]] + b2 * traction[faces[f, 2]]
            force[cell] = value * raster.stretch[cell]
            total += force[cell]
    table = compiled_love_table(count, 2.0 * half[0] / count, 2.0 * half[1] / count)
    energy = 0.0
    for ia in range(count):
        for ja in range(count):
            value = force[ia * count + ja]
            if value == 0.0:
                continue
            part = 0.5 * table[0, 0] * value
            for ib in range(ia + 1):
                for jb in range(ja if ib == ia else count):
                    part += table[ia - ib, abs(ja - jb)] * force[ib * count + jb]
            energy += 2.0 * value * part
    return energy / (total * total)


@kernel
def cross_compliance(
    matrix: NDArray[np.float32], at: Ints, wa: Floats, na: Floats, bt: Ints, wb: Floats, nb: Floats
) -> float:
    """a . C b for forces along ``na`` shared by corners ``at`` and along ``nb`` shared by ``bt`` (E = 1) [1/m]."""
    total = 0.0
    for i in range(len(at)):
        for p in range(3):
            row, part = 3 * at[i] + p, 0.0
            for j in range(len(bt)):
                k = 3 * bt[j]
                part += wb[j] * (matrix[row, k] * nb[0] + matrix[row, k + 1] * nb[1] + matrix[row, k + 2] * nb[2])
            total += wa[i] * na[p] * part
    return total
