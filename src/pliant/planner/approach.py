"""The arm's part: a free path to the object, and the straight lift.   (theory 8.7)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import Clearance, sweeps_clear
from pliant.motion import plan_joint_path
from pliant.planner.context import PlanningContext
from pliant.planner.reasons import Failure, Reason, Stage

STANDOFF = (0.12, 0.06)
"""Distances from which the open hand comes straight to the object [m]."""
CHECK = 0.04
"""Largest joint change between two collision checks [rad, m]."""
SEEDS = 3
"""Sampled paths to each place before the object: one that brushes something between two checks is no path."""
LIFT_STEP = 0.01
"""[m]"""


@dataclass(frozen=True, eq=False)
class ArmPath:
    """A joint path in two parts: corners of straight segments, then dense points of a straight path of the palm."""

    corners: Floats
    dense: Floats

    @property
    def points(self) -> Floats:
        """All of them."""
        return np.vstack([self.corners, self.dense[1:]])


def approach_path(context: PlanningContext, q_pregrasp: Floats, T_world_palm: pin.SE3) -> ArmPath | Failure:
    """Joint path from the start to the open hand around the object.

    Arm and hand move together. Tried in this order, the shortest of the first two that are free: straight in joint
    space; to a place before the object and then straight along the approach; a sampled path (RRT-Connect).
    """
    start = context.task.q_start
    world = context.clearance_with_object(context.task.T_world_object)

    def blocked(q: Floats) -> bool:
        return world.collision(q) is not None

    if (hit := world.collision(q_pregrasp)) is not None:
        return Failure(Reason.OPEN_HAND_HITS, 0.0, detail=str(hit), found_in=Stage.APPROACH)
    candidates = []
    straight = np.array([start, q_pregrasp])
    if _free(straight, blocked):
        candidates.append(ArmPath(straight, q_pregrasp[None]))
    near = list(_near_places(context, q_pregrasp, T_world_palm, blocked))
    for last in near:
        first = np.array([start, last[0]])
        if _free(first, blocked):
            candidates.append(ArmPath(first, last))
            break
    for path in sorted(candidates, key=lambda path: path_length(context, path.points)):
        if sweeps_clear(path.points, world):
            return path
    everything = np.arange(context.robot.dof)
    for seed in range(SEEDS):
        for last in [*near, q_pregrasp[None]]:
            sampled = plan_joint_path(
                start, last[0], blocked, context.limits, joints=everything, step=CHECK, nodes=1500, seed=seed
            )
            if sampled is not None and sweeps_clear((path := ArmPath(sampled, last)).points, world):
                return path
    return Failure(Reason.NO_FREE_PATH, 0.0, detail="straight, over a place before the object, and sampled paths")


def _near_places(
    context: PlanningContext, q_pregrasp: Floats, T_world_palm: pin.SE3, blocked: Callable[[Floats], bool]
) -> Iterator[Floats]:
    """Straight paths along the approach direction, from a place before the object to the pre-grasp, that are free."""
    for distance in STANDOFF:
        count = max(2, round(distance / 0.01))
        path = [q_pregrasp]
        for k in range(1, count + 1):
            back = pin.SE3(np.eye(3), np.array([0.0, 0.0, -distance * k / count]))
            found = context.ik.solve(T_world_palm * back, seed=path[-1], starts=1)
            if not found.found or np.abs(found.q - path[-1]).max() > 0.3 or blocked(found.q):
                break
            path.append(found.q)
        else:
            yield np.array(path[::-1])


def lift_path(context: PlanningContext, q: Floats, T_world_palm: pin.SE3, height: float) -> Floats | Failure:
    """Joints along a straight path up; the hand's joints stay."""
    count = max(1, int(np.ceil(height / LIFT_STEP)))
    path = [q]
    if height <= 0.0:
        return np.array(path)
    for k in range(1, count + 1):
        up = np.array([0.0, 0.0, height * k / count])
        T = pin.SE3(T_world_palm.rotation, T_world_palm.translation + up)
        found = context.ik.solve(T, seed=path[-1], starts=1)
        if not found.found or np.abs(found.q - path[-1]).max() > 0.5:
            return Failure(Reason.LIFT_OUT_OF_REACH, height * (1.0 - (k - 1) / count), detail="missing height")
        if (hit := context.surroundings.collision(found.q)) is not None:
            return Failure(Reason.LIFT_HITS, 0.0, detail=str(hit))
        path.append(found.q)
    return np.array(path)


def path_length(context: PlanningContext, path: Floats) -> float:
    """Length of the arm's part of a joint path [rad, m]."""
    arm = path[:, context.assembly.arm_joints]
    return float(np.linalg.norm(np.diff(arm, axis=0), axis=1).sum())


def _free(path: Floats, blocked: Callable[[Floats], bool]) -> bool:
    for a, b in pairwise(path):
        count = max(1, int(np.ceil(np.abs(b - a).max() / CHECK)))
        # coarse first: most collisions are found with few checks
        for stride in (8, 1):
            for i in range(stride, count + 1, stride):
                if (stride == 8 or i % 8) and blocked(a + (b - a) * (i / count)):
                    return False
    return True


def free_along(path: Floats, clearance: Clearance) -> bool:
    """Whether nothing collides anywhere on straight segments between the points."""
    return _free(path, lambda q: clearance.collision(q) is not None)
