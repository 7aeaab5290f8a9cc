"""The container of plans and run logs: a zip of one JSON document, texts and arrays, read without any trust.

The same content gives the same bytes. Sizes are bounded before anything is unpacked; names are compared with a pattern
and never used as paths.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import InputError, Problem
from pliant.file_bytes import read_bytes
from pliant.json_text import read_json
from pliant.plain_arrays import array_from_bytes

MOST_MEMBERS = 20_000
LARGEST = 1e12
"""Of numbers that must be finite: far larger ones cannot even be squared."""
_ENTRY = b"PK\x01\x02"  # begins each entry of a zip's directory
# The oldest time that a zip can hold: when a file was written must not change its bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError,
    KeyError, IndexError, OverflowError, SyntaxError, MemoryError,
)  # fmt: skip
"""What damaged bytes can make the reader of zips raise."""


def pack(members: Mapping[str, bytes], *, first: str = "") -> bytes:
    """A zip with these members, in the order of their names but ``first`` before all."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in sorted(members, key=lambda name: (name != first, name)):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, members[name])
    return out.getvalue()


@dataclass(frozen=True)
class ArchiveKind:
    """What a zip should be.

    Attributes:
        name: in messages: "plan".
        suffix: of such files.
        document: the member that must be there, in JSON.
        members: pattern of the names of all members that may be there.
        allowed: the same for people.
        most_bytes: of the file.
        most_unpacked: of everything in it once unpacked, and of all that is read, each part as often as it is named
            [bytes].
        most_text: of the document [bytes].
        most_values: in the document.
        error: raised for whatever is wrong.
    """

    name: str
    suffix: str
    document: str
    members: re.Pattern[str]
    allowed: str
    most_bytes: int
    most_unpacked: int
    most_text: int
    most_values: int
    error: type[InputError]


class Archive:
    """The members of a zip file, each read when asked for.

    Args:
        path: the file.
        kind: what it should be.
    """

    def __init__(self, path: Path, kind: ArchiveKind) -> None:
        self.source, self.kind = str(path), kind
        self._read = 0
        self._again = f"copy or write the {kind.name} file again"
        data = read_bytes(path, most=kind.most_bytes, kind=f"a {kind.name}", error=kind.error, suffixes=(kind.suffix,))
        if not data.startswith(b"PK"):
            raise self.refusal("", f"is not a {kind.name} file", f"a {kind.name} is a zip archive")
        # Before the directory is read: an entry takes 46 bytes there and twenty times as much in memory.
        if (marks := data.count(_ENTRY)) > MOST_MEMBERS:
            raise self.refusal("", f"has {marks} parts", f"at most {MOST_MEMBERS}")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._members = {entry.filename: entry for entry in self._zip.infolist()}
        except _BROKEN as bad:
            what = f"is damaged or is not a {kind.name}: {_reason(bad)}"
            raise self.refusal("", what, self._again) from None
        if problems := self._problems():
            raise kind.error(self.source, problems[:10])

    def refusal(self, where: str, what: str, allowed: str = "") -> InputError:
        """The error of a file with a problem, to be raised."""
        return self.kind.error(self.source, Problem(where, what, allowed))

    def _problems(self) -> list[Problem]:
        kind = self.kind
        total = sum(entry.file_size for entry in self._members.values())
        if total > kind.most_unpacked:
            return [Problem("", f"unpacks to {total / 1e6:.0f} MB", f"at most {kind.most_unpacked / 1e6:.0f} MB")]
        found = []
        for name, entry in self._members.items():
            if not kind.members.fullmatch(name):
                found.append(Problem(repr(name)[:80], f"is no part of a {kind.name}", kind.allowed))
            elif entry.flag_bits & 1:
                found.append(Problem(name, "is encrypted", f"a {kind.name} is plain"))
            elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                found.append(Problem(name, f"is packed by method {entry.compress_type}", "stored or deflated"))
        if kind.document not in self._members:
            found.append(Problem("", f"has no {kind.document}", f"it is a zip archive, but not of a {kind.name}"))
        if repeated := len(self._zip.infolist()) - len(self._members):
            found.append(Problem("", f"{repeated} parts have a name that is there twice"))
        return found

    @property
    def files(self) -> Container[str]:
        """The names of all members."""
        return self._members.keys()

    def bytes(self, name: str) -> bytes:
        """One member, its checksum verified."""
        if name not in self._members:
            what = f"is missing from the {self.kind.name} file"
            raise self.refusal(name, what, "it may have been cut or edited")
        size = self._members[name].file_size
        self._read += size
        if self._read > self.kind.most_unpacked:
            what = f"with it {self._read / 1e6:.0f} MB are read: parts are named again and again"
            raise self.refusal(name, what, f"at most {self.kind.most_unpacked / 1e6:.0f} MB")
        try:
            with self._zip.open(self._members[name]) as member:
                # With a number: without one, all that is packed is unpacked at once, whatever size was announced.
                return member.read(size + 1)
        except _BROKEN as bad:
            raise self.refusal(name, f"is damaged: {_reason(bad)}", self._again) from None

    def text(self, name: str, most: int) -> str:
        """One member as UTF-8 text, of at most ``most`` bytes."""
        if name in self._members and (size := self._members[name].file_size) > most:
            raise self.refusal(name, f"has {size / 1e6:.1f} MB", f"at most {most / 1e6:.0f} MB")
        try:
            return self.bytes(name).decode()
        except UnicodeDecodeError:
            raise self.refusal(name, "is not UTF-8 text") from None

    def document(self, *, finite: bool = False) -> dict[str, Any]:
        """The fields of the JSON document.

        Args:
            finite: refuse NaN and Infinity, which JSON itself does not have.
        """
        name = self.kind.document
        try:
            text = self.text(name, self.kind.most_text)
            fields = read_json(text, most_values=self.kind.most_values, finite=finite)
        except json.JSONDecodeError as bad:
            raise self.refusal(name, f"is not JSON: {bad}") from None
        except ValueError as bad:
            raise self.refusal(name, f"cannot be read: {bad}") from None
        if not isinstance(fields, dict):
            raise self.refusal(name, f"holds a {type(fields).__name__}", "expected a group of fields")
        return fields

    def array(
        self,
        name: str,
        dtype: str | None = None,
        shape: tuple[int | None, ...] | None = None,
        *,
        finite: bool = False,
    ) -> NDArray[Any]:
        """An array, refused unless kind and shape are those expected, as `pliant.plain_arrays.array_from_bytes` says.

        Args:
            finite: refuse numbers that are not finite, or larger than any quantity.
        """
        data = self.bytes(name)
        try:
            array = array_from_bytes(data, dtype=dtype, shape=shape)
        except ValueError as bad:
            raise self.refusal(name, f"cannot be used: {bad}", self._again) from None
        if finite and (odd := ~(np.abs(array) <= LARGEST)).any():
            place = tuple(int(i) for i in np.argwhere(odd)[0])
            allowed = f"metres, radians, seconds, newtons and pascals up to {LARGEST:g}"
            raise self.refusal(name, f"the value at {place} is {array[place]:g}", allowed)
        return array


def _reason(bad: BaseException) -> str:
    return str(bad).splitlines()[0][:100] if str(bad) else type(bad).__name__
