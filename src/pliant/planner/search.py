"""The search, best first: aim, improve what promises little force, press it.   (theory 8.9)

Every decision follows from the answers to all questions but the last ``AHEAD - 1``, so the plan does not depend on the
number of processes. Budgets are counts; a time limit, the first good one and a user who has seen enough end it too.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from pliant.planner.aim import Aim, worth_moving
from pliant.planner.candidates import AimCandidate, AimFamily, GraspKind, kind_of, with_kind
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.questions import Improve, Improved, Look, Mend, Press, Pressed, ask
from pliant.planner.reasons import Failure, Reason, Rejection
from pliant.planner.results import PlannedGrasp, StableGrasp, Stopped, Tried
from pliant.planner.selection import copies, distinct, scored
from pliant.planner.task import EFFORTS, PlannerOptions
from pliant.planner.worker_processes import Spread

Progress = Callable[[str, int, int, dict[str, int]], None]
"""Called with what is being done, how much of it is done, out of how much, and how many each stage rejected."""
AHEAD = 20
"""Questions that are asked before the first is answered; fixed, so that the number of workers does not matter."""
CHUNK = 30
"""Hypotheses that are graded as one question."""
FIRST = 240
"""So many hypotheses are graded before anything else is done, of all kinds alike."""
COSTS = {Look: 20.0, Mend: 20.0, Improve: 160.0, Press: 750.0}
"""About what questions take [ms of CPU time]; constants, so that the same questions are asked on every machine."""
SHARES = {"explore": 0.3, "improve": 0.35, "press": 0.25, "fill": 0.1}
"""Of that time for looking for other grasps, for improving promises, for pressing what may become the best and for
pressing what is merely kept beside it."""
HOPELESS = 0.3
"""Share of a press's cost that one takes which comes to no stable grasp."""
BEFORE = 800.0
"""Nothing is pressed while less than this was spent on looking and improving [ms]."""
FAIR = 4.0
"""Promises up to this multiple of the least force that is possible at all are worth improving and pressing; .."""
PATIENCE = 60
""".. where so many questions found none, those up to ``NEAR_BEST`` of the best one are."""
NEAR_BEST = 1.5
MENDING = {1: 0.02, 2: 0.02, 3: 0.02, 4: 0.015, 5: 0.012, 6: 0.003, 7: 0.001}
"""Sound aims per look that mending an aim of each level has given, .."""
DRAWING = 0.003
""".. and that drawing new hypotheses has: what is worth more is done."""
BORROWED = 8.0
"""How many times likelier a bad aim can be mended whose palm pose is that of a good one of another kind."""
STALE = 0.005
"""Where less is gained, time is better spent on other candidates."""
BETTER = 0.98
"""A copy of a grasp is pressed where it is expected to need less than this part of its force."""


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


def never() -> bool:
    """Where nobody asks to stop."""
    return False


def nobody(*reported: Any) -> None:
    """Where nobody listens."""


