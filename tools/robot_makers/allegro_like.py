"""A four-finger hand with the kinematics of a Wonik Allegro right hand: 4 x 4 joints, soft round finger tips."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.objects import Mesh
from pliant.robot import Link, Urdf

from .loft import block, even_ring, placed, rounded_end, rounded_rectangle, spaced, swept
from .parts import DARK, GREY, link, moving, transform, write

EDGE = 0.003
BALL = 0.012  # radius of a finger tip
VELOCITY, EFFORT = 3.14, 0.7
MASS = {"palm": 0.4154, "base": 0.0119, "proximal": 0.065, "medial": 0.0355, "distal": 0.036}
HALF_THICKNESS, HALF_WIDTH = 0.0098, 0.0135
NECK, NECK_WIDTH = 0.0092, 0.0129  # of the last link, so that its surface never coincides with its neighbour's


def phalanx(length: float, name: str) -> Mesh:
    """A finger link with round ends about both of its axes."""

    def ring_at(z: float) -> np.ndarray:
        beyond = max(-z, z - length, 0.0)
        half = float(np.sqrt(max(HALF_THICKNESS**2 - beyond**2, 1e-12)))
        return rounded_rectangle(-half, half, HALF_WIDTH, 0.003, (8, 5, 3))

    ends = rounded_end(HALF_THICKNESS, 0.0, up=False)[:-1], rounded_end(HALF_THICKNESS, length, up=True)[1:]
    return swept([*ends[0], *spaced([0.0, length], EDGE), *ends[1]], ring_at, name=name)


def tip(centre: float, name: str) -> Mesh:
    """Last link: a round bearing end, a neck and a ball of radius 12 mm around (0, 0, centre)."""
    neck = centre - 0.010

    def ring_at(z: float) -> np.ndarray:
        if z >= neck:
            r = float(np.sqrt(max(BALL**2 - max(z - centre, 0.0) ** 2, 1e-12)))
            return even_ring(-r, r, r, r, 28)
        t = max(0.0, z / neck)
        blend = t * t * (3 - 2 * t)
        half, width = (1 - blend) * NECK + blend * BALL, (1 - blend) * NECK_WIDTH + blend * BALL
        if z < 0.0:
            half = float(np.sqrt(max(NECK**2 - z**2, 1e-12)))
        return even_ring(-half, half, width, 0.003 + blend * (BALL - 0.003), 28)

    ball = centre + BALL * np.sin(np.linspace(0.0, np.radians(83), 9))
    below = [*rounded_end(NECK, 0.0, up=False)[:-1], *spaced([0.0, neck, centre], EDGE)[:-1]]
    return swept([*below, *ball], ring_at, cap=2, name=name)


def make(folder: Path) -> None:
    meshes = {
        "palm_body": placed(block((0.0408, 0.1134, 0.0967), 0.012, 0.006), transform((-0.0091, 0, -0.04665))),
        "base": placed(block((0.0196, 0.0268, 0.0220), 0.003, 0.002), transform((0, 0, 0.0110))),
        "proximal": phalanx(0.054, "proximal"),
        "medial": phalanx(0.0384, "medial"),
        "distal": tip(0.0267, "distal"),
        "thumb_base": placed(block((0.0358, 0.034, 0.0455), 0.008, 0.004), transform((-0.0179, 0.009, 0.0145))),
        "thumb_proximal": placed(block((0.0196, 0.0268, 0.0220), 0.003, 0.002), transform((0, 0, 0.0110))),
        "thumb_medial": phalanx(0.0514, "thumb_medial"),
        "thumb_distal": tip(0.0423, "thumb_distal"),
    }
    links: list[Link] = [link("palm", [("palm_body", meshes["palm_body"], DARK)], MASS["palm"])]
    joints = []
    z, y = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
    roots = {
        "index": transform((0, 0.0435, -0.001542), (-0.08726646255, 0, 0)),
        "middle": transform((0, 0, 0.0007)),
        "ring": transform((0, -0.0435, -0.001542), (0.08726646255, 0, 0)),
    }
    names = ("base", "proximal", "medial", "distal")
    limits = [(-0.47, 0.47), (-0.196, 1.61), (-0.174, 1.709), (-0.227, 1.618)]
    for finger, root in roots.items():
        frames = [root, transform((0, 0, 0.0164)), transform((0, 0, 0.054)), transform((0, 0, 0.0384))]
        _finger(links, joints, finger, names, names, frames, [z, y, y, y], limits, meshes)
    frames = [
        transform((-0.0182, 0.019333, -0.045987), (0, -1.65806278845, -1.5707963259)),
        transform((-0.027, 0.005, 0.0399)),
        transform((0, 0, 0.0177)),
        transform((0, 0, 0.0514)),
    ]
    limits = [(0.263, 1.396), (-0.105, 1.163), (-0.189, 1.644), (-0.162, 1.719)]
    files = [f"thumb_{name}" for name in names]
    _finger(links, joints, "thumb", names, files, frames, [(-1.0, 0.0, 0.0), z, y, y], limits, meshes)
    comment = "Four fingers, 4 x 4 joints, like an Allegro right hand; surfaces from parameters (tools/make_robots.py)."
    write(folder, Urdf("allegro_like", tuple(links), tuple(joints)), meshes, comment)


def _finger(links, joints, finger, names, files, frames, axes, limits, meshes) -> None:
    parent = "palm"
    for i, (name, file) in enumerate(zip(names, files, strict=True)):
        child = f"{finger}_{name}"
        links.append(link(child, [(file, meshes[file], GREY if i == 3 else DARK)], MASS[name]))
        joints.append(moving(f"{finger}_joint_{i}", parent, child, frames[i], axes[i], limits[i], VELOCITY, EFFORT))
        parent = child
