"""Coordinate descent: one joint after the other takes its share of what remains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.errors import OptionError, Problem
from pliant.motion.solvers.problem import VelocityAnswer, VelocityProblem


@dataclass(frozen=True)
class DescentSolver:
    """Each joint in turn steps by the projection of the remaining error on its sensitivity. (theory 5.2, 3; [C, 6, 9])

        step_i = m_i (J_i . r) / (J_i . J_i),   r <- r - J_i step_i

    with multipliers m_i = least joint weight / joint weight. A joint pushed against its stop gets a zero step, so
    position and speed limits hold. Without limits it converges to the least-squares answer; where joints can replace
    each other, to one of those, not the shortest.

    Args:
        sweeps: at most so many rounds over all joints.
        tolerance: ends when no joint moves more than this in a round [rad/s, m/s].
    """

    sweeps: int = 1000
    tolerance: float = 1e-9
    name: str = "descent"
    keeps_priorities: bool = False
    _kernel: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.sweeps < 1 or not self.tolerance > 0.0:
            what = f"sweeps {self.sweeps}, tolerance {self.tolerance}"
            raise OptionError("descent", Problem("", what, "at least one sweep, tolerance above zero"))
        from pliant.motion.kernels import descend

        object.__setattr__(self, "_kernel", descend)

    def solve(self, problem: VelocityProblem) -> VelocityAnswer:
        w = problem.joint_weights
        multipliers = np.where(problem.free, w.min() / w, 0.0)
        qdot, residual = np.zeros(len(problem.q)), problem.wanted * (problem.row_weights != 0.0)
        limited = np.zeros(len(problem.q), dtype=np.bool_)
        self._kernel(
            problem.jacobian,
            problem.row_weights,
            multipliers,
            problem.q,
            problem.limit_rows,
            problem.dt,
            self.sweeps,
            self.tolerance,
            qdot,
            residual,
            limited,
        )
        return VelocityAnswer(qdot, residual, limited)
