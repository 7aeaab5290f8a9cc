"""What is shown and from where: the choices that a tab makes, and the camera that it opens with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.planner import Task
from pliant.viewer.scene.object_surface import ColourBy

FIELD_OF_VIEW = 0.6
"""Vertical, of the default camera [rad]."""


@dataclass(frozen=True)
class ViewOptions:
    """What is shown, and how.

    Attributes:
        colour_by: what the object's colour stands for.
        exaggerate: how many times larger than it is the deformation is drawn.
        hand_opacity: 1 solid .. 0.05 nearly clear; contacts lie behind the fingers.
        arm: whether the arm is drawn.
        forces, cones, centres, labels: whether they are drawn.
        dents: whether the dents in elastic pads are drawn; they cover the object's colour there.
    """

    colour_by: ColourBy = ColourBy.DISPLACEMENT
    exaggerate: float = 1.0
    hand_opacity: float = 0.45
    arm: bool = True
    forces: bool = True
    cones: bool = True
    centres: bool = True
    labels: bool = True
    dents: bool = False


class Viewpoint(NamedTuple):
    """Where a camera stands and the point that it looks at, in the world [m]."""

    eye: Floats
    target: Floats


def default_viewpoint(task: Task, *, outwards: Floats | None = None) -> Viewpoint:
    """The object from the robot's side, a little from above.

    Args:
        outwards: the side of the object that faces this direction is seen instead (world axes, height ignored).
    """
    size = float(task.body.mesh.extents.max())
    target = task.T_world_object.act(0.5 * (task.body.mesh.bounds[0] + task.body.mesh.bounds[1]))
    target = np.asarray(target) + np.array([0.0, 0.0, 0.3 * size + 0.4 * task.goal.lift])
    aside = np.array([0.62, -0.66])
    if outwards is not None and np.linalg.norm(outwards[:2]) > 1e-6:
        # A little beside the direction itself, so that arrows are not seen end on.
        x, y = outwards[:2] / np.linalg.norm(outwards[:2])
        turn = np.radians(28.0)
        aside = 0.9 * np.array([np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x])
    reach = 5.2 * max(size, 0.08)
    return Viewpoint(target + reach * np.array([aside[0], aside[1], 0.36]), target)


def floor_height(task: Task) -> float:
    """Height of the floor [m]: zero, or the lowest of the robot's base, object and surroundings where that is below."""
    at_start = task.body.mesh.transformed(task.T_world_object)
    base = float(task.assembly.robot.T_world_base.translation[2])
    return min(0.0, base, *(float(mesh.bounds[0, 2]) for mesh in (at_start, *task.scene)))
