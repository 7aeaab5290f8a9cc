"""How commands answer: one JSON object for programs, progress for people."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["emit", "progress"]


def emit(answer: dict[str, Any], json: bool) -> None:
    """Print the answer as one JSON object when ``json`` is set."""
    if json:
        sys.stdout.write(json_format.dumps(answer, allow_nan=False) + "\n")


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Any]:
    """A bar on stderr; calling the yielded function moves it on."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps=1: bar.advance(task, steps)
