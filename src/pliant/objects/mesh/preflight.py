"""What a mesh file says about itself, checked against what is there, before any parser sees it."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable
from functools import partial

import numpy as np

from pliant.errors import Problem
from pliant.objects.mesh.gltf import DamagedError, count_gltf

FORMATS = ("stl", "obj", "ply", "off", "glb", "gltf")
LONGEST_LINE = 10_000
"""Letters of a line of a text format."""
POINTS = ("obj", "ply", "off")
"""Formats whose files may hold points without faces."""

_PLY_SIZES = {
    "char": 1, "uchar": 1, "int8": 1, "uint8": 1, "short": 2, "ushort": 2, "int16": 2, "uint16": 2,
    "int": 4, "uint": 4, "int32": 4, "uint32": 4, "float": 4, "float32": 4, "double": 8, "float64": 8,
}  # fmt: skip


def sniff(data: bytes) -> str | None:
    """The format that the content looks like, whatever the file is called; None if it looks like none of them."""
    head = data[:1024].lstrip()
    if data[:4] == b"glTF":
        return "glb"
    if head[:3] == b"ply":
        return "ply"
    if re.match(rb"(ST|C|N|4|n)*OFF\b", head):
        return "off"
    if head[:1] == b"{" and b'"asset"' in data[:100_000]:
        return "gltf"
    if _is_text_stl(data) or _binary_stl_count(data) == (len(data) - 84) / 50:
        return "stl"
    if re.search(rb"(?m)^v[ \t]+[-+.\d]", data[:100_000]) and b"\x00" not in head:
        return "obj"
    return None


def inspect_bytes(kind: str, data: bytes, max_faces: int) -> list[Problem]:
    """Problems of a file called ``kind``: other content, declared counts that are not there, too many faces."""
    found = sniff(data)
    if found is not None and found != kind and not (kind == "stl" and _is_text_stl(data)):
        return [Problem("", f"is called .{kind} but its content is {found.upper()}", f"rename it to end in .{found}")]
    try:
        vertices, faces = _COUNTS[kind](data)
    except DamagedError as bad:
        return [bad.args[0]]
    if vertices == 0 or (faces == 0 and kind not in POINTS):
        return [Problem("", f"is empty: {vertices} vertices, {faces} faces", "export it with its triangles")]
    if faces > max_faces or vertices > 3 * max_faces:
        what = f"has {vertices} vertices and {faces} faces"
        return [Problem("", what, f"at most {3 * max_faces} and {max_faces}: decimate the mesh first")]
    return []


def is_text(data: bytes, kind: str) -> bool:
    """Whether a file of this kind is lines of text."""
    if kind != "stl":
        return kind in ("obj", "off") or (kind == "ply" and b"format binary" not in data[:1000])
    return _is_text_stl(data) or (data[:200].lstrip()[:5].lower() == b"solid" and b"endsolid" in data[-200:].lower())


def _is_text_stl(data: bytes) -> bool:
    return data[:200].lstrip()[:5].lower() == b"solid" and b"facet" in data[:2000].lower() and b"\x00" not in data[:200]


def _binary_stl_count(data: bytes) -> int:
    return int(struct.unpack_from("<I", data, 80)[0]) if len(data) >= 84 else -1


def _count_stl(data: bytes) -> tuple[int, int]:
    if is_text(data, "stl"):
        lowered = data.lower()
        begun, ended = lowered.count(b"facet normal"), lowered.count(b"endfacet")
        corners = sum(1 for _ in re.finditer(rb"\bvertex\s", lowered))
        if begun != ended or corners != 3 * begun or b"endsolid" not in lowered:
            raise DamagedError("", f"text STL begins {begun} faces, ends {ended}, and lists {corners} corners")
        return corners, begun
    if len(data) < 84:
        raise DamagedError("", f"has {len(data)} bytes; a binary STL has at least 84")
    declared, there = _binary_stl_count(data), (len(data) - 84) // 50
    if declared > there:
        raise DamagedError("byte 80", f"binary STL declares {declared} faces but holds {there}")
    if declared > 0 and there > declared + 1 + declared // 10:
        raise DamagedError("byte 80", f"binary STL declares {declared} faces but has room for {there}")
    return 3 * declared, declared


def _count_ply(data: bytes) -> tuple[int, int]:
    head, mark, _ = data[:100_000].partition(b"end_header")
    if not data.lstrip().startswith(b"ply") or not mark:
        raise DamagedError("", "has no PLY header (it begins 'ply' and ends 'end_header')")
    binary = b"format binary" in head
    counts: dict[str, int] = {}
    needed, row, element = 0, 0, ""
    for line in head.decode("latin-1").splitlines():
        words = line.split()
        if words[:1] == ["element"]:
            if len(words) != 3 or words[1] in counts:
                raise DamagedError("header", f"'{line.strip()[:60]}'", "'element NAME COUNT', each name once")
            needed += row * counts.get(element, 0)
            element, row = words[1], 0
            counts[element] = _count(words[2], "header", "'element NAME COUNT'")
        elif words[:1] == ["property"] and len(words) >= 3:
            is_list = words[1] == "list"
            # A list takes at least its count; three vertex numbers follow in the smallest face.
            width = _PLY_SIZES.get(words[2 if is_list else 1], 1)
            if is_list and element == "face" and len(words) == 5 and words[4].startswith("vertex_ind"):
                width += 3 * _PLY_SIZES.get(words[3], 1)
                row += width if binary else 8
            else:
                row += width if binary else 2
    needed += row * counts.get(element, 0)
    declared = ", ".join(f"{count} {name}" for name, count in counts.items())
    body = data[len(head) + len(mark) :]
    if not binary:
        _check_lines(body)
        # One line for each element; the last may lack its line break, and one short line is a cut line. Not split:
        # a large file would take many times its size in memory.
        lines = sum(1 for line in io.BytesIO(body.replace(b"\r", b"\n")) if line.strip())
        if lines < sum(counts.values()):
            raise DamagedError("header", f"declares {declared} but {lines} lines follow")
    elif len(body) - 1 < needed:
        there = max(len(body) - 1, 0)
        raise DamagedError("header", f"declares {declared}, at least {needed} bytes, but {there} follow")
    return counts.get("vertex", 0), counts.get("face", 0)


def _count(word: str, where: str, allowed: str) -> int:
    """A number of things as a header declares it."""
    if not re.fullmatch("[0-9]{1,15}", word):
        raise DamagedError(where, f"'{word[:60]}' is no count", allowed)
    return int(word)


def _check_lines(data: bytes) -> None:
    """A line is a corner or a face: one with a thousand corners is no face, and would become a thousand triangles."""
    if (long := max(map(len, io.BytesIO(data.replace(b"\r", b"\n"))))) > LONGEST_LINE or b"\\\n" in data:
        what = f"has a line of {long} letters" if long > LONGEST_LINE else "has lines that go on in the next"
        raise DamagedError("", what, "one corner or face on each line, with a few corners")


def _count_off(data: bytes) -> tuple[int, int]:
    if b"#" in data:
        data = re.sub(rb"#[^\n]*", b"", data)
    head = data[:1000].split()
    if not head or not head[0].upper().endswith(b"OFF"):
        raise DamagedError("line 1", "does not begin with OFF")
    _check_lines(data)
    if len(head) < 4:
        raise DamagedError("line 2", "has no counts", "'VERTICES FACES EDGES'")
    vertices, faces = (_count(word.decode("latin-1"), "line 2", "'VERTICES FACES EDGES'") for word in head[1:3])
    # Words are counted by where they begin: splitting a large file would take thirty times its size in memory.
    blank = np.concatenate([[True], np.frombuffer(data, dtype=np.uint8) <= 32])
    numbers = int(np.count_nonzero(blank[:-1] & ~blank[1:])) - 4
    if numbers < 3 * vertices + 4 * faces:
        raise DamagedError("line 2", f"declares {vertices} vertices and {faces} faces but {numbers} numbers follow")
    return vertices, faces


def _count_obj(data: bytes) -> tuple[int, int]:
    if b"\x00" in data[:4096]:
        raise DamagedError("", "is not a text file; an OBJ is")
    # Spaces and tabs only: a pattern that may cross line ends would look for its match from each of many empty lines.
    vertices, faces = (
        sum(1 for _ in re.finditer(rb"(?:^|[\r\n])[ \t]*" + sign + rb"[ \t]", data)) for sign in (b"v", b"f")
    )
    if not vertices:
        raise DamagedError("", "has no line that begins with 'v': there is no vertex", "export it as an OBJ again")
    _check_lines(data)
    return vertices, faces


_COUNTS: dict[str, Callable[[bytes], tuple[int, int]]] = {
    "stl": _count_stl,
    "ply": _count_ply,
    "off": _count_off,
    "obj": _count_obj,
    "glb": partial(count_gltf, binary=True),
    "gltf": partial(count_gltf, binary=False),
}
"""Vertices and faces that a file has, after its own counts were compared with what is there."""
