"""Pose paths: where a frame should be at time t, and how fast it should move there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem
from pliant.motion.poses import FARTHEST, check_pose


@runtime_checkable
class Path(Protocol):
    """U(t) and Udot(t).   (theory 5.3)

    ``at`` gives the pose and the twist (linear first) of the frame's origin in the axes in which the pose is given.
    Paths start at t = 0 and end at ``duration`` (infinite if they never do); beyond, they rest at the end.
    """

    @property
    def duration(self) -> float:
        """When the path ends [s]; infinite if it never does."""
        ...

    def at(self, t: float) -> tuple[pin.SE3, Floats]:
        """Pose and twist (linear first) at a time [s]."""
        ...


class Hold:
    """Stay at one pose."""

    duration = math.inf

    def __init__(self, T: pin.SE3, *, where: str = "target") -> None:
        check_pose(T, where=where)
        self.T = pin.SE3(T)

    def at(self, t: float) -> tuple[pin.SE3, Floats]:
        return self.T, np.zeros(6)


class Circle:
    """Travel round an axis at constant speed, for ever.

    Args:
        T_start: pose at t = 0.
        centre: a point on the axis.
        axis: direction of the axis; counter-clockwise seen from its tip.
        period: time of one turn [s].
        turning: whether the frame turns with the motion; otherwise it keeps its orientation.
    """

    duration = math.inf

    def __init__(
        self, T_start: pin.SE3, *, centre: ArrayLike, axis: ArrayLike, period: float, turning: bool = False
    ) -> None:
        check_pose(T_start, where="circle start")
        self.T_start, self.centre = pin.SE3(T_start), _vector(centre, "circle centre")
        self.axis = _direction(axis, "circle axis")
        self.rate = 2.0 * math.pi / _positive(period, "circle period")
        self.turning = turning
        self.arm = self.T_start.translation - self.centre

    def at(self, t: float) -> tuple[pin.SE3, Floats]:
        turn = pin.exp3(self.axis * (self.rate * t))
        arm = turn @ self.arm
        omega = self.rate * self.axis
        R = turn @ self.T_start.rotation if self.turning else self.T_start.rotation
        twist = np.concatenate([_cross(omega, arm), omega if self.turning else np.zeros(3)])
        return pin.SE3(R, self.centre + arm), twist


class FigureEight:
    """p = p0 + a sin(wt) + b sin(2wt), the frame tilting by c sin(wt), for ever.

    Args:
        T_start: pose at the crossing.
        along, across: half-extents a, b of the eight, as vectors [m].
        tilt: rotation vector c in the same axes [rad].
        period: time of one eight [s].
    """

    duration = math.inf

    def __init__(
        self, T_start: pin.SE3, *, along: ArrayLike, across: ArrayLike, period: float, tilt: ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        check_pose(T_start, where="eight start")
        self.T_start = pin.SE3(T_start)
        self.along, self.across = _vector(along, "eight along"), _vector(across, "eight across")
        self.tilt = _vector(tilt, "eight tilt")
        self.rate = 2.0 * math.pi / _positive(period, "eight period")

    def at(self, t: float) -> tuple[pin.SE3, Floats]:
        w = self.rate
        s, c = math.sin(w * t), math.cos(w * t)
        p = self.T_start.translation + self.along * s + self.across * math.sin(2.0 * w * t)
        v = w * (self.along * c + 2.0 * self.across * math.cos(2.0 * w * t))
        # The tilt turns about a fixed axis, so its rate is its angular velocity.
        return pin.SE3(pin.exp3(self.tilt * s) @ self.T_start.rotation, p), np.concatenate([v, w * c * self.tilt])


class Waypoints:
    """Smoothly through given poses at given times, at rest at both ends.

    Positions by a cubic spline, orientations by a rotation spline; both have continuous acceleration.

    Args:
        times: increasing, the first is the start [s].
        poses: as many.
        max_speed, max_turn_rate: a step that needs more is a jump, and refused [m/s, rad/s].
    """

    def __init__(
        self, times: Sequence[float], poses: Sequence[pin.SE3], *, max_speed: float = 5.0, max_turn_rate: float = 20.0
    ) -> None:
        from scipy.interpolate import CubicSpline
        from scipy.spatial.transform import Rotation, RotationSpline

        t = np.asarray(times, dtype=np.float64)
        if len(t) != len(poses) or len(t) < 2:
            raise OptionError("path", Problem("", f"{len(t)} times, {len(poses)} poses", "as many, at least two"))
        for i, T in enumerate(poses):
            check_pose(T, where=f"points[{i}]")
        _refuse_jumps(t, poses, max_speed, max_turn_rate)
        self._start, self.duration = float(t[0]), float(t[-1] - t[0])
        still = np.zeros(3)
        self._p = CubicSpline(t, [T.translation for T in poses], bc_type=((1, still), (1, still)))
        # Doubled at both ends, so that the orientation starts and stops at rest as well.
        rests = 1e-5 * self.duration
        ends = np.concatenate([[t[0] - 2 * rests, t[0] - rests], t, [t[-1] + rests, t[-1] + 2 * rests]])
        R = [T.rotation for T in poses]
        spline = RotationSpline(ends, Rotation.from_matrix(np.array([R[0], R[0], *R, R[-1], R[-1]])))
        # Calling the spline builds Rotation objects; its pieces R_i exp(rho(t)) are much quicker to evaluate.
        self._knots, self._R, self._rho = ends, spline.rotations.as_matrix(), spline.interpolator

    def at(self, t: float) -> tuple[pin.SE3, Floats]:
        s = self._start + min(max(t, 0.0), self.duration)
        i = min(max(int(np.searchsorted(self._knots, s, side="right")) - 1, 0), len(self._R) - 1)
        rho = self._rho(s)
        R = self._R[i] @ pin.exp3(rho)
        if not 0.0 <= t <= self.duration:
            return pin.SE3(R, self._p(s)), np.zeros(6)
        omega = R @ (pin.Jexp3(rho) @ self._rho(s, 1))
        return pin.SE3(R, self._p(s)), np.concatenate([self._p(s, 1), omega])


class PathFunction:
    """Any function of time; its twist by differences where it is not given.

    Args:
        pose: T(t), asked from 0 to ``duration`` only.
        duration: [s].
        twist: (v, w)(t), in the axes of the pose.
    """

    def __init__(
        self,
        pose: Callable[[float], pin.SE3],
        *,
        duration: float = math.inf,
        twist: Callable[[float], Floats] | None = None,
    ) -> None:
        self._pose, self._twist, self.duration = pose, twist, duration

    def at(self, t: float) -> tuple[pin.SE3, Floats]:
        s = min(max(t, 0.0), self.duration)
        T = self._pose(s)
        if s != t:
            return T, np.zeros(6)
        if self._twist is not None:
            return T, np.asarray(self._twist(t), dtype=np.float64)
        if self.duration == 0.0:
            return T, np.zeros(6)
        begin, end = max(t - 1e-4, 0.0), min(t + 1e-4, self.duration)
        before, after = self._pose(begin), self._pose(end)
        moved = np.concatenate([after.translation - before.translation, pin.log3(after.rotation @ before.rotation.T)])
        return T, moved / (end - begin)


class Eased:
    """A path that is entered from rest: its clock gains speed smoothly over ``ramp`` seconds.

    s(t) = ramp (u^3 - u^4 / 2), u = t / ramp, then t - ramp / 2.
    """

    def __init__(self, path: Path, ramp: float) -> None:
        self._path, self._ramp = path, _positive(ramp, "ramp")
        self.duration = path.duration + 0.5 * ramp

    def at(self, t: float) -> tuple[pin.SE3, Floats]:
        u = t / self._ramp
        if u >= 1.0:
            return self._path.at(t - 0.5 * self._ramp)
        u = max(u, 0.0)
        T, twist = self._path.at(self._ramp * (u**3 - 0.5 * u**4))
        return T, (3.0 * u**2 - 2.0 * u**3) * twist


class Carried:
    """A path given in a moving frame (a conveyor, a camera, a turntable), seen from the world.   (theory 5.5)

    The frame's own twist is added: v = v_F + w_F x (p - p_F) + R_F v', w = w_F + R_F w'. Where the path ends first, it
    rests in the moving frame and is carried on.

    Args:
        path: in the moving frame.
        frame: the moving frame's own path in the world.
    """

    def __init__(self, path: Path, frame: Path) -> None:
        self._path, self._frame = path, frame
        self.duration = min(path.duration, frame.duration)

    def at(self, t: float) -> tuple[pin.SE3, Floats]:
        T_world_frame, V = self._frame.at(t)
        T_frame_target, U = self._path.at(t)
        R = T_world_frame.rotation
        arm = R @ T_frame_target.translation
        v = V[:3] + _cross(V[3:], arm) + R @ U[:3]
        return T_world_frame * T_frame_target, np.concatenate([v, V[3:] + R @ U[3:]])


def check_continuity(path: Path, dt: float, *, duration: float | None = None, where: str = "path") -> None:
    """Refuse a path that jumps, or whose twist does not belong to its poses, naming the time and the size.

    Between two samples the pose may differ from what the mean twist accounts for by a tenth of the motion plus 0.1 mm
    and 0.1 mrad: a smooth path at a servo's rate is far below that.
    """
    end = duration if duration is not None else path.duration
    if not math.isfinite(end):
        raise OptionError(where, Problem("duration", "the path never ends", "say how much of it is meant"))
    T0, U0 = path.at(0.0)
    check_pose(T0, where=f"{where} at t = 0")
    _check_twist(U0, where, 0.0)
    for t in np.arange(dt, end + 0.5 * dt, dt):
        T1, U1 = path.at(float(t))
        check_pose(T1, where=f"{where} at t = {t:.6g} s")
        _check_twist(U1, where, float(t))
        mean = 0.5 * dt * (U0 + U1)
        moved = np.concatenate([T1.translation - T0.translation, pin.log3(T1.rotation @ T0.rotation.T)])
        for part, unit in ((slice(0, 3), "m"), (slice(3, 6), "rad")):
            surplus = float(np.linalg.norm(moved[part] - mean[part]))
            if surplus > 1e-4 + 0.1 * float(np.linalg.norm(mean[part])):
                size, expected = float(np.linalg.norm(moved[part])), float(np.linalg.norm(mean[part]))
                what = f"jumps at t = {t - dt:.6g} s: within {dt:.4g} s it moves by {size:.4g} {unit}"
                allowed = f"its twist there accounts for {expected:.4g} {unit}; make it continuous"
                raise OptionError(where, Problem("", what, allowed))
        T0, U0 = T1, U1


def _check_twist(U: Floats, where: str, t: float) -> None:
    fastest = float(np.abs(U).max())
    if not fastest <= FARTHEST:
        what = f"moves with {fastest:.3g} m/s or rad/s at t = {t:.6g} s"
        raise OptionError(where, Problem("", what, f"at most {FARTHEST:g}"))


def _refuse_jumps(t: Floats, poses: Sequence[pin.SE3], max_speed: float, max_turn_rate: float) -> None:
    problems = []
    for i in range(1, len(t)):
        step = t[i] - t[i - 1]
        if not step > 0.0:
            problems.append(
                Problem(f"points[{i}]", f"time {t[i]:g} s does not come after {t[i - 1]:g} s", "increasing times")
            )
            continue
        distance = float(np.linalg.norm(poses[i].translation - poses[i - 1].translation))
        turn = float(np.linalg.norm(pin.log3(poses[i - 1].rotation.T @ poses[i].rotation)))
        for size, unit, limit in ((distance, "m", max_speed), (turn, "rad", max_turn_rate)):
            if size > limit * step:
                what = f"jumps by {size:.4g} {unit} in {step:.4g} s ({size / step:.4g} {unit}/s)"
                problems.append(Problem(f"points[{i}]", what, f"at most {limit:g} {unit}/s"))
    if problems:
        raise OptionError("path", problems)


def _cross(a: Floats, b: Floats) -> Floats:
    """a x b; numpy's own takes ten times as long on three numbers."""
    ax, ay, az = a.tolist()
    bx, by, bz = b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def _vector(value: ArrayLike, where: str) -> Floats:
    vector = np.asarray(value, dtype=np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise OptionError("path", Problem(where, f"{value!r}", "three finite numbers"))
    return vector


def _direction(value: ArrayLike, where: str) -> Floats:
    vector = _vector(value, where)
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        raise OptionError("path", Problem(where, "has no direction", "a vector that is not zero"))
    return np.asarray(vector / length)


def _positive(value: float, where: str) -> float:
    if not (math.isfinite(value) and value > 0.0):
        raise OptionError("path", Problem(where, f"{value}", "a finite number above zero"))
    return float(value)
