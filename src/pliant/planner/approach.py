"""The arm's part: the way to the object, the lift, and times for everything.   (theory 8.7)"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from pliant.arrays import Floats
from pliant.collision import Clearance, sweeps_clear
from pliant.motion import JointLimits, plan_joint_path
from pliant.planner.context import PlanningContext
from pliant.planner.depth_search import Failure

STANDOFF = (0.12, 0.06)
"""Distances from which the open hand comes straight to the object [m]."""
CHECK = 0.04
"""Largest joint change between two collision checks [rad, m]."""
SEEDS = 3
"""Sampled paths for each way to the object: one that brushes something between two checks is no path."""
LIFT_STEP = 0.01
"""[m]"""
DENSE = 0.02
"""Largest time between two points of a smooth motion [s]: whoever plays them goes straight in between."""


@dataclass(frozen=True, eq=False)
class ArmPath:
    """A joint path in two parts: corners of straight segments, then dense points of a straight way of the palm."""

    corners: Floats
    dense: Floats

    @property
    def points(self) -> Floats:
        """All of them."""
        return np.vstack([self.corners, self.dense[1:]])


def approach_path(context: PlanningContext, q_pregrasp: Floats, T_world_palm: pin.SE3) -> ArmPath | Failure:
    """Joint path from the start to the open hand around the object.

    Arm and hand move together. Tried in this order, the shortest of the first two that are free: straight in joint
    space; to a place before the object and then straight along the approach; a sampled path (RRT-Connect).
    """
    start = context.task.q_start
    world = context.clearance_with_object(context.task.T_world_object)

    def blocked(q: Floats) -> bool:
        return world.collision(q) is not None

    if (hit := world.collision(q_pregrasp)) is not None:
        return Failure("open hand or arm hits something", 0.0, "m", f"{hit[0]} and {hit[1]}")
    candidates = []
    straight = np.array([start, q_pregrasp])
    if _free(straight, blocked):
        candidates.append(ArmPath(straight, q_pregrasp[None]))
    near = list(_near_places(context, q_pregrasp, T_world_palm, blocked))
    for last in near:
        first = np.array([start, last[0]])
        if _free(first, blocked):
            candidates.append(ArmPath(first, last))
            break
    for way in sorted(candidates, key=lambda way: path_length(context, way.points)):
        if sweeps_clear(way.points, world):
            return way
    everything = np.arange(context.robot.dof)
    for seed in range(SEEDS):
        for last in [*near, q_pregrasp[None]]:
            sampled = plan_joint_path(
                start, last[0], blocked, context.limits, joints=everything, step=CHECK, nodes=1500, seed=seed
            )
            if sampled is not None and sweeps_clear((way := ArmPath(sampled, last)).points, world):
                return way
    return Failure("no free way to the object", 0.0, "", "three ways were tried")


def _near_places(
    context: PlanningContext, q_pregrasp: Floats, T_world_palm: pin.SE3, blocked: Callable[[Floats], bool]
) -> Iterator[Floats]:
    """Straight ways along the approach direction, from a place before the object to the pre-grasp, that are free."""
    for distance in STANDOFF:
        count = max(2, round(distance / 0.01))
        path = [q_pregrasp]
        for k in range(1, count + 1):
            back = pin.SE3(np.eye(3), np.array([0.0, 0.0, -distance * k / count]))
            found = context.ik.solve(T_world_palm * back, seed=path[-1], starts=1)
            if not found.found or np.abs(found.q - path[-1]).max() > 0.3 or blocked(found.q):
                break
            path.append(found.q)
        else:
            yield np.array(path[::-1])


def lift_path(context: PlanningContext, q: Floats, T_world_palm: pin.SE3, height: float) -> Floats | Failure:
    """Joints along a straight way up; the hand's joints stay."""
    count = max(1, int(np.ceil(height / LIFT_STEP)))
    path = [q]
    if height <= 0.0:
        return np.array(path)
    for k in range(1, count + 1):
        up = np.array([0.0, 0.0, height * k / count])
        T = pin.SE3(T_world_palm.rotation, T_world_palm.translation + up)
        found = context.ik.solve(T, seed=path[-1], starts=1)
        if not found.found or np.abs(found.q - path[-1]).max() > 0.5:
            return Failure("arm cannot lift so high", height * (1.0 - (k - 1) / count), "m", "missing height")
        if (hit := context.surroundings.collision(found.q)) is not None:
            return Failure("hits something while lifting", 0.0, "m", f"{hit[0]} and {hit[1]}")
        path.append(found.q)
    return np.array(path)


