"""Point arrays: on the path at the points, measured between them, refined to a tolerance, honest about reach."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import OptionError
from pliant.motion import Circle, Eased, FrameTask, PathFunction, PathStatus, Stabiliser, record_points


@pytest.fixture
def targets(robot, q_work):
    T = robot.pose("palm_frame", q_work)
    path = Circle(T, centre=T.translation - [0.0, 0.1, 0.0], axis=[0, 0.2, 1], period=4.0)
    return [(FrameTask("palm_frame"), Eased(path, 0.4))]


def test_points_lie_on_the_path_and_the_end_is_one(robot, q_work, targets):
    array = record_points(robot, targets, q_work, duration=2.0, every=0.1)
    assert array.status is PathStatus.FOLLOWED
    assert array.shortfall is None
    assert len(array.times) == 21
    assert array.times[-1] == pytest.approx(2.0)
    assert array.tracking_m < 1e-4
    assert array.point_m < 1e-8
    assert array.point_rad < 1e-8
    for t, q in zip(array.times, array.q, strict=True):
        error = robot.pose("palm_frame", q).actInv(targets[0][1].at(t)[0])
        assert np.linalg.norm(error.translation) < 1e-8


def test_interpolation_error_is_what_a_dense_look_finds(robot, q_work, targets):
    array = record_points(robot, targets, q_work, duration=2.0, every=0.2)
    stabiliser = Stabiliser(robot, targets)
    dense = max(stabiliser.errors(array.at(t), t)[0].max() for t in np.linspace(0.0, 2.0, 2001))
    assert array.interpolation_m == pytest.approx(dense, rel=0.02)


def test_interpolation_error_falls_with_the_square_of_the_spacing(robot, q_work, targets):
    circle = [(targets[0][0], targets[0][1]._path)]
    errors = [record_points(robot, circle, q_work, duration=2.0, every=h).interpolation_m for h in (0.2, 0.1, 0.05)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


def test_points_are_inserted_until_the_tolerance_holds(robot, q_work, targets):
    coarse = record_points(robot, targets, q_work, duration=2.0, every=0.5)
    fine = record_points(robot, targets, q_work, duration=2.0, every=0.5, tolerance_m=2e-5)
    assert coarse.interpolation_m > 1e-3
    assert fine.interpolation_m <= 2e-5
    assert fine.inserted == len(fine.times) - len(coarse.times) > 10
    assert (np.diff(fine.times) > 0).all()
    stabiliser = Stabiliser(robot, targets)
    dense = max(stabiliser.errors(fine.at(t), t)[0].max() for t in np.linspace(0.0, 2.0, 3001))
    assert dense <= 1.05 * 2e-5


def test_points_by_distance_are_evenly_spread_along_the_way(robot, q_work, targets):
    array = record_points(robot, targets, q_work, duration=3.0, every=0.01, by="distance")
    path = targets[0][1]
    steps = [
        np.linalg.norm(path.at(b)[0].translation - path.at(a)[0].translation)
        for a, b in zip(array.times[:-1], array.times[1:], strict=True)
    ]
    # A point is due at the first servo step beyond the distance: at most speed * dt = 0.32 mm late.
    assert min(steps[:-1]) > 0.0099
    assert max(steps) < 0.0105
    assert np.diff(array.times)[0] > 2 * np.diff(array.times)[len(steps) // 2]


def test_an_unreachable_path_says_where_and_by_how_much(robot, q_work):
    """Outwards along x with the arm at 0.3 m/s: beyond its reach (about 1.8 m from the first axis) nothing follows."""
    T = robot.pose("palm_frame", q_work)
    outward = Circle(T, centre=T.translation + np.array([1.2, 0.0, 0.0]), axis=[0, 0, 1], period=24.0)
    array = record_points(robot, [(FrameTask("palm_frame"), outward)], q_work, duration=6.0, every=0.25)
    assert array.status is PathStatus.NOT_REACHED
    short = array.shortfall
    assert short.link == "palm_frame"
    assert 0.5 < short.first_time < short.worst_time <= 6.0
    before = array.times < short.first_time
    # Everything before is reached; the worst is really the distance from the path there.
    stabiliser = Stabiliser(robot, [(FrameTask("palm_frame"), outward)])
    for t, q in zip(array.times[before], array.q[before], strict=True):
        assert stabiliser.errors(q, t)[0].max() < 1e-5
    worst = int(np.argmin(np.abs(array.times - short.worst_time)))
    gap = robot.pose("palm_frame", array.q[worst]).translation - outward.at(short.worst_time)[0].translation
    assert np.linalg.norm(gap) == pytest.approx(short.error_m, rel=1e-6)
    assert short.error_m > 0.05
    assert "cannot follow from t =" in str(short)


def test_a_start_elsewhere_is_brought_onto_the_path_first(robot, q_work, targets):
    array = record_points(robot, targets, q_work + 0.05, duration=0.5)
    assert array.status is PathStatus.FOLLOWED
    assert array.tracking_m < 1e-4


def test_a_path_that_jumps_is_refused(robot, q_work):
    T = robot.pose("palm_frame", q_work)
    jump = PathFunction(lambda t: pin.SE3(T.rotation, T.translation - np.array([0.0, 0.0, 0.02 * (t > 0.401)])))
    with pytest.raises(OptionError, match=r"path of 'palm_frame': jumps at t = 0.4 s: .* by 0.02 m"):
        record_points(robot, [(FrameTask("palm_frame"), jump)], q_work, duration=1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"by": "miles"},
        {"every": 0.0},
        {"duration": np.inf},
        {"duration": 1e-5},
        {"tolerance_m": 0.0},
        {"tolerance_rad": -1.0},
    ],
)
def test_options_that_make_no_array_are_refused(robot, q_work, targets, options):
    with pytest.raises(OptionError):
        record_points(robot, targets, q_work, **({"duration": 1.0} | options))
