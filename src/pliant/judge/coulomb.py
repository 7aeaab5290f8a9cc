"""One increment of unilateral contact with Coulomb friction, by a semismooth Newton method.   (theory 10.3)

Unknown are the forces l (normal first) at m hats and a small rigid motion a of the body's frame. With
y = C l + R a + c (gap, slip, slip) and z = l - r y the conditions are (Alart and Curnier 1991)

    l_n = max(z_n, 0),      l_t = z_t where |z_t| <= mu max(z_n, 0), else mu max(z_n, 0) z_t / |z_t|,
    R^T l + w - D (a0 + a) = 0.

D is a drag on the rigid motion alone: with it every increment has an answer, also that of a body that falls. It counts
from the beginning of the increment, so it vanishes when the body is at rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.arrays import Bools, Floats

_ITERATIONS = 60
_FULL_STEPS = 25
"""Iterations after which only half of every step is taken: cycles end so."""
_ARM = 0.02
"""Length by which torques are compared with forces [m]."""


class Increment(NamedTuple):
    """The linearised problem.

    Attributes:
        compliance: 3m x 3m, rows normal, tangential, tangential of every hat [m/N].
        motion: 3m x 6, R: what a rigid motion does to gap and slips.
        offset: 3m, c: gap and slips without forces and motion [m].
        load: 6, w: force and torque on the body [N, N m].
        drag: 6 x 6, D [N/m, N m].
        moved: 6, a0: rigid motion since the beginning of the increment [m, rad].
        friction: mu.
        scale: r [N/m].
    """

    compliance: Floats
    motion: Floats
    offset: Floats
    load: Floats
    drag: Floats
    moved: Floats
    friction: float
    scale: float


class Solved(NamedTuple):
    """Its solution.

    Attributes:
        forces: m x 3 [N].
        motion: 6 [m, rad].
        iterations: Newton steps.
    """

    forces: Floats
    motion: Floats
    iterations: int


def solve_increment(problem: Increment, start: Floats, tolerance: float) -> Solved | None:
    """Forces and motion that fulfil all conditions; None if the iteration does not end.

    Args:
        problem: the increment.
        start: m x 3, forces to begin with [N].
        tolerance: largest residual, in forces [N].
    """
    m = len(start)
    l, a = start.copy(), np.zeros(6)
    l[:, 0] = np.maximum(l[:, 0], 0.0)
    for iteration in range(_ITERATIONS):
        y = (problem.compliance @ l.ravel() + problem.motion @ a + problem.offset).reshape(m, 3)
        z = l - problem.scale * y
        closed = z[:, 0] > 0.0
        size = np.linalg.norm(z[:, 1:], axis=1)
        bound = problem.friction * np.maximum(z[:, 0], 0.0)
        # without friction nothing sticks, not even what does not move
        slips = closed & ((size > bound) | (problem.friction == 0.0))
        if _residual(problem, l, a, z, closed, slips, bound, size) < tolerance:
            return Solved(l, a, iteration)
        l[~closed] = 0.0
        found = _newton_step(problem, l, a, z, closed, slips, bound, size)
        if found is None:
            return None
        new, motion = found
        share = 1.0 if iteration < _FULL_STEPS else 0.5
        l, a = l + share * (new - l), a + share * (motion - a)
    return None


def _residual(
    problem: Increment, l: Floats, a: Floats, z: Floats, closed: Bools, slips: Bools, bound: Floats, size: Floats
) -> float:
    """Largest violation, in forces [N]."""
    sticks = closed & ~slips
    wrong = np.zeros_like(l)
    wrong[~closed] = l[~closed]
    wrong[closed, 0] = l[closed, 0] - z[closed, 0]
    wrong[sticks, 1:] = l[sticks, 1:] - z[sticks, 1:]
    direction = z[slips, 1:] / np.maximum(size[slips], np.finfo(float).tiny)[:, None]
    wrong[slips, 1:] = l[slips, 1:] - bound[slips, None] * direction
    balance = problem.motion.T @ l.ravel() + problem.load - problem.drag @ (problem.moved + a)
    return float(max(np.abs(wrong).max(initial=0.0), np.abs(balance[:3]).max(), np.abs(balance[3:]).max() / _ARM))


def _newton_step(
    problem: Increment, l: Floats, a: Floats, z: Floats, closed: Bools, slips: Bools, bound: Floats, size: Floats
) -> tuple[Floats, Floats] | None:
    """Forces and motion after one Newton step with these states; None where its matrix is singular."""
    mu, r = problem.friction, problem.scale
    at = np.flatnonzero(closed)
    k = len(at)
    rows = (3 * at[:, None] + np.arange(3)).ravel()
    give, move = problem.compliance[np.ix_(rows, rows)], problem.motion[rows]
    jacobian = np.zeros((3 * k + 6, 3 * k + 6))
    right = np.zeros(3 * k + 6)
    # closed: the gap is zero; sticking: the slips are
    jacobian[: 3 * k, : 3 * k], jacobian[: 3 * k, 3 * k :] = give, move
    right[: 3 * k] = -problem.offset[rows]
    weight = np.full(3 * k + 6, r)
    sliding = np.flatnonzero(slips[at])
    if len(sliding):
        g = at[sliding]
        length = np.maximum(size[g], np.finfo(float).tiny)
        d = z[g, 1:] / length[:, None]
        turn = (np.minimum(bound[g], length) / length)[:, None, None] * (np.eye(2) - d[:, :, None] * d[:, None, :])
        pairs = (3 * sliding[:, None] + np.array([1, 2])).ravel()
        slip = np.concatenate([give[pairs], move[pairs]], axis=1).reshape(len(g), 2, -1)
        row = r * np.einsum("gij,gju->giu", turn, slip)
        own = np.arange(len(g))
        for i in range(2):
            row[own, i, 3 * sliding] -= mu * d[:, i]
            row[own, i, 3 * sliding + 1 + i] += 1.0
            for j in range(2):
                row[own, i, 3 * sliding + 1 + j] -= turn[:, i, j]
        # the normal row makes the gap zero, so that z_n is l_n in the bound
        old = np.concatenate([l[at].ravel(), a])
        wrong = l[g, 1:] - (mu * l[g, 0])[:, None] * d
        jacobian[pairs] = row.reshape(-1, 3 * k + 6)
        right[pairs] = (row @ old).ravel() - wrong.ravel()
        weight[pairs] = 1.0
    jacobian[3 * k :, : 3 * k] = move.T
    jacobian[3 * k :, 3 * k :] = -problem.drag
    right[3 * k :] = -problem.load + problem.drag @ problem.moved
    # displacements and forces, forces and torques brought to like sizes
    weight[3 * k : 3 * k + 3], weight[3 * k + 3 :] = 1.0, 1.0 / _ARM
    column = np.ones(3 * k + 6)
    column[3 * k : 3 * k + 3], column[3 * k + 3 :] = 1.0 / r, 1.0 / (_ARM * r)
    try:
        solution = column * np.linalg.solve(weight[:, None] * jacobian * column, weight * right)
    except np.linalg.LinAlgError:
        return None
    forces = l.copy()
    forces[at] = solution[: 3 * k].reshape(k, 3)
    return forces, solution[3 * k :]
