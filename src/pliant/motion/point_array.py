"""Point arrays: a path as joint points between which a controller may interpolate on straight lines."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem
from pliant.motion.frame_task import FrameTask
from pliant.motion.limits import JointLimits
from pliant.motion.path import Hold, Path, check_continuity
from pliant.motion.solvers.qp import QpSolver
from pliant.motion.split import make_servo
from pliant.motion.tracking import Gains
from pliant.robot import Robot

Targets = Sequence[tuple[FrameTask, Path | pin.SE3]]

MAX_POINTS = 100_000


class PathStatus(Enum):
    """How following a path ended."""

    FOLLOWED = "followed"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class Shortfall:
    """Where a path is out of reach, and by how much.

    Attributes:
        first_time, worst_time: where it begins, where it is largest [s].
        link: whose frame falls short most.
        error_m, error_rad: by how much at the worst.
        joints: joints at their limits there.
    """

    first_time: float
    worst_time: float
    link: str
    error_m: float
    error_rad: float
    joints: tuple[str, ...]

    def __str__(self) -> str:
        blame = f" (at their limits: {', '.join(self.joints)})" if self.joints else ""
        return (
            f"'{self.link}' cannot follow from t = {self.first_time:.4g} s on; worst at t = {self.worst_time:.4g} s: "
            f"{1e3 * self.error_m:.4g} mm, {1e3 * self.error_rad:.4g} mrad short{blame}"
        )


@dataclass(frozen=True)
class PointArray:
    """Joint points along a path.   (theory 5.4)

    Attributes:
        status: whether every point lies on the path.
        times: N [s].
        q: N x dof.
        tracking_m, tracking_rad: largest error of the servo on the path, before the points were cleaned.
        point_m, point_rad: largest error left at the points.
        interpolation_m, interpolation_rad: largest deviation between points under straight joint interpolation.
        inserted: points that refinement added.
        shortfall: what is out of reach, if anything.
        step_us: CPU time of one servo step [us].
    """

    status: PathStatus
    times: Floats
    q: Floats
    tracking_m: float
    tracking_rad: float
    point_m: float
    point_rad: float
    interpolation_m: float
    interpolation_rad: float
    inserted: int
    shortfall: Shortfall | None
    step_us: float

    def at(self, t: float) -> Floats:
        """Straight joint interpolation, as the receiving controller does it."""
        return np.array([np.interp(t, self.times, column) for column in self.q.T])


class Stabiliser:
    """Brings frames onto their setpoints at one frozen moment: the servo without a clock.

    The gain is one per step, so each step is a Gauss-Newton step within the joint limits.

    Args:
        options: ``joints``, ``joint_weights`` and ``split`` as for `make_servo`.
    """

    def __init__(self, robot: Robot, targets: Targets, **options: Any) -> None:
        n = robot.dof
        limits = JointLimits(robot.lower, robot.upper, np.full(n, np.inf), np.full(n, np.inf))
        once = Gains(1.0, 1.0, feed_forward=False)
        self.servo = make_servo(
            robot, targets, dt=1.0, solver=QpSolver(damping=1e-4), gains=once, limits=limits, **options
        )

    def settle(self, q: Floats, t: float, *, iterations: int = 30, tolerance: float = 1e-10) -> Floats:
        """The nearest joint values that reach the setpoints of time ``t``, or as near as they come."""
        best, least = q, math.inf
        for _ in range(iterations):
            self.servo.step(q, t)
            step = self.servo.speeds
            size = float(np.abs(self.servo.counted_error()).max())
            if size < least:
                best, least = q, size
            if size < tolerance or np.abs(step).max() < 1e-12:
                break
            # One radian at most: beyond that the linear model says nothing.
            q = self.servo.moved(q, step * min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12)))
        return best

    def errors(self, q: Floats, t: float) -> tuple[Floats, Floats]:
        """Distance and angle of each frame from its setpoint."""
        self.servo.observe(q, t)
        return self.servo.errors()


def record_points(
    robot: Robot,
    targets: Targets,
    q_start: Floats,
    *,
    duration: float,
    every: float = 0.05,
    by: str = "time",
    tolerance_m: float | None = None,
    tolerance_rad: float | None = None,
    reach_m: float = 1e-5,
    reach_rad: float = 1e-5,
    dt: float = 0.002,
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> PointArray:
    """Run the servo along the paths and record joint points.   (theory 5.4)

    A path that jumps is refused. One that leads out of reach is followed as far as possible, and the answer says so.

    Args:
        q_start: where to look for the start of the path; it is brought onto it first.
        duration: how much of the paths [s].
        every: spacing of the points: seconds, or metres that the fastest frame travels.
        by: ``time`` or ``distance``.
        tolerance_m, tolerance_rad: insert points until straight interpolation deviates by less; None: as recorded.
        reach_m, reach_rad: a point further than this from its path counts as not reached.
        progress: called with the fraction done.
        options: of `make_servo`.
    """
    if by not in ("time", "distance"):
        raise OptionError("points", Problem("by", f"'{by}'", "time or distance"))
    for name, value in (("every", every), ("duration", duration)):
        if not (math.isfinite(value) and value > 0.0):
            raise OptionError("points", Problem(name, f"{value}", "a finite number above zero"))
    for name, tolerance in (("tolerance_m", tolerance_m), ("tolerance_rad", tolerance_rad)):
        if tolerance is not None and not tolerance > 0.0:
            raise OptionError("points", Problem(name, f"{tolerance}", "above zero, or None: no points are inserted"))
    for task, target in targets:
        if not isinstance(target, pin.SE3 | Hold):
            check_continuity(target, dt, duration=duration, where=f"path of '{task.link}'")
    tell = progress if progress is not None else lambda _: None
    shared = {name: options[name] for name in ("joints", "joint_weights", "split") if name in options}
    stabiliser = Stabiliser(robot, targets, **shared)
    run = _record(robot, targets, stabiliser.settle(robot.q(q_start), 0.0), duration, every, by, dt, tell, options)
    times = run.times
    q = []
    for i, (t, raw) in enumerate(zip(times, run.q, strict=True)):
        q.append(stabiliser.settle(raw, t))
        tell(0.6 + 0.2 * i / len(times))
    recorded = len(times)
    deviations = [_between(stabiliser, times, q, i) for i in range(len(times) - 1)]
    most_m, most_rad = (math.inf if most is None else most for most in (tolerance_m, tolerance_rad))
    _refine(stabiliser, times, q, deviations, most_m, most_rad)
    tell(1.0)
    left = np.array([[e.max() for e in stabiliser.errors(qi, t)] for t, qi in zip(times, q, strict=True)])
    shortfall = _shortfall(robot, stabiliser, times, q, left, reach_m, reach_rad)
    worst = np.max(deviations, axis=0) if deviations else np.zeros(2)
    return PointArray(
        status=PathStatus.FOLLOWED if shortfall is None else PathStatus.NOT_REACHED,
        times=np.array(times),
        q=np.array(q),
        tracking_m=run.error_m,
        tracking_rad=run.error_rad,
        point_m=float(left[:, 0].max()),
        point_rad=float(left[:, 1].max()),
        interpolation_m=float(worst[0]),
        interpolation_rad=float(worst[1]),
        inserted=len(times) - recorded,
        shortfall=shortfall,
        step_us=run.step_us,
    )


@dataclass(frozen=True)
class _Recording:
    times: list[float]
    q: list[Floats]
    error_m: float
    error_rad: float
    step_us: float


def _record(
    robot: Robot,
    targets: Targets,
    q: Floats,
    duration: float,
    every: float,
    by: str,
    dt: float,
    tell: Callable[[float], None],
    options: dict[str, Any],
) -> _Recording:
    """The servo along the paths, recorded every so often, the end included."""
    servo = make_servo(robot, targets, dt=dt, **options)
    steps = round(duration / dt)
    if steps < 1:
        raise OptionError("points", Problem("duration", f"{duration} s", f"at least one step of {dt} s"))
    times, points, travelled = [0.0], [q], 0.0
    largest = np.zeros(2)
    spent = 0.0
    positions = None
    for i in range(steps + 1):
        t = i * dt
        began = time.process_time()
        qdot = servo.step(q, t)
        spent += time.process_time() - began
        linear, angular = servo.errors()
        largest = np.maximum(largest, (linear.max(), angular.max()))
        now = servo.setpoint_positions.copy()
        travelled += 0.0 if positions is None else float(np.linalg.norm(now - positions, axis=1).max())
        positions = now
        due = t - times[-1] >= every - 0.5 * dt if by == "time" else travelled >= every
        if i > 0 and (due or i == steps):
            times.append(t)
            points.append(q)
            travelled = 0.0
        q = q + qdot * dt
        if i % 200 == 0:
            tell(0.6 * i / steps)
    return _Recording(times, points, float(largest[0]), float(largest[1]), 1e6 * spent / (steps + 1))


def _between(stabiliser: Stabiliser, times: list[float], q: list[Floats], i: int) -> tuple[float, float]:
    """Largest deviation on the segment from point i, where the frames should be at the same time."""
    worst_m = worst_rad = 0.0
    for s in (0.25, 0.5, 0.75):
        linear, angular = stabiliser.errors((1.0 - s) * q[i] + s * q[i + 1], (1.0 - s) * times[i] + s * times[i + 1])
        worst_m, worst_rad = max(worst_m, float(linear.max())), max(worst_rad, float(angular.max()))
    return worst_m, worst_rad


def _refine(
    stabiliser: Stabiliser,
    times: list[float],
    q: list[Floats],
    deviations: list[tuple[float, float]],
    tolerance_m: float,
    tolerance_rad: float,
) -> None:
    """Halve segments that deviate too much, in place. Where the path is out of reach halving does not help: it ends."""
    shortest = 1e-6
    i = 0
    while i < len(deviations):
        deviation_m, deviation_rad = deviations[i]
        if deviation_m <= tolerance_m and deviation_rad <= tolerance_rad:
            i += 1
            continue
        t = 0.5 * (times[i] + times[i + 1])
        middle = stabiliser.settle(0.5 * (q[i] + q[i + 1]), t)
        left_m, left_rad = (float(e.max()) for e in stabiliser.errors(middle, t))
        if left_m > tolerance_m or left_rad > tolerance_rad or t - times[i] < shortest or len(times) >= MAX_POINTS:
            i += 1
            continue
        times.insert(i + 1, t)
        q.insert(i + 1, middle)
        deviations[i : i + 1] = [_between(stabiliser, times, q, i), _between(stabiliser, times, q, i + 1)]


def _shortfall(
    robot: Robot,
    stabiliser: Stabiliser,
    times: list[float],
    q: list[Floats],
    left: Floats,
    reach_m: float,
    reach_rad: float,
) -> Shortfall | None:
    short = np.flatnonzero((left[:, 0] > reach_m) | (left[:, 1] > reach_rad))
    if not len(short):
        return None
    worst = int(short[np.argmax(np.maximum(left[short, 0] / reach_m, left[short, 1] / reach_rad))])
    linear, angular = stabiliser.errors(q[worst], times[worst])
    k = int(np.argmax(np.maximum(linear / reach_m, angular / reach_rad)))
    link = stabiliser.servo.tasks[k].link
    at_limit = (q[worst] <= robot.lower + 1e-6) | (q[worst] >= robot.upper - 1e-6)
    at_limit &= robot.joints_moving(link)
    return Shortfall(
        first_time=times[int(short[0])],
        worst_time=times[worst],
        link=link,
        error_m=float(linear[k]),
        error_rad=float(angular[k]),
        joints=tuple(np.array(robot.joint_names)[at_limit].tolist()),
    )
