"""A hand description as one picture: pads, tips, palm direction, open and closed in every preshape, in one picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats
from pliant.robot import PALM_FRAME, Hand, tip_frame
from pliant.viewer.scene.drawables import Drawable, ball
from pliant.viewer.scene.hand_marks import finger_colour, pad_surface, palm_arrows
from pliant.viewer.scene.robot_surfaces import robot_drawables
from pliant.viewer.still.render import look_at, render


def hand_drawables(hand: Hand, q: Floats) -> list[Drawable]:
    """The hand at ``q`` with its description drawn on it.

    Every finger's pads and tip have its colour; the red arrow leaves the palm's origin along the approach direction,
    the black one shows the closing direction.
    """
    robot, description = hand.robot, hand.description
    drawables = robot_drawables(robot, q)
    for i, finger in enumerate(description.fingers):
        colour = finger_colour(i).rgb
        for pad in finger.pads:
            surface = pad_surface(robot.urdf, pad).transformed(robot.pose(pad.link, q))
            drawables.append(Drawable(surface, colour, f"pad of {finger.name}"))
        tip = robot.pose(tip_frame(finger.name), q).translation
        drawables.append(ball(tip, radius=0.0035, colour=colour, name=f"tip of {finger.name}"))
    return [*drawables, *palm_arrows(robot.pose(PALM_FRAME, q), description.palm.length, radius=0.002)]


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
            for direction in (side, front):
                direction = direction / np.linalg.norm(direction)
                if abs(direction[2]) > 0.97:  # the camera keeps z upwards, so it cannot look straight down
                    direction = direction + np.array([0.4, 0.1, 0.0])
                    direction /= np.linalg.norm(direction)
                camera = look_at(middle + far * direction, middle, field_of_view_deg=22.0)
                pictures.append(render(drawables, camera, width=size, height=size))
        rows.append(np.hstack(pictures))
    return np.vstack(rows)
