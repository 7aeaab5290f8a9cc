"""The driver over the lab: what a real hand and arm take and report, with noise, delay and faults.   (theory 10)"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from pliant.arrays import Bools, Floats
from pliant.control import JointReading, Sample
from pliant.errors import OptionError, Problem
from pliant.lab.pads import Pads
from pliant.lab.robot_xml import BASE_JOINTS
from pliant.lab.scene import Scene
from pliant.lab.simulation import Simulation
from pliant.tactile import PadSensor, TactileFrame


@dataclass(frozen=True)
class SensorSettings:
    """How well the lab's hand can be measured.

    Args:
        pad: calibration, temperature and noise of the pads.
        frame_period: time between tactile frames [s].
        delay: time until a frame arrives [s].
        dropout: probability that a frame of an array is lost.
        dead: (row, column) of cells that read 0, by array.
        stuck: (row, column, counts) of cells that always read the same, by array.
        joint_noise: standard deviation of measured joints [rad, m].
        seed: of all randomness.
    """

    pad: PadSensor = field(default_factory=PadSensor)
    frame_period: float = 0.032
    delay: float = 0.0
    dropout: float = 0.0
    dead: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    stuck: Mapping[str, tuple[tuple[int, int, int], ...]] = field(default_factory=dict)
    joint_noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [
            Problem(name, f"{value!r}", allowed)
            for name, value, right, allowed in (
                ("frame_period", self.frame_period, self.frame_period > 0, "above 0 [s]"),
                ("delay", self.delay, self.delay >= 0, "0 or more [s]"),
                ("dropout", self.dropout, 0 <= self.dropout <= 1, "a probability"),
                ("joint_noise", self.joint_noise, self.joint_noise >= 0, "0 or more [rad]"),
            )
            if not right
        ]
        if problems:
            raise OptionError("lab sensors", problems)


class LabDriver:
    """The lab behind the driver interface.

    Commands pass through the hand's own speed limits; position servos with torque limits follow them. The servos of
    joints that are given torques are off until they are given positions again; the links' weight is carried beside the
    torques. When the simulation breaks down, or after an emergency stop, the joints hold where they are and later
    commands are ignored; ``read().stopped`` says why.

    Args:
        scene: what is simulated.
        period: control cycle [s]; a whole number of simulation steps.
        sensors: how well it can be measured.
    """

    takes_torques = True
    carries_weight = True

    def __init__(self, scene: Scene, *, period: float = 0.01, sensors: SensorSettings | None = None) -> None:
        if scene.assembly is None:
            raise OptionError("lab", "a driver needs a robot in the scene")
        steps = period / scene.options.step
        if steps < 0.999 or abs(steps - round(steps)) > 1e-6:
            allowed = f"a whole number of simulation steps of {scene.options.step:g} s"
            raise OptionError("lab", Problem("period", f"{period!r}", allowed))
        self.scene, self.assembly = scene, scene.assembly
        self.simulation = Simulation(scene)
        self.pads = Pads(self.simulation)
        self.sensors = sensors or SensorSettings()
        self.joint_names = self.torque_joints = self.assembly.robot.joint_names
        self.array_names = tuple(self.pads.arrays)
        self._period, self._steps = period, round(steps)
        self._rng = np.random.default_rng(self.sensors.seed)
        model = scene.model
        self._qpos = np.array([model.joint(name).qposadr[0] for name in self.joint_names])
        self._dof = np.array([model.joint(name).dofadr[0] for name in self.joint_names])
        self._actuators = np.array([model.actuator(name).id for name in self.joint_names])
        stand = BASE_JOINTS if scene.has_stand else ()
        self._base_actuators = np.array([model.actuator(name).id for name in stand], dtype=np.int64)
        self._gains = model.actuator_gainprm[self._actuators].copy(), model.actuator_biasprm[self._actuators].copy()
        self._speeds = self.assembly.robot.velocity_limits
        # A servo's damping works against all speed; this much further ahead it is commanded to make up for it [s].
        gains, biases = self._gains
        self._ahead = np.where(self.assembly.follows_speed, -biases[:, 2] / gains[:, 0], 0.0)
        self._rate = np.zeros(len(self.joint_names))
        self._target = scene.q_start.copy()
        self._setpoint = scene.q_start.copy()
        self._torques = np.zeros(len(self.joint_names))
        self._by_torque = np.zeros(len(self.joint_names), dtype=bool)
        self._base_target, self._base_setpoint = np.zeros(6), np.zeros(6)
        self._stopped = ""
        self._frames: dict[str, TactileFrame] = {}
        self._waiting: deque[tuple[float, TactileFrame]] = deque()
        self._next_frame = 0.0
        self._joints = self._measure_joints()

    # -- the driver interface --------------------------------------------------------------------------------------

    @property
    def period(self) -> float:
        return self._period

    @property
    def time(self) -> float:
        return self.simulation.time

    def read(self) -> Sample:
        return Sample(self.time, self._joints, dict(self._frames), self._stopped)

    def command_positions(self, positions: Floats) -> None:
        wanted = self._checked(positions, "positions")
        if self._stopped:
            return
        self._drive_by_torque(np.zeros(len(wanted), dtype=bool))
        self._take_target(wanted)

    def command_torques(self, torques: Floats, *, joints: Bools | None = None, positions: Floats | None = None) -> None:
        wanted = self._checked(torques, "torques")
        targets = self._target if positions is None else self._checked(positions, "positions")
        if self._stopped:
            return
        limits = self.assembly.torque_limits
        self._torques = np.clip(wanted, -limits, limits)
        self._drive_by_torque(np.ones(len(wanted), dtype=bool) if joints is None else np.asarray(joints, dtype=bool))
        if positions is not None:
            self._take_target(targets)

    def step(self) -> None:
        """One control cycle of simulated time; tactile frames are taken on their own clock."""
        dt = self.scene.options.step
        for _ in range(self._steps):
            self._drive(dt)
            self.simulation.step()
            if self.simulation.fault:
                self._stopped = self._stopped or self.simulation.fault
                return
            if self.time >= self._next_frame - 1e-9:
                self._next_frame += self.sensors.frame_period
                self._take_frames()
        self._rate[:] = 0.0  # a speed counts for the cycle that it was commanded for
        self._joints = self._measure_joints()
        while self._waiting and self._waiting[0][0] <= self.time + 1e-9:
            frame = self._waiting.popleft()[1]
            self._frames[frame.array] = frame

    def emergency_stop(self, reason: str) -> None:
        if self._stopped:
            return
        self._stopped = reason or "emergency stop"
        self._drive_by_torque(np.zeros(len(self.joint_names), dtype=bool))
        self._rate[:] = 0.0
        self._target = self._setpoint = self.simulation.data.qpos[self._qpos].copy()
        self._base_target = self._base_setpoint.copy()

    def close(self) -> None:
        self._stopped = self._stopped or "closed"

    # -- beyond the interface: what only a lab can do --------------------------------------------------------------

    def true_joints(self) -> Floats:
        """Where the joints are, without noise [rad, m]."""
        return np.asarray(self.simulation.data.qpos[self._qpos])

    @property
    def fault(self) -> str:
        """Why the simulation cannot be believed; empty while it can."""
        return self.simulation.fault

    def carry(self, T_world_base: pin.SE3, *, speed: float = 0.25) -> None:
        """Carry a hand without an arm to a pose of its base; straight, at most ``speed`` [m/s, rad/s]."""
        if not self.scene.has_stand:
            raise OptionError("lab", "this robot has an arm: it moves itself")
        if self._stopped:
            return
        T = self.assembly.robot.T_world_base.actInv(T_world_base)
        roll, pitch, yaw = _intrinsic_xyz(T.rotation)
        self._base_target = np.array([*T.translation, roll, pitch, yaw])
        self._base_speed = speed

    # -- inside ----------------------------------------------------------------------------------------------------

    _base_speed = 0.25

    def _take_target(self, positions: Floats) -> None:
        robot = self.assembly.robot
        target = np.clip(positions, robot.lower, robot.upper)
        reach = np.where(np.isfinite(self._speeds), self._speeds, 10.0)
        self._rate = np.clip((target - self._target) / self._period, -reach, reach)
        self._target = target

    def _drive(self, dt: float) -> None:
        data = self.simulation.data
        data.qfrc_applied[self._dof] = np.where(self._by_torque, self._torques, 0.0)
        reach = np.where(np.isfinite(self._speeds), self._speeds, 10.0) * dt
        self._setpoint = self._setpoint + np.clip(self._target - self._setpoint, -reach, reach)
        data.ctrl[self._actuators] = self._setpoint + self._ahead * self._rate
        if self.scene.has_stand:
            reach_base = self._base_speed * dt
            self._base_setpoint = self._base_setpoint + np.clip(
                self._base_target - self._base_setpoint, -reach_base, reach_base
            )
            data.ctrl[self._base_actuators] = self._base_setpoint

    def _drive_by_torque(self, joints: Bools) -> None:
        """These joints apply torques, the servos of the others are on; one that comes back stands where it is."""
        back = self._by_torque & ~joints
        if (joints == self._by_torque).all():
            return
        model, (gains, biases) = self.simulation.model, self._gains
        model.actuator_gainprm[self._actuators] = np.where(joints[:, None], 0.0, gains)
        model.actuator_biasprm[self._actuators] = np.where(joints[:, None], 0.0, biases)
        here = self.simulation.data.qpos[self._qpos]
        self._target, self._setpoint = np.where(back, here, self._target), np.where(back, here, self._setpoint)
        self._by_torque = joints.copy()

    def _measure_joints(self) -> JointReading:
        data = self.simulation.data
        positions = data.qpos[self._qpos].copy()
        if self.sensors.joint_noise > 0:
            positions += self._rng.normal(0.0, self.sensors.joint_noise, len(positions))
        # The weight of the links is carried beside the servos; a drive that does both would show the sum.
        torques = data.actuator_force[self._actuators] + self.assembly.robot.gravity_torques(
            positions, gravity=self.scene.options.gravity
        )
        return JointReading(self.time, positions, np.where(self._by_torque, self._torques, torques))

    def _take_frames(self) -> None:
        now = self.time
        for name, pressed in self.pads.read().items():
            lost = self._rng.random() < self.sensors.dropout
            layout = self.pads.layouts[name]
            counts = self.sensors.pad.counts(pressed.cells, cell_area=layout.area, rng=self._rng)
            counts[~layout.exists] = 0
            for row, column in self.sensors.dead.get(name, ()):
                counts[row, column] = 0
            for row, column, value in self.sensors.stuck.get(name, ()):
                counts[row, column] = value
            if not lost:
                self._waiting.append((now + self.sensors.delay, TactileFrame(name, now, counts)))

    def _checked(self, values: Floats, what: str) -> Floats:
        array = np.array(values, dtype=np.float64)
        if array.shape != (len(self.joint_names),) or not np.isfinite(array).all():
            allowed = f"{len(self.joint_names)} finite numbers: {', '.join(self.joint_names)}"
            raise OptionError("lab", Problem(what, f"{np.array2string(array, threshold=8)}", allowed))
        return array


def _intrinsic_xyz(R: Floats) -> tuple[float, float, float]:
    """Angles of turns about x, then the new y, then the new z that make R."""
    pitch = float(np.arcsin(np.clip(R[0, 2], -1.0, 1.0)))
    return float(np.arctan2(-R[1, 2], R[2, 2])), pitch, float(np.arctan2(-R[0, 1], R[0, 0]))
