"""Lifting and moving the held object.   (theory 8.5, 8.6)

Contact points stay fixed on the links; forces are brought back to the wanted ones at every step. Contact is settled at
the steps with every link that is near; between two steps an idle finger can come and go, so the finished trajectory is
followed from point to point with the deformed object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import TOUCHING, distance, overlap, triangles
from pliant.grasp import point_jacobian
from pliant.motion import damped_least_squares
from pliant.objects import Mesh
from pliant.planner.approach import lift_path
from pliant.planner.closing_hand import HandLink
from pliant.planner.context import KEEP_OUT, PlanningContext
from pliant.planner.pressing import DEEPEST, HandPose, Held
from pliant.planner.reasons import Failure, Reason, Stage
from pliant.planner.results import Phase, PlannedGrasp
from pliant.planner.stability import HeldGrasp, overloaded
from pliant.planner.task import Carrier, MoveFrame
from pliant.robot import PALM_FRAME, link_mesh

DAMPING = 2e-3
"""Of the finger's inverse kinematics, relative to a lever of one metre [m]."""
TURNED = 1.0 / 3.0
"""Of a turn that is asked for no more than this may be missing, whatever the tolerance."""
LARGEST_JUMP = 0.5
"""No joint of the arm moves further than this between two steps [rad, m]."""
WORTH_RISING = 5e-4
"""An object that is not to be lifted, but sags by more than this between the pads, is brought back to its place [m]."""
CLEAR_OF_SUPPORT = 1.9e-3
"""Lifted by this much it touches nothing any more [m]; a squeeze that turns it presses it into what it lies on."""


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


class Lift(NamedTuple):
    """The lift: joints on the path up (n x joints), and hand and object at its end."""

    path: Floats
    end: Step


def lift(context: PlanningContext, grasp: HeldGrasp) -> Lift | Failure:
    """Lift the held object as high as asked."""
    goal, held = context.task.goal, grasp.held
    # the object sags a little between the pads when its support is gone: the hand rises by that much more
    sag = max(float(context.task.T_world_object.translation[2] - held.state.T_world_object.translation[2]), 0.0)
    rise = goal.lift + sag if goal.lift > 0.0 or sag > WORTH_RISING else 0.0
    path = lift_path(context, held.q, grasp.T_world_palm, rise)
    if isinstance(path, Failure):
        return path
    up = pin.SE3(np.eye(3), np.array([0.0, 0.0, rise]))
    return Lift(
        path, Step(up * grasp.T_world_palm, path[-1], held.shifted(path[-1], up.translation, context.presser.weight.up))
    )


def pressed_into(context: PlanningContext, T_world_object: pin.SE3) -> str | None:
    """What an object, squeezed to this pose and just lifted, still overlaps; None if nothing or if it is not lifted."""
    if context.task.goal.lift <= CLEAR_OF_SUPPORT:
        return None
    off = pin.SE3(T_world_object)
    off.translation[2] = context.task.T_world_object.translation[2] + CLEAR_OF_SUPPORT
    return object_hits(context, off)


def object_hits(context: PlanningContext, T_world_object: pin.SE3) -> str | None:
    """The obstacle that the object (undeformed) overlaps, if any."""
    for obstacle in context.obstacles:
        if overlap(context.object_triangles, T_world_object, obstacle.geometry, obstacle.T_world_obstacle):
            return obstacle.name
    return None


def object_collision(context: PlanningContext, steps: Iterable[Step]) -> Failure | None:
    """The first obstacle that the object overlaps at some steps."""
    for step in steps:
        if (hit := object_hits(context, step.held.state.T_world_object)) is not None:
            return Failure(Reason.OBJECT_HITS, 0.0, detail=hit)
    return None


