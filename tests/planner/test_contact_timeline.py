"""What control takes from a plan at any time: the held states at their times, lines between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from made_plans import ball_plan
from pliant.errors import OptionError
from pliant.planner import HeldState, Phase, PlannedContact, PlannedGrasp
from pliant.planner.timeline import ContactTimeline
from pliant.robot import Robot


@pytest.fixture(scope="module")
def robot() -> Robot:
    return ball_plan(move=True).task.assembly.robot


@pytest.fixture(scope="module")
def grasp() -> PlannedGrasp:
    """Three held states, each with forces of its own; the centre of mass is not where the contacts are."""
    grasp = ball_plan(move=True).grasps[0]
    states = []
    for k, state in enumerate(grasp.states):
        aside = replace(state, centre_of_mass=state.centre_of_mass + np.array([0.0, 0.003, -0.005]))
        states.append(with_contacts(aside, *(replace(c, force=(1.0 + k) * c.force) for c in state.contacts)))
    assert len(states) == 3
    return replace(grasp, states=tuple(states))


def with_contacts(state: HeldState, *contacts: PlannedContact) -> HeldState:
    return replace(state, contacts=contacts)


def forces_of(state: HeldState) -> np.ndarray:
    return np.array([contact.force for contact in state.contacts])


def points_of(state: HeldState) -> np.ndarray:
    return np.array([contact.p_link for contact in state.contacts])


def test_at_the_time_of_a_held_state_the_plan_is_that_state(grasp: PlannedGrasp, robot: Robot) -> None:
    timeline = ContactTimeline(grasp, robot)
    for state in grasp.states:
        moment = timeline.forces_at(state.time)
        np.testing.assert_allclose(moment.q, state.q, atol=1e-12)
        np.testing.assert_allclose(moment.forces, forces_of(state), atol=1e-12)
        np.testing.assert_allclose(moment.points, points_of(state), atol=1e-15)
        np.testing.assert_allclose(moment.load, state.load, atol=1e-12)
        np.testing.assert_allclose(moment.centre, state.centre_of_mass, atol=1e-12)
        Ts = robot.poses(timeline.links, state.q)
        world = np.array([T.act(p) for T, p in zip(Ts, moment.points, strict=True)])
        np.testing.assert_allclose(moment.centroid, world.mean(axis=0), atol=1e-12)


def test_axes_are_those_of_the_contacts_seen_from_their_links(grasp: PlannedGrasp, robot: Robot) -> None:
    timeline = ContactTimeline(grasp, robot)
    for state in grasp.states:
        Ts = robot.poses(timeline.links, state.q)
        for T, axes, contact in zip(Ts, timeline.forces_at(state.time).axes, state.contacts, strict=True):
            expected = state.T_world_object.rotation @ contact.T_object_contact.rotation
            np.testing.assert_allclose(T.rotation @ axes, expected, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.8, 1.0])
def test_between_held_states_forces_points_and_load_go_in_a_straight_line(
    grasp: PlannedGrasp, robot: Robot, share: float
) -> None:
    timeline = ContactTimeline(grasp, robot)
    early, late = grasp.states[1:]
    moment = timeline.forces_at((1.0 - share) * early.time + share * late.time)
    for got, a, b in (
        (moment.forces, forces_of(early), forces_of(late)),
        (moment.points, points_of(early), points_of(late)),
        (moment.load, early.load, late.load),
        (moment.centre, early.centre_of_mass, late.centre_of_mass),
    ):
        np.testing.assert_allclose(got, (1.0 - share) * a + share * b, atol=1e-9)
    # axes are those of the nearer state: they are not blended
    if share != 0.5:
        near = timeline.forces_at(early.time if share < 0.5 else late.time)
        np.testing.assert_array_equal(moment.axes, near.axes)


def test_frames_that_turn_about_their_normals_from_state_to_state_change_nothing(
    grasp: PlannedGrasp, robot: Robot
) -> None:
    """Frames made from a normal alone turn by 180 degrees where it passes a plane: the force is the same."""
    states = list(grasp.states)
    for k, angle in ((1, np.pi), (2, -2.0)):
        turned = [
            replace(c, T_object_contact=c.T_object_contact * pin.SE3(R, np.zeros(3)), force=R.T @ c.force)
            for c in states[k].contacts
            for R in (pin.utils.rotate("z", angle),)
        ]
        states[k] = with_contacts(states[k], *turned)
    plain, turning = ContactTimeline(grasp, robot), ContactTimeline(replace(grasp, states=tuple(states)), robot)
    for time in np.linspace(plain.touch_time, plain.duration, 41):
        expected, moment = plain.forces_at(time), turning.forces_at(time)
        np.testing.assert_allclose(moment.axes, expected.axes, atol=1e-12)
        np.testing.assert_allclose(moment.forces, expected.forces, atol=1e-12)


def test_forces_grow_from_nothing_at_the_touch_to_the_grasp_and_stay_after_the_end(
    grasp: PlannedGrasp, robot: Robot
) -> None:
    timeline = ContactTimeline(grasp, robot)
    touch, held = timeline.touch_time, timeline.grasp_time
    assert not timeline.forces_at(0.0).forces.any() and not timeline.forces_at(touch).forces.any()
    normal = np.array([timeline.forces_at(float(t)).forces[:, 2] for t in np.linspace(touch, held, 9)])
    assert (np.diff(normal, axis=0) > 0.0).all()
    np.testing.assert_allclose(normal[-1], forces_of(grasp.grasp)[:, 2], rtol=1e-12)
    after = timeline.forces_at(timeline.duration + 5.0)
    np.testing.assert_allclose(after.forces, forces_of(grasp.states[-1]), atol=1e-12)
    np.testing.assert_array_equal(timeline.forces_at(timeline.duration + 5.0).q, grasp.trajectory.q[-1])


def test_the_squeeze_is_counted_from_the_touch_to_the_grasp(grasp: PlannedGrasp, robot: Robot) -> None:
    timeline = ContactTimeline(grasp, robot)
    touch, held = timeline.touch_time, timeline.grasp_time
    assert touch == grasp.trajectory.span(Phase.CLOSE)[1] and held == grasp.grasp.time  # type: ignore[index]
    for time, share in ((0.0, 0.0), (touch, 0.0), (0.7 * touch + 0.3 * held, 0.3), (held, 1.0), (held + 1.0, 1.0)):
        assert timeline.depth_share(time) == pytest.approx(share, abs=1e-12)


def test_phases_of_the_plan_have_their_spans_and_others_last_no_time_at_the_touch(
    grasp: PlannedGrasp, robot: Robot
) -> None:
    timeline = ContactTimeline(grasp, robot)
    for phase in Phase:
        assert timeline.span(phase) == grasp.trajectory.span(phase)
    lifted = replace(
        grasp.trajectory, phases=tuple(Phase.LIFT if p is Phase.MOVE else p for p in grasp.trajectory.phases)
    )
    timeline = ContactTimeline(replace(grasp, trajectory=lifted), robot)
    assert timeline.span(Phase.MOVE) == (timeline.touch_time, timeline.touch_time)
    assert Phase.MOVE not in timeline.spans
    assert timeline.duration == lifted.duration


def test_contacts_are_found_again_by_link_and_nearest_point_in_any_order(grasp: PlannedGrasp, robot: Robot) -> None:
    first, second, third = grasp.states
    a, b = first.contacts
    # two contacts on one link, 20 mm apart; later they come in another order, moved by 1 mm
    aside = np.array([0.0, 0.0, 0.02])
    early = with_contacts(first, a, replace(a, p_link=a.p_link + aside, force=3.0 * a.force), b)
    moved = [replace(c, p_link=c.p_link + 0.05 * aside) for c in early.contacts]
    late = with_contacts(second, *moved[::-1])
    timeline = ContactTimeline(replace(grasp, states=(early, late, third)), robot)
    assert timeline.names == (f"{a.link}:1", f"{a.link}:2", b.link)
    moment = timeline.forces_at(second.time)
    np.testing.assert_allclose(moment.forces, [c.force for c in moved], atol=1e-12)
    np.testing.assert_allclose(moment.points, [c.p_link for c in moved], atol=1e-15)


def test_a_contact_that_is_gone_later_carries_nothing_where_it_was(grasp: PlannedGrasp, robot: Robot) -> None:
    first, second, third = grasp.states
    timeline = ContactTimeline(replace(grasp, states=(first, with_contacts(second, second.contacts[0]), third)), robot)
    moment = timeline.forces_at(second.time)
    np.testing.assert_allclose(moment.forces, [second.contacts[0].force, np.zeros(3)], atol=1e-12)
    np.testing.assert_array_equal(moment.points[1], first.contacts[1].p_link)


def test_contacts_that_have_become_one_carry_its_force_once(grasp: PlannedGrasp, robot: Robot) -> None:
    first, second, third = grasp.states
    a, b = first.contacts
    early = with_contacts(first, a, replace(a, p_link=a.p_link + np.array([0.0, 0.0, 0.02])), b)
    timeline = ContactTimeline(replace(grasp, states=(early, second, third)), robot)
    one, other = (c.force for c in second.contacts)
    np.testing.assert_allclose(timeline.forces_at(second.time).forces, [one, np.zeros(3), other], atol=1e-12)


def test_the_closing_rate_is_the_slope_of_the_plan_before_its_touch(grasp: PlannedGrasp, robot: Robot) -> None:
    timeline = ContactTimeline(grasp, robot)
    path, touch, e = grasp.trajectory, timeline.touch_time, 1e-4
    expected = (path.at(touch - e) - path.at(touch - 2 * e)) / e
    np.testing.assert_allclose(timeline.closing_rate(), expected, atol=1e-9)


def test_a_plan_whose_touch_is_its_pregrasp_closes_the_way_it_squeezes(grasp: PlannedGrasp, robot: Robot) -> None:
    path = grasp.trajectory
    at = path.phases.index(Phase.CLOSE)
    q = path.q.copy()
    q[at - 1] = q[at]
    timeline = ContactTimeline(replace(grasp, trajectory=replace(path, q=q)), robot)
    expected = (q[at + 1] - q[at]) / (path.times[at + 1] - path.times[at])
    np.testing.assert_allclose(timeline.closing_rate(), expected, rtol=1e-12)


def test_joints_are_given_out_again_while_time_stands_still(grasp: PlannedGrasp, robot: Robot) -> None:
    timeline = ContactTimeline(grasp, robot)
    first = timeline.joints(0.5)
    assert timeline.joints(0.5) is first
    np.testing.assert_array_equal(timeline.joints(0.7), grasp.trajectory.at(0.7))


def test_plans_without_contacts_or_with_numbers_that_are_not_finite_are_refused(
    grasp: PlannedGrasp, robot: Robot
) -> None:
    with pytest.raises(OptionError, match="no contacts"):
        ContactTimeline(replace(grasp, states=()), robot)
    with pytest.raises(OptionError, match="no contacts"):
        ContactTimeline(replace(grasp, states=(with_contacts(grasp.grasp),)), robot)
    lost = replace(grasp.grasp, load=np.full(6, np.nan))
    with pytest.raises(OptionError, match="not finite"):
        ContactTimeline(replace(grasp, states=(lost, *grasp.states[1:])), robot)
