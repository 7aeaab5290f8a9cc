"""The grip by torques: law (6) from the touch on, weak springs that keep the object on its way.   (theory 9)

    tau = J^T f + K_j (q_ref - q) + D_j (qd_ref - qd) + weight

f are forces for the contacts as they are, with the planned squeeze or the smallest sufficient one. Torques alone keep
an object only in balance: what the load is wrong by would carry it off. The springs hold it against that. They are as
weak as ``TorqueOptions`` says, measured at the contacts, and slack when the object is gripped: q_ref goes with the
joints while the forces grow, and follows the plan from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.control.controller import operation_phases
from pliant.control.driver import JointReading, TorqueDrive
from pliant.control.events import RunPhase
from pliant.control.force_loop import ContactKinematics, contact_kinematics
from pliant.control.grip import ControlStep, Grip
from pliant.control.phases.context import PhaseStrategy, RunContext
from pliant.control.torque_law import TorqueLaw
from pliant.errors import OptionError, Problem
from pliant.grasp import point_jacobian
from pliant.planner import PlannedForces, Reserve
from pliant.robot import tip_frame
from pliant.tactile import ContactEstimate, TactileProcessor

SOLVED_EVERY = 0.02  # forces are found again that often, and whenever a frame comes [s]
SMOOTH = 0.1  # time in which they follow what was found [s]
SPEED_LAG = 0.004  # of the joint speeds, which are differences of positions [s]
FOLLOWS = 0.03  # how fast the reference goes with the joints while the forces grow [s]
SLOW = 0.002  # a contact that moves no faster has come to rest [m/s]
LEAST_FORCE = 0.3  # a weaker grip is neither measured nor commanded reliably [N]
LEAST_LEVER = 0.05  # of a joint on its contacts and finger tips [m]
ARM_FREQUENCY = 30.0  # with which an arm that takes torques is held at the plan [rad/s]


@dataclass(frozen=True)
class TorqueOptions:
    """How a hand is controlled by torques. Springs and dampers are measured at the contacts and finger tips.

    Args:
        stiffness: force per distance from the plan, at least [N/m]: at 200 a contact 1 mm off is pushed by 0.2 N.
            Torques alone would let the object go wherever the load is wrong by: 1 or more.
        damping: force per speed beside the plan [N s/m].
        ramp: how long the forces take to grow from the touch to the grip, at least [s].
        margin: how far every contact stays from slipping, as part of the load; the planner's own.
    """

    stiffness: float = 200.0
    damping: float = 10.0
    ramp: float = 0.3
    margin: float = 0.05

    def __post_init__(self) -> None:
        ranges = {"stiffness": (1.0, 1e5), "damping": (0.0, 1e4), "ramp": (0.0, 60.0), "margin": (0.0, 10.0)}
        wrong = [
            Problem(name, f"{value!r}", f"{ranges[name][0]:g} to {ranges[name][1]:g}")
            for name, value in vars(self).items()
            if not ranges[name][0] <= value <= ranges[name][1]
        ]
        if wrong:
            raise OptionError("torques", wrong)


def torque_phases(
    drive: TorqueDrive, reserve: Reserve, options: TorqueOptions | None = None
) -> Callable[[RunContext], dict[RunPhase, PhaseStrategy]]:
    """The phases of an operation whose grip is by torques: squeeze, lift, move and hold; all others are by positions.

    Args:
        drive: which joints take torques.
        reserve: of the plan.
    """

    def phases(run: RunContext) -> dict[RunPhase, PhaseStrategy]:
        run.grip = TorqueGrip(run, drive, reserve, options or TorqueOptions())
        return operation_phases(run)

    return phases


class TorqueGrip(Grip):
    """Turns of the torque law, in the place of the force loop's.

    Attributes:
        forces: n x 3 contact forces that the torques are for, in the contact frames [N]; None before the first turn.
    """

    def __init__(self, run: RunContext, drive: TorqueDrive, reserve: Reserve, options: TorqueOptions) -> None:
        super().__init__(run.loop, run.tracker)
        assembly, timeline = run.assembly, run.timeline
        dof = assembly.robot.dof
        self.run, self.reserve, self.options = run, reserve, options
        self.torque_joints, self._bears_weight = drive
        self._cells = [_pad_cells(run.processor, names) for names in run.tracker.arrays_of]
        self._limits = assembly.torque_limits
        self._servo = assembly.servo_stiffness
        self.stays = not np.isfinite(self._servo[run.loop.hand & drive.joints]).all()
        grasped = timeline.forces_at(timeline.grasp_time)
        margin = options.margin * float(np.linalg.norm(grasped.load[:3]))
        if grasped.forces[:, 2].max() < LEAST_FORCE:
            margin = max(margin, float(timeline.friction.min()) * LEAST_FORCE)
        self.law = TorqueLaw(assembly, joints=drive.joints, margin=margin)
        levers = self._levers(grasped)
        # A finger's joints give way one after the other: each is so many times as stiff as there are of them.
        moves = np.array([run.robot.joints_moving(link) for link in timeline.links]) & run.loop.hand
        chain = np.maximum((moves * moves.sum(axis=1, keepdims=True)).max(axis=0), 1)
        self._spring = np.where(run.loop.hand, options.stiffness * chain * levers**2, np.inf)
        self._damper = options.damping * levers**2
        start, end = timeline.touch_time, timeline.grasp_time
        self._ramp = max(options.ramp, (end - start) / run.options.speed, 1e-3)
        self.forces: Floats | None = None
        self._solved = -np.inf
        self._at_touch = np.zeros(dof)
        self._share = 0.0
        self._reading: JointReading | None = None
        self._speed = np.zeros(dof)
        self._planned, self._reference = np.zeros(dof), np.zeros(dof)

    @property
    def ready(self) -> bool:
        """Whether the forces have grown to what is wanted and nothing moves any more."""
        if self._share < 1.0 or self.contacts is None:
            return False
        hand = self.loop.hand
        return bool(np.abs(self.contacts.jacobian[:, :, hand] @ self._speed[hand]).max(initial=0.0) <= SLOW)

    def turn(self, step: ControlStep, planned: Floats, offset: Floats, wanted: Callable[[], Floats | float]) -> Floats:
        """Find the torques; the answer is the offset of the springs' zero from the plan's joints."""
        reading, run = step.sample.joints, self.run
        if reading is None:
            return offset
        now, q = self._measure(step, reading)
        joints = run.timeline.joints(run.plan_time)
        if self.torques is None:
            self._touch(reading, now, step.estimate)
            self._planned, self._reference = joints, np.where(run.loop.hand, q - joints, 0.0)
        going = (joints - self._planned) / step.dt if step.dt > 0 else np.zeros(len(q))
        self._planned = joints
        if self._share < 1.0:
            self._share = min(self._share + step.dt / self._ramp, 1.0)
            off = np.where(run.loop.hand, q - joints, 0.0)
            self._reference = self._reference + min(step.dt / FOLLOWS, 1.0) * (off - self._reference)
        weight = run.robot.gravity_torques(q) if self._bears_weight else np.zeros(len(q))
        forces = self._wanted_forces(step, now, weight)
        self.pushed = self._share * forces[:, 2] - step.moment.forces[:, 2]
        contact = (1.0 - self._share) * self._at_touch + self._share * self.law.torques(now, forces)
        error, slower = joints + self._reference - q, going - self._speed
        hand = run.loop.hand
        contact[hand] += self._spring[hand] * error[hand] + self._damper[hand] * slower[hand]
        contact += self._arm_torques(q, error, slower)
        torques = np.clip(contact + weight, -self._limits, self._limits)
        self.torques = np.where(self.torque_joints, torques, 0.0)
        self.standing = run.command.copy()  # positions at which servos would press just as strongly
        self.standing[hand] = (q + contact / self._servo)[hand]
        return self._reference

    def press(self, step: ControlStep, planned: Floats, offset: Floats, extra: Floats) -> Floats:
        """Forces that are larger by ``extra`` from the next turn on, not only after a while."""
        if self.forces is not None:
            larger = 1.0 + extra / np.maximum(self.forces[:, 2], 1e-9)
            self.forces = larger[:, None] * self.forces
        return offset

    def _measure(self, step: ControlStep, reading: JointReading) -> tuple[ContactKinematics, Floats]:
        """Contacts and joints now; joint speeds from one reading to the next."""
        loop, q = self.loop, np.asarray(reading.positions, dtype=np.float64)
        before = self._reading
        if before is not None and reading.time > before.time:
            dt = reading.time - before.time
            rate = (q - before.positions) / dt
            self._speed = self._speed + dt / (dt + SPEED_LAG) * (rate - self._speed)
        if before is None or reading.time > before.time:
            self._reading = reading
        places, axes = step.moment.points, step.moment.axes
        if loop.options.force_loop:
            places = step.estimate.places
            axes = self._axes(step.moment, places)
        now = self.contacts = contact_kinematics(loop.assembly, loop.timeline.links, q, places, axes)
        return now, q

    def _axes(self, moment: PlannedForces, places: Floats) -> Floats:
        """Contact axes in the links' frames, turned as the pads bend from the planned point to the measured one."""
        axes = moment.axes.copy()
        for i, cells in enumerate(self._cells):
            if cells is not None:
                turn = pin.Quaternion.FromTwoVectors(_normal(cells, moment.points[i]), _normal(cells, places[i]))
                axes[i] = turn.matrix() @ axes[i]
        return axes

    def _touch(self, reading: JointReading, now: ContactKinematics, estimate: ContactEstimate) -> None:
        """What the joints press with when torques take over: as reported, else as servos or pads tell."""
        q, servo = np.asarray(reading.positions), self._servo
        if reading.torques is not None and np.isfinite(reading.torques).all():
            pressing = np.asarray(reading.torques) - self.run.robot.gravity_torques(q)
        else:
            forces = np.zeros((len(now.points), 3))
            forces[:, 2] = np.where(np.isfinite(estimate.measured), estimate.measured, 0.0)
            known = np.isfinite(servo)
            sagging = np.where(known, servo, 0.0) * (self.run.command - q)
            pressing = np.where(known, sagging, self.law.torques(now, forces))
        self._at_touch = np.where(self.law.joints, np.clip(pressing, -self._limits, self._limits), 0.0)

    def _wanted_forces(self, step: ControlStep, now: ContactKinematics, weight: Floats) -> Floats:
        """Forces with the planned squeeze, or the smallest sufficient ones where they must be larger; n x 3 [N]. The
        planned ones where none hold.
        """
        time, loop, timeline = step.sample.time, self.loop, self.loop.timeline
        if self.forces is not None and not step.estimate.fresh and time - self._solved < SOLVED_EVERY:
            return self.forces
        before, self._solved, moment = self._solved, time, step.moment
        planned = timeline.forces_at(max(self.run.plan_time, timeline.grasp_time)).forces
        forces = self.law.forces(
            now,
            friction=timeline.friction * self.reserve.friction / loop.grip,
            load=moment.load,
            # The object may lie elsewhere than planned: its centre goes with the contacts.
            centre=moment.centre + now.points.mean(axis=0) - moment.centroid,
            contact_stiffness=loop.stiffness,
            radius=timeline.radius,
            max_force=np.maximum(loop.limits, 1e-3),
            joint_stiffness=self._spring,
            weight=weight,
            load_reserve=self.reserve.load,
            planned=loop.grip * planned,
        )
        loop.feasible = forces is not None
        if forces is None:
            forces = np.minimum(1.0, loop.limits / np.maximum(planned[:, 2], 1e-9))[:, None] * planned
        if self.forces is not None:  # from frame to frame measured points jump, and with them what is enough
            forces = self.forces + min((time - before) / SMOOTH, 1.0) * (forces - self.forces)
        self.forces, loop.wanted = forces, forces[:, 2]
        return forces

    def _arm_torques(self, q: Floats, error: Floats, slower: Floats) -> Floats:
        """Of an arm that takes torques as well: held at the plan by its own inertia times a stiff spring."""
        arm, torques = self.torque_joints & ~self.run.loop.hand, np.zeros(len(q))
        if arm.any():
            M = self.run.robot.mass_matrix(q)[np.ix_(arm, arm)]
            torques[arm] = M @ (ARM_FREQUENCY**2 * error[arm] + 2.0 * ARM_FREQUENCY * slower[arm])
        return torques

    def _levers(self, grasped: PlannedForces) -> Floats:
        """Largest speed of a planned contact or a finger tip per speed of each joint in the grasp [m, 1]."""
        run = self.run
        assembly, robot = run.assembly, run.robot
        now = contact_kinematics(assembly, run.timeline.links, grasped.q, grasped.points, grasped.axes)
        assert assembly.hand is not None
        tips = [robot.live_jacobian(tip_frame(finger.name)) for finger in assembly.hand.fingers]
        rows = [now.jacobian, np.array([point_jacobian(J, np.zeros(3)) for J in tips])]
        levers = np.linalg.norm(np.concatenate(rows), axis=1).max(axis=0)
        return np.maximum(levers, LEAST_LEVER)


def _pad_cells(processor: TactileProcessor, arrays: tuple[str, ...]) -> tuple[Floats, Floats, float] | None:
    """Centres [m] and normals, k x 3, of the cells of a link's arrays, and how wide one is [m]; None without arrays."""
    layouts = [processor.layout(name) for name in arrays]
    if not layouts:
        return None
    centres, normals = ([getattr(layout, name)[layout.exists] for layout in layouts] for name in ("centres", "normals"))
    return np.concatenate(centres), np.concatenate(normals), float(np.sqrt(layouts[0].area))


def _normal(cells: tuple[Floats, Floats, float], place: Floats) -> Floats:
    """The pad's normal at a place: the mean of the cells around it."""
    centres, normals, width = cells
    away = ((centres - place) ** 2).sum(axis=1)
    mean = np.exp(-0.5 * (away - away.min()) / width**2) @ normals
    return np.asarray(mean / np.linalg.norm(mean))
