"""Driving frames to fixed goals at the speed the joints allow, and noticing when that does not work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import Clearance
from pliant.motion.frame_task import FrameTask
from pliant.motion.limits import JointLimits
from pliant.motion.solvers.qp import QpSolver
from pliant.motion.tracking import Gains, Servo
from pliant.robot import Robot


class MotionStatus(Enum):
    """How a motion ended."""

    ARRIVED = "arrived"
    STALLED = "stalled"
    COLLISION = "collision"
    NO_PATH = "no path"


@dataclass(frozen=True)
class Motion:
    """A joint motion and how it ended.

    Attributes:
        times: N [s].
        q: N x dof.
        error_m, error_rad: largest remaining distance and angle from the goals.
        reason: what stopped it, in words; empty if it arrived.
    """

    status: MotionStatus
    times: Floats
    q: Floats
    error_m: float
    error_rad: float
    reason: str = ""

    @property
    def arrived(self) -> bool:
        """Whether it reached its goal."""
        return self.status is MotionStatus.ARRIVED

    @property
    def duration(self) -> float:
        """From its first to its last point [s]."""
        return float(self.times[-1] - self.times[0])

    def then(self, other: Motion) -> Motion:
        """This motion, then the other."""
        times = np.concatenate([self.times, self.times[-1] + other.times[1:] - other.times[0]])
        q = np.concatenate([self.q, other.q[1:]])
        return Motion(other.status, times, q, other.error_m, other.error_rad, other.reason)


def drive_to(
    robot: Robot,
    goals: Sequence[tuple[FrameTask, pin.SE3]],
    q: Floats,
    *,
    limits: JointLimits,
    joints: Sequence[str] | None = None,
    posture: Floats | None = None,
    clearance: Clearance | None = None,
    margin: float = 0.0,
    tolerance_m: float = 1e-3,
    tolerance_rad: float = 1e-2,
    tolerance_posture: float = 1e-4,
    posture_weight: float = 5e-3,
    gain: float = 25.0,
    dt: float = 0.004,
    patience: float = 0.5,
    longest: float = 60.0,
) -> Motion:
    """Move frames straight to their goals, all at once, as fast as the slowest joint allows.

    The command K e is scaled down as a whole where a joint would be too fast, so once up to speed every frame keeps to
    its straight line and all arrive together. While joints gain speed, the strong ones lead: the lines bend a little.
    It ends on arrival, when the error has not shrunk for ``patience`` seconds (a stall), or on contact with something
    that ``clearance`` watches, which is asked at every third step and where it arrives.

    Args:
        joints: which may move; all by default.
        posture: joint values to end in, at which the frames must be at their goals: what the goals leave open goes
            there. Without it that stands still.
        tolerance_posture: how near to it every joint must come [rad, m].
        posture_weight: a joint's deviation from its own way to the posture counts as much as this deviation of a frame
            [m/rad, m/m]; small values leave the posture only what the goals leave open.
        margin: distance that counts as a collision [m].
    """
    still = np.full(robot.dof, np.inf)
    servo = Servo(robot, goals, dt=dt, gains=Gains(gain, gain, False), limits=limits, joints=joints)
    goal = QpSolver(damping=posture_weight)
    boundless = JointLimits(limits.lower, limits.upper, still, still).rows()
    bounded = servo.problem.limit_rows
    weights, turning = servo.problem.row_weights, np.tile([0, 0, 0, 1, 1, 1], len(servo.tasks))
    times, path = [0.0], [q.copy()]
    best, best_time = np.inf, 0.0
    for i in range(round(longest / dt) + 1):
        t = i * dt
        servo.observe(q, t)
        linear, angular = servo.errors()
        away = np.zeros(1) if posture is None else posture - q
        near = (linear.max() / tolerance_m, angular.max() / tolerance_rad, np.abs(away).max() / tolerance_posture)
        arrived = max(near) <= 1.0
        if clearance is not None and (arrived or i % 3 == 0):
            hit = clearance.collision(q, margin=margin)
            if hit is not None:
                reason = f"'{hit[0]}' meets '{hit[1]}' at t = {t:.3g} s"
                return _motion(MotionStatus.COLLISION, servo, times, path, reason)
        if arrived:
            return _motion(MotionStatus.ARRIVED, servo, times, path, "")
        size = float(sum(near))
        if size < 0.98 * best:
            best, best_time = size, t
        elif t - best_time > patience:
            return _motion(MotionStatus.STALLED, servo, times, path, _stall_reason(robot, servo, q, away))
        # First without speed limits: how much too fast would that be?
        problem = servo.problem
        problem.limit_rows = boundless
        if posture is not None:
            problem.preferred = gain * away
            # towards half a turn the shortest rotation says less and less about the way to go; the posture knows it
            problem.row_weights = weights * np.repeat(np.cos(0.5 * angular), 6) ** turning
        wanted = goal.solve(problem).qdot
        problem.limit_rows = bounded
        excess = _excess(wanted, gain, limits)
        problem.wanted /= excess
        if problem.preferred is not None:
            problem.preferred /= excess
        qdot = goal.solve(problem).qdot
        problem.qdot[:] = qdot
        q = servo.moved(q, qdot)
        times.append(t + dt)
        path.append(q)
    return _motion(MotionStatus.STALLED, servo, times, path, f"not there after {longest:g} s")


def _excess(wanted: Floats, gain: float, limits: JointLimits) -> float:
    """How many times too fast the wanted speeds are, for the speed limits and for braking in time.

    What is left to go in a joint is about its wanted speed over the gain; from there it must be able to stop, unless
    it stops at once (no limit of acceleration).
    """
    speed = np.abs(wanted)
    brakes = np.isfinite(limits.acceleration)
    in_time = np.sqrt(2.0 * np.where(brakes, limits.acceleration, 0.0) * speed / gain)
    allowed = np.minimum(limits.speed, np.where(brakes, in_time, np.inf))
    return max(1.0, float(np.max(speed / np.maximum(allowed, 1e-12))))


def _motion(status: MotionStatus, servo: Servo, times: list[float], path: list[Floats], reason: str) -> Motion:
    linear, angular = servo.errors()
    return Motion(status, np.array(times), np.array(path), float(linear.max()), float(angular.max()), reason)


def _stall_reason(robot: Robot, servo: Servo, q: Floats, away: Floats) -> str:
    linear, angular = servo.errors()
    k = int(np.argmax(linear + 0.1 * angular))
    stops = [
        name
        for name, value, lower, upper in zip(robot.joint_names, q, robot.lower, robot.upper, strict=True)
        if value <= lower + 1e-4 or value >= upper - 1e-4
    ]
    blame = f"; at their limits: {', '.join(stops)}" if stops else "; no joint is at a limit"
    posture = (
        f", joint '{robot.joint_names[int(np.argmax(np.abs(away)))]}' {np.abs(away).max():.3g}" if away.any() else ""
    )
    where = f"'{servo.tasks[k].link}' stays {1e3 * linear[k]:.3g} mm, {1e3 * angular[k]:.3g} mrad{posture} away"
    return where + blame
