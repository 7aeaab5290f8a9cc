"""The palm: its face and approach direction, from where the fingers meet and how they get there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.robot.description import Palm, Preshape
from pliant.robot.proposal.closing import Bending
from pliant.robot.proposal.fingers import HandTree, vector3
from pliant.robot.proposal.pads import FingerPads, spread_over

SNAP = np.radians(25.0)
CONE, ALIKE = np.radians(45.0), np.radians(10.0)
"""The palm's face is looked for so far from the rough direction; parts of it are this parallel."""
STANDS_OUT = 0.4
"""Share of what looks into the cone that a face must have."""


@dataclass(frozen=True)
class PalmGuess:
    """The palm and how sure the direction is."""

    palm: Palm
    reason: str
    confidence: float


def find_palm(
    tree: HandTree, bendings: list[Bending], pads: list[FingerPads], thumb: int, preshape: Preshape
) -> PalmGuess:
    """Approach: from the palm's middle to where the tips meet, square to the direction of closing."""
    robot = tree.robot
    opened, closed = robot.q(preshape.open), robot.q(preshape.closed)
    T_world_palm = robot.pose(tree.palm_link, closed)

    def points(share: float) -> Floats:
        q = opened + share * (closed - opened)
        Ts = robot.poses([p.link for p in pads], q)
        return np.array([T_world_palm.actInv(T.act(p.point)) for T, p in zip(Ts, pads, strict=True)])

    others = [i for i in range(len(bendings)) if i != thumb]
    before, after = points(0.7), points(1.0)
    meets = 0.5 * (after[others].mean(axis=0) + after[thumb])
    motions = after - before
    across = motions[others].mean(axis=0) - motions[thumb]
    across /= max(float(np.linalg.norm(across)), 1e-12)
    # The palm's own link alone: what is bolted to it (a knuckle that cannot turn) is no face.
    body = np.zeros((1, 3))
    if tree.palm_link in tree.shapes:
        mesh = tree.shapes[tree.palm_link]
        body = np.vstack([mesh.vertices, spread_over(mesh, 4000, np.random.default_rng(0))])
    middle = 0.5 * (body.min(axis=0) + body.max(axis=0))
    towards = meets - middle
    raw = towards - across * (across @ towards)
    raw /= max(float(np.linalg.norm(raw)), 1e-12)
    face_normal = _face(tree.shapes[tree.palm_link], raw) if tree.palm_link in tree.shapes else None
    nearest = int(np.argmax(np.abs(raw if face_normal is None else face_normal)))
    axis = np.eye(3)[nearest] * np.sign(raw[nearest])
    angle = float(np.arccos(np.clip(raw @ axis, -1.0, 1.0)))
    if face_normal is not None:
        approach = axis if face_normal @ axis > np.cos(ALIKE) else face_normal
        angle = 0.5 * float(np.arccos(np.clip(raw @ approach, -1.0, 1.0)))
        how = f"square to the largest face of '{tree.palm_link}' that looks there"
    elif angle < SNAP:
        approach, how = axis, f"an axis of '{tree.palm_link}'"
    else:
        approach, how = raw, f"no axis of '{tree.palm_link}'"
    off = np.degrees(np.arccos(np.clip(raw @ (axis if face_normal is None else approach), -1.0, 1.0)))
    reason = (
        "from the palm's middle to where the tips meet, square to the direction in which they close on each other; "
        f"{how}, {off:.0f} deg off"
    )
    side = body - meets
    side -= np.outer(side @ approach, approach)
    under = np.linalg.norm(side, axis=1) < 0.03
    front = body[under] if under.any() else body
    face = float((front @ approach).max())
    origin = meets + approach * (face - meets @ approach)
    reach = max(float((points(share) @ approach).max()) for share in np.linspace(0.0, 1.0, 11)) - face
    tips = [T_world_palm.actInv(bending.tip(robot, q)) @ approach for bending in bendings for q in (opened, closed)]
    length = max(reach, float(max(tips)) - face, 0.02)
    closing = motions[others[0]] - approach * (approach @ motions[others[0]])
    if float(np.linalg.norm(closing)) < 1e-9:
        closing = across - approach * (approach @ across)
    closing /= max(float(np.linalg.norm(closing)), 1e-12)
    palm = Palm(
        link=tree.palm_link,
        origin=vector3(np.round(origin, 4)),
        approach=vector3(np.round(approach, 4)),
        closing=vector3(np.round(closing, 3)),
        height=max(round(face - float((body @ approach).min()), 4), 0.001),
        length=round(length, 4),
    )
    return PalmGuess(palm, reason, float(np.clip(0.95 - angle, 0.4, 0.95)))


def _face(mesh: Mesh, towards: Floats) -> Floats | None:
    """Normal of the palm's largest flat face within a cone about a direction; None where no face stands out."""
    sides = mesh.face_normals @ towards > np.cos(CONE)
    if not sides.any():
        return None
    normals, areas = mesh.face_normals[sides], mesh.face_areas[sides]
    directions = np.unique(np.round(normals, 2), axis=0)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    size = [float(areas[normals @ n > np.cos(ALIKE)].sum()) for n in directions]
    best = int(np.argmax(size))
    return directions[best] if size[best] > STANDS_OUT * float(areas.sum()) else None
