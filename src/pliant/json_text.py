"""JSON of strangers: what a text holds is counted before anything is made of it, and no field is there twice."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pliant.errors import UNPRINTABLE, printable, repeated

MOST_VALUES, MOST_DEPTH, MOST_FIELDS = 200_000, 40, 20_000
"""Of a document: values in all, levels of nesting, fields of one group."""
_PIECE = 1 << 20


def read_json(text: str | bytes, *, most_values: int = MOST_VALUES, finite: bool = False) -> Any:
    """The value of a JSON text; ValueError with the reason where it is none or holds too much.

    Its text is as it may be shown on a terminal: control characters and half characters are refused.

    Args:
        most_values: numbers, texts, lists and groups in all.
        finite: refuse NaN and Infinity, which JSON itself does not have.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    values, depth = _extent(data)
    if values > most_values:
        raise ValueError(f"more than {most_values} values")
    if depth > MOST_DEPTH:
        raise ValueError(f"nested too deeply, {depth} levels; at most {MOST_DEPTH} are allowed")
    value = json.loads(text, object_pairs_hook=_fields, parse_constant=_refuse if finite else None)
    if b"\\" in data or not data.isascii() or b"\x7f" in data:
        _check_text(value)
    return value


def _extent(data: bytes) -> tuple[int, int]:
    """How many values there are at most, and how deep they are nested, by the signs between them.

    Signs within text do not count: a place is within text after an odd number of quotation marks, those aside that
    stand behind an odd number of backslashes.
    """
    values, level, depth, quotes, escaped = 1, 0, 0, 0, False
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        if escaped:  # the sign at its beginning is the second half of one at the end of the last piece
            piece = b" " + piece[1:]
        tail = len(piece) - len(piece.rstrip(b"\\"))
        escaped = tail % 2 == 1
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
        signs = np.frombuffer(piece, dtype=np.uint8)
        marks = np.cumsum(signs == ord('"')) + quotes
        quotes = int(marks[-1]) % 2
        outside = signs[marks % 2 == 0]
        opened = (outside == ord("[")) | (outside == ord("{"))
        levels = np.cumsum(opened.astype(np.int64) - ((outside == ord("]")) | (outside == ord("}"))))
        values += int(np.count_nonzero(opened)) + int(np.count_nonzero(outside == ord(",")))
        if len(levels):
            depth = max(depth, level + int(levels.max()))
            level += int(levels[-1])
    return values, depth


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(iter(repeated(name for name, _ in pairs)))
        raise ValueError(f"field '{printable(twice)}' is given twice")
    if len(fields) > MOST_FIELDS:
        raise ValueError(f"more than {MOST_FIELDS} fields in one group")
    return fields


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number in JSON")


def _check_text(value: Any) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            check_text(item)
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())


def check_text(text: str) -> None:
    """ValueError where a text has characters that cannot be shown; a line may end in a carriage return."""
    if found := UNPRINTABLE.search(text.replace("\r\n", "\n")):
        raise ValueError(f"'{printable(text, 60)}' has the control character {found.group()!r}")
