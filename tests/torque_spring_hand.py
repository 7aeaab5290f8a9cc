"""A hand on springs that takes torques: joints that creep as far as torques and contact forces differ.

Contacts press along their planned normals as those of `SpringHand`, bear the object's weight along their faces and
stick there, so that at rest J^T f is the torque that was commanded. Arm and joints without torques follow positions.
"""

from __future__ import annotations

import numpy as np

from pliant.control import JointReading, Sample, contact_kinematics
from spring_hand import PERIOD, SpringHand

FRICTION = 1.0  # of the joints [N m s/rad]; on a slide of a gripper, times 100 [N s/m]
STICKING = 1500.0  # tangential stiffness of a contact [N/m]
SUBSTEPS = 10


class TorqueSpringHand(SpringHand):
    """A driver that takes torques.

    Attributes:
        given: the last torques with the joints that took them; None while all joints are given positions.
        sent: every torque vector with the time it was sent at.
    """

    takes_torques = True
    carries_weight = True
    given: tuple[np.ndarray, np.ndarray] | None = None

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.torque_joints = self.joint_names
        self.sent: list[tuple[float, np.ndarray]] = []
        slides = self.robot.velocity_limits < 0.2
        self._friction = FRICTION * np.where(slides, 100.0, 1.0)
        self._started: np.ndarray | None = None

    def contact_torques(self) -> np.ndarray:
        """J^T f of the contacts as they are [N m, N]."""
        now = contact_kinematics(self.assembly, self.timeline.links, self.q, self.points, self.axes)
        forces = np.zeros((len(self.points), 3))
        forces[:, 2] = self.forces()
        touching = forces[:, 2] > 0.0
        here = self._in_hand(self.q)
        self._started = here if self._started is None else np.where(touching[:, None], self._started, here)
        moved = np.einsum("nij,nj->ni", self._axes_at_touch.transpose(0, 2, 1), here - self._started)
        forces[touching, :2] = (STICKING * moved + self._weight_shares())[touching, :2]
        return np.einsum("nij,ni->j", now.jacobian, forces)

    def _weight_shares(self) -> np.ndarray:
        """n x 3: what each contact bears of the weight, all the same, in its own frame [N]."""
        share = -self.timeline.forces_at(self.timeline.grasp_time).load[:3] / len(self.points)
        return np.einsum("nij,i->nj", self._axes_at_touch, share)

    @property
    def _axes_at_touch(self) -> np.ndarray:
        Ts = self.robot.poses(self.timeline.links, self.timeline.q_touch)
        return np.array([T.rotation @ axes for T, axes in zip(Ts, self.axes, strict=True)])

    def _in_hand(self, q: np.ndarray) -> np.ndarray:
        """Contact points with the arm where it is at the touch."""
        here = q.copy()
        here[self.assembly.arm_joints] = self.timeline.q_touch[self.assembly.arm_joints]
        return self._places(here)

    def read(self) -> Sample:
        by_torque = self.given is not None
        torques = self.contact_torques() + self.robot.gravity_torques(self.q) if not by_torque else self.given[0]
        return Sample(self._time, JointReading(self._time, self.q.copy(), torques), dict(self.frames), self.stopped)

    def command_positions(self, positions: np.ndarray) -> None:
        super().command_positions(positions)
        self.given = None

    def command_torques(
        self, torques: np.ndarray, *, joints: np.ndarray | None = None, positions: np.ndarray | None = None
    ) -> None:
        assert np.isfinite(torques).all()
        if self.stopped:
            return
        if positions is not None:
            super().command_positions(positions)
        taking = np.ones(len(torques), dtype=bool) if joints is None else joints
        self.given = np.array(torques), taking.copy()
        self.sent.append((self._time, np.array(torques)))

    def step(self) -> None:
        if self.given is not None:
            torques, taking = self.given
            for _ in range(SUBSTEPS):
                creep = (torques - self.contact_torques()) / self._friction
                self.q = self.q + np.where(taking, creep, 0.0) * PERIOD / SUBSTEPS
            self.command = np.where(taking, self.q, self.command)
        super().step()
