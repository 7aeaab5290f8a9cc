"""Moving the held object: contact points stay fixed on the links, forces are brought back to the wanted ones at every
step.   (theory 8.5, 8.6)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.motion import damped_least_squares
from pliant.planner.closing_hand import HandLink
from pliant.planner.context import KEEP_OUT, PlanningContext
from pliant.planner.depth_search import Failure
from pliant.planner.pressing import Held
from pliant.planner.results import Stage
from pliant.planner.stability import HeldGrasp, joint_torques
from pliant.planner.task import Carrier, MoveFrame

DAMPING = 2e-3
"""Of the finger's inverse kinematics, relative to a lever of one metre [m]."""
LARGEST_JUMP = 0.5
"""No joint of the arm moves further than this between two steps [rad, m]."""


@dataclass(frozen=True, eq=False)
class Step:
    """The hand and the object after one step.

    Args:
        T_world_palm: the palm.
        q: joints.
        held: the object.
    """

    T_world_palm: pin.SE3
    q: Floats
    held: Held


def object_path(
    context: PlanningContext, T_world_object: pin.SE3, T_world_palm: pin.SE3, centre: Floats
) -> list[pin.SE3]:
    """Poses of the object at the steps of the wish: position linear, orientation along the shortest rotation, about
    the centre of mass.
    """
    goal = context.task.goal
    axes = {
        MoveFrame.WORLD: np.eye(3),
        MoveFrame.OBJECT: T_world_object.rotation,
        MoveFrame.PALM: T_world_palm.rotation,
    }[goal.frame]
    shift, turn = axes @ np.array(goal.translation), axes @ np.array(goal.rotation)
    poses = []
    for k in range(1, goal.steps + 1):
        share = k / goal.steps
        rotation = pin.exp3(share * turn)
        about = centre + share * shift
        T = pin.SE3(rotation, about - rotation @ centre)
        poses.append(T * T_world_object)
    return poses


def manipulate(context: PlanningContext, grasp: HeldGrasp, start: Step) -> list[Step] | tuple[Stage, Failure]:
    """Every step of the move after the lift, or the step and the reason where it ends."""
    goal = context.task.goal
    if not goal.moves:
        return []
    path = object_path(context, start.held.state.T_world_object, start.T_world_palm, start.held.centre)
    carried = _Carried(context, grasp, start)
    if goal.by is Carrier.FINGERS and (short := carried.reachable(path)) is not None:
        return Stage.REACH, short
    steps: list[Step] = []
    before = start
    for k, T_wanted in enumerate(path):
        done = carried.step(before, T_wanted)
        if isinstance(done, tuple):
            stage, failure = done
            share = k / len(path)
            return stage, Failure(
                failure.reason, 1.0 - share, "of the move", f"{share:.0%} of it was possible; {failure.detail}"
            )
        steps.append(done)
        before = done
    return steps


