"""Does a planned grasp hold, with which forces, and how much friction does it need?   (theory 10.4)"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.elastic import fill_graded
from pliant.errors import OptionError
from pliant.judge.condensed_body import CondensedBody, condense
from pliant.judge.history import History
from pliant.judge.pad_layer import pad_matrix
from pliant.judge.programme import Outcome, play
from pliant.judge.question import Question, pose_question
from pliant.planner import PlannedGrasp, Task

Report = Callable[[str, float], None]
"""Called with what is being done and the fraction done."""

STEP = 1.25
"""Friction is changed by this factor until the verdict changes .."""
PRECISION = 1.01
""".. then halved until the two sides differ by this."""
_MOST, _LEAST = 4.0, 0.04
_AT_RIM = 0.02
"""More of a contact's force than this at the edge of the candidates: some of the contact is missing."""


class CriticalFriction(NamedTuple):
    """Between which friction factors the verdict changes.

    Attributes:
        falls: the largest at which it does not hold; 0 where it holds with hardly any.
        holds: the smallest at which it holds; infinite where none was found.
    """

    falls: float
    holds: float

    @property
    def factor(self) -> float:
        """The middle of both; nan where the verdict never changed."""
        known = self.falls > 0.0 and math.isfinite(self.holds)
        return math.sqrt(self.falls * self.holds) if known else math.nan


@dataclass(frozen=True, eq=False)
class JudgedGrasp:
    """A grasp ready to be judged at any friction. Build with ``JudgedGrasp.of``.

    Args:
        question: what is asked.
        body: the object, condensed onto where it may be touched.
        pads: what its partners' pads give.
    """

    question: Question
    body: CondensedBody
    pads: Floats | None

    @staticmethod
    def of(
        task: Task,
        grasp: PlannedGrasp,
        *,
        edge: float | None = None,
        pad_thickness: float = math.inf,
        progress: Report | None = None,
    ) -> JudgedGrasp:
        """Mesh and condense the object of a grasp; half a minute.

        Args:
            task, grasp: from a plan.
            edge: of the elements where links press [m]; from the contacts' radii if left out.
            pad_thickness: of every elastic pad, on a rigid core [m]; a half-space if left out.
            progress: called with what is being done and the fraction done.

        Raises:
            PlanError: the grasp cannot be judged: a vessel, or no contacts.
            MeshError: no tetrahedra, or too many places of contact.
            OptionError: an edge or thickness that is not positive.
        """
        report = progress or (lambda _what, _share: None)
        report("surfaces", 0.0)
        question = pose_question(task, grasp, edge=edge, pad_thickness=pad_thickness)
        report("filling with tetrahedra", 0.0)
        tets = fill_graded(question.smooth, question.places, question.fine, question.reach, question.coarse)
        material = task.body.material
        body = condense(
            tets,
            question.smooth,
            range(len(question.partners)),
            question.near,
            young=material.young,
            poisson=material.poisson,
            mass=task.body.mass,
            progress=lambda share: report("elastic response", share),
        )
        start = question.operation.T_world_body
        centred = replace(question.operation, T_world_body=start * pin.SE3(np.eye(3), body.centre))
        question = replace(question, operation=centred)
        return JudgedGrasp(question, body, pad_matrix(body, question.partners, question.soft(body)))

    def ask(self, factor: float = 1.0, progress: Callable[[str], None] | None = None) -> Outcome:
        """The verdict at a multiple of the task's friction.

        Args:
            factor: on the friction coefficient.
            progress: called with what is being done before every step.
        """
        if not factor >= 0.0 or not math.isfinite(factor):
            raise OptionError("friction", f"factor {factor:g} must be 0 or more")
        history = History(self.body, self.question.partners, factor * self.question.friction, self.pads)
        return play(history, self.question.operation, progress)

    def notes(self, outcome: Outcome) -> tuple[str, ...]:
        """What is rough about an answer."""
        out = list(self.question.notes)
        out += [
            f"{100 * force.at_rim:.0f} % of the force of {force.name} is at the edge of what was meshed"
            for force in outcome.forces
            if force.at_rim > _AT_RIM and force.normal > 0.0
        ]
        if outcome.push is not None:
            numbers = ", ".join(f"{value:.3g}" for value in outcome.push)
            out.append(f"it does not bear the push ({numbers}) [N, N m] on top of its weight")
        return tuple(out)


def critical_friction(
    ask: Callable[[float], bool | None], known: dict[float, bool | None] | None = None
) -> CriticalFriction:
    """The friction factor at which a verdict changes, to one per cent.

    Args:
        ask: whether it holds at a factor; None (not known) counts as not holding.
        known: answers that there are already.
    """
    answers = {} if known is None else dict(known)

    def holds(factor: float) -> bool:
        if factor not in answers:
            answers[factor] = ask(factor)
        return bool(answers[factor])

    high = low = 1.0
    if holds(1.0):
        while holds(low):
            high, low = low, low / STEP
            if low < _LEAST:
                return CriticalFriction(0.0, high)
    else:
        while not holds(high):
            low, high = high, high * STEP
            if high > _MOST:
                return CriticalFriction(low, math.inf)
    while high / low > PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return CriticalFriction(low, high)
