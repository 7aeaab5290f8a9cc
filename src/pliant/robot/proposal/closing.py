"""Which joints bend a finger, which way is closing, and which finger is the thumb."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from pliant.arrays import Floats
from pliant.robot.model import Robot
from pliant.robot.proposal.fingers import Chain, HandTree

ONE_SIDED = 0.5


@dataclass(frozen=True)
class Way:
    """Which way independent joints close, and how that is known.

    Args:
        sign: joint (position in ``q``) to +1 or -1.
        reason: in words.
        confidence: 0 .. 1.
    """

    sign: dict[int, int]
    reason: str
    confidence: float


@dataclass(frozen=True, eq=False)
class Curl:
    """How a finger bends.

    Args:
        chain: the finger.
        bends: independent joints that bend it, palm side first.
        spreads: its other independent joints: they swing it sideways or turn it.
        way: which way closes.
        linear: it slides instead of bending.
    """

    chain: Chain
    bends: tuple[int, ...]
    spreads: tuple[int, ...]
    way: Way
    linear: bool

    def tip(self, robot: Robot, q: Floats) -> Floats:
        """In the world."""
        return np.asarray(robot.pose(self.chain.tip_link, q).act(self.chain.tip))


def find_curls(tree: HandTree) -> list[Curl]:
    """Bending joints and closing sense of every finger.

    The last joint of a finger bends it; so do those whose axes are parallel to it. Closing is the side with the larger
    range where the range is one-sided; else (and always for two fingers and for sliding ones) the side on which the
    tips come nearer to each other.
    """
    parts = [_bends(tree.robot, chain) for chain in tree.chains]
    groups = _groups([set(senses) for senses in parts])
    sides: dict[int, tuple[int, str, float] | None] = {}
    for g, members in enumerate(groups):
        sides[g] = None if len(tree.chains) == 2 else _one_sided(tree, [parts[i] for i in members], members)
    open_groups = [g for g, side in sides.items() if side is None]
    senses = [_merged([parts[i] for i in members]) for members in groups]
    best: dict[int, int] = {g: side[0] for g, side in sides.items() if side is not None}
    spread = {}
    for choice in product((1, -1), repeat=len(open_groups)):
        signs = best | dict(zip(open_groups, choice, strict=True))
        spread[choice] = _gathering(tree, senses, signs)
    order = sorted(spread, key=lambda c: spread[c])
    best |= dict(zip(open_groups, order[0], strict=True))
    curls: list[Curl] = []
    for i, chain in enumerate(tree.chains):
        g = next(k for k, members in enumerate(groups) if i in members)
        side = sides[g]
        if side is not None:
            _, reason, confidence = side
        else:
            near, far = (1000 * spread[c] for c in (order[0], order[-1]))
            reason = f"this way the tips come together (mean distance {near:.0f} mm, the other way {far:.0f} mm)"
            confidence = float(np.clip(0.5 + 2 * (far - near) / max(far + near, 1e-9), 0.5, 0.95))
        sign = {k: sense * best[g] for k, sense in senses[g].items() if k in parts[i]}
        bends = tuple(k for k in parts[i])
        others = tuple(k for k in chain.drives if k not in parts[i])
        linear = chain.joints[-1].kind == "prismatic"
        curls.append(Curl(chain, bends, others, Way(sign, reason, confidence), linear))
    return curls


def room(robot: Robot, k: int, sign: int) -> float:
    """How far joint ``k`` may go from neutral to the side ``sign`` [rad, m]; half a turn where there is no limit."""
    end = robot.upper[k] if sign > 0 else robot.lower[k]
    return float(min(abs(end - robot.neutral[k]), np.pi))


def thumb_of(robot: Robot, curls: list[Curl]) -> int:
    """The finger that closes against the others: its tip's way is most unlike theirs."""
    ways = []
    for curl in curls:
        tips = []
        for share in (0.2, 0.3):
            q = robot.neutral
            for k, sign in curl.way.sign.items():
                q[k] += sign * share * room(robot, k, sign) if room(robot, k, sign) > 0 else -sign * share * 1e-2
            tips.append(curl.tip(robot, q))
        way = tips[1] - tips[0]
        ways.append(way / max(float(np.linalg.norm(way)), 1e-12))
    dots = np.array(ways) @ np.array(ways).T
    return int(np.argmin(dots.sum(axis=1)))


def _bends(robot: Robot, chain: Chain) -> dict[int, int]:
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


def _one_sided(tree: HandTree, parts: list[dict[int, int]], members: list[int]) -> tuple[int, str, float] | None:
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
    return int(np.sign(balance)), f"{share:.0f} % of its joints' range lies on this side of straight", 0.9


def _gathering(tree: HandTree, senses: list[dict[int, int]], signs: dict[int, int]) -> float:
    """Least mean distance between the tips while all fingers bend [m]; beyond it they pass each other."""
    robot = tree.robot
    end = robot.neutral
    for g, sign in signs.items():
        for k, sense in senses[g].items():
            way = sense * sign
            linear = any(j.kind == "prismatic" for c in tree.chains for j in c.joints if _drives(robot, j.name, k))
            end[k] += way * (room(robot, k, way) if linear else min(0.7, 0.5 * room(robot, k, way)))
    i, j = np.triu_indices(len(tree.chains), 1)
    least = np.inf
    for share in np.linspace(0.1, 1.0, 10):
        q = robot.neutral + share * (end - robot.neutral)
        tips = np.array([robot.pose(c.tip_link, q).act(c.tip) for c in tree.chains])
        least = min(least, float(np.linalg.norm(tips[i] - tips[j], axis=1).mean()))
    return least


def _drives(robot: Robot, joint: str, k: int) -> bool:
    return bool(robot.fold[list(robot.model.names)[1:].index(joint), k] != 0.0)
