"""How well a hypothesis is aimed, in a millisecond or two, and how to aim it better.   (theory 8.9)

The fingers close as points on their links against the object's distance field, so touches are known to a millimetre or
two. What fails is graded: a palm a few millimetres beside a good place is worth moving, one inside the object is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.motion import damped_least_squares
from pliant.planner.closing import AT_OBJECT, open_hand_gap, place_arm
from pliant.planner.closing_hand import ClosingGroup
from pliant.planner.context import KEEP_OUT, PlanningContext
from pliant.planner.finger_reach import Touching
from pliant.planner.hand_links import HandLink
from pliant.planner.hypotheses import SHIFT, Hypothesis, changed, neighbour, unit_change
from pliant.planner.reasons import Failure, Reason
from pliant.planner.stability import AROUND, beside_pad
from pliant.planner.touch_forces import DEPTHS, promised_forces, promised_move, touch_depth

TABLE = 25
"""Closing parameters at which a finger's links are placed."""
BELIEVED = 3e-3
"""Sample points of a link that are further away than this show that it is free [m]."""
WORTH_MOVING = 0.02
"""An open hand that is deeper than this inside the object is not moved out of it [m]."""
GIVE_UP = 6
"""Aims that are no better, one after the other, before the search for a better one ends."""
SHARP = 0.7
"""A touch at which the object's normal turns by this much counts as if it needed twice the force [rad]."""
ROUGH = 1e-3
"""How far pressing may move a contact along its pad, beside what the touches here are off [m]."""
LATER = 4e-3
"""Fingers that share a joint may touch where they are nearer than this when the first of them touches [m] .."""
AT_ONCE = 2e-4
""".. and do where they are nearer than this [m]."""
ASTRAY = 2
"""So many of them may lie on the way to a better one."""
FACING = 0.01
"""A pad that faces beside the surface by an angle counts as one that is so far away [m/rad], .."""
TILTED = 6.0
""".. and as this much further where the tilt decides where on it a straight thing presses [1/rad]."""
NEAR = 5e-3
"""As if pressed in so far: a pad that is tilted against a straight thing shall be turned, not shifted [m]."""
STAY = 5e-3
"""Links nearer than this to what they must not touch are kept from coming nearer [m]."""
MOST = 4.0
"""No part of a move is larger than this multiple of a usual change."""
DAMPING = 0.1
"""Of the move that a bad aim suggests."""


class Grade(NamedTuple):
    """How bad an aim is; smaller is better, the level first.

    Attributes:
        level: 0: it may hold; above that the later a test fails, the smaller.
        value: of level 0 the largest wanted force [N], more where a touch is sharp; else how far it is from passing, in
            the units of the test.
    """

    level: int
    value: float


@dataclass(frozen=True, eq=False)
class Aim:
    """A hypothesis with its grade.

    Args:
        hypothesis: the hypothesis.
        grade: how bad it is.
        failure: what fails; None where nothing does.
        move: a change of the hypothesis (`changed`) which may mend it; None where none is known.
    """

    hypothesis: Hypothesis
    grade: Grade
    failure: Failure | None
    move: Floats | None = None

    @property
    def sound(self) -> bool:
        """Whether nothing speaks against it."""
        return self.failure is None


