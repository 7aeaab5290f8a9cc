"""Errors a user can act on.

Every error says *what* is wrong, *where* (file and field), and what would be *allowed*. The facts travel in ``args``,
so an error raised in a worker process arrives whole. Raise for a broken question; an unwelcome answer (no plan, not
reachable, infeasible) is a result with a status, never an exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

MOST_LINES = 10
"""Problems that are shown as text; a field that is wrong in each of a thousand hypotheses is shown ten times."""


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

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.allowed}" if self.allowed else text


class PliantError(Exception):
    """Base of every error pliant raises on purpose."""


class InputError(PliantError):
    """An input that cannot be used, with every problem found in it.

    Args:
        source: the file, or a short name of the value when it did not come from a file.
        problems: one or more problems; a plain string counts as one.
    """

    def __init__(self, source: str, problems: str | Problem | Iterable[Problem]) -> None:
        if isinstance(problems, str):
            problems = (Problem("", problems),)
        elif isinstance(problems, Problem):
            problems = (problems,)
        self.source = str(source)
        self.problems = tuple(problems)
        super().__init__(self.source, self.problems)

    def __str__(self) -> str:
        prefix = f"{self.source}: " if self.source else ""
        lines = [f"{prefix}{problem}" for problem in self.problems[:MOST_LINES]]
        if (more := len(self.problems) - MOST_LINES) > 0:
            lines.append(f"{prefix}and {more} more")
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


def closest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names most like ``name``, best first; what a user who mistyped probably meant."""
    lowered: dict[str, str] = {}
    for candidate in names:
        lowered.setdefault(candidate.lower(), candidate)
    hits = difflib.get_close_matches(name.lower(), lowered, n=count, cutoff=0.5)
    return [lowered[hit] for hit in hits]


def unknown_name(kind: str, name: str, names: Iterable[str], *, where: str = "") -> Problem:
    """The problem of a name that is not there: says the closest ones, or lists what exists."""
    known = list(names)
    near = closest(name, known)
    if near:
        allowed = f"closest: {', '.join(near)}"
    elif known:
        shown = ", ".join(known[:12])
        allowed = f"known: {shown}" + (f", ... ({len(known)} in all)" if len(known) > 12 else "")
    else:
        allowed = f"there is no {kind} at all"
    return Problem(where, f"no {kind} '{name}'", allowed)
