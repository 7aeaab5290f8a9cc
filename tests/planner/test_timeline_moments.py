"""What is shown of a plan at any time: the held states at their times, shapes blended between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from made_plans import ball_plan
from pliant.planner import Phase, PlannedGrasp, Timeline


@pytest.fixture(scope="module")
def grasp() -> PlannedGrasp:
    """Three held states, each with a shape of its own."""
    grasp = ball_plan(move=True).grasps[0]
    rng = np.random.default_rng(6)
    shapes = [rng.normal(scale=1e-3, size=state.displacement.shape).astype(np.float32) for state in grasp.states]
    states = tuple(replace(state, displacement=shape) for state, shape in zip(grasp.states, shapes, strict=True))
    assert len(states) == 3
    return replace(grasp, states=states)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.4, 0.6, 1.0])
def test_between_held_states_the_shape_is_blended_and_contacts_are_those_of_the_nearer(
    grasp: PlannedGrasp, share: float
) -> None:
    timeline = Timeline(grasp)
    early, late = grasp.states[1:]
    moment = timeline.at((1.0 - share) * early.time + share * late.time)
    blended = (1.0 - share) * early.displacement + share * late.displacement
    np.testing.assert_allclose(timeline.displacement(moment), blended, atol=1e-12)
    assert moment.depth_share == 1.0
    assert moment.state is (early if share < 0.5 else late)
    assert moment.contacts == moment.state.contacts


def test_joints_and_object_follow_the_trajectory_at_every_time(grasp: PlannedGrasp) -> None:
    timeline = Timeline(grasp)
    for time in np.linspace(0.0, timeline.duration, 23):
        moment = timeline.at(float(time))
        assert moment.time == time
        np.testing.assert_array_equal(moment.q, grasp.trajectory.at(float(time)))
        expected = grasp.trajectory.object_at(float(time)).homogeneous
        np.testing.assert_array_equal(moment.T_world_object.homogeneous, expected)


def test_time_is_held_at_both_ends_of_the_operation(grasp: PlannedGrasp) -> None:
    timeline = Timeline(grasp)
    assert timeline.duration == grasp.trajectory.duration
    first, last = timeline.at(-3.0), timeline.at(timeline.duration + 3.0)
    assert (first.time, last.time) == (0.0, timeline.duration)
    assert first.phase is grasp.trajectory.phases[0] and last.phase is grasp.trajectory.phases[-1]
    assert last.state is grasp.states[-1]


def test_every_time_has_the_phase_whose_span_it_lies_in(grasp: PlannedGrasp) -> None:
    timeline = Timeline(grasp)
    assert list(timeline.spans) == list(Phase)
    for phase, (start, end) in timeline.spans.items():
        assert grasp.trajectory.span(phase) == (start, end)
        for time in (start + 1e-6, 0.5 * (start + end), end):
            assert timeline.phase(time) is phase


def test_nothing_is_deformed_or_pressed_before_the_touch_and_all_of_it_at_the_grasp(grasp: PlannedGrasp) -> None:
    timeline = Timeline(grasp)
    span = grasp.trajectory.span(Phase.SQUEEZE)
    assert span is not None and timeline.touch_time == span[0]
    for time in (0.0, timeline.touch_time):
        moment = timeline.at(time)
        assert moment.contacts == () and moment.state is None and moment.shape is None
        assert (moment.depth_share, moment.largest_force, moment.largest_pressure) == (0.0, 0.0, 0.0)
        assert not timeline.displacement(moment).any()
    moments = [timeline.at(float(t)) for t in np.linspace(timeline.touch_time, grasp.grasp.time, 9)]
    assert (np.diff([moment.depth_share for moment in moments]) > 0.0).all()
    for moment in moments[1:]:
        assert moment.state is grasp.grasp
        assert moment.largest_force == pytest.approx(moment.depth_share**1.5 * grasp.grasp.largest_force, rel=1e-12)
        shape = timeline.displacement(moment)
        np.testing.assert_allclose(shape, moment.depth_share * grasp.grasp.displacement, rtol=1e-6)
    assert moments[-1].depth_share == 1.0
    assert moments[-1].largest_force == grasp.grasp.largest_force
    assert moments[-1].largest_pressure == grasp.grasp.largest_pressure


def test_liquid_rises_with_its_vessel_between_held_states(grasp: PlannedGrasp) -> None:
    assert Timeline(grasp).at(grasp.states[1].time).liquid_level is None
    states = tuple(replace(s, liquid_level=float(s.T_world_object.translation[2]) + 0.01) for s in grasp.states)
    timeline = Timeline(replace(grasp, states=states))
    for time in np.linspace(states[0].time, states[-1].time, 9):
        moment = timeline.at(float(time))
        assert moment.liquid_level == pytest.approx(moment.T_world_object.translation[2] + 0.01, abs=1e-9)
