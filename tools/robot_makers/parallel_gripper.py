"""A two-finger parallel gripper of our own: one drive, two prismatic fingers, flat soft pads with tactile cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.objects import Mesh
from pliant.robot import Mimic, Urdf

from .loft import block, loft, placed, rounded_rectangle, spaced
from .parts import DARK, GREY, link, moving, transform, write

EDGE = 0.003
STROKE = 0.05  # each finger's travel from the middle
HALF_WIDTH, THICKNESS, REACH = 0.011, 0.016, 0.075
PAD_Z = (0.030, 0.073)


def finger() -> Mesh:
    """A finger along z whose pad is the plane x = 0, facing +x; its free end is rounded off."""
    heights = spaced([0.0, PAD_Z[0], PAD_Z[1], REACH], EDGE)

    def ring_at(z: float) -> np.ndarray:
        inset = max(0.0, z - PAD_Z[1]) * 0.5
        return rounded_rectangle(-THICKNESS + inset, -inset, HALF_WIDTH - inset, 0.0015, (7, 5, 3))

    return loft([ring_at(float(z)) for z in heights], list(heights), name="finger")


def make(folder: Path) -> None:
    meshes = {
        "housing": placed(block((0.07, 0.15, 0.09), 0.02, 0.008), transform((0, 0, 0.045))),
        "finger": finger(),
    }
    links = [
        link("housing", [("housing", meshes["housing"], GREY)], 0.9),
        link("left_finger", [("finger", meshes["finger"], DARK)], 0.08),
        link("right_finger", [("finger", meshes["finger"], DARK)], 0.08),
    ]
    left = transform((0, 0, 0.09), (0, 0, -np.pi / 2))
    right = transform((0, 0, 0.09), (0, 0, np.pi / 2))
    back = (-1.0, 0.0, 0.0)
    joints = [
        moving("opening", "housing", "left_finger", left, back, (0.0, STROKE), 0.1, 80.0, kind="prismatic"),
        moving(
            "right_opening",
            "housing",
            "right_finger",
            right,
            back,
            (0.0, STROKE),
            0.1,
            80.0,
            kind="prismatic",
            mimic=Mimic("opening"),
        ),
    ]
    comment = "Parallel gripper of pliant's own design; surfaces from parameters (tools/make_robots.py)."
    write(folder, Urdf("parallel_gripper", tuple(links), tuple(joints)), meshes, comment)
