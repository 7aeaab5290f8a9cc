"""XML read with suspicion: no document types, no entities, bounded in size and depth; every element knows its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from pliant.errors import UNPRINTABLE, Problem, RobotError, printable
from pliant.file_bytes import read_bytes

MAX_BYTES = 20_000_000
MAX_DEPTH = 60
MAX_ELEMENTS, MAX_ATTRIBUTES = 500_000, 2_000_000


@dataclass(slots=True)
class Element:
    """An XML element: tag, attributes, children and the line it starts on. Text between elements is not kept."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def first(self, tag: str) -> Element | None:
        """The first child called ``tag``, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, tag: str) -> list[Element]:
        """All children called ``tag``, in order."""
        return [child for child in self.children if child.tag == tag]


def read_xml(path: Path) -> Element:
    """The root element of an XML file."""
    data = read_bytes(path, most=MAX_BYTES, kind="a robot description", error=RobotError, suffixes=(".urdf", ".xml"))
    return parse_xml(data, source=str(path))


def parse_xml(data: bytes | str, *, source: str) -> Element:
    """Parse XML; a document type (and with it any entity definition) is refused, so nothing can expand."""
    if (signs := (data.count("=") if isinstance(data, str) else data.count(b"="))) > MAX_ATTRIBUTES:
        # Before they are read: an attribute takes six bytes in a file and twenty times as much in memory.
        raise RobotError(source, Problem("", f"has {signs} attributes", f"at most {MAX_ATTRIBUTES}: this is no robot"))
    parser = expat.ParserCreate()
    stack: list[Element] = []
    roots: list[Element] = []
    count = 0

    def refuse(what: str, allowed: str) -> None:
        raise RobotError(source, Problem(f"line {parser.CurrentLineNumber}", what, allowed))

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            refuse(f"more than {MAX_ELEMENTS} elements", "this is no robot")
        texts = (tag, *attributes, *attributes.values())
        if any(UNPRINTABLE.search(text) or "\n" in text for text in texts):  # a line break as a number (&#10;)
            refuse(f"<{printable(tag, 60)}> has a control character", "write plain text")
        if len(stack) >= MAX_DEPTH:
            refuse(f"elements nested more than {MAX_DEPTH} deep", "a URDF is nearly flat")
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def doctype(*_: object) -> None:
        refuse("has a document type (DOCTYPE), which could define entities", "remove it; a URDF needs none")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: stack.pop()
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as bad:
        what = f"not valid XML: {expat.ErrorString(bad.code)}"
        raise RobotError(source, Problem(f"line {bad.lineno}, column {bad.offset + 1}", what)) from None
    except (ValueError, LookupError) as bad:
        raise RobotError(source, Problem("line 1", f"its encoding cannot be read: {bad}", "save it as UTF-8")) from None
    return roots[0]
