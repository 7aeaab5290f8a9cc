"""The second judge against closed forms and a fine finite-element answer."""

from __future__ import annotations

import itertools

import numpy as np
import pinocchio as pin
import pytest
from pressed_ball import PLATES, POISSON, RADIUS, YOUNG, plates, pressed_ball

from pliant.elastic import fill_graded
from pliant.judge import (
    BodyState,
    FlatTouch,
    GraspVerdict,
    History,
    Instant,
    Outcome,
    Partner,
    PlayedOperation,
    condense,
    play,
)
from pliant.objects import make_shape, smooth_surface

SOFT_DRAG = np.array([20.0, 20.0, 20.0, 0.01, 0.01, 0.01])
"""So little that steps of the tests, 0.1 mm, cost 2 mN of some newtons."""


def closed(history: History, depth: float, steps: int = 6) -> tuple[BodyState, Instant]:
    """The ball pressed by both plates, step by step."""
    knots = [Instant(plates(x), np.zeros(6)) for x in np.linspace(0.0, depth, steps + 1)]
    state = history.start(pin.SE3(np.eye(3), history.body.centre))
    for a, b in itertools.pairwise(knots):
        new = history.advance(state, a, b, SOFT_DRAG)
        assert new is not None
        state = new
    return state, knots[-1]


@pytest.mark.parametrize(("depth", "force"), [(0.6e-3, 2.2703), (1.5e-3, 9.3145)])
def test_a_ball_between_plates_pushes_back_as_fine_finite_elements_say(depth: float, force: float) -> None:
    """truth: ball R = 30 mm, E = 0.5 MPa, nu = 0.45; own error at this mesh by the table of the theory page."""
    history = History(pressed_ball(), PLATES, 0.0, None)
    for found in history.forces(*closed(history, depth)):
        assert found.normal == pytest.approx(force, rel=0.01)
        assert found.at_rim < 0.02


def test_partial_slip_follows_cattaneo_and_mindlin() -> None:
    """Q on a contact pressed with N: sticking within c = a (1 - Q / mu N)^(1/3), so that the share
    (1 - (c / a)^2)^(3/2) of N slips, and the part beyond the elastic one of the way goes with 1 - (1 - Q / mu N)^(2/3).
    """
    mu, depth = 0.4, 1.2e-3
    history = History(pressed_ball(), PLATES, mu, None)
    state, now = closed(history, depth)
    N = history.forces(state, now)[0].normal
    G = YOUNG / (2.0 * (1.0 + POISSON))
    a = (3.0 * N * RADIUS * (1.0 - POISSON**2) / (4.0 * YOUNG)) ** (1.0 / 3.0)
    start = state.T_world_body.translation[0]
    way, shares, rows = [], [], np.array([0.02, 0.2, 0.4, 0.6, 0.75, 0.9])
    for used in rows:
        then = Instant(now.poses, np.array([2.0 * used * mu * N, 0.0, 0.0, 0.0, 0.0, 0.0]))
        new = history.advance(state, now, then, SOFT_DRAG)
        assert new is not None
        state, now = new, then
        way.append(state.T_world_body.translation[0] - start)
        shares.append(np.mean([force.sliding for force in history.forces(state, now)]))
    sticking = (1.0 - rows) ** (1.0 / 3.0)
    # rings of elements, a quarter of the radius wide, slip as a whole or not at all
    assert np.abs(np.array(shares) - (1.0 - sticking**2) ** 1.5).max() < 0.12
    slope = (2.0 - POISSON) / (8.0 * G * a)
    mindlin = 1.5 * slope * mu * N * (1.0 - (1.0 - rows) ** (2.0 / 3.0))
    body = (way[0] - mindlin[0]) / rows[0]  # what the ball gives as a whole, in proportion to Q
    # 6 % at this mesh, in the theory page's table less at finer ones; without slip it would be 34 % at the end
    assert np.abs(np.array(way) / (body * rows + mindlin) - 1.0).max() < 0.06
    assert way[-1] / (body * rows + slope * mu * N * rows)[-1] > 1.25


