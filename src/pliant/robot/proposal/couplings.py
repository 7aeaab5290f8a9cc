"""Couplings that a URDF does not tell: tendons and gears by which one joint follows another."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pliant.errors import OptionError, Problem, unknown_name
from pliant.robot.urdf import Mimic, Urdf

NUMBER = r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
ALLOWED = "FOLLOWER=FACTOR*JOINT, as in distal=0.33*medial or distal=0.33*medial+0.1"


def couple(urdf: Urdf, couplings: Iterable[str]) -> Urdf:
    """The tree with joints that follow others: ``FOLLOWER=FACTOR*JOINT`` with an optional offset [rad, m] behind it."""
    joints = {joint.name: joint for joint in urdf.joints}
    moving = [joint.name for joint in urdf.joints if joint.moves]
    for text in couplings:
        follower, equals, rest = text.partition("=")
        found = re.fullmatch(rf"({NUMBER})\*(.+?)(?:([+-]{NUMBER.removeprefix('[+-]?')}))?", rest.strip())
        if not equals or found is None:
            raise OptionError("--couple", Problem("", f"'{text}' is no coupling", ALLOWED))
        factor, master, offset = found.groups()
        if master not in moving and offset is not None and f"{master}{offset}" in moving:
            master, offset = f"{master}{offset}", None  # names may end like numbers
        for name in (follower.strip(), master):
            if name not in moving:
                raise OptionError("--couple", unknown_name("moving joint", name, moving))
        mimic = Mimic(master, float(factor), float(offset or 0.0))
        joints[follower.strip()] = replace(joints[follower.strip()], mimic=mimic)
    for name, joint in joints.items():
        seen = [name]
        while joint.mimic is not None:
            if joint.mimic.joint in seen:
                what = f"'{name}' would follow itself: {', '.join([*seen, joint.mimic.joint])}"
                raise OptionError("--couple", Problem("", what, "let one of them lead"))
            seen.append(joint.mimic.joint)
            joint = joints[joint.mimic.joint]
    return replace(urdf, joints=tuple(joints.values()))
