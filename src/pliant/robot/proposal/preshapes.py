"""Preshapes: thumb and fingers pad to pad (tips), all fingers bent (wrap), fingers from all sides (round).

``propose.propose_hand`` decides which of them a hand gets, and says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.robot.description import Palm, Preshape
from pliant.robot.model import Robot
from pliant.robot.proposal.closing import Bending, room
from pliant.robot.proposal.fingers import HandTree
from pliant.robot.proposal.pads import FingerPads

OPENINGS = (0.7, 1.0, 1.3)
"""How far the first bending joint may open from where the tips meet [rad]."""
APART = (0.0, 0.05)
"""How far apart the pads are where they face each other [m]: at nothing, or at something that is held."""
OVER = 0.12
"""How far it goes on after that, so that small objects are pressed too [rad]."""
SPARE = 0.12
"""Share of a bending joint's range kept free at either end where the tips meet, so that what is held can be moved."""
SAME = 0.05
"""Joints that differ by less are the same posture [rad, m]."""
BENT = 0.25
"""Share of its range by which a finger's second bending joint is bent where the tips meet, if it cannot bend back: a
straight finger reaches no further."""
STRAIGHT = 0.4
"""A joint that bends back by less than this does not bend back [rad]."""
BACK = 0.6
"""How far the first bending joint may open beyond straight [rad]."""
BETTER = 0.15
"""By how much the closing directions must balance better than in the preshape of the tips."""
BEYOND = 0.1
"""How much further than the nearest approach of the tips the fingers close, as a share of the whole motion."""


@dataclass(frozen=True, eq=False)
class TipContact:
    """Where the tips meet.

    Args:
        q: joints.
        gap: distance between the thumb's pad and the mean of the others', less what they are to be apart [m].
        facing: mean angle by which opposed pads fail to face each other [rad].
        apart: what is between the pads [m].
        cost: how far this is from what was wanted of it, without units.
    """

    q: Floats
    gap: float
    facing: float
    apart: float
    cost: float


def find_tip_contacts(
    tree: HandTree,
    bendings: list[Bending],
    pads: list[FingerPads],
    thumb: int,
    *,
    apart: float = 0.0,
    near: Floats | None = None,
) -> list[TipContact]:
    """Joints at which the thumb's pad lies against the middle of the others', facing them, not far bent; best first.

    Args:
        thumb: its place among ``bendings``, which may be some of the hand's fingers.
        apart: thickness of what is between the pads [m].
        near: look near these joints only; else everywhere that the thumb can be turned to.
    """
    robot = tree.robot
    used = sorted({k for bending in bendings for k in (*bending.bends, *bending.spreads)})
    lower, upper = (np.clip(v, -np.pi, np.pi)[used] for v in (robot.lower, robot.upper))
    span = np.maximum(upper - lower, 1e-9)
    lower, upper = _with_spare(tree, bendings, used, lower, upper)
    size = max(float(np.ptp([bending.tip(robot, robot.neutral) for bending in bendings], axis=0).max()), 0.05)
    reference = robot.neutral
    for bending in bendings:
        for k, sign in bending.closing.sign.items():
            reference[k] += sign * 0.35 * room(robot, k, sign)
    weights = np.full(len(used), 0.3)
    others = [i for i in range(len(bendings)) if i != thumb]
    for i in others:
        for k in bendings[i].spreads:
            weights[used.index(k)] = 4.0  # fingers beside each other stay so; it is the thumb that comes round

    # Fingers beside each other bend alike, where they have joints of their own to do so.
    same = [i for i in others if len(bendings[i].bends) == len(bendings[others[0]].bends)]
    own = len({k for i in same for k in bendings[i].bends}) == sum(len(bendings[i].bends) for i in same)
    alike = np.array([[used.index(k) for k in bendings[i].bends] for i in same if own], dtype=np.int64)
    senses = np.array([[bendings[i].closing.sign[k] for k in bendings[i].bends] for i in same if own])

    def full(x: Floats) -> Floats:
        q = reference.copy()
        q[used] = x
        return q

    def places(q: Floats) -> tuple[Floats, Floats]:
        Ts = robot.poses([p.link for p in pads], q)
        return (
            np.array([T.act(p.point) for T, p in zip(Ts, pads, strict=True)]),
            np.array([T.rotation @ p.normal for T, p in zip(Ts, pads, strict=True)]),
        )

    def _gap(p: Floats, n: Floats) -> Floats:
        between = 0.5 * (n[thumb] - n[others].mean(axis=0))
        return np.asarray(p[others].mean(axis=0) - p[thumb] - apart * between)

    def residual(x: Floats) -> Floats:
        p, n = places(full(x))
        gap = 6.0 * _gap(p, n) / size
        opposed = 0.5 * (n[others] + n[thumb]) / np.sqrt(len(others))
        uneven = senses * (x[alike] - reference[used][alike]) if len(alike) else np.zeros((1, 1))
        uneven = uneven - uneven.mean(axis=0)
        return np.concatenate([gap, opposed.ravel(), weights * (x - reference[used]) / span, uneven.ravel()])

    contacts: list[TipContact] = []
    turns = [used.index(k) for k in bendings[thumb].spreads][:3]
    starts = []
    for shares in product((0.1, 0.5, 0.9), repeat=len(turns)) if near is None else ():
        starts.append(reference[used])
        for i, share in zip(turns, shares, strict=True):
            starts[-1][i] = lower[i] + share * (upper[i] - lower[i])
    for begin in starts if near is None else [near[used]]:
        start = np.clip(begin, lower + 1e-6 * span, upper - 1e-6 * span)
        found = least_squares(residual, start, bounds=(lower - 1e-9, upper + 1e-9), xtol=1e-6, ftol=1e-6, max_nfev=60)
        q = np.clip(full(found.x), robot.lower, robot.upper)
        if any(np.abs(q - known.q).max() < SAME for known in contacts):
            continue
        p, n = places(q)
        facing = float(np.mean([np.arccos(np.clip(-n[i] @ n[thumb], -1.0, 1.0)) for i in others]))
        contacts.append(TipContact(q, float(np.linalg.norm(_gap(p, n))), facing, apart, float(found.cost)))
    return sorted(contacts, key=lambda contact: contact.cost)


