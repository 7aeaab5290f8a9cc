"""A hand description as one picture: pads, tips, palm direction, open and closed in every preshape, in one picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats
from pliant.objects import Mesh, lighter
from pliant.robot import PALM_FRAME, Hand, tip_frame
from pliant.viewer.scene.colours import Colour
from pliant.viewer.scene.drawables import Drawable, ball
from pliant.viewer.scene.hand_marks import finger_colour, pad_surface, palm_arrows
from pliant.viewer.scene.robot_surfaces import coloured_surfaces
from pliant.viewer.still.render import look_at, render

FACES = 5000
"""Of one shape of a link in the picture: more are smaller than its points."""


class _Part(NamedTuple):
    """A surface that moves with a link."""

    link: str
    mesh: Mesh
    colour: Colour


def _parts(hand: Hand) -> list[_Part]:
    """The hand with its pads in their fingers' colours, light enough to be drawn a dozen times."""
    urdf = hand.robot.urdf
    parts = [_Part(link.name, lighter(s.mesh, FACES), s.colour) for link in urdf.links for s in coloured_surfaces(link)]
    for i, finger in enumerate(hand.description.fingers):
        parts += [_Part(pad.link, pad_surface(urdf, pad), finger_colour(i).rgb) for pad in finger.pads]
    return parts


def _drawables(hand: Hand, parts: list[_Part], q: Floats) -> list[Drawable]:
    """The hand at ``q`` with its description drawn on it.

    Every finger's pads and tip have its colour; the red arrow leaves the palm's origin along the approach direction,
    the black one shows the closing direction.
    """
    robot, description = hand.robot, hand.description
    Ts = robot.poses([part.link for part in parts], q)
    drawables = [Drawable(part.mesh.transformed(T), part.colour, part.link) for part, T in zip(parts, Ts, strict=True)]
    for i, finger in enumerate(description.fingers):
        tip = robot.pose(tip_frame(finger.name), q).translation
        drawables.append(ball(tip, radius=0.0035, colour=finger_colour(i).rgb, name=f"tip of {finger.name}"))
    return [*drawables, *palm_arrows(robot.pose(PALM_FRAME, q), description.palm.length, radius=0.002)]


def hand_picture(hand: Hand, *, size: int = 340) -> NDArray[np.uint8]:
    """One row per preshape: open and closed, seen from the side and from the front of the palm.

    More than two preshapes are seen once at either end, from half way between these.
    """
    rows, parts = [], _parts(hand)
    for preshape in hand.description.preshapes:
        pictures = []
        for q in (hand.q_open(preshape), hand.q_closed(preshape)):
            drawables = _drawables(hand, parts, q)
            points = np.vstack([d.mesh.bounds for d in drawables])
            middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
            far = 2.6 * float(np.linalg.norm(np.ptp(points, axis=0)))
            palm = hand.robot.pose(PALM_FRAME, q).rotation
            side = palm @ np.array([0.25, 1.0, 0.35])
            front = palm @ np.array([0.35, 0.25, 1.0])
            for direction in (side, front) if len(hand.description.preshapes) <= 2 else (side + front,):
                direction = direction / np.linalg.norm(direction)
                if abs(direction[2]) > 0.97:  # the camera keeps z upwards, so it cannot look straight down
                    direction = direction + np.array([0.4, 0.1, 0.0])
                    direction /= np.linalg.norm(direction)
                camera = look_at(middle + far * direction, middle, field_of_view_deg=22.0)
                pictures.append(render(drawables, camera, width=size, height=size))
        rows.append(np.hstack(pictures))
    return np.vstack(rows)
