"""What a hand's description means on the hand: pads in their finger's colour, arrows of the palm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.objects import Mesh
from pliant.robot import Pad, Urdf, pad_mesh
from pliant.viewer.scene.colours import Colour
from pliant.viewer.scene.drawables import Drawable, arrow

PALM_COLOUR: Colour = (0.80, 0.10, 0.10)
CLOSING_COLOUR: Colour = (0.10, 0.10, 0.10)
LIFT = 4e-4
"""How far pads are drawn in front of the surface [m]."""


class FingerColour(NamedTuple):
    """A colour with its name."""

    name: str
    rgb: Colour


FINGER_COLOURS = (
    FingerColour("orange", (0.90, 0.45, 0.10)),
    FingerColour("blue", (0.15, 0.45, 0.85)),
    FingerColour("green", (0.15, 0.60, 0.30)),
    FingerColour("magenta", (0.75, 0.20, 0.60)),
    FingerColour("yellow", (0.85, 0.75, 0.10)),
    FingerColour("cyan", (0.10, 0.65, 0.70)),
)


def finger_colour(number: int) -> FingerColour:
    """Of the finger with this number, from 0 on."""
    return FINGER_COLOURS[number % len(FINGER_COLOURS)]


def pad_surface(urdf: Urdf, pad: Pad) -> Mesh:
    """The part of the link's surface that is pad, a little in front of it so that it is seen, in the link's frame."""
    found = pad_mesh(urdf, pad)
    return Mesh(found.mesh.vertices + LIFT * np.array(pad.facing), found.mesh.faces[found.faces], pad.link)


def palm_arrows(T_frame_palm: pin.SE3, palm_length: float, *, radius: float) -> list[Drawable]:
    """From the palm's origin: red along the approach direction, black along the closing direction of the first finger.

    Args:
        T_frame_palm: the palm in the frame that the arrows are wanted in.
        palm_length: [m].
        radius: of the arrows [m].
    """
    origin, R, length = T_frame_palm.translation, T_frame_palm.rotation, 0.5 * palm_length
    return [
        arrow(origin, length * R[:, 2], radius=radius, colour=PALM_COLOUR, name="approach"),
        arrow(origin, 0.5 * length * R[:, 0], radius=radius, colour=CLOSING_COLOUR, name="closing"),
    ]
