"""A free path of arm and hand to the object, and the arm's straight lift.   (theory 5.6, 8.7)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import Clearance, sweeps_clear
from pliant.motion import JointLimits, drive_hand_and_arm, plan_joint_path, time_path
from pliant.planner.context import PlanningContext
from pliant.planner.reasons import Failure, Reason, Stage
from pliant.planner.stability import HeldGrasp

BEFORE = (0.12, 0.06)
"""Distances from which the open hand comes straight to the object [m]."""
CHECK = 0.04
"""Largest joint change between two collision checks [rad, m]."""
SEEDS = 3
"""Sampled paths to each place before the object: one that brushes something between two checks is no path."""
LIFT_STEP = 0.01
"""[m]"""
WIDER = (1.0, 2.0, 4.0)
"""Multiples of the stand-off distance that the hand-arm approach tries: the wider the hand, the more fits into it."""
BETWEEN = 0.02
"""Time between two kept points of the servo's path [s]."""
SHARES = 129
"""Places on the closing path at which the distance to the touches is measured."""


class ApproachMethod(StrEnum):
    """How a path to the object was found."""

    HAND_ARM = "hand-arm"
    STRAIGHT = "straight"
    OVER_A_PLACE = "over a place before"
    SAMPLED = "sampled"


@dataclass(frozen=True, eq=False)
class ApproachPath:
    """A joint path in two parts: corners of straight segments, then dense points of a straight path of the palm.

    Args:
        method: how it was found.
        corners, dense: the two parts, n x joints; the second begins where the first ends, and may have no more points.
        times: of the corners where a servo made them [s]; None where they may be passed as fast as the joints allow.
        note: why it is no hand-arm approach to the stand-off distance asked for; empty where it is one.
    """

    method: ApproachMethod
    corners: Floats
    dense: Floats
    times: Floats | None = None
    note: str = ""

    @property
    def points(self) -> Floats:
        """All of them."""
        return np.vstack([self.corners, self.dense[1:]])

    @property
    def description(self) -> str:
        """The method and the note."""
        return f"{self.method}; {self.note}" if self.note else str(self.method)

    def timed_corners(self, limits: JointLimits) -> tuple[Floats, Floats]:
        """Times and joints of the first part."""
        return time_path(self.corners, limits, dt=0.05) if self.times is None else (self.times, self.corners)


def approach_path(context: PlanningContext, grasp: HeldGrasp) -> ApproachPath | Failure:
    """Joint path from the start to where the fingers begin to close.

    First the hand-arm approach, to fingers at the stand-off distance from their touches, or at a multiple of it. Where
    that does not work, to the open hand: `path_to_open_hand`.
    """
    world = context.clearance_with_object(context.task.T_world_object)
    tried: list[str] = []
    ends: list[Floats] = []
    for factor in WIDER:
        distance = factor * context.task.options.standoff
        q_end = standoff_joints(context, grasp, distance)
        if any(np.array_equal(q_end, other) for other in ends):
            break  # the hand is open already
        ends.append(q_end)
        found = hand_arm_path(context, grasp, q_end, world)
        place = f"at {1e3 * distance:.3g} mm"
        if isinstance(found, ApproachPath):
            return replace(found, note=f"{place}, since {tried[0]}") if tried else found
        tried.append(f"{place} {found}")
    path = path_to_open_hand(context, grasp.q_open, grasp.T_world_palm, world)
    return path if isinstance(path, Failure) else replace(path, note=f"no hand-arm approach: {tried[0]}")


