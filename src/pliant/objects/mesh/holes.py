"""Holes: small ones are filled without asking; on demand an open bottom is closed flat and any other hole smoothly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.errors import MeshError, Problem
from pliant.objects.mass import mesh_volume
from pliant.objects.mesh.clipping import cut_below, triangulate
from pliant.objects.mesh.mesh import Mesh, position_text, used_part
from pliant.objects.mesh.repair import Repair
from pliant.objects.mesh.topology import Hole, edges_of, holes_of

SMALL_HOLE = 0.1  # a hole is small if its perimeter is below this fraction of the bounding box's diagonal
HOLE_EDGES = 500  # ... and if it has no more edges than this
FLAT_RIM = 0.1  # an open bottom's rim is no more uneven than this fraction of its width ..
BELOW = 0.005  # .. and nothing of the body reaches further than this below the rim's lowest point
MOST_HOLES_FACES = 5_000_000  # holes to be closed times faces: each is closed in the whole mesh
LONGEST_RIM = 10_000  # edges of a hole that is closed smoothly ..
LONGEST_RING = (
    1500  # .. and of one whose rim covers itself in its plane: time grows with the cube, memory with the square
)
MOST_LATTICE = 100_000  # points in a patch, and around it
EVEN = 1e-4  # a rim less uneven than this is closed as it is


def perimeter(mesh: Mesh, hole: Hole) -> float:
    """Length of a hole's rim [m]; for a rim that is no simple ring, that of its bounding box's three edges."""
    ring = mesh.vertices[hole.vertices]
    if not hole.simple:
        return float(np.ptp(ring, axis=0).sum())
    return float(np.linalg.norm(ring - np.roll(ring, 1, axis=0), axis=1).sum())


def enclosed_volume(mesh: Mesh) -> float:
    """Volume with every hole closed by a fan from its rim's middle [m^3]; of a closed mesh, its volume."""
    vertices, faces = [mesh.vertices], [mesh.faces]
    for middle, hole in enumerate(holes_of(mesh.faces, edges_of(mesh.faces)), start=len(mesh.vertices)):
        ring, after = hole.vertices, np.roll(hole.vertices, -1)
        vertices.append(mesh.vertices[ring].mean(axis=0, keepdims=True))
        if hole.simple:
            faces.append(np.stack([ring, after, np.full(len(ring), middle)], axis=1))
    return mesh_volume(Mesh(np.concatenate(vertices), np.concatenate(faces)))


def fill_small_holes(mesh: Mesh) -> Repair:
    """Close short holes with the triangulation of least area; no vertex is added or moved."""
    actions, added = [], []
    for hole in holes_of(mesh.faces, edges_of(mesh.faces)):
        around = perimeter(mesh, hole)
        if not hole.simple or hole.edges > HOLE_EDGES or around >= SMALL_HOLE * mesh.diagonal:
            continue
        ring = mesh.vertices[hole.vertices]
        added.append(hole.vertices[_triangles_over(ring)])
        place = position_text(ring.mean(axis=0))
        actions.append(f"filled a hole of {hole.edges} edges, {1e3 * around:.3g} mm around, at {place}")
    if not actions:
        return Repair(mesh, actions)
    if len(actions) > 4:
        actions = [*actions[:3], f"... and {len(actions) - 3} more small holes filled"]
    return Repair(Mesh(mesh.vertices, np.concatenate([mesh.faces, *added]), mesh.name), actions)


def cap_holes(mesh: Mesh) -> Repair:
    """Close every hole: an open bottom flat, where the body stood on a table; others as the surface around goes on.

    A bottom is open where a rim is nearly flat and all of the body lies on its one side. An uneven one is cut off above
    the rim and carried straight down to the rim's lowest point, where the table was.
    """
    actions = []
    number = len(holes_of(mesh.faces, edges_of(mesh.faces)))
    if number > 1 and number * len(mesh.faces) > MOST_HOLES_FACES:
        allowed = f"{MOST_HOLES_FACES // len(mesh.faces)} of so large a mesh can be closed: fill them where it was made"
        raise MeshError(
            mesh.name or "mesh", Problem("holes", f"{number} of a mesh of {len(mesh.faces)} faces", allowed)
        )
    for _ in range(number):
        holes = [hole for hole in holes_of(mesh.faces, edges_of(mesh.faces)) if hole.simple]
        if not holes:
            break
        hole = max(holes, key=lambda hole: perimeter(mesh, hole))
        around, place = perimeter(mesh, hole), position_text(mesh.vertices[hole.vertices].mean(axis=0))
        flat = _close_flat(mesh, hole)
        if flat is not None:
            mesh = flat.mesh
            words = f"closed the open bottom at {place} flat ({1e3 * around:.3g} mm around)"
            if flat.uneven > 0.0:
                words += f", its rim, uneven by {1e3 * flat.uneven:.2g} mm, carried straight down to the table"
            actions.append(words)
        else:
            mesh, share = _close_smoothly(mesh, hole)
            actions.append(
                f"closed a hole, {1e3 * around:.3g} mm around, at {place} as the surface around it goes on: "
                f"{100 * share:.2g} % of the surface is made up there"
            )
    return Repair(mesh, actions)


