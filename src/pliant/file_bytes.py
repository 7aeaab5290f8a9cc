"""Reading files that a stranger may have named: ordinary files only, bounded, every failure explained.

Writing them so that they appear whole or not at all.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from pliant.errors import UNPRINTABLE, InputError, Problem, closest

_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:6]
"""Of this machine, short: whether a process is alive can only be known on its own machine."""


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
        if UNPRINTABLE.search(str(path.absolute())):
            what = "its name is not text in UTF-8, or has control characters"
            raise error(source, Problem("", what, "rename it, or the folder that is called so"))
        if path.is_dir():
            raise error(source, Problem("", "is a folder", f"expected {kind} file"))
        if path.exists() and not path.is_file():
            raise error(source, Problem("", "is not an ordinary file", f"expected {kind} file"))
        size = path.stat().st_size
        if size > most:
            allowed = f"{kind} file may have at most {most / 1e6:.0f} MB" + (f": {remedy}" if remedy else "")
            raise error(source, Problem("", f"has {size / 1e6:.1f} MB", allowed))
        with path.open("rb") as file:
            # Not up to ``most``: Python makes room for all that is asked for before it reads.
            data = file.read(size + 1)
        if len(data) > size:
            raise error(source, f"grows while it is read: it had {size} bytes")
        return data
    except FileNotFoundError:
        raise error(source, _missing(path, suffixes)) from None
    except (OSError, RuntimeError, ValueError) as bad:
        # RuntimeError: a loop of symbolic links; ValueError: a name with a null byte in it.
        raise error(source, f"cannot be read: {getattr(bad, 'strerror', None) or bad}") from None


def write_bytes(path: Path, data: bytes, *, error: type[InputError]) -> None:
    """Write a file, its folder made if need be; under its name it is complete or it is not there.

    The bytes go to a file beside it and reach the disk before the name changes hands, so a killed process or a power
    failure leaves what was there before. What a killed one had begun is removed by the next that writes there.
    """
    partial = path.with_name(f"{_partial(path)}.{os.getpid()}.{os.urandom(4).hex()}.partial")
    try:
        if (path.exists() and not path.is_file() and not path.is_dir()) or _among_devices(path):
            # Not to be replaced: with the right to do so /dev/full, or a pipe that others read, would become a file.
            raise error(str(path), Problem("", "is a device or a pipe", "name a file"))
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_unfinished(path)
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except (OSError, RuntimeError, ValueError) as bad:
        raise error(str(path), f"cannot be written: {getattr(bad, 'strerror', None) or bad}") from None
    finally:
        with contextlib.suppress(OSError, ValueError):
            partial.unlink(missing_ok=True)


def _among_devices(path: Path) -> bool:
    """Whether it is a name such as /dev/stdout, a link that may lead to a file."""
    folder = path.parent.resolve()
    return folder == Path("/dev") or folder.is_relative_to("/proc")


def _partial(path: Path) -> str:
    """How the name of an unfinished file begins; cut where the name itself is as long as a name may be."""
    return f".{path.name.encode()[:150].decode(errors='ignore')}.{_HOST}"


def _remove_unfinished(path: Path) -> None:
    """Unfinished files for this name, of processes of this machine that are no more."""
    for left in path.parent.glob(f"{glob.escape(_partial(path))}.*.partial"):
        with contextlib.suppress(OSError, ValueError):
            number = int(left.name.split(".")[-3])
            try:
                os.kill(number, 0)
            except ProcessLookupError:
                left.unlink()


def _missing(path: Path, suffixes: Sequence[str]) -> Problem:
    try:
        names = [entry.name for entry in path.parent.iterdir() if not suffixes or entry.suffix.lower() in suffixes]
    except OSError:
        return Problem("", "no such file", f"its folder {path.parent} does not exist either")
    near = closest(path.name, names)
    return Problem("", "no such file", f"closest there: {', '.join(near)}" if near else "check the name and the folder")
