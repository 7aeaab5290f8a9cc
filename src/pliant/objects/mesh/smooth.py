"""A smooth surface through the vertices of a triangle mesh.   (theory 6.2, "smooth gap")

Facets are flat: between two vertices of a ball they lie a sagitta below it, and that sagitta is as large as the
indentations of interest. Through every vertex we therefore put a small implicit quadric

    phi(p) = A + B . (p - o) + (p - o)^T Q (p - o) / 2,        phi = 0 on the surface, grad phi outward and of unit
    length at o,

fitted to the vertices around it, and inside a triangle we blend the three quadrics of its corners with weights that
vanish quadratically on the opposite edge. Spheres and cylinders are reproduced, planes exactly; smooth surfaces to
O(h^3).
Across a crease (dihedral angle above ``CREASE``) nothing is shared: a vertex on a crease has one quadric per side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.arrays import Bools, Floats, Ints
from pliant.errors import OptionError
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.topology import adjacent_half_edges, connected_corners, edges_of

CREASE = np.deg2rad(40.0)
"""Edges folded more than this are edges of the body, less are the mesh's own. A 12-sided round bar folds by 30
degrees."""


_AT_ONCE = 2048
"""Points, or sectors, in one go: their arrays stay within some ten megabytes."""
_TENSOR = np.array([0, 3, 4, 3, 1, 5, 4, 5, 2])
"""Where the entries of a symmetric tensor are among (xx, yy, zz, xy, xz, yz)."""


class Projection(NamedTuple):
    """Points on a smooth surface.

    Attributes:
        points: n x 3 [m].
        normals: n x 3 outward unit normals there.
        faces: n faces of the mesh that they belong to.
    """

    points: Floats
    normals: Floats
    faces: Ints


@dataclass(frozen=True, eq=False)
class SmoothSurface:
    """A mesh together with the quadrics of its corners; arrays only, ready for compiled kernels.

    Args:
        mesh: the facets.
        normals: m x 3 unit normals of the faces.
        corners: m x 3 index of the quadric of every face corner.
        quadrics: k x 13: origin o (3), A, B (3), Q (xx, yy, zz, xy, xz, yz).
        sizes: m longest edge of every face [m].
    """

    mesh: Mesh
    normals: Floats
    corners: Ints
    quadrics: Floats
    sizes: Floats

    def project(self, points: Floats) -> Projection:
        """Points of the smooth surface nearest to ``points``, on whatever faces those are."""
        import igl

        _, faces, closest = igl.point_mesh_squared_distance(
            np.ascontiguousarray(points, dtype=np.float64), self.mesh.vertices, self.mesh.faces
        )
        faces = np.asarray(faces, dtype=np.int64).reshape(-1)
        if (faces < 0).any():  # the squared distance overflowed; the kernel would read out of bounds
            raise OptionError("points", "a point is not finite, or so far away that nothing is nearest to it")
        return self.project_on(closest, faces)

    def project_on(self, points: Floats, faces: Ints) -> Projection:
        """Points of the smooth surface of the given faces next to ``points``."""
        found, normals = np.empty((len(points), 3)), np.empty((len(points), 3))
        for low in range(0, len(points), _AT_ONCE):
            some = slice(low, low + _AT_ONCE)
            found[some], normals[some] = self._projected(np.asarray(points[some], dtype=np.float64), faces[some])
        return Projection(found, normals, faces)

    def _projected(self, points: Floats, faces: Ints) -> tuple[Floats, Floats]:
        """Points of the facets moved along the surface gradient onto the smooth surface, and its normals there."""
        corners = self.mesh.vertices[self.mesh.faces[faces]]
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        cross = np.cross(b - a, c - a)
        area = np.einsum("ij,ij->i", cross, cross)
        sound = area > 0.0
        area = np.where(sound, area, 1.0)
        b0 = np.einsum("ij,ij->i", np.cross(c - b, points - b), cross) / area
        b1 = np.einsum("ij,ij->i", np.cross(a - c, points - c), cross) / area
        # squares, so that the weights leave an edge with zero slope
        weights = np.maximum(np.stack([b0, b1, 1.0 - b0 - b1], axis=1), 0.0) ** 2
        weights[~sound] = 1.0
        weights /= weights.sum(axis=1)[:, None]
        # the sum of quadrics, held weights, is a quadric: A + B . d + d . Q d / 2 about each corner's own origin
        quadrics = self.quadrics[self.corners[faces]]
        origins, terms = quadrics[:, :, :3], quadrics[:, :, 7:][:, :, _TENSOR].reshape(-1, 3, 3, 3)
        p, gradient = points.copy(), self.normals[faces]
        moving = sound.copy()
        for _ in range(3):
            d = p[:, None] - origins
            bent = np.einsum("ncij,ncj->nci", terms, d)
            value = quadrics[:, :, 3] + np.einsum("nci,nci->nc", quadrics[:, :, 4:7] + 0.5 * bent, d)
            phi = np.einsum("nc,nc->n", weights, value)
            found = np.einsum("nc,nci->ni", weights, quadrics[:, :, 4:7] + bent)
            gradient = np.where(moving[:, None], found, gradient)
            square = np.einsum("ni,ni->n", gradient, gradient)
            moving &= square >= 1e-6
            p[moving] -= (phi[moving] / square[moving])[:, None] * gradient[moving]
        far = np.einsum("ni,ni->n", p - points, p - points) > (0.5 * self.sizes[faces]) ** 2
        back = far | ~sound
        size = np.linalg.norm(gradient, axis=1)
        normals = gradient / np.where(size > 0.0, size, 1.0)[:, None]
        return np.where(back[:, None], points, p), np.where(back[:, None], self.normals[faces], normals)


def smooth_surface(mesh: Mesh) -> SmoothSurface:
    """Fit the quadrics of every corner of a mesh; 1500 vertices take some 20 ms."""
    v, f = mesh.vertices, mesh.faces
    normals = np.array(mesh.face_normals)
    edges = np.linalg.norm(v[f] - v[np.roll(f, -1, axis=1)], axis=2)
    corners, count = sectors(f, normals)
    offsets, neighbours = _sector_neighbours(f, corners, count)
    origins = np.zeros(count, dtype=np.int64)
    origins[corners.ravel()] = f.ravel()
    start = np.zeros((count, 3))
    for k in range(3):
        a = v[f[:, (k + 1) % 3]] - v[f[:, k]]
        b = v[f[:, (k + 2) % 3]] - v[f[:, k]]
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum("ij,ij->i", a, b))
        np.add.at(start, corners[:, k], normals * angle[:, None])
    start /= np.maximum(np.linalg.norm(start, axis=1), np.finfo(float).tiny)[:, None]
    quadrics = _fit(v, origins, start, offsets, neighbours)
    return SmoothSurface(mesh, normals, corners, quadrics, edges.max(axis=1))


def sectors(faces: Ints, normals: Floats, crease: float = CREASE) -> tuple[Ints, int]:
    """Sector number of every face corner, m x 3, and how many there are: corners joined across edges but creases."""
    edges = edges_of(faces)
    first, second = adjacent_half_edges(edges)
    flat = np.einsum("ij,ij->i", normals[first // 3], normals[second // 3]) > np.cos(crease)
    labels = connected_corners(edges, first[flat], second[flat])
    return labels.reshape(len(faces), 3), int(labels.max(initial=-1)) + 1


def _sector_neighbours(faces: Ints, corners: Ints, count: int) -> tuple[Ints, Ints]:
    """Two rings of vertices around every sector, as an index list: offsets and vertex numbers."""
    from scipy.sparse import coo_matrix

    a = corners[:, [0, 1, 2, 1, 2, 0]].ravel()
    b = corners[:, [1, 2, 0, 0, 1, 2]].ravel()
    ring = coo_matrix((np.ones(len(a), dtype=np.int32), (a, b)), shape=(count, count)).tocsr()
    two = (ring + ring @ ring).tocsr()
    vertex = np.zeros(count, dtype=np.int64)
    vertex[corners.ravel()] = faces.ravel()
    return two.indptr.astype(np.int64), vertex[two.indices].astype(np.int64)


def _frames(n: Floats) -> Floats:
    """Rows of every frame: two tangents and the normal."""
    axis = np.zeros_like(n)
    axis[np.arange(len(n)), np.argmin(np.abs(n), axis=1)] = 1.0
    t = np.cross(axis, n)
    t /= np.linalg.norm(t, axis=1)[:, None]
    return np.stack([t, np.cross(n, t), n], axis=1)


def _curvature_forms(frames: Floats, k: Floats) -> Floats:
    """The tensors with components k (11, 12, 22) in the first two rows of the frames."""
    components = k[:, [0, 1, 1, 2]].reshape(-1, 2, 2)
    return np.asarray(frames[:, :2].transpose(0, 2, 1) @ components @ frames[:, :2])


def _fit(v: Floats, origins: Ints, start: Floats, offsets: Ints, neighbours: Ints) -> Floats:
    """The quadrics of all sectors from their neighbours, an index list."""
    sector = np.repeat(np.arange(len(origins)), np.diff(offsets))
    others = neighbours != origins[sector]
    sector, neighbours = sector[others], neighbours[others]
    counts = np.bincount(sector, minlength=len(origins))
    first = np.concatenate([[0], np.cumsum(counts)])
    out = np.zeros((len(origins), 13))
    order = np.argsort(counts, kind="stable")  # of about equal size, those done at once waste little
    for low in range(0, len(order), _AT_ONCE):
        some = order[low : low + _AT_ONCE]
        place = first[some][:, None] + np.arange(max(int(counts[some].max()), 1))
        valid = place < first[some + 1][:, None]
        around = neighbours[np.where(valid, place, first[some][:, None]) % max(len(neighbours), 1)]
        local = np.where(valid[:, :, None], v[around] - v[origins[some]][:, None], 0.0)
        frames, tensors = _fitted(local, valid, start[some])
        out[some, 0:3], out[some, 4:7] = v[origins[some]], frames[:, 2]
        out[some, 7:] = -tensors[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return out


def _fitted(local: Floats, valid: Bools, start: Floats) -> tuple[Floats, Floats]:
    """Least squares for z = b . x + x^T K x / 2 + k_z z^2 / 2 around sectors, three passes.

    k_z z^2 makes the quadric close up like the sphere or cylinder of the same curvature instead of a paraboloid; it
    needs the curvatures and the frame the normal, hence the passes.

    Args:
        local: sectors x neighbours x 3, from the sector's vertex [m].
        valid: which of them there are.
        start: first normals.

    Returns:
        The frames, normals last, and K with k_z in the directions of space.
    """
    # with it the size of the unknowns is that of the curvature tensor: what the neighbours leave open (a long tube's
    # curvature along it) is then as little as possible in any frame
    root = np.sqrt(2.0)
    number = valid.sum(axis=1)
    fits = number >= 2
    r = np.linalg.norm(local, axis=2)
    ranked = np.sort(np.where(valid, r, np.inf), axis=1)
    sector = np.arange(len(local))
    scale = 0.5 * (ranked[sector, np.maximum(number - 1, 0) // 2] + ranked[sector, number // 2 - (number == 0)])
    scale = np.where(fits, scale, 1.0)
    w = np.where(valid, np.exp(-2.0 * (r / scale[:, None]) ** 2), 0.0)
    frames, k, kz = _frames(start), np.zeros((len(local), 3)), np.zeros(len(local))
    for _ in range(3):
        xyz = local @ frames.transpose(0, 2, 1)
        x, y, z = xyz[:, :, 0] / scale[:, None], xyz[:, :, 1] / scale[:, None], xyz[:, :, 2]
        a = w[:, :, None] * np.stack([x, y, 0.5 * x * x, x * y / root, 0.5 * y * y], axis=2)
        rhs = w * (z - 0.5 * kz[:, None] * z * z) / scale[:, None]
        c = _least_squares(a, rhs)
        tilt = np.hypot(c[:, 0], c[:, 1])
        nonsense = fits & ~(tilt <= 1.0)  # from a degenerate neighbourhood: keep the facets
        k[nonsense], kz[nonsense] = 0.0, 0.0
        fits &= ~nonsense
        n = frames[:, 2] - c[:, :1] * frames[:, 0] - c[:, 1:2] * frames[:, 1]
        n /= np.linalg.norm(n, axis=1)[:, None]
        bend = 1.0 / np.sqrt(1.0 + tilt * tilt) / scale
        found = np.stack([c[:, 2] * bend, c[:, 3] / root * bend, c[:, 4] * bend], axis=1)
        mean = 0.5 * (found[:, 0] + found[:, 2])
        half = np.sqrt((0.5 * (found[:, 0] - found[:, 2])) ** 2 + found[:, 1] ** 2)
        k1, k2 = mean + half, mean - half
        closing = (k1 * np.abs(k1) + k2 * np.abs(k2)) / np.maximum(np.abs(k1) + np.abs(k2), 1e-12)
        # the curvature form in the new frame: same tangent plane up to the small tilt
        turned = _frames(n)
        form = turned[:, :2] @ _curvature_forms(frames, found) @ turned[:, :2].transpose(0, 2, 1)
        k[fits] = form[fits][:, [0, 0, 1], [0, 1, 1]]
        kz[fits] = closing[fits]
        frames[fits] = turned[fits]
    normals = frames[:, 2]
    return frames, _curvature_forms(frames, k) + kz[:, None, None] * normals[:, :, None] * normals[:, None, :]


def _least_squares(a: Floats, b: Floats) -> Floats:
    """Shortest solutions of a x = b by least squares, directions of less than a thousandth of the largest left out."""
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    kept = s > 1e-3 * s[:, :1]
    share = np.where(kept, np.einsum("njk,nj->nk", u, b) / np.where(kept, s, 1.0), 0.0)
    return np.asarray(np.einsum("nki,nk->ni", vt, share))