@pytest.mark.parametrize(("over", "holds"), [(1.02, True), (0.98, False)])
def test_a_block_stays_on_a_slope_up_to_the_friction_angle(over: float, holds: bool) -> None:
    """It slides if and only if tan(slope) > mu; tilting forward, the front edge carries more."""
    smooth = smooth_surface(make_shape("box", size=(0.04, 0.04, 0.02), edge=0.02))
    tets = fill_graded(smooth, np.array([[0.0, 0.0, -0.01]]), 0.01, 0.05, 0.01)
    body = condense(tets, smooth, [0], lambda _k, x: x[:, 2] < -0.0099, young=YOUNG, poisson=POISSON, mass=0.032)
    mu, weight = 0.5, 0.032 * 9.81
    slope = np.arctan(mu / over)
    history = History(body, [Partner("slope", FlatTouch())], mu, None)
    pull = weight * np.array([np.sin(slope), 0.0, -np.cos(slope), 0.0, 0.0, 0.0])
    poses = (pin.SE3.Identity(),)
    state = history.start(pin.SE3(np.eye(3), body.centre + np.array([0.0, 0.0, 0.01])))
    drag = weight / 3e-4 * np.array([1.0, 1.0, 1.0, 4e-4, 4e-4, 4e-4])
    last = Instant(poses, np.array([0.0, 0.0, pull[2], 0.0, 0.0, 0.0]))
    for _ in range(10):
        state = history.advance(state, last, last, drag) or state
    for share in (0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        then = Instant(poses, pull * [share, 1.0, 1.0, 1.0, 1.0, 1.0])
        new = history.advance(state, last, then, drag)
        assert new is not None
        state, last = new, then
    assert (state.moved < 3e-7) == holds
    if not holds:  # the unbalanced 2 % of the pull move it against the drag
        assert state.moved == pytest.approx((1.0 - over) * weight * np.sin(slope) / drag[0], rel=0.1)


def pinched(weight: float, mu: float, depth: float, tilt: float = 0.0) -> Outcome:
    closing = tuple(plates(x, tilt=tilt) for x in np.linspace(0.0, depth, 3))
    start = pin.SE3(np.eye(3), pressed_ball().centre)
    operation = PlayedOperation(start, closing, np.array([weight, 0.0, 0.0]))
    return play(History(pressed_ball(), PLATES, mu, None), operation)


def test_a_pinched_ball_falls_below_half_its_weight_over_the_normal_force() -> None:
    """Two opposed contacts hold W if and only if 2 mu N >= W; measured with a finer mesh the limit is met to 0.6 %."""
    weight, depth = 1.5, 1.0e-3
    firm = pinched(weight, 1.0, depth)
    assert firm.verdict is GraspVerdict.HELD and max(firm.slid) < 1e-12
    N = np.mean([force.normal for force in firm.forces])
    assert [force.tangential for force in firm.forces] == pytest.approx([weight / 2.0] * 2, rel=0.01)
    limit = weight / (2.0 * N)
    assert pinched(weight, 1.02 * limit, depth).verdict is GraspVerdict.HELD
    assert pinched(weight, 0.98 * limit, depth).verdict is GraspVerdict.FALLS


def test_a_ball_that_slides_into_a_wedge_is_told_apart_from_one_that_never_slid() -> None:
    """It slides until 2 N (sin t + mu cos t) = W: friction is at its limit when it stops."""
    weight, mu, tilt = 0.3, 0.05, np.deg2rad(6.0)
    found = pinched(weight, mu, 1e-4, tilt)
    assert found.verdict is GraspVerdict.SLID_THEN_HELD and found.verdict.holds
    wanted = weight / (2.0 * (np.sin(tilt) + mu * np.cos(tilt)))
    assert [force.normal for force in found.forces] == pytest.approx([wanted] * 2, rel=0.02)
    # the plates come sin(t) closer for every unit of its way
    assert min(found.slid) > 1e-3 and min(found.slid) == pytest.approx(found.moved[0] * np.cos(tilt), rel=0.1)


def test_pushes_come_on_top_of_the_weight_and_the_one_that_is_not_borne_is_named() -> None:
    """Two contacts of 5 N at mu = 0.3 bear 3 N across: weight 1.5 N and a push of 1.2 N, but not one of 1.8 N."""
    closing = tuple(plates(x) for x in np.linspace(0.0, 1e-3, 3))
    pushes = tuple(np.array([size, 0.0, 0.0, 0.0, 0.0, 0.0]) for size in (1.2, 1.8))
    start = pin.SE3(np.eye(3), pressed_ball().centre)
    operation = PlayedOperation(start, closing, np.array([1.5, 0.0, 0.0]), pushes)
    found = play(History(pressed_ball(), PLATES, 0.3, None), operation)
    assert found.verdict is GraspVerdict.FALLS
    assert found.push is not None and found.push[0] == 1.8
    # forces are those under the weight alone
    assert sum(force.tangential for force in found.forces) == pytest.approx(1.5, rel=0.01)


def test_an_object_stands_on_its_support_until_that_sinks_away() -> None:
    """One plate is the support: it carries the weight, the ball stays where it was put; nothing else holds it."""
    body, weight = pressed_ball(), 1.0
    support = Partner("table", FlatTouch(), support=True)
    above, below = plates(0.0)
    away = pin.SE3(above.rotation, above.translation + np.array([0.0, 0.0, 0.05]))
    operation = PlayedOperation(pin.SE3(np.eye(3), body.centre), ((away, below),) * 2, np.array([0.0, 0.0, -weight]))
    found = play(History(body, (PLATES[0], support), 0.5, None), operation)
    assert found.verdict is GraspVerdict.FALLS
    hand, table = found.squeezed
    assert hand.normal == 0.0 and table.normal == pytest.approx(weight, rel=1e-3)