def aim(
    context: PlanningContext,
    hypothesis: Hypothesis,
    *,
    explain: bool = False,
    rigid: bool = False,
    bound: float = np.inf,
) -> Aim:
    """Grade a hypothesis, cheap tests first.

    Args:
        explain: find out what is to blame where no forces hold it; takes longer.
        rigid: what may mend it is a move of the hand as it is, without its fingers.
        bound: aims that promise no less are of no use [N].
    """
    hand, T_world_object = context.hand, context.task.T_world_object
    preshape = hand.preshape(hypothesis.preshape)
    groups = hand.groups(preshape, hypothesis.fingers)
    start = hand.q_open(preshape, hypothesis.posture)
    q_open = hand.at_opening(start, groups, hypothesis.opening)
    gap, link = open_hand_gap(
        context.prepared, hand, q_open, hypothesis.T_object_palm, margin=AT_OBJECT, believed=BELIEVED
    )
    if gap < AT_OBJECT:
        failure = Failure(Reason.OPEN_HAND_IN_OBJECT, AT_OBJECT - gap, detail=link)
        return Aim(hypothesis, Grade(7, AT_OBJECT - gap), failure, _out_of_object(context, q_open, hypothesis))
    T_world_palm = T_world_object * hypothesis.T_object_palm
    wishes = _Wishes(context, T_world_palm, rigid)
    if (deep := wishes.leave(q_open)) > 0.0:
        failure = Failure(Reason.OPEN_HAND_HITS, deep)
        wishes.stay_out(q_open)
        return Aim(hypothesis, Grade(6, deep), failure, wishes.move())
    closed = _close(context, hypothesis, start, groups)
    if len(closed.touching.links) < 2:
        count = float(len(closed.touching.links))
        away = wishes.reach(q_open + 0.5 * (closed.q - q_open), groups)
        return Aim(hypothesis, Grade(5, away - count), Failure(Reason.TOO_FEW_FINGERS, count), wishes.move())
    # tips swing on arcs: between open and closed they may reach further than at both ends
    deep = wishes.leave(closed.q) + wishes.leave(0.5 * (q_open + closed.q))
    beside, away = wishes.middle(closed)
    if beside is not None or deep > 0.0:
        failure = beside or Failure(Reason.CLOSING_HITS, deep)
        wishes.stay_out(q_open)
        return Aim(hypothesis, Grade(4, away + deep), failure, wishes.move())
    forces = promised_forces(context, closed.q, T_world_palm, T_world_object, closed.touching, explain=explain)
    if isinstance(forces, Failure):
        return Aim(hypothesis, Grade(3, float(np.linalg.norm(closed.touching.normals.sum(axis=0)))), forces)
    # an edge of the object gives way under a finger: pressed, it holds less well and is squashed sooner
    edge = 1.0 + (closed.sharpest / SHARP) ** 2
    largest = edge * float(forces.max())
    if largest >= bound:
        return Aim(hypothesis, Grade(0, largest), Failure(Reason.LESS_PROMISING, largest))
    placed = place_arm(context, T_world_palm, q_open)
    if isinstance(placed, Failure):
        return Aim(hypothesis, Grade(2, placed.margin), placed)
    if (hit := _collides_later(context, placed, q_open, closed.q, T_world_palm)) is not None:
        return Aim(hypothesis, Grade(2, 0.0), hit)
    if context.task.goal.moves:
        moved = promised_move(context, closed.q, T_world_palm, closed.touching)
        if isinstance(moved, Failure):
            return Aim(hypothesis, Grade(1, moved.margin), moved)
        largest = max(largest, edge * moved)
    return Aim(hypothesis, Grade(0, largest), None)


def _collides_later(
    context: PlanningContext, q_arm: Floats, q_open: Floats, q_closed: Floats, T_world_palm: pin.SE3
) -> Failure | None:
    """Whether the fingers hit something while they close, or arm and hand at the end of the lift."""
    hand = context.hand
    for share in (0.5, 1.0):
        q = hand.with_arm(q_open + share * (q_closed - q_open), q_arm)
        if (hit := context.surroundings.collision(q)) is not None:
            return Failure(Reason.CLOSING_HITS, 0.0, detail=str(hit))
    height = context.task.goal.lift
    if height <= 0.0:
        return None
    lifted = pin.SE3(T_world_palm.rotation, T_world_palm.translation + np.array([0.0, 0.0, height]))
    found = context.ik.solve(lifted, seed=hand.with_arm(q_closed, q_arm), starts=1)
    if not found.found:
        return Failure(Reason.LIFT_OUT_OF_REACH, min(found.error_m, height), detail="missing height")
    if (hit := context.surroundings.collision(hand.with_arm(q_closed, found.q))) is not None:
        return Failure(Reason.LIFT_HITS, 0.0, detail=str(hit))
    return None


def better_aim(context: PlanningContext, start: Aim, rng: np.random.Generator, *, tries: int) -> tuple[Aim, int]:
    """Move the hand as the aim suggests, and where it suggests nothing at random, as long as the aim becomes better.

    Args:
        start: where to begin.
        tries: others to look at, at most; it ends early where nothing helps.

    Returns:
        The best aim, and how many were looked at.
    """
    best, now, in_vain, size = start, start, 0, 1.0
    for looked in range(tries):
        if best.sound or in_vain >= GIVE_UP:
            return best, looked
        if now.move is not None:
            now = aim(context, changed(now.hypothesis, context.assembly, now.move))
        else:
            now = aim(context, neighbour(best.hypothesis, context.assembly, rng, size))
            size = max(0.8 * size, 0.15)
        if now.grade < best.grade:
            best, in_vain, size = now, 0, 1.0
        else:
            in_vain += 1
            if in_vain > ASTRAY:
                now = best if best.move is None else replace(best, move=None)
    return best, tries


