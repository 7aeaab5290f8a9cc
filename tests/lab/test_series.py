"""Series: Wilson's interval, seeded worlds, honest disturbances."""

from __future__ import annotations

import numpy as np
import pytest

from made_plans import make_body
from pliant.errors import OptionError
from pliant.lab import Disturbance, disturbed_body, draw_disturbance, wilson
from pliant.planner import Uncertainty


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (7, 10), (10, 10), (90, 100)])
def test_wilsons_bounds_are_where_the_observed_rate_is_just_believable(successes: int, trials: int) -> None:
    """At either bound p the observed rate is z sqrt(p (1 - p) / n) away from p: the definition of the interval."""
    p = successes / trials
    for bound in wilson(successes, trials):
        if 0.0 < bound < 1.0:
            assert abs(p - bound) == pytest.approx(1.959964 * np.sqrt(bound * (1 - bound) / trials), rel=1e-6, abs=1e-7)
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_interval_covers_the_true_rate_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    for rate in (0.7, 0.9):
        hits = 0
        for successes in rng.binomial(30, rate, 2000):
            low, high = wilson(int(successes), 30)
            hits += low <= rate <= high
        assert 0.92 < hits / 2000 < 0.985


def test_worlds_differ_by_number_and_seed_and_stay_within_their_half_widths() -> None:
    ranges = Uncertainty(0.005, 0.1, young=0.3, friction=0.2, mass=0.1)
    many = [draw_disturbance(ranges, number, seed=4) for number in range(50)]
    assert many[3] == draw_disturbance(ranges, 3, seed=4)
    assert len(set(many)) == 50
    assert many[3] != draw_disturbance(ranges, 3, seed=5)
    shifts = np.array([d.shift for d in many])
    assert np.abs(shifts).max() <= 0.005
    assert np.abs(shifts).max() > 0.004
    assert all(0.7 <= d.young <= 1.3 and 0.8 <= d.friction <= 1.2 and 0.9 <= d.mass <= 1.1 for d in many)
    with pytest.raises(OptionError, match="mass"):
        Uncertainty(mass=1.5)


@pytest.mark.parametrize("name", ["ball", "bottle"])
def test_a_heavier_body_weighs_more_and_nothing_else_changes(name: str) -> None:
    body = make_body(name)
    heavy = disturbed_body(body, Disturbance(mass=3.0, young=0.5, friction=1.2))
    assert heavy.mass == pytest.approx(3.0 * body.mass)
    assert heavy.material.young == pytest.approx(0.5 * body.material.young)
    assert heavy.material.friction == pytest.approx(1.2 * body.material.friction)
    assert heavy.mesh is body.mesh
