"""The search, best first: aim, press what promises least force, improve what holds.   (theory 8.9)

Every decision follows from the answers to all questions but the last ``AHEAD - 1``, so the plan does not depend on the
number of processes. Budgets are counts; a time limit, the first good one and a user who has seen enough end it too.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from pliant.planner.aim import Aim, aim, better_aim, worth_moving
from pliant.planner.completion import complete
from pliant.planner.context import PlanningContext
from pliant.planner.hypotheses import Hypothesis, neighbour
from pliant.planner.pressing import HandPose, press_hand
from pliant.planner.promise import Promise, promise
from pliant.planner.reasons import Failure, Reason, Rejection
from pliant.planner.results import PlannedGrasp, StableGrasp, Stopped, Tried
from pliant.planner.selection import distinct, scored
from pliant.planner.stability import HeldGrasp, grasp_quality_of, unsound
from pliant.planner.task import EFFORTS, PlannerOptions
from pliant.planner.worker_processes import Spread

Progress = Callable[[str, int, int, dict[str, int]], None]
"""Called with what is being done, how much of it is done, out of how much, and how many each stage rejected."""
AHEAD = 6
"""Questions that are asked before the first is answered; fixed, so that the number of workers does not matter."""
CHUNK = 30
"""Hypotheses that are graded as one question."""
FIRST = 240
"""So many hypotheses are graded before the first is pressed."""
LOOKS = 4
"""Times that a better aim is looked for between two hypotheses that are pressed."""
CLIMB = 20
"""Others that are looked at on the way from a bad aim to a sound one."""
NEIGHBOURS = 6
"""Sound neighbours of a grasp of which the most promising is pressed."""
LOOKED_AT = 18
"""Neighbours that are looked at for that, at most."""
MENDED = 3
"""Moves that may mend such a neighbour."""
PARENTS = 6
"""Grasps that are improved at a time."""
PER_NEW = 3
"""Improvements for each hypothesis that is pressed, once there is something to improve."""


# -- questions, each answered by a worker ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Graded:
    """Grade hypotheses."""

    hypotheses: tuple[Hypothesis, ...]

    def __call__(self, context: PlanningContext) -> list[Aim]:
        """One aim for each."""
        return [aim(context, hypothesis) for hypothesis in self.hypotheses]


@dataclass(frozen=True, eq=False)
class Aimed:
    """Look for a better aim near a hypothesis."""

    start: Aim
    seed: int

    def __call__(self, context: PlanningContext) -> tuple[Aim, int]:
        """The better one, and how many were looked at."""
        rng = np.random.default_rng([self.seed, self.start.hypothesis.number])
        return better_aim(context, self.start, rng, tries=CLIMB)


class Pressed(NamedTuple):
    """What became of a pressed hypothesis.

    Attributes:
        hypothesis: as it was pressed.
        looked_at: aims that were graded for it.
        pressed: whether it came as far as being pressed.
        stable: the stable grasp, if it is one.
        promised: the force that its first touches promised [N].
        answer: the operation, or why there is none.
    """

    hypothesis: Hypothesis
    looked_at: int
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


@dataclass(frozen=True, eq=False)
class Improve:
    """Press the most promising of some neighbours of a grasp, as `Press` does.

    Args:
        parent: where the grasp began.
        place: of the grasp among those that are improved.
        number: of the new hypothesis.
        size: of the changes.
        bound: as of `Press`.
        seed: of the search.
    """

    parent: Hypothesis
    place: int
    number: int
    size: float
    bound: float
    seed: int

    def __call__(self, context: PlanningContext) -> Pressed:
        """What becomes of it."""
        rng = np.random.default_rng([self.seed, self.number])
        source = f"improved {self.parent.source.removeprefix('improved ')}"
        start = replace(self.parent, number=self.number, source=source)
        best: Aim | None = None
        sound = 0
        looked = 0
        while looked < LOOKED_AT and sound < NEIGHBOURS:
            other = aim(context, neighbour(start, context.assembly, rng, self.size))
            looked += 1
            if other.move is not None:
                other, more = better_aim(context, other, rng, tries=MENDED)
                looked += more
            sound += other.sound
            if best is None or other.grade < best.grade:
                best = other
        assert best is not None
        if best.failure is not None:
            return Pressed(best.hypothesis, looked, False, None, np.inf, best.failure.rejection(self.number))
        answer = pressed(context, best.hypothesis, self.bound)
        return answer._replace(looked_at=looked)


def pressed(context: PlanningContext, hypothesis: Hypothesis, bound: float = np.inf) -> Pressed:
    """Exact touches, pressing, stability and the whole operation of one hypothesis."""
    number = hypothesis.number
    promised = promise(context, hypothesis)
    if isinstance(promised, Failure):
        return Pressed(hypothesis, 0, False, None, np.inf, promised.rejection(number))
    grasp = hold(context, promised, bound)
    if isinstance(grasp, Failure):
        return Pressed(hypothesis, 0, True, None, promised.force, grasp.rejection(number))
    stable = StableGrasp(number, grasp.held.largest_force, grasp.epsilon)
    return Pressed(hypothesis, 0, True, stable, promised.force, complete(context, grasp, bound))


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


# -- the search --------------------------------------------------------------------------------------------------------


def never() -> bool:
    """Where nobody asks to stop."""
    return False


def nobody(*reported: Any) -> None:
    """Where nobody listens."""


@dataclass(eq=False)
class _Parent:
    """A grasp that is improved.

    Args:
        force: of its whole operation [N]; infinite where that does not succeed.
        hypothesis: where it began.
        size: of the changes that are tried.
        tried: how often it was.
    """

    force: float
    hypothesis: Hypothesis
    size: float = 1.0
    tried: int = 0


class Found(NamedTuple):
    """What a search has found.

    Attributes:
        grasps: completed operations.
        hypotheses: all that were looked at, as they were looked at last, in the order of their numbers.
        rejections: why those that are not among the grasps were rejected.
        stable: every stable grasp.
        tried: how much was tried.
        stopped: why it ended.
        first_s, improved_s: when the first operation and the best one were found, since the search began [s].
        cpu_s: CPU time of each kind of question [s].
    """

    grasps: list[PlannedGrasp]
    hypotheses: list[Hypothesis]
    rejections: list[Rejection]
    stable: list[StableGrasp]
    tried: Tried
    stopped: Stopped
    first_s: float
    improved_s: float
    cpu_s: dict[str, float]


@dataclass
class Search:
    """A search in progress.

    Args:
        hypotheses: to draw from, in this order.
        options: of the planner.
        seed: of the random changes.
        first: end with the first complete operation.
        ends_at: end at this time of ``time.monotonic`` [s].
        asked_to_stop: end when this says so.
        progress: told how far it is.
        improved: told every grasp that is better than all before.
    """

    hypotheses: Sequence[Hypothesis]
    options: PlannerOptions
    seed: int = 0
    first: bool = False
    ends_at: float = np.inf
    asked_to_stop: Callable[[], bool] = never
    progress: Progress = nobody
    improved: Callable[[PlannedGrasp], None] = nobody
    _aims: dict[int, Aim] = field(default_factory=dict)
    _climbed: set[int] = field(default_factory=set)
    _asked: set[int] = field(default_factory=set)
    _rejections: dict[int, Rejection] = field(default_factory=dict)
    _latest: dict[int, Hypothesis] = field(default_factory=dict)
    _grasps: list[PlannedGrasp] = field(default_factory=list)
    _stable: list[StableGrasp] = field(default_factory=list)
    _parents: list[_Parent] = field(default_factory=list)

    def __post_init__(self) -> None:
        effort = EFFORTS[self.options.effort]
        self._drawn = 0
        self._limit = min(len(self.hypotheses), effort.hypotheses)
        self._presses = min(effort.presses, effort.least + self._limit // effort.per_press)
        self._pressed = self._improvements = self._new = self._looked = 0
        self._graded = 0
        self._next = len(self.hypotheses)
        self._first_s = self._improved_s = np.nan
        self._best = np.inf

    def run(self, spread: Spread) -> Found:
        """Search until the budget is spent or something ends it."""
        began, cpu = time.monotonic(), defaultdict[str, float](float)
        asked: list[Any] = []

        def ended() -> Stopped | None:
            if self.asked_to_stop():
                return Stopped.INTERRUPTED
            if self.first and self._grasps:
                return Stopped.FIRST
            return Stopped.SECONDS if time.monotonic() > self.ends_at else None

        def questions() -> Iterator[list[Any] | None]:
            while True:
                question = self._question()
                if question is not None:
                    asked.append(question)
                yield None if question is None else [question]

        self._report()
        for i, answers in enumerate(spread(ask, questions(), AHEAD, lambda: ended() is not None)):
            question = asked[i]
            cpu["grading" if isinstance(question, Graded | Aimed) else "pressing and moving"] += answers.cpu_s
            before = self._best
            self._take(question, answers.answers[0])
            if self._best < before:
                self._improved_s = time.monotonic() - began
                self._first_s = self._improved_s if np.isnan(self._first_s) else self._first_s
            self._report()
        tried = Tried(self._graded, self._pressed, len(self._stable), len(self._grasps))
        return self._found(tried, ended() or Stopped.DONE, dict(cpu))

    # -- what to ask -------------------------------------------------------------------------------------------------

    def _question(self) -> Any:
        if self._drawn < min(FIRST, self._limit):
            return self._draw()
        if self._pressed_or_asked >= self._presses:
            return None
        sound = self._sound()
        due = PER_NEW * self._new > self._improvements
        if self._parents and (due or not sound) and (parent := self._parent()) is not None:
            return self._improve(parent)
        if not (sound and self._looked >= LOOKS) and (start := self._worth_climbing()) is not None:
            self._climbed.add(start.hypothesis.number)
            self._looked += 1
            return Aimed(start, self.seed)
        if sound:
            best = min(sound, key=lambda found: (found.grade, found.hypothesis.number))
            self._asked.add(best.hypothesis.number)
            self._new, self._looked = self._new + 1, 0
            return Press(best.hypothesis, self._bound())
        if self._drawn < self._limit:
            return self._draw()
        parent = self._parent()
        return self._improve(parent) if parent is not None else None

    @property
    def _pressed_or_asked(self) -> int:
        return self._new + self._improvements

    def _draw(self) -> Graded:
        some = tuple(self.hypotheses[self._drawn : min(self._drawn + CHUNK, self._limit)])
        self._drawn += len(some)
        return Graded(some)

    def _sound(self) -> list[Aim]:
        return [found for number, found in self._aims.items() if found.sound and number not in self._asked]

    def _worth_climbing(self) -> Aim | None:
        """The best aim that is not sound yet and was not climbed from."""
        open_ = [
            found
            for number, found in self._aims.items()
            if not found.sound and number not in self._climbed and worth_moving(found)
        ]
        return min(open_, key=lambda found: (found.grade, found.hypothesis.number), default=None)

    def _parent(self) -> _Parent | None:
        """One of the best grasps, the least tried first."""
        few = sorted(self._parents, key=lambda parent: (parent.force, parent.hypothesis.number))[:PARENTS]
        # the better a grasp, the oftener it is improved
        order = [(parent.tried * (1.0 + 0.5 * place), place) for place, parent in enumerate(few)]
        return few[min(order)[1]] if few else None

    def _improve(self, parent: _Parent) -> Improve:
        number, self._next = self._next, self._next + 1
        self._improvements += 1
        parent.tried += 1
        place, bound = self._parents.index(parent), min(parent.force, self._bound())
        return Improve(parent.hypothesis, place, number, parent.size, bound, self.seed)

    def _bound(self) -> float:
        """A grasp that needs more force than this is not among those to keep [N]; nothing bounds a score."""
        if scored(self.options):
            return np.inf
        different = distinct(sorted(self._grasps, key=lambda grasp: grasp.largest_force))
        keep = max(self.options.keep, self.options.shortlist)
        return different[keep - 1].largest_force if len(different) >= keep else np.inf

    # -- what was answered -------------------------------------------------------------------------------------------

    def _take(self, question: Any, answer: Any) -> None:
        if isinstance(question, Graded):
            self._graded += len(answer)
            for found in answer:
                self._grade(found)
        elif isinstance(question, Aimed):
            found, looked = answer
            self._graded += looked
            self._grade(found)
        else:
            self._take_pressed(question, answer)

    def _grade(self, found: Aim) -> None:
        number = found.hypothesis.number
        self._aims[number], self._latest[number] = found, found.hypothesis
        if found.failure is None:
            self._rejections[number] = Failure(Reason.LESS_PROMISING, found.grade.value).rejection(number)
        else:
            self._rejections[number] = found.failure.rejection(number)

    def _take_pressed(self, question: Press | Improve, answer: Pressed) -> None:
        number = answer.hypothesis.number
        self._graded += answer.looked_at
        self._pressed += answer.pressed
        self._latest[number] = answer.hypothesis
        force = np.inf
        if answer.stable is not None:
            self._stable.append(answer.stable)
        if isinstance(answer.answer, Rejection):
            self._rejections[number] = answer.answer
        else:
            self._rejections.pop(number, None)
            self._grasps.append(answer.answer)
            force = answer.answer.largest_force
            if force < self._best:
                self._best = force
                self.improved(answer.answer)
        if isinstance(question, Improve):
            parent = self._parents[question.place]
            better = force < parent.force or (answer.stable is not None and not np.isfinite(parent.force))
            if better:
                parent.force, parent.hypothesis = force, answer.hypothesis
            parent.size = min(1.3 * parent.size, 1.5) if better else max(0.9 * parent.size, 0.15)
        elif answer.stable is not None:
            self._parents.append(_Parent(force, answer.hypothesis))

    def _report(self) -> None:
        what = "searching" if not self._grasps else f"searching; best {self._best:.3g} N"
        done = self._pressed_or_asked
        self.progress(what, min(done, self._presses), self._presses, by_stage(self._rejections.values()))

    def _found(self, tried: Tried, stopped: Stopped, cpu_s: dict[str, float]) -> Found:
        numbers = sorted(self._latest)
        return Found(
            self._grasps,
            [self._latest[number] for number in numbers],
            [self._rejections[number] for number in numbers if number in self._rejections],
            sorted(self._stable, key=lambda grasp: grasp.number),
            tried,
            stopped,
            self._first_s,
            self._improved_s,
            cpu_s,
        )


def by_stage(rejections: Any) -> dict[str, int]:
    """How many each stage rejected."""
    return dict(Counter(rejection.stage for rejection in rejections))
