"""A hand on springs: plays hand and object for the controller's own tests, exactly and in no time.

Joints follow commands with a first-order lag. The object is a spring between the planned contacts that floats along
the line of the squeeze: all contacts feel the same share of their planned force, ``((x - gap) / x_plan)`` where x is
the mean depth of the contact points beyond the planned touch along the planned normals.
"""

from __future__ import annotations

import numpy as np

from pliant.control import JointReading, Sample
from pliant.grasp import force_torques
from pliant.planner import ContactTimeline, PlannedGrasp
from pliant.robot import Assembly, cell_layout
from pliant.tactile import PadSensor, TactileFrame

PERIOD = 0.01
FRAME = 0.032
LAG = 0.03


class SpringHand:
    """A driver.

    Args:
        stiffness: factor on what the plan expects.
        gaps: n, how much later each contact is met than planned [m].
        noise: of the pads.
        start: joints at first; the pre-grasp's if left out.
        gives: the drives give way as their description says, by torque over stiffness; else they stand.
        slips_at: mean force below which an object that has been held falls over the pads, faster or slower by what
            friction lacks or has more than its weight [N]; 0: never.
        seed: of the noise.
    """

    takes_torques = False

    def __init__(
        self,
        grasp: PlannedGrasp,
        assembly: Assembly,
        *,
        stiffness: float = 1.0,
        gaps: tuple[float, ...] = (0.0, 0.0),
        noise: float = 3.0,
        start: np.ndarray | None = None,
        gives: bool = False,
        slips_at: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.assembly, self.robot = assembly, assembly.robot
        self.timeline = ContactTimeline(grasp, self.robot)
        self.joint_names = self.robot.joint_names
        self.arrays = {array.name: array for array in assembly.hand.tactile}
        self.layouts = {name: cell_layout(array) for name, array in self.arrays.items()}
        self.array_names = tuple(self.arrays)
        self.sensor = PadSensor(noise=noise)
        self.rng = np.random.default_rng(seed)
        moment = self.timeline.forces_at(self.timeline.grasp_time)
        self.points, self.axes, self.planned = moment.points, moment.axes, moment.forces[:, 2]
        self.touch = self._places(self.timeline.q_touch)
        Ts = self.robot.poses(self.timeline.links, self.timeline.q_touch)
        self.normals = np.array([T.rotation @ a[:, 2] for T, a in zip(Ts, self.axes, strict=True)])
        grasp_q = self.timeline.trajectory.at(self.timeline.grasp_time)
        self.depth_planned = float(np.mean(self._depths(grasp_q)))
        self.stiffness, self.gaps = stiffness, np.array(gaps)
        self.compliance = 1.0 / assembly.servo_stiffness if gives else np.zeros(self.robot.dof)
        self.slips_at, self.fallen, self._falling, self._held = slips_at, 0.0, 0.0, False
        self.q = np.array(grasp.q_pregrasp if start is None else start)
        self.command = self.q.copy()
        self.gone = False
        self.stopped = ""
        self._time, self._next = 0.0, 0.0
        self.frames: dict[str, TactileFrame] = {}
        self.true_force: list[float] = []

    period = PERIOD

    @property
    def time(self) -> float:
        return self._time

    def _places(self, q: np.ndarray) -> np.ndarray:
        Ts = self.robot.poses(self.timeline.links, q)
        return np.array([T.act(p) for T, p in zip(Ts, self.points, strict=True)])

    def _depths(self, q: np.ndarray) -> np.ndarray:
        # The arm carries hand and object alike: depths are taken in the frame of the hand's base.
        here = q.copy()
        here[self.assembly.arm_joints] = self.timeline.q_touch[self.assembly.arm_joints]
        return np.einsum("ij,ij->i", self._places(here) - self.touch, self.normals)

    def forces(self) -> np.ndarray:
        """True normal forces now [N]."""
        if self.gone:
            return np.zeros(len(self.points))
        depth = float(np.mean(self._depths(self.q) - self.gaps))
        alone = self._depths(self.q) - self.gaps
        if depth <= 0.0:  # the object still lies there: a finger that is beyond its touch pushes it with a little force
            return np.where(alone > 0.0, 0.5, 0.0)
        return self.planned * self.stiffness * depth / self.depth_planned

    def torques(self) -> np.ndarray:
        """What the joints bear for the normal forces, J^T f [N m, N]."""
        total = np.zeros(self.robot.dof)
        for link, p, axes, force in zip(self.timeline.links, self.points, self.axes, self.forces(), strict=True):
            T, J = self.robot.pose(link, self.q), self.robot.jacobian(link, self.q)
            total += force_torques(J, T.rotation @ p, force * (T.rotation @ axes[:, 2]))
        return total

    def read(self) -> Sample:
        return Sample(self._time, JointReading(self._time, self.q.copy(), None), dict(self.frames), self.stopped)

    def command_positions(self, positions: np.ndarray) -> None:
        assert np.isfinite(positions).all()
        if not self.stopped:
            self.command = np.array(positions)

    def command_torques(self, torques: np.ndarray) -> None:
        raise NotImplementedError

    def step(self) -> None:
        self._time += PERIOD
        stands = self.command - self.compliance * self.torques()
        self.q = self.q + (1.0 - np.exp(-PERIOD / LAG)) * (stands - self.q)
        forces = self.forces()
        self.true_force.append(float(forces.max()))
        self._held = self._held or float(forces.mean()) > self.slips_at
        if self._held and self.slips_at > 0.0:
            self._falling = max(self._falling + 9.81 * (1.0 - float(forces.mean()) / self.slips_at) * PERIOD, 0.0)
            self.fallen += self._falling * PERIOD
        if self._time >= self._next - 1e-9:
            self._next += FRAME
            self._take(forces)

    def _take(self, forces: np.ndarray) -> None:
        Ts = self.robot.poses(self.timeline.links, self.q)
        points = [p - self.fallen * T.rotation[2] for p, T in zip(self.points, Ts, strict=True)]
        for name, layout in self.layouts.items():
            cells = np.zeros(layout.exists.shape)
            for i, link in enumerate(self.timeline.links):
                if link == self.arrays[name].link and forces[i] > 0:
                    away = ((layout.centres - points[i]) ** 2).sum(axis=-1)
                    weights = np.where(layout.exists, np.exp(-0.5 * away / 0.004**2), 0.0)
                    weights[weights < 0.05 * weights.max()] = 0.0
                    cells += forces[i] * weights / weights.sum()
            counts = self.sensor.counts(cells, cell_area=layout.area, rng=self.rng)
            self.frames[name] = TactileFrame(name, self._time, counts)

    def emergency_stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason

    def close(self) -> None:
        self.stopped = self.stopped or "closed"
