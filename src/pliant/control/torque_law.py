"""Torques instead of positions: the law (6) for hands and simulators that take torques.   (theory 7.3, 9)

`tau = -J^T G_K^R w_ext + J^T (I - G_K^R G) K J y`: the first part bears the load as the springs at the contacts share
it, the second squeezes. y is chosen so that the forces are the smallest sufficient ones. Joints without contact are
held by a spring and a damper; all joints are damped, since a torque alone stops nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.control.force_loop import ContactKinematics
from pliant.errors import OptionError
from pliant.grasp import ContactSet, ForceSolver, SolverFailure
from pliant.robot import Assembly


@dataclass(frozen=True, eq=False)
class TorqueAnswer:
    """What the joints shall apply.

    Attributes:
        torques: [N m, N].
        forces: n x 3 contact forces that they make, in the contact frames [N].
        feasible: False where no permitted forces bear the load; ``torques`` then only hold the joints.
    """

    torques: Floats
    forces: Floats
    feasible: bool


class TorqueLaw:
    """Torques for a grasp as it is now.

    Args:
        assembly: the robot.
        margin: how far from slipping every contact stays [N]; makes a squeeze even without load.
        damping: torque per joint speed, one or one per joint [N m s/rad, N s/m].
        stiffness: of joints that carry no contact, one or one per joint [N m/rad, N/m].
    """

    def __init__(
        self, assembly: Assembly, *, margin: float = 0.3, damping: ArrayLike = 0.05, stiffness: ArrayLike = 20.0
    ) -> None:
        dof = assembly.robot.dof
        self.assembly = assembly
        self.damping = np.broadcast_to(np.asarray(damping, dtype=float), (dof,))
        self.stiffness = np.broadcast_to(np.asarray(stiffness, dtype=float), (dof,))
        if not ((self.damping >= 0).all() and (self.stiffness >= 0).all()):
            raise OptionError("torque law", "damping and stiffness must not be negative")
        self.solver = ForceSolver(margin=margin, explain=False)

    def torques(
        self,
        now: ContactKinematics,
        *,
        friction: ArrayLike,
        load: ArrayLike,
        centre: ArrayLike,
        q: Floats,
        q_wanted: Floats,
        speed: Floats,
        contact_stiffness: ArrayLike | None = None,
        radius: ArrayLike | None = None,
        max_force: ArrayLike = np.inf,
    ) -> TorqueAnswer:
        """Law (6) for these contacts.

        Args:
            now: contacts and their Jacobians.
            friction, radius, max_force, contact_stiffness: of the contacts.
            load: force and torque about ``centre``, world [N, N m].
            centre: centre of mass, world [m].
            q, q_wanted, speed: of the joints: where they are, where those without contact shall be, how fast they go.
        """
        contacts = ContactSet.from_arrays(
            now.points,
            now.axes[:, :, 2],
            friction=friction,
            max_force=max_force,
            stiffness=contact_stiffness,
            radius=radius,
            rotations=now.axes,
        )
        n, dof = len(now.points), self.assembly.robot.dof
        limits = self.assembly.torque_limits
        try:
            answer = self.solver.solve(
                contacts, load, centre=centre, jacobian=_stacked(contacts, now), torque_limits=np.maximum(limits, 1e-6)
            )
        except SolverFailure:
            answer = None
        held = self.stiffness * (q_wanted - q) - self.damping * speed
        if answer is None or answer.tau is None or answer.forces is None:
            return TorqueAnswer(np.clip(held, -limits, limits), np.zeros((n, 3)), False)
        carrying = np.abs(now.jacobian).reshape(-1, dof).max(axis=0) > 1e-9
        torques = np.where(carrying, answer.tau - self.damping * speed, held)
        return TorqueAnswer(np.clip(torques, -limits, limits), answer.forces, True)


def _stacked(contacts: ContactSet, now: ContactKinematics) -> Floats:
    """J in the components of f; turning about the normals is left to the patches."""
    layout = contacts.layout
    J = np.zeros((layout.size, now.jacobian.shape[2]))
    J[layout.force_entries] = now.jacobian.reshape(-1, now.jacobian.shape[2])[layout.force_places]
    return J
