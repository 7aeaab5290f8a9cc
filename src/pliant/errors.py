"""Errors a user can act on.

Every error says *what* is wrong, *where* (file and field), and what would be *allowed*. The facts travel in ``args``,
so an error raised in a worker process arrives whole. Raise for a broken question; an unwelcome answer (no plan, not
reachable, infeasible) is a result with a status, never an exception.
"""

from __future__ import annotations

import difflib
import heapq
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sized
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

MOST_LINES = 10
"""Problems that are shown as text; a field that is wrong in each of a thousand hypotheses is shown ten times."""
MOST_PROBLEMS = 100
"""Problems that an error carries. Nothing looks for more of them: a file can be wrong in a million places."""
LONGEST = 500
"""Letters of each part of a problem; a name in a file can have millions."""
MOST_NAMES, LONGEST_NAME, MOST_LIKELY = 1000, 60, 20
"""Names that are looked at to find what was meant, how much of each, and how many are compared letter by letter."""
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What commands a terminal, hides text or turns its direction; half characters, which no file can hold."""

T = TypeVar("T", bound=Hashable)


def printable(text: str, longest: int = LONGEST) -> str:
    """A stranger's text as it may be shown: control characters as their codes, cut to a length."""
    cut = text if len(text) <= longest else f"{text[: longest - 3]}..."
    return UNPRINTABLE.sub(lambda found: repr(found.group())[1:-1], cut)


@dataclass(frozen=True)
class Problem:
    """One fault of an input.

    Args:
        where: place inside the input: a field path (``fingers[1].links``), a joint, a vertex, a line; may be empty.
        what: what is wrong, with the offending value.
        allowed: what would be right, or how to correct it.
    """

    where: str
    what: str
    allowed: str = ""

    def __post_init__(self) -> None:
        for part in ("where", "what", "allowed"):
            object.__setattr__(self, part, printable(getattr(self, part)))

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.allowed}" if self.allowed else text


class PliantError(Exception):
    """Base of every error pliant raises on purpose."""


class InputError(PliantError):
    """An input that cannot be used, with every problem found in it.

    Args:
        source: the file, or a short name of the value when it did not come from a file.
        problems: one or more problems, of which the first hundred are taken; a plain string counts as one.
    """

    def __init__(self, source: str, problems: str | Problem | Iterable[Problem]) -> None:
        if isinstance(problems, str):
            problems = (Problem("", problems),)
        elif isinstance(problems, Problem):
            problems = (problems,)
        self.source = printable(str(source))
        self.problems = tuple(islice(problems, MOST_PROBLEMS))
        super().__init__(self.source, self.problems)

    def __str__(self) -> str:
        prefix = f"{self.source}: " if self.source else ""
        lines = [f"{prefix}{problem}" for problem in self.problems[:MOST_LINES]]
        if more := more_than_shown(self.problems):
            lines.append(f"{prefix}and {more}")
        return "\n".join(lines)


class DocumentError(InputError):
    """A YAML or JSON document that cannot be read or does not fit its schema."""


class OptionError(InputError):
    """An argument or option outside what is allowed."""


class MeshError(InputError):
    """A surface mesh that is not a closed, oriented, single body and could not be repaired safely."""


class MaterialError(InputError):
    """Elastic constants, density, friction or limits outside physics."""


class LiquidError(InputError):
    """A liquid that does not fit its vessel."""


class GraspError(InputError):
    """Contacts, stiffnesses, wrenches or limits that do not describe a grasp."""


class PlanError(InputError):
    """A plan file that cannot be read, or a plan that cannot be written."""


class RecordingError(InputError):
    """A recording of a hand that cannot be read or does not fit the hand."""


class RobotError(InputError):
    """A URDF that does not describe a usable tree of links and joints."""


class DescriptionError(InputError):
    """A hand or arm description that does not match its URDF."""


def more_than_shown(problems: Sized) -> str:
    """How many problems there are beside those that are shown as text; empty if none."""
    more = len(problems) - MOST_LINES
    return f"{more} more" + " at least" * (len(problems) == MOST_PROBLEMS) if more > 0 else ""


class Problems:
    """The problems of one input as they are found: all are reported together, too many at once.

    Args:
        source: the file or the value that they are in.
        error: what is raised.
    """

    def __init__(self, source: str, error: type[InputError]) -> None:
        self._source, self._error = source, error
        self._found: list[Problem] = []

    def add(self, problem: Problem) -> None:
        """One more; where there are enough of them, it is the last."""
        self._found.append(problem)
        if len(self._found) >= MOST_PROBLEMS:
            self.check()

    def __len__(self) -> int:
        return len(self._found)

    def take_back(self, first: int) -> list[Problem]:
        """Those from this number on, which are none after all."""
        taken, self._found = self._found[first:], self._found[:first]
        return taken

    def check(self) -> None:
        """Raise the error if there was any problem."""
        if self._found:
            raise self._error(self._source, self._found)


def repeated(values: Iterable[T]) -> dict[T, int]:
    """The values that are there more than once, and how often, in the order of their first place."""
    return {value: count for value, count in Counter(values).items() if count > 1}


def closest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names most like ``name``, best first; what a user who mistyped probably meant."""
    lowered: dict[str, str] = {}
    for candidate in islice(names, MOST_NAMES):
        lowered.setdefault(candidate[:LONGEST_NAME].lower(), candidate)
    # Comparing letter by letter takes time with the square of the length: only for those that have the same letters.
    meant = name[:LONGEST_NAME].lower()
    letters = difflib.SequenceMatcher(b=meant)

    def likeness(candidate: str) -> float:
        letters.set_seq1(candidate)
        return letters.quick_ratio()

    likely = heapq.nlargest(MOST_LIKELY, lowered, key=likeness)
    return [lowered[hit] for hit in difflib.get_close_matches(meant, likely, n=count, cutoff=0.5)]


def unknown_name(kind: str, name: str, names: Iterable[str], *, where: str = "") -> Problem:
    """The problem of a name that is not there: says the closest ones, or lists what exists."""
    known = list(islice(names, MOST_NAMES))
    near = closest(name, known)
    if near:
        allowed = f"closest: {', '.join(near)}"
    elif known:
        shown = ", ".join(known[:12])
        allowed = f"known: {shown}" + (f", ... ({len(known)} in all)" if len(known) > 12 else "")
    else:
        allowed = f"there is no {kind} at all"
    return Problem(where, f"no {kind} '{name}'", allowed)
