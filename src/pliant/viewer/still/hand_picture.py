"""A hand description to look at: pads, tips, palm direction, open and closed in every preshape, in one picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.robot import PALM_FRAME, Hand, pad_mesh, tip_frame
from pliant.viewer.scene.drawables import Colour, Drawable, arrow, ball, robot_drawables
from pliant.viewer.still.render import look_at, render

FINGER_COLOURS: tuple[tuple[str, Colour], ...] = (
    ("orange", (0.90, 0.45, 0.10)),
    ("blue", (0.15, 0.45, 0.85)),
    ("green", (0.15, 0.60, 0.30)),
    ("magenta", (0.75, 0.20, 0.60)),
    ("yellow", (0.85, 0.75, 0.10)),
    ("cyan", (0.10, 0.65, 0.70)),
)
PALM_COLOUR: Colour = (0.80, 0.10, 0.10)
CLOSING_COLOUR: Colour = (0.10, 0.10, 0.10)


def hand_drawables(hand: Hand, q: Floats) -> list[Drawable]:
    """The hand at ``q`` with its description drawn on it.

    Every finger's pads and tip have its colour; the red arrow leaves the palm's origin along the approach direction,
    the black one shows the closing direction.
    """
    robot, description = hand.robot, hand.description
    drawables = robot_drawables(robot, q)
    for i, finger in enumerate(description.fingers):
        colour = FINGER_COLOURS[i % len(FINGER_COLOURS)][1]
        for pad in finger.pads:
            found = pad_mesh(robot.urdf, pad)
            # A little in front of the surface, so that it is seen.
            lifted = found.mesh.vertices + 4e-4 * np.array(pad.facing)
            surface = Mesh(lifted, found.mesh.faces[found.faces], f"pad of {finger.name}")
            drawables.append(Drawable(surface.transformed(robot.pose(pad.link, q)), colour, surface.name))
        tip = robot.pose(tip_frame(finger.name), q).translation
        drawables.append(ball(tip, radius=0.0035, colour=colour, name=f"tip of {finger.name}"))
    palm = robot.pose(PALM_FRAME, q)
    length = 0.5 * description.palm.length
    drawables.append(
        arrow(palm.translation, length * palm.rotation[:, 2], radius=0.002, colour=PALM_COLOUR, name="approach")
    )
    drawables.append(
        arrow(palm.translation, 0.5 * length * palm.rotation[:, 0], radius=0.002, colour=CLOSING_COLOUR, name="closing")
    )
    return drawables


def hand_picture(hand: Hand, *, size: int = 600) -> NDArray[np.uint8]:
    """One row per preshape: open and closed, seen from the side and from the front of the palm."""
    rows = []
    for preshape in hand.description.preshapes:
        pictures = []
        for q in (hand.q_open(preshape), hand.q_closed(preshape)):
            drawables = hand_drawables(hand, q)
            points = np.vstack([d.mesh.bounds for d in drawables])
            middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
            far = 2.6 * float(np.linalg.norm(np.ptp(points, axis=0)))
            palm = hand.robot.pose(PALM_FRAME, q).rotation
            side = palm @ np.array([0.25, 1.0, 0.35])
            front = palm @ np.array([0.35, 0.25, 1.0])
            for way in (side, front):
                way = way / np.linalg.norm(way)
                if abs(way[2]) > 0.97:  # the camera keeps z upwards, so it cannot look straight down
                    way = way + np.array([0.4, 0.1, 0.0])
                    way /= np.linalg.norm(way)
                camera = look_at(middle + far * way, middle, field_of_view_deg=22.0)
                pictures.append(render(drawables, camera, width=size, height=size))
        rows.append(np.hstack(pictures))
    return np.vstack(rows)
