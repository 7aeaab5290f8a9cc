"""Whether a hand stands inside the arm that carries it. Nothing moves these two apart, so they are tested once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pinocchio as pin

from pliant.collision.shapes import overlap, triangles
from pliant.errors import Problem
from pliant.objects import winding_number
from pliant.robot import Assembly, link_mesh

SET_IN = 3e-3
"""Rims and centring pins reach so far into the flange [m]."""
STEP, MOST = 1e-3, 0.3
"""The hand is moved out of the flange by steps, until it is free [m]."""


def mount_problem(assembly: Assembly) -> Problem | None:
    """What of the hand stands inside the arm at its home, how deep along the flange's z, and the mount that is free.

    Only what both carry rigidly counts: fingers move, and their paths are tested.
    """
    if assembly.arm is None or assembly.hand is None:
        return None
    robot, q = assembly.robot, assembly.q_home
    flange = robot.pose(assembly.arm.flange, q)
    mount = robot.pose(assembly.hand.mount, q)
    above = {joint.child: joint.parent for joint in robot.urdf.joints}
    of_hand, still = set(), robot.joints_moving(assembly.arm.flange)
    for name in robot.link_names:
        link = name
        while link in above and link != assembly.hand.mount:
            link = above[link]
        if link == assembly.hand.mount:
            of_hand.add(name)
    shapes = {link.name: mesh for link in robot.urdf.links if (mesh := link_mesh(link)) is not None}
    poses = dict(zip(shapes, robot.poses(list(shapes), q), strict=True))
    geometry = {name: triangles(mesh) for name, mesh in shapes.items()}
    hand = [name for name in shapes if name in of_hand and not (robot.joints_moving(name) & ~still).any()]
    arm = [name for name in shapes if name not in of_hand]

    def inside(first: str, second: str, shift: float) -> bool:
        """Whether a link of the hand, moved out, still meets a link of the arm or is wholly inside it."""
        T = pin.SE3(np.eye(3), shift * flange.rotation[:, 2]) * poses[first]
        if overlap(geometry[first], T, geometry[second], poses[second]):
            return True
        p = poses[second].actInv(T.act(shapes[first].vertices[0]))
        low, high = shapes[second].bounds
        return bool(np.all((p > low) & (p < high))) and winding_number(shapes[second], p) > 0.75

    pairs = [pair for pair in product(hand, arm) if inside(*pair, SET_IN)]
    if not pairs:
        return None
    first, second = pairs[0]
    shift = SET_IN
    while shift < MOST and any(inside(*pair, shift) for pair in product(hand, arm)):
        shift += STEP
    T_flange_mount = flange.actInv(mount)
    free = T_flange_mount.translation + np.array([0.0, 0.0, shift])
    position = ", ".join(f"{round(float(value), 4) + 0.0:g}" for value in free)
    what = f"the hand's '{first}' stands {1e3 * shift:.0f} mm inside the arm's '{second}'"
    allowed = (
        f"mount: {{position: [{position}]}} clears it, if the flange's z looks out of the arm (pliant check arm.yaml)"
    )
    return Problem("robot.mount", what, allowed)
