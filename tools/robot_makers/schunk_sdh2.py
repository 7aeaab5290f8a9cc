"""Schunk SDH2: three fingers, eight joints, two coupled base rotations. Dimensions: published facts, see the YAML."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.objects import Mesh
from pliant.robot import Link, Mimic, Urdf

from .loft import circle, loft, rounded_end, rounded_polygon, rounded_rectangle, scaled, spaced, swept
from .parts import DARK, GREY, fixed, link, moving, transform, write

EDGE = 0.003
BASES = {"finger_1": (0.01905, 0.033), "finger_2": (0.01905, -0.033), "thumb": (-0.03811, 0.0)}
FACE = 0.0745  # palm frame to knuckle base
KNUCKLE, PROXIMAL, DISTAL = 0.0165, 0.0865, 0.0685
PAD_PROXIMAL_X, PAD_PROXIMAL_Z = 0.01529, (0.01875, 0.06775)
PAD_DISTAL_X, PAD_DISTAL_Z, ARC_END_Z, ARC_RADIUS = 0.01485, (0.01893, 0.03326), 0.0667, 0.0636
NARROWING = 0.0495  # distal pad: full width below, drawn in above
COUNTS = (8, 6, 3)
VELOCITY = np.radians([80.0, 100.0])
EFFORT = {"base": 2.0, "proximal": 2.1, "distal": 1.4}
MASS = {"palm": 1.0288, "knuckle": 0.047, "proximal": 0.167, "distal": 0.0929}


def palm() -> Mesh:
    corners = [BASES["finger_1"], BASES["thumb"], BASES["finger_2"]]
    ring = rounded_polygon(corners, 0.028, 0.005)
    heights = [0.0, 0.002, *np.linspace(0.01, 0.066, 10), 0.0725, FACE - 0.0002]
    factors = [0.90, 0.93, *[0.93 + 0.07 * min(1.0, max(0.0, (z - 0.02) / 0.02)) for z in heights[2:-2]], 1.0, 0.97]
    return loft([scaled(ring, f) for f in factors], heights, cap=8, name="palm")


def knuckle() -> Mesh:
    profile = [(0.0005, 0.0205), (0.0015, 0.0215), (0.008, 0.0215), (0.012, 0.0205)]
    profile += [(z, 0.0205 - 0.0095 * ((z - 0.012) / 0.017) ** 2) for z in np.linspace(0.015, 0.029, 6)]
    return loft([circle(r, 28) for _, r in profile], [z for z, _ in profile], name="knuckle")


def proximal() -> Mesh:
    radius, half_width = 0.0139, 0.0139

    def ring_at(z: float) -> np.ndarray:
        front = 0.012
        if PAD_PROXIMAL_Z[0] <= z <= PAD_PROXIMAL_Z[1]:
            front = PAD_PROXIMAL_X
        front, back = _round_ends(z, front, 0.012, radius, PROXIMAL)
        return rounded_rectangle(-back, front, half_width, 0.0019, COUNTS)

    middle = spaced([0.0, PAD_PROXIMAL_Z[0] - 0.001, *PAD_PROXIMAL_Z, PAD_PROXIMAL_Z[1] + 0.001, PROXIMAL], EDGE)
    ends = rounded_end(radius, 0.0, up=False)[:-1], rounded_end(radius, PROXIMAL, up=True)[1:]
    return swept([*ends[0], *middle, *ends[1]], ring_at, name="proximal")


def distal() -> Mesh:
    radius, half_width = 0.0132, 0.0139

    def ring_at(z: float) -> np.ndarray:
        front, corner, width = 0.0118, 0.0029, half_width
        if PAD_DISTAL_Z[0] <= z <= PAD_DISTAL_Z[1]:
            front = PAD_DISTAL_X
        elif PAD_DISTAL_Z[1] < z:
            rise = min(z, ARC_END_Z) - PAD_DISTAL_Z[1]
            front = PAD_DISTAL_X - ARC_RADIUS + np.sqrt(ARC_RADIUS**2 - rise**2)
        back = 0.0122 - 0.0052 * max(0.0, z) / DISTAL
        front, back = _round_ends(z, front, back, radius, None)
        if z > NARROWING:
            # Towards the tip the corners round off: the middle four of six columns of cells stay on the arc.
            t = min(1.0, (z - NARROWING) / (ARC_END_Z - NARROWING))
            width, corner = half_width - 0.0024 * t**2, 0.0029 + 0.0016 * t**2
        if z > ARC_END_Z:
            t = (z - ARC_END_Z) / (DISTAL - ARC_END_Z)
            width -= 0.004 * t**2
            front, back = front - 0.003 * t**2, back - 0.0045 * t**2
            corner = min(corner, 0.45 * (front + back))
        return rounded_rectangle(-back, front, width, corner, COUNTS)

    tip = [0.0676, 0.0682, DISTAL]
    middle = spaced([0.0, PAD_DISTAL_Z[0] - 0.001, *PAD_DISTAL_Z, NARROWING, ARC_END_Z], 0.0025)
    return swept([*rounded_end(radius, 0.0, up=False)[:-1], *middle, *tip], ring_at, cap=3, name="distal")


def _round_ends(z: float, front: float, back: float, radius: float, top: float | None) -> tuple[float, float]:
    """Half-thickness of the round bearing ends: below the first axis and, if there is one, above the second."""
    for centre, beyond in ((0.0, z < 0.0), (top, top is not None and z > top)):
        if beyond and centre is not None:
            reach = float(np.sqrt(max(radius**2 - (z - centre) ** 2, 1e-12)))
            return min(front, reach), min(back, reach)
    return front, back


def make(folder: Path) -> None:
    meshes = {"palm": palm(), "knuckle": knuckle(), "proximal": proximal(), "distal": distal()}
    links: list[Link] = [Link("sdh_base"), link("palm", [("palm", meshes["palm"], GREY)], MASS["palm"])]
    joints = [fixed("palm_joint", "sdh_base", "palm", transform())]
    right_angle = np.pi / 2
    for finger, (x, y) in BASES.items():
        turn = 0.0 if finger == "thumb" else np.pi
        colours = {"knuckle": GREY, "proximal": DARK, "distal": DARK}
        links += [link(f"{finger}_{part}", [(part, meshes[part], colours[part])], MASS[part]) for part in colours]
        base = transform((x, y, FACE), (0, 0, turn))
        if finger == "thumb":
            joints.append(fixed("thumb_base_joint", "palm", "thumb_knuckle", base))
        else:
            axis = (0.0, 0.0, 1.0 if finger == "finger_1" else -1.0)
            name = "base_rotation" if finger == "finger_1" else "finger_2_base_rotation"
            mimic = None if finger == "finger_1" else Mimic("base_rotation")
            limits = (0.0, right_angle)
            joints.append(
                moving(name, "palm", f"{finger}_knuckle", base, axis, limits, VELOCITY[0], EFFORT["base"], mimic=mimic)
            )
        for part, parent, z in (("proximal", "knuckle", KNUCKLE), ("distal", "proximal", PROXIMAL)):
            joints.append(
                moving(
                    f"{finger}_{part}_joint",
                    f"{finger}_{parent}",
                    f"{finger}_{part}",
                    transform((0, 0, z)),
                    (0.0, 1.0, 0.0),
                    (-right_angle, right_angle),
                    VELOCITY[1],
                    EFFORT[part],
                )
            )
    comment = "Schunk SDH2. Kinematics from published dimensions, surfaces from parameters (tools/make_robots.py)."
    write(folder, Urdf("schunk_sdh2", tuple(links), tuple(joints)), meshes, comment)
