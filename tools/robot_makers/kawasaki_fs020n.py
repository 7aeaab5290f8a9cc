"""Kawasaki FS020N: six revolute joints. Dimensions: published facts, see the YAML file. At zero it points up."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.objects import Mesh
from pliant.robot import Link, Urdf

from .loft import block, drum, placed
from .parts import DARK, GREY, fixed, link, moving, transform, write

SHOULDER, A1, UPPER, ELBOW = 0.560, 0.150, 0.800, 0.060
FOREARM_TO_J4, J4_TO_WRIST, WRIST_TO_DISC, DISC = 0.225, 0.475, 0.0965, 0.020
LIMITS = np.radians([(-160, 160), (-105, 140), (-155, 120), (-270, 270), (-145, 145), (-360, 360)])
# Not known for this robot; of the size usual for a 20 kg arm.
VELOCITY = np.radians([150.0, 150.0, 160.0, 320.0, 320.0, 480.0])
EFFORT = [1200.0, 1200.0, 700.0, 120.0, 120.0, 70.0]
MASS = {"base": 80.0, "link1": 60.0, "link2": 40.0, "link3": 25.0, "link4": 15.0, "link5": 6.0, "link6": 1.0}
WHITE = (0.92, 0.93, 0.94, 1.0)
QUARTER = np.pi / 2

ALONG_X = transform(rpy=(0, QUARTER, 0))
Part = tuple[str, Mesh, tuple[float, float, float, float]]


def parts() -> dict[str, list[Part]]:
    """Surfaces of every link in its own frame, sized from measured extents."""
    return {
        "base": [
            ("base_foot", placed(block((0.42, 0.42, 0.06)), transform((0, 0, 0.03))), DARK),
            ("base_drum", placed(drum(0.195, 0.20), transform((0, 0, 0.15))), WHITE),
        ],
        "link1": [
            ("turret", placed(drum(0.20, 0.06), transform((0, 0, -0.28))), DARK),
            (
                "cheek_right",
                placed(block((0.07, 0.425, 0.385), 0.03, 0.02), transform((0.185, 0.0625, -0.0675))),
                WHITE,
            ),
            (
                "cheek_left",
                placed(block((0.166, 0.425, 0.385), 0.05, 0.03), transform((-0.16, 0.0625, -0.0675))),
                WHITE,
            ),
        ],
        "link2": [
            ("shoulder", placed(drum(0.125, 0.22), transform((0, 0, -0.035))), DARK),
            ("upper_arm", placed(block((0.22, 0.17, 0.68), 0.05, 0.02), _along_x(0.34, -0.035)), WHITE),
            ("elbow_left", placed(block((0.064, 0.20, 0.46), 0.02, 0.02), _along_x(0.675, -0.168)), WHITE),
            ("elbow_right", placed(block((0.094, 0.20, 0.46), 0.03, 0.02), _along_x(0.675, 0.148)), WHITE),
        ],
        "link3": [
            ("elbow", placed(drum(0.105, 0.19), transform((0, 0, -0.0195))), DARK),
            ("forearm_root", placed(block((0.19, 0.33, 0.225), 0.04, 0.02), _along_x(0.1125, -0.0195, -0.06)), WHITE),
            ("motors", placed(block((0.19, 0.165, 0.33), 0.04, 0.02), _along_x(0.06, -0.0195, -0.1425)), WHITE),
        ],
        "link4": [
            ("forearm", placed(drum(0.0875, 0.15), transform((0, 0, 0.075))), DARK),
            ("forearm_body", placed(block((0.185, 0.135, 0.24), 0.04, 0.02), transform((0, 0, 0.27))), WHITE),
            ("fork_right", placed(block((0.035, 0.135, 0.17), 0.015, 0.015), transform((0.075, 0, 0.475))), WHITE),
            ("fork_left", placed(block((0.035, 0.135, 0.17), 0.015, 0.015), transform((-0.075, 0, 0.475))), WHITE),
        ],
        "link5": [
            ("wrist", drum(0.075, 0.105), DARK),
            ("wrist_neck", placed(drum(0.0525, 0.095, 0.005), _along_x(0.0475, 0.0)), DARK),
        ],
        "link6": [("flange_disc", placed(drum(0.0525, DISC, 0.003), transform((0, 0, DISC / 2))), GREY)],
    }


def _along_x(x: float, z: float, y: float = 0.0):
    """A shape made along z, laid along the link's x: its own x becomes the link's -z."""
    return transform((x, y, z)) * ALONG_X


def make(folder: Path) -> None:
    surfaces = parts()
    links = [link(name, surfaces[name], MASS[name]) for name in surfaces] + [Link("flange")]
    frames = [
        ("base", "link1", transform((0, 0, SHOULDER)), (0.0, 0.0, -1.0)),
        ("link1", "link2", transform((0, A1, 0), (0, -QUARTER, 0)), (0.0, 0.0, 1.0)),
        ("link2", "link3", transform((UPPER, 0, 0)), (0.0, 0.0, -1.0)),
        ("link3", "link4", transform((FOREARM_TO_J4, -ELBOW, 0), (0, QUARTER, 0)), (0.0, 0.0, 1.0)),
        ("link4", "link5", transform((0, 0, J4_TO_WRIST), (0, -QUARTER, 0)), (0.0, 0.0, -1.0)),
        ("link5", "link6", transform((WRIST_TO_DISC, 0, 0), (0, QUARTER, 0)), (0.0, 0.0, 1.0)),
    ]
    joints = [
        moving(f"joint{i + 1}", parent, child, T, axis, tuple(LIMITS[i]), VELOCITY[i], EFFORT[i])
        for i, (parent, child, T, axis) in enumerate(frames)
    ]
    joints.append(fixed("flange_joint", "link6", "flange", transform((0, 0, DISC))))
    meshes = {file: mesh for part in surfaces.values() for file, mesh, _ in part}
    comment = "Kawasaki FS020N. Kinematics from published dimensions, surfaces from parameters (tools/make_robots.py)."
    write(folder, Urdf("kawasaki_fs020n", tuple(links), tuple(joints)), meshes, comment)
