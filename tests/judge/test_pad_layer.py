"""What elastic pads give, against the closed forms of thick and thin layers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pliant.judge import layer_factor, pad_compliance

YOUNG, POISSON = 2e6, 0.4


def grid(count: int, spacing: float) -> tuple[np.ndarray, np.ndarray, csr_matrix]:
    """Points in a square, their areas, and two means: of the middle one, and of all."""
    x = spacing * (np.arange(count) - (count - 1) / 2)
    points = np.stack([*np.meshgrid(x, x, indexing="ij"), np.zeros((count, count))], axis=-1).reshape(-1, 3)
    means = np.zeros((count**2, 2))
    means[count**2 // 2, 0] = 1.0
    means[:, 1] = 1.0 / count**2
    return points, np.full(count**2, spacing**2), csr_matrix(means)


def compliance(thickness: float, *, count: int = 31, spacing: float = 4e-4) -> tuple[np.ndarray, np.ndarray]:
    points, areas, means = grid(count, spacing)
    return pad_compliance(points, areas, means, young=YOUNG, poisson=POISSON, thickness=thickness)


def test_a_square_on_a_half_space_gives_as_loves_solution_says() -> None:
    """Centre of a uniformly pressed square of side s: 4 ln(1 + sqrt 2) s p (1 - nu^2) / (pi E); points err by 2 %."""
    side = 31 * 4e-4
    wanted = 4.0 * np.log(1.0 + np.sqrt(2.0)) * (1.0 - POISSON**2) / (np.pi * YOUNG * side)
    normal, tangential = compliance(np.inf)
    assert normal[0, 1] == pytest.approx(wanted, rel=0.02)
    # averaged over directions the tangential one is (1 - nu / 2) / (1 - nu) of that (Mindlin)
    assert tangential[0, 1] / normal[0, 1] == pytest.approx((1.0 - POISSON / 2.0) / (1.0 - POISSON), rel=1e-9)


def test_a_layer_much_thicker_than_the_contact_is_a_half_space() -> None:
    thick, half = compliance(1.0), compliance(np.inf)
    for layer, whole in zip(thick, half, strict=True):
        assert layer == pytest.approx(whole, rel=0.02)
        assert (layer <= whole).all()


def test_a_layer_much_thinner_than_the_contact_is_a_bed_of_springs() -> None:
    """Normal: p t (1 + nu)(1 - 2 nu) / (E (1 - nu)); along the surface t / G. The load ends four thicknesses away.

    What is left out of the half-space is smooth, so that the grid of points adds it up far better than 1 / r.
    """
    t, side = 1.5e-3, 31 * 4e-4
    half = 4.0 * np.log(1.0 + np.sqrt(2.0)) * (1.0 - POISSON**2) / (np.pi * YOUNG * side)
    ratio = (1.0 - POISSON / 2.0) / (1.0 - POISSON)
    modulus = YOUNG * (1.0 - POISSON) / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
    springs = t / modulus / side**2, t * 2.0 * (1.0 + POISSON) / YOUNG / side**2
    for layer, whole, exact, thin in zip(compliance(t), compliance(np.inf), (half, ratio * half), springs, strict=True):
        left = exact - (whole[0, 1] - layer[0, 1])
        assert left == pytest.approx(thin, rel=0.1)


def test_the_layers_factor_has_the_slope_of_springs_and_the_half_space_as_its_end() -> None:
    """L(s) -> s (1 - 2 nu) / (2 (1 - nu)^2) for long waves, so that (1 - nu^2) / E 2 L / k is t over the modulus."""
    s = np.array([1e-3])
    assert layer_factor(s, POISSON)[0] == pytest.approx(s[0] * (1 - 2 * POISSON) / (2 * (1 - POISSON) ** 2), rel=1e-3)
    assert layer_factor(np.array([25.0, 1e4]), POISSON) == pytest.approx(1.0, abs=1e-12)


def test_beside_the_pad_a_link_is_rigid() -> None:
    points, areas, means = grid(9, 1e-3)
    areas[points[:, 0] < 0.0] = 0.0
    alone = csr_matrix(np.eye(81))
    normal, tangential = pad_compliance(points, areas, alone, young=YOUNG, poisson=POISSON, thickness=np.inf)
    beside = points[:, 0] < 0.0
    for matrix in (normal, tangential):
        assert not matrix[beside].any() and not matrix[:, beside].any()
        assert np.linalg.eigvalsh(matrix[~beside][:, ~beside]).min() > 0.0
    assert means.shape == (81, 2)
