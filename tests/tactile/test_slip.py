"""Slipping is told from rolling: what all contacts do together, what one does alone, what goes along the load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pliant.control.force_loop import ContactKinematics
from pliant.planner.timeline import PlannedForces
from pliant.tactile.slip import Slip, SlipSense
from pliant.tactile.tracking import ContactEstimate

LOAD = np.array([0.0, 0.0, -2.0, 0.0, 0.0, 0.0])
# the second link is turned by half a circle about z, as an opposing finger is
LINKS = np.array([np.eye(3), np.diag([-1.0, -1.0, 1.0])])


def estimate(places: np.ndarray, forces: tuple[float, float] = (1.0, 1.0), fresh: bool = True) -> ContactEstimate:
    measured = np.array(forces)
    return ContactEstimate(measured, places, measured, places, (0.0, ""), fresh, ())


def looked(world_moves: np.ndarray, forces: tuple[float, float] = (1.0, 1.0)) -> Slip | None:
    """What is told of contacts that move so in the world, seen in their links."""
    axes = np.array([np.eye(3), np.eye(3)])
    moment = PlannedForces(np.zeros(1), np.zeros((2, 3)), np.zeros((2, 3)), axes, LOAD, np.zeros(3), np.zeros(3))
    now = ContactKinematics(np.zeros((2, 3)), LINKS @ axes, np.zeros((2, 3, 1)))
    sense = SlipSense(np.array([True, True]), touch=0.1)
    assert sense.update(estimate(np.zeros((2, 3))), moment, now.axes) is None, (
        "the first frame is where the grasp was made"
    )
    return sense.update(estimate(np.einsum("nji,nj->ni", LINKS, world_moves), forces), moment, now.axes)


def test_an_object_that_slides_down_moves_all_contacts_along_the_load() -> None:
    slip = looked(np.array([[0.0, 0.0, -2e-3], [0.0, 0.0, -3e-3]]))
    assert slip is not None
    assert slip.common_shift == pytest.approx(2e-3)
    assert slip.slide == pytest.approx(2e-3), "as far as the one that has gone least"


def test_pads_that_roll_against_each_other_move_nothing_together() -> None:
    slip = looked(np.array([[0.0, 2e-3, 1e-3], [0.0, -2e-3, -1e-3]]))
    assert slip is not None
    assert slip.common_shift == pytest.approx(0.0, abs=1e-12)
    assert slip.slide == 0.0


def test_a_centre_of_pressure_that_wanders_alone_is_no_slip() -> None:
    """As on the straight wall of a bottle that tilts a little against one pad."""
    slip = looked(np.array([[0.0, 0.0, -7e-3], [0.0, 0.0, 1e-3]]))
    assert slip is not None
    assert (slip.common_shift, slip.slide) == (0.0, 0.0)


def test_an_object_that_is_pushed_sideways_slips_across_its_load() -> None:
    slip = looked(np.array([[0.0, 2e-3, 0.0], [0.0, 3e-3, 0.0]]))
    assert slip is not None
    assert slip.common_shift == pytest.approx(2e-3)
    assert slip.slide == pytest.approx(0.0, abs=1e-12)


def test_slip_that_was_forgiven_is_no_shift_any_more_but_stays_in_the_slide() -> None:
    axes = np.array([np.eye(3), np.eye(3)])
    moment = PlannedForces(np.zeros(1), np.zeros((2, 3)), np.zeros((2, 3)), axes, LOAD, np.zeros(3), np.zeros(3))
    sense = SlipSense(np.array([True, True]), touch=0.1)
    sense.update(estimate(np.zeros((2, 3))), moment, axes)
    down = estimate(np.tile([0.0, 0.0, -2e-3], (2, 1)))
    for left, jump in ((2e-3, 0.0), (0.0, 0.0)):
        slip = sense.update(down, moment, axes)
        assert slip is not None
        assert slip.jump == jump, "the first frame has none before it, the next is where that was"
        assert slip.common_shift == pytest.approx(left)
        assert slip.slide == pytest.approx(2e-3)
        sense.forgive()
    on = sense.update(estimate(np.tile([0.0, 0.0, -3e-3], (2, 1))), moment, axes)
    assert on is not None
    assert on.common_shift == pytest.approx(1e-3)
    assert on.slide == pytest.approx(3e-3)
    assert on.jump == pytest.approx(1e-3)


def test_slip_is_told_from_what_is_measured_now_not_from_what_the_filter_makes_of_it() -> None:
    axes = np.array([np.eye(3), np.eye(3)])
    moment = PlannedForces(np.zeros(1), np.zeros((2, 3)), np.zeros((2, 3)), axes, LOAD, np.zeros(3), np.zeros(3))
    sense = SlipSense(np.array([True, True]), touch=0.1)
    sense.update(estimate(np.zeros((2, 3))), moment, axes)
    now = replace(estimate(np.tile([0.0, 0.0, -2e-3], (2, 1))), places=np.tile([0.0, 0.0, -2e-4], (2, 1)))
    slip = sense.update(now, moment, axes)
    assert slip is not None
    assert slip.common_shift == pytest.approx(2e-3)


def test_a_contact_that_is_hardly_felt_says_nothing_about_all() -> None:
    slip = looked(np.array([[0.0, 0.0, -2e-3], [0.0, 0.0, -9e-3]]), forces=(1.0, 0.02))
    assert slip is not None
    assert (slip.common_shift, slip.slide) == (0.0, 0.0)
