"""An independent answer: a rigid ball pressed into both poles of a body of revolution, axisymmetric finite elements.

    python benchmarks/record/axisymmetric.py          (needs scikit-fem: the extra `bench`)

Quadratic quadrilaterals on the upper half of the meridian, graded towards the pole; frictionless contact node by node
with an active set, the rigid ball's own normals. On the solid ball of 30 mm between balls of 10 mm it gives 0.38520 and
4.31041 N at 0.3 and 1.5 mm, where other people's fine elements gave 0.38500 and 4.3099: 0.05 %. Units: mm, N, MPa.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse.linalg import spsolve
from scipy.spatial import cKDTree
from skfem import Basis, BilinearForm, ElementQuad2, ElementVector, MeshQuad, MeshQuad2
from skfem.helpers import grad

Floats = NDArray[np.float64]
Map = Callable[[Floats, Floats], tuple[Floats, Floats]]


def hollow_sphere(outer: float, inner: float) -> Map:
    """(angle share from the pole, radius share) -> (r, z)."""
    return lambda t, s: (
        (inner + (outer - inner) * s) * np.sin(t * np.pi / 2),
        (inner + (outer - inner) * s) * np.cos(t * np.pi / 2),
    )


def ellipsoid(across: float, along: float) -> Map:
    """Half axes across and along the axis; a pinhole of one hundredth at the centre keeps the map regular."""
    return lambda t, s: (
        across * (0.01 + 0.99 * s) * np.sin(t * np.pi / 2),
        along * (0.01 + 0.99 * s) * np.cos(t * np.pi / 2),
    )


def pole_force(
    body: Map, pole: float, depth: float, *, ball: float = 10.0, young: float = 0.5, poisson: float = 0.45
) -> float:
    """Force on a rigid ball that has moved ``depth`` into the pole, the other pole likewise [N]."""
    flat = MeshQuad2.from_mesh(MeshQuad.init_tensor(_graded(90, 0.0025), 1 - _graded(50, 0.004)[::-1]))
    share = flat.doflocs.copy()
    mesh = MeshQuad2(np.array(body(share[0], share[1])), flat.t)
    basis = Basis(mesh, ElementVector(ElementQuad2()), intorder=5)
    K = _stiffness(young, poisson).assemble(basis)
    component = np.zeros(K.shape[0], dtype=int)
    for dofs in (basis.nodal_dofs, basis.facet_dofs, basis.interior_dofs):
        for c, row in enumerate(dofs):
            component[row] = c % 2
    place = basis.doflocs
    held = ((np.abs(place[0]) < 1e-9) & (component == 0)) | ((np.abs(place[1]) < 1e-9) & (component == 1))
    free = np.flatnonzero(~held)
    points = mesh.doflocs[:, np.abs(share[1] - 1) < 1e-12]
    points = points[:, points[0] < 3 * np.sqrt(ball * depth) + 1]
    dofs = [np.flatnonzero(component == c)[cKDTree(place[:, component == c].T).query(points.T)[1]] for c in (0, 1)]
    offset = points.T - (0.0, pole + ball - depth)
    distance = np.linalg.norm(offset, axis=1)
    normal, gap = offset / distance[:, None], distance - ball
    touching = gap < 0
    for _ in range(60):
        on = np.flatnonzero(touching)
        rows = np.tile(np.arange(len(on)), 2)
        values, columns = normal[on].T.ravel(), np.concatenate([dofs[0][on], dofs[1][on]])
        N = sparse.coo_matrix((values, (rows, columns)), shape=(len(on), K.shape[0])).tocsr()[:, free]
        system = sparse.bmat([[K[free][:, free], N.T], [N, None]]).tocsc()
        x = spsolve(system, np.concatenate([np.zeros(len(free)), -gap[on]]))
        u = np.zeros(K.shape[0])
        u[free], push = x[: len(free)], -x[len(free) :]
        opening = gap + normal[:, 0] * u[dofs[0]] + normal[:, 1] * u[dofs[1]]
        after = ~touching & (opening < -1e-12)
        after[on] = push > 0
        if np.array_equal(after, touching):
            break
        touching = after
    return float(-(push * normal[on, 1]).sum())


def _stiffness(young: float, poisson: float) -> BilinearForm:
    first, second = young * poisson / (1 + poisson) / (1 - 2 * poisson), young / (2 * (1 + poisson))

    @BilinearForm
    def form(u, v, w):
        r = np.maximum(w.x[0], 1e-12)
        a, b = grad(u), grad(v)
        hoop = (u[0] / r, v[0] / r)
        trace = (a[0, 0] + a[1, 1] + hoop[0]) * (b[0, 0] + b[1, 1] + hoop[1])
        direct = a[0, 0] * b[0, 0] + a[1, 1] * b[1, 1] + hoop[0] * hoop[1]
        shear = (a[0, 1] + a[1, 0]) * (b[0, 1] + b[1, 0])
        return 2 * np.pi * r * (first * trace + second * (2 * direct + shear))

    return form


def _graded(count: int, first: float) -> Floats:
    """0..1 in ``count`` steps that grow in a fixed ratio from ``first``."""
    ratio = brentq(lambda q: first * (q**count - 1) / (q - 1) - 1, 1.0001, 3.0)
    steps = first * (ratio ** np.arange(count + 1) - 1) / (ratio - 1)
    steps[-1] = 1.0
    return np.asarray(steps)


def main() -> None:
    cases = {
        "solid ball 30": (hollow_sphere(30, 0.3), 30),
        "hollow ball 30 / 15": (hollow_sphere(30, 15), 30),
        "hollow ball 30 / 20": (hollow_sphere(30, 20), 30),
        "lens 30 x 15": (ellipsoid(30, 15), 15),
        "egg 15 x 30": (ellipsoid(15, 30), 30),
    }
    for name, (body, pole) in cases.items():
        forces = ", ".join(f"{depth} mm: {pole_force(body, pole, depth):.5f} N" for depth in (0.3, 0.75))
        print(f"{name:22} {forces}")


if __name__ == "__main__":
    main()
