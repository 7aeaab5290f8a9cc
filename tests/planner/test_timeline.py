"""The one timeline of a plan: what controller, viewer and exports read from it agrees."""

from __future__ import annotations

import numpy as np
import pytest

import made_plans
from pliant.planner import ContactTimeline, Phase, Plan, Timeline, contact_names, link_of


@pytest.fixture(scope="module")
def plan() -> Plan:
    return made_plans.ball_plan()


def test_controller_and_viewer_see_the_same_forces_at_every_time(plan: Plan) -> None:
    """The controller's forces are interpolated between states, the viewer's are those of the nearer state: they are
    the same during the squeeze and at every state."""
    grasp = plan.grasps[0]
    seen = Timeline(grasp)
    followed = ContactTimeline(grasp, plan.task.assembly.robot)
    for time in (*np.linspace(seen.touch_time, seen.grasp_time, 9), *seen.times):
        shown = seen.at(float(time)).largest_force
        assert shown == pytest.approx(followed.forces_at(float(time)).forces[:, 2].max(), rel=1e-12, abs=1e-12)


def test_during_the_squeeze_force_pressure_and_depth_grow_as_hertz_says(plan: Plan) -> None:
    """F ~ d^(3/2), p ~ d^(1/2), u ~ d, from the touch to the grasp."""
    timeline = Timeline(plan.grasps[0])
    held = timeline.at(timeline.grasp_time)
    span = timeline.grasp_time - timeline.touch_time
    assert span > 0.0
    for share in (0.1, 0.5, 0.9):
        moment = timeline.at(timeline.touch_time + share * span)
        assert moment.phase is Phase.SQUEEZE
        assert moment.largest_force == pytest.approx(share**1.5 * held.largest_force)
        assert moment.largest_pressure == pytest.approx(share**0.5 * held.largest_pressure)
        np.testing.assert_allclose(timeline.displacement(moment), share * timeline.displacement(held), atol=1e-12)


def test_contacts_of_one_link_are_numbered_and_single_ones_are_not() -> None:
    assert contact_names(("thumb", "finger", "thumb")) == ("thumb:1", "finger", "thumb:2")


def test_the_link_of_a_contact_is_found_from_its_name() -> None:
    links = ("thumb_2", "finger", "thumb_2")
    assert tuple(link_of(name) for name in contact_names(links)) == links
