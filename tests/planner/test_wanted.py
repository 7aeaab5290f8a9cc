"""The forces that a held object needs, with reserves for friction and weight, beside closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from small_tasks import ball

from pliant.constants import GRAVITY
from pliant.grasp import ContactSet
from pliant.planner.drives import Drives
from pliant.planner.reasons import Reason
from pliant.planner.results import Reserve
from pliant.planner.task import Push, Uncertainty
from pliant.planner.wanted import LEANS, WantedForces, around_sphere, margin_force, push_wrenches, tipping
from pliant.planner.weight import Weight

WEIGHT, FRICTION, RADIUS = 2.0, 0.6, 0.03


def around(count: int = 3, friction: float = FRICTION, max_force: float = np.inf) -> ContactSet:
    """Contacts evenly around a vertical cylinder, level with its centre, normals inwards."""
    angles = 2.0 * np.pi * np.arange(count) / count
    out = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)])
    return ContactSet.from_arrays(RADIUS * out, -out, friction=friction, max_force=max_force, radius=0.003)


def below() -> ContactSet:
    """Three contacts that carry from below, normals straight up."""
    angles = 2.0 * np.pi * np.arange(3) / 3
    points = RADIUS * np.column_stack([np.cos(angles), np.sin(angles), np.full(3, -1.0)])
    return ContactSet.from_arrays(points, np.tile([0.0, 0.0, 1.0], (3, 1)), friction=FRICTION, radius=0.003)


def wanted(
    reserve: Reserve, margin: float = 0.1, gravity: float = GRAVITY, pushes: tuple[Push, ...] = ()
) -> WantedForces:
    weight = Weight(ball(mass=WEIGHT / GRAVITY), np.array([0.0, 0.0, -gravity]))
    return WantedForces(weight, margin=margin, reserve=reserve, pushes=pushes)


def able(contacts: ContactSet) -> Drives:
    """Joints that can command everything, without limits or weight of their own; stiff."""
    size = contacts.layout.size
    return Drives(np.eye(size), np.full(size, np.inf), np.zeros(size), np.zeros(size))


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("reserve", [Reserve(), Reserve(0.85, 1.05), Reserve(0.5, 1.5)])
def test_contacts_around_a_cylinder_need_the_heaviest_weight_over_the_least_friction(
    count: int, reserve: Reserve
) -> None:
    """Each bears W / n along the surface: f_n = (load W / n + delta) / (friction mu)."""
    forces = wanted(reserve)
    answer = forces.solve(around(count), np.zeros(3), able(around(count)))
    assert answer.forces is not None
    needed = (reserve.load * WEIGHT / count + 0.1) / (reserve.friction * FRICTION)
    np.testing.assert_allclose(answer.forces[:, 2], needed, rtol=1e-4)
    # the wanted forces are those before anything is heavier: they balance the nominal weight
    np.testing.assert_allclose(answer.forces_world.sum(axis=0), [0.0, 0.0, WEIGHT], atol=1e-6)
    nominal = (WEIGHT / count + 0.1) / FRICTION
    assert forces.nominal_force(around(count), np.zeros(3), able(around(count))) == pytest.approx(nominal, rel=1e-4)


@pytest.mark.parametrize(("height", "falls"), [(0.02, True), (0.0031, True), (0.0029, False), (-0.02, False)])
def test_a_pinch_that_an_object_stands_on_bears_its_falling_over(height: float, falls: bool) -> None:
    """Patches with the arm e = 3 pi a / 16, the weight s beside the line between them: each bears W / 2 along its face
    and W s / 2 about its normal, so mu f = hypot(W / 2, W s / 2 e) + delta; s is half as much again as it lies beside
    the plan, since it leans. An object that hangs swings back."""
    beside, arm = 0.003, 3.0 * np.pi / 16.0 * 0.003
    weight = Weight(ball(mass=WEIGHT / GRAVITY), np.array([0.0, 0.0, -GRAVITY]))
    forces = WantedForces(weight, margin=0.1, reserve=Reserve(), beside=beside)
    centre, drives = np.array([0.0, 0.0, height]), able(around(2))
    answer = forces.solve(around(2), centre, drives)
    assert answer.forces is not None
    borne = np.hypot(WEIGHT / 2, LEANS * WEIGHT * beside / 2 / arm if falls else 0.0)
    np.testing.assert_allclose(answer.forces[:, 2], (borne + 0.1) / FRICTION, rtol=1e-4)
    usage = forces.friction(around(2), centre, drives, answer.forces[:, 2]).usage
    steady = wanted(Reserve()).friction(around(2), centre, drives, answer.forces[:, 2]).usage
    assert (usage > 1.2 * steady) is falls


def test_three_contacts_and_an_upright_pinch_do_not_tip() -> None:
    weight, above = np.array([0.0, 0.0, -WEIGHT]), np.array([0.0, 0.0, 0.02])
    assert tipping(around(3).points, above, weight, 0.003) is None
    upright = np.array([[0.0, 0.0, -0.03], [0.0, 0.0, 0.03]])
    torque = tipping(upright, above, weight, 0.003)
    assert torque is None or np.linalg.norm(torque) < 1e-12
    slope = np.array([[0.0, 0.0, 0.0], [0.0, 0.03, 0.03]])
    torque = tipping(slope, above, weight, 0.003)
    np.testing.assert_allclose(
        np.abs(torque), LEANS * WEIGHT * 0.003 * np.sqrt(0.5) * np.sqrt(0.5) * np.array([0, 1, 1])
    )


def test_friction_that_balances_is_judged_in_the_worst_world() -> None:
    """Usage is load W / (n friction mu f_n)."""
    normal = np.full(3, 2.0)
    for reserve in (Reserve(), Reserve(0.85, 1.05), Reserve(0.5, 1.5)):
        usage = wanted(reserve).friction(around(), np.zeros(3), able(around()), normal).usage
        expected = reserve.load * WEIGHT / 3 / (reserve.friction * FRICTION * 2.0)
        # the balance may leave a fiftieth of the larger of load and normal force
        assert usage == pytest.approx(expected, abs=0.02 * 2.0 / (reserve.friction * FRICTION * 2.0))
        assert usage < expected


def test_what_carries_from_below_presses_harder_by_itself_when_the_object_is_heavier() -> None:
    """Normal forces of W / 3 balance the weight; with a heavier one they grow, so none must be asked for before."""
    forces = wanted(Reserve(0.85, 1.2), margin=0.0)
    answer = forces.solve(below(), np.zeros(3), able(below()))
    assert answer.forces is not None
    np.testing.assert_allclose(answer.forces[:, 2], WEIGHT / 3, rtol=1e-4)
    assert forces.friction(below(), np.zeros(3), able(below()), np.full(3, WEIGHT / 3)).usage < 0.2


def test_a_lighter_object_counts_too() -> None:
    """Two contacts below the middle, normals up by a: the squeeze drives a light object up, friction must hold it down.

    Springs that are alike share a change of weight evenly, so n loses 0.15 W sin a; then 2 (n sin a - t cos a) = 0.7 W.
    """
    a, mu, n = np.radians(50.0), 0.2, 1.4
    points = RADIUS * np.array([[np.cos(a), 0.0, -np.sin(a)], [-np.cos(a), 0.0, -np.sin(a)]])
    contacts = ContactSet.from_arrays(points, -points / RADIUS, friction=mu, radius=0.003)
    left = n - 0.15 * WEIGHT * np.sin(a)
    usage = (left * np.sin(a) - 0.35 * WEIGHT) / (mu * left * np.cos(a))
    heavy = abs((n + 0.15 * WEIGHT * np.sin(a)) * np.sin(a) - 0.65 * WEIGHT) / (mu * n * np.cos(a))
    assert usage > 1.0 > heavy
    found = wanted(Reserve(1.0, 1.3), margin=0.0).friction(contacts, np.zeros(3), able(contacts), np.full(2, n)).usage
    # the balance may leave a fiftieth of the load
    assert found == pytest.approx(usage, abs=0.02 * WEIGHT / (2.0 * mu * left * np.cos(a)))
    assert wanted(Reserve(), margin=0.0).friction(contacts, np.zeros(3), able(contacts), np.full(2, n)).usage < 1.0


def test_no_reserve_comes_from_no_uncertainty_and_the_default_is_fifteen_and_five_percent() -> None:
    assert Reserve.of(Uncertainty(0.003, 0.05, 0.0, 0.0, 0.2)) == Reserve()
    default = Reserve.of(Uncertainty())
    assert (default.friction, default.load) == (pytest.approx(0.85), pytest.approx(1.05))


def test_a_limit_between_nominal_and_reserved_force_is_told_with_the_force_that_would_hold() -> None:
    reserve = Reserve(0.85, 1.05)
    nominal, reserved = (WEIGHT / 3 + 0.1) / FRICTION, (1.05 * WEIGHT / 3 + 0.1) / (0.85 * FRICTION)
    contacts = around(max_force=0.5 * (nominal + reserved) + 0.1)
    assert wanted(Reserve()).solve(contacts, np.zeros(3), able(contacts)).feasible
    assert not wanted(reserve).solve(contacts, np.zeros(3), able(contacts)).feasible
    failure = wanted(reserve).failure(contacts, np.zeros(3), able(contacts))
    assert failure.reason is Reason.NEEDS_MORE_FORCE
    assert failure.margin == pytest.approx(np.hypot(reserved, 1.05 * WEIGHT / 3), rel=1e-3)


@pytest.mark.parametrize("reserve", [Reserve(), Reserve(0.85, 1.05)])
def test_a_pinch_without_weight_pushed_along_its_pads_needs_the_push_over_twice_the_friction(reserve: Reserve) -> None:
    """N = F / (2 mu), and with a margin (F / 2 + delta) / mu; nothing weighs, so a reserve for mass changes nothing."""
    push = 0.8
    for margin in (0.0, 0.1):
        forces = wanted(reserve, margin, gravity=0.0, pushes=(Push(force=(0.0, push, 0.0)),))
        answer = forces.solve(around(2), np.zeros(3), able(around(2)))
        assert answer.forces is not None
        needed = (push / 2 + margin) / (reserve.friction * FRICTION)
        np.testing.assert_allclose(answer.forces[:, 2], needed, rtol=1e-4)
        # the squeeze is there before the push comes, and balances itself
        np.testing.assert_allclose(answer.forces_world.sum(axis=0), np.zeros(3), atol=1e-6)
        usage = forces.friction(around(2), np.zeros(3), able(around(2)), np.full(2, needed)).usage
        assert usage == pytest.approx((push / 2) / (needed * reserve.friction * FRICTION), rel=0.03)


def test_a_push_sideways_on_three_contacts_in_a_chuck() -> None:
    """One joint moves all three inwards alike, so all press with n; springs that are alike answer a push P evenly.

    The contact ahead of the push gains P / 3. Those at 120 degrees lose P / 6 and bear hypot(P sin(60) / 3, W / 3)
    along the surface: n = P / 6 + hypot(P sin(60) / 3, W / 3) / mu.
    """
    push = 0.9
    contacts = around()
    J = np.zeros((contacts.layout.size, 1))
    J[contacts.layout.normal] = 1.0
    chuck = Drives(J, np.full(1, np.inf), np.zeros(1), np.zeros(1))
    forces = wanted(Reserve(), margin=0.0, pushes=(Push(force=(push, 0.0, 0.0)),))
    answer = forces.solve(contacts, np.zeros(3), chuck)
    assert answer.forces is not None
    needed = push / 6 + np.hypot(push * np.sin(np.pi / 3) / 3, WEIGHT / 3) / FRICTION
    np.testing.assert_allclose(answer.forces[:, 2], needed, rtol=1e-4)
    # drives that can do more than close the chuck need less: they may lean against the push beforehand
    able_forces = forces.solve(contacts, np.zeros(3), able(contacts))
    assert able_forces.largest_force < answer.largest_force


def test_any_force_is_a_set_of_pushes_whose_hull_contains_the_sphere_and_little_more() -> None:
    points = around_sphere()
    hull = ConvexHull(points)
    assert len(points) == len(hull.vertices) == 32
    assert -hull.equations[:, 3].max() == pytest.approx(1.0)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0839, atol=1e-4)
    wrenches = push_wrenches((Push(any_force=0.5), Push(force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3))))
    np.testing.assert_allclose(wrenches[:32, :3], 0.5 * points)
    np.testing.assert_array_equal(wrenches[32], [1.0, 2.0, 3.0, 0.1, 0.2, 0.3])


def test_a_pinch_holds_a_push_from_any_direction_with_the_friction_that_weight_and_push_need_together() -> None:
    """Springs that are alike: the worst push adds to the weight, (W + P) / (2 mu); 8.4 % of P more at most."""
    push = 0.7
    forces = wanted(Reserve(), margin=0.0, pushes=(Push(any_force=push),))
    answer = forces.solve(around(2), np.zeros(3), able(around(2)))
    assert answer.forces is not None
    # a push that also leans on one pad takes n from the other: max over directions of P cos(b) / (2 mu) + P sin(b) / 2
    leaning = np.hypot(1.0 / FRICTION, 1.0) / 2.0
    low, high = (WEIGHT / (2 * FRICTION) + factor * push * leaning for factor in (0.8, 1.084))
    assert (WEIGHT + push) / (2 * FRICTION) <= answer.forces[:, 2].max() <= high
    assert low <= answer.forces[:, 2].max()


def test_the_margin_is_a_part_of_the_weight_on_earth_and_never_vanishes_with_the_load() -> None:
    down, none = (0.0, 0.0, -GRAVITY), (0.0, 0.0, 0.0)
    assert margin_force(0.05, 2.0, down, ()) == pytest.approx(0.1 * GRAVITY)
    assert margin_force(0.05, 2.0, none, ()) == pytest.approx(0.1 * GRAVITY)
    assert margin_force(0.0, 2.0, down, ()) == 0.0
    assert margin_force(0.0, 2.0, none, (Push(any_force=1.0),)) == 0.0
    assert margin_force(0.0, 2.0, none, ()) == pytest.approx(0.1 * GRAVITY)
    # without any load the margin alone makes the squeeze: delta / mu
    forces = wanted(Reserve(), margin=0.1, gravity=0.0).solve(around(), np.zeros(3), able(around())).forces
    assert forces is not None
    np.testing.assert_allclose(forces[:, 2], 0.1 / FRICTION, rtol=1e-4)
