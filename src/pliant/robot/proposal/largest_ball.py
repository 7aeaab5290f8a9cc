"""What a preshape is good for: the largest ball that the open hand takes and the closing fingers hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from pliant.arrays import Bools, Floats, Ints
from pliant.objects import Mesh
from pliant.robot.description import Preshape
from pliant.robot.model import Robot

STEPS = 9
"""Closing is looked at in so many postures."""
POINTS = 120
"""Of each link's surface, and as many of each pad."""
SQUARE = np.cos(np.radians(50.0))
"""Cosine of the angle between a pad's normal and the ball's centre, up to which the pad lies against the ball."""
UNBALANCED = 0.45
"""How much of the contacts' pressing may be left to friction: the least mean of their directions."""
LARGEST = 0.3
"""No hand that fits on an arm holds a larger ball [m]."""
SHRINK = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
"""Balls that are tried at a place, as shares of the largest one that fits there."""
AHEAD = 2e-3
"""Bare parts of a finger may reach this far into the ball before its pad touches [m]: balls give, samples are apart."""


class Touchable(NamedTuple):
    """Surfaces of a hand as points.

    Attributes:
        links: with a surface.
        points: n x 3, in the frames of their links [m].
        normals: n x 3, outward.
        link: n, position in ``links``.
        finger: n, number of the finger; -1 for the palm.
        is_pad: n.
        last_pads: of every finger the points of its last pad.
    """

    links: tuple[str, ...]
    points: Floats
    normals: Floats
    link: Ints
    finger: Ints
    is_pad: Bools
    last_pads: tuple[Ints, ...]


def touchable(
    shapes: Mapping[str, Mesh],
    finger_of: Mapping[str, int],
    pads: Sequence[Sequence[tuple[str, Mesh]]],
) -> Touchable:
    """Sample a hand.

    Args:
        shapes: surface of every link that has one.
        finger_of: number of the finger that a link belongs to.
        pads: of every finger, palm side first: link and the part of its surface that is pad.
    """
    rng = np.random.default_rng(0)
    links = tuple(shapes)
    points: list[Floats] = []
    normals: list[Floats] = []
    link: list[Ints] = []
    finger: list[Ints] = []
    is_pad: list[Bools] = []
    last_pads: list[Ints] = []

    def add(name: str, mesh: Mesh, pad: bool) -> Ints:
        chosen = rng.choice(len(mesh.faces), POINTS, p=mesh.face_areas / mesh.face_areas.sum())
        mix = rng.dirichlet((1.0, 1.0, 1.0), POINTS)
        start = sum(len(p) for p in points)
        points.append(np.einsum("nk,nkd->nd", mix, mesh.vertices[mesh.faces[chosen]]))
        normals.append(mesh.face_normals[chosen])
        link.append(np.full(POINTS, links.index(name)))
        finger.append(np.full(POINTS, finger_of.get(name, -1)))
        is_pad.append(np.full(POINTS, pad))
        return np.arange(start, start + POINTS)

    for name, mesh in shapes.items():
        add(name, mesh, False)
    for of_finger in pads:
        added = [add(name, mesh, True) for name, mesh in of_finger]
        last_pads.append(added[-1] if added else np.arange(0))
    return Touchable(
        links,
        np.concatenate(points),
        np.concatenate(normals),
        np.concatenate(link),
        np.concatenate(finger),
        np.concatenate(is_pad),
        tuple(last_pads),
    )


def largest_ball(robot: Robot, hand: Touchable, preshape: Preshape, fingers: Sequence[int], approach: Floats) -> float:
    """Diameter of the largest ball that the open hand takes and the closing fingers hold [m]; 0 where there is none.

    A finger stops where it touches the ball. It counts where a pad of it touches first, square enough. The ball is held
    where the pads' directions cancel but for what friction bears, and the last finger (the thumb) is among them.

    Args:
        fingers: numbers of those that the preshape uses, the thumb last.
        approach: direction out of the palm, in the world at any posture (the palm does not move).
    """
    start, end = robot.q(preshape.open), robot.q(preshape.closed)
    P, N = np.empty((STEPS, *hand.points.shape)), np.empty((STEPS, *hand.points.shape))
    for s, share in enumerate(np.linspace(0.0, 1.0, STEPS)):
        for k, T in enumerate(robot.poses(hand.links, start + share * (end - start))):
            of = hand.link == k
            P[s, of] = hand.points[of] @ T.rotation.T + T.translation
            N[s, of] = hand.normals[of] @ T.rotation.T
    return max((_held_at(centre, P, N, hand, fingers) for centre in _places(P, hand, fingers, approach)), default=0.0)


def _places(P: Floats, hand: Touchable, fingers: Sequence[int], approach: Floats) -> list[Floats]:
    """Middles between the thumb and the other fingers, and deeper in the hand."""
    places = []
    for at in P[::2]:
        middles = [at[hand.last_pads[i]].mean(axis=0) for i in fingers if len(hand.last_pads[i])]
        if len(middles) < 2:
            return []
        middle = 0.5 * (np.mean(middles[:-1], axis=0) + middles[-1])
        places += [middle + deeper * approach for deeper in (-0.04, -0.02, 0.0, 0.02)]
    return places


def _held_at(centre: Floats, P: Floats, N: Floats, hand: Touchable, fingers: Sequence[int]) -> float:
    away = centre - P
    distance = np.linalg.norm(away, axis=2)
    fits = float(distance[0].min())
    if fits < 2e-3:
        return 0.0
    square = np.einsum("sni,sni->sn", N, away) > SQUARE * distance
    for share in SHRINK:
        radius = min(share * fits, 0.5 * LARGEST)
        directions = [d for i in fingers if (d := _touch(i, radius, away, distance, square, hand)) is not None]
        thumb = _touch(fingers[-1], radius, away, distance, square, hand)
        if len(directions) >= 2 and thumb is not None and _rest(np.array(directions)) < UNBALANCED:
            return 2.0 * radius
    return 0.0


def _touch(i: int, radius: float, away: Floats, distance: Floats, square: Bools, hand: Touchable) -> Floats | None:
    """Direction in which a finger presses the ball where it stops; None if no pad of it touches first."""
    of_finger = hand.finger == i
    pad = of_finger & hand.is_pad
    reached = (distance[:, pad] <= radius).any(axis=1)
    if not reached.any():
        return None
    step = int(np.argmax(reached))
    if (distance[step, of_finger & ~hand.is_pad] < radius - AHEAD - _closing(distance, of_finger, step)).any():
        return None
    deepest = np.flatnonzero(pad)[int(np.argmin(distance[step, pad]))]
    if not square[step, deepest]:
        return None
    return np.asarray(away[step, deepest] / distance[step, deepest])


def _closing(distance: Floats, of_finger: Bools, step: int) -> float:
    """How far the finger came nearer in the last step: it may have touched anywhere within it."""
    if step == 0:
        return 0.0
    return float(max(0.0, (distance[step - 1, of_finger] - distance[step, of_finger]).max()))


def _rest(directions: Floats) -> float:
    """Least length of a mean of unit directions with any weights: 0 where they can balance each other."""
    n = len(directions)
    heavy = 1e3
    A = np.vstack([directions.T, heavy * np.ones((1, n))])
    weights, _ = nnls(A, np.array([0.0, 0.0, 0.0, heavy]))
    return float(np.linalg.norm(directions.T @ weights))
