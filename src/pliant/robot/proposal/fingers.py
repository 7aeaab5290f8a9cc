"""The fingers in a tree of links: chains of joints that leave one rigid body, the palm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Floats
from pliant.errors import Problem, RobotError
from pliant.objects import Mesh
from pliant.robot.description import Vector3
from pliant.robot.model import Robot
from pliant.robot.surfaces import check_lengths, link_mesh
from pliant.robot.urdf import Joint

MOST_WRIST_JOINTS = 3
LARGEST = 2.0
"""No link of a hand is larger than this, forearms included [m]."""
MOST_FINGERS = 10
"""All combinations of closing directions are tried; what has more chains than this is no hand."""


@dataclass(frozen=True, eq=False)
class FingerChain:
    """A finger: moving joints and links from the palm to the tip.

    Args:
        links: links with a shape, palm side first.
        joints: moving joints, followers included, palm side first.
        last: links of the last rigid body that have a shape.
        drives: independent joints that move it, as positions in ``q``.
        tip_link: the link that the tip is a point of.
        tip: farthest point along the last body, in ``tip_link`` [m].
        along: unit direction of the last body, from its joint to the tip, in ``tip_link``.
    """

    links: tuple[str, ...]
    joints: tuple[Joint, ...]
    last: tuple[str, ...]
    drives: tuple[int, ...]
    tip_link: str
    tip: Floats
    along: Floats

    def tip_at(self, robot: Robot, q: Floats) -> Floats:
        """The tip in the world."""
        return np.asarray(robot.pose(self.tip_link, q).act(self.tip))


@dataclass(frozen=True, eq=False)
class HandTree:
    """A hand taken apart.

    Args:
        robot: all of it.
        shapes: surface of every link that has one (collision, or what is seen where there is none).
        palm: links of the rigid body that carries the fingers.
        palm_link: the largest of them.
        wrist: joints before the palm.
        chains: the fingers.
        dropped: bodies that leave the palm and are no fingers, with the reason.
    """

    robot: Robot
    shapes: dict[str, Mesh]
    palm: tuple[str, ...]
    palm_link: str
    wrist: tuple[Joint, ...]
    chains: tuple[FingerChain, ...]
    dropped: tuple[str, ...]


def find_fingers(robot: Robot) -> HandTree:
    """Take a hand apart; RobotError where there are no two fingers."""
    urdf = robot.urdf
    shapes = {}
    for link in urdf.links:
        check_lengths(link, largest=LARGEST)
        mesh = link_mesh(link) or link_mesh(link, "visual")
        if mesh is not None:
            shapes[link.name] = mesh
    bodies = _RigidBodies(robot, shapes)
    body, wrist = bodies.body_of[urdf.root], []
    while True:
        leaving = [joint for joint in bodies.leaving(body) if bodies.has_shape_beyond(joint)]
        if len(leaving) != 1:
            break
        wrist.append(leaving[0])
        body = bodies.body_of[leaving[0].child]
    if len(leaving) < 2:
        what = "no link carries two or more moving fingers"
        raise RobotError(urdf.source, Problem("", what, "give the URDF of a whole hand"))
    if wrist and wrist[0].compound:
        what = f"joint '{wrist[0].compound}' moves the whole hand freely before the fingers"
        raise RobotError(urdf.source, Problem("", what, 'make it type="fixed": an arm or the planner moves the hand'))
    if len(wrist) > MOST_WRIST_JOINTS:
        what = f"{len(wrist)} moving joints come before the fingers: this is an arm with a hand"
        raise RobotError(urdf.source, Problem("", what, "give the hand's own URDF; an arm is a module of its own"))
    paths = [path for joint in leaving for path in bodies.paths(joint)]
    chains = [bodies.chain(path) for path in paths]
    kept, dropped = _without_rods(robot, chains)
    if len(kept) < 2:
        raise RobotError(urdf.source, Problem("", f"{len(kept)} finger found", "a hand has two or more"))
    if len(kept) > MOST_FINGERS:
        raise RobotError(urdf.source, Problem("", f"{len(kept)} fingers found", f"a hand has at most {MOST_FINGERS}"))
    if stuck := [chain for chain in kept if all(joint.lower == joint.upper for joint in chain.joints)]:
        joints = ", ".join(f"'{joint.name}'" for joint in stuck[0].joints)
        what = f"{joints} cannot move: both limits are the same (some exporters write 0 and 0)"
        raise RobotError(urdf.source, Problem(f"finger of '{stuck[0].tip_link}'", what, "give their <limit>s"))
    palm = tuple(bodies.links_of(body))
    shaped = [name for name in palm if name in shapes]
    palm_link = max(shaped, key=lambda name: float(np.prod(shapes[name].extents)), default=palm[0])
    return HandTree(robot, shapes, palm, palm_link, tuple(wrist), tuple(kept), tuple(dropped))


def _without_rods(robot: Robot, chains: list[FingerChain]) -> tuple[list[FingerChain], list[str]]:
    """Rods of a linkage are driven with a finger and end half way; they are not fingers."""
    q = robot.neutral
    roots = [robot.pose(chain.joints[0].child, q).translation for chain in chains]
    reach = [float(np.linalg.norm(c.tip_at(robot, q) - root)) for c, root in zip(chains, roots, strict=True)]
    kept, dropped = [], []
    for i, chain in enumerate(chains):
        longer = [
            j
            for j, other in enumerate(chains)
            if set(chain.drives) <= set(other.drives)
            and len(other.joints) > len(chain.joints)
            and reach[i] < 0.75 * reach[j]
        ]
        if longer and len(chain.joints) == 1:
            dropped.append(f"{chain.links[-1]}: moves with {chains[longer[0]].links[-1]} and ends before it (a rod)")
        else:
            kept.append(chain)
    return kept, dropped


class _RigidBodies:
    """Links joined by fixed joints, under the name of the first of them."""

    def __init__(self, robot: Robot, shapes: dict[str, Mesh]) -> None:
        self.robot, self.shapes = robot, shapes
        self.body_of: dict[str, str] = {}
        children: dict[str, list[Joint]] = {}
        for joint in robot.urdf.joints:
            children.setdefault(joint.parent, []).append(joint)
        self.children = children
        waiting = [(robot.urdf.root, robot.urdf.root)]
        while waiting:
            link, body = waiting.pop()
            self.body_of[link] = body
            waiting += [(j.child, j.child if j.moves else body) for j in children.get(link, ())]

    def links_of(self, body: str) -> list[str]:
        return [link.name for link in self.robot.urdf.links if self.body_of[link.name] == body]

    def leaving(self, body: str) -> list[Joint]:
        """Moving joints that leave a rigid body, in the file's order."""
        return [joint for joint in self.robot.urdf.joints if joint.moves and self.body_of[joint.parent] == body]

    def has_shape_beyond(self, joint: Joint) -> bool:
        body = self.body_of[joint.child]
        own = any(name in self.shapes for name in self.links_of(body))
        return own or any(self.has_shape_beyond(after) for after in self.leaving(body))

    def paths(self, joint: Joint) -> list[tuple[Joint, ...]]:
        """Chains of moving joints from ``joint`` to every last body with a shape."""
        beyond = [after for after in self.leaving(self.body_of[joint.child]) if self.has_shape_beyond(after)]
        if not beyond:
            return [(joint,)]
        return [(joint, *path) for after in beyond for path in self.paths(after)]

    def chain(self, path: tuple[Joint, ...]) -> FingerChain:
        robot = self.robot
        links = [n for j in path for n in self.links_of(self.body_of[j.child]) if n in self.shapes]
        last = [n for n in self.links_of(self.body_of[path[-1].child]) if n in self.shapes]
        q = robot.neutral
        T_world_joint = robot.pose(path[-1].child, q)
        cloud = {n: (T_world_joint.inverse() * robot.pose(n, q)).act for n in last}
        points = {n: np.array([act(v) for v in self.shapes[n].vertices]) for n, act in cloud.items()}
        every = np.vstack(list(points.values()))
        middle = 0.5 * (every.min(axis=0) + every.max(axis=0))
        axis = np.array(path[-1].axis)
        away = middle if path[-1].kind != "prismatic" else middle - T_world_joint.actInv(self._palm_middle(path[0]))
        along = away - axis * (axis @ away)
        along /= max(float(np.linalg.norm(along)), 1e-12)
        heights = {n: float((p @ along).max()) for n, p in points.items()}
        tip_link = max(last, key=lambda n: heights[n])
        tip = middle + along * (heights[tip_link] - middle @ along)
        T_tip_joint = robot.pose(tip_link, q).inverse() * T_world_joint
        of_palm = robot.joints_moving(path[0].parent)
        drives = tuple(np.flatnonzero(robot.joints_moving(tip_link) & ~of_palm).tolist())
        return FingerChain(
            tuple(links), path, tuple(last), drives, tip_link, T_tip_joint.act(tip), T_tip_joint.rotation @ along
        )

    def _palm_middle(self, joint: Joint) -> Floats:
        robot, body = self.robot, self.body_of[joint.parent]
        shaped = [name for name in self.links_of(body) if name in self.shapes]
        if not shaped:
            return np.asarray(robot.pose(joint.parent, robot.neutral).translation)
        every = [robot.pose(n, robot.neutral).act(v) for n in shaped for v in self.shapes[n].bounds]
        return np.asarray(0.5 * (np.min(every, axis=0) + np.max(every, axis=0)))


def vector3(v: Floats) -> Vector3:
    """Three plain numbers; a zero without a sign, which would look odd in a file."""
    return float(v[0]) + 0.0, float(v[1]) + 0.0, float(v[2]) + 0.0