class _Carried:
    """Contact points of a grasp, on the links and on the object, and how to move them."""

    def __init__(self, context: PlanningContext, grasp: HeldGrasp, start: Step) -> None:
        self.context, self.start = context, start
        held = start.held
        self.links = held.links
        # the pads took hold of the object where it stood; under its weight it has settled a little beside that place
        rise = start.T_world_palm.translation - grasp.T_world_palm.translation
        hold_at = pin.SE3(np.eye(3), rise) * context.task.T_world_object
        self.unsettled = held.state.T_world_object.actInv(hold_at)
        robot = context.robot
        T_world_object = held.state.T_world_object
        poses = robot.poses([link.name for link in self.links], start.q)
        regions = held.state.regions
        self.p_links = [T.actInv(region.centre) for T, region in zip(poses, regions, strict=True)]
        self.p_object = np.array([T_world_object.actInv(region.centre) for region in regions])
        self.n_object = np.array([T_world_object.rotation.T @ region.normal for region in regions])
        self.fingers = sorted({link.finger for link in self.links})
        self.owner = np.array([self.fingers.index(link.finger) for link in self.links])
        moving = np.zeros(robot.dof, dtype=bool)
        for link in self.links:
            moving |= robot.joints_moving(link.name)
        moving[context.assembly.arm_joints] = False
        self.joints = np.flatnonzero(moving)
        self.frames = [robot.frame_id(link.name) for link in self.links]
        groups = context.hand.groups(context.hand.preshape(grasp.hypothesis.preshape), grasp.hypothesis.fingers)
        # fingers that share a joint keep one depth
        self.group = np.array([next(i for i, g in enumerate(groups) if f in g.fingers) for f in self.fingers])
        self.base = np.full(len(self.fingers), max(float(held.depths.max()), 1e-5))

    def reachable(self, path: list[pin.SE3]) -> Failure | None:
        """Kinematics alone, before anything is simulated: how much of the path the fingers can do."""
        options = self.context.task.options
        q, T_palm = self.start.q, self.start.T_world_palm
        none = np.zeros(len(self.fingers))
        for k, T_wanted in enumerate(path):
            q = self.reach(q, T_palm, T_wanted, none)
            away, turned = _apart(self.follow(q, T_palm, T_wanted, none), T_wanted)
            if away > options.move_tolerance or turned > options.turn_tolerance:
                share = k / len(path)
                detail = f"{share:.0%} of it was possible; then the object stays {away * 1e3:.2g} mm and "
                detail += f"{np.degrees(turned):.2g} deg behind"
                return Failure("fingers cannot carry out the move", 1.0 - share, "of the move", detail)
        return None

    def step(self, before: Step, T_wanted: pin.SE3) -> Step | tuple[Stage, Failure]:
        context = self.context
        by = context.task.goal.by
        T_palm = before.T_world_palm
        if by is Carrier.ARM:
            T_palm = T_wanted * self.start.held.state.T_world_object.actInv(self.start.T_world_palm)
        offsets = self._offsets(before)
        q = self.reach(before.q, T_palm, T_wanted, offsets)
        T_object = self.follow(q, T_palm, T_wanted, offsets)
        away, turned = _apart(T_object, T_wanted)
        options = context.task.options
        if (away > options.move_tolerance or turned > options.turn_tolerance) and by is not Carrier.BOTH:
            detail = f"the object would stay {away * 1e3:.2g} mm and {np.degrees(turned):.2g} deg behind"
            return Stage.REACH, Failure("fingers cannot carry out the move", away, "m", detail)
        if by is Carrier.BOTH:
            T_palm = T_wanted * T_object.actInv(T_palm)
            T_object = T_wanted
        q_arm = self.arm(before.q, T_palm)
        if q_arm is None:
            return Stage.REACH, Failure("arm cannot follow the move", 0.0, "m")
        q = context.q_with_arm(q, q_arm)
        held = self._hold(q, T_palm, T_object, before, offsets)
        if isinstance(held, Failure):
            return Stage.MANIPULATION, held
        away, turned = _apart(held.state.T_world_object, T_wanted)
        if away > options.move_tolerance or turned > options.turn_tolerance:
            detail = f"the object settles {away * 1e3:.2g} mm and {np.degrees(turned):.2g} deg beside its path"
            return Stage.MANIPULATION, Failure("object leaves its path", away, "m", detail)
        if (hit := context.surroundings.collision(held.q, margin=0.0)) is not None:
            return Stage.MANIPULATION, Failure("hits something", KEEP_OUT, "m", f"{hit[0]} and {hit[1]}")
        torques = joint_torques(context, held.q, held)
        share = np.abs(torques) / context.assembly.torque_limits
        if (worst := float(np.nanmax(np.where(np.isfinite(share), share, 0.0)))) > 1.0:
            name = context.robot.joint_names[int(np.argmax(share))]
            return Stage.MANIPULATION, Failure("joint torque above the limit", worst, "of the limit", name)
        return Step(T_palm, held.q, held)

    def _offsets(self, before: Step) -> Floats:
        """How much deeper than at the start each finger presses [m]."""
        if before is self.start:
            return np.zeros(len(self.fingers))
        return np.asarray(before.held.depths - self.base)

    def _hold(self, q: Floats, T_palm: pin.SE3, T_object: pin.SE3, before: Step, offsets: Floats) -> Held | Failure:
        depths = self.base + offsets

        def pose(new: Floats) -> tuple[Floats, pin.SE3]:
            return self.reach(q, T_palm, T_object, new - self.base), T_palm

        def owner(link: HandLink) -> int:
            return self.fingers.index(link.finger) if link.finger in self.fingers else -1

        deepest = np.full(len(depths), self.base[0] + 0.35 * self.context.prepared.surface.size)
        return self.context.presser.hold(pose, depths, deepest, T_object * self.unsettled, owner, tries=8)

    def arm(self, q: Floats, T_palm: pin.SE3) -> Floats | None:
        """Arm joints for a palm pose near the present ones."""
        context = self.context
        error_m, error_rad = context.ik.pose_error(q, T_palm)
        if error_m < 1e-7 and error_rad < 1e-7:
            return q
        found = context.ik.solve(T_palm, seed=q, starts=1)
        arm = context.assembly.arm_joints
        if not found.found or np.abs(found.q - q)[arm].max() > LARGEST_JUMP:
            return None
        return found.q

    def reach(self, q: Floats, T_palm: pin.SE3, T_object: pin.SE3, offsets: Floats) -> Floats:
        """Finger joints that bring the contact points of the links to those of the object, deeper by the offsets."""
        robot, joints = self.context.robot, self.joints
        wanted = T_palm.inverse() * T_object
        targets = np.array([wanted.act(p + offsets[o] * n) for p, n, o in
                            zip(self.p_object, self.n_object, self.owner, strict=True)])  # fmt: skip
        q = q.copy()
        for _ in range(25):
            points, jacobian = self._points(q)
            error = (targets - points).ravel()
            step = damped_least_squares(jacobian[:, joints], error, DAMPING)
            step *= min(1.0, 0.15 / max(float(np.abs(step).max()), 1e-12))
            new = np.clip(q[joints] + step, robot.lower[joints], robot.upper[joints])
            moved = float(np.abs(new - q[joints]).max())
            q[joints] = new
            if moved < 1e-7:
                break
        return q

    def _points(self, q: Floats) -> tuple[Floats, Floats]:
        """Contact points of the links in the palm's frame, and their derivatives by the joints (hand's only)."""
        robot = self.context.robot
        robot.update(q)
        palm = robot.data.oMf[robot.frame_id("palm_frame")]
        points, rows = [], []
        for frame, p in zip(self.frames, self.p_links, strict=True):
            T = robot.data.oMf[frame]
            x = T.act(p)
            J = pin.getFrameJacobian(robot.model, robot.data, frame, pin.LOCAL_WORLD_ALIGNED) @ robot.fold
            lever = pin.skew(x - T.translation)
            rows.append(palm.rotation.T @ (J[:3] - lever @ J[3:]))
            points.append(palm.actInv(x))
        return np.array(points), np.vstack(rows)

    def follow(self, q: Floats, T_palm: pin.SE3, T_wanted: pin.SE3, offsets: Floats) -> pin.SE3:
        """Where the object is carried by the contact points: least squares, staying at the wanted pose where free."""
        points, _ = self._points(q)
        targets = np.array([T_palm.act(p) for p in points])
        anchors = np.array([p + offsets[o] * n for p, n, o in
                            zip(self.p_object, self.n_object, self.owner, strict=True)])  # fmt: skip
        T = pin.SE3(T_wanted)
        for _ in range(8):
            here = np.array([T.act(a) for a in anchors])
            error = (targets - here).ravel()
            lever = here - T.translation
            A = np.vstack([np.hstack([np.eye(3), -pin.skew(l)]) for l in lever])
            # turning about the line through two contacts is nobody's: a weak spring keeps it
            weak = 1e-4 * np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]) * float((lever**2).sum())
            move = np.linalg.solve(A.T @ A + weak + 1e-12 * np.eye(6), A.T @ error)
            T = pin.SE3(pin.exp3(move[3:]) @ T.rotation, T.translation + move[:3])
            if np.abs(move).max() < 1e-9:
                break
        return T


def _apart(T: pin.SE3, other: pin.SE3) -> tuple[float, float]:
    """Distance [m] and angle [rad] between two poses."""
    return (
        float(np.linalg.norm(T.translation - other.translation)),
        float(np.linalg.norm(pin.log3(T.rotation.T @ other.rotation))),
    )