class _FlatEnd(NamedTuple):
    mesh: Mesh
    uneven: float  # [m]; 0 where the rim was closed as it is


def _close_flat(mesh: Mesh, hole: Hole) -> _FlatEnd | None:
    """The mesh with a flat end at the rim of a hole; None if that is no bottom."""
    ring = mesh.vertices[hole.vertices]
    down = np.linalg.svd(ring - ring.mean(axis=0), full_matrices=False)[2][2]
    height = (mesh.vertices - ring.mean(axis=0)) @ down
    if height.max() > -height.min():  # the body is above, its farthest point on that side
        down, height = -down, -height
    rims = [h.vertices for h in holes_of(mesh.faces, edges_of(mesh.faces)) if h.simple]
    limit = FLAT_RIM * perimeter(mesh, hole) / np.pi
    table, top = float(height[hole.vertices].max()), float(height[hole.vertices].min())
    # Other rims so low were torn off by the table as well: that of a hollow in the bottom, say.
    for rim in sorted(rims, key=lambda rim: -height[rim].max()):
        if height[rim].max() > top or height[rim].min() > table - limit:
            table, top = max(table, float(height[rim].max())), min(top, float(height[rim].min()))
    uneven = table - top
    if uneven > limit or height[np.unique(mesh.faces)].max() > table + BELOW * mesh.diagonal:
        return None
    if uneven < EVEN * mesh.diagonal:
        rims = [rim for rim in rims if np.abs(height[rim] - table).max() < EVEN * mesh.diagonal]
        start = np.concatenate(rims)
        if len(np.unique(start)) < len(start):  # rims that touch are no polygons
            return None
        end = np.concatenate([np.roll(rim, -1) for rim in rims])
        cap = triangulate(start, end, mesh.vertices, down)
        return _FlatEnd(Mesh(mesh.vertices, np.concatenate([mesh.faces, cap]), mesh.name), 0.0)
    # Cut off above the rim, with a little to spare, so that the cut passes through sound surface only.
    level = float(ring.mean(axis=0) @ down) + top - 0.02 * uneven
    cut = cut_below(mesh, down, level)
    once = len(np.unique(cut.start)) == len(cut.start)
    if not len(cut.start) or not once or sorted(cut.start) != sorted(cut.end):
        return None
    deep = (table - top + 0.02 * uneven) * down
    rim = np.unique(cut.start)
    edge = float(np.linalg.norm(cut.vertices[cut.end] - cut.vertices[cut.start], axis=1).mean())
    rows = int(np.clip(round(float(np.linalg.norm(deep)) / edge), 1, 20))
    vertices, faces, above = [cut.vertices], [cut.faces], np.arange(len(cut.vertices))
    for row in range(1, rows + 1):
        below = np.full(len(above), -1)
        below[rim] = len(cut.vertices) + (row - 1) * len(rim) + np.arange(len(rim))
        vertices.append(cut.vertices[rim] + row / rows * deep)
        faces.append(np.stack([above[cut.start], above[cut.end], below[cut.end]], axis=1))
        faces.append(np.stack([above[cut.start], below[cut.end], below[cut.start]], axis=1))
        above = below
    points = np.concatenate(vertices)
    faces.append(triangulate(above[cut.start], above[cut.end], points, down))
    return _FlatEnd(used_part(points, np.concatenate(faces), mesh.name), uneven)


class _Patched(NamedTuple):
    mesh: Mesh
    share: float  # of the surface that is new


def _close_smoothly(mesh: Mesh, hole: Hole) -> _Patched:
    """Fill a hole and bend the patch so that it goes on from the surface around (a biharmonic surface).

    Where the rim cannot be spread out in its plane the triangulation of least area stays as it is.
    """
    ring = mesh.vertices[hole.vertices]
    patch = _spread_patch(ring) if hole.edges <= LONGEST_RIM else None
    if patch is None and hole.edges > LONGEST_RING:
        what = f"a rim of {hole.edges} edges at {position_text(ring.mean(axis=0))} is not flat"
        raise MeshError(mesh.name or "mesh", Problem("holes", what, "decimate the mesh first"))
    if patch is None:
        faces = hole.vertices[_triangles_over(ring)]
        vertices = mesh.vertices
    else:
        n = len(mesh.vertices)
        number = np.concatenate([hole.vertices, n + np.arange(len(patch.inner))])
        faces = number[patch.faces]
        vertices = _bent(mesh, np.concatenate([mesh.vertices, patch.inner]), faces, hole)
    closed = Mesh(vertices, np.concatenate([mesh.faces, faces]), mesh.name)
    return _Patched(closed, float(closed.face_areas[len(mesh.faces) :].sum() / closed.area))


