"""Hands of well-known kinds as URDF text: boxes on trees like those of real ones, with known right answers."""

from __future__ import annotations

import math


class Tree:
    """Collects links (boxes) and joints."""

    def __init__(self, name: str, palm: str, size: tuple[float, float, float], centre: tuple[float, float, float]):
        self.lines = [f'<robot name="{name}">']
        self.box(palm, size, centre)

    def box(self, link: str, size, centre) -> None:
        shape = f'<origin xyz="{_text(centre)}"/><geometry><box size="{_text(size)}"/></geometry>'
        self.lines.append(
            f'<link name="{link}"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" '
            f'ixz="0" iyz="0"/></inertial><visual>{shape}</visual><collision>{shape}</collision></link>'
        )

    def joint(self, name, parent, child, xyz, axis, limits, *, rpy=(0, 0, 0), kind="revolute", mimic="") -> None:
        lower, upper = limits
        self.lines.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{_text(xyz)}" rpy="{_text(rpy)}"/><axis xyz="{_text(axis)}"/>'
            f'<limit lower="{lower}" upper="{upper}" effort="5" velocity="3"/>{mimic}</joint>'
        )

    def text(self) -> str:
        return "\n".join([*self.lines, "</robot>"])


def _text(values) -> str:
    return " ".join(f"{value:.6g}" for value in values)


def barrett_like() -> str:
    """Three fingers; two swing round the palm together (mimic); the last joints follow the middle ones by a third."""
    tree = Tree("bh_like", "bh_palm", (0.12, 0.12, 0.08), (0, 0, 0.04))
    for i, (x, y, yaw) in enumerate([(0.0, 0.025, math.pi), (0.0, -0.025, math.pi), (-0.05, 0.0, 0.0)], 1):
        base, swings = "bh_palm", i < 3
        place = (x + 0.05 * (i < 3), y, 0.085)
        if swings:
            tree.box(f"bh_finger_{i}_spread", (0.02, 0.02, 0.008), (0, 0, 0.0))
            mimic = "" if i == 1 else '<mimic joint="bh_spread_1" multiplier="-1"/>'
            limits = (-math.pi, 0.0) if i == 1 else (0.0, math.pi)
            tree.joint(
                f"bh_spread_{i}", base, f"bh_finger_{i}_spread", place, (0, 0, 1), limits, rpy=(0, 0, yaw), mimic=mimic
            )
            base, place, yaw = f"bh_finger_{i}_spread", (0, 0, 0.005), 0.0
        tree.box(f"bh_finger_{i}_inner", (0.016, 0.02, 0.066), (0, 0, 0.035))
        tree.box(f"bh_finger_{i}_outer", (0.014, 0.018, 0.055), (0, 0, 0.029))
        tree.joint(f"bh_inner_{i}", base, f"bh_finger_{i}_inner", place, (0, 1, 0), (-0.3, 2.0), rpy=(0, 0, yaw))
        tree.joint(
            f"bh_outer_{i}",
            f"bh_finger_{i}_inner",
            f"bh_finger_{i}_outer",
            (0, 0, 0.07),
            (0, 1, 0),
            (-0.2, 0.84),
            mimic=f'<mimic joint="bh_inner_{i}" multiplier="0.333"/>',
        )
    return tree.text()


