"""Which grasp is best: of the gentlest that with the best joint range, then with the shortest arm path. (theory 8.8)"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.errors import OptionError, Problem
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.results import Choice, ChoiceRule, PlannedGrasp
from pliant.planner.task import PlannerOptions

NEAR, NEAR_ANGLE = 0.01, np.radians(10.0)
"""Palms that are nearer to each other than this belong to one grasp [m, rad]."""
FEWER = 0.1
"""A grasp that holds under so many fewer of the pose errors than another comes after it."""
TIE = 0.01
"""Values this near to each other (relative) are a tie."""


class Ranking(NamedTuple):
    """Grasps, best first, and the rule that put the first there; the first ``choice.shortlisted`` are the gentlest."""

    grasps: list[PlannedGrasp]
    choice: Choice | None


def ranked(grasps: Sequence[PlannedGrasp], options: PlannerOptions) -> Ranking:
    """Best first.

    The shortlist comes first: the ``shortlist`` gentlest grasps, as far as the largest force of their whole operation
    is at most ``force_tolerance`` above the smallest. Among them those come first that hold under as many pose errors
    as the best, or almost; of these the smallest joint-range measure (7) decides, and where it ties the shortest arm
    path. The others follow by their force. Where ``weights`` has one for joint range or
    arm path, the weighted score decides in place of the shortlist, and ties in it go by joint range, then arm path.
    """
    if not any(options.weights):
        raise OptionError("planner", Problem("weights", "all 0", "at least one above 0"))
    if not grasps:
        return Ranking([], None)
    if scored(options):
        order = _by_score(grasps, options.weights)
        return Ranking(order, Choice(ChoiceRule.ONLY if len(order) == 1 else ChoiceRule.WEIGHTS, len(order)))
    by_force = sorted(grasps, key=lambda grasp: (grasp.largest_force, grasp.hypothesis.number))
    size = shortlisted([grasp.largest_force for grasp in by_force], options)
    gentlest, others = by_force[:size], by_force[size:]
    most = max((grasp.holds_share for grasp in gentlest if not math.isnan(grasp.holds_share)), default=math.nan)
    unsafe = {grasp.hypothesis.number for grasp in gentlest if grasp.holds_share < most - FEWER}
    safe = [grasp for grasp in gentlest if grasp.hypothesis.number not in unsafe]
    least = min(grasp.joint_range for grasp in safe)

    def key(grasp: PlannedGrasp) -> tuple[bool, int, float, float, int]:
        number = grasp.hypothesis.number
        return number in unsafe, _step(grasp.joint_range, least), grasp.arm_path, grasp.joint_range, number

    order = sorted(gentlest, key=key)
    if len(by_force) == 1:
        rule = ChoiceRule.ONLY
    elif size == 1:
        rule = ChoiceRule.FORCE
    elif len(safe) == 1:
        rule = ChoiceRule.HOLDS
    else:
        tie = _step(order[1].joint_range, least) == _step(order[0].joint_range, least)
        rule = ChoiceRule.ARM_PATH if tie else ChoiceRule.JOINT_RANGE
    return Ranking(order + others, Choice(rule, size))


def distinct(grasps: Sequence[PlannedGrasp]) -> list[PlannedGrasp]:
    """Without those that are almost copies of one before: palm within 10 mm and 10 degrees, same fingers.

    A palm counts as it stands to the object.
    """
    kept: list[PlannedGrasp] = []
    for grasp in grasps:
        if not any(copies(grasp.hypothesis, other.hypothesis) for other in kept):
            kept.append(grasp)
    return kept


def copies(one: Hypothesis, other: Hypothesis) -> bool:
    """Whether two hypotheses are one grasp: same fingers, palms near each other."""
    if one.fingers != other.fingers:
        return False
    apart = one.T_object_palm.actInv(other.T_object_palm)
    angle = float(np.linalg.norm(pin.log3(apart.rotation)))
    return float(np.linalg.norm(apart.translation)) < NEAR and angle < NEAR_ANGLE


def scored(options: PlannerOptions) -> bool:
    """Whether the weights decide, and not the shortlist."""
    return any(options.weights[1:])


def shortlisted(forces: Sequence[float], options: PlannerOptions) -> int:
    """How many of these largest forces, smallest first [N], are on the shortlist."""
    most = (1.0 + options.force_tolerance) * forces[0]
    return sum(force <= most for force in forces[: options.shortlist])


def _by_score(grasps: Sequence[PlannedGrasp], weights: tuple[float, float, float]) -> list[PlannedGrasp]:
    """By the sum of largest force, joint range and arm path, each over the best there is and with its weight."""
    best = [
        max(min(values), 1e-12)
        for values in zip(*((g.largest_force, g.joint_range, g.arm_path) for g in grasps), strict=True)
    ]

    def score(grasp: PlannedGrasp) -> float:
        values = (grasp.largest_force, grasp.joint_range, grasp.arm_path)
        return sum(weight * value / least for weight, value, least in zip(weights, values, best, strict=True))

    least = min(score(grasp) for grasp in grasps)

    def key(grasp: PlannedGrasp) -> tuple[int, float, float, int]:
        return _step(score(grasp), least), grasp.joint_range, grasp.arm_path, grasp.hypothesis.number

    return sorted(grasps, key=key)


def _step(value: float, least: float) -> int:
    """How many ties a value lies above the least one."""
    return math.floor(math.log(max(value / max(least, 1e-12), 1.0)) / math.log1p(TIE))
