"""Friction beside given normal forces: closed forms and agreement with the force program.   (theory 8.4)"""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import GraspError
from pliant.grasp import ContactSet, balancing_friction, grasp_matrix, solve_forces

W = 9.81
WEIGHT = np.array([0, 0, -W, 0, 0, 0])


def _ring(n: int, friction: float) -> ContactSet:
    angles = 2 * np.pi * np.arange(n) / n
    out = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    return ContactSet.from_arrays(0.03 * out, -out, friction=friction)


@pytest.mark.parametrize("pressure", [1.0, 6.0, 6.6, 20.0])
def test_ring_uses_the_weight_over_n_mu_f_n_of_its_friction(pressure: float) -> None:
    answer = balancing_friction(_ring(3, 0.5), WEIGHT, np.full(3, pressure), tolerance=1e-6)
    assert answer.usage == pytest.approx(W / (3 * 0.5 * pressure), rel=1e-4)
    assert answer.holds is (pressure > W / 1.5)
    assert answer.forces[:, 2] == pytest.approx(pressure)


def test_soft_pinch_uses_what_its_limit_surface_says() -> None:
    """usage = sqrt((W/2)^2 + (W s / (2 e))^2) / (mu f_n)."""
    mu, a, s, f_n = 0.6, 0.005, 0.004, 40.0
    contacts = ContactSet.from_arrays([[0.03, 0, 0], [-0.03, 0, 0]], [[-1, 0, 0], [1, 0, 0]], friction=mu, radius=a)
    answer = balancing_friction(contacts, WEIGHT, [f_n, f_n], centre=[0, s, 0], tolerance=1e-7)
    e = 3 * np.pi * a / 16
    assert answer.usage == pytest.approx(np.hypot(W / 2, W * s / (2 * e)) / (mu * f_n), rel=1e-4)
    points = ContactSet.from_arrays([[0.03, 0, 0], [-0.03, 0, 0]], [[-1, 0, 0], [1, 0, 0]], friction=mu)
    loose = balancing_friction(points, WEIGHT, [f_n, f_n], centre=[0, s, 0], tolerance=1e-6)
    assert loose.usage == np.inf
    assert not loose.holds


def test_unequal_pinch_forces_are_forgiven_within_the_tolerance_only() -> None:
    contacts = _ring(2, 0.8)
    assert balancing_friction(contacts, WEIGHT, [10.0, 10.005], tolerance=1e-3).holds
    assert balancing_friction(contacts, WEIGHT, [10.0, 11.0], tolerance=1e-3).usage == np.inf


def test_smallest_forces_use_all_friction_somewhere_and_more_pressure_uses_less(random_grasp) -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(30):
        contacts = random_grasp(rng, 4)
        load = np.concatenate([rng.normal(size=3), rng.normal(size=3) * 0.01])
        best = solve_forces(contacts, load)
        if not best.feasible:
            continue
        found += 1
        answer = balancing_friction(contacts, load, best.forces[:, 2], tolerance=1e-6)
        # The same normal forces can be balanced, so the usage is at most one.
        assert answer.usage <= 1 + 1e-4
        residual = grasp_matrix(contacts) @ contacts.stacked(answer.forces, answer.moments) + load
        assert np.abs(residual[:3]).max() <= 2e-6 * max(np.linalg.norm(load), best.largest_force)
    assert found >= 8


def test_frictionless_and_absent_contacts_are_handled() -> None:
    smooth = ContactSet.from_arrays([[0, 0, -0.02]], [[0, 0, 1]], friction=0.0)
    assert balancing_friction(smooth, WEIGHT, [W]).holds
    assert balancing_friction(smooth, WEIGHT, [W / 2]).usage == np.inf
    assert balancing_friction(_ring(3, 0.5), np.zeros(6), np.zeros(3)).usage == 0
    lifted = balancing_friction(_ring(3, 0.5), WEIGHT, np.zeros(3))
    assert not lifted.holds
    for bad in ([1, 2], [1, 2, -1], [1, 2, np.nan]):
        with pytest.raises(GraspError, match="normal_forces"):
            balancing_friction(_ring(3, 0.5), WEIGHT, bad)
    with pytest.raises(GraspError, match="external"):
        balancing_friction(_ring(3, 0.5), [0, 0, 1], [1, 1, 1])