def object_path(
    context: PlanningContext, T_world_object: pin.SE3, T_world_palm: pin.SE3, centre: Floats
) -> list[pin.SE3]:
    """Poses of the object at the steps of the move: position linear, orientation along the shortest rotation, about
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


def manipulate(context: PlanningContext, grasp: HeldGrasp, start: Step) -> list[Step] | Failure:
    """Every step of the move after the lift, or the reason why it ends and how much of it was possible."""
    goal = context.task.goal
    if not goal.moves:
        return []
    path = object_path(context, start.held.state.T_world_object, start.T_world_palm, start.held.centre)
    carried = _Carried(context, grasp, start)
    if goal.by is Carrier.FINGERS and (short := carried.reachable(path)) is not None:
        return short
    steps: list[Step] = []
    before = start
    for k, T_wanted in enumerate(path):
        done = carried.step(before, T_wanted)
        if isinstance(done, Failure):
            share = k / len(path)
            detail = f"{share:.0%} of it was possible; {done.detail}"
            stage = Stage.REACH if done.stage is Stage.REACH else Stage.MANIPULATION
            return Failure(done.reason, 1.0 - share, "of the move", detail, found_in=stage)
        steps.append(done)
        before = done
    return steps


class _Carried:
    """Contact points of a grasp, on the links and on the object, and how to move them."""

    def __init__(self, context: PlanningContext, grasp: HeldGrasp, start: Step) -> None:
        self.context, self.start = context, start
        held, robot = start.held, context.robot
        T_world_object, regions = held.state.T_world_object, held.state.regions
        self.links = held.links
        # the pads took hold of the object where it stood; under its weight it has settled a little beside that place
        rise = start.T_world_palm.translation - grasp.T_world_palm.translation
        self.unsettled = T_world_object.actInv(pin.SE3(np.eye(3), rise) * context.task.T_world_object)
        poses = robot.poses([link.name for link in self.links], start.q)
        self.p_links = [T.actInv(region.centre) for T, region in zip(poses, regions, strict=True)]
        self.p_object = np.array([T_world_object.actInv(region.centre) for region in regions])
        self.n_object = np.array([T_world_object.rotation.T @ region.normal for region in regions])
        self.p_centre = T_world_object.actInv(held.centre)
        self.radii = np.array([max(region.radius, 1e-5) for region in regions])
        # how the object stands in every link that touches it
        self.R_link_object = [T.rotation.T @ T_world_object.rotation for T in poses]
        self.fingers = sorted({link.finger for link in self.links})
        self.owner = np.array([self.fingers.index(link.finger) for link in self.links])
        moving = np.zeros(robot.dof, dtype=bool)
        for link in self.links:
            moving |= robot.joints_moving(link.name)
        moving[context.assembly.arm_joints] = False
        self.joints = np.flatnonzero(moving)
        self.base = np.full(len(self.fingers), max(float(held.depths.max()), 1e-5))

    def reachable(self, path: list[pin.SE3]) -> Failure | None:
        """Kinematics alone, before anything is simulated: how much of the path the fingers can do."""
        q, T_palm = self.start.q, self.start.T_world_palm
        none = np.zeros(len(self.fingers))
        for k, T_wanted in enumerate(path):
            q = self.reach(q, T_palm, T_wanted, none)
            error = self._apart(self.follow(q, T_palm, T_wanted, none), T_wanted)
            if self._too_far(error):
                share = k / len(path)
                detail = f"{share:.0%} of it was possible; then the object stays {error} behind"
                return Failure(Reason.FINGERS_FALL_SHORT, 1.0 - share, detail=detail)
        return None

    def step(self, before: Step, T_wanted: pin.SE3) -> Step | Failure:
        """One step of the object to a pose: fingers and arm move, the contacts settle anew.

        Of what fingers and arm do together the fingers do as much as they can; where they can do no more, they stay as
        they are and the arm does the rest.
        """
        by = self.context.task.goal.by
        done = self._step(before, T_wanted, by)
        if isinstance(done, Failure) and by is Carrier.BOTH:
            done = self._step(before, T_wanted, Carrier.ARM)
        return done

    def _step(self, before: Step, T_wanted: pin.SE3, by: Carrier) -> Step | Failure:
        context = self.context
        T_palm = before.T_world_palm
        if by is Carrier.ARM:
            still = self.start if context.task.goal.by is Carrier.ARM else before
            T_palm = T_wanted * still.held.state.T_world_object.actInv(still.T_world_palm)
        offsets = self._offsets(before)
        q = self.reach(before.q, T_palm, T_wanted, offsets)
        T_object = self.follow(q, T_palm, T_wanted, offsets)
        error = self._apart(T_object, T_wanted)
        if by is Carrier.BOTH:
            T_palm = T_wanted * T_object.actInv(T_palm)
            T_object = T_wanted
        elif self._too_far(error):
            detail = f"the object would stay {error} behind"
            return Failure(Reason.FINGERS_FALL_SHORT, error.distance, "m", detail)
        q_arm = self.arm(before.q, T_palm)
        if q_arm is None:
            return Failure(Reason.ARM_FALLS_SHORT, 0.0)
        held = self._hold(context.hand.with_arm(q, q_arm), T_palm, T_object, offsets)
        if isinstance(held, Failure):
            return held
        error = self._apart(held.state.T_world_object, T_wanted)
        if self._too_far(error):
            return Failure(Reason.LEAVES_PATH, error.distance, detail=f"the object settles {error} beside its path")
        if (hit := context.surroundings.collision(held.q, margin=0.0)) is not None:
            return Failure(Reason.MOVE_HITS, KEEP_OUT, detail=str(hit))
        return overloaded(context, held) or Step(T_palm, held.q, held)

    def _apart(self, T: pin.SE3, other: pin.SE3) -> _PoseError:
        """How far two poses of the object are apart, the distance at its centre of mass."""
        return _PoseError(
            float(np.linalg.norm(T.act(self.p_centre) - other.act(self.p_centre))),
            float(np.linalg.norm(pin.log3(T.rotation.T @ other.rotation))),
        )

    def _too_far(self, error: _PoseError) -> bool:
        options, turn = self.context.task.options, float(np.linalg.norm(self.context.task.goal.rotation))
        # of a small turn a good part must be done
        angle = min(options.turn_tolerance, TURNED * turn) if turn > 0.0 else options.turn_tolerance
        return error.distance > options.move_tolerance or error.angle > angle

    def _offsets(self, before: Step) -> Floats:
        """How much deeper than at the start each finger presses [m]."""
        if before is self.start:
            return np.zeros(len(self.fingers))
        return np.asarray(before.held.depths - self.base)

    def _hold(self, q: Floats, T_palm: pin.SE3, T_object: pin.SE3, offsets: Floats) -> Held | Failure:
        depths = self.base + offsets

        def pose(new: Floats) -> HandPose:
            return HandPose(self.reach(q, T_palm, T_object, new - self.base), T_palm)

        def owner(link: HandLink) -> int:
            return self.fingers.index(link.finger) if link.finger in self.fingers else -1

        deepest = np.full(len(depths), self.base[0] + DEEPEST * self.context.prepared.surface.size)
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
        targets = np.array([wanted.act(anchor) for anchor in self._anchors(offsets)])
        q = q.copy()
        for _ in range(25):
            points, jacobian = self._points(q)[:2]
            step = damped_least_squares(jacobian[:, joints], (targets - points).ravel(), DAMPING)
            step *= min(1.0, 0.15 / max(float(np.abs(step).max()), 1e-12))
            new = np.clip(q[joints] + step, robot.lower[joints], robot.upper[joints])
            moved = float(np.abs(new - q[joints]).max())
            q[joints] = new
            if moved < 1e-7:
                break
        return q

    def _anchors(self, offsets: Floats) -> Floats:
        """Contact points of the object in its frame, deeper by the offsets of their fingers [m]."""
        return np.asarray(self.p_object + offsets[self.owner][:, None] * self.n_object)

    def _points(self, q: Floats) -> tuple[Floats, Floats, list[Floats]]:
        """Contact points of the links in the palm's frame, their derivatives by the joints (hand's only), and how the
        links are turned in the palm's frame.
        """
        robot = self.context.robot
        robot.update(q)
        palm = robot.data.oMf[robot.frame_id(PALM_FRAME)]
        points, rows, turned = [], [], []
        for link, p in zip(self.links, self.p_links, strict=True):
            T = robot.data.oMf[robot.frame_id(link.name)]
            x = T.act(p)
            rows.append(palm.rotation.T @ point_jacobian(robot.live_jacobian(link.name), x - T.translation))
            points.append(palm.actInv(x))
            turned.append(palm.rotation.T @ T.rotation)
        return np.array(points), np.vstack(rows), turned

    def follow(self, q: Floats, T_palm: pin.SE3, T_wanted: pin.SE3, offsets: Floats) -> pin.SE3:
        """Where the object is carried by its contacts: least squares over their points, and over their twists times the
        radius of the patch. The points alone leave it free to turn about the line through two of them; there it goes
        with the links.
        """
        points, _, turned = self._points(q)
        targets = np.array([T_palm.act(p) for p in points])
        R_links = [T_palm.rotation @ R for R in turned]
        anchors = self._anchors(offsets)
        T = pin.SE3(T_wanted)
        for _ in range(8):
            here = np.array([T.act(a) for a in anchors])
            normals = self.n_object @ T.rotation.T
            # how far the object has turned in each link, in the world's axes
            twists = [
                R @ pin.log3(R.T @ T.rotation @ start.T) for R, start in zip(R_links, self.R_link_object, strict=True)
            ]
            twisted = -self.radii * np.einsum("ij,ij->i", normals, twists)
            error = np.concatenate([(targets - here).ravel(), twisted])
            lever = here - T.translation
            A = np.vstack([np.hstack([np.eye(3), -pin.skew(l)]) for l in lever])
            A = np.vstack([A, np.hstack([np.zeros_like(normals), self.radii[:, None] * normals])])
            move = np.linalg.solve(A.T @ A + 1e-12 * np.eye(6), A.T @ error)
            T = pin.SE3(pin.exp3(move[3:]) @ T.rotation, T.translation + move[:3])
            if np.abs(move).max() < 1e-9:
                break
        return T


class _PoseError(NamedTuple):
    """Distance [m] and angle [rad] between two poses."""

    distance: float
    angle: float

    def __str__(self) -> str:
        return f"{self.distance * 1e3:.2g} mm and {np.degrees(self.angle):.2g} deg"


def idle_touch(context: PlanningContext, grasp: PlannedGrasp) -> Failure | None:
    """The first touch of the moved object by a link that no state of the grasp holds it with."""
    path = grasp.trajectory
    moving = [i for i, phase in enumerate(path.phases) if phase is Phase.MOVE]
    if not moving:
        return None
    gripping = {contact.link for state in grasp.states for contact in state.contacts}
    idle, shapes = [], []
    for link in context.hand.links:
        solid = link_mesh(context.robot.urdf.link(link.name))
        if link.name not in gripping and solid is not None:
            idle.append(link)
            shapes.append(triangles(solid))
    mesh = context.body.mesh
    reach = 1.2 * float(np.linalg.norm(mesh.vertices, axis=1).max())  # it bulges between the fingers
    held, object_shape = -1, None
    for i in moving:
        now = max(k for k, state in enumerate(grasp.states) if k == 0 or state.time <= path.times[i - 1] + 1e-9)
        if now != held:
            held, object_shape = now, triangles(Mesh(mesh.vertices + grasp.states[now].displacement, mesh.faces))
        x, y, z, *turn = path.object_poses[i]
        T_object = pin.SE3(pin.Quaternion(*turn).normalized().matrix(), np.array([x, y, z]))
        poses = context.robot.poses([link.name for link in idle], path.q[i])
        for link, shape, T in zip(idle, shapes, poses, strict=True):
            if np.linalg.norm(T.translation - T_object.translation) > reach + link.reach + TOUCHING:
                continue
            gap = distance(object_shape, T_object, shape, T)
            if gap <= TOUCHING:
                detail = f"{link.name} at {path.times[i]:.2f} s"
                return Failure(Reason.IDLE_LINK_TOUCHES, TOUCHING - max(gap, 0.0), detail=detail)
    return None
