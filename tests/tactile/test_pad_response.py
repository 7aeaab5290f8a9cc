"""Counts and forces: the calibration table and its inverse."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import OptionError
from pliant.tactile import SDH2_RESPONSE, PadResponse, PadSensor

STAMP, CELL = 1.1025e-4, 0.0034**2
WEIGHTS = (1.96, 2.94, 3.92, 4.91, 5.89, 6.87, 7.85, 8.83)


@pytest.mark.parametrize(
    ("warmth", "totals"),
    [
        (-1.0, (3500, 5400, 9500, 17100, 23000, 28200, 29700, 33400)),
        (0.0, (5600, 10300, 16900, 21500, 26200, 31200, 34800, 39300)),
        (1.0, (6100, 12500, 18000, 24600, 29200, 33300, 36900)),
    ],
)
def test_an_even_stamp_reads_the_measured_totals(warmth: float, totals: tuple[float, ...]) -> None:
    cells = STAMP / CELL
    for weight, total in zip(WEIGHTS, totals, strict=False):
        counts = SDH2_RESPONSE.counts_of(weight / STAMP, warmth=warmth)
        if total / cells <= 4095:
            assert float(counts) * cells == pytest.approx(total, rel=1e-12)
        else:
            assert float(counts) == 4095


@pytest.mark.parametrize("warmth", [-1.0, -0.6, 0.0, 0.3, 1.0])
def test_pressure_comes_back_from_its_counts_at_every_temperature(warmth: float) -> None:
    pressures = np.linspace(0.0, 70e3, 400)
    counts = SDH2_RESPONSE.counts_of(pressures, warmth=warmth)
    assert np.all(np.diff(counts) > 0)
    np.testing.assert_allclose(SDH2_RESPONSE.pressures_of(counts, warmth=warmth), pressures, atol=1e-8)


def test_a_warmer_pad_reads_more_and_halfway_warm_lies_halfway() -> None:
    p = np.linspace(5e3, 60e3, 30)
    cold, half, warm, hot = (SDH2_RESPONSE.counts_of(p, warmth=w) for w in (-1.0, -0.5, 0.0, 1.0))
    assert np.all(cold < warm)
    assert np.all(warm < hot)
    np.testing.assert_allclose(half, 0.5 * (cold + warm), rtol=1e-12)


def test_counts_end_at_full_scale_and_start_at_zero() -> None:
    assert float(SDH2_RESPONSE.counts_of(1e9)) == 4095
    assert float(SDH2_RESPONSE.counts_of(-5.0)) == 0.0


def test_a_table_that_goes_back_is_refused() -> None:
    with pytest.raises(OptionError, match="increasing"):
        PadResponse((1.0, 2.0), ((5.0, 4.0),), (0.0,))
    with pytest.raises(OptionError, match="one per warmth"):
        PadResponse((1.0, 2.0), ((4.0, 5.0),))
    with pytest.raises(OptionError, match="warmth"):
        SDH2_RESPONSE.counts_of(1.0, warmth=1.5)


def test_sensor_noise_has_its_deviation_and_unloaded_cells_stay_silent() -> None:
    sensor = PadSensor(noise=8.0, threshold=2)
    forces = np.zeros((200, 100))
    forces[:, :50] = 0.4
    counts = sensor.counts(forces, cell_area=CELL, rng=np.random.default_rng(1))
    assert not counts[:, 50:].any()
    # Standard error of a deviation over 10^4 samples is 0.7 %; rounding adds 1/12 to the variance.
    assert counts[:, :50].std() == pytest.approx(np.sqrt(64 + 1 / 12), rel=0.03)
    ideal = float(SDH2_RESPONSE.counts_of(0.4 / CELL))
    assert counts[:, :50].mean() == pytest.approx(ideal, abs=4 * 8 / 100)


def test_rounding_to_counts_costs_at_most_half_a_count_of_force() -> None:
    sensor = PadSensor(noise=0.0, threshold=0)
    forces = np.linspace(0.05, 0.8, 500)
    back = sensor.forces(sensor.counts(forces, cell_area=CELL), cell_area=CELL)
    steepest = max(np.diff([0.0, *WEIGHTS]) / np.diff([0, 5600, 10300, 16900, 21500, 26200, 31200, 34800, 39300]))
    assert np.abs(back - forces).max() <= 0.5 * steepest * 1.0001
