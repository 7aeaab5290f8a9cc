"""Ranking and words."""

from types import SimpleNamespace

import pytest

from pliant.errors import OptionError
from pliant.planner.advice import advice
from pliant.planner.reasons import Reason, Rejection, Stage
from pliant.planner.results import StableGrasp
from pliant.planner.selection import ranked


def grasp(number, force, spread=1.0, path=1.0):
    return SimpleNamespace(
        hypothesis=SimpleNamespace(number=number), largest_force=force, joint_range=spread, arm_path=path
    )


def numbers(grasps, *weights):
    return [g.hypothesis.number for g in ranked(grasps, *weights)]


def test_least_force_comes_first():
    assert numbers([grasp(0, 3.0), grasp(1, 1.0), grasp(2, 2.0)]) == [1, 2, 0]


def test_ties_go_to_the_better_joint_range_and_then_to_the_shorter_way():
    assert numbers([grasp(0, 1.0, 0.5), grasp(1, 1.005, 0.2)]) == [1, 0]
    assert numbers([grasp(0, 1.0, 0.2, 3.0), grasp(1, 1.0, 0.2, 2.0)]) == [1, 0]


def test_weights_can_put_the_way_first():
    assert numbers([grasp(0, 1.0, 1.0, 9.0), grasp(1, 1.5, 1.0, 1.0)], (0.0, 0.0, 1.0)) == [1, 0]


def test_weights_that_are_all_zero_are_no_question():
    with pytest.raises(OptionError, match="weights: all 0"):
        ranked([grasp(0, 1.0)], (0.0, 0.0, 0.0))


def test_nothing_to_rank_is_nothing():
    assert ranked([]) == []


def plan_of(rejections, stable=(), force=None, pressure=None, total=10):
    limits = SimpleNamespace(force=force, pressure=pressure)
    return SimpleNamespace(
        grasps=(),
        hypotheses=tuple(range(total)),
        rejections=tuple(rejections),
        stable=tuple(stable),
        task=SimpleNamespace(body=SimpleNamespace(limits=limits)),
    )


def test_too_strong_grasps_are_counted_against_the_limit():
    rejections = [Rejection(i, Stage.CONTACT, Reason.FORCE_LIMIT, 1.4, "", "") for i in range(3)]
    words = advice(plan_of(rejections, force=3.0))
    assert "All 3 grasps" in words
    assert "3 N" in words
    assert "raise the limit or the friction" in words


def test_what_came_furthest_is_told_with_a_remedy():
    rejections = [Rejection(i, Stage.OPEN_HAND, Reason.OPEN_HAND_IN_OBJECT, 0.01, "m") for i in range(9)]
    rejections.append(Rejection(9, Stage.STABILITY, Reason.NO_FORCES, 1.0))
    words = advice(plan_of(rejections))
    assert "stability" in words
    assert "raise the friction" in words


def test_stable_grasps_that_cannot_do_the_rest_say_what_stopped_them():
    rejections = [Rejection(0, Stage.REACH, Reason.FINGERS_FALL_SHORT, 0.7, "of the move", "30% of it")]
    words = advice(plan_of(rejections, [StableGrasp(0, 1.0, 0.1)]))
    assert "1 grasps hold" in words or "1 grasp" in words
    assert "by: both" in words
