"""One question for all coordinate solvers, and one answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from pliant.arrays import Bools, Floats, Records
from pliant.motion.limits import JointLimits


@dataclass
class VelocityProblem:
    """Which joint speeds give the wanted twists?   qdot = F(V, Z)   (theory 5.2)

    Attributes:
        jacobian: J, m x n.
        wanted: V, m stacked twists.
        row_weights: m; rows of weight zero do not count.
        joint_weights: n; what moving a joint costs where there is a choice. Above zero.
        free: n; joints that may move. The others stand still.
        q, qdot: where the joints are and how fast they moved in the last step.
        limits: joint limits.
        dt: length of the step [s].
        levels: rows of each priority, first served first; empty means one level.
        barrier: (A, b) with A qdot >= b for keep-out distances, or None. Only ``qp`` keeps it.
        preferred: n; joint speeds where the rows leave a choice, standstill by default. Only ``qp`` heeds it.
    """

    jacobian: Floats
    wanted: Floats
    row_weights: Floats
    joint_weights: Floats
    free: Bools
    q: Floats
    qdot: Floats
    limits: JointLimits
    dt: float
    levels: tuple[slice, ...] = ()
    barrier: tuple[Floats, Floats] | None = None
    preferred: Floats | None = None
    limit_rows: Records = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.limit_rows = self.limits.rows()

    @classmethod
    def of(
        cls,
        jacobian: Floats,
        wanted: Floats,
        limits: JointLimits,
        q: Floats,
        *,
        dt: float = 0.002,
        row_weights: Floats | None = None,
        joint_weights: Floats | None = None,
        free: Bools | None = None,
        qdot: Floats | None = None,
        levels: tuple[slice, ...] = (),
    ) -> VelocityProblem:
        """A problem with everything else left plain: unit weights, all joints free, starting from rest."""
        m, n = jacobian.shape
        return cls(
            jacobian=np.ascontiguousarray(jacobian),
            wanted=wanted,
            row_weights=np.ones(m) if row_weights is None else row_weights,
            joint_weights=np.ones(n) if joint_weights is None else joint_weights,
            free=np.ones(n, dtype=bool) if free is None else free,
            q=q,
            qdot=np.zeros(n) if qdot is None else qdot,
            limits=limits,
            dt=dt,
            levels=levels,
        )

    @property
    def rows_by_level(self) -> tuple[slice, ...]:
        """Rows of every priority, the highest first; one level if none were named."""
        return self.levels or (slice(0, len(self.wanted)),)


class VelocityAnswer(NamedTuple):
    """Joint speeds, and what they do not achieve.

    Attributes:
        qdot: n.
        residual: V - J qdot, zero in rows that do not count.
        limited: joints held back by a limit.
    """

    qdot: Floats
    residual: Floats
    limited: Bools


class BoxProblem(NamedTuple):
    """The quadratic program of one step: min x H x / 2 + f x within lo <= x <= hi."""

    lo: Floats
    hi: Floats
    H: Floats
    f: Floats

    @classmethod
    def empty(cls, n: int) -> BoxProblem:
        """Memory for n joints."""
        return cls(np.empty(n), np.empty(n), np.empty((n, n)), np.empty(n))


class CoordinateSolver(Protocol):
    """Anything that answers a `VelocityProblem`."""

    name: str
    keeps_priorities: bool

    def solve(self, problem: VelocityProblem) -> VelocityAnswer:
        """Joint speeds for the wanted twists, and what they leave."""
        ...


def residual_of(problem: VelocityProblem, qdot: Floats) -> Floats:
    """V - J qdot where rows count."""
    return np.asarray((problem.wanted - problem.jacobian @ qdot) * (problem.row_weights != 0.0))
