"""The cone program of the smallest sufficient forces, laid out once and refilled with new numbers.   (theory 7.3)

Unknowns are x = (f, t, u_1 .. u_n) or (f, v_1 .. v_n); forces are in units of the load and moments divided by the soft
finger's arm e, so every number is near one whatever the task. Constraints are A x + s = b with s in a product of cones:

    E f = e                                              balance, and what the hand cannot command
    c_i f_n,i <= 1 - ..,  +-(T f) <= 1 -+ ..             force and torque limits, as parts of the limit
    u_i <= t                                             largest force (objective "largest" only)
    (mu_i f_n,i - delta, f_t,i, m_i / e_i) in Q          no slip; frictionless: f_n,i >= 0
    (u_i, f_i) in Q   or   (v_i, f_t,i) in Q             what is made small

Everything but E and e is repeated for each disturbance, whose elastic answer shifts b and leaves A alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pliant.arrays import Floats
from pliant.grasp.layout import ContactModel, Layout

Cones = Sequence[tuple[str, int]]
"""Cones as (kind, rows): "zero", "plus" (non-negative), "second" (order)."""

# Weight of the mean force beside the largest one. The largest force then is within this part of its least possible
# value for certain; on the thousand random grasps of the tests it is within 1e-6 of it.
SUM_WEIGHT = 3e-4
# [D]'s cost weighs the normal force with 1 - mu, which pays for squeezing where mu > 1; it is kept above this.
LEAST_NORMAL_WEIGHT = 0.1


class Objective(StrEnum):
    """What "smallest" means."""

    LARGEST = "largest"  # the largest |f_i| first, the sum of |f_i| second
    LOADING = "loading"  # sum of (1 - mu_i) f_n,i + |f_t,i|, the cost of [D]


class Family(StrEnum):
    """The families of constraints that can be to blame."""

    FRICTION = "friction"
    FORCE_LIMIT = "force limit"
    TORQUE_LIMIT = "torque limit"
    COMMANDABLE = "hand-commandable forces"
    PUSHING = "contacts only push"
    BALANCE = "balance"


class ProgramShape(NamedTuple):
    """What decides the sparsity pattern; programs of one shape share a solver. (Tuples here: a loop makes many.)"""

    layout: Layout
    equalities: int
    joints: int
    loads: int
    objective: Objective
    friction: bool = True
    pushing: bool = True


class Numbers(NamedTuple):
    """What is filled into a shape, already scaled."""

    rows: Floats  # E
    values: Floats  # e
    friction: Floats  # mu_i
    margin: float  # delta
    force_share: Floats  # c_i: unit of force over f_max, 0 where there is no limit
    force_left: Floats  # right side of those rows
    torque_rows: Floats  # T, joints x size of f
    torque_offset: Floats  # gravity torque over the limit
    shifts: Floats  # loads x size of f, elastic answers to the disturbances


class Solution(NamedTuple):
    """The solver's answer."""

    status: str
    x: Floats
    z: Floats | None  # the dual vector, if there may be a proof in it
    iterations: int


class _RowTable:
    """Hands out rows of A, merging neighbours into one cone where the cone allows it."""

    def __init__(self) -> None:
        self.count = 0
        self.cones: list[tuple[str, int]] = []

    def take(self, count: int, kind: str) -> NDArray[np.intp]:
        rows = np.arange(self.count, self.count + count)
        self.count += count
        if count and kind != "second" and self.cones and self.cones[-1][0] == kind:
            self.cones[-1] = (kind, self.cones[-1][1] + count)
        elif count:
            self.cones.append((kind, count))
        return rows


