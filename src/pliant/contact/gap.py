"""Heights of smooth surfaces over one grid in their common tangent plane.   (theory 6.2, local problem)

A contact frame has its origin near the middle of the overlap and z along the object's outward normal. The object's
surface faces +z, the pad's faces -z; what the pad's surface lies below the object's is the penetration.

Everything here is compiled; Python calls only ``measure``. Loops over scalars compile in a fraction of the time that
expressions of whole arrays take, here and wherever these functions are called.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pliant.arrays import Bools, Floats, Ints
from pliant.compiled import inner, kernel

MESH, SPHERE, PLANE = 0, 1, 2


class SurfaceArrays(NamedTuple):
    """A surface as compiled code takes it; spheres and planes have no faces."""

    kind: int
    radius: float
    vertices: Floats
    faces: Ints
    face_normals: Floats
    corners: Ints  # quadrics of the faces' corners
    quadrics: Floats
    sizes: Floats  # of the faces
    centres: Floats  # of the faces, with ``reach`` the balls around them
    reach: Floats


class SurfacePair(NamedTuple):
    """Object and pad, and the pose of the pad's frame in the object's."""

    target: SurfaceArrays
    pad: SurfaceArrays
    rotation: Floats
    translation: Floats


class ContactGrid(NamedTuple):
    """A square of cells in the tangent plane of a contact."""

    origin: Floats  # of the contact frame [m]
    axes: Floats  # rows: x, y, z of the contact frame
    half: Floats  # half widths along x and y [m]
    side: int  # cells along a side


class Heights(NamedTuple):
    """A surface over the cells of a grid."""

    z: Floats  # [m], NaN: no surface there on the facing side
    slope: Floats  # cells x 2: dz/dx, dz/dy
    owner: Ints  # face, -1: none


class Penetrations(NamedTuple):
    """Object and pad over the cells of a grid."""

    depth: Floats  # [m], NaN: no pair of surfaces there
    target: Heights
    pad: Heights


class MeasuredGap(NamedTuple):
    """What a contact's grid measures of the undeformed surfaces, at the k cells that may carry pressure."""

    depth: float  # largest penetration [m], zero if the surfaces do not face each other
    cells: Ints  # k, i * side + j
    penetration: Floats  # k [m]
    xy: Floats  # k x 2 positions in the grid's plane [m]
    slope: Floats  # k x 2 slopes of the interface, undeformed
    tilt: Floats  # k x 2 slopes of the interface under load
    height: Floats  # k, halfway between the surfaces [m]
    owner: Ints  # k faces of the pad


@inner
def faces_near(surface: SurfaceArrays, among: Ints, origin: Floats, distance: float) -> Ints:
    """Those of the faces ``among`` that may come closer to a point than this [m], in the same order."""
    sizes, centres, reach = surface.sizes, surface.centres, surface.reach
    out = np.empty(len(among), dtype=np.int64)
    found = 0
    for f in among:
        far = distance + reach[f] + 0.5 * sizes[f]
        d0, d1, d2 = centres[f, 0] - origin[0], centres[f, 1] - origin[1], centres[f, 2] - origin[2]
        if d0 * d0 + d1 * d1 + d2 * d2 <= far * far:
            out[found] = f
            found += 1
    return out[:found]


@inner
def in_pad_frame(pair: SurfacePair, point: Floats) -> Floats:
    """A point of the object's frame in the pad's."""
    local = np.zeros(3)
    for k in range(3):
        for m in range(3):
            local[k] += pair.rotation[m, k] * (point[m] - pair.translation[m])
    return local


@inner
def _heights(surface: SurfaceArrays, near: Ints, grid: ContactGrid, facing: float, window: float) -> Heights:
    """Heights of a surface over a grid in the surface's own frame.

    Args:
        near: all faces within the grid's half diagonal plus ``window`` of the origin, from ``faces_near``.
        facing: +1 takes surface facing +z, -1 facing -z.
        window: surface further than this from the plane is another's business [m].
    """
    cells = grid.side * grid.side
    out = Heights(np.empty(cells), np.empty((cells, 2)), np.empty(cells, dtype=np.int64))
    if surface.kind == MESH:
        _raster(surface, near, grid, facing, window, out)
    else:
        _simple_heights(surface.kind, surface.radius, grid, facing, out)
    return out


