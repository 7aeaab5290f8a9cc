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
from numba import njit

from pliant.arrays import Floats, Ints
from pliant.errors import OptionError
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.topology import adjacent_half_edges, connected_corners, edges_of

CREASE = np.deg2rad(40.0)
"""Edges folded more than this are edges of the body, less are the mesh's own. A 12-sided round bar folds by 30
degrees."""


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
        found, normals = _project(
            np.ascontiguousarray(points), faces, self.mesh.vertices, self.mesh.faces, self.corners, self.quadrics,
            self.normals, self.sizes,
        )  # fmt: skip
        return Projection(found, normals, faces)


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


@njit(cache=True)
def _frame(n: Floats) -> Floats:
    """Rows: two tangents and the normal."""
    k = 0
    if abs(n[1]) < abs(n[k]):
        k = 1
    if abs(n[2]) < abs(n[k]):
        k = 2
    axis = np.zeros(3)
    axis[k] = 1.0
    t = np.cross(axis, n)
    t /= np.sqrt((t * t).sum())
    out = np.empty((3, 3))
    out[0] = t
    out[1] = np.cross(n, t)
    out[2] = n
    return out


@njit(cache=True)
def _curvature_form(frame: Floats, k: Floats) -> Floats:
    """The tensor with components k (11, 12, 22) in the first two rows of the frame."""
    return (
        k[0] * np.outer(frame[0], frame[0])
        + k[1] * (np.outer(frame[0], frame[1]) + np.outer(frame[1], frame[0]))
        + k[2] * np.outer(frame[1], frame[1])
    )


@njit(cache=True)
def _fit(v: Floats, origins: Ints, start: Floats, offsets: Ints, neighbours: Ints) -> Floats:
    """Least squares for z = b . x + x^T K x / 2 + k_z z^2 / 2 around every sector, three passes.

    k_z z^2 makes the quadric close up like the sphere or cylinder of the same curvature instead of a paraboloid; it
    needs the curvatures and the frame the normal, hence the passes.
    """
    count = len(origins)
    out = np.zeros((count, 13))
    # with it the size of the unknowns is that of the curvature tensor: what the neighbours leave open (a long tube's
    # curvature along it) is then as little as possible in any frame
    root = np.sqrt(2.0)
    for s in range(count):
        o = v[origins[s]]
        around = neighbours[offsets[s] : offsets[s + 1]]
        m = 0
        local = np.empty((len(around), 3))
        for j in range(len(around)):
            if around[j] != origins[s]:
                local[m] = v[around[j]] - o
                m += 1
        local = local[:m]
        n = start[s].copy()
        frame = _frame(n)
        k = np.zeros(3)
        kz = 0.0
        if m >= 2:
            r = np.empty(m)
            for j in range(m):
                r[j] = np.sqrt((local[j] * local[j]).sum())
            scale = np.median(r)
            for _ in range(3):
                a = np.empty((m, 5))
                rhs = np.empty(m)
                for j in range(m):
                    x, y, z = frame @ local[j]
                    w = np.exp(-2.0 * (r[j] / scale) ** 2)
                    x /= scale
                    y /= scale
                    a[j, 0] = w * x
                    a[j, 1] = w * y
                    a[j, 2] = w * 0.5 * x * x
                    a[j, 3] = w * x * y / root
                    a[j, 4] = w * 0.5 * y * y
                    rhs[j] = w * (z - 0.5 * kz * z * z) / scale
                c = np.linalg.lstsq(a, rhs, 1e-3)[0]
                tilt = np.sqrt(c[0] * c[0] + c[1] * c[1])
                if tilt > 1.0:  # nonsense from a degenerate neighbourhood: keep the facets
                    k[:] = 0.0
                    kz = 0.0
                    break
                n = frame[2] - c[0] * frame[0] - c[1] * frame[1]
                n /= np.sqrt((n * n).sum())
                bend = 1.0 / (1.0 + tilt * tilt) ** 0.5
                k[0], k[1], k[2] = c[2] / scale * bend, c[3] / root / scale * bend, c[4] / scale * bend
                mean = 0.5 * (k[0] + k[2])
                half = np.sqrt((0.5 * (k[0] - k[2])) ** 2 + k[1] ** 2)
                k1, k2 = mean + half, mean - half
                kz = (k1 * abs(k1) + k2 * abs(k2)) / max(abs(k1) + abs(k2), 1e-12)
                t = _frame(n)
                # the curvature form in the new frame: same tangent plane up to the small tilt
                form = _curvature_form(frame, k)
                k[0] = t[0] @ form @ t[0]
                k[1] = t[0] @ form @ t[1]
                k[2] = t[1] @ form @ t[1]
                frame = t
        q = _curvature_form(frame, k) + kz * np.outer(frame[2], frame[2])
        out[s, 0:3] = o
        out[s, 4:7] = frame[2]
        out[s, 7] = -q[0, 0]
        out[s, 8] = -q[1, 1]
        out[s, 9] = -q[2, 2]
        out[s, 10] = -q[0, 1]
        out[s, 11] = -q[0, 2]
        out[s, 12] = -q[1, 2]
    return out


