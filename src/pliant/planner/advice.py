"""Why there is no plan, in words, and what to change."""

from __future__ import annotations

from pliant.planner.results import Plan, Rejection, Stage

REMEDIES = {
    "palm out of the arm's reach": "move the object or the robot's base nearer",
    "open hand inside the object": "the object may be too large for the hand, or too near to the palm",
    "open hand or arm hits something": "leave more room around the object: a stand, or fewer obstacles",
    "fewer than two fingers touch": "the object may be too small for the hand; try another preshape or more hypotheses",
    "fewer than two regions": "the object may be too small for the hand; try another preshape or more hypotheses",
    "closing fingers hit something": "leave more room around the object",
    "touches with a link that has no pad": "give more links pads in the hand's description",
    "touches beside the pad": "check the pads' regions in the hand's description",
    "touches at the edge of what is felt": "try more hypotheses, or check the tactile arrays in the hand's description",
    "pushed away": "raise the friction, or try more hypotheses: the touches do not oppose each other",
    "does not come to rest": "try more hypotheses: the touches barely oppose each other",
    "slips": "raise the friction or the permitted force",
    "no forces hold the weight": "raise the friction, or try more hypotheses",
    "force too small": "raise the permitted force, or try more hypotheses",
    "steady only when pressed harder than wanted": "try more hypotheses: the touches barely steady it",
    "friction does not balance": "raise the friction or the permitted force",
    "joint torque above the limit": "a lighter object or a stronger hand",
    "fingers cannot carry out the move": "allow the arm to help (by: both), ask for less, or another axis",
    "arm cannot follow the move": "move the object nearer to the middle of the arm's reach",
    "object leaves its path": "ask for less, or allow the arm to help (by: both)",
    "arm cannot lift so high": "lift less, or move the object nearer to the middle of the arm's reach",
    "no free way to the object": "fewer obstacles, or another start of the arm",
    "the squeeze turns the object into something": "try more hypotheses: the fingers do not oppose each other well",
    "the object hits something": "lift higher before the move, or leave more room",
}


def advice(plan: Plan) -> str:
    """A sentence or two for people."""
    if plan.grasps:
        best = plan.grasps[0]
        return (
            f"{len(plan.grasps)} of {len(plan.hypotheses)} hypotheses kept; the best needs {best.largest_force:.3g} N "
            f"at most with {', '.join(best.hypothesis.fingers)} ({best.hypothesis.preshape})."
        )
    if not plan.hypotheses:
        return "There were no hypotheses: no fingers of the hand close against each other in any preshape."
    limits = plan.task.body.limits
    strong = [r for r in plan.rejections if r.reason in ("force above the limit", "needs more force than allowed")]
    crushed = [r for r in plan.rejections if r.reason == "pressure above the limit"]
    words = []
    if plan.stable:
        words.append(_after_stable(plan))
    elif strong and limits.force is not None:
        least = min((r.margin if r.unit == "N" else r.margin * limits.force) for r in strong)
        words.append(
            f"All {len(strong)} grasps that could hold it need more than {limits.force:.3g} N "
            f"(the gentlest about {least:.3g} N); the limit is {limits.force:.3g} N: raise the limit or the friction."
        )
    if crushed and limits.pressure is not None and not plan.stable:
        least = min(r.margin for r in crushed) * limits.pressure
        words.append(
            f"{len(crushed)} grasps press harder than {limits.pressure:.3g} Pa (the gentlest {least:.3g} Pa): "
            "raise the pressure limit or the friction."
        )
    if not words:
        words.append(_commonest(plan.rejections, len(plan.hypotheses)))
    return " ".join(words)


def _after_stable(plan: Plan) -> str:
    numbers = {grasp.number for grasp in plan.stable}
    later = [r for r in plan.rejections if r.number in numbers]
    reasons: dict[str, list[Rejection]] = {}
    for rejection in later:
        reasons.setdefault(rejection.reason, []).append(rejection)
    reason, group = max(reasons.items(), key=lambda item: len(item[1]))
    nearest = min(group, key=lambda r: r.margin)
    words = f"{len(numbers)} grasps hold the weight, but none can do the rest; {len(group)} of them: {reason}"
    if nearest.detail:
        words += f" (the nearest: {nearest.detail})"
    return words + _remedy(reason)


def _commonest(rejections: tuple[Rejection, ...], total: int) -> str:
    # those that came furthest tell most
    order = list(Stage)
    furthest = max(order.index(r.stage) for r in rejections)
    last = [r for r in rejections if order.index(r.stage) == furthest]
    reasons: dict[str, int] = {}
    for rejection in last:
        reasons[rejection.reason] = reasons.get(rejection.reason, 0) + 1
    reason = max(reasons, key=lambda name: reasons[name])
    return (
        f"None of {total} hypotheses holds the object; {len(last)} came as far as '{order[furthest]}', "
        f"where most fell: {reason}{_remedy(reason)}"
    )


def _remedy(reason: str) -> str:
    return f": {REMEDIES[reason]}." if reason in REMEDIES else "."
