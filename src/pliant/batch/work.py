"""What is done with an item: a named piece of work with documented columns.

Work is named, not pickled: ``plan`` (see `KNOWN`), or ``module:attribute`` of a `Work` of one's own. So the same text
means the same in a worker process, on another machine of a cluster, and after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pliant.errors import OptionError, Problem, unknown_name

Kind = Literal["text", "int", "float", "bool"]
Row = Mapping[str, Any]

KNOWN = {"plan": "pliant.batch.planning:PLAN"}


@dataclass(frozen=True)
class Column:
    """A column of the results: its name, what kind of value (every one may be missing), and what it means."""

    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True)
class Work:
    """A piece of work.

    Args:
        run: called with the item's arguments and an empty folder for files it wants to keep; gives the rows. Equal
            arguments must give equal rows and files (no times, no paths of scratch folders), on any machine.
        columns: of the rows; the column ``item`` is put before them.
        summary: more lines (Markdown) for the summary of a batch, from the folder of results; None: none.
    """

    run: Callable[[Mapping[str, Any], Path], Iterable[Row]]
    columns: tuple[Column, ...]
    summary: Callable[[Path], list[str]] | None = None


def find_work(name: str) -> Work:
    """The work of a name: a known one, or ``module:attribute``."""
    module, colon, attribute = KNOWN.get(name, name).partition(":")
    if not colon:
        raise OptionError("work", unknown_name("work", name, KNOWN))
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as bad:
        raise OptionError("work", Problem(name, f"cannot be loaded: {bad}", "give module:attribute")) from None
    if not isinstance(found, Work):
        raise OptionError("work", Problem(name, f"is a {type(found).__name__}", "expected a pliant.batch.Work"))
    return found
