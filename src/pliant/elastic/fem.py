"""Surface compliance of a free elastic body by quadratic finite elements.   (theory 6.2, C)

Tractions on the surface are piecewise linear between the corner nodes, displacements are observed as their projection
on the same functions, so that loads and observations are dual:  C = M^-1 Psi^T K^+ Psi M^-1,  with M the surface mass
matrix of the hat functions, Psi the quadratic element's consistent loads of hat-shaped tractions, and K^+ the stiffness
inverse of the free body: loads and displacements are projected off the six rigid motions with the (lumped) mass.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, hstack, identity, kron

from pliant.arrays import Floats, Ints
from pliant.compiled import kernel
from pliant.elastic.substructuring import condensed_gram
from pliant.elastic.tetrahedra.quadratic import Tetrahedra, shape_gradients
from pliant.objects import sectors

_FOLD = np.deg2rad(50.0)
"""Elements are coarser than the mesh: round bodies fold more between them."""
# Dunavant 1985, degree 5: barycentric coordinates and weights (sum 1) in a triangle
_A, _B = 0.470142064105115, 0.101286507323456
_TRIANGLE = np.array(
    [
        [1 / 3, 1 / 3, 1 / 3],
        *([1 - 2 * _A, _A, _A], [_A, 1 - 2 * _A, _A], [_A, _A, 1 - 2 * _A]),
        *([1 - 2 * _B, _B, _B], [_B, 1 - 2 * _B, _B], [_B, _B, 1 - 2 * _B]),
    ]
)
_TRIANGLE_WEIGHTS = np.array([0.225] + [0.132394152788506] * 3 + [0.125939180544827] * 3)


def surface_compliance(
    tets: Tetrahedra, poisson: float, *, progress: Callable[[float], None] | None = None
) -> tuple[Ints, Ints, Floats, Floats]:
    """Corners of the boundary, their compliance for Young's modulus 1, and the inverse surface mass matrix.

    Returns:
        corners: nodes of the n boundary corners; a node on a crease is one corner per side.
        faces: corners of the boundary's triangles.
        compliance: 3n x 3n, displacements of corners for forces on corners, times E [1/m].
        inverse_mass: n x n, hat-shaped traction coefficients for corner forces [1/m^2].
    """
    corners, faces, psi, surface_mass = _hat_loads(tets)
    n = len(corners)
    free = free_gram(tets, poisson, psi, progress=progress)
    inverse_mass = np.asarray(np.linalg.inv(surface_mass), dtype=np.float64)
    for axis in range(3):
        free[axis::3] = inverse_mass @ free[axis::3]
    for axis in range(3):
        free[:, axis::3] = free[:, axis::3] @ inverse_mass
    for low in range(0, 3 * n, 256):
        rows = slice(low, low + 256)
        mean = 0.5 * (free[rows, low:] + free[low:, rows].T)
        free[rows, low:] = mean
        free[low:, rows] = mean.T
    return corners, faces, free, inverse_mass


def free_gram(
    tets: Tetrahedra, poisson: float, hats: csr_matrix, *, progress: Callable[[float], None] | None = None
) -> Floats:
    """B^T K^+ B of the free body for Young's modulus 1: what loads do to each other.   (theory 6.2, C)

    Args:
        tets: the body.
        poisson: Poisson's ratio.
        hats: nodes x n; B is each of these along x, y and z.
        progress: called with the fraction done.

    Returns:
        3n x 3n [1/m], symmetric to rounding.
    """
    matrices, lumped = _element_matrices(tets.nodes, tets.elements, poisson)
    size, n = 3 * len(tets.nodes), int(hats.shape[1])
    rigid = _rigid_motions(tets.nodes)
    mass = np.repeat(np.bincount(tets.elements.ravel(), lumped.ravel(), minlength=len(tets.nodes)), 3)
    weighted = mass[:, None] * rigid
    balance = np.linalg.inv(rigid.T @ weighted)
    stiffness = float(np.einsum("eii->", matrices)) / size
    held = determinate_supports(tets.nodes[: tets.corners], rigid)
    loads = kron(hats, identity(3), format="csr")
    gram = condensed_gram(
        matrices,
        tets.elements,
        tets.nodes[tets.elements[:, :4]].mean(axis=1),
        hstack([loads, csr_matrix(weighted)], format="csr"),
        springs=dict.fromkeys(held, stiffness),
        progress=progress or (lambda _fraction: None),
    )
    del matrices
    # P^T B = B - (mass rigid) T: the loads with the inertia forces that balance them
    relief = balance @ (loads.T @ rigid).T
    # in place, and a block of rows at a time: these matrices are what fills the memory
    half = relief.T @ gram[3 * n :, 3 * n :] * 0.5 - gram[: 3 * n, 3 * n :]
    free = gram[: 3 * n, : 3 * n].copy()
    del gram
    free += half @ relief
    free += relief.T @ half.T
    return free


def _rigid_motions(points: Floats) -> Floats:
    """Columns: three translations, three rotations about the centroid scaled by the body's size."""
    x = points - points.mean(axis=0)
    scale = float(np.abs(x).max())
    out = np.zeros((3 * len(points), 6))
    for axis in range(3):
        out[axis::3, axis] = 1.0
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        out[i::3, 3 + k] = -x[:, j] / scale
        out[j::3, 3 + k] = x[:, i] / scale
    return out


