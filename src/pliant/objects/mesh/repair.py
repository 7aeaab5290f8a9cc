"""Safe repair steps: none changes the shape visibly, and each reports in words what it did."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Ints
from pliant.errors import MeshError, Problem
from pliant.objects.mesh.intersection import SelfIntersection, self_intersections
from pliant.objects.mesh.mesh import Mesh, position_text
from pliant.objects.mesh.topology import (
    connected,
    disagreeing_faces,
    edges_of,
    encloses,
    half_edge_pairs,
    shells_of,
    winding_number,
)

MERGE = 1e-7  # vertices closer than this fraction of the diagonal are one: the rounding of single-precision files
FEW, CROWD = 5000, 50  # a mesh of more vertices that has more of them on one spot than this is no surface
FLAT = 1e-9  # a face lower than this fraction of the diagonal has no area worth the name
FEW_CROSSINGS = 50  # a scan's blemishes; more of them are a wrong shape, not a blemish
MOST_PATCHES = 200  # more parts than this between edges of four faces are no few solids set together
SPECK = 0.05  # a piece smaller than this fraction of the largest piece is a speck ..
SPECKS = 0.05  # .. if all of these have at most this share of the surface
BESIDE = 1e-4  # how far beside a face it is asked whether that is inside, as a fraction of the diagonal
RELAX = 0.005  # farthest that a vertex may be moved to undo a crossing, as a fraction of the diagonal


class Repair(NamedTuple):
    """The mesh after a step (the same one where nothing was to be done), and what was done in words."""

    mesh: Mesh
    actions: list[str]


def join_identical(mesh: Mesh) -> Mesh:
    """One vertex for each distinct position, bit for bit: an STL file lists every corner of every face anew."""
    positions, first, inverse = np.unique(mesh.vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # keep the order of the file, so that numbers in messages make sense
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Mesh(positions[order], rank[inverse.reshape(-1)][mesh.faces], mesh.name)


def merge_vertices(mesh: Mesh) -> Repair:
    """Join vertices that lie on the same spot (within ``MERGE`` of the diagonal)."""
    from scipy.spatial import cKDTree

    joined = join_identical(mesh)
    n = len(joined.vertices)
    tree, reach = cKDTree(joined.vertices), MERGE * mesh.diagonal
    # Counted first: of vertices that all lie on one spot the pairs would fill the memory.
    if n > FEW and (near := int(tree.count_neighbors(tree, reach)) // n - 1) > CROWD:  # itself is no other
        what = f"a vertex has {near} others within {reach:.2g} m of it, on average"
        raise MeshError(
            mesh.name or "mesh", Problem("vertices", what, "look for one that lies far from all the others")
        )
    pairs = tree.query_pairs(reach, output_type="ndarray")
    if len(pairs):
        _, first, rank = np.unique(connected(n, *pairs.T), return_index=True, return_inverse=True)
        joined = Mesh(joined.vertices[first], rank.reshape(-1)[joined.faces], mesh.name)
    gone = len(mesh.vertices) - len(joined.vertices)
    if not gone:
        return Repair(mesh, [])
    action = f"merged {counted(gone, 'duplicate vertex', 'duplicate vertices')} ({len(joined.vertices)} left)"
    return Repair(joined, [action])


def drop_unused(mesh: Mesh) -> Repair:
    """Remove vertices that no face uses."""
    used = np.zeros(len(mesh.vertices), dtype=bool)
    used[mesh.faces] = True
    if used.all():
        return Repair(mesh, [])
    rank = np.cumsum(used) - 1
    action = f"removed {counted(int((~used).sum()), 'vertex', 'vertices')} that no face uses"
    return Repair(Mesh(mesh.vertices[used], rank[mesh.faces], mesh.name), [action])


def drop_degenerate_faces(mesh: Mesh) -> Repair:
    """Remove faces that name a vertex twice, and second copies of faces."""
    actions = []
    f = mesh.faces
    repeated = (f[:, 0] == f[:, 1]) | (f[:, 1] == f[:, 2]) | (f[:, 2] == f[:, 0])
    if repeated.any():
        actions.append(
            f"removed {counted(int(repeated.sum()), 'degenerate face', 'degenerate faces')} "
            f"(first: face {np.flatnonzero(repeated)[0]})"
        )
        f = f[~repeated]
    _, first, group, count = np.unique(
        np.sort(f, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    if (count > 1).any():
        # Copies facing both sides are a double-sided export (keep one of each) or a flap of no thickness (keep none):
        # take what leaves fewer bad edges.
        keep_one = f[np.sort(first)]
        keep_odd = f[np.sort(first[count % 2 == 1])]
        f_new = keep_one if _bad_edges(keep_one) <= _bad_edges(keep_odd) else keep_odd
        place = mesh.vertices[f[group.reshape(-1) == np.flatnonzero(count > 1)[0]][0]].mean(axis=0)
        gone = counted(len(f) - len(f_new), "repeated face", "repeated faces")
        actions.append(f"removed {gone} (first near {position_text(place)})")
        f = f_new
    return Repair(Mesh(mesh.vertices, f, mesh.name) if actions else mesh, actions)


def drop_inner_faces(mesh: Mesh) -> Repair:
    """Remove what lies inside where closed parts meet along edges of four faces: a ball set on the end of a cylinder.

    The edges of two faces join faces to patches. Where a patch bounds the body, the surface goes round a point on its
    one side and not round one on the other. Nothing is done where edges of more than two faces would be left.
    """
    edges = edges_of(mesh.faces)
    if not (edges.count > 2).any():
        return Repair(mesh, [])
    first, second = half_edge_pairs(edges)
    patch = connected(len(mesh.faces), first // 3, second // 3)
    # the largest face of every patch stands for it
    order = np.lexsort((-mesh.face_areas, patch))
    chosen = order[np.unique(patch[order], return_index=True)[1]]
    if len(chosen) > MOST_PATCHES:
        return Repair(mesh, [])
    step = BESIDE * mesh.diagonal * mesh.face_normals[chosen]
    bounds = [
        (abs(winding_number(mesh, centre + s)) > 0.5) != (abs(winding_number(mesh, centre - s)) > 0.5)
        for centre, s in zip(mesh.face_centres[chosen], step, strict=True)
    ]
    keep = np.array(bounds)[patch]
    if keep.all() or not keep.any() or (edges_of(mesh.faces[keep]).count > 2).any():
        return Repair(mesh, [])
    gone = np.flatnonzero(~keep)
    action = (
        f"removed {counted(len(gone), 'face', 'faces')} inside the body, where its parts meet (first: face {gone[0]}, "
        f"near {position_text(mesh.face_centres[gone[0]])})"
    )
    return Repair(Mesh(mesh.vertices, mesh.faces[keep], mesh.name), [action])


def drop_specks(mesh: Mesh) -> Repair:
    """Remove what a scanner leaves in the air, or inside: pieces far smaller than the body. Small hollows stay."""
    label = shells_of(mesh.faces)
    number = int(label.max(initial=0)) + 1
    if number == 1:
        return Repair(mesh, [])
    low, high = np.full((number, 3), np.inf), np.full((number, 3), -np.inf)
    for k in range(3):
        np.minimum.at(low, label, mesh.corners[:, k])
        np.maximum.at(high, label, mesh.corners[:, k])
    sizes = np.linalg.norm(high - low, axis=1)
    small = sizes < SPECK * sizes.max()
    if not small.any() or mesh.face_areas[small[label]].sum() > SPECKS * mesh.area:
        return Repair(mesh, [])
    edges = edges_of(mesh.faces)
    is_open = np.zeros(number, dtype=bool)
    is_open[label[edges.count[edges.of_half_edge].reshape(-1, 3).min(axis=1) == 1]] = True
    six_volumes = np.einsum("ij,ij->i", mesh.corners[:, 0], np.cross(mesh.corners[:, 1], mesh.corners[:, 2]))
    volumes = np.bincount(label, weights=six_volumes, minlength=number)
    largest = int(np.argmax(sizes))
    body = Mesh(mesh.vertices, mesh.faces[label == largest])
    for k in np.flatnonzero(small & ~is_open & (volumes * volumes[largest] < 0)).tolist():
        small[k] = not encloses(body, Mesh(mesh.vertices, mesh.faces[label == k]))
    gone = np.flatnonzero(small)
    if not len(gone):
        return Repair(mesh, [])
    worst = gone[np.argmax(sizes[gone])]
    action = (
        f"dropped {counted(len(gone), 'speck', 'specks')} of debris, the largest {1e3 * sizes[worst]:.2g} mm across at "
        f"{position_text(0.5 * (low + high)[worst])}"
    )
    return Repair(Mesh(mesh.vertices, mesh.faces[~small[label]], mesh.name), [action])


def unify_winding(mesh: Mesh) -> Repair:
    """Turn over the faces that disagree with the majority of their shell."""
    wrong = disagreeing_faces(mesh.faces, edges_of(mesh.faces))
    if wrong is None or not wrong.any():
        return Repair(mesh, [])
    f = np.where(wrong[:, None], mesh.faces[:, ::-1], mesh.faces)
    first = int(np.flatnonzero(wrong)[0])
    action = (
        f"turned over {counted(int(wrong.sum()), 'face', 'faces')} wound against the rest (first: face {first}, "
        f"near {position_text(mesh.face_centres[first])})"
    )
    return Repair(Mesh(mesh.vertices, f, mesh.name), [action])


def flip_flat_faces(mesh: Mesh) -> Repair:
    """Give faces whose corners lie on one line an area, by flipping the diagonal they share with their neighbour.

    The shape does not change: the middle corner lies on the long edge already.
    """
    tol = FLAT * mesh.diagonal
    sides = np.linalg.norm(mesh.corners - np.roll(mesh.corners, -1, axis=1), axis=2)
    height = np.divide(2 * mesh.face_areas, sides.max(axis=1), out=np.zeros(len(sides)), where=sides.max(axis=1) > 0)
    flat = np.flatnonzero(height < tol)
    if not len(flat):
        return Repair(mesh, [])
    faces = mesh.faces.copy()
    edges = edges_of(faces)
    first, second = half_edge_pairs(edges)
    twin = np.full(faces.size, -1)
    twin[first], twin[second] = second, first
    touched: set[int] = set()
    flipped = 0
    present = {tuple(ends) for ends in edges.ends.tolist()}
    for f in flat.tolist():
        k = int(np.argmax(sides[f]))
        g, j = divmod(int(twin[3 * f + k]), 3)
        if g < 0 or f in touched or g in touched:
            continue
        a, c, b = faces[f, k], faces[f, (k + 1) % 3], faces[f, (k + 2) % 3]
        d = faces[g, (j + 2) % 3]
        if (min(b, d), max(b, d)) in present or faces[g, j] != c:
            continue
        faces[f], faces[g] = (a, d, b), (d, c, b)
        touched |= {f, g}
        flipped += 1
    if not flipped:
        return Repair(mesh, [])
    action = f"flipped an edge of {counted(flipped, 'face', 'faces')} without area (first: face {flat[0]})"
    return Repair(Mesh(mesh.vertices, faces, mesh.name), [action])


def relax_crossings(mesh: Mesh, intersections: list[SelfIntersection]) -> Repair:
    """Undo the few small folds a scan may have, by moving their vertices towards the mean of their neighbours.

    All of them or none: nothing is done if there are many or if a vertex would have to move far, because then the
    shape itself is wrong.
    """
    if len(intersections) > FEW_CROSSINGS:
        return Repair(mesh, [])
    edges = edges_of(mesh.faces)
    n = len(mesh.vertices)
    degree = np.bincount(edges.ends.reshape(-1), minlength=n)
    moved = np.zeros(n, dtype=bool)
    current, left = mesh, intersections
    for _ in range(10):
        active = np.unique(mesh.faces[[face for intersection in left for face in intersection.faces]])
        moved[active] = True
        v = current.vertices.copy()
        total = np.zeros_like(v)
        np.add.at(total, edges.ends[:, 0], v[edges.ends[:, 1]])
        np.add.at(total, edges.ends[:, 1], v[edges.ends[:, 0]])
        v[active] = 0.5 * v[active] + 0.5 * total[active] / degree[active, None]
        step = float(np.linalg.norm(v - mesh.vertices, axis=1).max())
        if step > RELAX * mesh.diagonal:
            break
        current = Mesh(v, mesh.faces, mesh.name)
        left = self_intersections(current, edges, near=np.asarray(moved[mesh.faces].any(axis=1)))
        if not left:
            action = (
                f"smoothed {counted(int(moved.sum()), 'vertex', 'vertices')} by at most {1e3 * step:.2g} mm where the "
                f"surface crossed itself (near {position_text(intersections[0].place)})"
            )
            return Repair(current, [action])
    return Repair(mesh, [])


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"


def _bad_edges(faces: Ints) -> int:
    return int((edges_of(faces).count != 2).sum())
