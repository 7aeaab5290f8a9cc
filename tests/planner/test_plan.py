"""The whole pipeline on a small question, and what a plan must keep."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from small_tasks import ball_plan, ball_task, limited

from pliant.constants import GRAVITY
from pliant.errors import OptionError
from pliant.planner import Phase, PlanStatus, Reason, plan

pytestmark = pytest.mark.slow

RADIUS, MASS = 0.03, 0.12


def kept():
    """The kept grasps of the ball: some, and each with its states."""
    grasps = ball_plan().grasps
    assert len(grasps) == 3
    assert all(len(grasp.states) == 5 for grasp in grasps)  # grasped, lifted, three steps of the move
    return grasps


def worlds(state):
    """Contact frames, forces in the world."""
    frames = [state.T_world_object * contact.T_object_contact for contact in state.contacts]
    forces = [T.rotation @ contact.force for T, contact in zip(frames, state.contacts, strict=True)]
    return frames, forces


def test_a_ball_is_found_a_grasp_and_every_hypothesis_is_accounted_for():
    found = ball_plan()
    assert found.status is PlanStatus.FOUND
    numbers = sorted([g.hypothesis.number for g in found.grasps] + [r.number for r in found.rejections])
    assert numbers == [h.number for h in found.hypotheses]
    assert numbers[:24] == list(range(24))  # what is improved comes on top
    assert sum(found.counts.values()) == len(found.rejections)
    for rejection in found.rejections:
        assert rejection.reason
        assert np.isfinite(rejection.margin)


def test_contact_forces_balance_the_weight_at_the_shifted_centre_of_mass_in_every_state():
    weight = np.array([0.0, 0.0, -GRAVITY * MASS])
    for grasp in kept():
        for state in grasp.states:
            frames, forces = worlds(state)
            # the simulated forces themselves, friction of the settling included: the object settles until it would
            # move by less than 0.5 % of the deepest contact, and the stiffness of the contacts times this is left
            stiffness = sum(float(contact.stiffness.max()) for contact in state.contacts)
            left = 5e-3 * max(contact.depth for contact in state.contacts) * stiffness
            assert left < 0.03 * np.linalg.norm(weight)
            assert np.linalg.norm(np.sum(forces, axis=0) + weight) < left
            np.testing.assert_allclose(state.load[:3], weight)
            arms = [T.translation - state.centre_of_mass for T in frames]
            torque = np.sum([np.cross(a, f) for a, f in zip(arms, forces, strict=True)], axis=0)
            assert np.linalg.norm(torque) < left * RADIUS
            assert state.friction_usage <= 1.0 + 1e-5


def test_normal_forces_are_at_least_the_wanted_ones_which_lie_in_their_cones():
    for grasp in kept():
        for state in grasp.states:
            wanted = np.array([contact.wanted[2] for contact in state.contacts])
            have = np.array([contact.normal_force for contact in state.contacts])
            assert (have >= wanted - 2e-3 * wanted.max()).all()
            for contact in state.contacts:
                assert contact.friction * contact.wanted[2] >= np.hypot(*contact.wanted[:2]) - 1e-6


def test_the_contact_points_on_links_and_on_the_object_are_the_same_place():
    robot = ball_plan().task.assembly.robot
    for state in ball_plan().grasps[0].states:
        for contact in state.contacts:
            on_link = robot.pose(contact.link, state.q).act(contact.p_link)
            on_object = state.T_world_object.act(contact.T_object_contact.translation)
            np.testing.assert_allclose(on_link, on_object, atol=1e-9)


def test_the_trajectory_keeps_limits_and_speeds_and_its_phases_come_in_order():
    found = ball_plan()
    robot = found.task.assembly.robot
    for grasp in kept():
        way = grasp.trajectory
        assert (np.diff(way.times) > 0).all()
        speed = np.abs(np.diff(way.q, axis=0)) / np.diff(way.times)[:, None]
        assert (speed <= found.task.options.speed * robot.velocity_limits + 1e-9).all()
        assert (way.q >= robot.lower - 1e-9).all()
        assert (way.q <= robot.upper + 1e-9).all()
        order = [list(Phase).index(phase) for phase in way.phases]
        assert order == sorted(order)
        assert set(way.phases) == set(Phase)
        np.testing.assert_allclose(way.at(way.span(Phase.SQUEEZE)[1]), grasp.grasp.q, atol=1e-12)
        for state in grasp.states:
            np.testing.assert_allclose(way.at(state.time), state.q, atol=1e-9)


def test_the_object_goes_up_and_where_it_was_wished():
    found = ball_plan()
    grasp = found.best
    first, lifted, last = grasp.states[0], grasp.states[1], grasp.states[-1]
    rest = found.task.T_world_object.translation
    # it has sagged between the pads, and is lifted by that much more
    assert first.T_world_object.translation[2] < rest[2]
    np.testing.assert_allclose(lifted.T_world_object.translation[2] - rest[2], 0.05, atol=1e-9)
    aside = lifted.T_world_object.translation - first.T_world_object.translation
    np.testing.assert_allclose(aside[:2], [0, 0], atol=1e-9)
    np.testing.assert_allclose(
        last.T_world_object.translation - lifted.T_world_object.translation, [0, 0, 0.02], atol=1e-3
    )
    assert np.linalg.norm(pin.log3(last.T_world_object.rotation.T @ lifted.T_world_object.rotation)) < 0.05


def test_the_chosen_grasp_has_the_best_joint_range_of_the_gentlest_and_none_left_out_could_beat_them():
    found = ball_plan()
    forces = [grasp.largest_force for grasp in kept()]
    gentlest = [grasp for grasp in kept() if grasp.largest_force <= 1.05 * min(forces)]
    assert found.best in gentlest
    assert found.best.joint_range <= 1.01 * min(grasp.joint_range for grasp in gentlest)
    assert len(gentlest) == found.choice.shortlisted
    stable = {grasp.number: grasp.largest_force for grasp in found.stable}
    left_out = {r.number: r.margin for r in found.rejections if r.reason is Reason.LESS_FORCE}
    assert len(left_out) >= 1
    # every stable grasp is kept or left out, and what is left out needs more already when it only holds the ball
    assert set(stable) == set(left_out) | {grasp.hypothesis.number for grasp in found.grasps}
    for number, force in left_out.items():
        assert force == pytest.approx(stable[number], rel=1e-6)  # the arm carries it without a change
        assert force >= max(forces)


def test_where_the_arms_path_has_the_weight_the_shortest_of_all_stable_grasps_is_chosen():
    task = ball_task(40, move=False)
    everything = plan(replace(task, options=replace(task.options, keep=100)), jobs=1)
    shortest = min(everything.grasps, key=lambda grasp: grasp.arm_path)
    assert shortest.largest_force > 1.05 * everything.grasps[0].largest_force  # force alone would not have chosen it
    by_path = plan(replace(task, options=replace(task.options, keep=1, weights=(0.0, 0.0, 1.0))), jobs=1)
    assert by_path.best.arm_path == shortest.arm_path
    outdone = [r for r in by_path.rejections if r.reason is Reason.BETTER_SCORE]
    assert len(outdone) == len(everything.grasps) - 1


def test_two_workers_find_what_one_finds():
    task = limited(ball_task(), 40)
    alone, together = plan(task, jobs=1), plan(task, jobs=2)
    assert alone.counts == together.counts
    assert [g.hypothesis.number for g in alone.grasps] == [g.hypothesis.number for g in together.grasps]
    for a, b in zip(alone.grasps, together.grasps, strict=True):
        np.testing.assert_array_equal(a.trajectory.q, b.trajectory.q)
        assert a.largest_force == b.largest_force


def test_another_seed_tries_other_hypotheses():
    task = limited(ball_task(move=False), 6)
    sources = [[h.source for h in plan(task, jobs=1, seed=seed).hypotheses] for seed in (0, 1)]
    assert sources[0] != sources[1]


def test_progress_is_told_with_the_stages_that_reject():
    told = []
    plan(limited(ball_task(move=False), 6), jobs=1, progress=lambda *what: told.append(what))
    assert told[-1][1] == told[-1][2]
    assert any(sum(rejected.values()) > 0 for _, _, _, rejected in told)


def test_wrong_questions_are_refused_with_their_field():
    with pytest.raises(OptionError, match="1 or more"):
        plan(ball_task(), jobs=0)
    task = ball_task()
    arm_only = replace(task.assembly, hand=None)
    with pytest.raises(OptionError, match="no hand"):
        plan(replace(task, assembly=arm_only))