def determinate_supports(corners: Floats, rigid: Floats) -> list[int]:
    """Six unknowns at three far-apart corners that hold the body without straining it.

    Loads that balance leave such supports unloaded, so springs of any stiffness there do not change the answer.
    """
    a = int(np.argmin(corners[:, 0]))
    b = int(np.argmax(np.linalg.norm(corners - corners[a], axis=1)))
    c = int(np.argmax(np.linalg.norm(np.cross(corners - corners[a], corners[b] - corners[a]), axis=1)))
    candidates = [3 * node + axis for node in (a, b, c) for axis in range(3)]
    return list(max(combinations(candidates, 6), key=lambda pick: abs(np.linalg.det(rigid[list(pick)]))))


@kernel
def _element_matrices(nodes: Floats, elements: Ints, nu: float) -> tuple[Floats, Floats]:
    """Stiffness (30 x 30, E = 1) and lumped volumes of every ten-node tetrahedron; four Gauss points."""
    lam = nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    mu = 0.5 / (1.0 + nu)
    far, near = 0.5854101966249685, 0.1381966011250105
    m = len(elements)
    out = np.zeros((m, 30, 30))
    lumped = np.zeros((m, 10))
    ref = np.empty((10, 3))
    g, inv, jac = np.empty((10, 3)), np.empty((3, 3)), np.empty((3, 3))
    for e in range(m):
        volume = 0.0
        for q in range(4):
            x = far if q == 1 else near
            y = far if q == 2 else near
            z = far if q == 3 else near
            shape_gradients(x, y, z, ref)
            for i in range(3):
                for j in range(3):
                    jac[i, j] = 0.0
                    for a in range(10):
                        jac[i, j] += nodes[elements[e, a], i] * ref[a, j]
            for i in range(3):
                for j in range(3):
                    r, s, k, l = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                    inv[j, i] = jac[r, k] * jac[s, l] - jac[r, l] * jac[s, k]
            det = jac[0, 0] * inv[0, 0] + jac[0, 1] * inv[1, 0] + jac[0, 2] * inv[2, 0]
            for i in range(3):
                for j in range(3):
                    inv[i, j] /= det
            w = det / 24.0
            volume += w
            for a in range(10):
                for j in range(3):
                    g[a, j] = ref[a, 0] * inv[0, j] + ref[a, 1] * inv[1, j] + ref[a, 2] * inv[2, j]
            for a in range(10):
                for b in range(10):
                    dot = g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2]
                    for i in range(3):
                        for j in range(3):
                            out[e, 3 * a + i, 3 * b + j] += w * (lam * g[a, i] * g[b, j] + mu * g[a, j] * g[b, i])
                        out[e, 3 * a + i, 3 * b + i] += w * mu * dot
        for a in range(10):
            lumped[e, a] = volume * (0.025 if a < 4 else 0.15)
    return out, lumped


def _hat_loads(tets: Tetrahedra) -> tuple[Ints, Ints, csr_matrix, Floats]:
    """Nodes of the corners; corners of the faces; nodes x corners integrals of (quadratic shape) (hat); of hats
    with hats."""
    faces = tets.boundary
    x = tets.nodes[faces]
    flat = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    # on a crease each side has hats of its own: pressure on one face must not leak onto the next
    local, count = sectors(faces[:, :3], flat / np.linalg.norm(flat, axis=1)[:, None], _FOLD)
    corners = np.zeros(count, dtype=np.int64)
    corners[local.ravel()] = faces[:, :3].ravel()
    n_nodes, n = len(tets.nodes), len(corners)
    psi = np.zeros((len(faces), 6, 3))
    mass = np.zeros((len(faces), 3, 3))
    for (l0, l1, l2), weight in zip(_TRIANGLE, _TRIANGLE_WEIGHTS, strict=True):
        lam = np.array([l0, l1, l2])
        shape = np.array(
            [l0 * (2 * l0 - 1), l1 * (2 * l1 - 1), l2 * (2 * l2 - 1), 4 * l0 * l1, 4 * l1 * l2, 4 * l2 * l0]
        )
        along_1 = np.array([1 - 4 * l0, 4 * l1 - 1, 0, 4 * (l0 - l1), 4 * l2, -4 * l2])
        along_2 = np.array([1 - 4 * l0, 0, 4 * l2 - 1, -4 * l1, 4 * l1, 4 * (l0 - l2)])
        cross = np.cross(np.einsum("a,fax->fx", along_1, x), np.einsum("a,fax->fx", along_2, x))
        area = 0.5 * weight * np.linalg.norm(cross, axis=1)
        psi += area[:, None, None] * shape[None, :, None] * lam[None, None, :]
        mass += area[:, None, None] * np.outer(lam, lam)
    psi_all = coo_matrix(
        (psi.ravel(), (np.repeat(faces, 3, axis=1).ravel(), np.tile(local, (1, 6)).ravel())), shape=(n_nodes, n)
    ).tocsr()
    mass_all = coo_matrix(
        (mass.ravel(), (np.repeat(local, 3, axis=1).ravel(), np.tile(local, (1, 3)).ravel())), shape=(n, n)
    ).toarray()
    return corners, local, psi_all, mass_all