@dataclass
class Search:
    """A search in progress.

    Args:
        hypotheses: to draw from, in this order.
        options: of the planner.
        least: the least force that so many fingers can do with [N].
        seed: of the random changes.
        first: end with the first complete operation.
        ends_at: end at this time of ``time.monotonic`` [s].
        asked_to_stop: end when this says so.
        progress: told how far it is.
        improved: told every grasp that is better than all before.
    """

    hypotheses: Sequence[Hypothesis]
    options: PlannerOptions
    least: Callable[[int], float]
    seed: int = 0
    first: bool = False
    ends_at: float = np.inf
    asked_to_stop: Callable[[], bool] = never
    progress: Progress = nobody
    improved: Callable[[PlannedGrasp], None] = nobody
    _queues: dict[GraspKind, deque[Hypothesis]] = field(default_factory=dict)
    _seen: Counter[GraspKind] = field(default_factory=Counter)
    _mended: Counter[GraspKind] = field(default_factory=Counter)
    _bad: dict[int, Aim] = field(default_factory=dict)
    _candidates: dict[int, AimCandidate] = field(default_factory=dict)
    _rejections: dict[int, Rejection] = field(default_factory=dict)
    _latest: dict[int, Hypothesis] = field(default_factory=dict)
    _grasps: list[PlannedGrasp] = field(default_factory=list)
    _stable: list[StableGrasp] = field(default_factory=list)

    def __post_init__(self) -> None:
        effort = EFFORTS[self.options.effort]
        self._limit = min(len(self.hypotheses), effort.hypotheses)
        for hypothesis in self.hypotheses[: self._limit]:
            self._queues.setdefault(kind_of(hypothesis), deque()).append(hypothesis)
        self._stale = effort.stale
        self._presses = min(effort.presses, effort.least + self._limit // effort.per_press)
        self._drawn = self._graded = self._asked = self._pressed = 0
        self._since = self._new = 0
        self._spent = dict.fromkeys(SHARES, 0.0)
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
            cpu["pressing and moving" if isinstance(question, Press) else "aiming"] += answers.cpu_s
            before = self._best
            self._take(question, answers.answers[0])
            if self._best < before:
                self._improved_s = time.monotonic() - began
                self._first_s = self._improved_s if np.isnan(self._first_s) else self._first_s
            self._report()
        if ended() is None:
            self._report(done=True)
        tried = Tried(self._graded, self._pressed, len(self._stable), len(self._grasps))
        return self._found(tried, ended() or Stopped.DONE, dict(cpu))

    # -- what to ask -------------------------------------------------------------------------------------------------

    def _question(self) -> Any:
        """The next question; None where it depends on answers that are not there yet."""
        if self._drawn < min(FIRST, self._limit):
            return self._draw()
        if self._asked >= self._presses:
            return None
        if self._grasps and self._since >= self._stale:
            return None
        ways = {
            "explore": self._look,
            "improve": self._improve,
            "press": lambda: self._press("press"),
            "fill": lambda: self._press("fill"),
        }
        order = sorted(SHARES, key=lambda work: self._spent[work] / SHARES[work])
        if self._spent["explore"] + self._spent["improve"] < BEFORE:
            order.sort(key=lambda work: work in ("press", "fill"))
        for work in order:
            question = ways[work]()
            if question is not None:
                # what others could not use of their time is not kept for them
                level = self._spent[work] / SHARES[work]
                for other in SHARES:
                    self._spent[other] = max(self._spent[other], level * SHARES[other])
                self._spent[work] += COSTS[type(question)]
                self._since = 0 if isinstance(question, Press) else self._since + 1
                return question
        return None

    def _fair(self, candidate: AimCandidate) -> bool:
        """Whether it promises so little force that time is better spent on it than on looking for others."""
        promised = candidate.promised
        if promised <= FAIR * self.least(len(candidate.aim.hypothesis.fingers)):
            return True
        if self._new < PATIENCE and (self._bad or any(self._queues.values())):
            return False
        return promised <= NEAR_BEST * min(other.promised for other in self._candidates.values())

    def _to_press(self, *, best: bool) -> AimCandidate | None:
        """The best candidate that is not pressed yet, if it is expected to become the best grasp, or good enough to be
        kept beside that.
        """
        between = np.inf if scored(self.options) else self._best
        low, high = (0.0, between) if best else (between, self._bound())
        ready = [c for c in self._candidates.values() if not c.pressed and low <= c.expected < high and self._fair(c)]
        for candidate in sorted(ready, key=lambda c: (c.expected, c.aim.hypothesis.number)):
            if candidate.expected < BETTER * self._alike(candidate.aim.hypothesis):
                return candidate
        return None

    def _alike(self, hypothesis: Hypothesis) -> float:
        """The least force of the grasps that a hypothesis is a copy of: with more it is of no use [N]."""
        if scored(self.options):
            return np.inf
        return min((g.largest_force for g in self._grasps if copies(g.hypothesis, hypothesis)), default=np.inf)

    def _press(self, work: str) -> Press | None:
        candidate = self._to_press(best=work == "press")
        if candidate is None:
            return None
        candidate.pressed, candidate.work = True, work
        self._asked += 1
        hypothesis = candidate.aim.hypothesis
        return Press(hypothesis, min(self._bound(), self._alike(hypothesis)))

    def _improve(self) -> Improve | None:
        """Improve the family that may come to need the least force."""
        few: list[AimCandidate] = []
        worth = [candidate for candidate in self._heads() if self._fair(candidate)]
        for candidate in sorted(worth, key=lambda c: (c.hoped, c.aim.hypothesis.number)):
            if any(copies(candidate.aim.hypothesis, other.aim.hypothesis) for other in few):
                continue
            family = candidate.family
            if not family.asked and family.gain >= STALE:
                family.asked = True
                family.turns += 1
                return Improve(family.best, family.size, self.seed, family.turns)
            few.append(candidate)
        return None

    def _heads(self) -> Iterator[AimCandidate]:
        """The best candidate of every family."""
        return (candidate for candidate in self._candidates.values() if candidate.aim is candidate.family.best)

    def _worth(self) -> dict[GraspKind, float]:
        """Good aims per bad one that was mended, of every kind so far; one with a larger force counts less, and so does
        a kind with fewer fingers as long as nothing is known of it."""
        sound: dict[GraspKind, list[float]] = {kind: [] for kind in self._queues}
        prior = {kind: 1.0 / self.least(len(kind.fingers)) ** 2 for kind in self._queues}
        most = max(prior.values(), default=1.0)
        for candidate in self._candidates.values():
            if candidate.aim.hypothesis.number < len(self.hypotheses):
                sound[kind_of(candidate.aim.hypothesis)].append(max(candidate.expected, 1e-9))
        least = min((force for forces in sound.values() for force in forces), default=1.0)
        return {
            kind: (prior[kind] / most + sum((least / force) ** 2 for force in forces)) / (2.0 + self._mended[kind])
            for kind, forces in sound.items()
        }

    def _look(self) -> Look | Mend | None:
        """Try a good palm pose with other kinds; draw, or mend a bad aim: whatever is likelier to give a good one."""
        if (lent := self._lend()) is not None:
            self._new += 1
            return lent
        worth = self._worth()

        def value(found: Aim) -> float:
            likely = BORROWED if found.hypothesis.number >= len(self.hypotheses) else 1.0
            return likely * MENDING[found.grade.level] * worth[kind_of(found.hypothesis)]

        bad = self._bad.values()
        start = max(bad, key=lambda found: (value(found), -found.grade.value, -found.hypothesis.number), default=None)
        drawing = max((DRAWING * worth[kind] for kind, queue in self._queues.items() if queue), default=0.0)
        if start is None or drawing > value(start):
            if drawing == 0.0:
                return None
            self._new += 1
            return self._draw()
        self._new += 1
        del self._bad[start.hypothesis.number]
        if start.hypothesis.number < len(self.hypotheses):
            self._mended[kind_of(start.hypothesis)] += 1
        return Mend(start, self.seed)

    def _lend(self) -> Look | None:
        """The palm pose of the best improved family of which that was not done yet, with other kinds that have no fewer
        fingers: what suits an object differs most between kinds, and where one is sound others often are.
        """
        ready = [c for c in self._heads() if c.family.turns and not (c.family.asked or c.family.lent)]
        for candidate in sorted(ready, key=lambda c: (c.expected, c.aim.hypothesis.number)):
            candidate.family.lent = True
            own = candidate.aim.hypothesis
            kinds = [k for k in self._queues if k != kind_of(own) and len(k.fingers) >= len(own.fingers)]
            if kinds:
                first, self._next = self._next, self._next + len(kinds)
                return Look(tuple(with_kind(own, kind, first + i) for i, kind in enumerate(kinds)))
        return None

    def _draw(self) -> Look:
        """Some more hypotheses, of all kinds alike at first, then by what they are worth."""
        some: list[Hypothesis] = []
        worth, order = self._worth(), list(self._queues)
        while len(some) < CHUNK and (left := [kind for kind in order if self._queues[kind]]):
            if self._drawn < FIRST:
                kind = min(left, key=lambda kind: self._seen[kind])
            else:
                before = Counter(kind_of(hypothesis) for hypothesis in some)
                kind = max(left, key=lambda kind: worth[kind] / (1.0 + before[kind]))
            some.append(self._queues[kind].popleft())
            self._seen[kind] += 1
        self._drawn += len(some)
        self._spent["explore"] += COSTS[Look] if self._drawn <= FIRST else 0.0
        return Look(tuple(some))

    def _bound(self) -> float:
        """A grasp that needs more force than this is not among those to keep [N]; nothing bounds a score."""
        if scored(self.options):
            return np.inf
        different = distinct(sorted(self._grasps, key=lambda grasp: grasp.largest_force))
        keep = max(self.options.keep, self.options.shortlist)
        return different[keep - 1].largest_force if len(different) >= keep else np.inf

    # -- what was answered -------------------------------------------------------------------------------------------

    def _take(self, question: Any, answer: Any) -> None:
        if isinstance(question, Look):
            self._graded += len(answer)
            for found in answer:
                self._take_aim(found)
                if not found.sound and worth_moving(found):
                    self._bad[found.hypothesis.number] = found
        elif isinstance(question, Mend):
            found, looked = answer
            self._graded += looked
            self._take_aim(found)
        elif isinstance(question, Improve):
            self._take_improved(question, answer)
        else:
            self._take_pressed(question, answer)

    def _take_aim(self, found: Aim) -> None:
        number = found.hypothesis.number
        self._latest[number] = found.hypothesis
        if found.failure is not None:
            self._rejections[number] = found.failure.rejection(number)
            return
        self._rejections[number] = Failure(Reason.LESS_PROMISING, found.grade.value).rejection(number)
        self._candidates[number] = AimCandidate(found, AimFamily(found))

    def _take_improved(self, question: Improve, answer: Improved) -> None:
        self._graded += answer.looked
        start = self._candidates[question.start.hypothesis.number]
        family, found, before = start.family, answer.aim, question.start.grade.value
        gained = 1.0 - found.grade.value / max(before, 1e-9)
        family.asked, family.size = False, answer.size
        family.improved(gained)
        if not gained > 0.0:
            return
        number = found.hypothesis.number
        if start.pressed:
            number, self._next = self._next, self._next + 1
        source = f"improved {found.hypothesis.source.removeprefix('improved ')}"
        family.best = replace(found, hypothesis=replace(found.hypothesis, number=number, source=source))
        if start.pressed:
            self._take_aim(family.best)
            self._candidates[number] = AimCandidate(family.best, family)
        else:
            start.aim, self._latest[number] = family.best, family.best.hypothesis

    def _take_pressed(self, question: Press, answer: Pressed) -> None:
        number = answer.hypothesis.number
        self._pressed += answer.pressed
        candidate = self._candidates[number]
        family, promised = candidate.family, max(candidate.aim.grade.value, 1e-9)
        if answer.stable is not None:
            self._stable.append(answer.stable)
        else:
            self._spent[candidate.work] -= (1.0 - HOPELESS) * COSTS[Press]
        if isinstance(answer.answer, Rejection):
            self._rejections[number] = answer.answer
            if answer.answer.reason is Reason.LESS_FORCE:  # none that failed; it would need the bound, or more
                family.learn(max(question.bound / promised, family.ratio))
            else:
                family.failed += 1
            return
        family.done += 1
        self._rejections.pop(number, None)
        self._grasps.append(answer.answer)
        candidate.force = answer.answer.largest_force
        family.learn(candidate.force / promised)
        if candidate.force < self._best:
            self._best = candidate.force
            self.improved(answer.answer)

    def _report(self, done: bool = False) -> None:
        what = "searching" if not self._grasps else f"searching; best {self._best:.3g} N"
        asked = self._presses if done else min(self._asked, self._presses)
        self.progress(what, asked, self._presses, by_stage(self._rejections.values()))

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