def path_length(context: PlanningContext, path: Floats) -> float:
    """Length of the arm's part of a joint path [rad, m]."""
    arm = path[:, context.assembly.arm_joints]
    return float(np.linalg.norm(np.diff(arm, axis=0), axis=1).sum())


@dataclass(frozen=True, eq=False)
class SmoothMotion:
    """A dense path in time, at rest at both ends: s = t/T - sin(2 pi t/T) / (2 pi).

    Attributes:
        knots: times of the path's points [s].
        times: times of all points, the knots among them, never further apart than ``DENSE`` [s].
        places: where along the path these are: 0 at its first point, n - 1 at its last.
    """

    knots: Floats
    times: Floats
    places: Floats

    def along(self, path: Floats) -> Floats:
        """The path (n x k) at all times: a cubic spline through its points."""
        if len(path) < 3:
            i = np.clip(self.places.astype(int), 0, max(len(path) - 2, 0))
            share = (self.places - i)[:, None]
            return np.asarray(path[i] + share * (path[np.minimum(i + 1, len(path) - 1)] - path[i]))
        return np.asarray(CubicSpline(np.arange(len(path)), path)(self.places))

    def poses(self, poses: Sequence[pin.SE3]) -> list[pin.SE3]:
        """The same for poses, with angular speed and acceleration continuous; turns of any size."""
        turns = RotationSpline(np.arange(len(poses)), Rotation.from_matrix([T.rotation for T in poses]))(self.places)
        places = self.along(np.array([T.translation for T in poses]))
        return [pin.SE3(R, p) for R, p in zip(turns.as_matrix(), places, strict=True)]


def smooth_motion(
    path: Floats,
    limits: JointLimits,
    *,
    least: float = 0.2,
    carried: Floats | None = None,
    acceleration: float = np.inf,
) -> SmoothMotion:
    """Times for a dense path (n x joints) within speed and acceleration limits.

    Args:
        least: shortest duration [s].
        carried: n x k x 3 places of points that may not be accelerated by more than ``acceleration`` [m, m/s^2].
    """
    n = len(path)
    if n < 2:
        return SmoothMotion(np.zeros(n), np.zeros(n), np.zeros(n))
    way, bend = _rates(path)
    # the path parameter's speed is at most 2/T, its acceleration 2 pi/T^2
    duration = max(
        least,
        float(np.max(2.0 * way / limits.speed)),
        float(np.max(np.sqrt((2.0 * np.pi * way + 4.0 * bend) / limits.acceleration))),
    )
    if carried is not None:
        way, bend = _rates(carried.reshape(n, -1))
        push = np.linalg.norm((2.0 * np.pi * way + 4.0 * bend).reshape(-1, 3), axis=1)
        duration = max(duration, float(np.sqrt(push.max() / acceleration)))
    tau = np.linspace(0.0, 1.0, 4001)
    law = tau - np.sin(2.0 * np.pi * tau) / (2.0 * np.pi)
    knots = np.interp(np.linspace(0.0, 1.0, n), law, tau) * duration
    even = np.linspace(0.0, duration, int(np.ceil(1.25 * duration / DENSE)) + 1)
    apart = np.abs(even[:, None] - knots[None, :]).min(axis=1) > 0.2 * DENSE
    times = np.sort(np.concatenate([knots, even[apart]]))
    return SmoothMotion(knots, times, np.interp(times, tau * duration, law * (n - 1)))


def _rates(path: Floats) -> tuple[Floats, Floats]:
    """Largest first and second derivative of a path by its parameter (0 to 1), component by component."""
    n = len(path)
    first = np.diff(path, axis=0) * (n - 1)
    second = np.diff(first, axis=0) * (n - 1) if n > 2 else np.zeros((1, path.shape[1]))
    return np.abs(first).max(axis=0), np.abs(second).max(axis=0)


def _free(path: Floats, blocked: Callable[[Floats], bool]) -> bool:
    for a, b in pairwise(path):
        count = max(1, int(np.ceil(np.abs(b - a).max() / CHECK)))
        # coarse first: most collisions are found with few checks
        for stride in (8, 1):
            for i in range(stride, count + 1, stride):
                if (stride == 8 or i % 8) and blocked(a + (b - a) * (i / count)):
                    return False
    return True


def free_along(path: Floats, clearance: Clearance) -> bool:
    """Whether nothing collides anywhere on straight segments between the points."""
    return _free(path, lambda q: clearance.collision(q) is not None)
