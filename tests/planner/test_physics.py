"""The outcome changes with the object the way physics says."""

from functools import cache

import numpy as np
import pytest
from small_tasks import MASS, ball_plan, ball_task

from pliant.planner import PlanStatus, make_hypotheses, plan
from pliant.planner.context import PlanningContext
from pliant.planner.flying_hand import with_arm
from pliant.planner.questions import try_hypothesis
from pliant.planner.stability import HeldGrasp

pytestmark = pytest.mark.slow

GRAVITY = 9.80665


def by_number(found):
    return {grasp.number: grasp.largest_force for grasp in found.stable}


@cache
def pressed(**body):
    """Every one of the same hypotheses that is a stable grasp, pressed without a search."""
    task = with_arm(ball_task(move=False, **body))
    context, options = PlanningContext(task), task.options
    drawn = make_hypotheses(task.body.mesh, task.assembly, count=options.faces, rolls=options.rolls, limit=60, seed=0)
    tried = [try_hypothesis(context, hypothesis) for hypothesis in drawn]
    return {grasp.hypothesis.number: grasp.held for grasp in tried if isinstance(grasp, HeldGrasp)}


def forces(found):
    return {number: held.largest_force for number, held in found.items()}


def test_a_heavier_ball_needs_more_force_in_every_grasp():
    light, heavy = forces(pressed()), forces(pressed(mass=0.24))
    both = sorted(set(light) & set(heavy))
    assert len(both) >= 3
    # deeper contacts lie elsewhere on the ball, so only about: the best grasp of each scales with the weight
    assert min(heavy.values()) == pytest.approx(2.0 * min(light.values()), rel=0.15)
    ratios = [heavy[number] / light[number] for number in both]
    # some steady the light ball only when pressed harder than needed
    assert min(ratios) > 1.0
    assert np.median(ratios) > 1.5


def opposed(found, axis):
    """Numbers of the grasps whose two pads press along an axis of the world, within a degree."""
    numbers = []
    for number, held in found.items():
        normals = [region.normal for region in held.state.regions]
        if len(normals) == 2 and min(abs(normal[axis]) for normal in normals) > np.cos(np.radians(1.0)):
            numbers.append(number)
    return numbers


def test_lower_friction_leaves_no_new_grasp_and_every_pinch_needs_the_more_force_that_friction_says():
    """Level pads need (W / 2 + delta) / mu each; of two pads above each other the lower one needs W + delta / mu."""
    frictions = (0.6, 0.35)
    found = pressed(), pressed(friction=frictions[1])
    rough, smooth = (forces(grasps) for grasps in found)
    assert set(smooth) <= set(rough)
    assert len(smooth) >= 3
    assert min(smooth.values()) > min(rough.values())
    for number in smooth:
        assert smooth[number] > 0.98 * rough[number]
    weight = GRAVITY * MASS
    delta = ball_task().options.margin * weight
    level, upright = (sorted(set(opposed(found[0], axis)) & set(opposed(found[1], axis))) for axis in (0, 2))
    assert level and upright
    for needed, mu in zip((rough, smooth), frictions, strict=True):
        # simulated forces are close to the needed ones from above, by a tenth at most; a ball that sags turns normals
        # by less than 1 % of a radian
        for number in level:
            assert 0.99 < needed[number] / ((0.5 * weight + delta) / mu) < 1.11
        for number in upright:
            assert 0.99 < needed[number] / (weight + delta / mu) < 1.11


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
    assert "needs more force than allowed" in found.advice
    assert "Set object.limits.force: " in found.advice


def test_a_limit_above_what_is_needed_changes_the_force_by_no_more_than_a_correction_step():
    least = min(by_number(ball_plan()).values())
    found = plan(ball_task(force=3.0 * least), jobs=1)
    assert found.best.largest_force == pytest.approx(ball_plan().best.largest_force, rel=0.06)
