"""Dataclasses in documents: a field is named once, in its dataclass, and is checked, written and read from there.

A record adds what a dataclass does not say: bounds and lengths of its fields, the document's word for a field where it
is not the field's name, and which fields are kept in arrays beside the document. What the document holds of a field
follows from its type:

    float          a number, or "inf", "-inf", "nan"       int         a count
    pinocchio.SE3  three rows of four numbers              Enum        its value
    array          a list of numbers                       dataclass   its record, or a group of its own fields
    tuple, dict    a list, a group of fields               X | None    X or null
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    FailFast,
    Field,
    PlainSerializer,
    TypeAdapter,
    create_model,
)

from pliant.documents import Document

_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _from_word(value: Any) -> Any:
    return _SPECIAL.get(value, value) if isinstance(value, str) else value


def _to_word(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


Real = Annotated[float, AllowInfNan(True), BeforeValidator(_from_word), PlainSerializer(_to_word)]
"""A computed number: may be infinite or undefined."""
Count = Annotated[int, Field(ge=0, lt=2**31)]
Bounded = Annotated[float, Field(ge=-1e9, le=1e9)]
"""A length or a factor, no larger than in a URDF."""
Row = tuple[float, float, float, Bounded]


def _is_pose(rows: tuple[Row, Row, Row]) -> tuple[Row, Row, Row]:
    R = np.array(rows)[:, :3]
    if np.abs(R).max() > 1.1 or np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
        raise ValueError("its first three columns are no rotation")
    return rows


PoseRows = Annotated[tuple[Row, Row, Row], AfterValidator(_is_pose)]
"""The upper three rows of the homogeneous matrix, in full precision: what is read is what was written, bit for bit."""


def to_se3(rows: tuple[Row, Row, Row]) -> pin.SE3:
    """The pose of three rows of four numbers."""
    matrix = np.array(rows)
    return pin.SE3(np.ascontiguousarray(matrix[:, :3]), np.ascontiguousarray(matrix[:, 3]))


@dataclass(frozen=True)
class Kept:
    """How a field is kept in the document, where its type does not say all of it.

    Attributes:
        word: the document's word for it; the field's name by default.
        kind: annotation that it is checked against, with bounds and lengths.
        write, read: to the document and back.
    """

    word: str = ""
    kind: Any = None
    write: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class StoredArray:
    """A field that is kept as an array beside the document.

    Attributes:
        name: its file is ``arrays/PLACE_NAME.npy``; PLACE tells whose it is.
        dtype: kind of its numbers.
        shape: lengths, by number, by name (given on reading) or None (any).
        later: whether older files do not have it; then it is left to the dataclass.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]
    later: bool = False


@dataclass(frozen=True)
class Record:
    """How a dataclass is kept.

    Attributes:
        of: the dataclass.
        entry: the schema of its group of fields in the document.
        checked: the same with the check of the whole group.
        fields: how they are kept, by the fields' names; each with word and kind.
        repeated: annotation and maker of words that are no field.
        arrays: fields that are kept beside the document.
        order: all words of the document.
    """

    of: type
    entry: type[Document]
    checked: Any
    fields: Mapping[str, Kept]
    repeated: Mapping[str, tuple[Any, Callable[[Any], Any]]]
    arrays: Mapping[str, StoredArray]
    order: tuple[str, ...]


_RECORDS: dict[type, Record] = {}
_BY_ENTRY: dict[type, Record] = {}


def record(
    of: type,
    /,
    *,
    repeated: Mapping[str, tuple[Any, Callable[[Any], Any]]] | None = None,
    first: Iterable[str] = (),
    check: Callable[[Any], Any] | None = None,
    later: Iterable[str] = (),
    **exceptions: Any,
) -> Any:
    """Declare how a dataclass is kept; the schema of its group of fields.

    Args:
        repeated: words beside those of fields, for readers who want no more: annotation, and how it is made.
        first: words that come first in the document; then those of ``repeated``, then the fields in their order.
        check: refuses (ValueError) fields that do not fit each other.
        later: fields that older files do not have; they are read as the dataclass's default.
        exceptions: by field: an annotation, a `Kept`, a `StoredArray`, or None if it is not in the document.
    """
    repeated, hints = repeated or {}, get_type_hints(of)
    kept: dict[str, Kept] = {}
    arrays: dict[str, StoredArray] = {}
    for name in (field.name for field in fields(of)):
        how = exceptions.pop(name, Kept())
        if isinstance(how, StoredArray):
            arrays[name] = how
        elif how is not None:
            how = how if isinstance(how, Kept) else Kept(kind=how)
            kind = _annotation(hints[name], f"{of.__name__}.{name}") if how.kind is None else how.kind
            read = how.read or partial(_restored, hint=hints[name])
            kept[name] = Kept(how.word or name, kind, how.write, read)
    if exceptions:
        raise TypeError(f"{of.__name__} has no field {', '.join(exceptions)}")
    kinds = {word: kind for word, (kind, _) in repeated.items()} | {how.word: how.kind for how in kept.values()}
    order = tuple(dict.fromkeys((*first, *kinds)))
    missing = {kept[field.name].word: _default(field) for field in fields(of) if field.name in set(later)}
    entry_fields: Any = {word: (kinds[word], missing.get(word, ...)) for word in order}
    entry = create_model(of.__name__, __base__=Document, **entry_fields)
    checked = entry if check is None else Annotated[entry, AfterValidator(check)]
    _RECORDS[of] = _BY_ENTRY[entry] = Record(of, entry, checked, kept, repeated, arrays, order)
    return entry


