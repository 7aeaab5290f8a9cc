"""What the joints of a hand can do to the contacts: Jacobian, torque limits, own weight, give of the servos.

(theory 7.1, 7.2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.grasp import (
    ContactSet,
    ForceResult,
    ForceSolver,
    contact_twists,
    grasp_matrix,
    hand_jacobian,
    hand_report,
    internal_basis,
    object_report,
)
from pliant.planner.closing_hand import ClosingHand
from pliant.planner.hand_links import HandLink
from pliant.planner.reasons import Failure, Reason
from pliant.robot import PALM_FRAME

NOTHING = 1e-6
"""Joint motions that change internal forces by less than this part of what they move change none."""


@dataclass(frozen=True, eq=False)
class Drives:
    """The joints of the hand at some contacts; the arm's are not among them.

    The arm carries all contacts together. What it bears follows from the load alone, whatever the squeeze: it can
    neither add to internal forces nor be relieved by them.

    Args:
        jacobian: J, size of f x joints of the hand.
        torque_limits: [N m, N].
        gravity_torques: what the joints bear of the hand's own weight [N m, N].
        compliance: of the servos [rad/(N m), m/N]; 0 where the stiffness is not known.
        names: of the joints.
    """

    jacobian: Floats
    torque_limits: Floats
    gravity_torques: Floats
    compliance: Floats
    names: tuple[str, ...] = ()

    def overload(self, torques: Floats) -> Failure:
        """The joint that contact forces with these torques load most.

        Args:
            torques: J^T f [N m, N].
        """
        total = torques + self.gravity_torques
        worst = int(np.argmax(np.abs(total) / self.torque_limits))
        name = self.names[worst] if self.names else f"joint {worst}"
        detail = f"{total[worst]:.3g} at {name}, {self.torque_limits[worst]:.3g} allowed"
        return Failure(Reason.TORQUE_LIMIT, float(abs(total[worst]) / self.torque_limits[worst]), detail=detail)

    def solve(
        self,
        solver: ForceSolver,
        contacts: ContactSet,
        load: Floats,
        centre: Floats,
        disturbances: Floats | None = None,
    ) -> ForceResult:
        """The smallest sufficient forces that these drives can command."""
        return solver.solve(
            contacts,
            load,
            centre=centre,
            jacobian=self.jacobian,
            torque_limits=self.torque_limits,
            gravity_torques=self.gravity_torques,
            joint_compliance=self.compliance,
            disturbances=disturbances,
        )


def drives_at(
    hand: ClosingHand,
    q: Floats,
    T_world_palm: pin.SE3,
    links: Sequence[HandLink],
    contacts: ContactSet,
    gravity: Floats,
) -> Drives:
    """The drives of a hand whose links touch at contacts.

    Args:
        q: joints (the arm's do not count).
        T_world_palm: the palm, wherever those of the arm would put it.
        links: of the contacts, one each.
        contacts: in the world.
        gravity: acceleration in the world [m/s^2].
    """
    robot, assembly = hand.robot, hand.assembly
    joints = assembly.hand_joints
    robot.update(q)
    palm = robot.data.oMf[robot.frame_id(PALM_FRAME)]
    # from where the joints of the arm put the palm to where it is
    moved = T_world_palm * palm.inverse()
    R = moved.rotation
    turn = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])
    jacobians = np.array([turn @ robot.live_jacobian(link.name)[:, joints] for link in links])
    origins = np.array([moved.act(robot.data.oMf[robot.frame_id(link.name)].translation) for link in links])
    return Drives(
        hand_jacobian(contacts, contact_twists(contacts, jacobians, origins)),
        assembly.torque_limits[joints],
        robot.gravity_torques(q, gravity=R.T @ gravity)[joints],
        1.0 / assembly.servo_stiffness[joints],
        tuple(robot.joint_names[joint] for joint in joints),
    )


@dataclass(frozen=True, eq=False)
class Ranks:
    """Singular values of G and J at some contacts, largest first.   (theory 7.1)

    Args:
        grasp: of G, six; torques over the distance of the farthest contact, moments of patches over their arm e.
        hand: of J, one for each joint that carries a contact [m/rad; 1 for prismatic joints].
    """

    grasp: Floats
    hand: Floats


def ranks_at(contacts: ContactSet, centre: Floats, drives: Drives) -> Ranks | Failure:
    """The ranks of a grasp, or what is lost: a wrench that contacts cannot answer, a squeeze that joints cannot make.

    Patches bear moments about their normals, so a pinch has a G of full rank. A J that has lost rank (a stretched
    finger, a joint that turns a contact about itself) is reported by its smallest singular value, and no reason
    to reject: whether the joints that are left can command what is needed is decided with the forces.

    Args:
        contacts: in the world.
        centre: centre of mass, world [m].
        drives: of the hand at these contacts.
    """
    grasp, hand = object_report(contacts, centre), hand_report(contacts, drives.jacobian)
    if not grasp.is_full:
        shift, turn = grasp.free[0, :3], grasp.free[0, 3:]
        kind, axis = (
            ("turning about", turn) if np.linalg.norm(turn) > np.linalg.norm(shift) else ("shifting along", shift)
        )
        along = ", ".join(f"{value:.2f}" for value in axis / np.linalg.norm(axis) + 0.0)
        return Failure(Reason.FREE_MOTION, float(grasp.full - grasp.rank), detail=f"{kind} ({along})")
    if hand.full == 0:
        return Failure(Reason.NO_SQUEEZE, 0.0, detail="no joint of the hand carries a contact")
    squeezes = internal_basis(grasp_matrix(contacts, centre)).T @ drives.jacobian
    if np.abs(squeezes).max(initial=0.0) < NOTHING * np.abs(drives.jacobian).max():
        return Failure(Reason.NO_SQUEEZE, float(hand.rank), detail="the joints move all contacts together")
    return Ranks(grasp.singular_values, hand.singular_values)
