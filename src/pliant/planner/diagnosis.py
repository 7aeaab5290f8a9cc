"""What would help where there is no plan: changes of the task, tried on the hypotheses that they could let through.

A change is worth as much as the hypotheses that pass with it and do not without. The mildest value of it with which one
of them is pressed, lifted and moved, and with which the search itself then finds a grasp, is the one to advise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.errors import PliantError
from pliant.planner.aim import Aim, aim
from pliant.planner.context import PlanningContext
from pliant.planner.hypotheses import Hypothesis, largest_posture
from pliant.planner.questions import pressed
from pliant.planner.reasons import Failure, Reason, Rejection
from pliant.planner.remedies import CHANGES, Variant
from pliant.planner.results import PlannedGrasp

Search = Callable[[PlanningContext], PlannedGrasp | None]
"""The first grasp that a search finds."""
SAMPLE = 30
"""So many of the hypotheses that a change could let through are looked at."""
PRESSED = 2
"""So many of those that it lets through are pressed for each value that is tried, the gentlest and .."""
AMONG = 8
""".. so many are aimed anew with milder values."""
COMPARABLE = 0.5
"""Changes that help at least this part of what the best does are tried in the order of `CHANGES`."""
TRIED = 3
"""So many changes are tried with pressing."""


@dataclass(frozen=True)
class Remedy:
    """A change of the task with which there is a grasp.

    Args:
        setting: the change, as the task file has it.
        reason: what most of the hypotheses that it concerns were rejected for.
        lost: how many were rejected for that.
        failure: why the best of these fails without the change; None where that is not known.
        force: largest of the first grasp that is found with the change [N].
    """

    setting: str
    reason: Reason
    lost: int
    failure: Failure | None
    force: float


@dataclass(frozen=True)
class Diagnosis:
    """Facts about a task without a plan.

    Args:
        opening: how far apart the hand's pads are at most [m].
        width: smallest distance of two parallel planes between which the object fits [m].
        remedy: what would help; None where nothing that was tried does.
    """

    opening: float
    width: float
    remedy: Remedy | None = None

    @property
    def too_wide(self) -> bool:
        """Whether the object is wider than the hand opens."""
        return self.width > self.opening


def diagnose(
    context: PlanningContext,
    hypotheses: Sequence[Hypothesis],
    rejections: Sequence[Rejection],
    search: Search | None,
) -> Diagnosis:
    """Find out what would help.

    Args:
        hypotheses: all that were tried.
        rejections: why they were rejected.
        search: tries a changed task as a user would; None where there is no time for that.
    """
    hand = context.hand
    opening = hand.opening(largest_posture(context.assembly))
    facts = Diagnosis(opening, narrowest(context.body.mesh.vertices))
    return replace(facts, remedy=_remedy(context, hypotheses, rejections, search)) if search is not None else facts


def narrowest(points: Floats) -> float:
    """Smallest width of a convex hull across one of its faces [m]: what fingers that oppose each other must span."""
    from scipy.spatial import ConvexHull

    normals = ConvexHull(points).equations[:, :3]
    return float(np.ptp(points @ normals.T, axis=0).min())


class _Hope(NamedTuple):
    """A change that helps.

    Attributes:
        worth: about how many hypotheses it lets through.
        variants: the change, mild to strong.
        strongest: the context of the last variant.
        helped: the aims that are sound then, best first.
        lost: why all that it concerns were rejected.
    """

    worth: float
    variants: list[Variant]
    strongest: PlanningContext
    helped: list[Aim]
    lost: list[Rejection]


def _remedy(
    context: PlanningContext, hypotheses: Sequence[Hypothesis], rejections: Sequence[Rejection], search: Search
) -> Remedy | None:
    by_number = {hypothesis.number: hypothesis for hypothesis in hypotheses}
    unpressed = [by_number[r.number] for r in rejections if r.reason is Reason.LESS_PROMISING]
    hopes = []
    for change in CHANGES:
        lost = [r for r in rejections if r.reason in change.reasons]
        if not lost:
            continue
        sample = [by_number[r.number] for r in _thinned(lost)]
        variants = change.variants(context, sample)
        strongest = _changed(context, variants[-1]) if variants else None
        if strongest is None:
            continue
        aims = [aim(strongest, hypothesis) for hypothesis in sample]
        helped = sorted((found for found in aims if found.sound), key=lambda found: found.grade)
        # those that were never pressed would share the lot of those that were
        sound = any(aim(context, found.hypothesis).sound for found in helped[:AMONG])
        worth = len(helped) / len(sample) * len(lost) + (len(unpressed) if sound else 0)
        if helped:
            hopes.append(_Hope(worth, variants, strongest, helped, lost))
    best = max((hope.worth for hope in hopes), default=0.0)
    hopes.sort(key=lambda hope: hope.worth < COMPARABLE * best)
    for hope in hopes[:TRIED]:
        if (remedy := _tried(context, hope, search)) is not None:
            return remedy
    return None


def _thinned(rejections: list[Rejection]) -> list[Rejection]:
    """Some of them, evenly."""
    places = np.linspace(0, len(rejections) - 1, min(SAMPLE, len(rejections)))
    return [rejections[i] for i in places.round().astype(int).tolist()]


def _changed(context: PlanningContext, variant: Variant) -> PlanningContext | None:
    """The context of a changed task; None where that is no sensible question."""
    try:
        return PlanningContext(variant.task, context.prepared, context.hand)
    except PliantError:
        return None


def _tried(context: PlanningContext, hope: _Hope, search: Search) -> Remedy | None:
    """The mildest variant that lets one of these hypotheses through, by bisection, or the next with which the search
    finds a grasp: it meets other hypotheses then. None where even the strongest does not.
    """
    few = [found.hypothesis for found in hope.helped[:AMONG]]

    def grasp(number: int) -> Hypothesis | None:
        there = hope.strongest if number == last else _changed(context, hope.variants[number])
        if there is None:
            return None
        aims = sorted((found for h in few if (found := aim(there, h)).sound), key=lambda found: found.grade)
        answers = ((h, pressed(there, h).answer) for h in (found.hypothesis for found in aims[:PRESSED]))
        return next((h for h, answer in answers if isinstance(answer, PlannedGrasp)), None)

    last = len(hope.variants) - 1
    number, hypothesis = _mildest(grasp, last)
    if hypothesis is None:
        return None
    step = 1
    while (there := _changed(context, hope.variants[number])) is None or (found := search(there)) is None:
        if number == last:
            return None
        number, step = min(number + step, last), 2 * step
    reason, lost = Counter(r.reason for r in hope.lost).most_common(1)[0]
    return Remedy(
        hope.variants[number].setting,
        reason,
        lost,
        _why(context, hypothesis, hope.lost),
        found.largest_force,
    )


def _mildest(grasp: Callable[[int], Hypothesis | None], last: int) -> tuple[int, Hypothesis | None]:
    """The first of some variants that has a grasp, where all beyond it have one too."""
    low, high, found = -1, last, grasp(last)
    while found is not None and high - low > 1:
        middle = (low + high) // 2
        answer = grasp(middle)
        if answer is None:
            low = middle
        else:
            high, found = middle, answer
    return high, found


def _why(context: PlanningContext, hypothesis: Hypothesis, lost: list[Rejection]) -> Failure | None:
    """Why a hypothesis fails as the task is: as its rejection says, with what is to blame where no forces hold it."""
    (known,) = [r for r in lost if r.number == hypothesis.number]
    if known.reason is Reason.NO_FORCES:
        return aim(context, hypothesis, explain=True).failure
    return Failure(known.reason, known.margin, known.unit, known.detail, known.stage)
