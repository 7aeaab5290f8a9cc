"""A force problem brought to one scale: forces in units of the load, moments over the soft finger's arm.

Whatever the task (a raspberry, a brick), the numbers the solver sees are then near one, and a tolerance means the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dgesdd

from pliant.arrays import Floats
from pliant.errors import GraspError
from pliant.grasp.cones import Family, Numbers
from pliant.grasp.contacts import ContactSet
from pliant.grasp.inverse import total_compliance
from pliant.grasp.matrix import RANK_TOLERANCE, component_scale, grasp_matrix, reference_length

_NO_ROWS, _NO_VALUES = np.zeros((0, 0)), np.zeros(0)

# A load with a larger part than this outside the range of G cannot be answered by any contact forces.
RANGE_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class ForceProblem:
    """Contacts, loads and the hand, checked; everything the cone program needs follows from it.

    Args:
        contacts: where the hand touches.
        centre: centre of mass in {B} [m].
        external: w_ext about the centre of mass in {B} [N, N m].
        disturbances: k x d wrenches that may come on top.
        margin: delta, how far from slipping and from the force limit every contact must stay [N].
        jacobian: J, size of f x q, or None when any internal force can be commanded.
        torque_limits, gravity_torques: q values [N m].
        stiffness: K in the components of f, or None to take it from the contacts.
        joint_compliance: of the joint servos [rad/(N m)].
    """

    contacts: ContactSet
    centre: Floats
    external: Floats
    disturbances: Floats
    margin: float = 0.0
    jacobian: Floats | None = None
    torque_limits: Floats | None = None
    gravity_torques: Floats | None = None
    stiffness: Floats | None = None
    joint_compliance: Floats | None = None

    @classmethod
    def checked(
        cls,
        contacts: ContactSet,
        external: ArrayLike,
        *,
        centre: ArrayLike | None,
        margin: float,
        disturbances: ArrayLike | None,
        jacobian: ArrayLike | None,
        torque_limits: ArrayLike | None,
        gravity_torques: ArrayLike | None,
        stiffness: ArrayLike | None,
        joint_compliance: ArrayLike | None,
    ) -> ForceProblem:
        """The problem, or an error that says which argument is wrong."""
        s, d = (3, 6) if contacts.dimension == 3 else (2, 3)
        w = _array("external", external, (d,))
        c = np.zeros(s) if centre is None else _array("centre", centre, (s,))
        extra = np.zeros((0, d))
        if disturbances is not None:
            given = np.atleast_2d(np.asarray(disturbances, dtype=float))
            extra = _array("disturbances", given, (len(given), d))
        if not (math.isfinite(margin) and margin >= 0):
            raise GraspError("margin", f"{margin} N; allowed: 0 or more, finite")
        j = limits = gravity = None
        if jacobian is not None:
            given = np.asarray(jacobian, dtype=float)
            q = given.shape[1] if given.ndim == 2 else 0
            j = _array("jacobian", given, (contacts.layout.size, q))
            if torque_limits is not None:
                limits = np.asarray(torque_limits, dtype=float)
                limits = limits if limits.shape == (q,) else np.broadcast_to(limits, (q,))
                if not (limits > 0).all():
                    raise GraspError("torque_limits", f"{limits.tolist()}; allowed: above 0 N m, infinite for no limit")
            if gravity_torques is not None:
                gravity = _array("gravity_torques", gravity_torques, (q,))
        elif torque_limits is not None or gravity_torques is not None or joint_compliance is not None:
            raise GraspError("jacobian", "is needed with torque limits, gravity torques or joint compliance")
        size = contacts.layout.size
        k = None if stiffness is None else _positive_definite(_array("stiffness", stiffness, (size, size)))
        compliance = None if joint_compliance is None else np.asarray(joint_compliance, dtype=float)
        return cls(contacts, c, w, extra, float(margin), j, limits, gravity, k, compliance)

    def decompose(self) -> None:
        """Do now what would be done when its answer is first needed."""
        if self.unanswerable is None:
            _ = self.balance, self.locked

    @cached_property
    def grasp_matrix(self) -> Floats:
        """G."""
        return grasp_matrix(self.contacts, self.centre)

    @cached_property
    def length(self) -> float:
        """Length that turns torques into forces [m]."""
        return reference_length(self.contacts, self.centre)

    @cached_property
    def force_unit(self) -> float:
        """The size of the load [N]."""
        w = self._level_external
        size = max(math.sqrt(w @ w), self.margin)
        if len(self.disturbances):
            size = max(size, float(np.linalg.norm(self._leveled(self.disturbances), axis=1).max()))
        # A wrench so small that it is only rounding of a zero load must not become the unit.
        return size if size > 1e-12 else 1.0

    @cached_property
    def component_scale(self) -> Floats:
        """1 for forces, e for moments: f = scale * (scaled f) * force_unit."""
        return component_scale(self.contacts)

    @cached_property
    def decomposition(self) -> tuple[Floats, Floats, Floats]:
        """U, sigma, V^T of the scaled G, cut to its rank."""
        u, sigma, vt = self._whole_decomposition
        rank = int((sigma > RANK_TOLERANCE * sigma[0]).sum())
        return u[:, :rank], sigma[:rank], vt[:rank]

    @cached_property
    def _whole_decomposition(self) -> tuple[Floats, Floats, Floats]:
        return _decomposed(self.scaled_grasp_matrix)

    @cached_property
    def scaled_grasp_matrix(self) -> Floats:
        """G with torques over the length and moments over e."""
        soft = self.contacts.layout.moment_entries.size
        g = self.grasp_matrix * self.component_scale if soft else self.grasp_matrix.copy()
        g[self.contacts.dimension :] /= self.length
        return g

    @cached_property
    def scaled_load(self) -> Floats:
        """w_ext in units of the load."""
        return self._level_external / self.force_unit

    @cached_property
    def balance(self) -> Floats:
        """V^T f that balances the load: -U^T w over the singular values."""
        u, sigma, _ = self.decomposition
        return -(u.T @ self.scaled_load) / sigma

    @cached_property
    def _level_external(self) -> Floats:
        return self._leveled(self.external)

    @cached_property
    def unanswerable(self) -> Floats | None:
        """The part of a load that no contact forces can answer, whatever their size: outside the range of G."""
        u, _, _ = self.decomposition
        if u.shape[1] == len(u):
            return None
        for disturbance in (np.zeros(len(self.external)), *self.disturbances):
            load = self._leveled(self.external + disturbance) / self.force_unit
            left = load - u @ (u.T @ load)
            # Once more, because what is left may be little more than the rounding of the first time.
            left -= u @ (u.T @ left)
            if np.linalg.norm(left) > RANGE_TOLERANCE:
                return left
        return None

    @cached_property
    def compliance(self) -> Floats:
        """C = K^-1 in scaled components, joint servos included; up to a factor, which does not matter."""
        if self.stiffness is not None:
            c = np.linalg.inv(self.stiffness)
        else:
            c = total_compliance(self.contacts, self.jacobian, self.joint_compliance)
        c = self.component_scale[:, None] * c * self.component_scale
        return c / np.abs(c).max()

    @cached_property
    def null(self) -> Floats:
        """Orthonormal columns N that span the internal forces, scaled."""
        return self._whole_decomposition[2][len(self.decomposition[1]) :].T

    def elastic(self, balance: Floats) -> Floats:
        """The forces -G_K^R w, scaled, one row for each row of V^T f: of least energy, so N^T C f = 0."""
        fixed, n = balance @ self.decomposition[2], self.null
        soft = n.T @ self.compliance
        return fixed - np.linalg.solve(soft @ n, soft @ fixed.T).T @ n.T

    @cached_property
    def shifts(self) -> Floats:
        """Elastic answers -G_K^R d, scaled; the first row is the undisturbed load."""
        if not len(self.disturbances):
            return self.contacts.layout.no_shift
        u, sigma, _ = self.decomposition
        answers = self.elastic(-(self._leveled(self.disturbances) @ u) / (sigma * self.force_unit))
        return np.vstack([self.contacts.layout.no_shift, answers])

    @cached_property
    def locked(self) -> tuple[Floats, Floats]:
        """Internal forces the hand cannot command: orthonormal rows and the values they keep in (5).

        (I - G_K^R G) K J = N (N^T C N)^-1 N^T J with C = K^-1, so N^T J decides what can be commanded, whatever the
        springs. Where a direction b of internal motion is beyond the joints, b^T N^T J = 0, the springs there stay
        as the load left them: b^T N^T C f = 0.
        """
        none = np.zeros((0, self.contacts.layout.size)), np.zeros(0)
        if self.jacobian is None or not self.null.size:
            return none
        scaled = self.component_scale[:, None] * self.jacobian
        moved = self.null.T @ scaled
        u, sigma, _ = _decomposed(moved)
        rank = int((sigma > RANK_TOLERANCE * math.sqrt(np.vdot(scaled, scaled))).sum())
        if rank == len(moved):
            return none
        springs = self.compliance @ (self.null @ u[:, rank:])
        q, r = np.linalg.qr(self.null.T @ springs)
        known = self.balance @ (self.decomposition[2] @ springs)
        return (self.null @ q).T, -np.linalg.solve(r.T, known)

    def equalities(self, dropped: frozenset[Family]) -> tuple[Floats, Floats]:
        """E and e: orthonormal rows for the balance, then those for what the hand cannot command."""
        rows, values = [], []
        if Family.BALANCE not in dropped:
            rows.append(self.decomposition[2])
            values.append(self.balance)
        if self.jacobian is not None and Family.COMMANDABLE not in dropped and len(self.locked[0]):
            rows.append(self.locked[0])
            values.append(self.locked[1])
        if len(rows) == 1:
            return rows[0], values[0]
        return (
            (np.vstack(rows), np.concatenate(values))
            if rows
            else (np.zeros((0, self.contacts.layout.size)), np.zeros(0))
        )

    def numbers(self, dropped: frozenset[Family] = frozenset()) -> Numbers:
        """What goes into the cone program when some families are left out."""
        rows, values = self.equalities(dropped)
        contacts, unit = self.contacts, self.force_unit
        if Family.FORCE_LIMIT in dropped:
            share, left = np.zeros(len(contacts)), np.ones(1)
        else:
            share = unit / contacts.max_force
            left = 1.0 - (self.margin / unit) * share
        torque_rows, offset = _NO_ROWS, _NO_VALUES
        if self.jacobian is not None and self.torque_limits is not None:
            torque_rows = (self.jacobian * self.component_scale[:, None]).T * (unit / self.torque_limits)[:, None]
            if self.gravity_torques is not None:
                offset = self.gravity_torques / self.torque_limits
            else:
                offset = np.zeros(len(self.torque_limits))
            if Family.TORQUE_LIMIT in dropped:
                torque_rows, offset = 0.0 * torque_rows, 0.0 * offset
        return Numbers(
            rows, values, contacts.friction, self.margin / unit, share, left, torque_rows, offset, self.shifts
        )

    def families(self) -> list[Family]:
        """The families that are in this problem at all, the likeliest to be changed first; the balance always is."""
        present = [Family.FRICTION]
        if np.isfinite(self.contacts.max_force).any():
            present.append(Family.FORCE_LIMIT)
        if self.torque_limits is not None and np.isfinite(self.torque_limits).any():
            present.append(Family.TORQUE_LIMIT)
        if len(self.locked[0]):
            present.append(Family.COMMANDABLE)
        return present

    def _leveled(self, wrench: Floats) -> Floats:
        leveled = wrench.copy()
        leveled[..., self.contacts.dimension :] /= self.length
        return leveled


def _decomposed(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """U, sigma and V^T, both square. LAPACK itself: the checks around it cost as much as the work on small matrices."""
    u, sigma, vt, info = dgesdd(matrix, full_matrices=1)
    if info:
        raise GraspError("contacts", "the grasp matrix could not be decomposed; its numbers are out of all proportion")
    return u, sigma, vt


def _array(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise GraspError(name, f"shape {array.shape}; expected {' x '.join(map(str, shape))}")
    # The sum of finite numbers is finite unless they are absurd; the answer is the same in both cases.
    if not math.isfinite(array.sum()):
        raise GraspError(name, f"{array.tolist()} has numbers that are not finite")
    return array


def _positive_definite(stiffness: Floats) -> Floats:
    symmetric = np.allclose(stiffness, stiffness.T, rtol=1e-9, atol=1e-12 * np.abs(stiffness).max())
    if not symmetric or np.linalg.eigvalsh(stiffness).min() <= 0:
        raise GraspError("stiffness", "is not symmetric positive definite; every direction must push back")
    return stiffness
