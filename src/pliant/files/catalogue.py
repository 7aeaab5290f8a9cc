"""Tasks that ship with pliant, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from pliant.documents import SUFFIXES
from pliant.errors import OptionError, Problem, closest, unknown_name
from pliant.files.task import read_task
from pliant.planner import Task

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


def load_task(
    task: str | Path,
    *,
    allow_outside: bool = False,
    package_dirs: Iterable[str | Path] = (),
    calibrated: bool = True,
) -> Task:
    """Load a task: a shipped one by its name (``ring``), any other by its file.

    Args:
        task: name or path.
        allow_outside: let the file name meshes and robots outside its own folder.
        package_dirs: folders in which ``package://name/...`` of its robots is looked for.
        calibrated: use the calibration beside the file (``NAME.calibration.yaml``), where there is one.
    """
    path = find_task(str(task))
    return read_task(path, allow_outside=allow_outside, package_dirs=package_dirs, calibrated=calibrated)


def find_task(name: str, *, others: tuple[str, ...] = ()) -> Path:
    """The file of a task: a shipped one by its name, any other by its path.

    A bare word that is neither is refused with what it may have been meant to be; a path is left to its reader.

    Args:
        others: further endings of files that would do here, as ``(".plan",)``; they are suggested too.
    """
    known, path = shipped_tasks(), Path(name)
    if name in known:
        return known[name]
    if path.suffix or len(path.parts) != 1:
        return path
    beside: list[str] = []
    with contextlib.suppress(OSError, ValueError):  # a name that is too long, a folder that may not be read
        if path.exists():
            return path
        beside = [entry.name for entry in Path().iterdir() if entry.suffix.lower() in (*SUFFIXES, *others)]
    near = closest(name, [*known, *beside])
    allowed = f"closest: {', '.join(near)}" if near else f"shipped tasks: {', '.join(known)}"
    raise OptionError(name, Problem("", "is no file here and no shipped task", allowed))
