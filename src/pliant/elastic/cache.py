"""Results worth keeping between runs: a bounded folder of checked files.

A file is written under a temporary name and renamed, so a killed process leaves no half-written result under the real
name; a checksum at its head catches the rest (full disk, bad copy). Whatever does not check is thrown away and
computed anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.errors import OptionError
from pliant.file_bytes import read_bytes
from pliant.plain_arrays import array_bytes, array_from_bytes

_MAGIC = b"pliant-cache-2\n"
_MOST = 2**30
"""Bytes of an entry; what is larger is not kept."""
_LIMIT = 4 * 2**30
"""Bytes the folder may hold; the files used longest ago go first."""


def cache_folder() -> Path:
    """PLIANT_CACHE if set, else ``pliant`` in the user's cache folder of this system."""
    chosen = os.environ.get("PLIANT_CACHE")
    if chosen:
        return Path(chosen)
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "pliant"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pliant"
    return Path.home() / ".cache" / "pliant"


def _digest(data: memoryview | bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def load_arrays(key: str) -> dict[str, NDArray[np.generic]] | None:
    """The arrays stored under ``key``, or None if there are none that check."""
    path = cache_folder() / f"{key}.bin"
    try:
        data = read_bytes(path, most=_MOST, kind="a cache", error=OptionError)
    except OptionError:  # not there, not to be read, or something that nobody puts there, such as a pipe
        return None
    head = len(_MAGIC) + 16
    body = memoryview(data)[head:]
    if not data.startswith(_MAGIC) or _digest(body) != data[len(_MAGIC) : head]:
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # keep what is used
    try:
        return _unpack(body)
    except ValueError:  # the checksum is no secret: whoever may write to the folder can put anything under it
        return None


def store_arrays(key: str, arrays: Mapping[str, NDArray[np.generic]], *, limit: int = _LIMIT) -> None:
    """Keep arrays under ``key``. A folder that cannot be written is no error: the work is done again next time."""
    folder = cache_folder()
    body = _pack(arrays)
    if len(body) > _MOST // 2:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".part-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + _digest(body) + body)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(folder / f"{key}.bin")
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        _trim(folder, limit, keep=folder / f"{key}.bin")
    except OSError:
        return


def trim_files(folder: Path, limit: int, *, spare: float = 3600.0) -> None:
    """Remove the files of a folder used longest ago until it holds at most ``limit`` bytes.

    Args:
        spare: files used within so many seconds stay, whatever their size: another process may be about to read them.
    """
    entries = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            facts = path.stat()
            entries.append((facts.st_mtime, facts.st_size, path))
    recent = time.time() - spare
    spared = sum(size for used, size, _ in entries if used > recent)
    _remove_oldest([entry for entry in entries if entry[0] <= recent], limit - spared)


def _trim(folder: Path, limit: int, *, keep: Path) -> None:
    """Remove the files used longest ago until the folder fits, and leavings of processes that died."""
    entries = []
    newest = keep.stat().st_mtime
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            facts = path.stat()
            if path.name.startswith(".part-"):
                if newest - facts.st_mtime > 3600:
                    path.unlink()
            elif path.suffix == ".bin":
                entries.append((facts.st_mtime, facts.st_size, path))
    kept = sum(size for _, size, path in entries if path == keep)
    _remove_oldest([entry for entry in entries if entry[2] != keep], limit - kept)


def _remove_oldest(entries: list[tuple[float, int, Path]], limit: int) -> None:
    """Remove files (when used, bytes, which), those used longest ago first, until the rest has at most ``limit``."""
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries, key=lambda entry: entry[0]):
        if total <= limit:
            return
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size


def _pack(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    out = io.BytesIO()
    for name, array in arrays.items():
        data = array_bytes(array)
        out.write(f"{name} {len(data)}\n".encode())
        out.write(data)
    return out.getvalue()


def _unpack(body: memoryview) -> dict[str, NDArray[np.generic]]:
    """The arrays by name; ValueError where these are none."""
    file = io.BytesIO(body)
    arrays: dict[str, NDArray[np.generic]] = {}
    while line := file.readline(100):
        name, size = line.decode("ascii").split()
        array = array_from_bytes(file.read(int(size)))
        array.setflags(write=False)
        arrays[name] = array
    return arrays
