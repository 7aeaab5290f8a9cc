"""Motions in time: through their points, within limits, and calm where something is carried."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from pliant.motion import JointLimits
from pliant.planner.trajectory import DENSE, FOLLOWED, _followed, smooth_motion


def limits(joints: int) -> JointLimits:
    big = np.full(joints, 100.0)
    return JointLimits(lower=-big, upper=big, speed=np.full(joints, 2.0), acceleration=np.full(joints, 10.0))


def path(points: int = 9) -> np.ndarray:
    s = np.linspace(0.0, 1.0, points)
    return np.column_stack([np.sin(2.0 * s), s**2])


def test_a_motion_passes_through_its_points_and_is_dense() -> None:
    motion = smooth_motion(path(), limits(2))
    q = motion.along(path())
    at = [int(np.argmin(np.abs(motion.times - knot))) for knot in motion.knots]
    assert np.abs(motion.times[at] - motion.knots).max() < 1e-9
    assert np.abs(q[at] - path()).max() < 1e-6
    assert np.diff(motion.times).min() > 0.0
    assert np.diff(motion.times).max() <= DENSE + 1e-9


def test_joint_speed_and_acceleration_stay_within_their_limits() -> None:
    motion = smooth_motion(path(), limits(2))
    t = np.linspace(0.0, motion.times[-1], 2000)
    q = np.column_stack([np.interp(t, motion.times, column) for column in motion.along(path()).T])
    speed = np.diff(q, axis=0) / np.diff(t)[:, None]
    assert np.abs(speed).max() <= 2.0
    knots = motion.times
    rates = np.diff(motion.along(path()), axis=0) / np.diff(knots)[:, None]
    change = np.diff(rates, axis=0) / (0.5 * (knots[2:] - knots[:-2]))[:, None]
    assert np.abs(change).max() <= 10.0 * 1.1


@pytest.mark.parametrize("most", [0.1, 0.25, 1.0])
def test_what_is_carried_is_accelerated_no_more_than_allowed(most: float) -> None:
    lift = np.linspace(0.0, 0.05, 6)
    carried = np.zeros((6, 1, 3))
    carried[:, 0, 2] = lift
    motion = smooth_motion(np.zeros((6, 2)), limits(2), carried=carried, acceleration=most)
    # the law s = t/T - sin(2 pi t/T) / 2 pi has 2 pi / T^2 as its largest acceleration
    assert motion.times[-1] == pytest.approx(np.sqrt(2.0 * np.pi * 0.05 / most), rel=1e-6)
    z = motion.along(lift[:, None])[:, 0]
    rates = np.diff(z) / np.diff(motion.times)
    change = np.abs(np.diff(rates)) / (0.5 * (motion.times[2:] - motion.times[:-2]))
    assert 0.8 * most < change.max() <= 1.05 * most


def test_poses_turn_the_whole_way_and_meet_the_given_ones() -> None:
    poses = [pin.SE3(pin.exp3(np.array([0.0, 0.0, angle])), np.array([angle, 0.0, 0.0])) for angle in (0, 0.2, 0.5, 1)]
    motion = smooth_motion(np.zeros((4, 1)), limits(1), least=1.0)
    found = motion.poses(poses)
    for knot, pose in zip(motion.knots, poses, strict=True):
        T = found[int(np.argmin(np.abs(motion.times - knot)))]
        assert np.linalg.norm(pin.log6(T.actInv(pose)).vector) < 1e-9


def test_a_turn_beyond_half_a_circle_goes_on_the_same_way_round() -> None:
    angles = np.radians([0.0, 80.0, 160.0, 240.0])
    poses = [pin.SE3(pin.exp3(np.array([0.0, 0.0, angle])), np.zeros(3)) for angle in angles]
    found = smooth_motion(np.zeros((4, 1)), limits(1), least=1.0).poses(poses)
    steps = [pin.log3(a.rotation.T @ b.rotation)[2] for a, b in pairwise(found)]
    assert min(steps) > -1e-9
    assert sum(steps) == pytest.approx(angles[-1], rel=1e-9)


def test_a_move_is_so_slow_that_no_contact_changes_faster_than_a_force_loop_follows() -> None:
    """At its fastest the path goes 2 n / T steps in a second; a force that falls evenly changes most beside itself at
    the end."""

    def held(force: float) -> Any:
        return SimpleNamespace(links=(SimpleNamespace(name="tip"),), normal_forces=np.array([force]))

    falling = [held(force) for force in np.linspace(1.0, 0.5, 11)]
    # over two steps: 0.1 N of the smaller force, 0.5 N
    assert _followed(falling) == pytest.approx(2.0 * 10 * (0.5 * 0.1 / 0.5) / FOLLOWED)
    assert _followed([held(1.0)] * 11) == 0.0
