"""Joint limits in motion: never left, come back from, braked for, and re-entered smoothly."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import OptionError
from pliant.motion import FrameTask, JointLimits, Servo, StackedJacobian, VelocityProblem, make_solver

DT = 0.002


def random_walk(robot, name, steps, *, start, seed=0, hold=40):
    """Random twists of the three finger tips, changed every 40 steps, as fast as the solver allows."""
    rng = np.random.default_rng(seed)
    limits = JointLimits.of(robot)
    solver = make_solver(name)
    stack = StackedJacobian(robot, [FrameTask(f"tip_of_{f}") for f in ("finger_1", "finger_2", "thumb")])
    q, qdot = start.copy(), np.zeros(robot.dof)
    path, speeds = [q], []
    for i in range(steps):
        if i % hold == 0:
            V = rng.normal(size=18) * np.tile([2.0, 2.0, 2.0, 6.0, 6.0, 6.0], 3)
        problem = VelocityProblem.of(stack.at(q), V, limits, q, dt=DT, qdot=qdot)
        qdot = solver.solve(problem).qdot.copy()
        q = q + qdot * DT
        path.append(q)
        speeds.append(qdot)
    return np.array(path), np.array(speeds), limits


@pytest.mark.parametrize("name", ["exclusion", "descent", "qp"])
def test_limits_are_never_left_over_ten_thousand_random_steps(robot, name):
    """Ten starts anywhere inside, a thousand steps each; half of the joints meet their limits, and leave them again."""
    met, came_back = np.zeros(robot.dof, dtype=bool), np.zeros(robot.dof, dtype=bool)
    for number in range(10):
        start = robot.random_q(np.random.default_rng(100 + number))
        path, speeds, limits = random_walk(robot, name, 1000, start=start, seed=number)
        assert (path >= robot.lower - 1e-12).all()
        assert (path <= robot.upper + 1e-12).all()
        assert (np.abs(speeds) <= limits.speed * (1 + 1e-12)).all()
        near = np.minimum(path - robot.lower, robot.upper - path) < 0.02
        met |= near.any(axis=0)
        # near a limit at one time and far from it later: it was let go again
        far_later = (np.minimum(path[-1] - robot.lower, robot.upper - path[-1])) > 0.05
        came_back |= near.any(axis=0) & far_later
    assert met.sum() >= 6
    assert came_back.sum() >= 4


def to_the_stop(name, start=0.0, speed=1.0, acceleration=5.0):
    """One joint, range -1..1, sent towards +2 at full speed."""
    limits = JointLimits(np.array([-1.0]), np.array([1.0]), np.array([speed]), np.array([acceleration]))
    solver = make_solver(name)
    q, qdot = np.array([start]), np.zeros(1)
    path, speeds = [q], [qdot]
    for _ in range(2000):
        problem = VelocityProblem.of(np.eye(1), np.array([speed]), limits, q, dt=DT, qdot=qdot)
        qdot = solver.solve(problem).qdot.copy()
        q = q + qdot * DT
        path.append(q)
        speeds.append(qdot)
    return np.array(path)[:, 0], np.array(speeds)[:, 0]


def test_exclusion_stops_with_a_jump_and_qp_without():
    """Exclusion loses all its speed in one step; qp never changes it by more than acceleration * dt."""
    _, abrupt = to_the_stop("exclusion")
    path, smooth = to_the_stop("qp")
    jump = np.abs(np.diff(abrupt[5:])).max()
    assert jump == pytest.approx(1.0)
    assert np.abs(np.diff(smooth)).max() <= 5.0 * DT * (1 + 1e-9)
    # It does not buy this with caution: the stop is reached, and not later than braking at full strength allows.
    assert path[-1] == pytest.approx(1.0, abs=1e-9)
    shortest = 1.0 / 1.0 + 1.0 / 5.0  # way / speed + speed / acceleration, both ramps together
    assert np.argmax(path > 1.0 - 1e-9) * DT <= shortest + 4 * DT


@pytest.mark.parametrize("seed", range(3))
def test_qp_keeps_the_acceleration_limit_at_every_step(robot, seed):
    start = robot.random_q(np.random.default_rng(seed))
    _, speeds, limits = random_walk(robot, "qp", 1500, start=start, seed=seed)
    changes = np.abs(np.diff(speeds, axis=0))
    assert (changes <= limits.acceleration * DT * (1 + 1e-6)).all()


def test_qp_brings_a_start_outside_the_limits_back_in_smoothly(robot):
    rng = np.random.default_rng(5)
    outside = robot.upper + rng.uniform(0.05, 0.3, robot.dof)
    outside[::2] = robot.lower[::2] - 0.2
    path, speeds, limits = random_walk(robot, "qp", 4000, start=outside, seed=1)
    assert np.isfinite(path).all()
    assert (
        np.abs(np.diff(np.vstack([np.zeros(robot.dof), speeds]), axis=0)) <= limits.acceleration * DT * (1 + 1e-6)
    ).all()
    assert (np.abs(speeds) <= limits.speed * (1 + 1e-9)).all()
    excess = np.maximum(np.maximum(robot.lower - path, path - robot.upper).max(axis=1), 0.0)
    assert excess[-1] <= 1e-12
    inside = np.argmax(excess <= 1e-12)
    assert (excess[inside:] <= 1e-12).all()
    # The excess shrinks from the start: no joint goes further out.
    assert (np.diff(excess) <= 1e-12).all()


@pytest.mark.parametrize("name", ["exclusion", "descent"])
def test_exclusion_and_descent_let_a_start_outside_come_back(robot, name):
    outside = robot.upper + 0.1
    limits = JointLimits.of(robot)
    solver = make_solver(name)
    inwards = VelocityProblem.of(np.eye(robot.dof), np.full(robot.dof, -0.5), limits, outside, dt=DT)
    outwards = VelocityProblem.of(np.eye(robot.dof), np.full(robot.dof, 0.5), limits, outside, dt=DT)
    np.testing.assert_allclose(solver.solve(inwards).qdot, -0.5, atol=1e-9)
    assert not solver.solve(outwards).qdot.any()


def test_a_window_is_never_empty_and_braking_is_always_possible():
    """From any state that can still stop, the window allows the hardest braking; ten thousand random states."""
    rng = np.random.default_rng(0)
    n = 10_000
    limits = JointLimits(np.full(n, -1.0), np.full(n, 1.0), rng.uniform(0.2, 5.0, n), rng.uniform(0.5, 50.0, n))
    q = rng.uniform(-1.0, 1.0, n)
    qdot = np.zeros(n)
    for _ in range(300):
        lo, hi = limits.window(q, qdot, DT)
        assert (lo <= hi).all()
        assert (lo <= np.sign(qdot) * np.maximum(np.abs(qdot) - limits.acceleration * DT, 0.0) + 1e-9).all()
        qdot = np.where(rng.random(n) < 0.9, hi, rng.uniform(lo, hi))
        q = q + qdot * DT
        assert (q <= 1.0 + 1e-12).all()
        assert (q >= -1.0 - 1e-12).all()


def test_stopping_speed_tends_to_the_textbook_braking_curve():
    """sqrt(2 a d) for dt -> 0, to first order in dt."""
    limits = JointLimits(np.zeros(1), np.array([0.5]), np.array([100.0]), np.array([4.0]))
    exact = np.sqrt(2 * 4.0 * 0.5)
    errors = [abs(limits.window(np.zeros(1), np.array([exact]), dt)[1][0] - exact) for dt in (0.02, 0.01, 0.005)]
    np.testing.assert_allclose(errors, [4.0 * dt / 2 for dt in (0.02, 0.01, 0.005)], rtol=0.1)


def test_joints_without_limits_are_not_held_back():
    n = 2
    limits = JointLimits(np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.inf), np.full(n, np.inf))
    for name in ("exclusion", "descent", "qp", "pinv"):
        problem = VelocityProblem.of(np.eye(n), np.array([3.0, -7.0]), limits, np.zeros(n), dt=DT)
        np.testing.assert_allclose(make_solver(name).solve(problem).qdot, [3.0, -7.0], rtol=2e-6)


def test_limits_of_a_robot_ramp_to_full_speed_in_the_given_time(robot):
    limits = JointLimits.of(robot, ramp_time=0.1)
    np.testing.assert_allclose(limits.acceleration, robot.velocity_limits / 0.1)
    known = np.full(robot.dof, np.inf)
    known[3] = 1.5
    assert JointLimits.of(robot, acceleration=known).acceleration[3] == 1.5
    assert np.isfinite(JointLimits.of(robot, acceleration=known).acceleration).all()


@pytest.mark.parametrize(
    "change", [{"lower": [2.0]}, {"speed": [0.0]}, {"acceleration": [-1.0]}, {"upper": [np.nan]}, {"upper": [1.0, 2.0]}]
)
def test_limits_that_contradict_themselves_are_refused(change):
    good = {"lower": [-1.0], "upper": [1.0], "speed": [1.0], "acceleration": [1.0]}
    with pytest.raises(OptionError, match="joint limits"):
        JointLimits(**{key: np.array(value) for key, value in (good | change).items()})


def test_a_servo_started_outside_the_limits_reaches_its_target_inside(robot, q_work):
    task = FrameTask("palm_frame")
    start = q_work.copy()
    start[4] = robot.upper[4] + 0.15
    servo = Servo(robot, [(task, robot.pose("palm_frame", q_work))], dt=DT)
    q = start
    for i in range(3000):
        q = q + servo.step(q, i * DT) * DT
    assert robot.within_limits(q, tolerance=1e-12)
    assert max(e.max() for e in servo.errors()) < 1e-5
