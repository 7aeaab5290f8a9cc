"""One question for all coordinate solvers, and one answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant.servo.limits import JointLimits

__all__ = ["CoordinateSolver", "VelocityAnswer", "VelocityProblem", "residual_of"]

Array = NDArray[np.float64]


@dataclass
class VelocityProblem:
    """Which joint speeds give the wanted twists?   qdot = F(V, Z)   (SPEC 5.2)

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
    """

    jacobian: Array
    wanted: Array
    row_weights: Array
    joint_weights: Array
    free: NDArray[np.bool_]
    q: Array
    qdot: Array
    limits: JointLimits
    dt: float
    levels: tuple[slice, ...] = ()
    barrier: tuple[Array, Array] | None = None
    limits_packed: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.limits_packed = self.limits.packed()

    @classmethod
    def of(
        cls,
        jacobian: Array,
        wanted: Array,
        limits: JointLimits,
        q: Array,
        *,
        dt: float = 0.002,
        row_weights: Array | None = None,
        joint_weights: Array | None = None,
        free: NDArray[np.bool_] | None = None,
        qdot: Array | None = None,
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

    qdot: Array
    residual: Array
    limited: NDArray[np.bool_]


class CoordinateSolver(Protocol):
    """Anything that answers a `VelocityProblem`."""

    name: str
    keeps_priorities: bool

    def solve(self, problem: VelocityProblem) -> VelocityAnswer:
        """Joint speeds for the wanted twists, and what they leave."""
        ...


def residual_of(problem: VelocityProblem, qdot: Array) -> Array:
    """V - J qdot where rows count."""
    return np.asarray((problem.wanted - problem.jacobian @ qdot) * (problem.row_weights != 0.0))
