"""Pressures between two bodies: Love's kernel and the complementarity problem.   (theory 6.2, local problem)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from pliant.arrays import Bools, Floats, Ints
from pliant.compiled import inner, kernel


@inner
def compiled_love_table(count: int, dx: float, dy: float) -> Floats:
    """Normal displacement of a half-space with E* = 1 at cell offsets (i, j) of a unit force spread over one cell
    [1/m].

    Love 1929 for a rectangle 2p x 2q, p = dx / 2, q = dy / 2.   (theory 6.2, L)
    """
    p, q = 0.5 * dx, 0.5 * dy
    out = np.empty((count, count))
    for i in range(count):
        for j in range(count):
            xp, xm, yp, ym = i * dx + p, i * dx - p, j * dy + q, j * dy - q
            rpp, rpm = np.hypot(xp, yp), np.hypot(xp, ym)
            rmp, rmm = np.hypot(xm, yp), np.hypot(xm, ym)
            total = (
                xp * np.log((yp + rpp) / (ym + rpm))
                + yp * np.log((xp + rpp) / (xm + rmp))
                + xm * np.log((ym + rmm) / (yp + rmp))
                + ym * np.log((xm + rmm) / (xp + rpm))
            )
            out[i, j] = total / (np.pi * dx * dy)
    return out


@kernel
def love_table(count: int, dx: float, dy: float) -> Floats:
    """``compiled_love_table`` for callers in Python.

    One compiled function must not be called both from Python and from other compiled functions once it comes from
    numba's cache: the returned array then loses its type.
    """
    return compiled_love_table(count, dx, dy)


@kernel
def love_matrix(
    table: Floats,
    cells: Ints,
    xy: Floats,
    slope: Floats,
    normal: float,
    mixed: float,
    shear: float,
    base: float,
    out: Floats,
) -> None:
    """Compliance between cells of a grid whose forces act along the tilted normals of the interface, written to
    ``out``.

    Pressure acts along m = (-s, 1), s the slope of the interface, and closes the gap along m as well:  A_ij = m_i .
    G_ij m_j with the half-space's full Green tensor (Boussinesq, Cerruti). For s = 0 this is Love's kernel. The terms
    of first order move the surface sideways under pressure (proportional to 1 - 2 nu), those of second order are the
    outward pull of the tilted pressure; theory 6.2 wants both or none.

    Args:
        table: ``love_table`` of the grid.
        cells: i * count + j of the k cells.
        xy: k x 2 positions [m].
        slope: k x 2 slopes of the interface.
        normal: sum of (1 - nu^2) / E [1/Pa].
        mixed: difference object - pad of (1 - 2 nu) (1 + nu) / (2 E) [1/Pa].
        shear: sum of nu (1 + nu) / E [1/Pa].
        base: added to every entry: what the whole body gives [m/N].
    """
    count = table.shape[0]
    for a in range(len(cells)):
        ia, ja = cells[a] // count, cells[a] % count
        for b in range(a + 1):
            ib, jb = cells[b] // count, cells[b] % count
            t = table[abs(ia - ib), abs(ja - jb)]
            dot = slope[a, 0] * slope[b, 0] + slope[a, 1] * slope[b, 1]
            value = base + normal * t * (1.0 + dot)
            if a == b:
                value += 0.5 * shear * t * dot
            else:
                x, y = xy[a, 0] - xy[b, 0], xy[a, 1] - xy[b, 1]
                r2 = x * x + y * y
                value += mixed / np.pi * ((slope[b, 0] - slope[a, 0]) * x + (slope[b, 1] - slope[a, 1]) * y) / r2
                value += shear * t * (slope[a, 0] * x + slope[a, 1] * y) * (slope[b, 0] * x + slope[b, 1] * y) / r2
            out[a, b] = value
            out[b, a] = value


@kernel
def _gather(matrix: Floats, index: Ints, out: Floats) -> None:
    """Rows and columns ``index`` of a matrix; several times quicker than fancy indexing."""
    for a in range(len(index)):
        for b in range(len(index)):
            out[a, b] = matrix[index[a], index[b]]


def factored(matrix: Floats, index: Ints) -> Floats | None:
    """Cholesky factor (lower, for ``dpotrs``) of rows and columns ``index``; None if not positive definite."""
    block = np.empty((len(index), len(index)))
    _gather(matrix, index, block)
    # symmetric: the transpose has the memory order LAPACK wants
    factor, info = dpotrf(block.T, lower=1, overwrite_a=1, clean=0)
    return None if info else np.asarray(factor)


@dataclass(frozen=True, eq=False)
class Pressures:
    """Solution of the complementarity problem.

    Args:
        forces: cell forces f >= 0 [N].
        motion: coefficients of the rigid motions that balance the forces.
        balanced: the force balance could be met.
        exact: the compliance matrix was positive definite as it stood.
    """

    forces: Floats
    motion: Floats
    balanced: bool
    exact: bool


def solve_pressures(
    compliance: Floats,
    penetration: Floats,
    modes: Floats,
    load: Floats,
    *,
    reactions: Floats | None = None,
    springs: Floats | None = None,
    start: Bools | None = None,
    most: int = 60,
) -> Pressures:
    """f >= 0, w = C f - pen - Q m >= 0, f . w = 0, P^T f + S m = load.   (theory 6.2, several contacts are one problem)

    Primal-dual active set with Cholesky; the rigid motions m enter by their Schur complement. Falls back to one change
    at a time if the sets cycle, and to a shifted matrix (``exact`` false) if C is not positive definite.

    Args:
        compliance: C, n x n [m/N].
        penetration: of the undeformed surfaces at each cell [m].
        modes: Q, n x r: how much a unit of each rigid motion adds to the penetration at each cell.
        load: r generalised loads that the contact forces must balance.
        reactions: P, n x r: how a unit cell force acts on each motion; Q itself unless friction goes with the pressure.
        springs: S, r x r: what else resists the motions; nothing if left out.
        start: a first guess of the cells in contact.
    """
    n, r = modes.shape
    scale = float(np.abs(penetration).max(initial=0.0))
    left = modes if reactions is None else reactions
    active = (penetration > 0) if start is None else start.copy()
    exact = True
    matrix = compliance
    f = np.zeros(n)
    motion = np.zeros(r)
    seen: set[bytes] = set()
    careful = False
    for sweep in range(1, (4 if careful else 1) * most + 1):
        f = np.zeros(n)
        index = np.flatnonzero(active)
        if not len(index) or (springs is None and len(index) < r):
            return Pressures(f, np.zeros(r), r == 0, exact)
        factor = factored(matrix, index)
        if factor is None:
            exact = False
            matrix = matrix + np.eye(n) * (0.02 * float(np.abs(np.diag(compliance)).mean()))
            if sweep > most // 2:
                break
            continue
        q = modes[index]
        if r:
            solved, _ = dpotrs(factor, np.column_stack([penetration[index], q]), lower=1)
            schur = left[index].T @ solved[:, 1:]
            if springs is not None:
                schur = schur + springs
            try:
                motion = np.linalg.solve(schur, load - left[index].T @ solved[:, 0])
            except np.linalg.LinAlgError:
                return Pressures(np.zeros(n), np.zeros(r), False, exact)
            f[index] = solved[:, 0] + solved[:, 1:] @ motion
        else:
            f[index] = dpotrs(factor, penetration[index], lower=1)[0]
        gap = matrix @ f - penetration - modes @ motion
        new = np.where(active, f > 0, gap < -1e-10 * scale)
        if np.array_equal(new, active):
            return Pressures(np.maximum(f, 0.0), motion, True, exact)
        key = np.packbits(new).tobytes()
        careful = careful or key in seen
        seen.add(key)
        if careful:
            # Murty's rule, one cell at a time: slow but cannot cycle
            change = np.flatnonzero(new != active)
            active = active.copy()
            active[change[-1]] = ~active[change[-1]]
        else:
            active = new
    return Pressures(np.maximum(f, 0.0), motion, r == 0, False)
