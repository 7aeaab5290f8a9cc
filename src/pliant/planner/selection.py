"""Which grasp is best.   (theory 8.8)"""

from __future__ import annotations

import math

from pliant.errors import OptionError, Problem
from pliant.planner.results import PlannedGrasp

TIE = 0.01
"""Scores this near to each other (relative) are a tie."""


def ranked(grasps: list[PlannedGrasp], weights: tuple[float, float, float] = (1.0, 0.0, 0.0)) -> list[PlannedGrasp]:
    """Best first: smallest largest force; ties by the joint-range measure (7), then by the shortest arm path.

    Args:
        weights: of largest force, joint range and arm path in the score, each relative to the best there is. By default
            force alone decides until there is a tie.
    """
    if not any(weights):
        raise OptionError("planner", Problem("weights", "all 0", "at least one above 0"))
    if not grasps:
        return []
    best = [
        max(min(values), 1e-12)
        for values in zip(*((g.largest_force, g.joint_range, g.arm_path) for g in grasps), strict=True)
    ]

    def score(grasp: PlannedGrasp) -> float:
        values = (grasp.largest_force, grasp.joint_range, grasp.arm_path)
        return sum(weight * value / least for weight, value, least in zip(weights, values, best, strict=True))

    least = min(score(grasp) for grasp in grasps)

    def key(grasp: PlannedGrasp) -> tuple[int, float, float, int]:
        tie = math.floor(math.log(max(score(grasp) / least, 1.0)) / math.log1p(TIE))
        return tie, grasp.joint_range, grasp.arm_path, grasp.hypothesis.number

    return sorted(grasps, key=key)