def _with_spare(
    tree: HandTree, bendings: list[Bending], used: list[int], lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """Joint ranges that leave room to move a held object in every direction: off the limits, no finger straight."""
    span = upper - lower
    # A finger with one joint moves nothing it holds, and may well meet the other one at the end of its range.
    able = {k for bending in bendings if not bending.linear and len(bending.chain.drives) > 1 for k in bending.bends}
    free = np.array([SPARE if k in able else 0.0 for k in used]) * span
    lower, upper = lower + free, upper - free
    for bending in bendings:
        for k in bending.bends[1:2]:
            sign, i = bending.closing.sign[k], used.index(k)
            if (bent := _least_bent(tree, bending, k)) is not None:
                lower[i], upper[i] = (max(lower[i], bent), upper[i]) if sign > 0 else (lower[i], min(upper[i], bent))
    return lower, upper


def _least_bent(tree: HandTree, bending: Bending, k: int) -> float | None:
    """The value of the second bending joint that is not straight; None where it may as well bend back."""
    sign = bending.closing.sign[k]
    if bending.linear or k != bending.bends[1] or room(tree.robot, k, -sign) >= STRAIGHT:
        return None
    return float(tree.robot.neutral[k] + sign * BENT * room(tree.robot, k, sign))


class Rest(StrEnum):
    """What the joints beyond a finger's first bending joint do while it opens from where the tips meet."""

    STAY = "stay"
    STRAIGHTEN = "straighten"
    KEEP_DIRECTION = "keep the direction of the last link"


def tips_preshape(
    tree: HandTree,
    bendings: list[Bending],
    contact: TipContact,
    *,
    opening: float = OPENINGS[0],
    rest: Rest = Rest.STRAIGHTEN,
    name: str = "tips",
) -> Preshape:
    """Closed: the tips meet. Open: back from there by the first bending joints, the others as ``rest`` says."""
    robot = tree.robot
    opened, closed = contact.q.copy(), contact.q.copy()
    for bending in bendings:
        first, *others = bending.bends
        sign = bending.closing.sign
        if bending.linear:
            for k in bending.bends:
                opened[k], closed[k] = _end(tree, k, -sign[k]), _end(tree, k, sign[k])
            continue
        reach = max(float(np.linalg.norm(bending.tip(robot, contact.q) - _root(robot, bending, contact.q))), 0.03)
        over = OVER + 0.5 * contact.apart / reach
        closed[first] = _within(tree, first, contact.q[first] + sign[first] * over)
        opened[first] = _within(tree, first, contact.q[first] - sign[first] * opening)
        moved = sign[first] * (closed[first] - opened[first])
        for k in others:
            if rest is Rest.KEEP_DIRECTION:
                opened[k] = _within(tree, k, contact.q[k] + sign[k] * moved / len(others))
            elif rest is Rest.STRAIGHTEN:
                opened[k] = robot.neutral[k] + 0.5 * (contact.q[k] - robot.neutral[k])
                if (least := _least_bent(tree, bending, k)) is not None and sign[k] * (least - opened[k]) > 0.0:
                    opened[k] = least
                if sign[k] * (contact.q[k] - opened[k]) < 0.0:
                    opened[k] = contact.q[k]  # no joint opens while the others close
    return _preshape(name, tree, bendings, opened, closed)


def _root(robot: Robot, bending: Bending, q: Floats) -> Floats:
    """Where the finger begins, in the world."""
    return np.asarray(robot.pose(bending.chain.joints[0].child, q).translation)


def wrap_preshape(tree: HandTree, bendings: list[Bending], contact: TipContact) -> Preshape:
    """Open: nearly straight, leaning back. Closed: every finger bent until it would touch the palm or another one."""
    opened, full = _open_back(tree, bendings, contact.q)
    bodies = _Bodies(tree, bendings)
    always = bodies.overlapping(opened)  # they touch by construction
    stops = np.full(len(bendings), np.nan)
    closed = opened.copy()
    for share in np.linspace(0.05, 1.0, 20):
        q = closed.copy()
        for i, bending in enumerate(bendings):
            if np.isnan(stops[i]):
                for k in bending.bends:
                    q[k] = opened[k] + share * (full[k] - opened[k])
        touching = {i for pair in bodies.overlapping(q) - always for i in pair[:2]}
        for i in range(len(bendings)):
            if np.isnan(stops[i]) and i + 1 in touching:
                stops[i] = share
        for i, bending in enumerate(bendings):
            if np.isnan(stops[i]):
                for k in bending.bends:
                    closed[k] = q[k]
    return _preshape("wrap", tree, bendings, opened, closed)


def out_of_the_way(tree: HandTree, idle: list[Bending], preshape: Preshape, fingers: tuple[str, ...]) -> Preshape:
    """A preshape of some fingers, with the joints of the idle ones held straight and leaning back."""
    q, _ = _open_back(tree, idle, tree.robot.neutral)
    away = _preshape(preshape.name, tree, idle, q, q)
    still = {name: value for name, value in away.open.items() if name not in preshape.open}
    update = {"open": preshape.open | still, "closed": preshape.closed | still, "fingers": fingers}
    return preshape.model_copy(update=update)


def _open_back(tree: HandTree, bendings: list[Bending], q: Floats) -> tuple[Floats, Floats]:
    """``q`` with all fingers nearly straight and leaning back, and with all fingers fully bent."""
    robot = tree.robot
    opened, full = q.copy(), q.copy()
    for bending in bendings:
        for place, k in enumerate(bending.bends):
            sign = bending.closing.sign[k]
            back = -min(BACK, 0.8 * room(robot, k, -sign)) if place == 0 else min(0.2, 0.3 * room(robot, k, sign))
            opened[k] = _within(tree, k, robot.neutral[k] + sign * back)
            full[k] = _within(tree, k, robot.neutral[k] + sign * min(1.6, 0.95 * room(robot, k, sign)))
    return opened, full


def round_preshape(
    tree: HandTree, bendings: list[Bending], palm: Palm, tips: Preshape
) -> tuple[Preshape, float] | None:
    """Swing joints at which the closing directions cancel best, and the balance reached; None where that gains little.

    The balance is the length of the mean of the fingers' unit closing directions, seen from the front of the palm: 0
    where they come evenly from all sides, 1 where all push in the same direction.
    """
    robot = tree.robot
    swings = sorted({k for bending in bendings for k in bending.spreads})
    if len(bendings) < 3 or not swings or any(bending.linear for bending in bendings):
        return None
    q = robot.q(tips.open)
    opened, full = _open_back(tree, bendings, q)
    span = full - opened
    T_world_palm = robot.pose(palm.link, q) * palm.T_link_palm

    def tips_at(spread: Floats, share: float) -> Floats:
        at = opened + share * span
        at[swings] = spread
        return np.array([T_world_palm.actInv(bending.tip(robot, at)) for bending in bendings])

    def balance(spread: Floats) -> float:
        directions = (tips_at(spread, 0.35) - tips_at(spread, 0.25))[:, :2]
        directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
        return float(np.linalg.norm(directions.mean(axis=0)))

    lower, upper = (np.clip(v, -np.pi, np.pi)[swings] for v in (robot.lower, robot.upper))
    best = q[swings].copy()
    before = balance(best)
    # One joint, and two together in either sense: of a hand's two fingers that swing, either one alone gains nothing.
    count = len(swings)
    moves = [
        *np.eye(count),
        *(np.eye(count)[i] + s * np.eye(count)[j] for i, j in combinations(range(count), 2) for s in (1, -1)),
    ]
    for _ in range(3):
        for move in moves:
            used = move != 0.0
            start = np.where(used, 0.0, best)
            low, high = np.where(move > 0, lower, -upper)[used].max(), np.where(move > 0, upper, -lower)[used].min()
            tries = [start + value * move for value in np.linspace(low, high, 37)] if low < high else []
            best = min([best, *tries], key=lambda s: (round(balance(s), 3), float(np.abs(s - q[swings]).sum())))
    after = balance(best)
    if before - after < BETTER:
        return None
    shares = np.linspace(0.1, 1.0, 46)
    width = [
        float(np.linalg.norm(p[:, :2] - p[:, :2].mean(axis=0), axis=1).mean())
        for p in (tips_at(best, float(share)) for share in shares)
    ]
    meets = min(1.0, float(shares[int(np.argmin(width))]) + BEYOND)
    closed = opened + meets * span
    opened = opened.copy()
    opened[swings] = closed[swings] = best
    return _preshape("round", tree, bendings, opened, closed), after


def collision_model(mesh: Mesh) -> Any:
    """A surface for collision tests."""
    import coal

    model = coal.BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    model.addVertices(np.ascontiguousarray(mesh.vertices))
    model.addTriangles(np.ascontiguousarray(mesh.faces.astype(np.int32)))
    model.endModel()
    return model


class _Bodies:
    """Palm and fingers as collision bodies."""

    def __init__(self, tree: HandTree, bendings: list[Bending]) -> None:
        import coal

        self.coal, self.robot = coal, tree.robot
        beyond = [[n for n in c.chain.links if any(self.robot.joints_moving(n)[k] for k in c.bends)] for c in bendings]
        self.parts = [[n for n in tree.palm if n in tree.shapes], *beyond]
        self.models = {name: collision_model(tree.shapes[name]) for part in self.parts for name in part}
        self.pairs = [
            (i, j, a, b)
            for (i, one), (j, other) in combinations(enumerate(self.parts), 2)
            for a, b in product(one, other)
            if a != b
        ]

    def overlapping(self, q: Floats) -> set[tuple[int, int, str, str]]:
        """Pairs of links that overlap: of two fingers, or of a finger and the palm (part 0)."""
        places = {}
        for name in self.models:
            T = self.robot.pose(name, q)
            places[name] = self.coal.Transform3s(np.array(T.rotation), np.array(T.translation))
        found = set()
        for pair in self.pairs:
            _, _, a, b = pair
            result = self.coal.CollisionResult()
            request = self.coal.CollisionRequest()
            if self.coal.collide(self.models[a], places[a], self.models[b], places[b], request, result):
                found.add(pair)
        return found


def _within(tree: HandTree, k: int, value: float) -> float:
    return float(np.clip(value, tree.robot.lower[k], tree.robot.upper[k]))


def _end(tree: HandTree, k: int, sign: int) -> float:
    end = tree.robot.upper[k] if sign > 0 else tree.robot.lower[k]
    return float(end) if np.isfinite(end) else float(tree.robot.neutral[k])


def _preshape(name: str, tree: HandTree, bendings: list[Bending], opened: Floats, closed: Floats) -> Preshape:
    """Values of the fingers' joints by name, rounded towards the inside, so that no limit is crossed by a rounding."""
    robot = tree.robot
    used = sorted({k for bending in bendings for k in (*bending.bends, *bending.spreads)})

    def named(q: Floats) -> dict[str, float]:
        return {robot.joint_names[k]: _inside(float(q[k]), float(robot.lower[k]), float(robot.upper[k])) for k in used}

    return Preshape(name=name, open=named(opened), closed=named(closed))


def _inside(value: float, lower: float, upper: float) -> float:
    rounded = round(value, 4)
    return rounded if lower <= rounded <= upper else (lower if rounded < lower else upper)
