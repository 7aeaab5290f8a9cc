"""Why there is no plan, where most hypotheses were lost and what to change, in a few sentences."""

from __future__ import annotations

from collections import Counter

import numpy as np

from pliant.planner.diagnosis import Diagnosis, Remedy
from pliant.planner.reasons import Failure, Reason, Rejection, Stage
from pliant.planner.results import ChoiceRule, Plan, Stopped
from pliant.robot import fingers_without_tip_pad

SNUG = 0.85
"""An object that fits into the hand is at most this part as wide as it opens."""


def advice(plan: Plan, diagnosis: Diagnosis | None = None) -> str:
    """A few sentences for people.

    Args:
        plan: the plan, or none.
        diagnosis: what was found out where there is none.
    """
    return " ".join([_answer(plan, diagnosis), *_bare_tips(plan)])


def _answer(plan: Plan, diagnosis: Diagnosis | None) -> str:
    if plan.grasps:
        best = plan.grasps[0]
        return (
            f"{len(plan.grasps)} of {len(plan.hypotheses)} hypotheses kept; the best needs {best.largest_force:.3g} N "
            f"at most with {', '.join(best.hypothesis.fingers)} ({best.hypothesis.preshape}).{_chosen(plan)}"
        )
    if not plan.hypotheses:
        return _none_tried(plan)
    sentences = []
    remedy = diagnosis.remedy if diagnosis is not None else None
    if remedy is not None:
        sentences += [_remedied(remedy, len(plan.hypotheses)), _others(plan, remedy)]
    elif diagnosis is not None and diagnosis.too_wide and _commonest(plan) is Reason.OPEN_HAND_IN_OBJECT:
        sentences.append(_too_wide(plan, diagnosis))
    else:
        sentences += [_lost(plan), _furthest(plan)]
    if plan.stopped is not Stopped.DONE:
        sentences.append("The search was ended early: search longer.")
    return " ".join(sentence for sentence in sentences if sentence)


def _bare_tips(plan: Plan) -> list[str]:
    """Said whatever came out: such a finger takes part in no grasp by its tip."""
    assembly = plan.task.assembly
    bare = fingers_without_tip_pad(assembly.hand, assembly.robot.urdf) if assembly.hand is not None else ()
    return [
        f"WARNING: finger '{name}' has no pad on its last link, so nothing can be held with its tip: "
        "give it one (fingers[].pads in the hand's description)."
        for name in bare
    ]


def _chosen(plan: Plan) -> str:
    """Which rule chose the best."""
    if plan.choice is None or plan.choice.rule is ChoiceRule.ONLY:
        return ""
    rule, count, tolerance = plan.choice.rule, plan.choice.shortlisted, plan.task.options.force_tolerance
    if rule is ChoiceRule.WEIGHTS:
        return f" It was chosen among {count} by the weights."
    if rule is ChoiceRule.FORCE:
        return " It was chosen by the least force."
    return (
        f" It was chosen among the {count} gentlest (within {100 * tolerance:.3g} % of the least force) by the {rule}."
    )


def _none_tried(plan: Plan) -> str:
    if plan.stopped is not Stopped.DONE:
        return "The search was ended before it looked at a hypothesis: search longer."
    return "There were no hypotheses: no fingers of the hand close against each other in any preshape."


def _remedied(remedy: Remedy, total: int) -> str:
    """What most were lost for that need not be, and the change that was tried."""
    found = f" ({_measured(remedy.failure)})" if remedy.failure is not None else ""
    if remedy.failure is not None and remedy.failure.reason is not remedy.reason:
        found = f" ({remedy.failure.reason}: {_measured(remedy.failure)})"
    return (
        f"{remedy.lost} of {total} hypotheses: {remedy.reason}{found}. "
        f"Set {remedy.setting}: tried, there is a grasp then, with {remedy.force:.3g} N."
    )


def _others(plan: Plan, remedy: Remedy) -> str:
    """What most of the others were rejected for."""
    others = Counter(r.reason for r in plan.rejections if r.reason is not remedy.reason)
    if not others:
        return ""
    reason, count = others.most_common(1)[0]
    return f"Most others: {reason} ({count})."


def _too_wide(plan: Plan, diagnosis: Diagnosis) -> str:
    inside = [r for r in plan.rejections if r.reason is Reason.OPEN_HAND_IN_OBJECT]
    nearest = min(inside, key=lambda r: r.margin)
    opening, width = diagnosis.opening, diagnosis.width
    return (
        f"{len(inside)} of {len(plan.hypotheses)} hypotheses: {nearest.reason} ({nearest.detail} by "
        f"{1e3 * nearest.margin:.3g} mm at the nearest): the hand opens to {1e3 * opening:.3g} mm, the object is "
        f"{1e3 * width:.3g} mm wide. Take a hand that opens further than {1e3 * width / SNUG:.3g} mm, or a smaller "
        f"object (object.scale: {SNUG * opening / width:.2g})."
    )


def _lost(plan: Plan) -> str:
    """Where most hypotheses were lost."""
    reason = _commonest(plan)
    lost = [r for r in plan.rejections if r.reason is reason]
    told = _measured(min(lost, key=lambda r: r.margin))
    words = f"{len(lost)} of {len(plan.hypotheses)} hypotheses: {reason}"
    return f"{words}{f' (the nearest {told})' if told else ''}: {reason.remedy}."


def _furthest(plan: Plan) -> str:
    """What those that came furthest were rejected for, where most came less far."""
    order = list(Stage)
    furthest = max(plan.rejections, key=lambda r: order.index(r.stage)).stage
    last = [r for r in plan.rejections if r.stage is furthest]
    reason, count = Counter(r.reason for r in last).most_common(1)[0]
    if reason is _commonest(plan):
        return ""
    nearest = min((r for r in last if r.reason is reason), key=lambda r: r.margin)
    told = _measured(nearest)
    words = f"{len(last)} came as far as '{furthest}', {count} of them: {reason}"
    return f"{words}{f' (the nearest {told})' if told else ''}: {reason.remedy}."


def _commonest(plan: Plan) -> Reason:
    return Counter(r.reason for r in plan.rejections).most_common(1)[0][0]


def _measured(failure: Failure | Rejection) -> str:
    """By how much it fails, and where."""
    number = ""
    if np.isfinite(failure.margin) and failure.unit and failure.margin > 0.0:
        small = failure.unit == "m" and failure.margin < 1.0
        number = f"{1e3 * failure.margin:.3g} mm" if small else f"{failure.margin:.3g} {failure.unit}"
    if number and number in failure.detail:
        return failure.detail
    return ", ".join(part for part in (number, failure.detail) if part)
