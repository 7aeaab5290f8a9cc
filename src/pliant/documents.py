"""Strict reading of YAML and JSON documents: nothing is executed, nothing is guessed, every problem is named.

A document is a mapping with a schema (a pydantic model that forbids unknown fields). Reading is bounded in size and
nesting, aliases cannot explode, duplicate keys are refused, and a mistyped field is answered with the nearest one.
"""

from __future__ import annotations

import contextlib
import json
import re
import reprlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from pliant.errors import UNPRINTABLE, DocumentError, InputError, OptionError, Problem, closest
from pliant.file_bytes import read_bytes
from pliant.json_text import MOST_DEPTH, MOST_VALUES, check_text, read_json

MAX_BYTES = 4_000_000
SUFFIXES = (".yaml", ".yml", ".json")
MOST_DIRECTIVES = 10
_DIRECTIVE = re.compile("(?:^|[\n\r\x85\u2028\u2029])%")
_PLAIN = ("null", "bool", "int", "float", "str", "seq", "map")
"""Tags that a document may have."""


class Document(BaseModel):
    """Base of every schema: frozen, no unknown fields, no NaN and no infinity unless a field says so.

    A schema's ``explained`` says in words what cannot be given, by the names of fields that a user may try.
    """

    explained: ClassVar[Mapping[str, str]] = {}
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, str_max_length=4096)


D = TypeVar("D", bound=BaseModel)


def read_document(path: str | Path, schema: type[D], *, error: type[InputError] = DocumentError) -> D:
    """Read a YAML (or JSON) file into ``schema``; every problem in it is reported at once."""
    return parse_document(read_mapping(path), schema, source=str(path), error=error)


def parse_document(data: Any, schema: type[D], *, source: str, error: type[InputError] = DocumentError) -> D:
    """Validate plain data against ``schema``; ``source`` is named in the error."""
    try:
        # Through JSON, where "strict" means what a user means: lists and whole numbers pass for tuples and floats,
        # but text and truth values never pass for numbers.
        return schema.model_validate_json(json.dumps(data), strict=True)
    except (TypeError, ValueError) as odd:
        if not isinstance(odd, ValidationError):
            raise error(source, f"a value cannot be read: {_first_line(odd)}") from None
        raise error(source, _problems(odd, schema)) from None


def read_mapping(path: str | Path) -> dict[str, Any]:
    """The plain mapping in a YAML or JSON file.

    Only plain scalars, lists and mappings come out: a tag that would construct a Python object is refused.
    """
    path = Path(path)
    return parse_mapping(_read_text(path), source=str(path), json_text=path.suffix.lower() == ".json")


def parse_mapping(text: str, *, source: str, json_text: bool = False) -> dict[str, Any]:
    """The plain mapping in YAML (or JSON) text, as strictly as from a file."""
    try:
        data = read_json(text) if json_text else _load_yaml(text, source)
    except json.JSONDecodeError as bad:
        where = f"line {bad.lineno}, column {bad.colno}"
        raise DocumentError(source, Problem(where, f"not valid JSON: {bad.msg}")) from None
    except RecursionError:
        raise DocumentError(source, f"nested too deeply; at most {MOST_DEPTH} levels are allowed") from None
    except ValueError as bad:
        raise DocumentError(source, f"cannot be read: {bad}") from None
    if not isinstance(data, dict):
        found = "nothing" if data is None else f"a {type(data).__name__}"
        raise DocumentError(source, f"the file holds {found}; expected a mapping of fields, as 'name: value' lines")
    return data


def resolve_inside(folder: str | Path, name: str, *, source: str, where: str, allow_outside: bool = False) -> Path:
    """The file ``name`` relative to ``folder``, refused where it would leave that folder."""
    try:
        root = Path(folder).resolve()
        path = (root / name).resolve()
    except (OSError, RuntimeError, ValueError) as bad:
        reason = getattr(bad, "strerror", None) or bad
        raise DocumentError(source, Problem(where, f"'{name[:60]}' cannot be resolved: {reason}")) from None
    if not allow_outside and not path.is_relative_to(root):
        what = f"'{name}' leads out of the folder of {Path(source).name}"
        raise DocumentError(source, Problem(where, what, "name a file inside that folder"))
    return path


