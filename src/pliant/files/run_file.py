"""Run logs as files (`.run`): a zip of one JSON document and plain arrays. Written whole or not at all, read warily."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.control import Event, PadFrames, RunLog, RunPhase, row_shapes
from pliant.errors import DocumentError, Problem, unknown_name
from pliant.file_bytes import read_bytes, write_bytes
from pliant.files.zip_parts import PartsKind, ZipParts, array_bytes, pack
from pliant.plain_arrays import array_from_bytes

KIND, VERSION = "pliant run", 1
DOCUMENT = "run.json"
MOST_BYTES = 400_000_000
MOST_UNPACKED = 2_000_000_000
MOST_TEXT = 200_000_000
NAME = re.compile(r"run\.json|table/[A-Za-z0-9_]{1,60}\.npy|frames/[0-9]{1,6}_(times|counts)\.npy")
ALLOWED_NAMES = "run.json, table/QUANTITY.npy, frames/NUMBER_times.npy, frames/NUMBER_counts.npy"


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
    parts = {DOCUMENT: json.dumps(document, allow_nan=False).encode()}
    parts |= {f"table/{quantity}.npy": array_bytes(values) for quantity, values in log.table.items()}
    for i, frames in enumerate(log.frames.values()):
        parts[f"frames/{i}_times.npy"] = array_bytes(frames.times)
        parts[f"frames/{i}_counts.npy"] = array_bytes(frames.counts)
    write_bytes(path, pack(parts, first=DOCUMENT), error=DocumentError)
    return path


def load_run(path: str | Path) -> RunLog:
    """Read a run log; nothing in the file is ever executed, and every number of it is checked for shape."""
    path = Path(path)
    source = str(path)
    data = read_bytes(path, most=MOST_BYTES, kind="a run log", error=DocumentError, suffixes=(".run",))
    kind = PartsKind("run log", DOCUMENT, NAME, ALLOWED_NAMES, MOST_UNPACKED, MOST_TEXT, DocumentError)
    return _parse(ZipParts(data, source, kind), source)


def _parse(archive: ZipParts, source: str) -> RunLog:
    document = _document(archive, source)
    try:
        joints = tuple(str(name) for name in document["joints"])
        contacts = tuple(str(name) for name in document["contacts"])
        numbers = {str(name): i for i, name in enumerate(RunPhase)}
        phases = [str(name) for name in document["phases"]]
        events = tuple(
            Event(float(time), RunPhase(phase), str(kind), str(text)) for time, phase, kind, text in document["events"]
        )
        quantities = [str(name) for name in document["quantities"]]
        arrays = [str(name) for name in document["arrays"]]
        facts = dict(document["facts"])
    except (KeyError, TypeError, ValueError) as bad:
        raise DocumentError(source, Problem(DOCUMENT, f"does not fit: {bad!r}", "write it again")) from None
    table: dict[str, NDArray[Any]] = {name: _array(archive, f"table/{name}.npy", source) for name in quantities}
    if "time" not in table or "phase" not in table:
        raise DocumentError(source, Problem(DOCUMENT, "no time or no phase in it", "write it again"))
    if table["time"].ndim != 1 or table["phase"].ndim != 1 or not np.isfinite(table["time"]).all():
        raise DocumentError(source, Problem("table/time", "is no list of times", "write it again"))
    rows, shapes = len(table["time"]), row_shapes(len(joints), len(contacts))
    for name, values in table.items():
        if name not in shapes:
            raise DocumentError(source, unknown_name("quantity", name, shapes, where=f"table/{name}"))
        if values.shape != (rows, *shapes[name]):
            what = f"shape {values.shape} does not fit"
            raise DocumentError(source, Problem(f"table/{name}", what, f"expected {(rows, *shapes[name])}"))
    for name in shapes.keys() - table.keys():
        table[name] = np.full((rows, *shapes[name]), np.nan)  # as anything that was not known
    known = np.array([numbers.get(name, -1) for name in phases])
    told = table["phase"].astype(np.int64)
    if ((told < 0) | (told >= len(phases))).any() or (known[told] < 0).any():
        raise DocumentError(source, Problem("table/phase", "a phase that is not known", ", ".join(numbers)))
    table["phase"] = known[told].astype(np.int8)
    frames = {}
    for i, name in enumerate(arrays):
        times, counts = (_array(archive, f"frames/{i}_{part}.npy", source) for part in ("times", "counts"))
        if times.ndim != 1 or counts.ndim != 3 or len(times) != len(counts):
            raise DocumentError(source, Problem(f"frames/{i}", f"shapes {times.shape} and {counts.shape} do not fit"))
        frames[name] = PadFrames(times, counts)
    return RunLog(joints, contacts, table, events, frames, facts)


def _document(archive: ZipParts, source: str) -> dict[str, Any]:
    try:
        document = json.loads(archive.text(DOCUMENT))
    except (ValueError, RecursionError):
        raise DocumentError(source, Problem(DOCUMENT, "is not JSON")) from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise DocumentError(source, Problem("kind", "is not a run log", f"'{KIND}'"))
    if document.get("version") != VERSION:
        what = f"version {document.get('version')!r}"
        raise DocumentError(source, Problem("version", what, f"this program reads version {VERSION}"))
    return document


def _array(archive: ZipParts, name: str, source: str) -> NDArray[Any]:
    data = archive.bytes(name)
    try:
        return array_from_bytes(data)
    except ValueError as bad:
        raise DocumentError(source, Problem(name, f"is no array of numbers: {bad}", "write it again")) from None


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
