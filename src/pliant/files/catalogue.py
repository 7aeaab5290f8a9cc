"""Tasks that ship with pliant, by name."""

from __future__ import annotations

from pathlib import Path

from pliant.errors import OptionError, unknown_name
from pliant.files.task import read_task
from pliant.planner import Task

__all__ = ["shipped_task", "shipped_tasks"]

SHIPPED = Path(__file__).parent / "shipped"


def shipped_tasks() -> dict[str, Path]:
    """Names of the shipped tasks and their files."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.yaml"))}


def shipped_task(name: str) -> Task:
    """A shipped task, read."""
    known = shipped_tasks()
    if name not in known:
        raise OptionError("", unknown_name("shipped task", name, known))
    return read_task(known[name])
