"""Which joints bend a finger, in which sense they close it, and which finger is the thumb."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.robot.model import Robot
from pliant.robot.proposal.fingers import FingerChain, HandTree

ONE_SIDED = 0.5


class _Side(NamedTuple):
    """The sign in which a group of fingers closes, why, and how sure that is, 0 .. 1."""

    sign: int
    reason: str
    confidence: float


@dataclass(frozen=True)
class ClosingDirection:
    """The signs in which independent joints close a finger, and how they are known.

    Args:
        sign: joint (position in ``q``) to +1 or -1.
        reason: in words.
        confidence: 0 .. 1.
    """

    sign: dict[int, int]
    reason: str
    confidence: float


@dataclass(frozen=True, eq=False)
class Bending:
    """How a finger bends.

    Args:
        chain: the finger.
        bends: independent joints that bend it, palm side first.
        spreads: its other independent joints: they swing it sideways or turn it.
        closing: the signs in which it closes.
        linear: it slides instead of bending.
    """

    chain: FingerChain
    bends: tuple[int, ...]
    spreads: tuple[int, ...]
    closing: ClosingDirection
    linear: bool

    def tip(self, robot: Robot, q: Floats) -> Floats:
        """The finger's tip in the world."""
        return self.chain.tip_at(robot, q)


def find_bendings(tree: HandTree) -> list[Bending]:
    """Bending joints and closing sense of every finger.

    The last joint of a finger bends it; so do those whose axes are parallel to it. Closing is the side with the larger
    range where the range is one-sided; else (and always for two fingers and for sliding ones) the side on which the
    tips come nearer to each other.
    """
    parts = [_bends(tree.robot, chain) for chain in tree.chains]
    groups = _groups([set(senses) for senses in parts])
    sides: dict[int, _Side | None] = {}
    for g, members in enumerate(groups):
        sides[g] = None if len(tree.chains) == 2 else _one_sided(tree, [parts[i] for i in members], members)
    open_groups = [g for g, side in sides.items() if side is None]
    senses = [_merged([parts[i] for i in members]) for members in groups]
    best: dict[int, int] = {g: side.sign for g, side in sides.items() if side is not None}
    spread = {}
    for choice in product((1, -1), repeat=len(open_groups)):
        signs = best | dict(zip(open_groups, choice, strict=True))
        spread[choice] = _least_tip_distance(tree, senses, signs)
    order = sorted(spread, key=lambda c: spread[c])
    best |= dict(zip(open_groups, order[0], strict=True))
    bendings: list[Bending] = []
    for i, chain in enumerate(tree.chains):
        g = next(k for k, members in enumerate(groups) if i in members)
        side = sides[g]
        if side is not None:
            reason, confidence = side.reason, side.confidence
        else:
            near, far = (1000 * spread[c] for c in (order[0], order[-1]))
            reason = f"so the tips come together (mean distance {near:.0f} mm; with the worst signs {far:.0f} mm)"
            confidence = float(np.clip(0.5 + 2 * (far - near) / max(far + near, 1e-9), 0.5, 0.95))
        sign = {k: sense * best[g] for k, sense in senses[g].items() if k in parts[i]}
        bends = tuple(k for k in parts[i])
        others = tuple(k for k in chain.drives if k not in parts[i])
        linear = chain.joints[-1].kind == "prismatic"
        bendings.append(Bending(chain, bends, others, ClosingDirection(sign, reason, confidence), linear))
    return bendings


def room(robot: Robot, k: int, sign: int) -> float:
    """How far joint ``k`` may go from neutral to the side ``sign`` [rad, m]; half a turn where there is no limit."""
    end = robot.upper[k] if sign > 0 else robot.lower[k]
    return float(min(abs(end - robot.neutral[k]), np.pi))


