"""Named parts in a zip, as plans and run logs are kept: the same bytes for the same content, read without any trust.

Sizes are bounded before anything is unpacked, names are compared with a pattern and never used as paths.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.errors import InputError, Problem

MOST_MEMBERS = 20_000
_ENTRY = b"PK\x01\x02"  # begins each entry of a zip's directory
# The oldest time that a zip can hold: when a file was written must not change its bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError,
    KeyError, IndexError, OverflowError, SyntaxError, MemoryError,
)  # fmt: skip
"""What damaged bytes can make the readers of zips and arrays raise."""


def pack(members: Mapping[str, bytes], first: str = "plan.json") -> bytes:
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


def array_bytes(array: NDArray[np.generic]) -> bytes:
    """An array as a .npy file of version 1.0."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)
    return out.getvalue()


@dataclass(frozen=True)
class PartsKind:
    """What a zip should be.

    Args:
        thing: in messages: "plan".
        document: the part that must be there.
        names: of all parts that may be there.
        allowed: the same for people.
        most_bytes: of everything in it once unpacked.
        most_text: of the document.
        error: raised for whatever is wrong.
    """

    thing: str
    document: str
    names: re.Pattern[str]
    allowed: str
    most_bytes: int
    most_text: int
    error: type[InputError]


class ZipParts:
    """The parts of a zip, each read when asked for.

    Args:
        data: the whole file.
        source: its name, for messages.
        kind: what it should be.
    """

    def __init__(self, data: bytes, source: str, kind: PartsKind) -> None:
        self.source, self.kind = source, kind
        if not data.startswith(b"PK"):
            raise kind.error(source, Problem("", f"is not a {kind.thing} file", f"a {kind.thing} is a zip archive"))
        # Before the directory is read: an entry takes 46 bytes there and twenty times as much in memory.
        if (marks := data.count(_ENTRY)) > MOST_MEMBERS:
            raise kind.error(source, Problem("", f"has {marks} parts", f"at most {MOST_MEMBERS}"))
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._members = {entry.filename: entry for entry in self._zip.infolist()}
            doubled = len(self._zip.infolist()) - len(self._members)
        except BROKEN as bad:
            what = f"is damaged or is not a {kind.thing}: {_reason(bad)}"
            raise kind.error(source, Problem("", what, f"copy or write the {kind.thing} file again")) from None
        problems = self._problems()
        if doubled:
            problems.append(Problem("", f"{doubled} parts have a name that is there twice"))
        if problems:
            raise kind.error(source, problems[:10])

    def _problems(self) -> list[Problem]:
        kind = self.kind
        total = sum(entry.file_size for entry in self._members.values())
        if total > kind.most_bytes:
            return [Problem("", f"unpacks to {total / 1e6:.0f} MB", f"at most {kind.most_bytes / 1e6:.0f} MB")]
        found = []
        for name, entry in self._members.items():
            if not kind.names.fullmatch(name):
                found.append(Problem(repr(name)[:80], f"is no part of a {kind.thing}", kind.allowed))
            elif entry.flag_bits & 1:
                found.append(Problem(name, "is encrypted", f"a {kind.thing} is plain"))
            elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                found.append(Problem(name, f"is packed by method {entry.compress_type}", "stored or deflated"))
        if kind.document not in self._members:
            what = f"it is a zip archive, but not of a {kind.thing}"
            found.append(Problem("", f"has no {kind.document}", what))
        elif (size := self._members[kind.document].file_size) > kind.most_text:
            found.append(Problem(kind.document, f"has {size / 1e6:.0f} MB", f"at most {kind.most_text / 1e6:.0f} MB"))
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def bytes(self, name: str) -> bytes:
        """One part, its checksum verified."""
        if name not in self._members:
            what = f"is missing from the {self.kind.thing} file"
            raise self.kind.error(self.source, Problem(name, what, "it may have been cut or edited"))
        try:
            size = self._members[name].file_size
            with self._zip.open(self._members[name]) as member:
                # With a number: without one, all that is packed is unpacked at once, whatever size was announced.
                return member.read(size + 1)
        except BROKEN as bad:
            raise self.damaged(name, bad) from None

    def text(self, name: str, most: int | None = None) -> str:
        """One part as UTF-8 text, of at most ``most`` bytes (as many as the document if left out)."""
        allowed = self.kind.most_text if most is None else most
        if name in self._members and (size := self._members[name].file_size) > allowed:
            what = f"has {size / 1e6:.1f} MB"
            raise self.kind.error(self.source, Problem(name, what, f"at most {allowed / 1e6:.0f} MB"))
        try:
            return self.bytes(name).decode()
        except UnicodeDecodeError:
            raise self.kind.error(self.source, Problem(name, "is not UTF-8 text")) from None

    def damaged(self, where: str, bad: BaseException) -> InputError:
        """The error of a part that cannot be read."""
        mend = f"copy or write the {self.kind.thing} file again"
        return self.kind.error(self.source, Problem(where, f"is damaged: {_reason(bad)}", mend))


def _reason(bad: BaseException) -> str:
    return str(bad).splitlines()[0][:100] if str(bad) else type(bad).__name__
