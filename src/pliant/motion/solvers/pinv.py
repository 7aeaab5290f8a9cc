"""Weighted, damped pseudo-inverse, alone and with joints at their stops taken out; strict priorities by null spaces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.errors import OptionError, Problem
from pliant.motion.solvers.problem import VelocityAnswer, VelocityProblem, residual_of


@dataclass(frozen=True)
class PinvSolver:
    """min |W_r (J qdot - V)|, and of all such qdot the one of least sum w_i qdot_i^2.   (theory 5.2, 1)

    For full column rank this is (J^T W J)^-1 J^T W V, for full row rank the minimum-norm answer. A singular value s
    above ``threshold`` is inverted exactly; one below it counts as s / threshold^2, so the answer stays continuous
    through a singularity and never exceeds |V| / threshold. Knows no joint limits.
    """

    threshold: float = 0.02
    name: str = "pinv"
    keeps_priorities: bool = True

    def __post_init__(self) -> None:
        if not self.threshold > 0.0:
            raise OptionError(self.name, Problem("threshold", f"{self.threshold}", "above zero"))

    def solve(self, problem: VelocityProblem) -> VelocityAnswer:
        qdot = solve_levels(problem, problem.free, self.threshold)
        return VelocityAnswer(qdot, residual_of(problem, qdot), np.zeros(len(qdot), dtype=bool))


@dataclass(frozen=True)
class ExclusionSolver(PinvSolver):
    """Solve; joints whose step would leave their range are taken out (qdot = 0); solve again.   (theory 5.2, 2; [C, 9])

    When none leaves any more, an excluded joint that the remaining error pulls back inside is let in again, once a
    step. Speeds beyond the limits slow all joints down together, which keeps the direction of motion. Stops are
    abrupt: a joint that arrives at its limit loses its whole speed within one step. ``qp`` does not.
    """

    name: str = "exclusion"

    def solve(self, problem: VelocityProblem) -> VelocityAnswer:
        free = problem.free.copy()
        readmitted = np.zeros(len(free), dtype=bool)
        while True:
            qdot = self._slowed(problem, solve_levels(problem, free, self.threshold))
            leaving = free & _leaves(problem, qdot)
            if leaving.any():
                free &= ~leaving
                continue
            residual = residual_of(problem, qdot)
            excluded = problem.free & ~free
            back = excluded & ~readmitted & _pulled_inside(problem, residual)
            if not back.any():
                return VelocityAnswer(qdot, residual, excluded)
            readmitted |= back
            free |= back

    @staticmethod
    def _slowed(problem: VelocityProblem, qdot: Floats) -> Floats:
        excess = np.max(np.abs(qdot) / problem.limits.speed, initial=1.0)
        return np.asarray(qdot / excess)


def _leaves(problem: VelocityProblem, qdot: Floats) -> Bools:
    q = problem.q + qdot * problem.dt
    limits = problem.limits
    return np.asarray(((q > limits.upper) & (qdot > 0.0)) | ((q < limits.lower) & (qdot < 0.0)))


def _pulled_inside(problem: VelocityProblem, residual: Floats) -> Bools:
    """Joints whose first move against the remaining error leads away from the stop that is near."""
    pull = problem.jacobian.T @ (problem.row_weights**2 * residual)
    at_upper = problem.limits.upper - problem.q < problem.q - problem.limits.lower
    return np.asarray(np.where(at_upper, pull < 0.0, pull > 0.0))


def solve_levels(problem: VelocityProblem, free: Bools, threshold: float) -> Floats:
    """Serve the priorities one after another with the free joints, each in the null space of those before it.

    In x = sqrt(w) qdot the joint weights vanish. With N an orthonormal basis of what earlier levels leave free, level k
    solves J_k (x + N z) = V_k for z.
    """
    columns = np.flatnonzero(free)
    scale = 1.0 / np.sqrt(problem.joint_weights[columns])
    levels = problem.rows_by_level
    x, N = np.zeros(len(columns)), None
    for number, rows in enumerate(levels):
        counted = np.flatnonzero(problem.row_weights[rows]) + rows.start
        w = problem.row_weights[counted]
        J = w[:, None] * problem.jacobian[np.ix_(counted, columns)] * scale
        V = w * problem.wanted[counted] - J @ x
        JN = J if N is None else J @ N
        last = number == len(levels) - 1
        U, s, Vt = np.linalg.svd(JN, full_matrices=not last)
        kept = U[:, : len(s)]
        z = Vt[: len(s)].T @ (_gain(s, threshold) * (kept.T @ V))
        x = x + (z if N is None else N @ z)
        if not last:
            rest = Vt[int((s > 1e-6).sum()) :].T
            N = rest if N is None else N @ rest
            if N.shape[1] == 0:
                break
    qdot = np.zeros(len(free))
    qdot[columns] = scale * x
    return qdot


def _gain(s: Floats, threshold: float) -> Floats:
    """1/s above the threshold, s / threshold^2 below it: continuous, at most 1 / threshold."""
    return np.asarray(np.where(s >= threshold, 1.0 / np.maximum(s, threshold), s / threshold**2))
