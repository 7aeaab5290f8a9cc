"""How deep to press next, against springs whose answer is known exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pliant.planner.depth_search import CORRECTION, DepthSearch
from pliant.planner.reasons import Failure, Reason

TOO_STRONG = Failure(Reason.FORCE_LIMIT, 1.5, "of the limit")
TOO_LITTLE = Failure(Reason.TOO_FEW_FINGERS, 1.0, "links")
SHORT = Failure(Reason.FORCE_TOO_SMALL, 0.1, "N")

ROOM = np.array([0.1, 0.1])


def spring(depths: np.ndarray, stiffness: np.ndarray, power: float) -> np.ndarray:
    """Force of a contact: k d^p; p = 1 is a linear spring, 3/2 a Hertz contact."""
    return stiffness * depths**power


def next_depths(
    search: DepthSearch, stiffness: np.ndarray, power: float, wanted: np.ndarray
) -> tuple[bool, np.ndarray]:
    forces = spring(search.depths, stiffness, power)
    go_on = search.simulated(forces, wanted / forces, None)
    return go_on, search.depths


STIFFNESS = np.array([2000.0, 500.0])
WANTED = np.array([1.0, 0.6])


def test_linear_springs_are_at_the_wanted_forces_after_two_simulations() -> None:
    """Two simulations give the slope of log force over log depth, 1 here: the third depth is w / k exactly."""
    search = DepthSearch(1.3 * WANTED / STIFFNESS, ROOM)
    for _ in range(2):
        assert next_depths(search, STIFFNESS, 1.0, WANTED)[0]
    np.testing.assert_allclose(search.depths, WANTED / STIFFNESS, rtol=1e-12)
    assert not next_depths(search, STIFFNESS, 1.0, WANTED)[0]


def test_hertz_contacts_are_at_the_wanted_forces_after_one_simulation() -> None:
    """Before any slope is known, force is taken to grow with depth to the power of 3/2."""
    exact = (WANTED / STIFFNESS) ** (2.0 / 3.0)
    search = DepthSearch(1.5 * exact, 100.0 * ROOM)
    assert next_depths(search, STIFFNESS, 1.5, WANTED)[0]
    np.testing.assert_allclose(search.depths, exact, rtol=1e-12)
    assert not next_depths(search, STIFFNESS, 1.5, WANTED)[0]


@pytest.mark.parametrize("power", [0.8, 1.0, 2.0, 2.5])
def test_any_power_law_between_a_giving_wall_and_a_stiffening_one_is_exact_after_two_simulations(power: float) -> None:
    exact = (WANTED / STIFFNESS) ** (1.0 / power)
    search = DepthSearch(1.3 * exact, 100.0 * ROOM)
    for _ in range(2):
        assert next_depths(search, STIFFNESS, power, WANTED)[0]
    np.testing.assert_allclose(search.depths, exact, rtol=1e-12)


@pytest.mark.parametrize(("power", "taken", "start"), [(0.2, 0.4, 1.5), (6.0, 2.5, 1.05)])
def test_slopes_beyond_those_of_contacts_are_not_believed(power: float, taken: float, start: float) -> None:
    """The third depth is the second times (wanted / force)^(1/p) with p held within 0.4 and 2.5."""
    search = DepthSearch(np.array([start, start]), np.array([9.0, 9.0]))
    ones = np.ones(2)
    next_depths(search, ones, power, ones)
    second = search.depths
    next_depths(search, ones, power, ones)
    np.testing.assert_allclose(search.depths, second * second ** (-power / taken), rtol=1e-12)


def test_where_stiffnesses_are_known_steps_are_newtons_and_depths_may_count_from_anywhere() -> None:
    """A linear spring f = k (d - d0) is met by the second step, whatever d0 is."""
    k, d0 = np.array([2e3, 5e3]), np.array([2e-3, 3e-3])
    search = DepthSearch(np.array([2.5e-3, 3.5e-3]), np.array([1.0, 1.0]))
    wanted = np.array([0.8, 2.0])
    forces = k * (search.depths - d0)
    assert search.simulated(forces, wanted / forces, None, k)
    np.testing.assert_allclose(k * (search.depths - d0), wanted, rtol=1e-9)


def test_one_step_never_asks_for_more_than_three_times_or_less_than_three_tenths_of_the_force() -> None:
    start = np.array([1e-3, 1e-3])
    search = DepthSearch(start, ROOM)
    assert search.simulated(np.ones(2), np.array([100.0, 0.001]), SHORT)
    np.testing.assert_allclose(search.depths, start * np.array([3.0, 0.3]) ** (2.0 / 3.0), rtol=1e-12)


def test_groups_do_not_mix_and_their_order_and_the_unit_of_force_do_not_matter() -> None:
    def run(order: list[int], unit: float) -> np.ndarray:
        start = np.array([8e-4, 9e-4])
        search = DepthSearch(start[order], ROOM[order])
        for _ in range(2):
            next_depths(search, unit * STIFFNESS[order], 1.2, unit * WANTED[order])
        return search.depths

    np.testing.assert_allclose(run([1, 0], 1.0), run([0, 1], 1.0)[::-1], rtol=1e-14)
    np.testing.assert_allclose(run([0, 1], 4.448), run([0, 1], 1.0), rtol=1e-12)
    alone = DepthSearch(np.array([8e-4]), ROOM[:1])
    for _ in range(2):
        next_depths(alone, STIFFNESS[:1], 1.2, WANTED[:1])
    np.testing.assert_allclose(alone.depths, run([0, 1], 1.0)[:1], rtol=1e-14)


def test_nothing_goes_deeper_than_it_may() -> None:
    deepest = np.array([1e-3, 2e-3])
    search = DepthSearch(np.array([5e-3, 5e-4]), deepest)
    np.testing.assert_array_equal(search.depths, [1e-3, 5e-4])
    assert search.simulated(np.ones(2), np.array([3.0, 3.0]), SHORT)
    np.testing.assert_allclose(search.depths, [1e-3, 5e-4 * 3.0 ** (2.0 / 3.0)], rtol=1e-12)
    search = DepthSearch(np.array([5e-4, 1e-3]), deepest)
    assert search.failed(TOO_LITTLE)
    np.testing.assert_allclose(search.depths, deepest)  # 2.5 times would be deeper
    assert not search.failed(TOO_LITTLE)
    assert search.failure is TOO_LITTLE


def test_forces_within_half_a_percent_end_the_search_unless_something_is_missing() -> None:
    def search() -> DepthSearch:
        return DepthSearch(np.array([1e-3]), ROOM[:1])

    # (2/3) log(scale) within 0.004
    assert not search().simulated(np.ones(1), np.array([1.005]), None)
    short = search()
    assert short.simulated(np.ones(1), np.array([1.005]), SHORT)
    np.testing.assert_allclose(short.depths, [1.05e-3], rtol=1e-12)
    assert short.failure is SHORT
    more = search()
    assert more.simulated(np.ones(1), np.array([1.01**1.5]), SHORT)
    np.testing.assert_allclose(more.depths, [1.01e-3], rtol=1e-12)


def test_corrections_of_less_than_a_twentieth_are_left_out_where_the_object_is_held_but_made_where_it_is_not() -> None:
    scale = np.array([1.04**1.5])  # four percent of the depth
    held, short = DepthSearch(np.array([1e-3]), ROOM[:1]), DepthSearch(np.array([1e-3]), ROOM[:1])
    assert not held.simulated(np.ones(1), scale, None)
    assert short.simulated(np.ones(1), scale, SHORT)
    np.testing.assert_allclose(short.depths, [1.04e-3], rtol=1e-12)


def run_window(
    low: float, high: float, start: float, wanted: Callable[[float], float]
) -> tuple[DepthSearch, list[float]]:
    """An object that is lost below ``low``, crushed above ``high``, and a linear spring of 1 N/m between."""
    search = DepthSearch(np.array([start]), np.array([1.0]))
    tried: list[float] = []
    for _ in range(60):
        depth = float(search.depths[0])
        tried.append(depth)
        if depth < low:
            go_on = search.failed(TOO_LITTLE)
        elif depth > high:
            go_on = search.failed(TOO_STRONG)
        else:
            go_on = search.simulated(np.array([depth]), np.array([wanted(depth) / depth]), None)
        if not go_on:
            return search, tried
    raise AssertionError(f"60 simulations and no end: {tried}")


@pytest.mark.parametrize("start", [1e-5, 1e-3, 0.013, 0.5])
@pytest.mark.parametrize(("low", "high"), [(1e-2, 1e-2 + 1.01 * CORRECTION), (1e-4, 1.2e-4), (2e-3, 1e-2)])
def test_a_window_of_depths_wider_than_a_correction_is_never_missed(start: float, low: float, high: float) -> None:
    """Halving goes on while the two sides are a tenth of the depth or a correction apart: the window fits between."""
    _, tried = run_window(low, high, start, wanted=lambda depth: depth)
    assert low <= tried[-1] <= high


def test_halving_between_too_little_and_too_strong_takes_the_geometric_mean_and_ends() -> None:
    search = DepthSearch(np.array([1e-2]), np.array([1.0]))
    assert search.failed(TOO_STRONG)
    np.testing.assert_allclose(search.depths, [4e-3], rtol=1e-12)
    assert search.failed(TOO_LITTLE)
    np.testing.assert_allclose(search.depths, [np.sqrt(4e-3 * 1e-2)], rtol=1e-12)
    assert search.failed(TOO_STRONG)
    np.testing.assert_allclose(search.depths, [np.sqrt(4e-3 * np.sqrt(4e-3 * 1e-2))], rtol=1e-12)
    # no depth is held at all: the sides close in on 7 mm, to a tenth of it and a correction
    search, tried = run_window(7e-3, 7e-3, 1e-2, wanted=lambda depth: depth)
    below, above = max(d for d in tried if d < 7e-3), min(d for d in tried if d > 7e-3)
    assert above / below <= np.exp(0.1)
    assert above - below <= CORRECTION
    assert search.failure is TOO_STRONG  # not what is missing with less: that more would be too strong is the reason


@pytest.mark.parametrize("start", [1.1e-3, 2e-3, 3.9e-3])
def test_a_depth_that_has_failed_is_never_passed_again(start: float) -> None:
    """The wanted force lies below what is lost, then above what is crushed: the search stays between and ends."""
    low, high = 1e-3, 4e-3
    for wanted, side in ((0.3e-3, min), (9e-3, max)):
        _, tried = run_window(low, high, start, wanted=lambda depth, wanted=wanted: wanted)
        for k, depth in enumerate(tried):
            assert all(depth > other for other in tried[:k] if other < low)
            assert all(depth < other for other in tried[:k] if other > high)
        held = [depth for depth in tried if low <= depth <= high]
        edge = low if side is min else high
        # what is held comes closer to the edge than where it began
        assert abs(np.log(side(held) / edge)) < abs(np.log(start / edge))


def test_after_two_times_pushed_away_nothing_is_left_to_try() -> None:
    away = Failure(Reason.PUSHED_AWAY, 0.5, "N")
    search = DepthSearch(np.array([1e-4]), np.array([1.0]))
    assert search.failed(away)
    np.testing.assert_allclose(search.depths, [2.5e-4], rtol=1e-12)
    assert not search.failed(away)
    assert search.failure is away


def test_a_search_that_simulated_nothing_says_that_the_object_was_never_held() -> None:
    assert DepthSearch(np.array([1e-4]), np.array([1.0])).failure == Failure(Reason.NEVER_HELD, np.inf)


def test_less_than_what_holds_is_tried_between_what_holds_and_what_was_lost() -> None:
    search = DepthSearch(np.array([4e-3]), np.array([1.0]))
    assert search.simulated(np.ones(1), np.array([0.3]), None)
    lost = float(search.depths[0])
    assert search.failed(Failure(Reason.SLIPS, 0.2, "N"))
    np.testing.assert_allclose(search.depths, [np.sqrt(lost * 4e-3)], rtol=1e-12)
    assert search.failure.reason == "slips"


@pytest.mark.parametrize("reason", [Reason.TORQUE_LIMIT, Reason.CANNOT_COMMAND, Reason.NO_SQUEEZE])
def test_what_joints_cannot_do_is_tried_once_deeper_and_then_told(reason: Reason) -> None:
    search = DepthSearch(np.array([1e-4, 2e-4]), np.array([0.01, 0.01]))
    failure = Failure(reason, 1.5)
    assert search.failed(failure)
    np.testing.assert_allclose(search.depths, [2.5e-4, 5e-4])
    assert not search.failed(failure)
    assert search.failure is failure
