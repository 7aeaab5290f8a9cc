"""Pseudo-inverse with coordinate exclusion: joints at their stops are taken out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.errors import OptionError, Problem
from pliant.motion.solvers.pinv import solve_levels
from pliant.motion.solvers.problem import VelocityAnswer, VelocityProblem, residual_of


@dataclass(frozen=True)
class ExclusionSolver:
    """Solve; joints whose step would leave their range are taken out (qdot = 0); solve again.   (theory 5.2, 2; [C, 9])

    When none leaves any more, an excluded joint that the remaining error pulls back inside is let in again, once a
    step. Speeds beyond the limits slow all joints down together, which keeps the direction of motion. Stops are
    abrupt: a joint that arrives at its limit loses its whole speed within one step. ``qp`` does not.
    """

    threshold: float = 0.02
    name: str = "exclusion"
    keeps_priorities: bool = True

    def __post_init__(self) -> None:
        if not self.threshold > 0.0:
            raise OptionError("exclusion", Problem("threshold", f"{self.threshold}", "above zero"))

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