def worth_moving(found: Aim) -> bool:
    """Whether a better aim may be near: it is known how to move the hand, or little is missing."""
    return found.move is not None or found.grade.level < 4


class _Closed(NamedTuple):
    """Joints with the fingers at their touches, the touches in the world, what is left of their gaps [m], how sharp the
    sharpest touch is [rad], the links by number, and which places of the object are nearest to them on the average."""

    q: Floats
    touching: Touching
    gaps: list[float]
    sharpest: float
    links: list[int]
    near: list[Floats]


def _close(
    context: PlanningContext, hypothesis: Hypothesis, start: Floats, groups: tuple[ClosingGroup, ...]
) -> _Closed:
    """Close the fingers until sample points of their links touch."""
    hand, T_object_palm = context.hand, hypothesis.T_object_palm
    q = hand.at_opening(start, groups, hypothesis.opening)
    places = np.linspace(hypothesis.opening, 1.0, TABLE)
    touched: dict[int, float] = {}
    for group in groups:
        at, link = hand.sampled_touch(context.prepared, group, start, places, T_object_palm)
        q = hand.with_closing(q, group, start, at)
        if link >= 0:
            touched[link] = 0.0
            if len(group.fingers) > 1:  # its other fingers touch a little later, once the object has moved
                away = hand.sampled_distances(context.prepared, hand.poses(q, T_object_palm), group.links)
                others = {hand.links[i].finger: i for i in np.array(group.links)[np.argsort(-away)].tolist()}
                others.pop(hand.links[link].finger)
                reach = dict(zip(group.links, away, strict=True))
                touched |= {i: float(reach[i]) for i in others.values() if reach[i] < LATER}
    poses = hand.poses(q, T_object_palm)
    T = context.task.T_world_object
    links: list[HandLink] = []
    points, normals, radii, near = [], [], [], []
    sharpest, depth = 0.0, touch_depth(context, max(len(touched), 2))
    for link in touched:
        point, outward = hand.sampled_place(context.prepared, link, poses[link], depth)
        sharp = hand.sharpness(context.prepared, point, outward)
        sharpest = max(sharpest, sharp)
        links.append(hand.links[link])
        points.append(T.act(point))
        normals.append(-T.rotation @ outward)
        radii.append(context.presser.patch_radius(link, sharp, len(touched)))
        near.append(T.act(hand.sampled_place(context.prepared, link, poses[link], NEAR)[0]))
    shape = (len(links), 3)
    touching = Touching(tuple(links), np.reshape(points, shape), np.reshape(normals, shape), np.array(radii))
    return _Closed(q, touching, list(touched.values()), sharpest, list(touched), near)


def _out_of_object(context: PlanningContext, q_open: Floats, hypothesis: Hypothesis) -> Floats | None:
    """How to move the open hand out of the object: every link by its depth, along the normal there."""
    hand, T = context.hand, context.task.T_world_object
    poses = hand.poses(q_open, hypothesis.T_object_palm)
    bounds = hand.bounds(context.prepared, poses, tuple(range(len(poses))))
    depths = AT_OBJECT - hand.sample_distances(context.prepared, bounds)
    if depths.max() > WORTH_MOVING:
        return None
    wishes = _Wishes(context, T * hypothesis.T_object_palm)
    # the exact distance may be a little less than that of the sample points
    for link in {*np.flatnonzero(depths > 0.0).tolist(), int(np.argmax(depths))}:
        point, outward = hand.sampled_place(context.prepared, link, poses[link], DEPTHS[1])
        wishes.add(q_open, link, T.act(point), T.rotation @ outward, max(depths[link], 0.0) + AT_OBJECT)
    return wishes.move()


