"""The outcome changes with the object the way physics says."""

import numpy as np
import pytest
from small_tasks import ball_plan, ball_task

from pliant.planner import PlanStatus, plan

pytestmark = pytest.mark.slow


def by_number(found):
    return {grasp.number: grasp.largest_force for grasp in found.stable}


def test_a_heavier_ball_needs_more_force_in_every_grasp():
    light, heavy = by_number(ball_plan()), by_number(plan(ball_task(mass=0.24), jobs=1))
    both = sorted(set(light) & set(heavy))
    assert len(both) >= 3
    # deeper contacts lie elsewhere on the ball, so only about: the best grasp of each scales with the weight
    assert min(heavy.values()) == pytest.approx(2.0 * min(light.values()), rel=0.15)
    for number in both:
        assert heavy[number] > 1.5 * light[number]


def test_lower_friction_leaves_fewer_grasps_and_needs_more_force():
    rough, smooth = by_number(ball_plan()), by_number(plan(ball_task(friction=0.35, move=False), jobs=1))
    assert set(smooth) <= set(rough)
    assert len(smooth) < len(rough) or min(smooth.values()) > min(rough.values())
    for number in set(smooth) & set(rough):
        assert smooth[number] > 0.98 * rough[number]


def test_a_stiffer_ball_is_pressed_less_deep_with_the_same_force():
    soft, stiff = ball_plan().best, plan(ball_task(young=5e6), jobs=1)
    same = [g for g in stiff.grasps if g.hypothesis.number == soft.hypothesis.number]
    assert same, "the same grasp holds a stiffer ball"
    depth = lambda grasp: max(contact.depth for contact in grasp.grasp.contacts)  # noqa: E731
    # the pad itself gives as much as before, so a tenth of the ball's compliance is not a tenth of the depth
    assert depth(same[0]) < 0.7 * depth(soft)
    assert same[0].grasp.largest_force == pytest.approx(soft.grasp.largest_force, rel=0.2)
    moved = [float(np.abs(grasp.grasp.displacement).max()) for grasp in (same[0], soft)]
    assert moved[0] < 0.5 * moved[1]


def test_a_force_limit_below_what_is_needed_leaves_no_plan_and_says_so_in_words():
    least = min(by_number(ball_plan()).values())
    found = plan(ball_task(force=0.6 * least, move=False), jobs=1)
    assert found.status is PlanStatus.NONE
    assert found.best is None
    assert "limit" in found.advice or "force" in found.advice
    assert "raise" in found.advice


def test_a_limit_above_what_is_needed_changes_the_force_by_no_more_than_a_correction_step():
    least = min(by_number(ball_plan()).values())
    found = plan(ball_task(force=3.0 * least), jobs=1)
    assert found.best.largest_force == pytest.approx(ball_plan().best.largest_force, rel=0.06)