class ConeProgram:
    """One shape of the program with its kept Clarabel solver; the answer does not depend on what was solved before."""

    def __init__(self, shape: ProgramShape) -> None:
        self.shape = shape
        layout, m = shape.layout, shape.loads
        n, size = len(layout.models), layout.size
        largest = shape.objective is Objective.LARGEST
        t = size
        u = size + 1 if largest else size
        table = _RowTable()
        fixed: list[tuple[int, int, float]] = []
        places: list[tuple[int, int, int]] = []  # (row, component of f, load): rows of s that are just that component
        heads: list[tuple[int, int, int]] = []  # (row, contact, load): rows of s that are mu f_n - delta

        self._equal = table.take(shape.equalities, "zero")
        self._limit = table.take(m * n, "plus").reshape(m, n)
        self._torque = table.take(2 * m * shape.joints, "plus").reshape(m, 2, shape.joints)
        if largest:
            for i, row in enumerate(table.take(n, "plus").tolist()):
                fixed += [(row, t, -1.0), (row, u + i, 1.0)]
        smooth = [model is ContactModel.FRICTIONLESS or not shape.friction for model in layout.models]
        if shape.pushing:
            for k in range(m):
                pushed = [int(layout.normal[i]) for i in range(n) if smooth[i]]
                places += [(row, c, k) for row, c in zip(table.take(len(pushed), "plus").tolist(), pushed, strict=True)]
        for k in range(m):
            for i, part in enumerate(layout.slices):
                if not smooth[i]:
                    sideways = [c for c in range(part.start, part.stop) if c != layout.normal[i]]
                    head, *tail = table.take(1 + len(sideways), "second").tolist()
                    heads.append((head, i, k))
                    places += [(row, c, k) for row, c in zip(tail, sideways, strict=True)]
        # Without friction cones nothing else would bound the moments, and the solver stumbles over free unknowns.
        left_out = set(layout.moment_entries.tolist()) if shape.friction else set()
        left_out |= set() if largest else set(layout.normal.tolist())
        for k in range(m):
            for i, part in enumerate(layout.slices):
                counted = [c for c in range(part.start, part.stop) if c not in left_out]
                head, *tail = table.take(1 + len(counted), "second").tolist()
                fixed.append((head, u + i, -1.0))
                places += [(row, c, k) for row, c in zip(tail, counted, strict=True)]
        fixed += [(row, c, -1.0) for row, c, _ in places]
        self._place_rows, self._place_columns, self._place_loads = np.array(places, dtype=np.intp).reshape(-1, 3).T
        self._head_rows, self._head_contacts, self._head_loads = np.array(heads, dtype=np.intp).reshape(-1, 3).T

        self.cones = tuple(table.cones)
        # Stored transposed, so that flat order is column by column as the solver wants it.
        self._matrix = np.zeros((u + n, table.count))
        for row, c, value in fixed:
            self._matrix[c, row] = value
        filled = self._matrix != 0
        filled[:size, self._equal] = True
        filled[layout.normal, self._limit] = True
        filled[:size, self._torque.ravel()] = True
        filled[layout.normal[self._head_contacts], self._head_rows] = True
        self._pattern = np.flatnonzero(filled)
        self._indices = (self._pattern % table.count).astype(np.int64)
        self._pointers = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
        self._right = np.zeros(table.count)
        self._cost = np.zeros(u + n)
        if largest:
            self._cost[t] = 1.0
        self._cost[u:] = SUM_WEIGHT / n if largest else 1.0
        self._kept: clarabel.DefaultSolver | None = None
        # Places of what changes from call to call, in the flat matrix.
        self._flat = self._matrix.reshape(-1)
        self._limit_places = layout.normal * table.count + self._limit
        self._head_columns = layout.normal[self._head_contacts]
        self._head_places = self._head_columns * table.count + self._head_rows

    def fill(self, numbers: Numbers) -> None:
        """Put new numbers in; nothing is solved yet."""
        layout, size = self.shape.layout, self.shape.layout.size
        a, b = self._matrix, self._right
        if self.shape.equalities:
            a[:size, : self.shape.equalities] = numbers.rows.T
            b[: self.shape.equalities] = numbers.values
        shifts, flat = numbers.shifts, self._flat
        flat[self._limit_places] = numbers.force_share
        b[self._limit] = numbers.force_left
        if self.shape.joints:
            moved = shifts @ numbers.torque_rows.T + numbers.torque_offset
            for k in range(self.shape.loads):
                a[:size, self._torque[k, 0]] = numbers.torque_rows.T
                a[:size, self._torque[k, 1]] = -numbers.torque_rows.T
            b[self._torque[:, 0]] = 1.0 - moved
            b[self._torque[:, 1]] = 1.0 + moved
        if self._head_rows.size:
            flat[self._head_places] = -numbers.friction[self._head_contacts]
            b[self._head_rows] = -numbers.margin
        if self.shape.loads > 1:
            b[self._limit] -= numbers.force_share * shifts[:, layout.normal]
            b[self._place_rows] = shifts[self._place_loads, self._place_columns]
            b[self._head_rows] -= flat[self._head_places] * shifts[self._head_loads, self._head_columns]
        if self.shape.objective is Objective.LOADING:
            self._cost[layout.normal] = np.maximum(1.0 - numbers.friction, LEAST_NORMAL_WEIGHT)

    def solve(self, *, careful: bool = False) -> Solution:
        """Solve what was filled in; ``careful`` buys accuracy with iterative refinement and tighter tolerances."""
        data = self._matrix.take(self._pattern)
        if careful:
            solver = self._new_solver(data, careful)
        elif self._kept is None:
            solver = self._kept = self._new_solver(data, careful)
        else:
            solver = self._kept
            if self.shape.objective is Objective.LOADING:
                solver.update(q=self._cost)
            solver.update(A=data, b=self._right)
        answer = solver.solve()
        if answer.status == clarabel.SolverStatus.Solved:
            return Solution("Solved", np.array(answer.x), None, answer.iterations)
        return Solution(str(answer.status), np.array(answer.x), np.array(answer.z), answer.iterations)

    def constraints(self) -> tuple[sparse.csc_matrix, Floats]:
        """A and b as filled last."""
        data = self._matrix.take(self._pattern)
        shape = (len(self._right), len(self._cost))
        return sparse.csc_matrix((data, self._indices, self._pointers), shape=shape), self._right.copy()

    def _new_solver(self, data: Floats, careful: bool) -> clarabel.DefaultSolver:
        settings = _quiet_settings()
        # Presolve would change the pattern; equilibration would remember the first numbers ever solved.
        settings.presolve_enable = False
        settings.input_sparse_dropzeros = False
        settings.equilibrate_enable = careful
        settings.iterative_refinement_enable = careful
        if careful:
            settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = 1e-9
            settings.max_iter = 400
        matrix = sparse.csc_matrix((data, self._indices, self._pointers), shape=(len(self._right), len(self._cost)))
        return _solver(self._cost, matrix, self._right, self.cones, settings)


