"""A hand without an arm is carried by six free joints, and starts where it is free of everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.errors import OptionError
from pliant.planner.task import Task
from pliant.robot import PALM_FRAME, Assembly, Hand, assemble, floating_arm, floating_joints, link_mesh

ASIDE = 0.05
"""A hand alone starts so far from everything [m]."""


def with_arm(task: Task, T_world_palm: pin.SE3 | None = None) -> Task:
    """The task itself, or with six free joints in place of the arm that a hand alone lacks.

    Args:
        T_world_palm: where the palm starts; free above object and scene, looking down, if left out.
    """
    assembly = task.assembly
    if assembly.hand is None:
        raise OptionError("robot", "has no hand; a grasp needs one")
    if assembly.arm is not None:
        return task
    whole = assemble(floating_arm(), Hand(assembly.hand, assembly.robot))
    q = whole.q_home
    q[whole.hand_joints] = task.q_start
    assert whole.arm is not None
    if T_world_palm is not None:
        flange, palm = whole.robot.poses([whole.arm.flange, PALM_FRAME], q)
        q[whole.arm_joints] = floating_joints(T_world_palm * palm.actInv(flange))
    else:
        q[whole.arm_joints[:3]] = _above(task, whole, q)
    return replace(task, assembly=whole, q_start=q)


def _above(task: Task, whole: Assembly, q: Floats) -> Floats:
    """A place of the flange at which all of the hand, however long, is above what there is below it."""
    assert whole.hand is not None
    place = task.T_world_object.translation + np.array([0.0, 0.0, 0.3 + whole.hand.palm.length])
    shapes = {link.name: mesh for link in whole.robot.urdf.links if (mesh := link_mesh(link)) is not None}
    bounds = [
        mesh.transformed(T).bounds for mesh, T in zip(shapes.values(), whole.robot.poses(list(shapes), q), strict=True)
    ]
    low, high = np.min([b[0] for b in bounds], axis=0), np.max([b[1] for b in bounds], axis=0)
    others = [task.body.mesh.transformed(task.T_world_object).bounds, *(mesh.bounds for mesh in task.scene)]
    below = [
        top[2]
        for bottom, top in others
        if np.all(bottom[:2] < place[:2] + high[:2] + ASIDE) and np.all(top[:2] > place[:2] + low[:2] - ASIDE)
    ]
    place[2] = max(place[2], max(below, default=-np.inf) + ASIDE - low[2])
    return np.asarray(place)
