"""Dataclasses in documents: each type comes back as it was, and what a record declares is checked."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import numpy as np
import pinocchio as pin
import pytest
from pydantic import Field

from pliant.arrays import Floats
from pliant.documents import parse_document
from pliant.errors import DocumentError
from pliant.files.records import (
    Count,
    Kept,
    StoredArray,
    from_entry,
    read_arrays,
    record,
    several,
    stored_arrays,
    to_fields,
)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    number: int
    value: float


@dataclass(frozen=True)
class Outer:
    T_a_b: pin.SE3
    direction: Floats
    colour: Colour
    items: tuple[Inner, ...]
    maybe: Inner | None
    numbers: dict[str, float]
    reason: str
    table: Floats


@dataclass(frozen=True)
class Range:
    low: int
    high: int


@dataclass(frozen=True)
class Ranges:
    ranges: tuple[Range, ...]


record(Inner)
OUTER = record(
    Outer,
    T_a_b=Kept("pose"),
    direction=tuple[float, float],
    items=several(Inner, most=2),
    reason=Kept(write=str.upper, read=str.lower),
    table=StoredArray("table", "<f4", ("rows", 2)),
    repeated={"count": (Count, lambda outer: len(outer.items))},
    first=("reason",),
)


@pytest.fixture
def outer() -> Outer:
    items = (Inner(1, math.inf), Inner(2, math.nan))
    T = pin.SE3.Random()
    return Outer(T, np.array([0.1, 0.2]), Colour.BLUE, items, None, {"a": -math.inf}, "why", np.ones((3, 2)))


def test_every_type_comes_back_bit_for_bit(outer: Outer) -> None:
    entry = parse_document(to_fields(outer), OUTER, source="x")
    text = json.dumps(entry.model_dump(mode="json"), allow_nan=False)
    assert list(json.loads(text)) == ["reason", "count", "pose", "direction", "colour", "items", "maybe", "numbers"]
    arrays = stored_arrays(outer, "a")
    assert list(arrays) == ["arrays/a_table.npy"]
    read = read_arrays(Outer, "a", lambda name, dtype, shape: arrays[name].astype(dtype).reshape(shape), arrays, rows=3)
    again = from_entry(parse_document(json.loads(text), OUTER, source="x"), **read)
    assert np.array_equal(again.T_a_b.homogeneous, outer.T_a_b.homogeneous)
    assert np.array_equal(again.direction, outer.direction)
    assert (again.colour, again.maybe, again.numbers, again.reason) == (Colour.BLUE, None, {"a": -math.inf}, "why")
    assert again.items[0] == outer.items[0]
    assert math.isnan(again.items[1].value)
    assert again.table.dtype == np.float32


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("pose", [[2.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]], "pose: its first three columns are no rotation"),
        ("pose", [[1.0, 0, 0, 2e9], [0, 1.0, 0, 0], [0, 0, 1.0, 0]], "pose[0][3]"),
        ("direction", [1.0], "direction[1]: required"),
        ("colour", "green", "colour: 'green'"),
        ("items", [{"number": 1, "value": 0.0}] * 3, "items"),
        ("items", [{"number": -1, "value": 0.0}], "items[0].number: -1"),
        ("maybe", {"number": 1, "valu": 0.0}, "maybe.valu: unknown field; closest: value"),
        ("numbers", {"a": "many"}, "numbers.a: 'many'"),
        ("count", 1.5, "count: 1.5"),
    ],
)
def test_what_does_not_fit_is_named(outer: Outer, field: str, value: object, words: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(to_fields(outer) | {field: value}, OUTER, source="x")
    assert words in str(caught.value)


def test_fields_that_do_not_fit_each_other_are_refused() -> None:
    def ordered(entry: object) -> object:
        if entry.low > entry.high:  # type: ignore[attr-defined]
            raise ValueError("low is above high")
        return entry

    record(Range, check=ordered)

    entry = record(Ranges, ranges=several(Range, most=5))
    with pytest.raises(DocumentError, match=r"ranges\[1\]: low is above high"):
        parse_document({"ranges": [{"low": 1, "high": 2}, {"low": 3, "high": 2}]}, entry, source="x")


def test_an_array_in_the_document_needs_a_length() -> None:
    @dataclass(frozen=True)
    class Loose:
        values: Floats

    with pytest.raises(TypeError, match="values"):
        record(Loose)
    with pytest.raises(TypeError, match=r"Loose has no field value$"):
        record(Loose, values=Annotated[tuple[float, ...], Field(max_length=3)], value=float)
