"""The container of a plan file: a zip of named byte strings and arrays, the same bytes for the same content.

Reading trusts nothing: sizes are bounded before anything is unpacked, names are compared with a pattern and never used
as paths, arrays are plain numbers of known kinds.
"""

from __future__ import annotations

import ast
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.errors import PlanError, Problem
from pliant.file_bytes import read_bytes

__all__ = ["Archive", "array_bytes", "pack"]

MOST_BYTES = 1_000_000_000
"""Of the file, and of everything in it once unpacked."""
MOST_MEMBERS = 20_000
MOST_TEXT = 50_000_000
"""Of plan.json: a hundred times what a large plan has."""
DTYPES = {"<f8": 8, "<f4": 4, "<i8": 8}
NAME = re.compile(r"plan\.json|task\.yaml|robot\.urdf|meshes/[0-9a-f]{64}\.[a-z]{2,5}|arrays/[a-z0-9_]{1,40}\.npy")
ALLOWED_NAMES = "plan.json, task.yaml, robot.urdf, meshes/HASH.SUFFIX, arrays/NAME.npy"
# The oldest time that a zip can hold: when a plan was written must not change its bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError,
    KeyError, IndexError, OverflowError, SyntaxError, MemoryError,
)  # fmt: skip


def pack(members: Mapping[str, bytes]) -> bytes:
    """A zip with these members, in the order of their names but plan.json first."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in sorted(members, key=lambda name: (name != "plan.json", name)):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, members[name])
    return out.getvalue()


def array_bytes(array: NDArray[np.generic]) -> bytes:
    """An array as a .npy file of version 1.0."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)
    return out.getvalue()


class Archive:
    """The members of a plan file, each read when asked for."""

    def __init__(self, path: Path) -> None:
        self.source = str(path)
        data = read_bytes(path, most=MOST_BYTES, kind="a plan", error=PlanError, suffixes=(".plan",))
        if not data.startswith(b"PK"):
            raise PlanError(self.source, Problem("", "is not a plan file", "a plan is a zip archive"))
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._members = {entry.filename: entry for entry in self._zip.infolist()}
            doubled = len(self._zip.infolist()) - len(self._members)
        except _BROKEN as bad:
            raise self._damaged("", bad) from None
        problems = list(self._problems())
        if doubled:
            problems.append(Problem("", f"{doubled} parts have a name that is there twice"))
        if problems:
            raise PlanError(self.source, problems[:10])

    def _problems(self) -> list[Problem]:
        if len(self._members) > MOST_MEMBERS:
            return [Problem("", f"has {len(self._members)} parts", f"at most {MOST_MEMBERS}")]
        total = sum(entry.file_size for entry in self._members.values())
        if total > MOST_BYTES:
            return [Problem("", f"unpacks to {total / 1e6:.0f} MB", f"at most {MOST_BYTES / 1e6:.0f} MB")]
        found = []
        for name, entry in self._members.items():
            if not NAME.fullmatch(name):
                found.append(Problem(repr(name)[:80], "is no part of a plan", ALLOWED_NAMES))
            elif entry.flag_bits & 1:
                found.append(Problem(name, "is encrypted", "a plan is plain"))
            elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                found.append(Problem(name, f"is packed by method {entry.compress_type}", "stored or deflated"))
        if "plan.json" not in self._members:
            found.append(Problem("", "has no plan.json", "it is a zip archive, but not of a plan"))
        elif self._members["plan.json"].file_size > MOST_TEXT:
            size = self._members["plan.json"].file_size
            found.append(Problem("plan.json", f"has {size / 1e6:.0f} MB", f"at most {MOST_TEXT / 1e6:.0f} MB"))
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def bytes(self, name: str) -> bytes:
        """One member, its checksum verified."""
        if name not in self._members:
            raise PlanError(
                self.source, Problem(name, "is missing from the plan file", "it may have been cut or edited")
            )
        try:
            with self._zip.open(self._members[name]) as member:
                return member.read()
        except _BROKEN as bad:
            raise self._damaged(name, bad) from None

    def text(self, name: str) -> str:
        """One member as UTF-8 text."""
        try:
            return self.bytes(name).decode()
        except UnicodeDecodeError:
            raise PlanError(self.source, Problem(name, "is not UTF-8 text")) from None

    def array(
        self, name: str, dtype: str, shape: tuple[int | None, ...], *, finite: bool = True
    ) -> NDArray[np.generic]:
        """The array ``arrays/name.npy``, refused unless kind and shape are those expected (None: any length)."""
        where = f"arrays/{name}.npy"
        data = self.bytes(where)
        try:
            found, got, start = _npy_header(data)
        except _BROKEN as bad:
            raise self._damaged(where, bad) from None
        problem = None
        if found not in DTYPES or found != dtype:
            problem = Problem(where, f"holds numbers of kind '{found[:20]}'", f"expected '{dtype}'")
        elif len(got) != len(shape) or any(s is not None and s != g for s, g in zip(shape, got, strict=True)):
            wanted = " x ".join("n" if s is None else str(s) for s in shape)
            problem = Problem(where, f"has the shape {got}", f"expected {wanted}")
        elif int(np.prod(got, dtype=object)) * DTYPES[dtype] != len(data) - start:
            problem = Problem(
                where, f"holds {len(data) - start} bytes", f"its shape {got} needs another number of them"
            )
        if problem is not None:
            raise PlanError(self.source, problem)
        array = np.frombuffer(data, dtype=dtype, offset=start).reshape(got).copy()
        if finite and not np.isfinite(array).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise PlanError(self.source, Problem(where, f"the value at {place} is {array[place]}", "finite numbers"))
        return array

    def _damaged(self, where: str, bad: BaseException) -> PlanError:
        reason = str(bad).splitlines()[0][:100] if str(bad) else type(bad).__name__
        return PlanError(self.source, Problem(where, f"is damaged: {reason}", "copy or write the plan file again"))


def _npy_header(data: bytes) -> tuple[str, tuple[int, ...], int]:
    """Kind, shape and the offset of the numbers of a .npy file of version 1.0; ValueError for anything else."""
    if data[:8] != b"\x93NUMPY\x01\x00":
        raise ValueError("not a .npy file of version 1.0")
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10 : 10 + length].decode("latin1").strip())
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("its header is not that of an array")
    descr, shape = header["descr"], header["shape"]
    if header["fortran_order"] is not False or not isinstance(descr, str) or not isinstance(shape, tuple):
        raise ValueError("its header is not that of a plain array in C order")
    if len(shape) > 4 or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
        raise ValueError(f"its shape is {str(shape)[:60]}")
    return descr, shape, 10 + length
