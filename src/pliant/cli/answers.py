"""How commands answer: one JSON object on stdout or text for people, progress on stderr, meaningful exit codes.

Exit codes: 0 done, 1 an honest "no", 2 the question is broken, 3 our fault.
"""

from __future__ import annotations

import json as _json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from pliant.errors import InputError

EXIT_NO = 1
EXIT_BROKEN = 2
EXIT_OURS = 3


def emit(answer: Mapping[str, Any], json: bool) -> None:
    """Print ``answer`` as the command's one JSON object, when JSON was asked for."""
    if json:
        print(_json.dumps(plain(answer), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """``value`` in JSON's own types: arrays become lists, paths text, what is not finite null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def error_answer(error: InputError) -> dict[str, Any]:
    """The JSON object that stands in for the answer when the question is broken."""
    problems = [{"where": p.where, "what": p.what, "allowed": p.allowed} for p in error.problems]
    return {"error": {"source": error.source, "problems": problems}}


def remark(words: str) -> None:
    """A line on stderr for who waits; like the progress bar only where stderr is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        console.print(words, markup=False, highlight=False)


@contextmanager
def progress(description: str, total: float | None = None) -> Iterator[Callable[..., None]]:
    """A progress bar on stderr; the value is called with ``(done, total=None, description=None)``.

    Nothing is drawn where stderr is no terminal, so logs and pipes stay clean.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=total)

        def show(done: float, total: float | None = None, description: str | None = None) -> None:
            bar.update(task, completed=done, total=total, description=description)

        yield show