class _Wishes:
    """Where points of the hand should go; the small change of palm and fingers that does it best.

    Args:
        context: the task.
        T_world_palm: the palm.
        rigid: the fingers stay as they are.
    """

    def __init__(self, context: PlanningContext, T_world_palm: pin.SE3, rigid: bool = False) -> None:
        self._context, self._palm, self._rigid = context, T_world_palm, rigid
        self._units = unit_change(context.assembly)
        self._rows: list[Floats] = []
        self._errors: list[float] = []

    def add(self, q: Floats, link: int, point: Floats, direction: Floats, distance: float) -> None:
        """A point of a link shall go so far in a direction (world) [m]."""
        at, along = self._palm.actInv(point), self._palm.rotation.T @ direction
        joints = along @ self._context.hand.point_jacobian(q, link, at)
        self._add(np.concatenate([along, pin.skew(at) @ along, [0.0], joints]), distance)

    def _add(self, row: Floats, distance: float) -> None:
        row = row * self._units / SHIFT
        if self._rigid:
            row[6:] = 0.0
        self._rows.append(row)
        self._errors.append(distance / SHIFT)

    def leave(self, q: Floats) -> float:
        """The links shall leave the scene. How far they are inside of it, or of what they keep away from it [m]."""
        deep = 0.0
        for link, place in self._context.scene_near(self._context.hand.poses(q, self._palm), KEEP_OUT + STAY):
            missing = max(KEEP_OUT - place.distance, 0.0)
            deep += missing
            self.add(q, link, place.p_first, place.normal, missing + 0.5 * KEEP_OUT if missing else 0.0)
        return deep

    def stay_out(self, q_open: Floats) -> None:
        """Links of the open hand that are near the object shall not come nearer."""
        context, T = self._context, self._context.task.T_world_object
        hand = context.hand
        poses = [T.actInv(pose) for pose in hand.poses(q_open, self._palm)]
        gaps = hand.sampled_distances(context.prepared, poses, tuple(range(len(poses))))
        for link in np.flatnonzero(gaps < AT_OBJECT + STAY).tolist():
            point, outward = hand.sampled_place(context.prepared, link, poses[link], DEPTHS[1])
            self.add(q_open, link, T.act(point), T.rotation @ outward, 0.0)

    def reach(self, q: Floats, groups: tuple[ClosingGroup, ...]) -> float:
        """The pads of the fingers shall come near the object. How far they are away, on the average [m]."""
        context, T = self._context, self._context.task.T_world_object
        hand = context.hand
        poses = hand.poses(q, self._palm)
        gaps = []
        for link in (i for group in groups for i in group.links if hand.links[i].pad is not None):
            middle = poses[link].act(hand.links[link].middle)
            gap, outward = hand.sampled_gap(context.prepared, T.actInv(middle))
            gaps.append(abs(gap))
            self.add(q, link, middle, T.rotation @ outward, -gap)
        return float(np.mean(gaps)) if gaps else 0.0

    def middle(self, closed: _Closed) -> tuple[Failure | None, float]:
        """Pads shall be touched in their middle, facing what they touch, and all at once where fingers share a joint.
        The first touch of which that is not so, and how far such are away.
        """
        context, q = self._context, closed.q
        poses = context.hand.poses(q, self._palm)
        first, away = None, 0.0
        touches = zip(closed.links, *closed.touching[1:3], closed.gaps, closed.near, strict=True)
        for i, point, normal, gap, near in touches:
            link, T = context.hand.links[i], poses[i]
            if gap > AT_ONCE:
                first, away = first or Failure(Reason.TOO_FEW_REGIONS, 1.0), away + gap
                self.add(q, i, point, normal, 0.5 * gap)
            # pressed, it lies further from the middle of the pad than sample points say
            if link.pad is None and link.may_touch:
                continue
            middle = T.act(link.middle)
            away_from = point - middle
            further = point + ROUGH * away_from / max(float(np.linalg.norm(away_from)), ROUGH)
            failure = beside_pad(link, T, further, normal)
            sharp = context.presser.too_sharp(link)
            if failure is None and sharp and link.near_edge(T.actInv(point), AROUND + ROUGH):
                failure = Failure(Reason.BESIDE_PAD, 0.0, detail=f"{link.name}: at a sharp edge of the pad")
            if failure is not None:
                first = first or failure
                away += 0.1 if link.pad is None else float(np.linalg.norm(T.actInv(point) - link.middle))
            for direction in np.linalg.svd(normal[None])[2][1:]:
                self.add(q, i, middle, direction, float(direction @ (near - middle)))
                if link.pad is not None:
                    weight = FACING + TILTED * abs(float(direction @ (point - near)))
                    self._face(q, i, T.rotation @ np.array(link.pad.facing), direction, weight)
        return first, away

    def _face(self, q: Floats, link: int, facing: Floats, across: Floats, weight: float) -> None:
        """A pad that faces ``facing`` shall have no part of that along ``across``."""
        turn = self._palm.rotation.T @ (pin.skew(facing) @ across)
        joints = turn @ self._context.hand.turn_jacobian(q, link)
        self._add(weight * np.concatenate([np.zeros(3), turn, [0.0], joints]), -weight * float(across @ facing))

    def move(self) -> Floats:
        """The change."""
        return np.clip(damped_least_squares(np.array(self._rows), np.array(self._errors), DAMPING), -MOST, MOST)