def standoff_joints(context: PlanningContext, grasp: HeldGrasp, distance: float) -> Floats:
    """Joints on the planned closing path with the fingers ``distance`` [m] from their touches.   (theory 5.6)

    The distance is measured at the contact points along the object's outward normals there. Each group of fingers has
    its own place on the path: the last one at which all of its contacts are that far away; the open hand where there
    is none. A group without contacts goes with the one that is least closed.
    """
    held, robot = grasp.held, context.robot
    names = [link.name for link in held.links]
    p_links = [
        T.actInv(region.centre) for T, region in zip(robot.poses(names, held.q), held.state.regions, strict=True)
    ]
    inward = np.array([region.normal for region in held.state.regions])

    def places(share: float) -> Floats:
        poses = robot.poses(names, grasp.q_open + share * (grasp.q_touch - grasp.q_open))
        return np.array([T.act(p) for T, p in zip(poses, p_links, strict=True)])

    touches = places(1.0)

    def away(share: float) -> Floats:
        return np.asarray(-np.einsum("ij,ij->i", places(share) - touches, inward))

    shares = np.linspace(0.0, 1.0, SHARES)
    distances = np.array([away(float(share)) for share in shares])
    groups = context.hand.groups(context.hand.preshape(grasp.hypothesis.preshape), grasp.hypothesis.fingers)
    places_of_groups: dict[int, float] = {}
    for g, group in enumerate(groups):
        links = {context.hand.links[i].name for i in group.links}
        mine = [k for k, name in enumerate(names) if name in links]
        if not mine:
            continue
        far = np.flatnonzero(distances[:, mine].min(axis=1) >= distance)
        low = float(shares[far[-1]]) if len(far) else 0.0
        high = min(low + float(shares[1]), 1.0)
        while len(far) and high - low > 1e-9:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if away(middle)[mine].min() >= distance else (low, middle)
        places_of_groups[g] = low
    q = grasp.q_open.copy()
    for g, group in enumerate(groups):
        share = places_of_groups.get(g, min(places_of_groups.values(), default=0.0))
        q[group.joints] += share * (grasp.q_touch - grasp.q_open)[group.joints]
    return q


def hand_arm_path(context: PlanningContext, grasp: HeldGrasp, q_end: Floats, world: Clearance) -> ApproachPath | str:
    """One servo drives arm and fingers from the start to ``q_end``; or why that does not work.   (theory 5.6)"""
    motion = drive_hand_and_arm(
        context.assembly,
        context.task.q_start,
        q_end,
        limits=context.limits,
        fingers=grasp.hypothesis.fingers,
        tip_targets=context.task.options.tip_targets,
        clearance=world,
    )
    if not motion.arrived:
        return motion.reason
    kept = np.searchsorted(motion.times, np.arange(0.0, motion.duration, BETWEEN) - 1e-9)
    times = np.append(motion.times[kept], motion.times[-1] + (motion.times[-1] - motion.times[-2]))
    corners = np.vstack([motion.q[kept], q_end])
    if not free_along(np.array([q_end, grasp.q_touch]), context.surroundings):
        return "closing from the stand-off hits something"
    if not sweeps_clear(corners, world):
        return "brushes something between two checks"
    return ApproachPath(ApproachMethod.HAND_ARM, corners, q_end[None], times)


def path_to_open_hand(
    context: PlanningContext, q_pregrasp: Floats, T_world_palm: pin.SE3, world: Clearance
) -> ApproachPath | Failure:
    """Joint path from the start to the open hand around the object.

    Arm and hand move together. Tried in this order, the shortest of the first two that are free: straight in joint
    space; to a place before the object and then straight along the approach; a sampled path (RRT-Connect).
    """
    start = context.task.q_start

    def blocked(q: Floats) -> bool:
        return world.collision(q) is not None

    if (hit := world.collision(q_pregrasp)) is not None:
        return Failure(Reason.OPEN_HAND_HITS, 0.0, detail=str(hit), found_in=Stage.APPROACH)
    candidates = []
    straight = np.array([start, q_pregrasp])
    if _free(straight, blocked):
        candidates.append(ApproachPath(ApproachMethod.STRAIGHT, straight, q_pregrasp[None]))
    near = list(_near_places(context, q_pregrasp, T_world_palm, blocked))
    for last in near:
        first = np.array([start, last[0]])
        if _free(first, blocked):
            candidates.append(ApproachPath(ApproachMethod.OVER_A_PLACE, first, last))
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
            if sampled is None:
                continue
            path = ApproachPath(ApproachMethod.SAMPLED, sampled, last)
            if sweeps_clear(path.points, world):
                return path
    return Failure(Reason.NO_FREE_PATH, 0.0, detail="straight, over a place before the object, and sampled paths")


def _near_places(
    context: PlanningContext, q_pregrasp: Floats, T_world_palm: pin.SE3, blocked: Callable[[Floats], bool]
) -> Iterator[Floats]:
    """Straight paths along the approach direction, from a place before the object to the pre-grasp, that are free."""
    for distance in BEFORE:
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
