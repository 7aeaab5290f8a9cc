"""Ranking and words."""

import math
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from pliant.errors import OptionError
from pliant.planner.results import ChoiceRule
from pliant.planner.robustness import wilson
from pliant.planner.selection import distinct, ranked
from pliant.planner.task import PlannerOptions


def grasp(number, force, spread=1.0, path=1.0, holds=math.nan):
    hypothesis = SimpleNamespace(number=number)
    return SimpleNamespace(
        hypothesis=hypothesis, largest_force=force, joint_range=spread, arm_path=path, holds_share=holds
    )


def numbers(grasps, **options):
    return [g.hypothesis.number for g in ranked(grasps, PlannerOptions(**options)).grasps]


def rule(grasps, **options):
    choice = ranked(grasps, PlannerOptions(**options)).choice
    return choice.rule, choice.shortlisted


def test_where_forces_differ_by_more_than_the_tolerance_the_least_comes_first():
    made = [grasp(0, 3.0, 0.1), grasp(1, 1.0, 0.9), grasp(2, 2.0, 0.1)]
    assert numbers(made) == [1, 2, 0]
    assert rule(made) == (ChoiceRule.FORCE, 1)


def test_among_the_gentlest_the_best_joint_range_decides_and_the_others_follow_by_force():
    made = [grasp(0, 1.0, 0.5), grasp(1, 1.04, 0.2), grasp(2, 1.06, 0.1), grasp(3, 1.049, 0.3)]
    assert numbers(made) == [1, 3, 0, 2]
    assert rule(made) == (ChoiceRule.JOINT_RANGE, 3)
    assert numbers(made, force_tolerance=0.1) == [2, 1, 3, 0]
    assert rule(made, force_tolerance=0.1) == (ChoiceRule.JOINT_RANGE, 4)


def test_the_shortlist_has_no_more_grasps_than_asked_for():
    made = [grasp(0, 1.0, 0.5), grasp(1, 1.01, 0.4), grasp(2, 1.02, 0.1)]
    assert numbers(made, shortlist=1) == [0, 1, 2]
    assert rule(made, shortlist=1) == (ChoiceRule.FORCE, 1)
    assert numbers(made, shortlist=2) == [1, 0, 2]
    assert numbers(made, shortlist=3) == [2, 1, 0]


def test_where_joint_ranges_tie_the_shortest_arm_path_decides():
    made = [grasp(0, 1.0, 0.2, 3.0), grasp(1, 1.03, 0.2005, 2.0), grasp(2, 1.0, 0.3, 1.0)]
    assert numbers(made) == [1, 0, 2]
    assert rule(made) == (ChoiceRule.ARM_PATH, 3)


def test_among_the_gentlest_those_that_hold_under_most_pose_errors_come_first():
    made = [grasp(0, 1.0, 0.1, holds=0.6), grasp(1, 1.01, 0.9, holds=0.95), grasp(2, 1.02, 0.5, holds=0.9)]
    assert numbers(made) == [2, 1, 0]
    assert rule(made) == (ChoiceRule.JOINT_RANGE, 3)
    assert rule(made[:2]) == (ChoiceRule.HOLDS, 2)


def palm(number, shift=0.0, turn=0.0, fingers=("a", "b")):
    T = pin.SE3(pin.exp3(np.array([0.0, turn, 0.0])), np.array([shift, 0.0, 0.0]))
    return SimpleNamespace(hypothesis=SimpleNamespace(number=number, T_object_palm=T, fingers=fingers))


def test_copies_of_a_better_grasp_are_left_out_and_others_are_not():
    near, far, turned = palm(1, 0.0099), palm(2, 0.0101), palm(3, turn=np.radians(10.1))
    others = palm(4, fingers=("a", "b", "c"))
    kept = distinct([palm(0), near, far, turned, palm(5, turn=np.radians(9.9)), others])
    assert [g.hypothesis.number for g in kept] == [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("held", "count", "low", "high"), [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634)]
)
def test_the_interval_of_a_share_is_wilsons(held, count, low, high):
    share = wilson(held, count)
    assert share.share == held / count
    assert (share.low, share.high) == pytest.approx((low, high), abs=1e-4)


def test_one_grasp_is_chosen_because_it_is_the_only_one():
    assert rule([grasp(0, 1.0)]) == (ChoiceRule.ONLY, 1)


def test_weights_beside_the_force_decide_in_place_of_the_shortlist():
    made = [grasp(0, 1.0, 1.0, 9.0), grasp(1, 1.5, 1.0, 1.0)]
    assert numbers(made, weights=(0.0, 0.0, 1.0)) == [1, 0]
    assert rule(made, weights=(0.0, 0.0, 1.0)) == (ChoiceRule.WEIGHTS, 2)
    assert numbers(made, weights=(2.0, 0.0, 0.0)) == [0, 1]


def test_weights_that_are_all_zero_are_no_question():
    with pytest.raises(OptionError, match="weights: all 0"):
        ranked([grasp(0, 1.0)], PlannerOptions(weights=(0.0, 0.0, 0.0)))


def test_nothing_to_rank_is_nothing():
    assert ranked([], PlannerOptions()) == ([], None)
