"""A point cloud made a closed surface, with how far it can be trusted.

The indicator function chi of the body (1 inside, 0 outside) has the gradient -n on the surface, so it solves a Poisson
equation with the divergence of the points' normals on the right (Kazhdan, Bolitho and Hoppe 2006); here on an even grid
by fast Fourier transforms. Where points are missing the surface closes by itself: that part is made up, and measured.
Where points are, its vertices are moved onto a quadric fitted to the points around.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.errors import MeshError, Problem
from pliant.objects.mass import mesh_volume
from pliant.objects.mesh.clipping import clip_below
from pliant.objects.mesh.cloud_grid import Grid
from pliant.objects.mesh.cloud_normals import agreeing, along_tree, from_outside, normal_lines
from pliant.objects.mesh.intersection import self_intersections
from pliant.objects.mesh.mesh import Mesh, position_text, used_part
from pliant.objects.mesh.repair import counted
from pliant.objects.mesh.topology import connected, edges_of, open_edges, shells_of

FEWEST = 200  # points that make a surface
CROWD = 1000  # points within four spacings of each, on average; a surface has about fifty, a full ball three hundred
FLAT = 0.01  # of the spacing: points that keep so near to one plane enclose nothing
MOST = 30_000  # points used; denser clouds are thinned by averaging, which takes off noise as well
STRAY = 4.0  # a point farther from its neighbours than this times the usual is debris
TURNS = 10  # rounds in which normals that contradict the surface are turned
REACH = 2.5  # surface farther than this many spacings from every point is made up
LEAST_SEEN = 0.85  # share of the surface that must have points ..
SEEN_IF_CAPPED = 0.5  # .. and where the rest is closed flat
MOST_FACES = 20_000
EDGES = 0.75  # sharp edges are off by up to this many spacings (measured on boxes)
LEAST_END = 0.01  # share of the surface that an unseen part must have to be cut flat
ASTRAY = 1.5  # 95 % of the points are nearer to the surface than this many spacings, or it is not theirs
UNTANGLING = 8  # rounds of putting vertices back
WIDTH = 1.2  # of the weights of the quadrics, in spacings


class CloudSurface(NamedTuple):
    """A closed surface through points.

    Attributes:
        mesh: the surface.
        made_up: m, faces with no point nearby.
        spacing: of the points [m].
        distance: root mean square distance of the points from the surface [m].
        farthest: that 95 % of the points keep [m].
        seen: share of the surface that has points.
        actions: what was done, in words.
    """

    mesh: Mesh
    made_up: Bools
    spacing: float
    distance: float
    farthest: float
    seen: float
    actions: list[str]


class _Candidate(NamedTuple):
    misfit: float
    mesh: Mesh
    normals: Floats


def surface_of_points(points: Floats, *, cap: bool = False, name: str = "") -> CloudSurface:
    """The closed surface through a cloud of points on the outside of one body; ``MeshError`` if they do not show one.

    Args:
        points: n x 3, in no order, without normals [m].
        cap: end flat where points are missing beyond the outermost ones: where the body stood on a table.
    """
    given = len(points)
    points = np.unique(np.asarray(points, dtype=np.float64) + 0.0, axis=0)
    strays, spacing = 0, 0.0
    if len(points) >= FEWEST:
        points, spacing, strays = _without_strays(_thinned(points), name)
    if len(points) < FEWEST:
        what = f"holds {len(points)} points that belong together, and no faces"
        raise MeshError(name or "cloud", Problem("", what, f"at least {FEWEST} points all over the body"))
    if np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[2] < FLAT * spacing * np.sqrt(len(points)):
        raise MeshError(name or "cloud", Problem("", "the points lie in one plane", "scan the body from all sides"))
    actions = [f"read a cloud of {given} points, {1e3 * spacing:.2g} mm apart"]
    if strays:
        actions.append(f"dropped {counted(strays, 'point', 'points')} far from all others")
    grid = Grid.around(points, spacing)
    lines, areas = normal_lines(points)
    found = []
    for normals in (along_tree(points, lines), from_outside(grid, points, lines, spacing)):
        normals, chi = agreeing(grid, points, normals, areas)
        mesh = _largest(grid.level_set(chi, float(np.median(grid.at(points, chi))), name))
        if len(mesh.faces) and mesh_volume(mesh) > 0:
            found.append(_Candidate(_misfit(points, mesh), mesh, normals))
    if not found:
        raise MeshError(name or "cloud", Problem("", "the points enclose nothing", "scan the body from all sides"))
    best = min(found, key=lambda candidate: candidate.misfit)
    coarse = _fewer_faces(best.mesh)
    mesh = _untangled(coarse, _onto_quadrics(coarse, points, best.normals, spacing))
    if cap:
        mesh, ends = _flat_ends(mesh, points, spacing)
        actions += ends
    distances = _distances(points, mesh)
    made_up = _away(mesh.face_centres, points) > REACH * spacing
    seen = 1.0 - float(mesh.face_areas[made_up].sum() / mesh.area)
    rms, farthest = float(np.sqrt((distances**2).mean())), float(np.quantile(distances, 0.95))
    if farthest > ASTRAY * spacing:
        what = f"no closed surface follows the points: one in twenty is {1e3 * farthest:.2g} mm and more away from it"
        thin = (
            f"walls thinner than about {3e3 * spacing:.2g} mm cannot be told from points {1e3 * spacing:.2g} mm apart"
        )
        raise MeshError(name or "cloud", Problem("", what, f"{thin}: scan the body more densely"))
    if seen < (SEEN_IF_CAPPED if cap else LEAST_SEEN):
        what = f"the points show only {100 * seen:.0f} % of a closed surface"
        raise MeshError(
            name or "cloud", Problem("", what, "scan the body from more sides, or close it flat with --cap")
        )
    trust = (
        f"closed surface of {len(mesh.faces)} faces: points lie within {1e3 * rms:.2g} mm of it (root mean square; "
        f"95 % within {1e3 * farthest:.2g} mm); sharp edges are off by up to {1e3 * EDGES * spacing:.2g} mm"
    )
    actions.append(trust)
    if made_up.any():
        place = np.average(mesh.face_centres[made_up], axis=0, weights=mesh.face_areas[made_up])
        actions.append(
            f"{100 * (1 - seen):.2g} % of the surface is made up: no points there, about {position_text(place)}"
        )
    return CloudSurface(mesh, made_up, spacing, rms, farthest, seen, actions)


def _thinned(points: Floats) -> Floats:
    """Means of the points in cells of a grid so wide that no more than ``MOST`` are left."""
    if len(points) <= MOST:
        return points
    cell = float(np.ptp(points, axis=0).max()) / 1000.0
    while True:
        _, which = np.unique(np.floor(points / cell).astype(np.int64), axis=0, return_inverse=True)
        which = which.reshape(-1)
        count = np.bincount(which)
        if len(count) <= MOST:
            return np.stack([np.bincount(which, weights=column) / count for column in points.T], axis=1)
        cell *= 1.15


def _without_strays(points: Floats, name: str) -> tuple[Floats, float, int]:
    """Points that have neighbours as near as usual, in groups of some size; their spacing; how many were dropped."""
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    distance = np.asarray(tree.query(points, k=9)[0])[:, 1:]
    spacing = float(np.median(distance[:, 3])) * np.sqrt(np.pi / 4.0)  # 4 points in a disc of the fourth's distance
    keep = distance.mean(axis=1) < STRAY * np.median(distance.mean(axis=1))
    # Counted first: where many crowd on a spot, between others far apart, the pairs would fill the memory.
    if (near := int(tree.count_neighbors(tree, 4.0 * spacing)) // len(points)) > CROWD:
        what = f"a point has {near} others within {4e3 * spacing:.2g} mm, on average; half of all are as far apart"
        raise MeshError(name or "cloud", Problem("", what, "points evenly dense all over the body"))
    pairs = tree.query_pairs(4.0 * spacing, output_type="ndarray")
    pairs = pairs[keep[pairs].all(axis=1)]
    label = connected(len(points), *pairs.T)
    size = np.bincount(label, minlength=len(points))
    keep &= size[label] >= 0.02 * len(points)
    return points[keep], spacing, int((~keep).sum())


def _flat_ends(mesh: Mesh, points: Floats, spacing: float) -> tuple[Mesh, list[str]]:
    """The surface cut off flat at the outermost points where it goes beyond them without any."""
    actions = []
    made_up = _away(mesh.face_centres, points) > REACH * spacing
    faces = mesh.faces[made_up]
    label = shells_of(faces) if len(faces) else np.zeros(0, dtype=np.int64)
    for region in range(int(label.max(initial=-1)) + 1):
        part = Mesh(mesh.vertices, faces[label == region])
        out, rim = part.face_vectors.sum(axis=0), open_edges(part).reshape(-1, 3)
        if part.area < LEAST_END * mesh.area or len(rim) < 3:
            continue
        # The band of points around the unseen part tells how the table lay.
        band = points[_away(points, rim) < (REACH + 1.0) * spacing]
        down = np.linalg.svd(band - band.mean(axis=0), full_matrices=False)[2][2]
        down *= np.sign(down @ out)
        level = float(np.quantile(points @ down, 0.999))
        beyond = float((mesh.vertices @ down).max()) - level
        if beyond > 0.0:
            mesh = clip_below(mesh, down, level).below
            place = position_text(rim.mean(axis=0))
            actions.append(f"closed the open bottom at {place} flat, {1e3 * beyond:.2g} mm cut off")
    return mesh, actions


def _distances(points: Floats, mesh: Mesh) -> Floats:
    import igl

    return np.sqrt(igl.point_mesh_squared_distance(points, mesh.vertices, mesh.faces)[0])


def _misfit(points: Floats, mesh: Mesh) -> float:
    """Mean square distance of the points from the surface plus that of the surface from the points."""
    away = _away(mesh.face_centres, points)
    return float((_distances(points, mesh) ** 2).mean() + (away**2 @ mesh.face_areas) / mesh.area)


def _away(places: Floats, points: Floats) -> Floats:
    """Distance of places from the nearest point."""
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(points).query(places)[0])


def _largest(mesh: Mesh) -> Mesh:
    if not len(mesh.faces):
        return mesh
    label = shells_of(mesh.faces)
    area = np.bincount(label, weights=mesh.face_areas)
    return used_part(mesh.vertices, mesh.faces[label == np.argmax(area)], mesh.name)


def _fewer_faces(mesh: Mesh) -> Mesh:
    from fast_simplification import simplify

    if len(mesh.faces) <= MOST_FACES:
        return mesh
    scale = 1.0 / mesh.diagonal  # it reckons in single precision
    vertices, faces = simplify(
        (mesh.vertices * scale).astype(np.float32), mesh.faces.astype(np.int32), 1.0 - MOST_FACES / len(mesh.faces)
    )
    return Mesh(np.asarray(vertices, dtype=np.float64) / scale, faces, mesh.name)


def _onto_quadrics(mesh: Mesh, points: Floats, normals: Floats, spacing: float) -> Mesh:
    """Vertices evened out along the surface and moved onto the quadrics of the points around them."""
    from scipy.sparse import csr_array, diags_array
    from scipy.spatial import cKDTree

    edges = edges_of(mesh.faces)
    n = len(mesh.vertices)
    ends = np.concatenate([edges.ends, edges.ends[:, ::-1]])
    ring = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    mean = diags_array(1.0 / np.asarray(ring.sum(axis=1)).reshape(-1)) @ ring
    tree = cKDTree(points)
    for _ in range(3):
        for _ in range(3):
            step = mean @ mesh.vertices - mesh.vertices
            normal = mesh.vertex_normals
            step -= np.einsum("ij,ij->i", step, normal)[:, None] * normal
            mesh = Mesh(mesh.vertices + 0.5 * step, mesh.faces, mesh.name)
        normal = mesh.vertex_normals
        distance, near = (np.asarray(found) for found in tree.query(mesh.vertices, k=24))
        # Points of a wall's other side look the other way.
        weight = np.exp(-0.5 * (distance / (WIDTH * spacing)) ** 2)
        weight *= np.clip(np.einsum("nki,ni->nk", normals[near], normal), 0.0, 1.0)
        local = (points[near] - mesh.vertices[:, None]) / spacing
        height = np.einsum("nki,ni->nk", local, normal)
        side = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=1)])
        side /= np.linalg.norm(side, axis=1, keepdims=True)
        x, y = np.einsum("nki,ni->nk", local, side), np.einsum("nki,ni->nk", local, np.cross(normal, side))
        basis = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=2)
        weighted = basis * weight[:, :, None]
        matrix = np.einsum("nka,nkb->nab", weighted, basis) + 1e-3 * np.diag([1e-6, 1, 1, 1, 1, 1])
        offset = np.linalg.solve(matrix, np.einsum("nka,nk->na", weighted, height)[:, :, None])[:, 0, 0]
        trust = np.clip(REACH - distance[:, 0] / spacing, 0.0, 1.0) * (weight.sum(axis=1) > 0.5)
        move = np.clip(offset, -2.0, 2.0) * trust * spacing
        mesh = Mesh(mesh.vertices + move[:, None] * normal, mesh.faces, mesh.name)
    return mesh


def _untangled(before: Mesh, after: Mesh) -> Mesh:
    """The surface with vertices put back to where they were until it crosses itself no more, or as it was before."""
    back = np.zeros(len(after.vertices), dtype=bool)
    mesh = after
    for _ in range(UNTANGLING):
        crossings = self_intersections(mesh)
        if not crossings:
            return mesh
        back[mesh.faces[[face for crossing in crossings for face in crossing.faces]]] = True
        back[mesh.faces[back[mesh.faces].any(axis=1)]] = True  # and a ring around
        mesh = Mesh(np.where(back[:, None], before.vertices, after.vertices), after.faces, after.name)
    return before
