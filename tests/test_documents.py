"""Strict reading: nothing executed, nothing guessed, every problem named."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from pliant.documents import Document, make_room, parse_document, read_document, read_mapping, resolve_inside
from pliant.errors import MOST_PROBLEMS, DocumentError, InputError, MeshError, OptionError, Problem


class Inner(Document):
    length: float
    names: tuple[str, ...] = ()


class Outer(Document):
    title: str
    parts: tuple[Inner, ...] = ()
    extra: Inner | None = None


def write(tmp_path: Path, text: str, name: str = "a.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_unknown_field_is_answered_with_the_nearest_at_its_own_place(tmp_path: Path) -> None:
    path = write(tmp_path, "title: x\nparts:\n  - {length: 1.0}\n  - {lenght: 2.0, length: 1.0}\n")
    with pytest.raises(DocumentError, match=r"a.yaml: parts\[1\].lenght: unknown field; closest: length"):
        read_document(path, Outer)
    path = write(tmp_path, "title: x\nextra: {length: 1.0, nmaes: []}\n")
    with pytest.raises(DocumentError, match=r"extra.nmaes: unknown field; closest: names"):
        read_document(path, Outer)


def test_every_problem_of_a_document_is_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "titel: x\nparts: [{length: long}]\n")
    with pytest.raises(DocumentError) as caught:
        read_document(path, Outer)
    assert {p.where for p in caught.value.problems} == {"title", "titel", "parts[0].length"}


def test_wrong_type_names_the_value_and_what_is_expected() -> None:
    with pytest.raises(DocumentError, match=r"parts\[0\].length: 'long': should be a number, without quotes"):
        parse_document({"title": "x", "parts": [{"length": "long"}]}, Outer, source="a")


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1e400"])
def test_numbers_must_be_finite(tmp_path: Path, value: str) -> None:
    path = write(tmp_path, f"title: x\nparts: [{{length: {value}}}]\n")
    with pytest.raises(DocumentError, match=r"parts\[0\].length: .*finite number"):
        read_document(path, Outer)


@pytest.mark.parametrize("value", ["yes", "true", "1:30", '"5e5"', "on", "0x10", "1_000"])
def test_what_is_not_written_as_a_number_is_no_number(tmp_path: Path, value: str) -> None:
    path = write(tmp_path, f"title: x\nparts: [{{length: {value}}}]\n")
    with pytest.raises(DocumentError, match=r"parts\[0\].length: .*should be a number"):
        read_document(path, Outer)


def test_whole_numbers_are_decimal_and_pass_for_lengths(tmp_path: Path) -> None:
    assert read_document(write(tmp_path, "title: x\nparts: [{length: 010}]\n"), Outer).parts[0].length == 10.0


def test_pipes_and_devices_are_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(DocumentError, match="not an ordinary file"):
        read_mapping(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    with pytest.raises(DocumentError, match="not an ordinary file"):
        read_mapping(tmp_path / "zero.yaml")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(DocumentError, match=r"cannot be read|no such file"):
        read_mapping(tmp_path / "loop.yaml")
    with pytest.raises(DocumentError, match="cannot be read"):
        read_mapping(tmp_path / ("n" * 3000 + ".yaml"))
    with pytest.raises(DocumentError, match="control characters"):
        read_mapping(tmp_path / "a\0b.yaml")


def test_numbers_with_an_exponent_are_numbers(tmp_path: Path) -> None:
    """YAML 1.1 would read 5e5 as text."""
    for text, value in (("5e5", 5e5), ("5.0e5", 5e5), ("-1E-3", -1e-3), ("2.e+1", 20.0)):
        assert read_mapping(write(tmp_path, f"x: {text}"))["x"] == value


@pytest.mark.parametrize(
    "text",
    [
        "x: !!python/object/apply:os.system ['touch hacked']",
        "!!python/object/new:os.system [touch hacked]",
        "x: !!python/name:os.system ''",
        "x: !hand {a: 1}",
    ],
)
def test_tags_that_would_construct_objects_are_refused(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DocumentError, match=r"line 1, column \d+: the tag .* is not allowed"):
        read_mapping(write(tmp_path, text))
    assert not (tmp_path / "hacked").exists()


BAD_FILES = {
    "alias bomb": ("a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n", r"aliases \(\*name\) are not allowed"),
    "duplicate field": ("a: 1\nb: 2\na: 3\n", r"line 3, column 1: field 'a' is given twice"),
    "number as a name": ("1: a\n", r"field name 1 is not text"),
    "list": ("- 1\n- 2\n", r"the file holds a list; expected a mapping"),
    "nothing": ("", r"the file holds nothing"),
    "tab": ("a:\n\t- 1\n", r"line 2, column 1"),
    "unclosed": ("a: [1, 2\n", r"line \d+"),
    "two documents": ("a: 1\n---\nb: 2\n", r"line 2"),
    "deep": ("a: " + "[" * 3000, r"nested more than 40 levels deep"),
    "control characters": ("a: \x07\n", r"not valid YAML"),
    "tag on a value it does not fit": ("a: !!int abc\n", r"cannot be read"),
    "truth that is none": ("a: !!bool abc\n", r"cannot be read"),
    "date": ("a: !!timestamp 2020-01-01\n", r"the tag .* is not allowed"),
    "set": ("a: !!set {b}\n", r"the tag .* is not allowed"),
    "endless number": ("a: " + "9" * 5000 + "\n", r"cannot be read"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_broken_yaml_is_refused_with_its_place(tmp_path: Path, name: str) -> None:
    text, message = BAD_FILES[name]
    with pytest.raises(DocumentError, match=message):
        read_mapping(write(tmp_path, text))


def test_broken_json_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="line 2, column 1: not valid JSON"):
        read_mapping(write(tmp_path, '{"a": 1,\n}', "a.json"))
    with pytest.raises(DocumentError, match="field 'a' is given twice"):
        read_mapping(write(tmp_path, '{"a": 1, "a": 2}', "c.json"))
    with pytest.raises(DocumentError, match="nested too deeply"):
        read_mapping(write(tmp_path, "[" * 100_000, "b.json"))


def test_files_that_are_no_documents_are_refused(tmp_path: Path) -> None:
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(DocumentError, match=r"has 100.0 MB; a document file may have at most 4 MB"):
        read_mapping(big)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\x80\xff\x00abc")
    with pytest.raises(DocumentError, match="is not a text file"):
        read_mapping(binary)
    with pytest.raises(DocumentError, match="is a folder"):
        read_mapping(tmp_path)
    with pytest.raises(DocumentError, match=r"no such file; closest there: .*binary.yaml"):
        read_mapping(tmp_path / "binari.yaml")


def test_a_plan_where_a_document_belongs_is_named_as_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "ring.plan"
    file.write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(DocumentError, match="is a zip archive, as plans and runs are"):
        read_mapping(file)


def test_paths_stay_inside_their_folder_unless_told_otherwise(tmp_path: Path) -> None:
    source = str(tmp_path / "task.yaml")
    assert resolve_inside(tmp_path, "a/b.stl", source=source, where="mesh") == tmp_path / "a" / "b.stl"
    for name in ("../x.stl", "a/../../x.stl", "/etc/passwd"):
        with pytest.raises(DocumentError, match=r"leads out of the folder of task\.yaml"):
            resolve_inside(tmp_path, name, source=source, where="mesh")
    assert resolve_inside(tmp_path, "../x", source=source, where="mesh", allow_outside=True) == tmp_path.parent / "x"


def test_errors_survive_pickling_with_all_their_facts() -> None:
    error = MeshError("a.stl", [Problem("vertex 3", "is NaN", "give numbers"), Problem("", "empty")])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is MeshError
    assert isinstance(again, InputError)
    assert (again.source, again.problems, str(again)) == (error.source, error.problems, str(error))
    assert str(again) == "a.stl: vertex 3: is NaN; give numbers\na.stl: empty"


def test_a_mistake_that_is_made_a_thousand_times_is_told_ten_times():
    """People read ten lines and how many more there are; nothing looks for more than a hundred."""
    problems = [Problem(f"hypotheses[{i}].foo", "unknown field") for i in range(1500)]
    bad = DocumentError("ring.plan", problems)
    lines = str(bad).splitlines()
    assert lines[0] == "ring.plan: hypotheses[0].foo: unknown field"
    assert len(lines) == 11 and lines[-1] == "ring.plan: and 90 more at least"
    assert len(bad.problems) == MOST_PROBLEMS == 100
    assert str(DocumentError("ring.plan", problems[:50])).endswith("\nring.plan: and 40 more")
    assert len(str(DocumentError("ring.plan", problems[:10])).splitlines()) == 10


def test_a_place_that_takes_no_file_is_refused_before_the_work(tmp_path: Path) -> None:
    assert make_room(tmp_path / "new" / "a.plan").parent.is_dir()
    assert not (tmp_path / "new" / "a.plan").exists()
    with pytest.raises(OptionError, match="is a folder; name a file in it"):
        make_room(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="is no folder"):
        make_room(tmp_path / "file" / "a.plan")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="NO /proc: the only folder here that nobody can write to")
def test_a_folder_that_even_an_administrator_cannot_write_to_is_refused() -> None:
    with pytest.raises(OptionError, match="cannot be written to"):
        make_room("/proc/a.plan")
