"""Law (6): the contact forces that a hand shall make, and the torques that make them.   (theory 7.3, 9)

`tau = -J^T G_K^R w_ext + J^T (I - G_K^R G) K J y`: the first part bears the load as springs at the contacts and in the
joints share it, the second squeezes: as planned where that is enough, else as the smallest sufficient forces do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Bools, Floats
from pliant.control.force_loop import ContactKinematics
from pliant.errors import OptionError, Problem
from pliant.grasp import ContactSet, ForceSolver, SolverFailure, grasp_matrix, weighted_right_inverse
from pliant.grasp import contact_stiffness as contact_stiffness_of
from pliant.robot import Assembly


class TorqueLaw:
    """Contact forces, and the joint torques for them, of a grasp as it is now.

    Args:
        assembly: the robot.
        joints: which joints take the torques, the others bear whatever comes; the hand's if left out.
        margin: how far from slipping every contact stays [N]; makes a squeeze even without load.
    """

    def __init__(self, assembly: Assembly, *, joints: Bools | None = None, margin: float = 0.0) -> None:
        if not 0 <= margin < np.inf:
            raise OptionError("torque law", Problem("margin", f"{margin!r}", "0 or more [N]"))
        self.assembly = assembly
        if joints is None:
            joints = np.zeros(assembly.robot.dof, dtype=bool)
            joints[assembly.hand_joints] = True
        self.joints = joints
        self._limits = np.maximum(assembly.torque_limits, 1e-6)
        self._solver = ForceSolver(margin=margin, explain=False, prove=False)

    def forces(
        self,
        now: ContactKinematics,
        *,
        friction: ArrayLike,
        load: ArrayLike,
        centre: ArrayLike,
        contact_stiffness: ArrayLike | None = None,
        radius: ArrayLike | None = None,
        max_force: ArrayLike = np.inf,
        joint_stiffness: Floats | None = None,
        weight: Floats | None = None,
        load_reserve: float = 1.0,
        planned: Floats | None = None,
    ) -> Floats | None:
        """n x 3 contact forces in the contact frames, normal last [N]; None where no permitted ones bear the load.

        They balance the load itself. The squeeze in them is strong enough for ``load_reserve`` times the load as well,
        the springs bearing what is more. It is the squeeze of the ``planned`` forces where that is enough, otherwise
        the smallest sufficient one.

        Args:
            now: contacts and their Jacobians.
            friction, radius, max_force, contact_stiffness: of the contacts.
            load: force and torque about ``centre``, world [N, N m].
            centre: centre of mass, world [m].
            joint_stiffness: of all joints, as they are controlled, above 0 [N m/rad, N/m]; stiff if left out.
            weight: what all joints bear besides [N m, N].
            load_reserve: 1 or more.
            planned: n x 3, in the contact frames [N].
        """
        if joint_stiffness is not None and not (np.asarray(joint_stiffness)[self.joints] > 0.0).all():
            least = float(np.min(np.asarray(joint_stiffness)[self.joints]))
            allowed = "above 0 for all joints that take torques: without springs nothing shares the load"
            raise OptionError("torque law", Problem("joint_stiffness", f"{least:g}", allowed))
        contacts = ContactSet.from_arrays(
            now.points,
            now.axes[:, :, 2],
            friction=friction,
            max_force=max_force,
            stiffness=contact_stiffness,
            radius=radius,
            rotations=now.axes,
        )
        load, own = np.asarray(load, dtype=np.float64), self.joints
        J = now.force_jacobian(contacts)[:, own]
        compliance = None if joint_stiffness is None else 1.0 / joint_stiffness[own]
        if planned is not None:
            K = contact_stiffness_of(contacts, J, compliance)
            found = _with_squeeze(contacts, grasp_matrix(contacts, centre), K, load, load_reserve, planned)
            if found is not None:
                return found
        try:
            answer = self._solver.solve(
                contacts,
                load,
                centre=centre,
                jacobian=J,
                torque_limits=self._limits[own],
                gravity_torques=None if weight is None else weight[own],
                joint_compliance=compliance,
                disturbances=(load_reserve - 1.0) * load[None] if load_reserve > 1.0 and load.any() else None,
            )
        except SolverFailure:
            return None
        return answer.forces

    def torques(self, now: ContactKinematics, forces: Floats) -> Floats:
        """J^T f of all joints, 0 for those that take no torques [N m, N]."""
        return np.where(self.joints, np.einsum("nij,ni->j", now.jacobian, forces), 0.0)


def _with_squeeze(
    contacts: ContactSet, G: Floats, K: Floats, load: Floats, load_reserve: float, planned: Floats
) -> Floats | None:
    """-G_K^R w_ext + (I - G_K^R G) f_planned, n x 3 [N], if no contact slips or is overloaded; None otherwise."""
    layout, n = contacts.layout, len(contacts)
    inverse = weighted_right_inverse(G, K)
    f = np.zeros(layout.size)
    f[layout.force_entries] = planned.ravel()[layout.force_places]
    f -= inverse @ (G @ f + load)
    for forces in (f, f - (load_reserve - 1.0) * inverse @ load):
        table, moments = np.zeros(3 * n), np.zeros(n)
        table[layout.force_places] = forces[layout.force_entries]
        moments[layout.moment_contacts] = forces[layout.moment_entries] / contacts.spin_arm[layout.moment_contacts]
        tangential, normal = table.reshape(n, 3)[:, :2], table.reshape(n, 3)[:, 2]
        rubbing = np.sqrt((tangential**2).sum(axis=1) + moments**2)
        if (rubbing > contacts.friction * normal).any() or (normal > contacts.max_force).any():
            return None
    table = np.zeros(3 * n)
    table[layout.force_places] = f[layout.force_entries]
    return table.reshape(n, 3)
