"""Reading files that a stranger may have named: ordinary files only, bounded, every failure explained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pliant.errors import InputError, Problem, closest

__all__ = ["read_bytes"]


def read_bytes(
    path: Path, *, most: int, kind: str, error: type[InputError], remedy: str = "", suffixes: Sequence[str] = ()
) -> bytes:
    """The bytes of an ordinary file of at most ``most`` bytes; ``error`` with the reason otherwise.

    Pipes, devices and folders are refused before they are opened, so nothing can hang or run without end.

    Args:
        kind: what the file should be, for messages: "a mesh".
        remedy: what to do about a file that is too large.
        suffixes: which names of the folder to suggest where the file is missing; all if empty.
    """
    source = str(path)
    try:
        if path.is_dir():
            raise error(source, Problem("", "is a folder", f"expected {kind} file"))
        if path.exists() and not path.is_file():
            raise error(source, Problem("", "is not an ordinary file", f"expected {kind} file"))
        size = path.stat().st_size
        if size > most:
            allowed = f"{kind} file may have at most {most / 1e6:.0f} MB" + (f": {remedy}" if remedy else "")
            raise error(source, Problem("", f"has {size / 1e6:.1f} MB", allowed))
        with path.open("rb") as file:
            return file.read(most + 1)
    except FileNotFoundError:
        raise error(source, _missing(path, suffixes)) from None
    except (OSError, RuntimeError, ValueError) as bad:
        # RuntimeError: a loop of symbolic links; ValueError: a name with a null byte in it.
        raise error(source, f"cannot be read: {getattr(bad, 'strerror', None) or bad}") from None


def _missing(path: Path, suffixes: Sequence[str]) -> Problem:
    try:
        names = [entry.name for entry in path.parent.iterdir() if not suffixes or entry.suffix.lower() in suffixes]
    except OSError:
        return Problem("", "no such file", f"its folder {path.parent} does not exist either")
    near = closest(path.name, names)
    return Problem("", "no such file", f"closest there: {', '.join(near)}" if near else "check the name and the folder")
