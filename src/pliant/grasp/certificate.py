"""Proofs that no forces hold: Farkas certificates that anyone can check with a few multiplications.

If A x + s = b has a solution with s in the cone, then z . (A x + s) = z . b for every z. A vector z in the dual cone
with A^T z = 0 makes the left side non-negative; if z . b < 0 there is no solution. Numbers on a computer leave A^T z
a little off zero, so a certificate also says how large forces would have to be to escape it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pliant.arrays import Bools, Floats
from pliant.grasp.cones import Cones, cone_distance, solve_once

# A certificate counts when only forces this many times the load could escape it.
TRUSTED_REACH = 1e5


@dataclass(frozen=True, eq=False)
class Certificate:
    """A checked proof of infeasibility of A x + s = b, s in the cones; numbers in units of the load.

    Args:
        matrix, right, cones: A, b and the cones.
        dual: z, scaled so that b . z = -1.
        twist: motion of the object (linear, angular in {B}) along which the load does positive work and no permitted
            contact force does negative work: how it gets loose. None if limits or the hand are part of the proof.
    """

    matrix: sparse.csc_matrix
    right: Floats
    cones: Cones
    dual: Floats
    twist: Floats | None = None

    @property
    def reach(self) -> float:
        """No solution has all |x| below this many loads: 1 / |A^T z|_1."""
        off = float(np.abs(self.matrix.T @ self.dual).sum())
        return np.inf if off == 0 else 1.0 / off

    def check(self) -> bool:
        """Whether the proof holds: z in the dual cone, b . z = -1, A^T z = 0 up to forces of 1e5 loads."""
        inside = cone_distance(self.cones, self.dual, dual=True) <= 0.0
        return inside and abs(float(self.right @ self.dual) + 1) < 1e-6 and self.reach > TRUSTED_REACH


def certify(matrix: sparse.csc_matrix, right: Floats, cones: Cones, dual: Floats) -> Certificate | None:
    """A certificate from a solver's dual vector, or None if it proves nothing."""
    z = _into_dual_cone(cones, dual)
    # A limit that is not there is a row of zeros; its dual proves nothing and only weakens the proof. One that no force
    # changes, and that is exceeded without any (a finger too heavy for its drive), is the proof.
    empty = np.ones(len(z), dtype=bool)
    empty[matrix.indices[matrix.data != 0]] = False
    z[empty & _linear_rows(cones) & (right >= 0.0)] = 0.0
    gain = -float(right @ z)
    if not np.isfinite(gain) or gain <= 0:
        return None
    z = z / gain
    # One step towards A^T z = 0; kept only if it helps once z is back in the cone.
    gram = (matrix.T @ matrix).toarray()
    better = _into_dual_cone(cones, z - matrix @ np.linalg.lstsq(gram, matrix.T @ z, rcond=1e-14)[0])
    gain = -float(right @ better)
    if gain > 0 and np.abs(matrix.T @ better).sum() / gain < np.abs(matrix.T @ z).sum():
        z = better / gain
    certificate = Certificate(matrix, right, cones, z)
    return certificate if certificate.check() else None


def least_violation(matrix: sparse.csc_matrix, right: Floats, cones: Cones) -> tuple[float, Floats, Floats]:
    """How much every inequality must be relaxed, in units of the load, until there is a solution; below 0: spare room.

    This program always has solutions and room around them, so it decides where the other one is on the edge.

    Returns:
        the violation, x, and the dual vector of the original constraints.
    """
    lift = np.zeros((matrix.shape[0], 1))
    start = 0
    for kind, count in cones:
        if kind == "plus":
            lift[start : start + count] = -1.0
        elif kind == "second":
            lift[start] = -1.0
        start += count
    width = matrix.shape[1]
    last = sparse.csc_matrix(([-1.0], ([0], [width])), shape=(1, width + 1))
    a = sparse.csc_matrix(sparse.vstack([sparse.hstack([matrix, sparse.csc_matrix(lift)]), last]))
    cost = np.zeros(width + 1)
    cost[-1] = 1.0
    answer = solve_once(cost, a, np.append(right, 1.0), (*cones, ("plus", 1)), tolerance=1e-10)
    x, z = np.array(answer.x), np.array(answer.z)
    return float(x[-1]), x[:-1], z[:-1]


def _linear_rows(cones: Cones) -> Bools:
    return np.concatenate([np.full(count, kind == "plus") for kind, count in cones])


def _into_dual_cone(cones: Cones, dual: Floats) -> Floats:
    z = dual.copy()
    start = 0
    for kind, count in cones:
        part = z[start : start + count]
        if kind == "plus":
            np.maximum(part, 0.0, out=part)
        elif kind == "second":
            # Slightly more than the norm, so that rounding cannot push it out again.
            part[0] = max(part[0], float(np.linalg.norm(part[1:])) * (1 + 1e-14))
        start += count
    return z
