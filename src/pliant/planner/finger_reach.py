"""Finger joints that carry an object on a path; from place to place its contacts roll on the links.   (theory 8.5)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.grasp import point_jacobian
from pliant.motion import damped_least_squares
from pliant.planner.context import PlanningContext
from pliant.planner.hand_links import HandLink
from pliant.planner.reasons import Failure, Reason
from pliant.planner.task import MoveFrame
from pliant.robot import PALM_FRAME

DAMPING = 2e-3
"""Of the finger's inverse kinematics, relative to a lever of one metre [m]."""
FOUND = 1e-5
"""Joints that move by less end the iteration [rad, m]."""
ALONG = 0.3
"""Weight of places along the surface beside depths."""
TURNED = 1.0 / 3.0
"""Of a turn that is asked for no more than this may be missing, whatever the tolerance."""


class Touching(NamedTuple):
    """Contacts of the hand with the object, in the world.

    Attributes:
        links: the hand's link of each.
        points: n x 3 [m].
        normals: n x 3, into the object.
        radii: n, of the patches [m].
    """

    links: tuple[HandLink, ...]
    points: Floats
    normals: Floats
    radii: Floats


class FingerReach:
    """Contact points of a grasp, on the links and on the object, and the joints that move them.

    Args:
        q: joints (the arm's do not count).
        T_world_palm, T_world_object: the palm and the object with these contacts.
        touching: the contacts.
        centre: of mass, world [m].
    """

    def __init__(
        self,
        context: PlanningContext,
        q: Floats,
        T_world_palm: pin.SE3,
        T_world_object: pin.SE3,
        touching: Touching,
        centre: Floats,
    ) -> None:
        self.context, self.q_start, self.T_start_palm = context, q, T_world_palm
        self.links = touching.links
        robot, count = context.robot, len(touching.links)
        self.p_links, self.p_object, self.n_object = np.empty((3, count, 3))
        # how the object stood in every link at first
        self.R_link_object = [np.eye(3)] * count
        self.radii = touching.radii.copy()
        for i, T_link in enumerate(self._link_poses(q, T_world_palm)):
            self._anchor(i, T_link, T_world_object, touching, i)
            self.R_link_object[i] = T_link.rotation.T @ T_world_object.rotation
        self.p_centre = T_world_object.actInv(centre)
        self.fingers = sorted({link.finger for link in self.links})
        self.owner = np.array([self.fingers.index(link.finger) for link in self.links])
        moving = np.zeros(robot.dof, dtype=bool)
        for link in self.links:
            moving |= robot.joints_moving(link.name)
        moving[context.assembly.arm_joints] = False
        self.joints = np.flatnonzero(moving)

    def _link_poses(self, q: Floats, T_world_palm: pin.SE3) -> list[pin.SE3]:
        """Poses of the links that touch; from where the joints of the arm put the palm to where it is."""
        palm, *poses = self.context.robot.poses([PALM_FRAME, *(link.name for link in self.links)], q)
        return [T_world_palm * palm.actInv(T) for T in poses]

    def _anchor(self, i: int, T_link: pin.SE3, T_object: pin.SE3, touching: Touching, k: int) -> None:
        """Contact ``i`` is where touch ``k`` is."""
        self.p_links[i], self.p_object[i] = T_link.actInv(touching.points[k]), T_object.actInv(touching.points[k])
        self.n_object[i], self.radii[i] = T_object.rotation.T @ touching.normals[k], touching.radii[k]

    def roll(self, q: Floats, T_world_palm: pin.SE3, T_world_object: pin.SE3, touching: Touching) -> None:
        """From now on the contacts are where these touches are: links roll on the object. Those that touch nothing any
        more stay as they are.
        """
        names = [link.name for link in touching.links]
        for i, T_link in enumerate(self._link_poses(q, T_world_palm)):
            there = [k for k, name in enumerate(names) if name == self.links[i].name]
            if there:
                before = T_world_object.act(self.p_object[i])
                nearest = min(there, key=lambda k: float(np.linalg.norm(touching.points[k] - before)))
                self._anchor(i, T_link, T_world_object, touching, nearest)

    def along(self, path: Sequence[pin.SE3], rolled: Callable[[Floats, pin.SE3], Touching]) -> Floats | Failure:
        """Joints at the end of a path, by kinematics alone, or how much of it the fingers can do.

        Args:
            path: of the object.
            rolled: where the links touch it with some joints and in some pose.
        """
        q, T_palm = self.q_start, self.T_start_palm
        none = np.zeros(len(self.fingers))
        for k, T_wanted in enumerate(path):
            q = self.reach(q, T_palm, T_wanted, none)
            error = self.apart(self.follow(q, T_palm, T_wanted, none), T_wanted)
            if self.too_far(error):
                share = k / len(path)
                detail = f"{share:.0%} of it was possible; then the object stays {error} behind"
                return Failure(Reason.FINGERS_FALL_SHORT, 1.0 - share, detail=detail)
            self.roll(q, T_palm, T_wanted, rolled(q, T_wanted))
        return q

    def apart(self, T: pin.SE3, other: pin.SE3) -> PoseError:
        """How far two poses of the object are apart, the distance at its centre of mass."""
        return PoseError(
            float(np.linalg.norm(T.act(self.p_centre) - other.act(self.p_centre))),
            float(np.linalg.norm(pin.log3(T.rotation.T @ other.rotation))),
        )

    def too_far(self, error: PoseError) -> bool:
        """Whether the object is further from where it should be than the task tolerates."""
        options, turn = self.context.task.options, float(np.linalg.norm(self.context.task.goal.rotation))
        # of a small turn a good part must be done
        angle = min(options.turn_tolerance, TURNED * turn) if turn > 0.0 else options.turn_tolerance
        return error.distance > options.move_tolerance or error.angle > angle

    def reach(self, q: Floats, T_palm: pin.SE3, T_object: pin.SE3, offsets: Floats) -> Floats:
        """Finger joints that bring the contact points of the links to those of the object, deeper by the offsets."""
        robot, joints = self.context.robot, self.joints
        wanted = T_palm.inverse() * T_object
        targets = np.array([wanted.act(anchor) for anchor in self._anchors(offsets)])
        # depths decide on forces: where the fingers cannot do both, places along the surface give way
        normals = self.n_object @ wanted.rotation.T
        weights = ALONG * np.eye(3) + (1.0 - ALONG) * np.einsum("ij,ik->ijk", normals, normals)
        q = q.copy()
        for _ in range(25):
            points, jacobian = self._points(q)[:2]
            rows = np.einsum("ijk,ikl->ijl", weights, jacobian[:, joints].reshape(len(points), 3, -1))
            errors = np.einsum("ijk,ik->ij", weights, targets - points)
            step = damped_least_squares(rows.reshape(-1, len(joints)), errors.ravel(), DAMPING)
            step *= min(1.0, 0.15 / max(float(np.abs(step).max()), 1e-12))
            new = np.clip(q[joints] + step, robot.lower[joints], robot.upper[joints])
            moved = float(np.abs(new - q[joints]).max())
            q[joints] = new
            if moved < FOUND:
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


class PoseError(NamedTuple):
    """Distance [m] and angle [rad] between two poses."""

    distance: float
    angle: float

    def __str__(self) -> str:
        return f"{self.distance * 1e3:.2g} mm and {np.degrees(self.angle):.2g} deg"


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
