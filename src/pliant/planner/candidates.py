"""What a search knows of its aims: families of hypotheses that came from one another, and what they may come to.

(theory 8.9)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pliant.planner.aim import Aim
from pliant.planner.hypotheses import Hypothesis

HOPE = 5.0
"""Candidates are improved in the order of what they may come to: with so many steps like the last ones, .."""
GAIN = 0.15
""".. each as large as this where there was none [relative], .."""
FADING = 0.5
""".. and the last one counting so much."""
OPERATION = 1.3
"""Force of an operation over its promise where nothing is known, .."""
LEARNING = 0.5
""".. and how much of that the next operation of a family changes."""
DOUBTED = 1.4
"""For every grasp of a family that failed beyond twice those that did not, the others count as if they needed so much
more."""


class GraspKind(NamedTuple):
    """What suits an object and what does not differs most between these."""

    preshape: str
    fingers: tuple[str, ...]


def kind_of(hypothesis: Hypothesis) -> GraspKind:
    """Its kind."""
    return GraspKind(hypothesis.preshape, hypothesis.fingers)


def with_kind(hypothesis: Hypothesis, kind: GraspKind, number: int) -> Hypothesis:
    """The same palm pose with another preshape and other fingers."""
    source = f"{kind.preshape} for {hypothesis.preshape}, {hypothesis.source.removeprefix('improved ')}"
    return replace(hypothesis, number=number, preshape=kind.preshape, fingers=kind.fingers, source=source)


@dataclass(eq=False)
class AimFamily:
    """A hypothesis and all improvements of it.

    Args:
        failed, done: how many did not come to an operation, and how many did.
        ratio: force of their operations over their promises.
        best: that with the smallest promise, which is improved.
        size: of the changes that are tried on it.
        gain: what an improvement may be expected to take off its promise [relative].
        turns: how often it was improved.
        asked: whether an improvement is asked for and not answered.
        lent: whether its palm pose was tried with other kinds.
    """

    best: Aim
    failed: int = 0
    done: int = 0
    ratio: float = OPERATION
    size: float = 0.7
    gain: float = GAIN
    turns: int = 0
    asked: bool = False
    lent: bool = False

    @property
    def doubt(self) -> float:
        """By how much its others are worse than they promise."""
        return float(DOUBTED ** min(max(self.failed - 2 * self.done, 0), 8))

    def learn(self, ratio: float) -> None:
        """What the force of one was over its promise."""
        self.ratio += LEARNING * (ratio - self.ratio)

    def improved(self, gained: float) -> None:
        """What an improvement took off its promise [relative]."""
        self.gain += FADING * (gained - self.gain)


@dataclass(eq=False)
class AimCandidate:
    """A sound aim.

    Args:
        aim: the aim.
        family: what became of its relatives.
        pressed: whether it is or was pressed.
        work: what that is charged to.
        force: of its operation; infinite where there is none (yet) [N].
    """

    aim: Aim
    family: AimFamily
    pressed: bool = False
    work: str = ""
    force: float = np.inf

    @property
    def promised(self) -> float:
        """Its promise, worse where its relatives failed [N]."""
        return self.family.doubt * self.aim.grade.value

    @property
    def expected(self) -> float:
        """What its operation needs, or would [N]."""
        return self.force if np.isfinite(self.force) else self.family.ratio * self.promised

    @property
    def hoped(self) -> float:
        """What it may come to if it is improved further [N]."""
        return float(self.family.ratio * self.promised * (1.0 - self.family.gain) ** HOPE)
