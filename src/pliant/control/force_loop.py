"""The force loop: from force errors at the contacts to corrections of the joints.   (theory 9)

`dx = D^-1 (f_wanted - f)` along the contact normals, `dq` the joints' best answer to it. Pads measure magnitudes only,
so tangential places are kept. An error that no squeeze can mend (pads that disagree about one and the same force) would
push the object along for ever; only its internal part (I - G_K^R G) e is followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.control.options import ControlOptions
from pliant.grasp import (
    ContactSet,
    ForceProblem,
    ForceSolver,
    SolverFailure,
    cross_matrix,
    internal_part,
    point_jacobian,
)
from pliant.motion import damped_least_squares
from pliant.planner import ContactTimeline, PlannedForces
from pliant.robot import Assembly

TANGENTIAL = 0.3  # weight of keeping a contact's place beside the plan, against pressing right
DAMPING = 0.02  # of the joints' answer, relative to the root of the sum of squared singular values
SMOOTHEST = 0.4  # of the planned friction: no less is believed
ARM = 0.03  # torques over the size of things in hands [m]


@dataclass(frozen=True, eq=False)
class ContactKinematics:
    """Contacts as they are now.

    Attributes:
        points: n x 3 in the world [m].
        axes: n x 3 x 3 contact axes in the world, normal into the object last.
        jacobian: n x 3 x joints, velocity of the link's point in the contact frame per joint speed.
    """

    points: Floats
    axes: Floats
    jacobian: Floats

    def force_jacobian(self, contacts: ContactSet) -> Floats:
        """J in the components of f; turning about the normals is left to the patches.   (theory 7.1)"""
        layout, dof = contacts.layout, self.jacobian.shape[2]
        J = np.zeros((layout.size, dof))
        J[layout.force_entries] = self.jacobian.reshape(-1, dof)[layout.force_places]
        return J


def contact_kinematics(
    assembly: Assembly, links: tuple[str, ...], q: Floats, places: Floats, axes: Floats
) -> ContactKinematics:
    """Points, axes and J from measured joints and points in the links' frames; directions come from the plan."""
    robot = assembly.robot
    robot.update(q)
    n = len(links)
    points, world, jacobian = np.empty((n, 3)), np.empty((n, 3, 3)), np.empty((n, 3, robot.dof))
    for i, link in enumerate(links):
        T = robot.data.oMf[robot.frame_id(link)]
        arm = T.rotation @ places[i]
        points[i] = T.translation + arm
        world[i] = T.rotation @ axes[i]
        jacobian[i] = world[i].T @ point_jacobian(robot.live_jacobian(link), arm)
    return ContactKinematics(points, world, jacobian)


