"""From a stable grasp to a whole operation: lift, move, approach, and times for all of it.   (theory 8.5-8.7)"""

from __future__ import annotations

import numpy as np

from pliant.planner.approach import approach_path, free_along
from pliant.planner.context import PlanningContext
from pliant.planner.manipulation import idle_touch, lift, manipulate, object_collision, pressed_into
from pliant.planner.reasons import Failure, Reason, Rejection
from pliant.planner.results import PlannedGrasp
from pliant.planner.stability import HeldGrasp
from pliant.planner.trajectory import Operation, planned_grasp, straight


def complete(context: PlanningContext, grasp: HeldGrasp, bound: float = np.inf) -> PlannedGrasp | Rejection:
    """Lift, manipulation and approach for a stable grasp, and times for all of it.

    Args:
        bound: an operation that needs more force is of no use [N].
    """
    done = _complete(context, grasp, bound)
    return done.rejection(grasp.hypothesis.number) if isinstance(done, Failure) else done


def _complete(context: PlanningContext, grasp: HeldGrasp, bound: float) -> PlannedGrasp | Failure:
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
    steps = manipulate(context, grasp, lifted.end, bound)
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