def make_folder(path: str | Path) -> Path:
    """The folder, made if need be; an error that says why where it cannot be written to."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OptionError(str(path), "is no folder, so nothing can be written in it") from None
    except OSError as bad:
        raise OptionError(str(path), f"this folder cannot be made: {bad.strerror}") from None
    try:
        # Asking for the permission is not enough: an administrator has it on read-only disks too.
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as bad:
        raise OptionError(str(path), f"this folder cannot be written to: {bad.strerror}; name another one") from None
    return path


def not_of(path: str | Path, *sources: str | Path | None) -> Path:
    """The path of a file to be written, which must be none of those that are read."""
    path = Path(path)
    for source in sources:
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # wrong names are reported where they are used
            if source and path.resolve() == Path(source).resolve():
                raise OptionError(
                    str(path), Problem("", f"is {Path(source).name} itself, which is read", "another name")
                )
    return path


def make_room(path: str | Path, *sources: str | Path | None) -> Path:
    """The path of a file to be written, after its folder is known to take it: reported before the work, not after.

    Args:
        sources: as for `not_of`.
    """
    path = not_of(path, *sources)
    if UNPRINTABLE.search(path.name):
        raise OptionError(str(path), "the name is not text in UTF-8, or has control characters")
    make_folder(path.parent)
    try:
        path.lstat()
    except FileNotFoundError:
        return path
    except (OSError, ValueError) as bad:
        raise OptionError(str(path), f"cannot be written: {getattr(bad, 'strerror', None) or bad}") from None
    if path.is_dir():
        raise OptionError(str(path), "is a folder; name a file in it")
    return path


def _read_text(path: Path) -> str:
    remedy = "keep large data in files of their own"
    data = read_bytes(path, most=MAX_BYTES, kind="a document", error=DocumentError, remedy=remedy, suffixes=SUFFIXES)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        if data.startswith(b"PK"):
            what = "is a zip archive, as plans and runs are, not a document"
            raise DocumentError(str(path), Problem("", what, "a text file in YAML or JSON")) from None
        what = f"is not a text file (byte {bad.start} is not UTF-8)"
        raise DocumentError(str(path), Problem("", what, "save it as UTF-8 text")) from None


def _parser() -> type[Any]:
    """Where values come from: libyaml, four times as fast, where PyYAML has it.

    Nodes are put together in Python in either case: only there can they be counted.
    """
    if not yaml.__with_libyaml__:
        return yaml.SafeLoader
    from yaml.composer import Composer
    from yaml.constructor import SafeConstructor
    from yaml.cyaml import CParser  # type: ignore[attr-defined]
    from yaml.resolver import Resolver

    class FastLoader(Composer, CParser, SafeConstructor, Resolver):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            SafeConstructor.__init__(self)
            Resolver.__init__(self)

    return FastLoader


def _refusal(problem: str, place: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)


class _StrictLoader(_parser()):  # type: ignore[misc]
    """SafeLoader without aliases that explode, without duplicate keys, with bounded size and depth."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = 0
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes += 1
        self._depth += 1
        if self._nodes > MOST_VALUES:
            raise _refusal(f"more than {MOST_VALUES} values", self.peek_event())
        if self._depth > MOST_DEPTH:
            raise _refusal(f"nested more than {MOST_DEPTH} levels deep", self.peek_event())
        if self.check_event(yaml.AliasEvent):
            raise _refusal("aliases (*name) are not allowed; write the value out", self.peek_event())
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _refusal(f"field name {key!r} is not text (quote it)", key_node)
            if key in seen:
                raise _refusal(f"field '{key}' is given twice", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def construct_scalar(self, node: Any) -> str:
        value: str = super().construct_scalar(node)
        try:
            check_text(value)
        except ValueError as bad:
            raise _refusal(str(bad), node) from None
        return value


# Numbers and truth values as in YAML 1.2 and JSON. YAML 1.1 would read 5e5 as text, 1:30 as 90, yes as true, and a date
# as an object of its own.
_StrictLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?[0-9]+$", list("-+0123456789")),
    (
        "float",
        r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$",
        list("-+.0123456789"),
    ),
):
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)


def _construct_int(loader: _StrictLoader, node: Any) -> int:
    """Decimal, whatever zeros it starts with (YAML 1.1 would read 010 as eight)."""
    return int(loader.construct_scalar(node))


_StrictLoader.yaml_constructors = {
    tag: make
    for tag, make in _StrictLoader.yaml_constructors.items()
    if tag is None or tag.removeprefix("tag:yaml.org,2002:") in _PLAIN
}
_StrictLoader.add_constructor("tag:yaml.org,2002:int", _construct_int)


