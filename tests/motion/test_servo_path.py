"""Pose paths: twists belong to their poses, ends rest, jumps are refused."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import OptionError
from pliant.motion import (
    Carried,
    Circle,
    Eased,
    FigureEight,
    Hold,
    PathFunction,
    Waypoints,
    check_continuity,
    pose_from_numbers,
    pose_from_quaternion,
    pose_numbers,
)

T0 = pin.SE3(pin.exp3(np.array([0.4, -1.1, 0.3])), np.array([0.8, 0.1, 0.5]))


def random_pose(rng, spread=0.3):
    return pin.SE3(
        pin.exp3(spread * 3 * rng.normal(size=3)) @ T0.rotation, T0.translation + spread * rng.normal(size=3)
    )


def waypoints():
    rng = np.random.default_rng(0)
    return Waypoints([0.0, 0.4, 1.0, 1.9, 2.5], [random_pose(rng) for _ in range(5)])


PATHS = {
    "hold": lambda: Hold(T0),
    "circle": lambda: Circle(T0, centre=[0.7, 0.2, 0.4], axis=[1, 2, 3], period=2.3),
    "turning circle": lambda: Circle(T0, centre=[0.7, 0.2, 0.4], axis=[1, 2, 3], period=2.3, turning=True),
    "eight": lambda: FigureEight(T0, along=[0.1, 0, 0.05], across=[0, 0.1, 0], tilt=[0.3, -0.5, 0.8], period=3.0),
    "eased": lambda: Eased(Circle(T0, centre=[0.7, 0.2, 0.4], axis=[1, 2, 3], period=2.3, turning=True), 0.7),
    "waypoints": waypoints,
    "carried": lambda: Carried(
        FigureEight(T0, along=[0.1, 0, 0.05], across=[0, 0.1, 0], tilt=[0.3, -0.5, 0.8], period=3.0),
        Circle(T0, centre=[0.7, 0.2, 0.4], axis=[1, 2, 3], period=2.3, turning=True),
    ),
    "function": lambda: PathFunction(lambda t: pin.SE3(pin.exp3(np.array([0.2, 0.3, t])), np.array([t, t**2, 0.0]))),
}


@pytest.mark.parametrize("name", list(PATHS))
def test_the_twist_is_the_rate_of_the_pose(name):
    path, h = PATHS[name](), 1e-5
    for t in np.linspace(0.03, 2.4, 37):
        before, after = path.at(t - h)[0], path.at(t + h)[0]
        expected = np.concatenate(
            [after.translation - before.translation, pin.log3(after.rotation @ before.rotation.T)]
        ) / (2 * h)
        np.testing.assert_allclose(path.at(t)[1], expected, atol=2e-7 if name != "function" else 1e-6)


def test_a_function_of_time_is_never_asked_outside_its_duration_and_rests_at_its_end():
    asked = []

    def pose(t):
        asked.append(t)
        return pin.SE3(np.eye(3), np.array([t, 0.0, 0.0]))

    path = PathFunction(pose, duration=1.0)
    for t, x, speed in ((0.0, 0.0, 1.0), (1.0, 1.0, 1.0), (1.5, 1.0, 0.0)):
        T, twist = path.at(t)
        assert T.translation[0] == x
        np.testing.assert_allclose(twist, [speed, 0, 0, 0, 0, 0], atol=1e-9)
    assert min(asked) >= 0.0 and max(asked) <= 1.0


def test_a_function_of_no_duration_is_a_place_to_rest():
    path = PathFunction(lambda t: pin.SE3(np.eye(3), np.array([1.0, t, 0.0])), duration=0.0)
    for t in (0.0, 0.3):
        T, twist = path.at(t)
        assert T.translation.tolist() == [1.0, 0.0, 0.0]
        assert not twist.any()


def test_waypoints_are_passed_through_and_both_ends_rest():
    rng = np.random.default_rng(0)
    times, poses = [0.0, 0.4, 1.0, 1.9, 2.5], [random_pose(rng) for _ in range(5)]
    path = Waypoints(times, poses)
    for t, T in zip(times, poses, strict=True):
        assert np.linalg.norm(pin.log6(path.at(t)[0].actInv(T)).vector) < 1e-12
    for t in (0.0, 2.5):
        np.testing.assert_allclose(path.at(t)[1], 0.0, atol=1e-3)
    assert not path.at(3.0)[1].any()
    assert np.linalg.norm(pin.log6(path.at(9.0)[0].actInv(poses[-1])).vector) < 1e-12
    assert path.duration == 2.5


def test_an_eased_path_starts_at_rest_and_catches_up():
    circle = Circle(T0, centre=[0.7, 0.2, 0.4], axis=[1, 2, 3], period=2.3)
    eased = Eased(circle, 0.6)
    assert not eased.at(0.0)[1].any()
    np.testing.assert_allclose(eased.at(2.0)[0].translation, circle.at(1.7)[0].translation, atol=1e-15)
    np.testing.assert_allclose(eased.at(2.0)[1], circle.at(1.7)[1], atol=1e-15)


@pytest.mark.parametrize("name", ["circle", "eight", "eased", "waypoints", "carried"])
def test_smooth_paths_pass_the_continuity_check(name):
    check_continuity(PATHS[name](), 0.002, duration=2.0)


def test_a_path_that_jumps_is_refused_with_time_and_size():
    jump = PathFunction(
        lambda t: pin.SE3(T0.rotation, T0.translation + (np.array([0.0, 0.03, 0.0]) if t > 0.7 else 0.0)),
        twist=lambda t: np.zeros(6),
    )
    with pytest.raises(
        OptionError, match=r"jumps at t = 0.698 s: within 0.002 s it moves by 0.03 m; its twist there accounts for 0 m"
    ):
        check_continuity(jump, 0.002, duration=1.0)
    flip = PathFunction(
        lambda t: pin.SE3(pin.exp3(np.array([0.0, 0.0, 0.5 if t > 0.3 else 0.0])), np.zeros(3)),
        twist=lambda t: np.zeros(6),
    )
    with pytest.raises(OptionError, match=r"jumps at t = 0.3 s: .* moves by 0.5 rad"):
        check_continuity(flip, 0.002, duration=1.0)


def test_places_and_speeds_beyond_all_measure_are_refused_before_they_overflow():
    with pytest.raises(OptionError, match=r"lies 1e\+200 m away; at most 1e\+09 m"):
        Hold(pin.SE3(np.eye(3), np.array([0.0, 1e200, 0.0])))
    rushing = PathFunction(lambda t: T0, twist=lambda t: np.full(6, 1e200))
    with pytest.raises(OptionError, match=r"moves with 1e\+200 m/s or rad/s at t = 0 s"):
        check_continuity(rushing, 0.002, duration=1.0)
    with pytest.raises(OptionError, match=r"the quaternion has length 1e\+200"):
        pose_from_quaternion((0.0, 0.0, 0.0), (1e200, 0.0, 0.0, 0.0), where="start")


def test_a_path_without_an_end_needs_a_duration():
    with pytest.raises(OptionError, match="never ends"):
        check_continuity(Hold(T0), 0.002)


def test_waypoints_too_far_apart_for_their_times_are_a_jump():
    far = pin.SE3(T0.rotation, T0.translation + np.array([0.6, 0.0, 0.0]))
    with pytest.raises(OptionError, match=r"points\[2\]: jumps by 0.6 m in 0.01 s .60 m/s.; at most 5 m/s"):
        Waypoints([0.0, 1.0, 1.01], [T0, T0, far])
    with pytest.raises(OptionError, match=r"points\[1\]: time 0 s does not come after 0 s"):
        Waypoints([0.0, 0.0], [T0, far])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Circle(T0, centre=[0, 0], axis=[0, 0, 1], period=1.0),
        lambda: Circle(T0, centre=[0, 0, 0], axis=[0, 0, 0], period=1.0),
        lambda: Circle(T0, centre=[0, 0, 0], axis=[0, 0, 1], period=0.0),
        lambda: FigureEight(T0, along=[np.nan, 0, 0], across=[0, 0, 0], period=1.0),
        lambda: Eased(Hold(T0), -1.0),
        lambda: Waypoints([0.0], [T0]),
        lambda: Hold(pin.SE3(T0.rotation, np.array([np.inf, 0, 0]))),
        lambda: Hold(pin.SE3(T0.rotation @ np.diag([1.0, 1.0, -1.0]), np.zeros(3))),
    ],
)
def test_paths_of_nonsense_are_refused(make):
    with pytest.raises(OptionError):
        make()


def test_a_quaternion_that_is_not_normalised_is_refused_with_the_unit_one():
    with pytest.raises(
        OptionError, match=r"--target: the quaternion has length 2; a unit quaternion w, x, y, z: 1, 0, 0, 0"
    ):
        pose_from_numbers([0, 0, 0, 2, 0, 0, 0], where="--target")
    with pytest.raises(OptionError, match="length 0"):
        pose_from_quaternion([0, 0, 0], [0, 0, 0, 0], where="x")
    with pytest.raises(OptionError, match="NaN"):
        pose_from_numbers([np.nan, 0, 0, 1, 0, 0, 0], where="x")
    with pytest.raises(OptionError, match="6 numbers; seven"):
        pose_from_numbers([0, 0, 0, 1, 0, 0], where="x")


def test_pose_numbers_round_trip():
    T = pose_from_numbers(pose_numbers(T0), where="x")
    assert np.linalg.norm(pin.log6(T.actInv(T0)).vector) < 1e-14
