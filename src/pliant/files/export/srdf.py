"""What arm and hand are for, in the words of MoveIt's SRDF: groups, end effector, named postures, harmless pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from xml.sax.saxutils import quoteattr

from pliant.arrays import Floats, Ints
from pliant.errors import OptionError, PlanError, Problem
from pliant.file_bytes import write_bytes
from pliant.robot import Assembly


def write_srdf(assembly: Assembly, path: Path) -> tuple[Path, ...]:
    """The SRDF to ``path``, the URDF it belongs to beside it (mesh files stay where they are)."""
    beside = path.with_suffix(".urdf")
    if beside == path:
        raise OptionError(str(path), Problem("", "is where the URDF goes", f"name it {path.with_suffix('.srdf').name}"))
    write_bytes(path, srdf_text(assembly).encode(), error=PlanError)
    write_bytes(beside, assembly.robot.urdf.to_xml().encode(), error=PlanError)
    return path, beside


def srdf_text(assembly: Assembly) -> str:
    """Groups ``arm``, ``hand`` and one per finger; postures ``home``, ``<preshape>_open`` and ``<preshape>_closed``.

    Pairs of links that are neighbours in the tree, or that stand inside each other in the rest position by design, need
    no collision check and are listed as such.
    """
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(assembly.name)}>"]
    lines += [*_groups(assembly), *_postures(assembly), *_harmless(assembly)]
    return "\n".join([*lines, "</robot>", ""])


def _groups(assembly: Assembly) -> Iterator[str]:
    robot, arm, hand = assembly.robot, assembly.arm, assembly.hand
    if arm is not None:
        yield '  <group name="arm">'
        yield f"    <chain base_link={quoteattr(robot.urdf.root)} tip_link={quoteattr(arm.flange)}/>"
        yield "  </group>"
    if hand is None:
        return
    for finger in hand.fingers:
        yield f"  <group name={quoteattr(finger.name)}>"
        yield f"    <chain base_link={quoteattr(hand.palm.link)} tip_link={quoteattr(finger.links[-1])}/>"
        yield "  </group>"
    yield '  <group name="hand">'
    yield from (f"    <link name={quoteattr(link)}/>" for link in dict.fromkeys((hand.mount, hand.palm.link)))
    yield from (f"    <group name={quoteattr(finger.name)}/>" for finger in hand.fingers)
    yield "  </group>"
    if arm is not None:
        parent = f' parent_link={quoteattr(arm.flange)} parent_group="arm"'
        yield f'  <end_effector name={quoteattr(hand.name)} group="hand"{parent}/>'


def _postures(assembly: Assembly) -> Iterator[str]:
    robot = assembly.robot

    def posture(name: str, group: str, joints: Ints, q: Floats) -> Iterator[str]:
        yield f"  <group_state name={quoteattr(name)} group={quoteattr(group)}>"
        for i in joints.tolist():
            yield f'    <joint name={quoteattr(robot.joint_names[i])} value="{q[i]:.17g}"/>'
        yield "  </group_state>"

    if assembly.arm is not None:
        yield from posture("home", "arm", assembly.arm_joints, assembly.q_home)
    for preshape in assembly.hand.preshapes if assembly.hand is not None else ():
        for word, closed in (("open", 0.0), ("closed", 1.0)):
            q = assembly.preshaped(robot.neutral, preshape, closed)
            yield from posture(f"{preshape.name}_{word}", "hand", assembly.hand_joints, q)


def _harmless(assembly: Assembly) -> Iterator[str]:
    from pliant.collision import Clearance

    robot = assembly.robot
    solid = [link.name for link in robot.urdf.links if link.collisions]
    piece = {name: robot.model.frames[robot.frame_id(name)].parentJoint for name in solid}
    parents = robot.model.parents
    pairs = list(combinations(solid, 2))
    meeting = set(Clearance(robot, links=(), pairs=pairs).collisions(assembly.q_home))
    for first, second in pairs:
        a, b = piece[first], piece[second]
        if a == b or parents[a] == b or parents[b] == a:
            reason = "Adjacent"
        elif (first, second) in meeting:
            reason = "Default"  # MoveIt's word for links that meet in the rest position
        else:
            continue
        yield f'  <disable_collisions link1={quoteattr(first)} link2={quoteattr(second)} reason="{reason}"/>'
