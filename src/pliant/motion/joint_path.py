"""Collision-free joint paths: two trees that grow towards each other, then short cuts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.errors import OptionError, Problem
from pliant.motion.limits import JointLimits


def plan_joint_path(
    start: Floats,
    goal: Floats,
    blocked: Callable[[Floats], bool],
    limits: JointLimits,
    *,
    joints: Ints,
    step: float = 0.05,
    nodes: int = 3000,
    seed: int = 0,
) -> Floats | None:
    """Corners of a path from ``start`` to ``goal`` along which ``blocked`` is False, or None if none was found.

    Bidirectional rapidly exploring trees (RRT-Connect, Kuffner and LaValle 2000), random but repeatable. Only
    ``joints`` move; the others keep the values of ``start``.

    Args:
        step: how far apart checks are, in the largest joint change [rad, m].
        nodes: at most so many nodes in both trees together.
    """
    begin, end = start[joints], goal[joints]

    def free(x: Floats) -> bool:
        q = start.copy()
        q[joints] = x
        return not blocked(q)

    if not (free(begin) and free(end)):
        return None
    rng = np.random.default_rng(seed)
    low = np.where(np.isfinite(limits.lower[joints]), limits.lower[joints], np.minimum(begin, end) - np.pi)
    high = np.where(np.isfinite(limits.upper[joints]), limits.upper[joints], np.maximum(begin, end) + np.pi)
    corners = (
        [begin, end] if _clear(begin, end, free, step) else _connect(begin, end, free, rng, low, high, step, nodes)
    )
    if corners is None:
        return None
    shortened = _shortened(corners, free, rng, step)
    path = np.tile(start, (len(shortened), 1))
    path[:, joints] = shortened
    return path


def time_path(corners: Floats, limits: JointLimits, *, dt: float = 0.01) -> tuple[Floats, Floats]:
    """Times and joint values along straight segments, as fast as the limits allow, at rest at each corner.

    All joints of a segment share one trapezoidal profile s(t): ramp up with min a_i / d_i, at most min v_i / d_i,
    ramp down.

    Raises:
        OptionError: none of the joints that move has a limit: nothing says how long it takes.
    """
    times, path = [np.zeros(1)], [corners[:1]]
    for a, b in pairwise(corners):
        distance = np.abs(b - a)
        moved = distance > 0.0
        if not moved.any():
            continue
        v = float(np.min(limits.speed[moved] / distance[moved]))
        acceleration = float(np.min(limits.acceleration[moved] / distance[moved]))
        v = min(v, float(np.sqrt(acceleration)))  # a short segment is over before full speed is reached
        if np.isinf(v):
            what = f"joints {np.flatnonzero(moved).tolist()} have neither a speed nor an acceleration limit"
            raise OptionError("joint path", Problem("limits", what, "give velocities in the URDF"))
        ramp = 0.0 if np.isinf(acceleration) else v / acceleration
        duration = 1.0 / v + ramp
        t = np.linspace(0.0, duration, max(2, int(np.ceil(duration / dt)) + 1))[1:]
        rest = duration - t
        s = np.where(t < ramp, 0.5 * acceleration * t**2 if ramp else t, v * (t - 0.5 * ramp))
        s = np.where(rest < ramp, 1.0 - 0.5 * acceleration * rest**2 if ramp else s, s)
        times.append(times[-1][-1] + t)
        path.append(a + s[:, None] * (b - a))
    return np.concatenate(times), np.concatenate(path)


def _clear(a: Floats, b: Floats, free: Callable[[Floats], bool], step: float) -> bool:
    count = int(np.ceil(np.max(np.abs(b - a)) / step))
    return all(free(a + (b - a) * (i / count)) for i in range(1, count + 1))


class _SearchTree:
    def __init__(self, root: Floats) -> None:
        self.points, self.parents = [root], [-1]

    def nearest(self, x: Floats) -> int:
        return int(np.argmin(np.sum((np.array(self.points) - x) ** 2, axis=1)))

    def grow(self, x: Floats, free: Callable[[Floats], bool], step: float) -> int:
        """Walk from the nearest node towards x until something blocks it; the last node."""
        i = self.nearest(x)
        while True:
            here = self.points[i]
            towards = x - here
            size = float(np.max(np.abs(towards)))
            if size < 1e-9:
                return i
            there = x if size <= 2.0 * step else here + towards * (2.0 * step / size)
            if not _clear(here, there, free, step):
                return i
            self.points.append(there)
            self.parents.append(i)
            i = len(self.points) - 1

    def branch(self, i: int) -> list[Floats]:
        points = []
        while i >= 0:
            points.append(self.points[i])
            i = self.parents[i]
        return points


def _connect(
    begin: Floats,
    end: Floats,
    free: Callable[[Floats], bool],
    rng: np.random.Generator,
    low: Floats,
    high: Floats,
    step: float,
    nodes: int,
) -> list[Floats] | None:
    first, second = _SearchTree(begin), _SearchTree(end)
    swapped = False
    while len(first.points) + len(second.points) < nodes:
        sample = rng.uniform(low, high)
        # One step towards the sample, then from the other tree until it arrives or is blocked.
        i = first.nearest(sample)
        towards = sample - first.points[i]
        reach = first.points[i] + towards * min(1.0, 6.0 * step / float(np.max(np.abs(towards))))
        i = first.grow(reach, free, step)
        j = second.grow(first.points[i], free, step)
        if np.max(np.abs(second.points[j] - first.points[i])) < 1e-9:
            forward = first.branch(i)[::-1] + second.branch(j)[1:]
            return forward[::-1] if swapped else forward
        first, second, swapped = second, first, not swapped
        if len(first.points) > len(second.points):
            first, second, swapped = second, first, not swapped
    return None


def _shortened(
    corners: list[Floats], free: Callable[[Floats], bool], rng: np.random.Generator, step: float, tries: int = 150
) -> Floats:
    """Cut corners at random wherever the straight line is free."""
    path = list(corners)
    for _ in range(tries):
        if len(path) < 3:
            break
        i, j = sorted(rng.choice(len(path), size=2, replace=False).tolist())
        if j - i > 1 and _clear(path[i], path[j], free, step):
            del path[i + 1 : j]
    return np.array(path)
