"""Runs as tables (CSV) and as one JSON document. SI units; what was not known is empty (CSV) or null (JSON)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.control import RunLog
from pliant.errors import PlanError
from pliant.file_bytes import write_bytes
from pliant.files.export.tables import table_bytes
from pliant.files.run_file import plain


def write_run_csv(log: RunLog, path: Path) -> tuple[Path, ...]:
    """A row per step to ``path``, the events to ``<name>_events.csv`` beside it.

    Columns: ``time``, ``plan_time``, ``phase``, then ``QUANTITY.JOINT``, ``QUANTITY.CONTACT`` and
    ``QUANTITY.CONTACT.x`` (y, z), such as ``force_measured.left_finger``.
    """
    head, columns = ["time", "plan_time", "phase"], [log["time"], log["plan_time"], np.array(log.phases, dtype=object)]
    for quantity, values in log.table.items():
        if values.ndim > 1:
            names = log.joints if quantity.startswith(("q_", "torque_")) else log.contacts
            for i, name in enumerate(names):
                head += [f"{quantity}.{name}"] if values.ndim == 2 else [f"{quantity}.{name}.{x}" for x in "xyz"]
                columns += [values[:, i]] if values.ndim == 2 else [values[:, i, k] for k in range(3)]
    rows = ([_cell(value) for value in row] for row in zip(*(column.tolist() for column in columns), strict=True))
    beside = path.with_name(f"{path.stem}_events{path.suffix or '.csv'}")
    write_bytes(path, table_bytes(head, rows), error=PlanError)
    events = ([event.time, str(event.phase), event.kind, event.text] for event in log.events)
    write_bytes(beside, table_bytes(("time", "phase", "kind", "text"), events), error=PlanError)
    return path, beside


def write_run_json(log: RunLog, path: Path) -> tuple[Path, ...]:
    """Everything but the tactile frames."""
    fields = {
        "format": "pliant run",
        "version": 1,
        "joints": log.joints,
        "contacts": log.contacts,
        "phases": [str(phase) for phase in log.phases],
        "table": {name: _lists(values) for name, values in log.table.items() if name != "phase"},
        "events": [
            {"time": event.time, "phase": str(event.phase), "kind": event.kind, "text": event.text}
            for event in log.events
        ],
        "facts": plain(log.facts),
    }
    write_bytes(path, json.dumps(fields, ensure_ascii=False, allow_nan=False).encode(), error=PlanError)
    return (path,)


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else value
    return str(value)


def _lists(values: NDArray[Any]) -> Any:
    answer = values.astype(object)
    answer[~np.isfinite(values)] = None
    return answer.tolist()
