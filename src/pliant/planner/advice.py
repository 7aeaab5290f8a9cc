"""Why there is no plan, in a sentence or two, and what to change."""

from __future__ import annotations

from collections import Counter

from pliant.planner.reasons import Reason, Rejection, Stage
from pliant.planner.results import ChoiceRule, Plan


def advice(plan: Plan) -> str:
    """A sentence or two for people."""
    if plan.grasps:
        best = plan.grasps[0]
        return (
            f"{len(plan.grasps)} of {len(plan.hypotheses)} hypotheses kept; the best needs {best.largest_force:.3g} N "
            f"at most with {', '.join(best.hypothesis.fingers)} ({best.hypothesis.preshape}).{_chosen(plan)}"
        )
    if not plan.hypotheses:
        return "There were no hypotheses: no fingers of the hand close against each other in any preshape."
    limits = plan.task.body.limits
    strong = [r for r in plan.rejections if r.reason in (Reason.FORCE_LIMIT, Reason.NEEDS_MORE_FORCE)]
    crushed = [r for r in plan.rejections if r.reason is Reason.PRESSURE_LIMIT]
    sentences = []
    if plan.stable:
        sentences.append(_after_stable(plan))
    elif strong and limits.force is not None:
        least = min((r.margin if r.reason is Reason.NEEDS_MORE_FORCE else r.margin * limits.force) for r in strong)
        sentences.append(
            f"All {len(strong)} grasps that could hold it need more than {limits.force:.3g} N "
            f"(the gentlest about {least:.3g} N); the limit is {limits.force:.3g} N: raise the limit or the friction."
        )
    if crushed and limits.pressure is not None and not plan.stable:
        least = min(r.margin for r in crushed) * limits.pressure
        sentences.append(
            f"{len(crushed)} grasps press harder than {limits.pressure:.3g} Pa (the gentlest {least:.3g} Pa): "
            "raise the pressure limit or the friction."
        )
    if not sentences:
        sentences.append(_furthest(plan.rejections, len(plan.hypotheses)))
    return " ".join(sentences)


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


def _after_stable(plan: Plan) -> str:
    """What most stable grasps were rejected for."""
    numbers = {grasp.number for grasp in plan.stable}
    later = [r for r in plan.rejections if r.number in numbers]
    reason = _commonest(later)
    group = [r for r in later if r.reason is reason]
    nearest = min(group, key=lambda r: r.margin)
    words = f"{len(numbers)} grasps hold the weight, but none can do the rest; {len(group)} of them: {reason}"
    if nearest.detail:
        words += f" (the nearest: {nearest.detail})"
    return f"{words}: {reason.remedy}."


def _furthest(rejections: tuple[Rejection, ...], total: int) -> str:
    """What most of those that came furthest were rejected for: those are the most telling."""
    order = list(Stage)
    furthest = max(order.index(r.stage) for r in rejections)
    last = [r for r in rejections if order.index(r.stage) == furthest]
    reason = _commonest(last)
    return (
        f"None of {total} hypotheses holds the object; {len(last)} came as far as '{order[furthest]}', "
        f"where most were rejected: {reason}: {reason.remedy}."
    )


def _commonest(rejections: list[Rejection]) -> Reason:
    return Counter(r.reason for r in rejections).most_common(1)[0][0]