class ForceLoop:
    """Wanted forces from the current grasp, and the joint corrections that bring them about."""

    def __init__(self, timeline: ContactTimeline, assembly: Assembly, options: ControlOptions) -> None:
        self.timeline, self.assembly, self.options = timeline, assembly, options
        self.hand = np.zeros(assembly.robot.dof, dtype=bool)
        self.hand[assembly.hand_joints] = True
        self.stiffness = timeline.stiffness * options.calibration.stiffness
        self.limits = options.limit_share * timeline.max_force
        servo = assembly.servo_stiffness
        self.joint_compliance = np.where(np.isfinite(servo), 1.0 / np.where(np.isfinite(servo), servo, 1.0), 0.0)
        self.torque_limits = np.maximum(assembly.torque_limits[self.hand], 1e-6)
        self.solver = ForceSolver(objective=options.cost, explain=False, prove=False)
        grasp = timeline.forces_at(timeline.grasp_time)
        self.wanted = grasp.forces[:, 2]
        # checked once; only places and axes change from turn to turn
        self._contacts = ContactSet.from_arrays(
            grasp.points,
            grasp.axes[:, :, 2],
            friction=timeline.friction * timeline.reserve.friction,
            max_force=timeline.max_force,
            stiffness=self.stiffness,
            radius=timeline.radius,
            rotations=grasp.axes,
        )
        self._asked: ForceProblem | None = None
        self.feasible = True
        self.grip = 1.0

    def want(self, now: ContactKinematics, moment: PlannedForces) -> Floats:
        """Wanted normal forces: the planned ones, and where the contacts as they are now need more, that.

        What they need are the smallest sufficient forces (7.3) that the drives can command, for the planned load with
        the plan's own reserve. Where no permitted forces hold, the planned ones stand.
        """
        self.ask(now, moment)
        return self.take(moment)

    def ask(self, now: ContactKinematics, moment: PlannedForces) -> None:
        """The first half of `want`: what the contacts need is put as a problem."""
        contacts = replace(self._contacts, points=now.points, rotations=now.axes)
        # The object may lie elsewhere than planned: its centre goes with the contacts.
        centre = moment.centre + now.points.sum(axis=0) / len(now.points) - moment.centroid
        self._asked = self.solver.problem(
            contacts,
            self.timeline.reserve.load * moment.load,
            centre=centre,
            jacobian=now.force_jacobian(contacts)[:, self.hand],
            torque_limits=self.torque_limits,
            joint_compliance=self.joint_compliance[self.hand],
        )

    def take(self, moment: PlannedForces) -> Floats:
        """The second half of `want`: the problem that was put last is solved."""
        assert self._asked is not None
        try:
            answer = self.solver.answer(self._asked)
        except SolverFailure:
            answer = None
        self.feasible = answer is not None and answer.forces is not None
        wanted = moment.forces[:, 2]
        if answer is not None and answer.forces is not None:
            wanted = np.maximum(wanted, answer.forces[:, 2])
        self.wanted = np.minimum(self.grip * wanted, np.maximum(self.limits, 1e-3))
        return self.wanted

    def believe(self, friction: float | None) -> None:
        """What the contacts need is found for this friction, where it is less than the plan's with its reserve."""
        if friction is not None:
            planned = self.timeline.friction * self.timeline.reserve.friction
            self._contacts = replace(self._contacts, friction=np.clip(friction, SMOOTHEST * planned, planned))

    def scale(self, grip: float) -> None:
        """From now on the wanted forces are so many times what the contacts need."""
        self.wanted = np.minimum(self.wanted * grip / self.grip, np.maximum(self.limits, 1e-3))
        self.grip = grip

    def series_stiffness(self, now: ContactKinematics) -> Floats:
        """D along the normals: the contact's and the servos' springs one behind the other [N/m]."""
        normal = now.jacobian[:, 2, :]
        compliance = 1.0 / self.stiffness[:, 2] + (normal**2 * np.where(self.hand, self.joint_compliance, 0.0)).sum(1)
        return np.asarray(1.0 / compliance)

    def internal(self, error: Floats, now: ContactKinematics) -> Floats:
        """The part of normal-force errors that a squeeze can correct [N]."""
        n = len(error)
        if n < 2:
            return error
        G = np.empty((6, n, 3))
        arms = now.points - now.points.sum(axis=0) / n
        G[:3] = now.axes.transpose(1, 0, 2)
        G[3:] = (cross_matrix(arms / ARM) @ now.axes).transpose(1, 0, 2)
        forces = np.zeros(3 * n)
        forces[2::3] = error
        return internal_part(G.reshape(6, -1), self.stiffness.ravel(), forces)[2::3]

    def correct(
        self,
        error: Floats,
        now: ContactKinematics,
        free: Bools,
        dt: float,
        series: Floats | None = None,
    ) -> Floats:
        """Change of the hand's joints within a time for these normal-force errors, limited by ``ControlOptions.step``.

        Args:
            error: n, wanted minus measured [N].
            now: contacts as they are.
            free: which joints may take part.
            dt: the time [s]; with 1 the answer is a rate.
            series: their ``series_stiffness``, where it is known already [N/m].
        """
        error = self.internal(error, now)
        push = self.options.gain * dt * error / (self.series_stiffness(now) if series is None else series)
        most = self.options.step * dt
        push = np.minimum(np.maximum(push, -most), most)
        columns = np.flatnonzero(free & self.hand)
        if not len(columns):
            return np.zeros(len(free))
        J = now.jacobian[:, :, columns]
        weights = np.array([TANGENTIAL, TANGENTIAL, 1.0])
        A = (J * weights[None, :, None]).reshape(-1, len(columns))
        b = np.zeros((len(error), 3))
        b[:, 2] = push
        damping = DAMPING * np.sqrt(max(float((A * A).sum()), 1e-12))
        dq = np.zeros(len(free))
        dq[columns] = damped_least_squares(A, b.ravel(), damping)
        return dq
