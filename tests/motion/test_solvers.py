"""The coordinate solvers: least squares, weights, masks, limits, priorities, and what each could not achieve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from pliant.errors import OptionError
from pliant.motion import (
    SOLVERS,
    DescentSolver,
    ExclusionSolver,
    JointLimits,
    PinvSolver,
    QpSolver,
    VelocityProblem,
    damped_least_squares,
    make_solver,
)

DT = 0.002


def exact(name):
    """Solvers set to their limit of accuracy, where the default trades some of it for calm or time."""
    return {"qp": QpSolver(damping=1e-5), "descent": DescentSolver(sweeps=50_000, tolerance=1e-13)}.get(
        name, make_solver(name)
    )


def wide_open(n):
    return JointLimits(np.full(n, -1e3), np.full(n, 1e3), np.full(n, np.inf), np.full(n, np.inf))


def random_problem(m, n, seed=0, **options):
    rng = np.random.default_rng(seed)
    return VelocityProblem.of(rng.normal(size=(m, n)), rng.normal(size=m), wide_open(n), np.zeros(n), dt=DT, **options)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_tall_problems_give_the_least_squares_answer_of_b(name):
    """(J^T J)^-1 J^T V for full column rank; both ways round."""
    problem = random_problem(18, 13)
    J, V = problem.jacobian, problem.wanted
    answer = exact(name).solve(problem)
    np.testing.assert_allclose(answer.qdot, np.linalg.inv(J.T @ J) @ J.T @ V, atol=2e-6)
    np.testing.assert_allclose(answer.residual, V - J @ answer.qdot, atol=1e-12)
    np.testing.assert_allclose(J.T @ answer.residual, 0.0, atol=1e-5)


@pytest.mark.parametrize("name", ["pinv", "exclusion", "qp"])
def test_wide_problems_give_the_shortest_answer(name):
    problem = random_problem(6, 13)
    J, V = problem.jacobian, problem.wanted
    answer = make_solver(name).solve(problem)
    np.testing.assert_allclose(answer.qdot, J.T @ np.linalg.inv(J @ J.T) @ V, atol=2e-6)
    np.testing.assert_allclose(answer.residual, 0.0, atol=2e-6)


def test_descent_meets_wide_problems_though_not_by_the_shortest_way():
    answer = DescentSolver(sweeps=20_000, tolerance=1e-13).solve(random_problem(6, 13))
    np.testing.assert_allclose(answer.residual, 0.0, atol=1e-8)


def test_descent_converges_to_the_least_squares_answer_with_its_sweeps():
    """The error shrinks at a constant rate per sweep (Gauss-Seidel on J^T J)."""
    problem = random_problem(18, 13)
    answer = np.linalg.lstsq(problem.jacobian, problem.wanted)[0]
    errors = [
        np.linalg.norm(DescentSolver(sweeps=sweeps, tolerance=1e-300).solve(problem).qdot - answer)
        for sweeps in (100, 200, 300, 400, 3000)
    ]
    ratios = np.array(errors[1:4]) / np.array(errors[:3])
    np.testing.assert_allclose(ratios, ratios[-1], rtol=0.05)
    assert ratios[-1] < 0.5
    assert errors[-1] < 1e-9


@pytest.mark.parametrize("name", ["pinv", "exclusion", "qp"])
def test_joint_weights_decide_who_moves(name):
    """min sum w qdot^2 with J qdot = V:  qdot = W^-1 J^T (J W^-1 J^T)^-1 V."""
    w = np.geomspace(0.1, 10.0, 13)
    problem = random_problem(6, 13, joint_weights=w)
    J, V = problem.jacobian, problem.wanted
    expected = (J / w).T @ np.linalg.inv((J / w) @ J.T) @ V
    np.testing.assert_allclose(exact(name).solve(problem).qdot, expected, atol=1e-5)


def test_descent_multipliers_decide_who_moves_first():
    heavy = np.ones(13)
    heavy[:6] = 50.0
    plain = DescentSolver().solve(random_problem(6, 13)).qdot
    weighted = DescentSolver().solve(random_problem(6, 13, joint_weights=heavy)).qdot
    assert np.linalg.norm(weighted[:6]) < 0.2 * np.linalg.norm(plain[:6])


@pytest.mark.parametrize("name", list(SOLVERS))
def test_row_weights_weigh_rows_and_zero_leaves_them_out(name):
    w = np.array([3.0, 1.0, 0.5] * 6)
    w[6:9] = 0.0
    problem = random_problem(18, 13, row_weights=w)
    J, V = problem.jacobian, problem.wanted
    answer = exact(name).solve(problem)
    expected = np.linalg.lstsq(w[:, None] * J, w * V)[0]
    np.testing.assert_allclose(answer.qdot, expected, atol=2e-5)
    assert not answer.residual[6:9].any()
    # A row that does not count may say anything, NaN excepted.
    problem.wanted[6:9] = 1e6
    np.testing.assert_allclose(exact(name).solve(problem).qdot, answer.qdot, atol=1e-9)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_joints_that_may_not_move_do_not(name):
    free = np.arange(13) % 3 != 0
    problem = random_problem(18, 13, free=free)
    answer = exact(name).solve(problem)
    assert not answer.qdot[~free].any()
    expected = np.linalg.lstsq(problem.jacobian[:, free], problem.wanted)[0]
    np.testing.assert_allclose(answer.qdot[free], expected, atol=2e-6)


def test_qp_and_descent_solve_the_boxed_problem():
    """Against scipy's bounded least squares, some of the joints at their speed limit."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        J, V = rng.normal(size=(18, 13)), 3.0 * rng.normal(size=18)
        speed = np.full(13, 0.3)
        limits = JointLimits(np.full(13, -10.0), np.full(13, 10.0), speed, np.full(13, np.inf))
        problem = VelocityProblem.of(J, V, limits, np.zeros(13), dt=DT)
        expected = lsq_linear(J, V, (-speed, speed), tol=1e-14).x
        qp = exact("qp").solve(problem)
        assert 2 <= qp.limited.sum() < 13
        np.testing.assert_allclose(qp.qdot, expected, atol=3e-6)
        np.testing.assert_allclose(exact("descent").solve(problem).qdot, expected, atol=3e-6)


