"""Box-constrained least squares: limits and weights without abrupt stops."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem
from pliant.motion.solvers.problem import BoxProblem, VelocityAnswer, VelocityProblem

SOFT = 8  # DAQP's mark of a constraint that may be broken where it must be


class QpSolver:
    """Least squares within position, speed and acceleration limits.   (theory 5.2, 4)

        min |W_r (J qdot - V)|^2 + damping^2 sum w_i (qdot_i - preferred_i)^2,   lo <= qdot <= hi

    Solved by DAQP. The limits become one window a joint (`JointLimits.window`), which is never empty, so there always
    is an answer, from starts outside the limits too. Keep-out rows are kept as long as that is possible at all, then
    as well as possible. Later priorities move in the null space of the earlier ones, within the same windows.

    Args:
        damping: below singular values of this size motion is given up for the sake of calm; a task with smallest
            singular value s is followed up to the fraction damping^2 / s^2.
    """

    name = "qp"
    keeps_priorities = True

    def __init__(self, *, damping: float = 1e-3) -> None:
        if not damping > 0.0:
            raise OptionError("qp", Problem("damping", f"{damping}", "above zero"))
        import daqp

        from pliant.motion import kernels

        self.damping = damping
        self._solve: Any = daqp.solve
        self._box_problem: Any = kernels.box_problem
        self._conclude: Any = kernels.conclude
        self._size = -1

    def solve(self, problem: VelocityProblem) -> VelocityAnswer:
        n = len(problem.q)
        if n != self._size:
            self._allocate(n)
        J, V, w, box = problem.jacobian, problem.wanted, problem.row_weights, self._box
        levels = problem.levels
        first = slice(None) if len(levels) < 2 else levels[0]
        self._box_problem(
            J[first],
            V[first],
            w[first],
            problem.joint_weights,
            self.damping,
            problem.free,
            problem.q,
            problem.qdot,
            problem.limit_rows,
            problem.dt,
            *box,
        )
        if problem.preferred is not None:
            box.f[:] -= self.damping**2 * problem.joint_weights * problem.preferred
        if problem.barrier is None:
            x = self._solve(box.H, box.f, self._no_rows, box.hi, box.lo, self._sense)[0]
        else:
            x = self._with_rows(box, *problem.barrier)
        if len(levels) > 1:
            x = self._later_levels(problem, x, box)
        residual, limited = np.empty(len(V)), np.empty(n, dtype=np.bool_)
        self._conclude(x, box.lo, box.hi, J, V, w, residual, limited)
        return VelocityAnswer(x, residual, limited)

    def _allocate(self, n: int) -> None:
        self._size = n
        self._box = BoxProblem.empty(n)
        self._no_rows = np.zeros((0, n))
        self._sense = np.zeros(n, dtype=np.int32)

    def _with_rows(self, box: BoxProblem, A: Floats, b: Floats) -> Floats:
        """The box problem with A x >= b; softened if the windows leave no such x."""
        upper, lower = np.concatenate([box.hi, np.full(len(b), 1e30)]), np.concatenate([box.lo, b])
        sense = np.zeros(len(upper), dtype=np.int32)
        A = np.ascontiguousarray(A)
        x, _, exitflag, _ = self._solve(box.H, box.f, A, upper, lower, sense)
        if exitflag < 0:
            sense[len(box.hi) :] = SOFT
            x = self._solve(box.H, box.f, A, upper, lower, sense)[0]
        return np.asarray(x)

    def _later_levels(self, problem: VelocityProblem, x: Floats, box: BoxProblem) -> Floats:
        """x + N z for each later level, N spanning what all earlier rows do not see."""
        damping = self.damping**2 * problem.joint_weights
        columns = np.flatnonzero(problem.free)
        N = np.eye(len(x))[:, columns]
        levels = problem.rows_by_level
        for before, rows in pairwise(levels):
            N = N @ _null_space((problem.row_weights[before, None] * problem.jacobian[before]) @ N)
            if N.shape[1] == 0:
                break
            w = problem.row_weights[rows]
            J = w[:, None] * problem.jacobian[rows]
            V = w * problem.wanted[rows] - J @ x
            JN = J @ N
            H = JN.T @ JN + N.T @ (damping[:, None] * N)
            A, lower, upper = N, box.lo - x, box.hi - x
            if problem.barrier is not None:
                A_keep, b = problem.barrier
                A = np.vstack([N, A_keep @ N])
                lower = np.concatenate([lower, np.minimum(b - A_keep @ x, 0.0)])
                upper = np.concatenate([upper, np.full(len(b), 1e30)])
            # z = 0 is allowed; rounding must not make it look forbidden.
            pull = x if problem.preferred is None else x - problem.preferred
            f = N.T @ (damping * pull) - JN.T @ V
            sense = np.zeros(len(upper), dtype=np.int32)
            A = np.ascontiguousarray(A)
            z, _, exitflag, _ = self._solve(H, f, A, np.maximum(upper, 0.0), np.minimum(lower, 0.0), sense)
            if exitflag < 0:
                break
            x = x + N @ z
        return x


def _null_space(J: Floats) -> Floats:
    _, s, Vt = np.linalg.svd(J, full_matrices=True)
    return np.asarray(Vt[int((s > 1e-6).sum()) :].T)
