"""A preshape for round things: fingers that can be swung about the palm come from all sides towards one centre."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats
from pliant.robot.description import Palm, Preshape
from pliant.robot.proposal.closing import Curl
from pliant.robot.proposal.fingers import HandTree
from pliant.robot.proposal.preshapes import named_values, open_back

BETTER = 0.15
"""By how much the closing directions must balance better than in the preshape of the tips."""
BEYOND = 0.1
"""How much further than the nearest approach of the tips the fingers close, as a share of the way."""


def round_preshape(tree: HandTree, curls: list[Curl], palm: Palm, tips: Preshape) -> tuple[Preshape, float] | None:
    """Swing joints at which the closing directions cancel best, and the balance reached; None where that gains little.

    The balance is the length of the mean of the fingers' unit closing directions, seen from the front of the palm: 0
    where they come evenly from all sides, 1 where all push the same way.
    """
    robot = tree.robot
    swings = sorted({k for curl in curls for k in curl.spreads})
    if len(curls) < 3 or not swings or any(curl.linear for curl in curls):
        return None
    q = robot.q(tips.open)
    opened, full = open_back(tree, curls, q)
    span = full - opened
    T_world_palm = robot.pose(palm.link, q) * palm.T_link_palm

    def tips_at(spread: Floats, share: float) -> Floats:
        at = opened + share * span
        at[swings] = spread
        return np.array([T_world_palm.actInv(curl.tip(robot, at)) for curl in curls])

    def balance(spread: Floats) -> float:
        ways = (tips_at(spread, 0.35) - tips_at(spread, 0.25))[:, :2]
        ways /= np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-12)
        return float(np.linalg.norm(ways.mean(axis=0)))

    lower, upper = (np.clip(v, -np.pi, np.pi)[swings] for v in (robot.lower, robot.upper))
    best = q[swings].copy()
    before = balance(best)
    for _ in range(3):
        for i in range(len(swings)):
            tries = [best.copy() for _ in range(37)]
            for guess, value in zip(tries, np.linspace(lower[i], upper[i], 37), strict=True):
                guess[i] = value
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
    return Preshape(
        name="round", open=named_values(tree, curls, opened), closed=named_values(tree, curls, closed)
    ), after
