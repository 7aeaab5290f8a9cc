"""Whether a grasp still holds where the object lies a little elsewhere: drawn pose errors, judged by their promise.

(theory 8.10)
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.planner.aim import aim
from pliant.planner.context import PlanningContext
from pliant.planner.hypotheses import Hypothesis, changed
from pliant.planner.reasons import Reason

DRAWS = 40
"""Pose errors that are drawn."""
NORMAL = 1.96
"""Standard deviations that hold 95 % of a normal distribution."""


class HoldsShare(NamedTuple):
    """A share with its 95 % interval."""

    share: float
    low: float
    high: float


def holds_share(context: PlanningContext, hypothesis: Hypothesis, seed: int = 0) -> HoldsShare:
    """The share of pose errors of the task's uncertainty under which a grasp holds by its promise."""
    rng = np.random.default_rng([seed, hypothesis.number, DRAWS])
    held = sum(_holds(context, displaced(context, hypothesis, rng)) for _ in range(DRAWS))
    return wilson(held, DRAWS)


def _holds(context: PlanningContext, hypothesis: Hypothesis) -> bool:
    """Whether a hypothesis holds by its aim; between fingers that share a joint the object slides to the middle."""
    found = aim(context, hypothesis, rigid=True)
    if found.failure is not None and found.failure.reason is Reason.TOO_FEW_REGIONS and found.move is not None:
        found = aim(context, changed(hypothesis, context.assembly, found.move))
    return found.sound


def displaced(context: PlanningContext, hypothesis: Hypothesis, rng: np.random.Generator) -> Hypothesis:
    """The hypothesis as the hand finds it when the object lies elsewhere and the hand does not know."""
    uncertainty, T = context.task.uncertainty, context.task.T_world_object
    shift = np.array([*rng.uniform(-uncertainty.position, uncertainty.position, size=2), 0.0])
    turn = pin.exp3(np.array([0.0, 0.0, float(rng.uniform(-uncertainty.turn, uncertainty.turn))]))
    moved = pin.SE3(turn @ T.rotation, T.translation + shift)
    return replace(hypothesis, T_object_palm=moved.actInv(T * hypothesis.T_object_palm))


def wilson(successes: int, count: int) -> HoldsShare:
    """Wilson's 95 % interval of a share."""
    share, z2 = successes / count, NORMAL**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = NORMAL * float(np.sqrt(share * (1 - share) / count + z2 / (4 * count**2))) / (1 + z2 / count)
    return HoldsShare(share, max(middle - half, 0.0), min(middle + half, 1.0))
