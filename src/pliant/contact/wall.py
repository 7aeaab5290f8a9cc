"""What a thin wall adds under a contact: an endless shallow shell with the curvature found there. (theory 6.2, vessels)

A pressure p on a shallow shell with curvatures kx, ky bends and stretches it; wave by wave (Marguerre's equations)

    w = p / (D q^4 + E t (kx qy^2 + ky qx^2)^2 / q^4),      D = E t^3 / (12 (1 - nu^2)).

On a sphere a point force sinks by Reissner's R sqrt(3 (1 - nu^2)) / (4 E t^2). The dent is a few bending lengths
sqrt(R t) wide, finer than the corners of the vessel's compliance; this kernel carries it, in series with the
half-space, and the vessel adds what the whole shape does beyond it: the kernel's answer to the load as the corners see
it is taken out there, as the half-space's is for a solid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.compiled import kernel
from pliant.elastic import Compliance

_SHORTEST = 12.0
"""Largest wave number times the bending length; what lies beyond is 0.4 % of a point force's dent."""
_BOX = 24.0
"""Width of the periodic box in bending lengths."""
_MODES = (48, 400)


@kernel
def _between(table: Floats, cells: Ints, out: Floats) -> None:
    """The table's entries for every pair of cells."""
    count = len(table)
    for a in range(len(cells)):
        ia, ja = cells[a] // count, cells[a] % count
        for b in range(a + 1):
            value = table[abs(ia - cells[b] // count), abs(ja - cells[b] % count)]
            out[a, b] = value
            out[b, a] = value


@kernel
def _energy(table: Floats, forces: Floats) -> float:
    """Sum of f_a f_b table[|i_a - i_b|, |j_a - j_b|] over all pairs."""
    count = len(forces)
    total = 0.0
    for i in range(count):
        for j in range(count):
            if forces[i, j] == 0.0:
                continue
            inner = 0.0
            for k in range(count):
                for m in range(count):
                    inner += forces[k, m] * table[abs(i - k), abs(j - m)]
            total += forces[i, j] * inner
    return total


@dataclass(frozen=True, eq=False)
class ShallowWall:
    """The kernel's waves, for Young's modulus 1.

    Args:
        waves: N wave numbers from zero up [1/m].
        answer: N x N deflection of the waves cos(qx x) cos(qy y) for unit force [1/m].
    """

    waves: Floats
    answer: Floats

    def table(self, count: int, dx: float, dy: float) -> Floats:
        """count x count deflection at offsets (i dx, j dy) from a unit force, times E [1/m]."""
        steps = np.arange(count)
        cx = np.cos(np.outer(steps * dx, self.waves))
        cy = np.cos(np.outer(steps * dy, self.waves))
        return np.asarray(cx @ self.answer @ cy.T)

    def matrix(self, cells: Ints, count: int, dx: float, dy: float) -> Floats:
        """Deflections between cells of a grid, times E [1/m]."""
        out = np.empty((len(cells), len(cells)))
        _between(np.ascontiguousarray(self.table(count, dx, dy)), np.asarray(cells, dtype=np.int64), out)
        return out

    def deflection(self, at: Floats, forces: Floats, points: Floats) -> Floats:
        """Deflection of points (k x 2) under forces at places ``at`` (m x 2) of the tangent plane, times E [N/m]."""
        out = np.zeros(len(points))
        for fx in (np.cos, np.sin):
            for fy in (np.cos, np.sin):
                spectrum = (fx(np.outer(at[:, 0], self.waves)).T * forces) @ fy(np.outer(at[:, 1], self.waves))
                left = fx(np.outer(points[:, 0], self.waves)) @ (self.answer * spectrum)
                out += np.einsum("vn,vn->v", left, fy(np.outer(points[:, 1], self.waves)))
        return out

    def energy(self, forces: Floats, dx: float, dy: float) -> float:
        """f . G f over a square grid of forces that sum to 1, times E [1/m]."""
        return float(_energy(np.ascontiguousarray(self.table(len(forces), dx, dy)), np.ascontiguousarray(forces)))


def shallow_wall(body: Compliance, corners: Ints, weights: Floats, axes: Floats, reach: float) -> ShallowWall:
    """The shallow shell under a footprint.

    Args:
        body: a vessel's compliance.
        corners, weights: the footprint's shares.
        axes: rows: x, y and the outward normal of the contact.
        reach: half width of the grids it will be used on [m].
    """
    wall = body.wall
    assert wall is not None
    tensor = axes[:2] @ np.einsum("k,kij->ij", weights, wall.curvature[corners]) @ axes[:2].T
    kx, ky = float(tensor[0, 0]), float(tensor[1, 1])
    t = wall.thickness
    rigidity = t**3 / (12.0 * (1.0 - body.poisson**2))
    size = float(np.ptp(body.points, axis=0).max())
    length = float((rigidity / t) ** 0.25 / np.sqrt(max(abs(kx), abs(ky), 2.0 / size)))
    box = max(_BOX * length, 6.0 * reach)
    step = 2.0 * np.pi / box
    modes = int(np.clip(np.ceil(_SHORTEST / (length * step)), *_MODES))
    q = np.asarray(step * np.arange(modes + 1), dtype=np.float64)
    qx, qy = q[:, None] ** 2, q[None, :] ** 2
    square = qx + qy
    square[0, 0] = 1.0
    membrane = (kx * qy + ky * qx) / square
    membrane[0, 0] = 0.5 * (kx + ky)
    square[0, 0] = 0.0
    # far away the whole vessel answers, not this kernel: a slight bedding keeps flat walls from sinking without end
    stiffness = rigidity * (square**2 + 0.1 * step**4) + t * membrane**2
    twice = np.where(q > 0.0, 2.0, 1.0)
    return ShallowWall(q, twice[:, None] * twice / (stiffness * box**2))