@njit(cache=True)
def blended(p: Floats, weights: Floats, c: Ints, quadrics: Floats, gradient: Floats) -> float:
    """phi at p, blended over three corners; the gradient (weights held) is written to ``gradient``."""
    phi = 0.0
    gradient[:] = 0.0
    for i in range(3):
        w = weights[i]
        if w == 0.0:
            continue
        q = quadrics[c[i]]
        x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
        gx = q[7] * x + q[10] * y + q[11] * z
        gy = q[10] * x + q[8] * y + q[12] * z
        gz = q[11] * x + q[12] * y + q[9] * z
        phi += w * (q[3] + (q[4] + 0.5 * gx) * x + (q[5] + 0.5 * gy) * y + (q[6] + 0.5 * gz) * z)
        gradient[0] += w * (q[4] + gx)
        gradient[1] += w * (q[5] + gy)
        gradient[2] += w * (q[6] + gz)
    return phi


@njit(cache=True)
def blend_weights(b0: float, b1: float, b2: float, out: Floats) -> None:
    """Weights of the corners from barycentric coordinates: squares, so that they leave an edge with zero slope."""
    b0, b1, b2 = max(b0, 0.0), max(b1, 0.0), max(b2, 0.0)
    total = b0 * b0 + b1 * b1 + b2 * b2
    out[0] = b0 * b0 / total
    out[1] = b1 * b1 / total
    out[2] = b2 * b2 / total


@njit(cache=True)
def _project(
    points: Floats,
    found: Ints,
    v: Floats,
    faces: Ints,
    corners: Ints,
    quadrics: Floats,
    normals: Floats,
    sizes: Floats,
) -> tuple[Floats, Floats]:
    """Move points of the facets along the surface gradient onto the smooth surface."""
    out = points.copy()
    out_n = np.empty_like(points)
    weights = np.empty(3)
    g = np.empty(3)
    for i in range(len(points)):
        f = found[i]
        a, b, c = v[faces[f, 0]], v[faces[f, 1]], v[faces[f, 2]]
        cross = np.cross(b - a, c - a)
        area = (cross * cross).sum()
        p = points[i].copy()
        n = normals[f]
        if area > 0.0:
            b0 = (np.cross(c - b, p - b) * cross).sum() / area
            b1 = (np.cross(a - c, p - c) * cross).sum() / area
            blend_weights(b0, b1, 1.0 - b0 - b1, weights)
            for _ in range(3):
                phi = blended(p, weights, corners[f], quadrics, g)
                gg = (g * g).sum()
                if gg < 1e-6:
                    break
                p = p - phi / gg * g
            move = p - points[i]
            if (move * move).sum() > (0.5 * sizes[f]) ** 2:
                p = points[i].copy()
            else:
                n = g / np.sqrt((g * g).sum())
        out[i] = p
        out_n[i] = n
    return out, out_n
