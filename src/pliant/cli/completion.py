"""What the shell offers behind a command when TAB is pressed: shipped names, and files of the right kind."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def tasks(incomplete: str) -> list[str]:
    """Shipped tasks and task files."""
    return [*_task_names(incomplete), *_files(incomplete, (".yaml", ".yml"))]


def tasks_and_plans(incomplete: str) -> list[str]:
    """What `pliant view` opens."""
    return [*_task_names(incomplete), *_files(incomplete, (".yaml", ".yml", ".plan"))]


def robot_names(incomplete: str) -> list[str]:
    """Shipped arms and hands."""
    from pliant.robot import shipped_names

    return _starting([*shipped_names("arm"), *shipped_names("hand")], incomplete)


def shapes(incomplete: str) -> list[str]:
    """Shapes by parameters."""
    from pliant.objects import SHAPES

    return _starting(SHAPES, incomplete)


def _task_names(incomplete: str) -> list[str]:
    from pliant.files import shipped_tasks

    return _starting(shipped_tasks(), incomplete)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _files(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    """Files whose path begins so, and folders, which end with a slash as the shell writes them."""
    folder, _, start = incomplete.rpartition("/")
    above = f"{folder}/" if "/" in incomplete else ""
    found = []
    try:
        entries = sorted(Path(above or ".").expanduser().iterdir())
    except OSError:
        return []
    for entry in entries:
        if entry.name.startswith(start) and not (entry.name.startswith(".") and not start):
            if entry.is_dir():
                found.append(f"{above}{entry.name}/")
            elif entry.suffix.lower() in suffixes:
                found.append(f"{above}{entry.name}")
    return found