class _Patch(NamedTuple):
    inner: Floats  # k x 3 new vertices [m]
    faces: Ints  # into the ring, then the new vertices


def _spread_patch(ring: Floats) -> _Patch | None:
    """Even triangles over a ring, spread out in its plane; None if it covers itself there.

    A Delaunay triangulation of the ring and a lattice within is one of the hole if it has every edge of the ring.
    """
    from scipy.spatial import Delaunay

    centre = ring.mean(axis=0)
    axes = np.linalg.svd(ring - centre, full_matrices=False)[2]
    flat = (ring - centre) @ axes[:2].T
    ahead = np.roll(flat, -1, axis=0)
    area = 0.5 * float((flat[:, 0] * ahead[:, 1] - flat[:, 1] * ahead[:, 0]).sum())
    step = float(np.linalg.norm(ahead - flat, axis=1).mean())
    if abs(area) < step**2:
        return None
    step = max(step, float(np.sqrt(abs(area) / 4000)))
    low, high = flat.min(axis=0), flat.max(axis=0)
    if np.prod((high - low) / step + 2.0) > MOST_LATTICE:  # a figure of eight may have next to no area
        return None
    rows = np.arange(low[1], high[1], step * np.sqrt(0.75))
    columns = np.arange(low[0] - step, high[0] + step, step)
    lattice = np.concatenate(
        [np.stack([columns + 0.5 * step * (i % 2), 0 * columns + y], axis=1) for i, y in enumerate(rows)]
    )
    from scipy.spatial import cKDTree

    far = cKDTree(_along(flat, ahead, step)).query(lattice)[0] > 0.6 * step
    inner = lattice[far & _within(flat, ahead, lattice)]
    points = np.concatenate([flat, inner])
    triangles = Delaunay(points).simplices
    corners = points[triangles]
    u, w = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    twice = u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]
    triangles = np.where((twice * area < 0)[:, None], triangles[:, ::-1], triangles)
    keep = _within(flat, ahead, corners.mean(axis=1)) & (np.abs(twice) > 1e-9 * step**2)
    if abs(0.5 * np.abs(twice[keep]).sum() - abs(area)) > 1e-6 * abs(area):
        return None
    triangles = triangles[keep].astype(np.int64)
    rim = holes_of(triangles, edges_of(triangles))
    if len(rim) != 1 or set(rim[0].vertices.tolist()) != set(range(len(ring))):
        return None
    return _Patch(centre + inner @ axes[:2], triangles)


def _bent(mesh: Mesh, vertices: Floats, faces: Ints, hole: Hole) -> Floats:
    """Vertices with those of a patch moved to the biharmonic surface that goes on from two rings of faces around."""
    import igl

    near = np.zeros(len(vertices), dtype=bool)
    near[hole.vertices] = True
    for _ in range(2):
        near[mesh.faces[near[mesh.faces].any(axis=1)]] = True
    around = mesh.faces[near[mesh.faces].all(axis=1)]
    used, local = np.unique(np.concatenate([around, faces]), return_inverse=True)
    fixed = np.flatnonzero(used < len(mesh.vertices))
    moved = np.array(vertices)
    if len(fixed) < len(used):
        start = np.ascontiguousarray(vertices[used])
        solved = igl.harmonic(start, local.reshape(-1, 3).astype(np.int64), fixed.astype(np.int64), start[fixed], 2)
        if np.isfinite(solved).all():
            moved[used] = solved
            moved[used[fixed]] = vertices[used[fixed]]
    return moved


def _along(start: Floats, end: Floats, step: float) -> Floats:
    """Points along segments, none more than half a step from the next."""
    number = np.maximum(np.ceil(2 * np.linalg.norm(end - start, axis=1) / step).astype(int), 1)
    which = np.repeat(np.arange(len(start)), number)
    t = (np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)) / number[which]
    return np.asarray(start[which] + t[:, None] * (end - start)[which])


def _within(start: Floats, end: Floats, points: Floats) -> np.ndarray:
    """Whether points of the plane lie in the polygon: a ray to the right crosses its sides an odd number of times."""
    inside = np.zeros(len(points), dtype=bool)
    for (x0, y0), (x1, y1) in zip(start, end, strict=True):
        if y0 != y1:
            crossed = (points[:, 1] < y0) != (points[:, 1] < y1)
            inside ^= crossed & (points[:, 0] < x0 + (points[:, 1] - y0) / (y1 - y0) * (x1 - x0))
    return inside


def _triangles_over(ring: Floats) -> Ints:
    from pliant.objects.mesh.least_area import least_area  # compiled code: only where there is a hole

    return least_area(ring)
