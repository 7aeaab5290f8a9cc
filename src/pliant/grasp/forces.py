"""The smallest contact forces that hold: a second-order cone program, solved or refused with a proof.   (theory 7.3)

Per contact `-mu f_n + |f_t| <= -delta` and `f_n - f_max <= -delta`; per joint `|J^T f + tau_gravity| <= tau_max`;
balance (3); forces within what the hand can command by (5). The largest |f_i| is made small first and the sum of them
second, in one solve: the cost is `max |f_i| + 3e-4 mean |f_i|` (see cones.SUM_WEIGHT for what that weight means).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from pliant.arrays import Floats
from pliant.errors import OptionError, PliantError, unknown_name
from pliant.grasp.certificate import Certificate, certify, least_violation
from pliant.grasp.cones import ConeProgram, Family, Objective, ProgramShape, Solution, cone_distance
from pliant.grasp.contacts import ContactSet
from pliant.grasp.loads import ForceProblem
from pliant.grasp.results import Blame, DisturbanceResponse, ForceResult, ForceStatus, Margins

# A point this far outside its cones, in units of the load, still counts as on the edge.
EDGE = 1e-6
KEPT_PROGRAMS = 64
_NOTHING = np.zeros(0)

E = TypeVar("E", Objective, DisturbanceResponse)


class SolverFailure(PliantError):
    """The cone solver could neither find forces nor prove that there are none; a fault here, not in the question."""


class ForceSolver:
    """Solves one force problem after another, keeping the solver of every problem shape it has met.

    Answers do not depend on what was solved before. Not to be shared between threads.

    Args:
        objective: "largest" (largest contact force first, sum second) or "loading" (the cost of [D]).
        margin: delta, how far from slipping and from the force limit every contact stays [N].
        explain: whether an infeasible problem is asked again without each family of constraints, for the blame.
        prove: whether the solver's answer that a problem is infeasible is proved and the proof checked, and margins are
            computed. A control loop that has another answer ready cannot wait for it.
    """

    def __init__(
        self,
        *,
        objective: Objective | str = Objective.LARGEST,
        margin: float = 0.0,
        explain: bool = True,
        prove: bool = True,
    ) -> None:
        self.objective = _choice(Objective, objective, "objective")
        self.margin = margin
        self.explain = explain
        self.prove = prove
        self._programs: OrderedDict[ProgramShape, ConeProgram] = OrderedDict()

    def solve(
        self,
        contacts: ContactSet,
        external: ArrayLike,
        *,
        centre: ArrayLike | None = None,
        jacobian: ArrayLike | None = None,
        torque_limits: ArrayLike | None = None,
        gravity_torques: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        joint_compliance: ArrayLike | None = None,
        disturbances: ArrayLike | None = None,
        reaction: DisturbanceResponse | str = DisturbanceResponse.ELASTIC,
    ) -> ForceResult:
        """The smallest sufficient forces for these contacts and this load.

        Args:
            contacts: n contacts in {B}.
            external: w_ext about ``centre``, force first, in {B} [N, N m]; three numbers (f_x, f_y, m) in the plane.
            centre: centre of mass in {B} [m]; the origin when left out.
            jacobian: J, size of f x q (``hand_jacobian``). Given, only forces that the hand can command by (5) count.
            torque_limits: tau_max, one or q values [N m].
            gravity_torques: what the joints bear besides J^T f, q values [N m].
            stiffness: K in the components of f [N/m]; from the contacts and the joint servos when left out.
            joint_compliance: of the servos, q values or q x q [rad/(N m)].
            disturbances: k x d wrenches, each of which may come on top of the external one; the worst counts.
            reaction: "elastic" (one squeeze must do for all of them) or "active" (fresh forces for each).
        """
        problem = self.problem(
            contacts,
            external,
            centre=centre,
            jacobian=jacobian,
            torque_limits=torque_limits,
            gravity_torques=gravity_torques,
            stiffness=stiffness,
            joint_compliance=joint_compliance,
            disturbances=disturbances,
        )
        if (
            len(problem.disturbances)
            and _choice(DisturbanceResponse, reaction, "reaction") is DisturbanceResponse.ACTIVE
        ):
            return self._solve_each(problem)
        return self.answer(problem)

    def problem(
        self,
        contacts: ContactSet,
        external: ArrayLike,
        *,
        centre: ArrayLike | None = None,
        jacobian: ArrayLike | None = None,
        torque_limits: ArrayLike | None = None,
        gravity_torques: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        joint_compliance: ArrayLike | None = None,
        disturbances: ArrayLike | None = None,
    ) -> ForceProblem:
        """The first half of :meth:`solve`, with its arguments, for a loop that spreads the work over two steps."""
        problem = ForceProblem.checked(
            contacts,
            external,
            centre=centre,
            margin=self.margin,
            disturbances=disturbances,
            jacobian=jacobian,
            torque_limits=torque_limits,
            gravity_torques=gravity_torques,
            stiffness=stiffness,
            joint_compliance=joint_compliance,
        )
        problem.decompose()
        return problem

    def friction_needed(
        self, contacts: ContactSet, external: ArrayLike, **given: ArrayLike | str | None
    ) -> float | None:
        """The factor on all friction coefficients at which the load is just held; None if no factor helps.

        Takes the same arguments as :meth:`solve`. Found by bisection to 1e-4, from 1/64 to 64.
        """
        quick = ForceSolver(objective=self.objective, margin=self.margin, explain=False)
        quick._programs = self._programs

        def holds(factor: float) -> bool:
            rougher = replace(contacts, friction=contacts.friction * factor)
            return quick.solve(rougher, external, **given).feasible  # type: ignore[arg-type]

        low, high = 1 / 64, 64.0
        if not holds(high):
            return None
        if holds(low):
            return low
        while high / low > 1 + 1e-4:
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high

    def _solve_each(self, problem: ForceProblem) -> ForceResult:
        none = np.zeros((0, len(problem.external)))
        answer = self.answer(replace(problem, disturbances=none))
        worst = answer
        for k, disturbance in enumerate(problem.disturbances, start=1):
            if not worst.feasible:
                return worst
            other = self.answer(replace(problem, external=problem.external + disturbance, disturbances=none))
            if not other.feasible or other.largest_force > worst.largest_force:
                worst = replace(other, worst_load=k)
        if not worst.feasible:
            return worst
        return replace(answer, largest_force=worst.largest_force, worst_load=worst.worst_load, margins=worst.margins)

    def answer(self, problem: ForceProblem) -> ForceResult:
        """The second half of :meth:`solve`: one squeeze for all disturbances."""
        if problem.unanswerable is not None:
            return self._refused(problem, _range_certificate(problem), (Blame((Family.BALANCE,)),))
        program = self._program(problem, frozenset(), self.objective)
        if not self.prove and (quick := program.solve()).status in ("Solved", "PrimalInfeasible"):
            if quick.status == "Solved":
                return _answer(problem, quick, margins=False)
            return ForceResult(ForceStatus.INFEASIBLE, problem.contacts)
        solution, certificate = _decide(program)
        if solution is None:
            blame = self._blame(problem) if self.explain else ()
            return self._refused(problem, _with_twist(problem, certificate), blame)
        return _answer(problem, solution)

    def _program(self, problem: ForceProblem, dropped: frozenset[Family], objective: Objective) -> ConeProgram:
        numbers = problem.numbers(dropped)
        shape = ProgramShape(
            problem.contacts.layout,
            len(numbers.rows),
            len(numbers.torque_rows),
            len(numbers.shifts),
            objective,
            not dropped & {Family.FRICTION, Family.PUSHING},
            Family.PUSHING not in dropped,
        )
        program = self._programs.get(shape)
        if program is None:
            program = self._programs[shape] = ConeProgram(shape)
            if len(self._programs) > KEPT_PROGRAMS:
                self._programs.popitem(last=False)
        program.fill(numbers)
        return program

    def _blame(self, problem: ForceProblem) -> tuple[Blame, ...]:
        """Single families whose leaving helps; else pairs and so on; the balance only when nothing else does."""
        present = problem.families()
        for count in range(1, len(present) + 1):
            found = [b for group in combinations(present, count) if (b := self._without(problem, group))]
            if found:
                return tuple(found)
        glued = [Family.PUSHING, *(family for family in present if family is not Family.FRICTION)]
        for count in range(1, len(glued) + 1):
            groups = [group for group in combinations(glued, count) if Family.PUSHING in group]
            found = [b for group in groups if (b := self._without(problem, group))]
            if found:
                return tuple(found)
        last = self._without(problem, (Family.BALANCE,))
        return (last,) if last else ()

    def _without(self, problem: ForceProblem, group: tuple[Family, ...]) -> Blame | None:
        try:
            solution, _ = _decide(self._program(problem, frozenset(group), Objective.LARGEST))
        except SolverFailure:
            return None  # undecided is not to blame
        if solution is None:
            return None
        unit = None if Family.BALANCE in group else problem.force_unit * float(solution.x[problem.contacts.layout.size])
        return Blame(group, unit)

    def _refused(self, problem: ForceProblem, certificate: Certificate | None, blame: tuple[Blame, ...]) -> ForceResult:
        if certificate is None or not certificate.check():
            raise SolverFailure("the force problem has no solution but the proof of it did not pass its check")
        return ForceResult(ForceStatus.INFEASIBLE, problem.contacts, blame=blame, certificate=certificate)


def solve_forces(
    contacts: ContactSet,
    external: ArrayLike,
    *,
    objective: Objective | str = Objective.LARGEST,
    margin: float = 0.0,
    explain: bool = True,
    **given: ArrayLike | str | None,
) -> ForceResult:
    """The smallest sufficient forces, once; in a loop keep a :class:`ForceSolver`, which takes the same arguments."""
    solver = ForceSolver(objective=objective, margin=margin, explain=explain)
    return solver.solve(contacts, external, **given)  # type: ignore[arg-type]


def _decide(program: ConeProgram) -> tuple[Solution | None, Certificate | None]:
    """A solution, or a checked certificate that there is none; never both, never a guess."""
    solution = program.solve()
    if solution.status == "Solved":
        return solution, None
    matrix, right = program.constraints()
    if solution.z is not None:
        certificate = certify(matrix, right, program.cones, solution.z)
        if certificate is not None:
            return None, certificate
    solution = program.solve(careful=True)
    if solution.status == "Solved":
        return solution, None
    # Elastic answers that the hand cannot undo may be far larger than the load; they set the scale then.
    size = max(1.0, float(np.abs(right).max()))
    violation, x, dual = least_violation(matrix, right / size, program.cones)
    x = x * size
    certificate = certify(matrix, right, program.cones, dual) if violation > 0 else None
    if certificate is not None and violation > EDGE:
        return None, certificate
    # On the very edge the feasible set may be a single point; the better of the two candidates is it.
    candidates = [candidate for candidate in (solution.x, x) if np.isfinite(candidate).all()]
    gaps = [cone_distance(program.cones, right - matrix @ candidate) for candidate in candidates]
    if gaps and min(gaps) <= 10 * EDGE:
        return solution._replace(x=candidates[int(np.argmin(gaps))]), None
    if certificate is not None:
        return None, certificate
    raise SolverFailure(f"the cone solver gave up ({solution.status}) and neither forces nor a proof could be had")


def _answer(problem: ForceProblem, solution: Solution, *, margins: bool = True) -> ForceResult:
    contacts, layout = problem.contacts, problem.contacts.layout
    scaled = solution.x[: layout.size]
    # The solver meets the balance to about 1e-8; one projection makes it exact to rounding.
    vt = problem.decomposition[2]
    scaled = scaled - (vt @ scaled - problem.balance) @ vt
    every = (scaled + problem.shifts) * (problem.component_scale * problem.force_unit)  # loads x size of f
    f = every[0]
    loads, n, s = len(every), len(contacts), contacts.dimension
    if layout.size == layout.force_entries.size == n * s:
        tables = every.reshape(loads, n, s)
    else:
        tables = np.zeros((loads, n * s))
        tables[:, layout.force_places] = every[:, layout.force_entries]
        tables = tables.reshape(loads, n, s)
    moments = np.zeros(n)
    if layout.moment_entries.size:
        moments[layout.moment_contacts] = f[layout.moment_entries]
    sizes = np.sqrt(np.einsum("kij,kij->ki", tables, tables))
    return ForceResult(
        ForceStatus.OPTIMAL,
        contacts,
        forces=tables[0],
        moments=moments,
        f=f,
        tau=None if problem.jacobian is None else problem.jacobian.T @ f,
        margins=_margins(problem, every, tables) if margins else None,
        largest_force=float(sizes.max()),
        total_force=float(sizes[0].sum()),
        residual=float(np.abs(problem.grasp_matrix @ f + problem.external).max()),
        worst_load=int(sizes.argmax()) // n,
        iterations=solution.iterations,
    )


def _margins(problem: ForceProblem, every: Floats, tables: Floats) -> Margins:
    """How far contacts and joints stay from their limits, at the worst of the loads.

    Args:
        every: loads x size of f.
        tables: the forces in it, loads x n x s.
    """
    contacts, layout = problem.contacts, problem.contacts.layout
    normal, sideways = tables[..., -1], np.einsum("kij,kij->ki", tables[..., :-1], tables[..., :-1])
    if layout.moment_entries.size:
        sideways[:, layout.moment_contacts] += (
            every[:, layout.moment_entries] / contacts.spin_arm[layout.moment_contacts]
        ) ** 2
    slip = contacts.friction * normal - np.sqrt(sideways)
    if not contacts.friction.all():
        slip = np.where(contacts.friction > 0, slip, normal)
    torque, torque_of_contact = _NOTHING, np.full(len(contacts), np.inf)
    if problem.jacobian is not None and problem.torque_limits is not None:
        gravity = 0.0 if problem.gravity_torques is None else problem.gravity_torques
        torque = (problem.torque_limits - np.abs(every @ problem.jacobian + gravity)).min(axis=0)
        starts = [part.start for part in layout.slices]
        carries = np.logical_or.reduceat(problem.jacobian != 0, starts, axis=0)
        torque_of_contact = np.where(carries, torque, np.inf).min(axis=1, initial=np.inf)
    return Margins(slip.min(axis=0), (contacts.max_force - normal).min(axis=0), torque, torque_of_contact)


def _range_certificate(problem: ForceProblem) -> Certificate:
    """The proof for a load outside the range of G: a direction in which no contact force can push at all."""
    left = problem.unanswerable
    assert left is not None
    matrix, load = problem.scaled_grasp_matrix, problem.scaled_load
    for disturbance in (np.zeros(len(load)), *problem.disturbances):
        load = problem._leveled(problem.external + disturbance) / problem.force_unit
        if left @ load > 0.5 * (left @ left):
            break
    dual = left / (left @ load)
    twist = _unlevel(problem, dual)
    return Certificate(sparse.csc_matrix(matrix), -load, (("zero", len(load)),), dual, twist)


def _with_twist(problem: ForceProblem, certificate: Certificate | None) -> Certificate | None:
    """Adds the motion by which the object gets loose, when contacts and load alone make the proof."""
    if certificate is None:
        return None
    u, sigma, _ = problem.decomposition
    balance = u @ (certificate.dual[: len(sigma)] / sigma)
    # Then balance . load is all there is in b . z = -1, and the hand has no part in it.
    locked = certificate.dual[len(sigma) : len(sigma) + len(problem.locked[0])]
    alone = abs(balance @ problem.scaled_load - 1) < 1e-6 and np.abs(locked).max(initial=0.0) < 1e-9
    if len(problem.disturbances) or not alone:
        return certificate
    return replace(certificate, twist=_unlevel(problem, balance))


def _unlevel(problem: ForceProblem, dual: Floats) -> Floats:
    """A motion along the dual of the scaled balance, in {B}: linear [m], angular [rad]; its size means nothing."""
    twist = dual.copy()
    twist[problem.contacts.dimension :] /= problem.length
    return twist / np.linalg.norm(dual)


def _choice(kind: type[E], value: E | str, name: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise OptionError(name, unknown_name(name, str(value), [str(member) for member in kind])) from None
