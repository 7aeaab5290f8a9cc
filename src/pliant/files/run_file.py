"""Run logs as files (`.run`): a zip of one JSON document and plain arrays. Written whole or not at all, read warily."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import FailFast, Field

from pliant.control import Event, PadFrames, RunLog, RunPhase, row_shapes
from pliant.documents import Document, parse_document
from pliant.errors import DocumentError, repeated, unknown_name
from pliant.file_bytes import write_bytes
from pliant.files.archive import Archive, ArchiveKind, pack
from pliant.plain_arrays import array_bytes

KIND, VERSION = "pliant run", 1
ARCHIVE = ArchiveKind(
    name="run log",
    suffix=".run",
    document="run.json",
    members=re.compile(r"run\.json|table/[A-Za-z0-9_]{1,60}\.npy|frames/[0-9]{1,6}_(times|counts)\.npy"),
    allowed="run.json, table/QUANTITY.npy, frames/NUMBER_times.npy, frames/NUMBER_counts.npy",
    most_bytes=400_000_000,
    most_unpacked=1_000_000_000,
    most_text=20_000_000,
    most_values=500_000,
    error=DocumentError,
)


LATEST = 2e9
"""On the clock of a driver [s]: a clock that counts since 1970 is not there before 2033, and bags count no further."""
Time = Annotated[float, Field(ge=-LATEST, le=LATEST)]
Names = Annotated[tuple[str, ...], FailFast(), Field(max_length=1000)]


class _RunDocument(Document):
    """``run.json``; what its lists name is explained at `RunLog`."""

    kind: Literal["pliant run"]
    version: Literal[1]
    joints: Names
    contacts: Names
    phases: Names
    quantities: Names
    arrays: Names
    events: Annotated[tuple[tuple[Time, RunPhase, str, str], ...], FailFast(), Field(max_length=100_000)]
    facts: dict[str, Any]


def save_run(log: RunLog, path: str | Path) -> Path:
    """Write a run log. The file appears under its name when it is complete; a file of that name is replaced."""
    path = Path(path)
    document = {
        "kind": KIND,
        "version": VERSION,
        "joints": list(log.joints),
        "contacts": list(log.contacts),
        "phases": [str(phase) for phase in RunPhase],
        "quantities": list(log.table),
        "arrays": list(log.frames),
        "events": [[event.time, str(event.phase), event.kind, event.text] for event in log.events],
        "facts": plain(log.facts),
    }
    parts = {ARCHIVE.document: json.dumps(document, allow_nan=False).encode()}
    parts |= {f"table/{quantity}.npy": array_bytes(values) for quantity, values in log.table.items()}
    for i, frames in enumerate(log.frames.values()):
        parts[f"frames/{i}_times.npy"] = array_bytes(frames.times)
        parts[f"frames/{i}_counts.npy"] = array_bytes(frames.counts)
    write_bytes(path, pack(parts, first=ARCHIVE.document), error=DocumentError)
    return path


def load_run(path: str | Path) -> RunLog:
    """Read a run log; nothing in the file is ever executed, and every number of it is checked for shape."""
    archive = Archive(Path(path), ARCHIVE)
    document = archive.document()
    if document.get("kind") != KIND:
        raise archive.refusal("kind", "is not a run log", f"'{KIND}'")
    if document.get("version") != VERSION:
        what = f"version {document.get('version')!r}"
        raise archive.refusal("version", what, f"this program reads version {VERSION}")
    fields = parse_document(document, _RunDocument, source=archive.source)
    for field in ("joints", "contacts", "quantities", "arrays"):
        for name, count in repeated(getattr(fields, field)).items():
            raise archive.refusal(field, f"the name '{name}' is there {count} times", "once")
    table = _table(archive, fields.quantities, fields.phases, row_shapes(len(fields.joints), len(fields.contacts)))
    frames = {}
    for i, name in enumerate(fields.arrays):
        times, counts = (archive.array(f"frames/{i}_{part}.npy") for part in ("times", "counts"))
        if times.ndim != 1 or counts.ndim != 3 or len(times) != len(counts):
            raise archive.refusal(f"frames/{i}", f"shapes {times.shape} and {counts.shape} do not fit")
        _check_times(archive, f"frames/{i}_times", times)
        frames[name] = PadFrames(times, counts)
    events = tuple(Event(*event) for event in fields.events)
    return RunLog(fields.joints, fields.contacts, table, events, frames, fields.facts)


def _check_times(archive: Archive, where: str, times: NDArray[Any]) -> None:
    if not (np.abs(times.astype(np.float64)) <= LATEST).all():
        raise archive.refusal(where, "holds times that are none", f"seconds up to {LATEST:g}")


def _table(
    archive: Archive, quantities: Sequence[str], phases: Sequence[str], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, NDArray[Any]]:
    table: dict[str, NDArray[Any]] = {name: archive.array(f"table/{name}.npy") for name in quantities}
    if "time" not in table or "phase" not in table:
        raise archive.refusal(ARCHIVE.document, "no time or no phase in it", "write it again")
    if table["time"].ndim != 1 or table["phase"].ndim != 1:
        raise archive.refusal("table/time", "is no list of times", "write it again")
    _check_times(archive, "table/time", table["time"])
    rows = len(table["time"])
    for name, values in table.items():
        if name not in shapes:
            raise DocumentError(archive.source, unknown_name("quantity", name, shapes, where=f"table/{name}"))
        if values.shape != (rows, *shapes[name]):
            allowed = f"expected {(rows, *shapes[name])}"
            raise archive.refusal(f"table/{name}", f"shape {values.shape} does not fit", allowed)
    cells = rows * sum(math.prod(shape) for shape in shapes.values())
    if cells > ARCHIVE.most_unpacked // 8:  # before room is made for those that are not there
        raise archive.refusal("table", f"has room for {cells} numbers", f"at most {ARCHIVE.most_unpacked // 8}")
    for name in shapes.keys() - table.keys():
        table[name] = np.full((rows, *shapes[name]), np.nan)  # as anything that was not known
    # The file's own list of phases says what its numbers mean.
    numbers = {str(phase): i for i, phase in enumerate(RunPhase)}
    known = np.array([numbers.get(name, -1) for name in phases])
    recorded = table["phase"].astype(np.int64)
    if ((recorded < 0) | (recorded >= len(phases))).any() or (known[recorded] < 0).any():
        raise archive.refusal("table/phase", "a phase that is not known", ", ".join(numbers))
    table["phase"] = known[recorded].astype(np.int8)
    return table


def plain(value: Any) -> Any:
    """In JSON's own types; what is not finite becomes null, what JSON has no word for its text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | type(None)) else str(value)
