"""Where a hand is bolted to an arm: a URDF does not say, and many have their root frame in the middle of the palm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.robot.description import Preshape
from pliant.robot.proposal.closing import Bending
from pliant.robot.proposal.fingers import HandTree
from pliant.robot.urdf import Joint, Link, Urdf

BEHIND = 0.1
"""Share of the hand's length that may lie behind the root's frame for that to be square to its mounting face."""
LEVEL = 1e-3
"""What lies less than this behind the root's frame is level with it [m]."""


@dataclass(frozen=True)
class Mount:
    """The mounting face of a hand.

    Args:
        T_mount_root: the root link in the mounting frame (z from the arm into the hand); None: the root's frame is it.
        reason: in words.
        confidence: 0 .. 1.
    """

    T_mount_root: pin.SE3 | None
    reason: str
    confidence: float


def find_mount(tree: HandTree, bendings: list[Bending], preshape: Preshape) -> Mount:
    """The root's own frame where all of the hand lies in front of it, moved back behind a plate or a pin; where much of
    the hand lies behind it, the end of its body away from the fingers.

    A hand bolted on by a frame in its middle would stick in the arm: half of it lies behind the flange.
    """
    robot, root = tree.robot, tree.robot.urdf.root
    q = robot.q(preshape.open)
    T_root_world = robot.pose(root, q).inverse()
    fixed = [
        link.name for link in robot.urdf.links if link.name in tree.shapes and not robot.joints_moving(link.name).any()
    ]
    body = _corners(tree, fixed or list(tree.palm), q, T_root_world)
    tips = np.array([T_root_world.act(bending.tip(robot, q)) for bending in bendings])
    heights = np.concatenate([body[:, 2], tips[:, 2]])
    low, high = float(heights.min()), float(heights.max())
    behind = max(0.0, -low) / max(high - low, 1e-9)
    if behind <= BEHIND:
        reason = f"the hand lies in front of the frame of '{root}', along its z"
        if low >= -LEVEL:
            return Mount(None, reason, 0.9)
        reason += f", but for {-1000 * low:.0f} mm: this is behind them"
        return Mount(pin.SE3(np.eye(3), np.array([0.0, 0.0, -round(low, 4)])), reason, 0.8)
    # Fingers leave a hand on the side away from the arm: their roots, seen from the middle of the body.
    middle = 0.5 * (body.min(axis=0) + body.max(axis=0))
    roots = [T_root_world.act(robot.pose(bending.chain.joints[0].child, q).translation) for bending in bendings]
    away = np.mean(roots, axis=0) - middle + 0.5 * (np.mean(tips, axis=0) - middle)
    axis = int(np.argmax(np.abs(away)))
    z = np.eye(3)[axis] * np.sign(away[axis])
    helper = np.eye(3)[0 if axis != 0 else 2]
    R = np.column_stack([helper, np.cross(z, helper), z])
    origin = middle + z * (float((body @ z).min()) - middle @ z)
    T_root_mount = pin.SE3(R, np.round(origin, 4))
    reason = (
        f"{100 * behind:.0f} % of the hand would lie behind the frame of '{root}'; "
        "this is the end of its body away from the fingers"
    )
    return Mount(T_root_mount.inverse(), reason, 0.5)


def with_mount(urdf: Urdf, mount: Mount) -> Urdf:
    """The tree with a link for the mounting face before its root, where one is needed."""
    if mount.T_mount_root is None:
        return urdf
    taken = {link.name for link in urdf.links} | {joint.name for joint in urdf.joints}
    name = "mount"
    while name in taken or f"{name}_joint" in taken:
        name = f"hand_{name}"
    joint = Joint(f"{name}_joint", "fixed", name, urdf.root, mount.T_mount_root)
    return replace(urdf, links=(Link(name), *urdf.links), joints=(joint, *urdf.joints))


def _corners(tree: HandTree, names: list[str], q: Floats, T_root_world: pin.SE3) -> Floats:
    found = []
    for name in names:
        if name in tree.shapes:
            T = T_root_world * tree.robot.pose(name, q)
            found.append(tree.shapes[name].vertices @ T.rotation.T + T.translation)
    return np.vstack(found) if found else np.zeros((1, 3))