def find_thumb(robot: Robot, bendings: list[Bending]) -> int:
    """The finger that closes against the others: its tip moves in the direction most unlike theirs."""
    directions = []
    for bending in bendings:
        tips = []
        for share in (0.2, 0.3):
            q = robot.neutral
            for k, sign in bending.closing.sign.items():
                q[k] += sign * share * room(robot, k, sign) if room(robot, k, sign) > 0 else -sign * share * 1e-2
            tips.append(bending.tip(robot, q))
        motion = tips[1] - tips[0]
        directions.append(motion / max(float(np.linalg.norm(motion)), 1e-12))
    dots = np.array(directions) @ np.array(directions).T
    return int(np.argmin(dots.sum(axis=1)))


def _bends(robot: Robot, chain: FingerChain) -> dict[int, int]:
    """Independent joints that bend a finger, palm side first, with the sense in which they turn like the last joint."""
    q = robot.neutral
    column = {name: k for k, name in enumerate(robot.joint_names)}
    rows = {name: i for i, name in enumerate(list(robot.model.names)[1:])}
    last = chain.joints[-1]
    a_last = robot.pose(last.child, q).rotation @ np.array(last.axis)
    kind = last.kind == "prismatic"
    found: dict[int, float] = {}
    for joint in chain.joints:
        axis = robot.pose(joint.child, q).rotation @ np.array(joint.axis)
        if (joint.kind == "prismatic") != kind or abs(axis @ a_last) < 0.9:
            continue
        fold = robot.fold[rows[joint.name]]
        k = int(np.argmax(np.abs(fold)))
        assert joint.mimic is not None or column[joint.name] == k
        found[k] = found.get(k, 0.0) + float(np.sign(axis @ a_last) * fold[k])
    return {k: 1 if turn >= 0 else -1 for k, turn in found.items()}


def _groups(drives: list[set[int]]) -> list[list[int]]:
    """Fingers that share a bending joint close together."""
    groups: list[tuple[set[int], list[int]]] = []
    for i, own in enumerate(drives):
        touching = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        groups.append((own.union(*(g[0] for g in touching)), sorted([i, *(m for g in touching for m in g[1])])))
    return [members for _, members in sorted(groups, key=lambda group: group[1])]


def _merged(parts: list[dict[int, int]]) -> dict[int, int]:
    merged: dict[int, int] = {}
    for part in parts:
        for k, sense in part.items():
            merged.setdefault(k, sense)
    return merged


def _one_sided(tree: HandTree, parts: list[dict[int, int]], members: list[int]) -> _Side | None:
    if any(tree.chains[i].joints[-1].kind == "prismatic" for i in members):
        return None
    robot, sides = tree.robot, []
    for k, sense in _merged(parts).items():
        up, down = room(robot, k, sense), room(robot, k, -sense)
        sides.append((up - down) / max(up + down, 1e-9))
    balance = float(np.mean(sides))
    if abs(balance) < ONE_SIDED:
        return None
    share = 50 * (1 + abs(balance))
    return _Side(int(np.sign(balance)), f"{share:.0f} % of its joints' range lies on this side of straight", 0.9)


def _least_tip_distance(tree: HandTree, senses: list[dict[int, int]], signs: dict[int, int]) -> float:
    """Least mean distance between the tips while all fingers bend [m]; beyond it they pass each other."""
    robot = tree.robot
    end = robot.neutral
    for g, sign in signs.items():
        for k, sense in senses[g].items():
            closing = sense * sign
            linear = any(j.kind == "prismatic" for c in tree.chains for j in c.joints if _drives(robot, j.name, k))
            end[k] += closing * (room(robot, k, closing) if linear else min(0.7, 0.5 * room(robot, k, closing)))
    i, j = np.triu_indices(len(tree.chains), 1)
    least = np.inf
    for share in np.linspace(0.1, 1.0, 10):
        q = robot.neutral + share * (end - robot.neutral)
        tips = np.array([chain.tip_at(robot, q) for chain in tree.chains])
        least = min(least, float(np.linalg.norm(tips[i] - tips[j], axis=1).mean()))
    return least


def _drives(robot: Robot, joint: str, k: int) -> bool:
    return bool(robot.fold[list(robot.model.names)[1:].index(joint), k] != 0.0)