def _first_line(bad: Exception) -> str:
    """The reason in a line; what only a programmer could do about it is left out."""
    return str(bad).split(";")[0].splitlines()[0][:120] if str(bad) else type(bad).__name__


def _load_yaml(text: str, source: str) -> Any:
    # Before they are read: each is compared with all before it.
    if (count := sum(1 for _ in _DIRECTIVE.finditer(text))) > MOST_DIRECTIVES:
        raise DocumentError(source, f"has {count} directives (lines that begin with %); at most {MOST_DIRECTIVES}")
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as bad:
        mark = bad.problem_mark or bad.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = bad.problem or bad.context or "not valid YAML"
        if "could not determine a constructor" in what:
            tag = what.rsplit(" ", 1)[-1]
            allowed = "only plain text, numbers, lists and mappings"
            raise DocumentError(source, Problem(where, f"the tag {tag} is not allowed", allowed)) from None
        raise DocumentError(source, Problem(where, what)) from None
    except yaml.YAMLError as bad:
        raise DocumentError(source, f"not valid YAML: {str(bad).splitlines()[0]}") from None
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as bad:
        # An explicit tag on a value it does not fit (!!int "", !!bool abc) fails inside PyYAML in many ways.
        reason = _first_line(bad) if "digits" in str(bad) else "it does not fit its tag (!!int, !!float, !!bool, ...)"
        raise DocumentError(source, f"a value cannot be read: {reason}") from None


def _problems(invalid: ValidationError, schema: type[BaseModel]) -> Iterator[Problem]:
    errors = invalid.errors(include_url=False)
    places = [tuple(part for part in item["loc"] if not _is_branch_tag(part)) for item in errors]
    around = {place[:length] for place in places for length in range(len(place))}
    for item, place in zip(errors, places, strict=True):
        if item["type"] in _CONSEQUENCES and place in around:
            continue  # what is wrong inside is reported where it is
        where = _field_path(place)
        kind = item["type"]
        if kind == "extra_forbidden":
            models = _models_at(schema, place[:-1])
            names = sorted({name for model in models for name in model.model_fields})
            words = {name: text for model in models for name, text in getattr(model, "explained", {}).items()}
            if (tried := str(place[-1]).lower()) in words:
                yield Problem(where, "cannot be given", words[tried])
                continue
            near = closest(str(place[-1]), names)
            allowed = f"closest: {', '.join(near)}" if near else (f"known: {', '.join(names)}" if names else "")
            yield Problem(where, "unknown field", allowed)
        elif kind == "missing":
            yield Problem(where, "required field is missing")
        elif kind == "value_error":
            yield Problem(where, str(item["ctx"]["error"]))
        else:
            message = _WORDS.get(kind) or item["msg"][:1].lower() + item["msg"][1:]
            yield Problem(where, f"{_short(item.get('input'))}: {message}")


# Errors that a container only has because something in it is wrong.
_CONSEQUENCES = ("too_short", "tuple_type", "list_type", "dict_type", "model_type")
_WORDS = {
    "float_type": "should be a number, without quotes",
    "int_type": "should be a whole number, without quotes",
    "int_from_float": "should be a whole number",
    "float_parsing": "should be a number, without quotes",
    "string_type": "should be text",
    "bool_type": "should be true or false",
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "dict_type": "should be a group of fields",
    "model_type": "should be a group of fields",
    "model_attributes_type": "should be a group of fields",
    "finite_number": "should be a finite number",
}


def _is_branch_tag(part: Any) -> bool:
    """Pydantic puts the name of a union's branch into the location; a user never wrote it."""
    return isinstance(part, str) and ("[" in part or "(" in part)


def _field_path(location: tuple[Any, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else (f".{part}" if path else str(part))
    return path


def _models_at(schema: Any, location: tuple[Any, ...]) -> list[type[BaseModel]]:
    """The schemas that hold at ``location``, following lists, optional values and unions."""
    models = _models_in(schema)
    for part in location:
        models = [
            inner
            for model in models
            for inner in (_models_in(model.model_fields[part].annotation) if part in model.model_fields else [model])
        ]
    return models


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxtuple, _SHORT.maxstring = 4, 30, 30, 30, 70


def _short(value: Any) -> str:
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