@inner
def penetrations(pair: SurfacePair, near: Ints, pad_near: Ints, grid: ContactGrid, window: float) -> Penetrations:
    """Penetration over a grid in the object's frame; the other arguments as of ``_heights``."""
    target = _heights(pair.target, near, grid, 1.0, window)
    local, turned = in_pad_frame(pair, grid.origin), np.zeros((3, 3))
    for j in range(3):
        for m in range(3):
            for k in range(3):
                turned[k, j] += grid.axes[k, m] * pair.rotation[m, j]
    pad = _heights(pair.pad, pad_near, ContactGrid(local, turned, grid.half, grid.side), -1.0, window)
    depth = np.empty(len(target.z))
    for cell in range(len(depth)):
        depth[cell] = target.z[cell] - pad.z[cell]
    return Penetrations(depth, target, pad)


@njit(cache=True, inline="always")
def face_in_frame(points: Floats, faces: Ints, f: int, origin: Floats, axes: Floats, out: Floats) -> None:
    """Write the three corners of a face in the frame with these rows."""
    for c in range(3):
        for k in range(3):
            out[c, k] = 0.0
            for m in range(3):
                out[c, k] += axes[k, m] * (points[faces[f, c], m] - origin[m])


@njit(cache=True, inline="always")
def cells_under(corners: Floats, half: Floats, count: int, slack: float) -> tuple[int, int, int, int]:
    """First and last i, first and last j of the cells whose middles may lie under a triangle; ``slack`` in cells."""
    dx, dy = 2.0 * half[0] / count, 2.0 * half[1] / count
    low_x = min(corners[0, 0], corners[1, 0], corners[2, 0])
    high_x = max(corners[0, 0], corners[1, 0], corners[2, 0])
    low_y = min(corners[0, 1], corners[1, 1], corners[2, 1])
    high_y = max(corners[0, 1], corners[1, 1], corners[2, 1])
    return (
        max(0, int(np.ceil((low_x + half[0]) / dx - 0.5 - slack))),
        min(count - 1, int(np.floor((high_x + half[0]) / dx - 0.5 + slack))),
        max(0, int(np.ceil((low_y + half[1]) / dy - 0.5 - slack))),
        min(count - 1, int(np.floor((high_y + half[1]) / dy - 0.5 + slack))),
    )