def _default(field: Any) -> Any:
    """What a document without this field means."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    value = to_fields(default)
    return Field(default=tuple(value) if isinstance(value, list) else value, validate_default=True)


def several(of: type, *, most: int, least: int = 0) -> Any:
    """The annotation of a bounded list of records."""
    entries: Any = tuple[_RECORDS[of].checked, ...]  # type: ignore[misc]
    return Annotated[entries, FailFast(), Field(min_length=least, max_length=most)]


def _annotation(hint: Any, where: str) -> Any:
    """What the document holds of a field of this type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is np.ndarray:
        raise TypeError(f"{where}: an array needs an annotation that says its length")
    if origin in (tuple, dict):
        made = origin[tuple(each if each is ... else _annotation(each, where) for each in inner)]
        # What is wrong with each of a million entries is said of the first.
        return Annotated[made, FailFast()] if origin is tuple else made
    if origin in (Union, UnionType):
        return Union[tuple(_annotation(each, where) for each in inner)]  # noqa: UP007 - made at run time
    if hint in _RECORDS:
        return _RECORDS[hint].checked
    return {float: Real, int: Count, pin.SE3: PoseRows}.get(hint, hint)


def to_fields(value: Any) -> Any:
    """A value in JSON's own types."""
    if (record := _RECORDS.get(type(value))) is not None:
        values = {word: make(value) for word, (_, make) in record.repeated.items()}
        for name, kept in record.fields.items():
            field = getattr(value, name)
            values[kept.word] = field if kept.write is None else kept.write(field)
        return {word: to_fields(values[word]) for word in record.order}
    if isinstance(value, pin.SE3):
        return np.column_stack([value.rotation, value.translation]).tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: to_fields(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_fields(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, BaseModel) or is_dataclass(value):
        return TypeAdapter(type(value)).dump_python(value, mode="json")
    return value


def from_entry(entry: Any, **given: Any) -> Any:
    """The dataclass again, from its checked group of fields; ``given`` are fields that come from elsewhere."""
    record = _BY_ENTRY[type(entry)]
    for name, kept in record.fields.items():
        if name not in given and kept.read is not None:
            given[name] = kept.read(getattr(entry, kept.word))
    return record.of(**given)


def _restored(value: Any, hint: Any = None) -> Any:
    if hint is pin.SE3:
        return to_se3(value)
    if get_origin(hint) is np.ndarray:
        return np.array(value, dtype=get_args(get_args(hint)[1])[0])
    if isinstance(value, tuple):
        return tuple(_restored(item) for item in value)
    return from_entry(value) if type(value) in _BY_ENTRY else value


def stored_arrays(value: Any, place: str) -> dict[str, NDArray[Any]]:
    """The arrays of an object by the names of their files."""
    arrays = _RECORDS[type(value)].arrays
    return {_file(place, a): np.asarray(getattr(value, name), dtype=a.dtype) for name, a in arrays.items()}


def read_arrays(
    of: type,
    place: str,
    read: Callable[[str, str, tuple[int | None, ...]], NDArray[Any]],
    files: Container[str],
    **lengths: int,
) -> dict[str, NDArray[Any]]:
    """The array fields of an object.

    Args:
        read: takes file name, kind and shape.
        files: the names of all files there are.
        lengths: the named ones.
    """
    return {
        name: read(_file(place, a), a.dtype, tuple(lengths[n] if isinstance(n, str) else n for n in a.shape))
        for name, a in _RECORDS[of].arrays.items()
        if not a.later or _file(place, a) in files
    }


def words_of_kind(entry: Any, *kinds: Any) -> list[str]:
    """The words of a group of fields that were declared with one of these annotations."""
    return [kept.word for kept in _BY_ENTRY[type(entry)].fields.values() if any(kept.kind is kind for kind in kinds)]


def _file(place: str, array: StoredArray) -> str:
    return f"arrays/{place}_{array.name}.npy"