def solve_once(
    cost: Floats, matrix: sparse.csc_matrix, right: Floats, cones: Cones, *, tolerance: float | None = None
) -> Any:
    """Clarabel's answer to min cost . x with A x + s = b, s in the cones; ``tolerance`` instead of its own."""
    settings = _quiet_settings()
    if tolerance is not None:
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
    return _solver(cost, matrix, right, cones, settings).solve()


def _quiet_settings() -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    return settings


def _solver(
    cost: Floats, matrix: sparse.csc_matrix, right: Floats, cones: Cones, settings: Any
) -> clarabel.DefaultSolver:
    kinds = {"zero": clarabel.ZeroConeT, "plus": clarabel.NonnegativeConeT, "second": clarabel.SecondOrderConeT}
    nothing = sparse.csc_matrix((len(cost), len(cost)))
    return clarabel.DefaultSolver(nothing, cost, matrix, right, [kinds[kind](rows) for kind, rows in cones], settings)


def cone_distance(cones: Cones, s: Floats, *, dual: bool = False) -> float:
    """How far s is outside the product of cones (largest violation); 0 inside. The dual of "zero" is everything."""
    worst = 0.0
    start = 0
    for kind, count in cones:
        part = s[start : start + count]
        start += count
        if kind == "zero":
            worst = max(worst, 0.0 if dual else float(np.abs(part).max()))
        elif kind == "plus":
            worst = max(worst, float(-part.min()))
        else:
            worst = max(worst, float(np.linalg.norm(part[1:]) - part[0]))
    return worst
