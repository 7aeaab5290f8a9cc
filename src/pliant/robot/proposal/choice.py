"""Which preshapes a hand gets: of many that are possible, those that take and hold the largest balls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from pliant.arrays import Floats
from pliant.objects import Mesh
from pliant.robot.description import Preshape
from pliant.robot.proposal.closing import Bending
from pliant.robot.proposal.fingers import HandTree
from pliant.robot.proposal.largest_ball import Touchable, largest_ball, touchable
from pliant.robot.proposal.pads import FingerPads
from pliant.robot.proposal.preshapes import (
    APART,
    OPENINGS,
    Rest,
    TipContact,
    find_tip_contacts,
    out_of_the_way,
    tips_preshape,
)
from pliant.robot.surfaces import pad_mesh

ENOUGH = 0.15
"""A hand that takes a ball of this diameter opens wide enough [m]; more of it is worth nothing."""
LOOKED_AT = 2
"""Postures in which all tips meet, best first, that are tried; fewer fingers meet near the first."""
PER_TURN = 0.03
"""Diameter that is given up for pads that face each other better by one radian [m/rad]."""
FACING = np.radians(40.0)
"""Fewer fingers than there are make a preshape of their own if their pads face each other this well, ..."""
MEET = 0.01
"""... meet but for this [m], ..."""
SMALL = 0.03
"""... and if they take a ball of this diameter [m]."""


@dataclass(frozen=True, eq=False)
class ChosenPreshape:
    """A preshape, how its tips meet, and the diameter of the largest ball it takes and holds [m]."""

    preshape: Preshape
    contact: TipContact
    ball: float


class PreshapeChoice:
    """Measures preshapes of one hand by the largest ball.

    Args:
        names: of the fingers, in the order of ``bendings``.
        thumb: its place among them.
    """

    def __init__(
        self, tree: HandTree, bendings: list[Bending], pads: list[FingerPads], thumb: int, names: Sequence[str]
    ) -> None:
        self.tree, self.bendings, self.pads, self.thumb, self.names = tree, bendings, pads, thumb, names
        self.others = [i for i in range(len(bendings)) if i != thumb]
        self._hand = self._sampled()

    def ball(self, preshape: Preshape) -> float:
        """Diameter of the largest ball that the preshape takes and holds [m]."""
        used = [*self.others, self.thumb]
        if preshape.fingers is not None:
            used = [i for i in used if self.names[i] in preshape.fingers]
        return largest_ball(self.tree.robot, self._hand, preshape, used, self._approach(preshape))

    def tips(self) -> ChosenPreshape:
        """All fingers against the thumb."""
        return self._best([*self.others, self.thumb], "tips")

    def fewer(self, tips: ChosenPreshape) -> list[ChosenPreshape]:
        """Two fingers and one against the thumb, the others out of the way, where that is good for something."""
        if any(bending.linear for bending in self.bendings):
            return []
        found = []
        for count, name in ((2, "tripod"), (1, "pinch")):
            if len(self.others) <= count:
                continue
            groups = (
                self._best([*group, self.thumb], name, near=tips.contact.q)
                for group in combinations(self.others, count)
            )
            best = max(groups, key=_worth)
            if best.ball >= SMALL and best.contact.facing <= FACING and best.contact.gap <= MEET:
                found.append(best)
        return found

    def _best(self, members: list[int], name: str, *, near: Floats | None = None) -> ChosenPreshape:
        bendings, pads = [self.bendings[i] for i in members], [self.pads[i] for i in members]
        linear = all(bending.linear for bending in bendings)
        found: ChosenPreshape | None = None
        for apart in APART[:1] if linear else APART:
            contacts = find_tip_contacts(self.tree, bendings, pads, len(members) - 1, apart=apart, near=near)
            openings, rests = (OPENINGS[:1], tuple(Rest)[:1]) if linear else (OPENINGS, tuple(Rest))
            for contact, opening, rest in product(contacts[:LOOKED_AT], openings, rests):
                preshape = tips_preshape(self.tree, bendings, contact, opening=opening, rest=rest, name=name)
                if len(members) < len(self.bendings):
                    idle = [b for i, b in enumerate(self.bendings) if i not in members]
                    preshape = out_of_the_way(self.tree, idle, preshape, tuple(self.names[i] for i in members))
                chosen = ChosenPreshape(preshape, contact, self.ball(preshape))
                if found is None or _worth(chosen) > _worth(found) + 1e-9:
                    found = chosen
        assert found is not None
        return found

    def _approach(self, preshape: Preshape) -> Floats:
        """From the palm's middle to where the fingers close, in the world."""
        robot, tree = self.tree.robot, self.tree
        q = robot.q(preshape.closed)
        T = robot.pose(tree.palm_link, q)
        mesh = tree.shapes.get(tree.palm_link)
        middle = T.act(mesh.bounds.mean(axis=0)) if mesh is not None else T.translation
        tips = np.mean([bending.tip(robot, q) for bending in self.bendings], axis=0)
        return np.asarray((tips - middle) / max(float(np.linalg.norm(tips - middle)), 1e-9))

    def _sampled(self) -> Touchable:
        urdf = self.tree.robot.urdf
        finger_of = {link: i for i, bending in enumerate(self.bendings) for link in bending.chain.links}
        of_fingers = []
        for found in self.pads:
            meshes = [pad_mesh(urdf, pad) for pad in found.pads]
            of_fingers.append([(m.pad.link, Mesh(m.mesh.vertices, m.mesh.faces[m.faces])) for m in meshes])
        return touchable(self.tree.shapes, finger_of, of_fingers)


def _worth(chosen: ChosenPreshape) -> float:
    """Large balls, but tips that meet and face each other: what is small is held between them."""
    return min(chosen.ball, ENOUGH) - chosen.contact.gap - PER_TURN * chosen.contact.facing