def shadow_like() -> str:
    """Forearm, wrist of two joints, four fingers (one with a metacarpal) and a thumb of five joints; palm to -y."""
    tree = Tree("shadow_like", "forearm", (0.08, 0.08, 0.2), (0, 0, 0.1))
    tree.box("wrist", (0.04, 0.03, 0.03), (0, 0, 0.015))
    tree.box("palm", (0.085, 0.022, 0.09), (0, 0, 0.045))
    tree.joint("WRJ2", "forearm", "wrist", (0, 0, 0.21), (0, 1, 0), (-0.5, 0.17))
    tree.joint("WRJ1", "wrist", "palm", (0, 0, 0.034), (1, 0, 0), (-0.7, 0.49))
    for name, x, z in (("ff", 0.033, 0.095), ("mf", 0.011, 0.099), ("rf", -0.011, 0.095), ("lf", -0.033, 0.0866)):
        base, place = "palm", (x, 0, z)
        if name == "lf":
            tree.box("lfmetacarpal", (0.018, 0.018, 0.05), (0, 0, 0.03))
            tree.joint("LFJ5", "palm", "lfmetacarpal", (-0.033, 0, 0.0207), (0.57, 0, 0.82), (0, 0.78))
            base, place = "lfmetacarpal", (0, 0, 0.066)
        tree.box(f"{name}knuckle", (0.012, 0.012, 0.006), (0, 0, 0))
        tree.box(f"{name}proximal", (0.016, 0.016, 0.04), (0, 0, 0.022))
        tree.box(f"{name}middle", (0.015, 0.015, 0.021), (0, 0, 0.0125))
        tree.box(f"{name}distal", (0.014, 0.014, 0.026), (0, 0, 0.014))
        upper = name.upper()
        tree.joint(f"{upper}J4", base, f"{name}knuckle", place, (0, 1, 0), (-0.35, 0.35))
        tree.joint(f"{upper}J3", f"{name}knuckle", f"{name}proximal", (0, 0, 0), (1, 0, 0), (-0.26, 1.57))
        tree.joint(f"{upper}J2", f"{name}proximal", f"{name}middle", (0, 0, 0.045), (1, 0, 0), (0, 1.57))
        tree.joint(
            f"{upper}J1",
            f"{name}middle",
            f"{name}distal",
            (0, 0, 0.025),
            (1, 0, 0),
            (0, 1.57),
            mimic=f'<mimic joint="{upper}J2"/>',
        )
    tree.box("thbase", (0.01, 0.01, 0.01), (0, 0, 0))
    tree.box("thproximal", (0.019, 0.019, 0.034), (0, 0, 0.019))
    tree.box("thhub", (0.008, 0.008, 0.008), (0, 0, 0))
    tree.box("thmiddle", (0.018, 0.018, 0.028), (0, 0, 0.016))
    tree.box("thdistal", (0.016, 0.016, 0.03), (0, 0, 0.016))
    tree.joint("THJ5", "palm", "thbase", (0.034, -0.0085, 0.029), (0, 0, -1), (-1.05, 1.05), rpy=(0, 0.785, 0))
    tree.joint("THJ4", "thbase", "thproximal", (0, 0, 0), (1, 0, 0), (0, 1.22))
    tree.joint("THJ3", "thproximal", "thhub", (0, 0, 0.038), (1, 0, 0), (-0.21, 0.21))
    tree.joint("THJ2", "thhub", "thmiddle", (0, 0, 0), (0, -1, 0), (-0.7, 0.7))
    tree.joint("THJ1", "thmiddle", "thdistal", (0, 0, 0.032), (0, -1, 0), (0, 1.57))
    return tree.text()


def linkage_gripper() -> str:
    """Two fingers, each carried by a knuckle and kept parallel by a follower, and a rod beside each; one drive."""
    tree = Tree("linkage", "base", (0.06, 0.08, 0.06), (0, 0, 0.03))
    for side, sign in (("left", 1), ("right", -1)):
        # A positive angle swings both knuckles towards the middle.
        axis = (sign, 0, 0)
        mimic = "" if side == "left" else '<mimic joint="left_knuckle_joint"/>'
        follow = '<mimic joint="left_knuckle_joint" multiplier="-1"/>'
        tree.box(f"{side}_knuckle", (0.015, 0.012, 0.05), (0, 0, 0.025))
        tree.box(f"{side}_pad", (0.022, 0.008, 0.04), (0, 0, 0.02))
        tree.box(f"{side}_rod", (0.01, 0.006, 0.04), (0, 0, 0.02))
        out = (0, sign * 0.05, 0.06)
        tree.joint(f"{side}_knuckle_joint", "base", f"{side}_knuckle", out, axis, (0, 0.8), mimic=mimic)
        tree.joint(
            f"{side}_pad_joint", f"{side}_knuckle", f"{side}_pad", (0, 0, 0.055), axis, (-0.8, 0.0), mimic=follow
        )
        rod = '<mimic joint="left_knuckle_joint"/>'
        tree.joint(f"{side}_rod_joint", "base", f"{side}_rod", (0, sign * 0.03, 0.06), axis, (0, 0.8), mimic=rod)
    return tree.text()


def opening_gripper() -> str:
    """Two fingers that turn; zero is shut and the whole range opens."""
    tree = Tree("opening", "gripper_palm", (0.05, 0.06, 0.06), (0, 0, 0.03))
    for side, sign in (("l", 1), ("r", -1)):
        tree.box(f"{side}_finger", (0.02, 0.012, 0.09), (0, sign * 0.006, 0.05))
        tree.joint(
            f"{side}_joint",
            "gripper_palm",
            f"{side}_finger",
            (0, sign * 0.001, 0.06),
            (-sign, 0, 0),
            (0.0, 0.55),
        )
    return tree.text()
