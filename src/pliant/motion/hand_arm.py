"""Hand-arm approach: arm and fingers go to the pre-grasp points together, or one after the other where they must."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.collision import Clearance
from pliant.errors import OptionError, Problem, unknown_name
from pliant.motion.drive import Motion, MotionStatus, drive_to
from pliant.motion.frame_task import FrameTask
from pliant.motion.joint_path import plan_joint_path, time_path
from pliant.motion.limits import JointLimits
from pliant.motion.point_array import Stabiliser
from pliant.robot import Assembly, tip_frame


@dataclass(frozen=True, eq=False)
class GraspPoint:
    """Where a finger tip shall touch: the point and the object's outward normal there, in the world [m, -]."""

    point: ArrayLike
    normal: ArrayLike


class ApproachVariant(Enum):
    """How the hand gets there."""

    TOGETHER = "arm and fingers together"
    PLANNED = "planned arm path, then fingers"
    NONE = "none"


@dataclass(frozen=True)
class HandArmApproach:
    """An approach to pre-grasp points, and what was tried.   (theory 5.6)

    Attributes:
        variant: the one to execute.
        motion: its joint motion.
        together: arm and fingers at once; may have stalled or collided.
        sequential: the arm with fixed fingers, then the fingers, for comparison; None if there is no goal to compare
            with.
        q_goal: joint values at the pre-grasp points, or None.
    """

    variant: ApproachVariant
    motion: Motion
    together: Motion
    sequential: Motion | None
    q_goal: Floats | None

    @property
    def time_saved(self) -> float:
        """How much sooner the simultaneous variant arrives than the sequential one [s]; NaN if either does not."""
        if self.sequential is None or not (self.together.arrived and self.sequential.arrived):
            return float("nan")
        return self.sequential.duration - self.together.duration


def pregrasp_point(grasp: GraspPoint, distance: float) -> Floats:
    """The point at ``distance`` on the outward normal of a grasp point."""
    p, n = np.asarray(grasp.point, dtype=np.float64), np.asarray(grasp.normal, dtype=np.float64)
    length = float(np.linalg.norm(n))
    if p.shape != (3,) or n.shape != (3,) or not np.isfinite(p).all() or not np.isfinite(n).all() or length < 1e-9:
        what = f"point {grasp.point!r}, normal {grasp.normal!r}"
        raise OptionError("approach", Problem("grasp point", what, "three finite numbers each, the normal not zero"))
    return np.asarray(p + n / length * distance)


def approach(
    assembly: Assembly,
    q_start: Floats,
    grasp: Mapping[str, GraspPoint],
    *,
    distance: float = 0.03,
    clearance: Clearance | None = None,
    margin: float = 0.0,
    limits: JointLimits | None = None,
    q_open: Floats | None = None,
    tolerance: float = 1e-3,
    seeds: int = 12,
    seed: int = 0,
    **options: Any,
) -> HandArmApproach:
    """Bring finger tips to their pre-grasp points.   (theory 5.6; [B])

    One servo drives arm and fingers straight from ``q_start``. Where that collides or stalls, the answer reports it,
    and the arm takes a collision-free path with the fingers open, after which the fingers go to their points.

    Args:
        grasp: finger name -> grasp point.
        distance: from the grasp points, along the normals [m].
        clearance: what must not be touched; nothing by default.
        margin: distance that counts as a collision [m].
        limits: joint limits; the same for every variant.
        q_open: joint vector whose finger values are used on a planned path; those of ``q_start`` by default.
        tolerance: [m].
        seeds: how many starts to try for a goal where the simultaneous variant gives none.
        seed: of the path planner.
        options: of `drive_to`.
    """
    if assembly.hand is None or assembly.arm is None:
        missing = "hand" if assembly.hand is None else "arm"
        raise OptionError("approach", Problem("assembly", f"has no {missing}", "an arm with a hand"))
    known = [finger.name for finger in assembly.hand.fingers]
    for name in grasp:
        if name not in known:
            raise OptionError("approach", unknown_name("finger", name, known))
    robot = assembly.robot
    q_start = robot.q(q_start)
    limits = limits if limits is not None else JointLimits.of(robot, acceleration=assembly.acceleration_limits)
    tips = [
        (FrameTask(tip_frame(name), rows="position", basis="world"), pin.SE3(np.eye(3), pregrasp_point(at, distance)))
        for name, at in grasp.items()
    ]
    drive = {"limits": limits, "clearance": clearance, "margin": margin, "tolerance_m": tolerance, **options}
    together = drive_to(robot, tips, q_start, **drive)
    blocked = _blocked(clearance, margin)
    if together.arrived:
        q_goal = together.q[-1]
        sequential = _one_after_the_other(assembly, q_start, q_goal, limits, clearance, margin)
        return HandArmApproach(ApproachVariant.TOGETHER, together, together, sequential, q_goal)
    failed = HandArmApproach(ApproachVariant.NONE, together, together, None, None)
    for q_goal in _goals(assembly, tips, q_start, tolerance, blocked, seeds):
        sequential = _one_after_the_other(assembly, q_start, q_goal, limits, clearance, margin)
        planned = _planned(assembly, tips, q_start, q_goal, q_open, blocked, limits, seed, drive)
        if planned.arrived:
            return HandArmApproach(ApproachVariant.PLANNED, planned, together, sequential, q_goal)
        failed = HandArmApproach(ApproachVariant.NONE, planned, together, sequential, q_goal)
    return failed


