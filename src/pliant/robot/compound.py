"""Joints of several degrees of freedom: floating, planar and spherical ones as chains of single joints.   (theory 5.1)

Each coordinate is a joint of its own with a name, a range and a speed, so a joint vector stays one number per
independent joint everywhere: in plans, in the lab, in exports. The joints before the last carry links without mass and
shape. Rotations are Cardan angles about z, y and x, each in the frame turned by those before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from pliant.robot.urdf import Inertial, Joint, Link

COMPOUND = {
    "floating": ("x", "y", "z", "yaw", "pitch", "roll"),
    "planar": ("x", "y", "theta"),
    "spherical": ("yaw", "pitch", "roll"),
}
"""Names of the coordinates; that of a joint is ``joint.coordinate``."""
SPEED, TURN_SPEED = 0.5, 1.5
"""Speeds where a URDF gives none [m/s, rad/s]: an assumption, and said to be one."""
CARDAN = {"yaw": (0.0, 0.0, 1.0), "pitch": (0.0, 1.0, 0.0), "roll": (1.0, 0.0, 0.0)}
NOTHING = Inertial(0.0, pin.SE3.Identity(), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def single_joints(joint: Joint) -> tuple[list[Link], list[Joint]]:
    """The links between, and the chain of single joints that moves as a joint of a kind in `COMPOUND` does.

    Its range counts for translations, or, where it has none, for each of its angles; its speed and effort for every
    coordinate in that coordinate's own unit.
    """
    names = COMPOUND[joint.kind]
    axes = dict(zip(("x", "y", "theta"), _plane(joint.axis), strict=True)) if joint.kind == "planar" else _SPACE
    links = [Link(f"{joint.name}.{name}_link", inertial=NOTHING) for name in names[:-1]]
    ends = [joint.parent, *(link.name for link in links), joint.child]
    joints = []
    for i, name in enumerate(names):
        turns = name not in ("x", "y", "z")
        free = math.isinf(joint.lower) or (turns and joint.kind != "spherical")
        default = TURN_SPEED if turns else SPEED
        joints.append(
            replace(
                joint,
                name=f"{joint.name}.{name}",
                kind=("continuous" if free else "revolute") if turns else "prismatic",
                parent=ends[i],
                child=ends[i + 1],
                T_parent_joint=joint.T_parent_joint if i == 0 else pin.SE3.Identity(),
                axis=axes[name],
                lower=-math.inf if free else joint.lower,
                upper=math.inf if free else joint.upper,
                velocity=joint.velocity if math.isfinite(joint.velocity) else default,
                compound=joint.name,
            )
        )
    return links, joints


def ball_joints(joints: Sequence[Joint]) -> list[tuple[Joint, Joint, Joint]]:
    """Yaw, pitch and roll of every compound joint that turns without limits: the chains that are a ball joint."""
    after = {joint.parent: joint for joint in joints if joint.compound}
    found = []
    for yaw in joints:
        pitch = after.get(yaw.child) if yaw.compound else None
        roll = after.get(pitch.child) if pitch is not None else None
        if pitch is None or roll is None:
            continue
        three = (yaw, pitch, roll)
        at_one_point = pitch.T_parent_joint.isIdentity() and roll.T_parent_joint.isIdentity()
        if (
            at_one_point
            and [joint.axis for joint in three] == list(CARDAN.values())
            and all(joint.kind == "continuous" and joint.mimic is None for joint in three)
            and len({joint.compound for joint in three}) == 1
        ):
            found.append(three)
    return found


_SPACE = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0), **CARDAN}


def _plane(normal: tuple[float, float, float]) -> list[tuple[float, float, float]]:
    """Two directions in the plane and its normal, right-handed; x, y and z where the normal is z."""
    n = np.array(normal)
    first = np.roll(np.eye(3), -1, axis=0)[int(np.argmax(np.abs(n)))]
    first = first - n * (first @ n)
    first /= np.linalg.norm(first)
    second = np.cross(n, first)
    return [(float(a[0]), float(a[1]), float(a[2])) for a in (first, second, n)]