def test_pinv_stays_bounded_and_continuous_through_a_singularity():
    """Gain 1/s above the threshold, s / threshold^2 below it: never more than |V| / threshold."""
    solver = PinvSolver(threshold=0.05)
    gains = []
    for s in np.geomspace(1e-9, 1.0, 400):
        problem = VelocityProblem.of(np.diag([1.0, s]), np.array([0.0, 1.0]), wide_open(2), np.zeros(2), dt=DT)
        gains.append(abs(solver.solve(problem).qdot[1]))
    assert max(gains) <= 1.0 / 0.05 + 1e-9
    assert np.max(np.abs(np.diff(gains))) < 1.5
    assert gains[-1] == pytest.approx(1.0)
    assert gains[0] < 1e-6


@pytest.mark.parametrize("name", ["pinv", "exclusion", "qp"])
def test_strict_priorities_leave_the_first_level_untouched(name):
    """Level 2 (6 rows) gets what 13 - 6 joints can still do; level 1 is met as if it were alone."""
    levels = (slice(0, 6), slice(6, 18))
    problem = random_problem(18, 13, levels=levels)
    J, V = problem.jacobian, problem.wanted
    answer = make_solver(name).solve(problem)
    np.testing.assert_allclose(answer.residual[:6], 0.0, atol=1e-5)
    # Independent computation: level 2 in the null space of level 1.
    first = np.linalg.pinv(J[:6]) @ V[:6]
    N = np.eye(13) - np.linalg.pinv(J[:6]) @ J[:6]
    expected = first + np.linalg.pinv(J[6:] @ N) @ (V[6:] - J[6:] @ first)
    np.testing.assert_allclose(answer.qdot, expected, atol=1e-4)
    weighted = make_solver(name).solve(random_problem(18, 13))
    assert np.linalg.norm(weighted.residual[:6]) > 0.1


def test_qp_keeps_limits_in_every_level():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        speed = np.full(13, 0.4)
        limits = JointLimits(np.full(13, -10.0), np.full(13, 10.0), speed, np.full(13, np.inf))
        J, V = rng.normal(size=(12, 13)), rng.normal(size=12)
        one = VelocityProblem.of(J[:6], V[:6], limits, np.zeros(13), dt=DT)
        both = VelocityProblem.of(J, V, limits, np.zeros(13), dt=DT, levels=(slice(0, 6), slice(6, 12)))
        answer = QpSolver().solve(both)
        assert (np.abs(answer.qdot) <= speed).all()
        np.testing.assert_allclose(answer.residual[:6], QpSolver().solve(one).residual, atol=1e-4)


def test_exclusion_lets_a_joint_back_in_that_the_rest_pulls_inside():
    """Both joints are at their upper limits and wanted outwards, so both leave; then the first is wanted inwards.

    J_1 and J_2 oppose each other: V = 0.1 J_1 + 2 J_2, but J_1 . V < 0.
    """
    J = np.array([[1.0, -0.9], [0.0, 0.4]])
    limits = JointLimits(np.full(2, -1.0), np.zeros(2), np.full(2, np.inf), np.full(2, np.inf))
    V = J @ np.array([0.1, 2.0])
    answer = ExclusionSolver(threshold=1e-3).solve(VelocityProblem.of(J, V, limits, np.zeros(2), dt=DT))
    np.testing.assert_allclose(answer.qdot, [V[0], 0.0])
    assert answer.limited.tolist() == [False, True]
    # This is the best that the limits allow.
    best = lsq_linear(J, V, ([-500.0, -500.0], [1e-12, 1e-12])).x
    np.testing.assert_allclose(answer.qdot, best, atol=1e-6)


def test_when_every_joint_is_at_a_stop_nothing_moves_and_all_is_left():
    limits = JointLimits(np.full(3, -1.0), np.zeros(3), np.full(3, 1.0), np.full(3, np.inf))
    for name in ("exclusion", "descent", "qp"):
        problem = VelocityProblem.of(np.eye(3), np.ones(3), limits, np.zeros(3), dt=DT)
        answer = make_solver(name).solve(problem)
        np.testing.assert_allclose(answer.qdot, 0.0, atol=1e-12)
        np.testing.assert_allclose(answer.residual, 1.0)
        assert answer.limited.all()


def test_unknown_solver_names_the_closest():
    with pytest.raises(OptionError, match="closest: exclusion"):
        make_solver("exclusio")


@pytest.mark.parametrize(
    "make", [lambda: PinvSolver(0.0), lambda: QpSolver(damping=0.0), lambda: DescentSolver(sweeps=0)]
)
def test_settings_outside_their_range_are_refused(make):
    with pytest.raises(OptionError):
        make()


def test_damped_least_squares_minimises_error_plus_damping():
    """The gradient J^T (J dx - e) + d^2 dx vanishes, for more rows than columns and for fewer."""
    rng = np.random.default_rng(3)
    for shape in ((4, 7), (7, 4), (6, 6)):
        J, error = rng.normal(size=shape), rng.normal(size=shape[0])
        dx = damped_least_squares(J, error, 0.1)
        np.testing.assert_allclose(J.T @ (J @ dx - error) + 0.1**2 * dx, 0.0, atol=1e-12)
