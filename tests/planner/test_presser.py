"""A ball between the two pads of a gripper: everything about its forces is known in closed form.

Both pads press with n and carry t each; where their normals look up by an angle a, balance and the margin against
slipping give 2 (n sin a + t cos a) = W with t = mu n - delta, so the smallest sufficient force is
n = (W / 2 + delta cos a) / (sin a + mu cos a), nearly (1 / 2 + delta / W) W / mu. With a reserve W and mu are those of
its worst world: the pads share a heavier load evenly, along the surface.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from small_tasks import ball, gripper

from pliant.contact import PreparedObject
from pliant.objects import Body, ContactLimits
from pliant.planner.closing_hand import ClosingHand
from pliant.planner.depth_search import CORRECTION
from pliant.planner.pressing import Held, Presser
from pliant.planner.reasons import Failure, Reason
from pliant.planner.results import Reserve
from pliant.planner.wanted import WantedForces

GRAVITY = 9.80665
CLOSE_ENOUGH = 1.1
"""Simulated over smallest sufficient force that needs no more correction: that is close from above."""
RADIUS = 0.03
NO_RESERVE = Reserve()
PLACE = pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.3]))
DOWN = np.diag([1.0, -1.0, -1.0])
NORMALS = 2e-4
"""How much the upward slopes of the two contact normals may differ [rad]."""


@cache
def hand(friction: float) -> ClosingHand:
    return ClosingHand(gripper(), friction=friction)


@cache
def prepared(young: float) -> PreparedObject:
    return PreparedObject.of(ball().mesh, young=young, poisson=0.45, model="halfspace")


@dataclass(frozen=True)
class Pinch:
    """The gripper over a ball, looking down; it opens along x."""

    body: Body
    margin: float = 0.05
    T_world_start: pin.SE3 = PLACE
    reserve: Reserve = NO_RESERVE

    @property
    def presser(self) -> Presser:
        material = self.body.material
        object_, pads = prepared(material.young), hand(material.friction)
        return Presser(object_, self.body, pads, WantedForces.of(self.body, margin=self.margin, reserve=self.reserve))

    @property
    def T_world_palm(self) -> pin.SE3:
        return self.T_world_start * pin.SE3(DOWN, np.array([0.0, 0.0, gripper().hand.palm.length - 0.01]))

    def pose(self, depths: np.ndarray) -> tuple[np.ndarray, pin.SE3]:
        """Either pad is as deep in the undeformed ball as asked for."""
        return np.array([RADIUS - float(depths[0])]), self.T_world_palm

    def hold(
        self,
        first: float | None = None,
        deepest: float = 0.01,
        pose: Callable[[np.ndarray], tuple[np.ndarray, pin.SE3]] | None = None,
        tries: int = 14,
    ) -> Held | Failure:
        depths = np.array([self.presser.first_depth(2) if first is None else first])
        most = np.array([deepest])
        owner = lambda link: 0 if link.finger else -1  # noqa: E731
        return self.presser.hold(pose or self.pose, depths, most, self.T_world_start, owner, tries=tries)

    def held(self, first: float | None = None) -> Held:
        answer = self.hold(first)
        assert isinstance(answer, Held), answer
        return answer

    def smallest(self, held: Held) -> float:
        """The smallest sufficient normal force at the normals of a held ball [N]."""
        weight = GRAVITY * self.body.mass
        up = np.array([region.normal[2] for region in held.state.regions])
        assert np.ptp(up) < NORMALS
        a, mu = float(np.arcsin(up.mean())), self.reserve.friction * self.body.material.friction
        return float(
            (0.5 * self.reserve.load * weight + self.margin * weight * np.cos(a)) / (np.sin(a) + mu * np.cos(a))
        )


PINCHES = [
    Pinch(ball()),
    Pinch(ball(), margin=0.0),
    Pinch(ball(), margin=0.2),
    Pinch(ball(mass=0.36)),
    Pinch(ball(friction=0.3)),
    Pinch(ball(young=1e5)),
    Pinch(ball(), reserve=Reserve(0.85, 1.05)),
    Pinch(ball(), reserve=Reserve(0.75, 1.2)),
]


@pytest.mark.parametrize("pinch", PINCHES)
def test_the_wanted_force_is_half_the_weight_and_the_margin_over_friction(pinch: Pinch) -> None:
    held = pinch.held()
    assert held.wanted.forces is not None
    assert {link.name for link in held.links} == {"left_finger", "right_finger"}
    mu = pinch.reserve.friction * pinch.body.material.friction
    # dn / n = da / mu, the closed form takes the mean of two normals
    np.testing.assert_allclose(held.wanted.forces[:, 2], pinch.smallest(held), rtol=NORMALS / mu)
    simple = (0.5 * pinch.reserve.load + pinch.margin) * GRAVITY * pinch.body.mass / mu
    # the normals turn up by no more than the ball has sagged over its radius
    sag = PLACE.translation[2] - held.state.T_world_object.translation[2]
    assert 0.0 < sag < 0.002
    assert pinch.smallest(held) == pytest.approx(simple, rel=sag / RADIUS / mu)


@pytest.mark.parametrize("pinch", PINCHES)
def test_simulated_forces_are_close_to_the_smallest_sufficient_ones_from_above(pinch: Pinch) -> None:
    held = pinch.held()
    # condition (8) is judged to a thousandth
    assert held.normal_forces.min() >= (1.0 - 1.1e-3) * pinch.smallest(held)
    assert held.normal_forces.max() <= CLOSE_ENOUGH * (1.0 + NORMALS / 0.3) * pinch.smallest(held)
    assert pinch.presser.shortfall(held) is None
    assert pinch.presser.excess(held) < CORRECTION


@pytest.mark.parametrize("pinch", PINCHES)
def test_simulated_forces_balance_the_weight_and_stay_within_friction(pinch: Pinch) -> None:
    held = pinch.held()
    regions = held.state.regions
    weight = np.array([0.0, 0.0, -GRAVITY * pinch.body.mass])
    np.testing.assert_allclose(held.load, [*weight, 0.0, 0.0, 0.0])
    # the object settles until it would move by less than 0.5 % of the deepest contact: this times the stiffness is left
    left = 5e-3 * max(r.depth for r in regions) * sum(float(np.diag(r.stiffness).max()) for r in regions)
    assert left < 0.03 * np.linalg.norm(weight)
    force = np.sum([region.force for region in regions], axis=0) + weight
    torque = np.sum([np.cross(region.centre - held.centre, region.force) for region in regions], axis=0)
    assert np.linalg.norm(force) < left
    assert np.linalg.norm(torque) < left * RADIUS
    for region in regions:
        assert np.hypot(*region.tangential_force) <= 1.0001 * pinch.body.material.friction * region.normal_force
        # the inward normals are opposed: each looks from its pad to the middle
        assert region.normal @ (held.centre - region.centre) > 0.99 * np.linalg.norm(held.centre - region.centre)


@pytest.mark.parametrize("first", [1e-5, 1e-4, 5e-4, 2e-3, 5e-3])
def test_where_the_pressing_begins_does_not_matter(first: float) -> None:
    pinch = Pinch(ball())
    held = pinch.held(first)
    assert held.normal_forces.min() >= (1.0 - 1.1e-3) * pinch.smallest(held)
    assert held.normal_forces.max() <= CLOSE_ENOUGH * (1.0 + NORMALS / 0.3) * pinch.smallest(held)


def test_a_world_turned_about_the_vertical_and_shifted_changes_nothing() -> None:
    here = Pinch(ball()).held()
    moved = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.7), np.array([1.0, -2.0, 3.0]))
    there = Pinch(ball(), T_world_start=moved * PLACE).held()
    np.testing.assert_allclose(there.normal_forces, here.normal_forces, rtol=1e-6)
    np.testing.assert_allclose(there.depths, here.depths, rtol=1e-6)
    np.testing.assert_allclose(there.centre, moved.act(here.centre), atol=1e-9)
    for a, b in zip(there.state.regions, here.state.regions, strict=True):
        np.testing.assert_allclose(a.force, moved.rotation @ b.force, atol=1e-6)


def test_the_centre_of_mass_is_that_of_the_deformed_ball_where_it_settled() -> None:
    pinch = Pinch(ball())
    held = pinch.held()
    T = held.state.T_world_object
    np.testing.assert_allclose(held.centre_at_rest, T.act(pinch.body.centre_of_mass()), atol=1e-12)
    deformed = pinch.body.deformed(held.vertices).centre_of_mass()
    np.testing.assert_allclose(held.centre, T.act(deformed), atol=1e-12)
    assert 0.0 < np.abs(held.vertices - pinch.body.mesh.vertices).max() < 2.0 * held.depths[0]
    assert held.level is None


def test_the_first_depth_is_three_times_the_hertz_depth_of_a_pads_share_of_the_weight() -> None:
    """F = 4/3 E* sqrt(R) d^(3/2) with R = 10 mm."""
    for mass, friction, young, count in ((0.12, 0.6, 5e5, 2), (0.03, 0.6, 5e5, 3), (0.12, 0.3, 2e6, 2)):
        depth = Pinch(ball(young=young, mass=mass, friction=friction)).presser.first_depth(count)
        plane = young / (1.0 - 0.45**2)
        share = 4.0 / 3.0 * plane * np.sqrt(0.01) * (depth / 3.0) ** 1.5
        assert share == pytest.approx(mass * GRAVITY / (count * friction), rel=1e-9)
    very_soft = Pinch(ball(young=10.0))
    assert very_soft.presser.first_depth(2) == pytest.approx(0.1 * prepared(10.0).surface.size)


def test_a_shortfall_names_the_link_and_what_is_missing_there() -> None:
    pinch = Pinch(ball())
    held = pinch.held()
    assert held.wanted.forces is not None
    forces = held.wanted.forces.copy()
    forces[1, 2] = held.normal_forces[1] + 0.25
    failure = pinch.presser.shortfall(replace(held, wanted=replace(held.wanted, forces=forces)))
    assert failure is not None
    assert failure.reason == "force too small"
    assert failure.margin == pytest.approx(0.25)
    assert held.links[1].name in failure.detail
    slipping = replace(held, friction=replace(held.friction, usage=1.2))
    failure = pinch.presser.shortfall(slipping)
    assert failure == Failure(Reason.FRICTION_UNBALANCED, 1.2, "of the friction there is")


def test_the_excess_is_the_way_that_the_tightest_wanted_contact_could_give() -> None:
    pinch = Pinch(ball())
    held = pinch.held()
    stiffness = [float(region.stiffness[2, 2]) for region in held.state.regions]
    assert held.wanted.forces is not None
    forces = held.wanted.forces.copy()
    forces[:, 2] = held.normal_forces - np.array([3e-4 * stiffness[0], 1e-4 * stiffness[1]])
    loose = replace(held, wanted=replace(held.wanted, forces=forces))
    assert pinch.presser.excess(loose) == pytest.approx(1e-4)


def test_a_force_limit_between_what_balances_and_what_keeps_the_margin_is_told_with_the_force_that_would_hold() -> None:
    """n = W / (2 mu) balances, (1 / 2 + delta / W) W / mu keeps the margin; the limit lies between."""
    needed = 0.55 * GRAVITY * 0.12 / 0.6
    pinch = Pinch(ball(force=0.985 * needed))
    depth = Pinch(ball()).held().depths
    answer = pinch.presser.simulate(*pinch.pose(0.93 * depth), PLACE, 0.93 * depth)
    assert isinstance(answer, Failure)
    assert answer.reason == "needs more force than allowed"
    # what would hold is told as the whole force, friction included, at n and t = W / 2
    assert answer.margin == pytest.approx(np.hypot(needed, 0.5 * GRAVITY * 0.12), rel=2e-3)
    assert answer.unit == "N"


def test_forces_and_pressures_above_the_limit_are_refused_with_their_share_of_it() -> None:
    free = Pinch(ball()).held()
    force, pressure = free.largest_force, max(region.peak_pressure for region in free.state.regions)
    for body, reason in (
        (ball(force=0.8 * force), "force above the limit"),
        (ball(pressure=0.8 * pressure), "pressure above the limit"),
    ):
        pinch = Pinch(body)
        answer = pinch.presser.simulate(*pinch.pose(free.depths), PLACE, free.depths)
        assert isinstance(answer, Failure)
        assert answer.reason == reason
        # the first simulation of a search takes the ball at rest, the others as it was deformed before
        assert answer.margin == pytest.approx(1.25, rel=1e-3)
        searched = pinch.hold()
        assert isinstance(searched, Failure)
        assert searched.reason == reason


def test_a_limit_above_what_is_needed_is_kept() -> None:
    free = Pinch(ball()).held()
    limit = 1.05 * free.largest_force
    held = Pinch(ball(force=limit)).held()
    assert held.largest_force <= limit
    np.testing.assert_array_equal(held.contacts.max_force, [limit, limit])


def test_pads_that_never_reach_the_ball_and_pads_that_may_not_press_are_told() -> None:
    pinch = Pinch(ball())
    wide = pinch.hold(pose=lambda depths: (np.array([0.05]), pinch.T_world_palm))
    assert isinstance(wide, Failure)
    assert (wide.reason, wide.margin, wide.unit) == (Reason.TOO_FEW_FINGERS, 0.0, "links")
    shallow = pinch.hold(deepest=1e-4)
    assert isinstance(shallow, Failure)
    assert shallow.reason == "slips"
    assert shallow.margin == pytest.approx(GRAVITY * 0.12)


def test_a_ball_that_can_only_be_pressed_hard_is_refused_with_what_the_pads_could_give_way() -> None:
    pinch = Pinch(ball())
    hard = 1e-3

    def never_less(depths: np.ndarray) -> tuple[np.ndarray, pin.SE3]:
        return pinch.pose(np.maximum(depths, hard))

    answer = pinch.hold(pose=never_less)
    assert isinstance(answer, Failure)
    assert answer.reason == "steady only when pressed harder than wanted"
    least = pinch.presser.simulate(*pinch.pose(np.array([hard])), PLACE, np.array([hard]))
    assert isinstance(least, Held)
    assert answer.margin == pytest.approx(pinch.presser.excess(least), rel=1e-2)
    assert answer.margin > CORRECTION
    assert answer.unit == "m"


@pytest.mark.parametrize("tries", [1, 3])
def test_no_more_simulations_are_made_than_allowed(tries: int) -> None:
    pinch = Pinch(ball())
    asked = []

    def counted(depths: np.ndarray) -> tuple[np.ndarray, pin.SE3]:
        asked.append(float(depths[0]))
        return pinch.pose(depths)

    pinch.hold(first=1e-5, pose=counted, tries=tries)
    assert len(asked) == tries
    pinch.hold(first=1e-5, pose=counted)
    assert tries < len(asked) - tries <= 14


def test_forces_that_the_drive_cannot_bear_are_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One slide moves both pads, so it must push with both forces: 2 n."""
    pinch = Pinch(ball())
    depth = pinch.held().depths
    needed = 2.0 * pinch.smallest(pinch.held())
    limits = gripper().torque_limits.copy()
    for share, holds in ((1.02, True), (0.98, False)):
        limits[:] = share * needed
        monkeypatch.setattr(type(gripper()), "torque_limits", property(lambda assembly: limits))
        answer = pinch.presser.simulate(*pinch.pose(depth), PLACE, depth)
        assert isinstance(answer, Held) is holds
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.TORQUE_LIMIT
    assert answer.margin == pytest.approx(1.0 / 0.98, rel=2e-3)
    assert "at opening" in answer.detail


def test_an_edge_is_too_sharp_where_less_pressure_is_allowed_than_both_surfaces_together_are_stiff() -> None:
    """1 / E* = (1 - nu^2) / E of the ball + that of the pad."""
    pad = next(link for link in hand(0.6).links if link.pad is not None)
    young = 5e5
    cover = 0.0 if pad.pad.young is None else (1.0 - pad.pad.poisson**2) / pad.pad.young
    stiffness = 1.0 / ((1.0 - 0.45**2) / young + cover)
    for factor, sharp in ((0.99, True), (1.01, False)):
        body = replace(ball(), limits=ContactLimits(pressure=factor * stiffness))
        assert Presser(prepared(young), body, hand(0.6)).too_sharp(pad) is sharp
