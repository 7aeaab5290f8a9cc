"""Friction from what slips and what does not, stiffness from the squeeze: against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from made_plans import made
from pliant.control import ContactKinematics, GraspController, RunPhase, contact_kinematics, execute
from pliant.control.estimates import GripEstimates, needed_friction
from pliant.grasp import contact_rotations
from spring_hand import SpringHand

FRAME = 0.032
WEIGHT = np.array([0.0, 0.0, -2.0])


def contacts(normals: np.ndarray) -> ContactKinematics:
    return ContactKinematics(np.zeros((len(normals), 3)), contact_rotations(normals), np.zeros((len(normals), 3, 1)))


def test_a_pinch_needs_half_its_weight_over_the_normal_force() -> None:
    pinch = contacts(np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]))
    assert needed_friction(pinch, np.array([3.0, 3.0]), WEIGHT) == pytest.approx(2.0 / (2 * 3.0))


def test_a_block_on_a_slope_needs_the_tangent_of_its_angle() -> None:
    for angle in (0.1, 0.5, 1.2):
        slope = contacts(np.array([[np.sin(angle), 0.0, np.cos(angle)]]))
        assert needed_friction(slope, np.array([2.0 * np.cos(angle)]), WEIGHT) == pytest.approx(np.tan(angle))


def test_no_forces_in_their_cones_bear_a_load_that_needs_more_friction() -> None:
    """Any forces with |t_i| <= mu f_i bear -(sum f_i n_i + t_i); nu of that load is never above mu."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        n = int(rng.integers(1, 5))
        normals = rng.normal(size=(n, 3))
        some = contacts(normals / np.linalg.norm(normals, axis=1)[:, None])
        forces, mu = rng.uniform(0.1, 3.0, n), float(rng.uniform(0.1, 1.5))
        angle, share = rng.uniform(0.0, 2 * np.pi, n), np.sqrt(rng.uniform(size=n))
        local = np.stack([mu * forces * share * np.cos(angle), mu * forces * share * np.sin(angle), forces], axis=1)
        load = -np.einsum("nij,nj->i", some.axes, local)
        assert needed_friction(some, forces, load) <= mu + 1e-9


def test_what_was_held_bounds_friction_and_what_slipped_tells_it() -> None:
    known = GripEstimates()
    for k in range(40):
        known.held(0.5, FRAME * k)
    assert known.friction_least == pytest.approx(0.5)
    assert known.friction is None
    for k in range(40, 43):
        known.held(0.9, FRAME * k)  # it slides already: it was just not seen yet
    known.slipped()
    assert known.friction_least == pytest.approx(0.5)
    assert known.friction is not None and 0.5 <= known.friction < 0.9
    for k in range(60, 120):
        known.held(0.8, FRAME * k)
    assert known.friction == known.friction_least == pytest.approx(0.8, rel=1e-3), "what holds more was no slip"


@pytest.mark.parametrize("stiffer", [0.6, 1.0, 1.7])
def test_stiffness_follows_from_a_hertz_curve_wherever_it_begins(stiffer: float) -> None:
    """F = stiffer F_0 ((x - x_0) / d)^1.5: D at F_0 is stiffer^(2/3) times 1.5 F_0 / d."""
    force, depth, start = 1.2, 8e-4, 3e-4
    known = GripEstimates()
    for way in np.linspace(start + 2e-4, start + 9e-4, 12):
        known.squeezed(float(way), stiffer * force * ((way - start) / depth) ** 1.5)
    assert known.learn_stiffness(force, 1.5 * force / depth) == pytest.approx(stiffer ** (2.0 / 3.0), rel=1e-9)


def test_a_squeeze_that_tells_nothing_is_not_believed() -> None:
    flat, few = GripEstimates(), GripEstimates()
    for k in range(20):
        flat.squeezed(1e-5 * k, 1.0 + 0.01 * k)
    few.squeezed(0.0, 0.1)
    few.squeezed(1e-3, 1.0)
    assert flat.learn_stiffness(1.0, 1000.0) is None
    assert few.learn_stiffness(1.0, 1000.0) is None
    assert flat.facts == {"friction_at_least": None, "friction_at_slip": None, "stiffness_factor": None}


def test_a_run_writes_what_it_has_learned_into_its_log() -> None:
    """Held as planned, it knows what the planned forces need; an object twice as stiff, two to 2/3 or two (the spring
    hand's is linear, the fit takes Hertz's law)."""
    there = made("ball")
    assembly, factors = there.task.assembly, {}
    for stiffness in (1.0, 2.0):
        hand = SpringHand(there.grasp, assembly, stiffness=stiffness)
        log = execute(hand, GraspController(there.grasp, assembly, start=RunPhase.CLOSE))
        known = log.facts["estimates"]
        assert known["friction_at_slip"] is None
        last = hand.timeline.forces_at(hand.timeline.duration)
        planned = contact_kinematics(assembly, hand.timeline.links, last.q, last.points, last.axes)
        expected = needed_friction(planned, last.forces[:, 2], last.load[:3])
        assert known["friction_at_least"] == pytest.approx(expected, rel=0.15)
        factors[stiffness] = known["stiffness_factor"]
    assert 2.0 ** (2.0 / 3.0) * 0.9 < factors[2.0] / factors[1.0] < 2.0 * 1.1