@inner
def _raster(surface: SurfaceArrays, near: Ints, grid: ContactGrid, facing: float, window: float, out: Heights) -> None:
    """Heights of a smooth mesh surface; NaN where there is no surface on the facing side."""
    _, _, vertices, faces, face_normals, corners, quadrics, sizes, centres, reach = surface
    origin, axes, half, count = grid
    z, slope, owner = out
    best, bary = np.empty(len(z)), np.empty((len(z), 2))
    for cell in range(len(z)):
        z[cell], owner[cell], best[cell] = np.nan, -1, np.inf
    radius = np.sqrt(half[0] ** 2 + half[1] ** 2)
    dx, dy = 2.0 * half[0] / count, 2.0 * half[1] / count
    local = np.empty((3, 3))
    for f in near:
        far = radius + window + reach[f] + 0.5 * sizes[f]
        d0, d1, d2 = centres[f, 0] - origin[0], centres[f, 1] - origin[1], centres[f, 2] - origin[2]
        if d0 * d0 + d1 * d1 + d2 * d2 > far * far:
            continue
        up = face_normals[f, 0] * axes[2, 0] + face_normals[f, 1] * axes[2, 1] + face_normals[f, 2] * axes[2, 2]
        if up * facing < 0.05:
            continue
        face_in_frame(vertices, faces, f, origin, axes, local)
        i0, i1, j0, j1 = cells_under(local, half, count, 1e-9)
        if i1 < i0 or j1 < j0:
            continue
        ux, uy = local[1, 0] - local[0, 0], local[1, 1] - local[0, 1]
        vx, vy = local[2, 0] - local[0, 0], local[2, 1] - local[0, 1]
        det = ux * vy - uy * vx
        if abs(det) < 1e-300:
            continue
        for i in range(i0, i1 + 1):
            x = -half[0] + (i + 0.5) * dx - local[0, 0]
            for j in range(j0, j1 + 1):
                y = -half[1] + (j + 0.5) * dy - local[0, 1]
                b1 = (x * vy - y * vx) / det
                b2 = (ux * y - uy * x) / det
                if b1 < -1e-9 or b2 < -1e-9 or b1 + b2 > 1.0 + 1e-9:
                    continue
                height = local[0, 2] + b1 * (local[1, 2] - local[0, 2]) + b2 * (local[2, 2] - local[0, 2])
                cell = i * count + j
                # the smooth surface may lie off its facet by a part of the facet's size
                if abs(height) < best[cell] and abs(height) < window + 0.5 * sizes[f]:
                    best[cell] = abs(height)
                    z[cell] = height
                    owner[cell] = f
                    bary[cell, 0] = b1
                    bary[cell, 1] = b2
    a0, a1, a2 = axes[2, 0], axes[2, 1], axes[2, 2]
    for cell in range(len(z)):
        f = owner[cell]
        if f < 0:
            slope[cell, 0] = 0.0
            slope[cell, 1] = 0.0
            continue
        i, j = cell // count, cell % count
        x, y = -half[0] + (i + 0.5) * dx, -half[1] + (j + 0.5) * dy
        b1, b2 = max(bary[cell, 0], 0.0), max(bary[cell, 1], 0.0)
        b0 = max(1.0 - bary[cell, 0] - bary[cell, 1], 0.0)
        total = b0 * b0 + b1 * b1 + b2 * b2
        start = z[cell]
        p0 = origin[0] + x * axes[0, 0] + y * axes[1, 0] + start * a0
        p1 = origin[1] + x * axes[0, 1] + y * axes[1, 1] + start * a1
        p2 = origin[2] + x * axes[0, 2] + y * axes[1, 2] + start * a2
        # along the vertical the blend of quadrics (``SmoothSurface``) is a parabola: value, gradient, its change
        phi0, g0, g1, g2, h0, h1, h2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(3):
            b = b0 if c == 0 else b1 if c == 1 else b2
            w = b * b / total
            if w == 0.0:
                continue
            q = corners[f, c]
            d0, d1, d2 = p0 - quadrics[q, 0], p1 - quadrics[q, 1], p2 - quadrics[q, 2]
            xx, yy, zz = quadrics[q, 7], quadrics[q, 8], quadrics[q, 9]
            xy, xz, yz = quadrics[q, 10], quadrics[q, 11], quadrics[q, 12]
            k0, k1, k2 = xx * d0 + xy * d1 + xz * d2, xy * d0 + yy * d1 + yz * d2, xz * d0 + yz * d1 + zz * d2
            l0, l1, l2 = quadrics[q, 4], quadrics[q, 5], quadrics[q, 6]
            phi0 += w * (quadrics[q, 3] + (l0 + 0.5 * k0) * d0 + (l1 + 0.5 * k1) * d1 + (l2 + 0.5 * k2) * d2)
            g0 += w * (l0 + k0)
            g1 += w * (l1 + k1)
            g2 += w * (l2 + k2)
            h0 += w * (xx * a0 + xy * a1 + xz * a2)
            h1 += w * (xy * a0 + yy * a1 + yz * a2)
            h2 += w * (xz * a0 + yz * a1 + zz * a2)
        along, bend = g0 * a0 + g1 * a1 + g2 * a2, h0 * a0 + h1 * a1 + h2 * a2
        rise, at, gz = 0.0, 0.0, 0.0
        for _ in range(3):
            at = rise
            gz = along + bend * at
            if gz * facing < 0.05:
                break
            rise -= (phi0 + (along + 0.5 * bend * at) * at) / gz
        g0, g1, g2 = g0 + at * h0, g1 + at * h1, g2 + at * h2
        if gz * facing < 0.05 or abs(rise) > 0.5 * sizes[f]:
            rise = 0.0
            g0, g1, g2 = face_normals[f, 0], face_normals[f, 1], face_normals[f, 2]
            gz = g0 * a0 + g1 * a1 + g2 * a2
        z[cell] = start + rise
        slope[cell, 0] = -(g0 * axes[0, 0] + g1 * axes[0, 1] + g2 * axes[0, 2]) / gz
        slope[cell, 1] = -(g0 * axes[1, 0] + g1 * axes[1, 1] + g2 * axes[1, 2]) / gz


