"""What a search asks its workers: grade hypotheses, mend bad aims, improve good ones, press.   (theory 8.9)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.planner.aim import Aim, aim, better_aim
from pliant.planner.closed_hand import press_hand
from pliant.planner.completion import complete
from pliant.planner.context import PlanningContext
from pliant.planner.hypotheses import Hypothesis, changed, random_change
from pliant.planner.pressing import HandPose
from pliant.planner.promise import Promise, promise
from pliant.planner.reasons import Failure, Rejection
from pliant.planner.results import PlannedGrasp, StableGrasp
from pliant.planner.stability import HeldGrasp, grasp_quality_of, unsound

CLIMB = 20
"""Others that are looked at on the way from a bad aim to a sound one."""
STEPS = 48
"""Others that are looked at to improve an aim."""
REPAIRS = 2
"""So many moves may mend what a random change made unsound: most changes of a good aim end at the edge of a pad."""
LARGEST, SMALLEST, AGAIN = 1.5, 0.08, 0.5
"""Sizes of these changes: at most, at least, and where they begin anew after the least."""
GROW, SHRINK = 1.5, 0.93
"""Factors of the size after a change that helped and after one that did not."""
FURTHER = 1.3
"""What helped is tried once more from there, so much larger."""


@dataclass(frozen=True, eq=False)
class Look:
    """Grade hypotheses."""

    hypotheses: tuple[Hypothesis, ...]

    def __call__(self, context: PlanningContext) -> list[Aim]:
        """One aim for each."""
        return [aim(context, hypothesis) for hypothesis in self.hypotheses]


@dataclass(frozen=True, eq=False)
class Mend:
    """Look for a better aim near a bad one."""

    start: Aim
    seed: int

    def __call__(self, context: PlanningContext) -> tuple[Aim, int]:
        """The better one, and how many were looked at."""
        rng = np.random.default_rng([self.seed, self.start.hypothesis.number])
        return better_aim(context, self.start, rng, tries=CLIMB)


class Improved(NamedTuple):
    """A better aim, or the same one where none was found; the size of changes to go on with, and how many aims were
    looked at."""

    aim: Aim
    size: float
    looked: int


@dataclass(frozen=True, eq=False)
class Improve:
    """Look for a smaller promise near a sound aim.

    Args:
        start: the aim.
        size: of the changes; 1: as large as `random_change` makes them.
        seed: of the search, and ..
        turn: .. how often it was asked for this aim.
    """

    start: Aim
    size: float
    seed: int
    turn: int

    def __call__(self, context: PlanningContext) -> Improved:
        """One random change after the other, mended where it can be; a better one is the next start.

        The whole change, mended, leads along what the pads and the scene allow, so it is also tried again.
        """
        rng = np.random.default_rng([self.seed, self.start.hypothesis.number, self.turn])
        best, size, looked = self.start, self.size, 0
        while looked < STEPS:
            size = size if size >= SMALLEST else AGAIN
            change = random_change(context.assembly, rng, size)
            better = False
            while looked < STEPS:
                found, change, aims = _mended(context, best, change)
                looked += aims
                if not found.grade < best.grade:
                    break
                best, better, change = found, True, FURTHER * change
            size = min(GROW * size, LARGEST) if better else SHRINK * size
        return Improved(best, size, looked)


def _mended(context: PlanningContext, start: Aim, change: Floats) -> tuple[Aim, Floats, int]:
    """A changed aim after moves that mend it, the sum of all changes, how many aims it took."""
    bound = start.grade.value
    found = aim(context, changed(start.hypothesis, context.assembly, change), bound=bound)
    for repairs in range(REPAIRS):
        if found.move is None:
            return found, change, repairs + 1
        change = change + found.move
        found = aim(context, changed(found.hypothesis, context.assembly, found.move), bound=bound)
    return found, change, REPAIRS + 1


class Pressed(NamedTuple):
    """What became of a pressed hypothesis.

    Attributes:
        hypothesis: as it was pressed.
        pressed: whether it came as far as being pressed.
        stable: the stable grasp, if it is one.
        promised: the force that its first touches promised [N].
        answer: the operation, or why there is none.
    """

    hypothesis: Hypothesis
    pressed: bool
    stable: StableGrasp | None
    promised: float
    answer: PlannedGrasp | Rejection


@dataclass(frozen=True, eq=False)
class Press:
    """Press a hypothesis and complete the operation where that needs no more force than ``bound`` [N]."""

    hypothesis: Hypothesis
    bound: float

    def __call__(self, context: PlanningContext) -> Pressed:
        """What becomes of it."""
        return pressed(context, self.hypothesis, self.bound)


def pressed(context: PlanningContext, hypothesis: Hypothesis, bound: float = np.inf) -> Pressed:
    """Exact touches, pressing, stability and the whole operation of one hypothesis."""
    number = hypothesis.number
    promised = promise(context, hypothesis)
    if isinstance(promised, Failure):
        return Pressed(hypothesis, False, None, np.inf, promised.rejection(number))
    grasp = hold(context, promised, bound)
    if isinstance(grasp, Failure):
        return Pressed(hypothesis, True, None, promised.force, grasp.rejection(number))
    stable = StableGrasp(number, grasp.held.largest_force, grasp.epsilon)
    return Pressed(hypothesis, True, stable, promised.force, complete(context, grasp, bound))


def try_hypothesis(context: PlanningContext, hypothesis: Hypothesis) -> HeldGrasp | Rejection:
    """A hypothesis as far as a stable grasp."""
    promised = promise(context, hypothesis)
    grasp = promised if isinstance(promised, Failure) else hold(context, promised)
    return grasp.rejection(hypothesis.number) if isinstance(grasp, Failure) else grasp


def hold(context: PlanningContext, promised: Promise, bound: float = np.inf) -> HeldGrasp | Failure:
    """Press what promises to hold until it does."""
    hypothesis, T_world_object = promised.hypothesis, context.task.T_world_object
    T_world_palm = T_world_object * hypothesis.T_object_palm
    held = press_hand(
        context.presser,
        promised.closing,
        HandPose(promised.q_open, T_world_palm),
        T_world_object,
        forces=promised.forces,
        bound=bound,
    )
    if isinstance(held, Failure):
        return held
    if (failure := unsound(context, held)) is not None:
        return failure
    q_touch = context.hand.with_arm(promised.closing.q, promised.q_open)
    return HeldGrasp(hypothesis, T_world_palm, promised.q_open, q_touch, held, grasp_quality_of(held))


def ask(context: PlanningContext, question: Any) -> Any:
    """Answer a question of the search; what the workers do."""
    return question(context)
