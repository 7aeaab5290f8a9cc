"""Heights of smooth surfaces over one grid in their common tangent plane.   (theory 6.2, local problem)

A contact frame has its origin near the middle of the overlap and z along the object's outward normal. The object's
surface faces +z, the pad's faces -z; what the pad's surface lies below the object's is the penetration.

Everything here is compiled and called from compiled code only; ``measure`` and ``deepest`` are the doors for Python.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pliant.arrays import Bools, Floats, Ints
from pliant.objects import blend_weights

Shape = tuple[int, float, Floats, Ints, Floats, Ints, Floats, Floats, Floats, Floats]
"""A surface as compiled code takes it: kind, radius, vertices, faces, face normals, corners of the quadrics, quadrics,
face sizes, centres and reaches of the faces."""
MESH, SPHERE, PLANE = 0, 1, 2


@njit(cache=True)
def faces_near(shape: Shape, origin: Floats, distance: float) -> Ints:
    """Faces that may come closer to a point than this [m], in rising order; spheres and planes have none."""
    _, _, _, faces, _, _, _, sizes, centres, reach = shape
    out = np.empty(len(faces), dtype=np.int64)
    found = 0
    for f in range(len(faces)):
        far = distance + reach[f] + 0.5 * sizes[f]
        d0, d1, d2 = centres[f, 0] - origin[0], centres[f, 1] - origin[1], centres[f, 2] - origin[2]
        if d0 * d0 + d1 * d1 + d2 * d2 <= far * far:
            out[found] = f
            found += 1
    return out[:found]


@njit(cache=True)
def faces_nearer(shape: Shape, among: Ints, origin: Floats, distance: float) -> Ints:
    """Those of the faces ``among`` that may come closer to a point than this."""
    sizes, centres, reach = shape[7], shape[8], shape[9]
    out = np.empty(len(among), dtype=np.int64)
    found = 0
    for f in among:
        far = distance + reach[f] + 0.5 * sizes[f]
        d0, d1, d2 = centres[f, 0] - origin[0], centres[f, 1] - origin[1], centres[f, 2] - origin[2]
        if d0 * d0 + d1 * d1 + d2 * d2 <= far * far:
            out[found] = f
            found += 1
    return out[:found]


@njit(cache=True)
def heights(
    shape: Shape, near: Ints, origin: Floats, axes: Floats, half: Floats, count: int, facing: float, window: float
) -> tuple[Floats, Floats, Ints]:
    """Heights (NaN: none), slopes and owning faces (-1: none) over a grid in the contact frame; see ``_raster``.

    Args:
        near: all faces within the grid's half diagonal plus ``window`` of the origin, from ``faces_near``.
    """
    cells = count * count
    z, slope, owner = np.empty(cells), np.empty((cells, 2)), np.empty(cells, dtype=np.int64)
    if shape[0] == MESH:
        _raster(origin, axes, half, count, facing, window, shape, near, z, slope, owner)
        return z, slope, owner
    if shape[0] == SPHERE:
        _sphere_heights(origin, axes, half, count, facing, shape[1], z, slope)
    else:
        _plane_heights(origin, axes, half, count, facing, z, slope)
    for cell in range(cells):
        owner[cell] = -1 if np.isnan(z[cell]) else 0
    return z, slope, owner


@njit(cache=True)
def penetrations(
    target: Shape,
    pad: Shape,
    near: Ints,
    pad_near: Ints,
    rotation: Floats,
    translation: Floats,
    origin: Floats,
    axes: Floats,
    half: Floats,
    count: int,
    window: float,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Ints]:
    """Penetration over a grid (NaN: no pair of surfaces there); heights and slopes of object and pad, the pad's faces.

    Args:
        rotation, translation: pose of the pad's frame in the object's.
        origin, axes: the contact frame, in the object's frame.
    """
    z, slope, _ = heights(target, near, origin, axes, half, count, 1.0, window)
    local, turned = np.zeros(3), np.zeros((3, 3))
    for j in range(3):
        for m in range(3):
            local[j] += (origin[m] - translation[m]) * rotation[m, j]
            for k in range(3):
                turned[k, j] += axes[k, m] * rotation[m, j]
    pad_z, pad_slope, owner = heights(pad, pad_near, local, turned, half, count, -1.0, window)
    return z - pad_z, z, slope, pad_z, pad_slope, owner


@njit(cache=True)
def _raster(
    origin: Floats,
    axes: Floats,
    half: Floats,
    count: int,
    facing: float,
    window: float,
    shape: Shape,
    near: Ints,
    z: Floats,
    slope: Floats,
    owner: Ints,
) -> None:
    """Heights of a smooth mesh surface over a count x count grid; NaN where there is no surface facing the right way.

    Args:
        origin: origin of the contact frame, in the surface's own frame [m].
        axes: rows: x, y, z of the contact frame, in the surface's own frame.
        half: half widths of the grid along x and y [m].
        facing: +1 takes surface facing +z, -1 facing -z.
        window: surface further than this from the plane is another's business [m].
        z: heights, written [m].
        slope: count^2 x 2 dz/dx, dz/dy, written.
        owner: face under every cell or -1, written.
    """
    _, _, vertices, faces, face_normals, corners, quadrics, sizes, centres, reach = shape
    z[:] = np.nan
    owner[:] = -1
    radius = np.sqrt(half[0] ** 2 + half[1] ** 2)
    dx, dy = 2.0 * half[0] / count, 2.0 * half[1] / count
    local = np.empty((3, 3))
    best = np.full(len(z), np.inf)
    bary = np.empty((len(z), 2))
    for f in near:
        far = radius + window + reach[f] + 0.5 * sizes[f]
        d0, d1, d2 = centres[f, 0] - origin[0], centres[f, 1] - origin[1], centres[f, 2] - origin[2]
        if d0 * d0 + d1 * d1 + d2 * d2 > far * far:
            continue
        up = face_normals[f, 0] * axes[2, 0] + face_normals[f, 1] * axes[2, 1] + face_normals[f, 2] * axes[2, 2]
        if up * facing < 0.05:
            continue
        for c in range(3):
            for k in range(3):
                local[c, k] = 0.0
                for m in range(3):
                    local[c, k] += axes[k, m] * (vertices[faces[f, c], m] - origin[m])
        low_x = min(local[0, 0], local[1, 0], local[2, 0])
        high_x = max(local[0, 0], local[1, 0], local[2, 0])
        low_y = min(local[0, 1], local[1, 1], local[2, 1])
        high_y = max(local[0, 1], local[1, 1], local[2, 1])
        i0 = max(0, int(np.ceil((low_x + half[0]) / dx - 0.5 - 1e-9)))
        i1 = min(count - 1, int(np.floor((high_x + half[0]) / dx - 0.5 + 1e-9)))
        j0 = max(0, int(np.ceil((low_y + half[1]) / dy - 0.5 - 1e-9)))
        j1 = min(count - 1, int(np.floor((high_y + half[1]) / dy - 0.5 + 1e-9)))
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
    weights = np.empty(3)
    a0, a1, a2 = axes[2, 0], axes[2, 1], axes[2, 2]
    for cell in range(len(z)):
        f = owner[cell]
        if f < 0:
            slope[cell, 0] = 0.0
            slope[cell, 1] = 0.0
            continue
        i, j = cell // count, cell % count
        x, y = -half[0] + (i + 0.5) * dx, -half[1] + (j + 0.5) * dy
        blend_weights(1.0 - bary[cell, 0] - bary[cell, 1], bary[cell, 0], bary[cell, 1], weights)
        start = z[cell]
        p0 = origin[0] + x * axes[0, 0] + y * axes[1, 0] + start * a0
        p1 = origin[1] + x * axes[0, 1] + y * axes[1, 1] + start * a1
        p2 = origin[2] + x * axes[0, 2] + y * axes[1, 2] + start * a2
        # along the vertical the blend of quadrics (``smooth.blended``) is a parabola: value, gradient, its change
        phi0, g0, g1, g2, h0, h1, h2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(3):
            w = weights[c]
            if w == 0.0:
                continue
            q = corners[f, c]
            d0, d1, d2 = p0 - quadrics[q, 0], p1 - quadrics[q, 1], p2 - quadrics[q, 2]
            xx, yy, zz = quadrics[q, 7], quadrics[q, 8], quadrics[q, 9]
            xy, xz, yz = quadrics[q, 10], quadrics[q, 11], quadrics[q, 12]
            k0, k1, k2 = xx * d0 + xy * d1 + xz * d2, xy * d0 + yy * d1 + yz * d2, xz * d0 + yz * d1 + zz * d2
            b0, b1, b2 = quadrics[q, 4], quadrics[q, 5], quadrics[q, 6]
            phi0 += w * (quadrics[q, 3] + (b0 + 0.5 * k0) * d0 + (b1 + 0.5 * k1) * d1 + (b2 + 0.5 * k2) * d2)
            g0 += w * (b0 + k0)
            g1 += w * (b1 + k1)
            g2 += w * (b2 + k2)
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


@njit(cache=True)
def _sphere_heights(
    origin: Floats, axes: Floats, half: Floats, count: int, facing: float, radius: float, z: Floats, slope: Floats
) -> None:
    """Heights of the sphere of this radius about the surface's own origin, on the side that faces the right way."""
    dx, dy = 2.0 * half[0] / count, 2.0 * half[1] / count
    cx = -(axes[0, 0] * origin[0] + axes[0, 1] * origin[1] + axes[0, 2] * origin[2])
    cy = -(axes[1, 0] * origin[0] + axes[1, 1] * origin[1] + axes[1, 2] * origin[2])
    cz = -(axes[2, 0] * origin[0] + axes[2, 1] * origin[1] + axes[2, 2] * origin[2])
    for cell in range(len(z)):
        x = -half[0] + (cell // count + 0.5) * dx - cx
        y = -half[1] + (cell % count + 0.5) * dy - cy
        inside = radius * radius - x * x - y * y
        if inside > 1e-4 * radius * radius:
            root = np.sqrt(inside)
            z[cell] = cz + facing * root
            slope[cell, 0] = -facing * x / root
            slope[cell, 1] = -facing * y / root
        else:
            z[cell] = np.nan
            slope[cell] = 0.0


@njit(cache=True)
def _plane_heights(
    origin: Floats, axes: Floats, half: Floats, count: int, facing: float, z: Floats, slope: Floats
) -> None:
    """Heights of the plane z = 0 of the surface's own frame, whose outward normal is that frame's z."""
    dx, dy = 2.0 * half[0] / count, 2.0 * half[1] / count
    up = axes[2, 2]
    for cell in range(len(z)):
        if up * facing < 0.05:
            z[cell] = np.nan
            slope[cell] = 0.0
            continue
        x = -half[0] + (cell // count + 0.5) * dx
        y = -half[1] + (cell % count + 0.5) * dy
        z[cell] = -(origin[2] + x * axes[0, 2] + y * axes[1, 2]) / up
        slope[cell, 0] = -axes[0, 2] / up
        slope[cell, 1] = -axes[1, 2] / up


@njit(cache=True)
def components(inside: Bools, count: int, seed: int) -> Bools:
    """The connected part (four neighbours) of the set of cells that holds the seed cell."""
    out = np.zeros(len(inside), dtype=np.bool_)
    if not inside[seed]:
        return out
    stack = np.empty(len(inside), dtype=np.int64)
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
                if inside[other] and not out[other]:
                    out[other] = True
                    stack[top] = other
                    top += 1
    return out
