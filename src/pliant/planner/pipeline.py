"""From a task to a plan: hypotheses through the stages, in this order, over all cores.   (theory 8)"""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from pliant.errors import OptionError
from pliant.grasp import edge_wrenches, epsilon_l1
from pliant.planner.advice import advice
from pliant.planner.approach import approach_path, free_along
from pliant.planner.closing import close_around, place_open_hand
from pliant.planner.context import PlanningContext, prepare_object, with_arm
from pliant.planner.hypotheses import Hypothesis, make_hypotheses
from pliant.planner.manipulation import idle_touch, lift, manipulate, object_collision, pressed_into
from pliant.planner.pressing import HandPose, press_hand
from pliant.planner.reasons import Failure, Reason, Rejection
from pliant.planner.results import Plan, PlannedGrasp, PlanStatus, StableGrasp
from pliant.planner.search import CHUNK, Progress, complete_stable, find_stable
from pliant.planner.selection import ranked, scored
from pliant.planner.stability import HeldGrasp, unsound
from pliant.planner.task import Task
from pliant.planner.trajectory import Operation, planned_grasp, straight
from pliant.planner.worker_processes import available_cores, worker_processes


def plan(task: Task, *, jobs: int | None = None, seed: int = 0, progress: Progress | None = None) -> Plan:
    """Find the grasps that hold and reach the goal with the smallest contact forces.

    Args:
        task: robot, object, scene and goal.
        jobs: processes; all cores by default. The answer does not depend on it.
        seed: of the choice of hypotheses.
        progress: called with how far it is; see `Progress`.

    Returns:
        The kept grasps, best first, and the reason why every other hypothesis was rejected. No plan is an answer too:
        look at ``status``, ``counts`` and ``advice``.

    Raises:
        OptionError: a question that makes no sense: no hand, jobs below one, a start that collides.
    """
    if jobs is not None and jobs < 1:
        raise OptionError("jobs", f"{jobs}; allowed: 1 or more")
    began = time.monotonic()
    task = with_arm(task)
    report = progress or (lambda what, done, total, rejected: None)

    def preparing(what: str, share: float) -> None:
        report(f"preparing the object: {what}", round(100 * share), 100, {})

    start = time.process_time()
    prepared = prepare_object(task.body, preparing)
    preparation = time.process_time() - start
    options = task.options
    hypotheses = make_hypotheses(
        task.body.mesh,
        task.assembly,
        method=options.method,
        count=options.faces,
        rolls=options.rolls,
        limit=options.hypotheses,
        seed=seed,
    )
    count = jobs if jobs is not None else available_cores()
    with worker_processes(task, prepared, min(count, max(1, len(hypotheses) // CHUNK))) as spread:
        stable = find_stable(hypotheses, try_hypothesis, spread, report)
        completed = complete_stable(stable, options, complete, spread, report)
    ranking = ranked(completed.grasps, options)
    kept, outdone = ranking.grasps[: options.keep], []
    for place, grasp in enumerate(ranking.grasps[options.keep :], start=options.keep):
        listed = ranking.choice is not None and place < ranking.choice.shortlisted
        reason = Reason.BETTER_SCORE if scored(options) else Reason.BETTER_RANGE if listed else Reason.LESS_FORCE
        margin = grasp.joint_range if reason is Reason.BETTER_RANGE else grasp.largest_force
        outdone.append(Failure(reason, margin).rejection(grasp.hypothesis.number))
    rejections = sorted([*stable.rejections, *completed.rejections, *outdone], key=lambda rejection: rejection.number)
    answer = Plan(
        task=task,
        status=PlanStatus.FOUND if kept else PlanStatus.NONE,
        grasps=tuple(kept),
        hypotheses=tuple(hypotheses),
        rejections=tuple(rejections),
        choice=ranking.choice,
        stable=tuple(StableGrasp(g.hypothesis.number, g.held.largest_force, g.epsilon) for g in stable.grasps),
        seed=seed,
        wall_s=time.monotonic() - began,
        cpu_s={
            "preparation": preparation,
            "closing and pressing": stable.cpu_s,
            "lifting, moving, approaching": completed.cpu_s,
        },
        versions=_versions(),
    )
    return replace(answer, advice=advice(answer))


def try_hypothesis(context: PlanningContext, hypothesis: Hypothesis) -> HeldGrasp | Rejection:
    """Open hand, closing, pressing and stability for one hypothesis, cheap tests first."""
    number, T_world_object = hypothesis.number, context.task.T_world_object
    q_open = place_open_hand(context, hypothesis)
    if isinstance(q_open, Failure):
        return q_open.rejection(number)
    closing = close_around(context, hypothesis, q_open)
    if isinstance(closing, Failure):
        return closing.rejection(number)
    T_world_palm = T_world_object * hypothesis.T_object_palm
    held = press_hand(context.presser, closing, HandPose(q_open, T_world_palm), T_world_object)
    if isinstance(held, Failure):
        return held.rejection(number)
    if (failure := unsound(context, held)) is not None:
        return failure.rejection(number)
    epsilon = epsilon_l1(edge_wrenches(held.contacts, held.centre))
    q_touch = context.hand.with_arm(closing.q, q_open)
    return HeldGrasp(hypothesis, T_world_palm, q_open, q_touch, held, float(epsilon))


def complete(context: PlanningContext, grasp: HeldGrasp) -> PlannedGrasp | Rejection:
    """Lift, manipulation and approach for a stable grasp, and times for all of it."""
    done = _complete(context, grasp)
    return done.rejection(grasp.hypothesis.number) if isinstance(done, Failure) else done


def _complete(context: PlanningContext, grasp: HeldGrasp) -> PlannedGrasp | Failure:
    lifted = lift(context, grasp)
    if isinstance(lifted, Failure):
        return lifted
    close, squeeze = straight(grasp.q_open, grasp.q_touch), straight(grasp.q_touch, grasp.held.q)
    if not free_along(np.vstack([close[[0, -1]], squeeze[-1:]]), context.surroundings):
        return Failure(Reason.CLOSING_HITS, 0.0)
    if (collision := object_collision(context, [lifted.end])) is not None:
        return collision
    if (hit := pressed_into(context, grasp.held.state.T_world_object)) is not None:
        return Failure(Reason.PRESSED_INTO_SUPPORT, 0.0, detail=hit)
    steps = manipulate(context, grasp, lifted.end)
    if isinstance(steps, Failure):
        return steps
    if (collision := object_collision(context, steps)) is not None:
        return collision
    if steps and not free_along(np.array([lifted.end.q, *(step.q for step in steps)]), context.surroundings):
        return Failure(Reason.MOVE_HITS, 0.0, detail="between two steps")
    path = approach_path(context, grasp)
    if isinstance(path, Failure):
        return path
    close = straight(path.points[-1], grasp.q_touch)
    planned = planned_grasp(context, Operation(grasp, path, close, squeeze, lifted, steps))
    return idle_touch(context, planned) or planned


def _versions() -> dict[str, str]:
    found = {}
    for name in ("pliant", "numpy", "scipy", "pin", "coal", "clarabel", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
