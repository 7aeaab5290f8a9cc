"""The filter per contact region against its own recursion and against its steady state."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import OptionError
from pliant.tactile import FilterNoise, RegionFilter

ORIGIN = np.zeros(3)


def test_gains_follow_the_recursion_of_the_specification() -> None:
    noise = FilterNoise(force_drift=0.04, force_error=0.25, point_drift=1e-8, point_error=4e-6)
    filter_ = RegionFilter(noise)
    filter_.update((1.0, ORIGIN))
    P = np.array([0.25, 4e-6, 4e-6, 4e-6])
    for k in range(20):
        filter_.update((1.0 + 0.1 * k, ORIGIN))
        before = P + noise.Q
        K = before / (before + noise.R)
        P = (1 - K) * before
        np.testing.assert_allclose(filter_.gain, K, rtol=1e-14)
        np.testing.assert_allclose(filter_.P, P, rtol=1e-14)


def test_the_gain_settles_where_the_riccati_equation_says() -> None:
    Q, R = 0.04, 0.25
    filter_ = RegionFilter(FilterNoise(force_drift=Q, force_error=R))
    for _ in range(200):
        filter_.update((2.0, ORIGIN))
    # P- = P + Q with P = P- R / (P- + R):  P-^2 - Q P- - Q R = 0.
    before = 0.5 * (Q + np.sqrt(Q**2 + 4 * Q * R))
    assert filter_.gain[0] == pytest.approx(before / (before + R), rel=1e-12)


def test_without_drift_the_estimate_is_the_running_mean() -> None:
    filter_ = RegionFilter(FilterNoise(force_drift=0.0, point_drift=0.0))
    values = np.random.default_rng(0).normal(3.0, 1.0, 50)
    for k, value in enumerate(values):
        result = filter_.update((value, [value, 0.0, -value]))
        assert result is not None
        assert result[0] == pytest.approx(values[: k + 1].mean(), rel=1e-12)
    np.testing.assert_allclose(result[1], [values.mean(), 0.0, -values.mean()], rtol=1e-12, atol=1e-15)


def test_a_right_plan_removes_the_lag_that_smoothing_costs() -> None:
    noise = FilterNoise(force_drift=1e-4, force_error=1.0)
    with_plan, without = RegionFilter(noise), RegionFilter(noise)
    for k in range(300):
        ramp = 0.05 * k
        planned = with_plan.update((ramp, ORIGIN), (ramp, ORIGIN))
        plain = without.update((ramp, ORIGIN))
    assert planned is not None
    assert plain is not None
    assert planned[0] == pytest.approx(ramp, abs=1e-12)
    assert ramp - plain[0] > 1.0


def test_lost_frames_only_predict_and_grow_the_variance() -> None:
    filter_ = RegionFilter()
    assert filter_.update(None) is None
    filter_.update((1.0, ORIGIN))
    before = filter_.P.copy()
    for bad in (None, (np.nan, ORIGIN), (1.0, [np.inf, 0, 0])):
        result = filter_.update(bad)
        assert result is not None
        assert result[0] == 1.0
    np.testing.assert_allclose(filter_.P, before + 3 * filter_.noise.Q)
    filter_.reset()
    assert filter_.update(None) is None


def test_variances_that_are_none_are_refused() -> None:
    with pytest.raises(OptionError, match="force_error"):
        FilterNoise(force_error=0.0)
    with pytest.raises(OptionError, match="point_drift"):
        FilterNoise(point_drift=-1.0)