def _blocked(clearance: Clearance | None, margin: float) -> Any:
    return lambda q: clearance is not None and clearance.collision(q, margin=margin) is not None


def _one_after_the_other(
    assembly: Assembly, q_start: Floats, q_goal: Floats, limits: JointLimits, clearance: Clearance | None, margin: float
) -> Motion:
    """The arm with fixed fingers, then the fingers, each straight in joint space and as fast as its joints allow."""
    between = q_start.copy()
    between[assembly.arm_joints] = q_goal[assembly.arm_joints]
    times, path = time_path(np.array([q_start, between, q_goal]), limits)
    for t, q in zip(times, path, strict=True):
        hit = None if clearance is None else clearance.collision(q, margin=margin)
        if hit is not None:
            reason = f"'{hit[0]}' meets '{hit[1]}' at t = {t:.3g} s"
            return Motion(MotionStatus.COLLISION, times[times <= t], path[times <= t], np.nan, np.nan, reason)
    return Motion(MotionStatus.ARRIVED, times, path, 0.0, 0.0)


def _goals(
    assembly: Assembly, tips: Any, q_start: Floats, tolerance: float, blocked: Any, seeds: int
) -> Iterator[Floats]:
    """Joint values at the points that touch nothing: from the start itself, then from other arm postures."""
    robot, rng = assembly.robot, np.random.default_rng(0)
    stabiliser = Stabiliser(robot, tips)
    for number in range(seeds):
        q = q_start.copy()
        if number > 0:
            q[assembly.arm_joints] = robot.random_q(rng)[assembly.arm_joints]
        q = stabiliser.settle(q, 0.0, iterations=100)
        if max(float(e.max()) for e in stabiliser.errors(q, 0.0)) <= tolerance and not blocked(q):
            yield q


def _planned(
    assembly: Assembly,
    tips: Any,
    q_start: Floats,
    q_goal: Floats,
    q_open: Floats | None,
    blocked: Any,
    limits: JointLimits,
    seed: int,
    drive: Any,
) -> Motion:
    """Fingers open, arm along a collision-free path, then the fingers to their points."""
    robot, hand = assembly.robot, assembly.hand_joints
    opened = q_start.copy()
    if q_open is not None:
        opened[hand] = robot.q(q_open)[hand]
    before = q_goal.copy()
    before[hand] = opened[hand]
    corners = plan_joint_path(opened, before, blocked, limits, joints=assembly.arm_joints, seed=seed)
    if corners is None:
        where = "the start" if blocked(opened) else "the goal" if blocked(before) else ""
        reason = f"{where} is in collision with open fingers" if where else "no free arm path was found"
        return Motion(MotionStatus.NO_PATH, np.zeros(1), q_start[None], np.nan, np.nan, reason)
    if not np.array_equal(opened, q_start):
        corners = np.vstack([q_start, corners])
        if any(blocked(q) for q in time_path(corners[:2], limits)[1]):
            reason = "the fingers cannot be opened at the start without a collision"
            return Motion(MotionStatus.NO_PATH, np.zeros(1), q_start[None], np.nan, np.nan, reason)
    arm = Motion(MotionStatus.ARRIVED, *time_path(corners, limits), 0.0, 0.0)
    names = np.array(robot.joint_names)[hand].tolist()
    fingers = drive_to(robot, tips, arm.q[-1], joints=names, **drive)
    if not fingers.arrived:  # straight lines of the tips do not always work; straight lines of the joints may
        times, path = time_path(np.array([before, q_goal]), limits)
        if not any(blocked(q) for q in path):
            fingers = Motion(MotionStatus.ARRIVED, times, path, 0.0, 0.0)
    return arm.then(fingers)
