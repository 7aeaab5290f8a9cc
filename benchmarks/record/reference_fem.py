"""An independent fine finite-element answer for bodies squeezed by rigid pads, to judge ``pliant.contact`` by.

It shares no idea with the contact model: 27-node bricks mapped onto the exact shape, graded towards the contact,
symmetry
planes instead of a free body, and node-to-surface contact enforced at the displaced nodes with the pad's own normals.
Small strains. Only the dense elimination of the linear system is borrowed. mm, N, MPa.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pliant.elastic.substructuring import Elimination

Floats = NDArray[np.float64]
_GAUSS = np.polynomial.legendre.leggauss(3)


def _shape(s: float) -> tuple[Floats, Floats]:
    """Quadratic Lagrange functions on nodes -1, 0, 1 and their derivatives."""
    return np.array([s * (s - 1) / 2, 1 - s * s, s * (s + 1) / 2]), np.array([s - 0.5, -2 * s, s + 0.5])


class Body:
    """A brick mapped onto a part of a body that symmetry completes.

    Args:
        shape: maps parameters (n x 3 in the unit cube) to positions; contact at parameter (0, 0, 1) corner region.
        divisions: bricks along each parameter.
        grade: exponents > 1 gather bricks near parameter 0 (first two) and near 1 (third, at the pad's face).
        planes: (axis, value) symmetry planes: displacement normal to them is zero.
    """

    def __init__(
        self,
        shape: Callable[[Floats], Floats],
        divisions: tuple[int, int, int],
        grade: tuple[float, float, float],
        planes: tuple[tuple[int, float], ...],
        young: float,
        poisson: float,
    ) -> None:
        ticks = []
        for k in range(3):
            t = np.linspace(0, 1, 2 * divisions[k] + 1)
            corner = t[::2] ** grade[k]
            corner = 1 - corner[::-1] if k == 2 else corner
            fine = np.empty(len(t))
            fine[::2] = corner
            fine[1::2] = (corner[1:] + corner[:-1]) / 2
            ticks.append(fine)
        self.counts = np.array([len(t) for t in ticks])
        parameters = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 3)
        self.nodes = shape(parameters)
        index = np.arange(len(parameters)).reshape(self.counts)
        i, j, k = np.meshgrid(*(2 * np.arange(d) for d in divisions), indexing="ij")
        local = [(a, b, c) for a in range(3) for b in range(3) for c in range(3)]
        elements = np.stack([index[i + a, j + b, k + c].ravel() for a, b, c in local], axis=1)
        matrices = self._matrices(elements, young, poisson)
        springs = {}
        size = 1e7 * np.abs(matrices).max()
        for axis, value in planes:
            for node in np.flatnonzero(np.abs(self.nodes[:, axis] - value) < 1e-7):
                springs[3 * int(node) + axis] = size
        self.factor = Elimination(
            matrices, elements, self.nodes[elements].mean(axis=1), 3 * len(self.nodes), springs=springs
        )
        self.top = index[:, :, -1].ravel()

    def _matrices(self, elements: NDArray[np.int64], young: float, nu: float) -> Floats:
        lam, mu = young * nu / ((1 + nu) * (1 - 2 * nu)), young / (2 * (1 + nu))
        x = self.nodes[elements]
        out = np.zeros((len(elements), 27, 3, 27, 3))
        for s, ws in zip(*_GAUSS, strict=True):
            for t, wt in zip(*_GAUSS, strict=True):
                for r, wr in zip(*_GAUSS, strict=True):
                    (a, da), (b, db), (c, dc) = _shape(s), _shape(t), _shape(r)
                    ref = np.stack(
                        [np.einsum("i,j,k->ijk", *v).ravel() for v in ((da, b, c), (a, db, c), (a, b, dc))],
                        axis=1,
                    )
                    jac = np.einsum("eax,ar->exr", x, ref)
                    det = np.linalg.det(jac)
                    g = np.einsum("ar,erx->eax", ref, np.linalg.inv(jac))
                    w = np.abs(det) * ws * wt * wr
                    wg = g * w[:, None, None]
                    out += lam * np.einsum("eai,ebj->eaibj", wg, g)
                    out += mu * np.einsum("eaj,ebi->eaibj", wg, g)
                    dot = mu * np.einsum("eax,ebx->eab", wg, g)
                    for i in range(3):
                        out[:, :, i, :, i] += dot
        return out.reshape(len(elements), 81, 81)

    def squeeze(self, near: float, touch: Floats, outward: Floats, depth: float, radius: float | None) -> float:
        """Force of a rigid sphere (or plane: radius None) driven in by ``depth``, for this symmetric part of the body.

        Args:
            near: nodes of the pad-side face within this distance of ``touch`` may come into contact.
        """
        nodes = self.top[np.linalg.norm(self.nodes[self.top] - touch, axis=1) < near]
        unknowns = (3 * nodes[:, None] + np.arange(3)).ravel()
        if not hasattr(self, "_cached") or not np.array_equal(self._cached[0], nodes):
            loads = np.zeros((3 * len(self.nodes), len(unknowns)))
            loads[unknowns, np.arange(len(unknowns))] = 1.0
            self._cached = (nodes, self.factor.solve(loads)[unknowns])
        compliance = self._cached[1]
        x = self.nodes[nodes]
        u = np.zeros_like(x)
        f = np.zeros(len(nodes))
        centre = touch + outward * ((radius or 0.0) - depth)
        n = len(nodes)
        for _ in range(12):
            if radius is None:
                normal = np.tile(outward, (n, 1))
                gap = (centre - (x + u)) @ outward
            else:
                away = centre - (x + u)
                distance = np.linalg.norm(away, axis=1)
                normal = away / distance[:, None]
                gap = distance - radius
            # gap + normal . (u_old - u_new) >= 0 with u_new = -C (normal f)
            project = np.zeros((3 * n, n))
            for k in range(3):
                project[3 * np.arange(n) + k, np.arange(n)] = normal[:, k]
            c = project.T @ compliance @ project
            penetration = -(gap + np.einsum("ij,ij->i", normal, u))
            new = _complementarity(c, penetration)
            u = -(compliance @ (project @ new)).reshape(-1, 3)
            if np.abs(new - f).max() < 1e-6 * max(new.max(), 1e-30):
                f = new
                break
            f = new
        return float(f @ (normal @ outward))


def _complementarity(c: Floats, penetration: Floats) -> Floats:
    active = penetration > 0
    f = np.zeros(len(penetration))
    for _ in range(100):
        f = np.zeros(len(penetration))
        if active.any():
            f[active] = np.linalg.solve(c[np.ix_(active, active)], penetration[active])
        new = np.where(active, f > 0, c @ f - penetration < -1e-12)
        if (new == active).all():
            break
        active = new
    return f


def disc_map(p: Floats) -> Floats:
    """Quarter of the unit square to a quarter of the unit disc."""
    u, v = p[:, 0], p[:, 1]
    return np.stack([u * np.sqrt(1 - v * v / 2), v * np.sqrt(1 - u * u / 2)], axis=1)


def block(a: float, b: float, c: float) -> Callable[[Floats], Floats]:
    """An eighth of the block 2a x 2b x 2c, pad on +z."""
    return lambda p: p * np.array([a, b, c])


def cylinder(radius: float, half: float) -> Callable[[Floats], Floats]:
    """An eighth of a solid disc, pad on its axis."""
    return lambda p: np.column_stack([disc_map(p[:, :2]) * radius, p[:, 2] * half])


def hollow_sphere(outer: float, inner: float) -> Callable[[Floats], Floats]:
    """An eighth of a hollow ball, pad on +z."""

    def shape(p: Floats) -> Floats:
        flat = disc_map(p[:, :2])
        r = np.linalg.norm(flat, axis=1)
        angle = r * np.pi / 2
        side = np.where(r > 0, np.sin(angle) / np.maximum(r, 1e-300), np.pi / 2)
        return np.column_stack([flat * side[:, None], np.cos(angle)]) * (inner + p[:, 2:] * (outer - inner))

    return shape


def tube(outer: float, inner: float, half: float) -> Callable[[Floats], Floats]:
    """An eighth of a tube along x, pad on +z."""

    def shape(p: Floats) -> Floats:
        angle, r = p[:, 1] * np.pi / 2, inner + p[:, 2] * (outer - inner)
        return np.column_stack([p[:, 0] * half, r * np.sin(angle), r * np.cos(angle)])

    return shape


def ring(major: float, minor: float) -> Callable[[Floats], Floats]:
    """An eighth of a torus about y, pad on its outside at +z: parameters along the ring, across it, towards the pad."""

    def shape(p: Floats) -> Floats:
        u, v = 2 * p[:, 2] - 1, p[:, 1]
        across, radial = v * np.sqrt(1 - u * u / 2) * minor, u * np.sqrt(1 - v * v / 2) * minor
        angle = p[:, 0] * np.pi / 2
        r = major + radial
        return np.column_stack([r * np.sin(angle), across, r * np.cos(angle)])

    return shape


SYMMETRY = ((0, 0.0), (1, 0.0), (2, 0.0))

CASES: dict[str, tuple[Callable[[Floats], Floats], float, tuple[int, int, int], tuple[float, float, float]]] = {
    # name: (shape, height of the pad's first touch, divisions, grades)
    "cylinder 30 x 30": (cylinder(30, 15), 15, (11, 11, 8), (2.2, 2.2, 1.6)),
    "thin disc 30 x 10": (cylinder(30, 5), 5, (12, 12, 6), (2.2, 2.2, 1.4)),
    "cube 40": (block(20, 20, 20), 20, (11, 11, 9), (2.0, 2.0, 1.8)),
    "block 60 x 40 x 20": (block(30, 20, 10), 10, (12, 11, 7), (2.2, 2.0, 1.5)),
    "hollow ball 30, wall 8": (hollow_sphere(30, 22), 30, (13, 13, 5), (1.9, 1.9, 1.3)),
    "tube 25, wall 8, length 80": (tube(25, 17, 40), 25, (13, 13, 5), (2.0, 1.8, 1.3)),
    "ring 35/15 across": (ring(35, 15), 50, (13, 8, 9), (1.9, 1.9, 1.9)),
    "ring 35/8 across": (ring(35, 8), 43, (15, 8, 8), (2.0, 1.7, 1.7)),
}


def reference(
    case: str,
    depths: tuple[float, ...],
    *,
    radius: float | None = 10.0,
    young: float = 0.5,
    poisson: float = 0.45,
    finer: float = 1.0,
) -> list[float]:
    """Forces [N] on each of two opposed pads for the depths [mm]."""
    shape, top, divisions, grade = CASES[case]
    counts = tuple(round(d * finer) for d in divisions)
    body = Body(shape, counts, grade, SYMMETRY, young, poisson)  # type: ignore[arg-type]
    touch, outward = np.array([0.0, 0.0, top]), np.array([0.0, 0.0, 1.0])
    reach = 1.6 * np.sqrt((radius or 2 * top) * max(depths))
    return [4 * body.squeeze(reach, touch, outward, depth, radius) for depth in depths]


if __name__ == "__main__":
    for name in CASES:
        print(name, [round(force, 5) for force in reference(name, (0.3, 0.75, 1.5))], flush=True)