@inner
def _simple_heights(kind: int, radius: float, grid: ContactGrid, facing: float, out: Heights) -> None:
    """Heights of a sphere about the surface's own origin, or of its plane z = 0 with the outward normal z."""
    origin, axes, half, count = grid
    dx, dy = 2.0 * half[0] / count, 2.0 * half[1] / count
    cx = -(axes[0, 0] * origin[0] + axes[0, 1] * origin[1] + axes[0, 2] * origin[2])
    cy = -(axes[1, 0] * origin[0] + axes[1, 1] * origin[1] + axes[1, 2] * origin[2])
    cz = -(axes[2, 0] * origin[0] + axes[2, 1] * origin[1] + axes[2, 2] * origin[2])
    up = axes[2, 2]
    for cell in range(len(out.z)):
        x = -half[0] + (cell // count + 0.5) * dx
        y = -half[1] + (cell % count + 0.5) * dy
        out.z[cell], out.slope[cell, 0], out.slope[cell, 1], out.owner[cell] = np.nan, 0.0, 0.0, -1
        if kind == SPHERE:
            x, y = x - cx, y - cy
            inside = radius * radius - x * x - y * y
            if inside > 1e-4 * radius * radius:
                root = np.sqrt(inside)
                out.z[cell] = cz + facing * root
                out.slope[cell, 0] = -facing * x / root
                out.slope[cell, 1] = -facing * y / root
                out.owner[cell] = 0
        elif not up * facing < 0.05:
            out.z[cell] = -(origin[2] + x * axes[0, 2] + y * axes[1, 2]) / up
            out.slope[cell, 0] = -axes[0, 2] / up
            out.slope[cell, 1] = -axes[1, 2] / up
            out.owner[cell] = 0


@inner
def deepest_cell(depth: Floats) -> int:
    """The cell of the largest penetration; -1 if there is no pair of surfaces anywhere."""
    # a number, not a constant: for a constant ``connected_cells`` is compiled once more
    seed = np.int64(-1)
    for cell in range(len(depth)):
        if not np.isnan(depth[cell]) and (seed < 0 or depth[cell] > depth[seed]):
            seed = np.int64(cell)
    return int(seed)


@inner
def connected_cells(depth: Floats, count: int, seed: int) -> Bools:
    """The connected part (four neighbours) of the cells that overlap which holds the seed cell."""
    out, stack = np.empty(len(depth), dtype=np.bool_), np.empty(len(depth), dtype=np.int64)
    for cell in range(len(depth)):
        out[cell] = False
    if not depth[seed] > 0.0:
        return out
    stack[0] = seed
    out[seed] = True
    top = 1
    while top > 0:
        top -= 1
        cell = stack[top]
        i, j = cell // count, cell % count
        for k in range(4):
            a = i + (k == 0) - (k == 1)
            b = j + (k == 2) - (k == 3)
            if 0 <= a < count and 0 <= b < count:
                other = a * count + b
                if depth[other] > 0.0 and not out[other]:
                    out[other] = True
                    stack[top] = other
                    top += 1
    return out


@inner
def target_share(target: Floats, pad: Floats, weight: Floats) -> float:
    """Object's share of the interface's slope: that of the smoother surface where one has an edge, else about half.

    Args:
        target, pad: slopes at the cells.
        weight: cells' weights, sum 1.
    """
    a, b = 0.0, 0.0
    for body in range(2):
        slope = target if body == 0 else pad
        mean0, mean1, spread = 0.0, 0.0, 0.0
        for cell in range(len(weight)):
            mean0 += weight[cell] * slope[cell, 0]
            mean1 += weight[cell] * slope[cell, 1]
        for cell in range(len(weight)):
            d0, d1 = slope[cell, 0] - mean0, slope[cell, 1] - mean1
            spread += weight[cell] * (d0 * d0 + d1 * d1)
        a, b = b, spread + 1e-12
    return b / (a + b)


@inner
def all_faces(surface: SurfaceArrays) -> Ints:
    """The numbers of the faces."""
    out = np.empty(len(surface.faces), dtype=np.int64)
    for f in range(len(out)):
        out[f] = f
    return out


@kernel
def measure(pair: SurfacePair, grid: ContactGrid, apart: float, share: float) -> MeasuredGap:
    """Measure the undeformed surfaces over a grid in the object's frame.

    Args:
        apart: how far the surfaces are from each other, as far as known [m].
        share: the pad's share of the shape of the interface under load.
    """
    half, count = grid.half, grid.side
    diagonal = np.sqrt(half[0] ** 2 + half[1] ** 2)
    window = max(1.5 * diagonal, apart)
    reach = diagonal + window
    near = faces_near(pair.target, all_faces(pair.target), grid.origin, reach)
    pad_near = faces_near(pair.pad, all_faces(pair.pad), in_pad_frame(pair, grid.origin), reach)
    pen, target, pad = penetrations(pair, near, pad_near, grid, window)
    valid, weight = np.empty(len(pen), dtype=np.bool_), np.empty(len(pen))
    seed = deepest_cell(pen)
    depth = pen[seed] if seed >= 0 else 0.0
    main = connected_cells(pen, count, max(seed, 0))
    total, number = 0.0, 0
    for cell in range(len(pen)):
        # what overlaps elsewhere in this window is another region's business
        valid[cell] = not (np.isnan(pen[cell]) or (pen[cell] > 0.0 and not main[cell]))
        weight[cell] = max(pen[cell], 0.0) if valid[cell] else 0.0
        total += weight[cell]
        number += valid[cell]
    k = 0
    for cell in range(len(pen)):
        if total > 0.0:
            weight[cell] /= total
        elif valid[cell]:
            weight[cell] = 1.0 / number
        valid[cell] = valid[cell] and pen[cell] > depth - 1.5 * abs(depth) - 1e-12
        k += valid[cell]
    smoother = target_share(target.slope, pad.slope, weight)
    cells = np.empty(k, dtype=np.int64)
    penetration, height, owner = np.empty(k), np.empty(k), np.empty(k, dtype=np.int64)
    xy, slope, tilt = np.empty((k, 2)), np.empty((k, 2)), np.empty((k, 2))
    a = 0
    for cell in range(len(pen)):
        if not valid[cell]:
            continue
        cells[a] = cell
        penetration[a] = pen[cell]
        height[a] = 0.5 * (target.z[cell] + pad.z[cell])
        owner[a] = pad.owner[cell]
        xy[a, 0] = ((cell // count + 0.5) / count * 2.0 - 1.0) * half[0]
        xy[a, 1] = ((cell % count + 0.5) / count * 2.0 - 1.0) * half[1]
        for m in range(2):
            slope[a, m] = smoother * target.slope[cell, m] + (1.0 - smoother) * pad.slope[cell, m]
            tilt[a, m] = share * pad.slope[cell, m] + (1.0 - share) * target.slope[cell, m]
        a += 1
    return MeasuredGap(depth, cells, penetration, xy, slope, tilt, height, owner)
