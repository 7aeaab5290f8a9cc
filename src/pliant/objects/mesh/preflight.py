"""What a mesh file says about itself, checked against what is there, before any parser sees it."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from typing import Any

import numpy as np

from pliant.errors import Problem

FORMATS = ("stl", "obj", "ply", "off", "glb", "gltf")
FRESH = "the file is cut off or damaged: export or copy it again"

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
    checks = {"stl": _inspect_stl, "ply": _inspect_ply, "off": _inspect_off, "obj": _inspect_obj}
    if kind in checks:
        return checks[kind](data, max_faces)
    return _inspect_gltf(data, max_faces, binary=kind == "glb")


def _too_many(count: int, max_faces: int) -> list[Problem]:
    if count > max_faces:
        return [Problem("", f"has {count} faces", f"at most {max_faces}: decimate the mesh first")]
    return []


def _is_text_stl(data: bytes) -> bool:
    return data[:200].lstrip()[:5].lower() == b"solid" and b"facet" in data[:2000].lower() and b"\x00" not in data[:200]


def _binary_stl_count(data: bytes) -> int:
    return int(struct.unpack_from("<I", data, 80)[0]) if len(data) >= 84 else -1


def _inspect_stl(data: bytes, max_faces: int) -> list[Problem]:
    if _is_text_stl(data) or (data[:200].lstrip()[:5].lower() == b"solid" and b"endsolid" in data[-200:].lower()):
        lowered = data.lower()
        begun, ended = lowered.count(b"facet normal"), lowered.count(b"endfacet")
        corners = len(re.findall(rb"\bvertex\s", lowered))
        if begun != ended or corners != 3 * begun or b"endsolid" not in lowered:
            return [Problem("", f"text STL begins {begun} faces, ends {ended}, and lists {corners} corners", FRESH)]
        if begun == 0:
            return [Problem("", "is empty: a text STL without a single face", "export it with its triangles")]
        return _too_many(begun, max_faces)
    if len(data) < 84:
        return [Problem("", f"has {len(data)} bytes; a binary STL has at least 84", FRESH)]
    declared, there = _binary_stl_count(data), (len(data) - 84) // 50
    if declared > there:
        return [Problem("byte 80", f"binary STL declares {declared} faces but holds {there}", FRESH)]
    if declared == 0:
        return [Problem("byte 80", "is empty: a binary STL of 0 faces", "export it with its triangles")]
    if there > declared + 1 + declared // 10:
        return [Problem("byte 80", f"binary STL declares {declared} faces but has room for {there}", FRESH)]
    return _too_many(declared, max_faces)


def _inspect_ply(data: bytes, max_faces: int) -> list[Problem]:
    head, mark, _ = data[:100_000].partition(b"end_header")
    if not data.lstrip().startswith(b"ply") or not mark:
        return [Problem("", "has no PLY header (it begins 'ply' and ends 'end_header')", FRESH)]
    size = len(data) - len(head) - len(mark) - 1
    binary = b"format binary" in head
    counts: dict[str, int] = {}
    needed, row, element = 0, 0, ""
    for line in head.decode("latin-1").splitlines():
        words = line.split()
        if words[:1] == ["element"]:
            if len(words) != 3 or not words[2].isdigit():
                return [Problem("header", f"'{line.strip()[:60]}'", "'element NAME COUNT'")]
            needed += row * counts.get(element, 0)
            element, row = words[1], 0
            counts[element] = int(words[2])
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
    if counts.get("face", 0) == 0 or counts.get("vertex", 0) == 0:
        return [Problem("header", f"is empty: declares {declared or 'no elements'}", "export it with its triangles")]
    if problems := _too_many(max(counts.values()), 3 * max_faces):
        return problems
    if not binary:
        # One line for each element; the last may lack its line break, and one short line is a cut line.
        lines = [line for line in data[len(head) + len(mark) :].splitlines() if line.strip()]
        if len(lines) < sum(counts.values()):
            return [Problem("header", f"declares {declared} but {len(lines)} lines follow", FRESH)]
    elif size < needed:
        return [Problem("header", f"declares {declared}, at least {needed} bytes, but {max(size, 0)} follow", FRESH)]
    return _too_many(counts["face"], max_faces)


def _inspect_off(data: bytes, max_faces: int) -> list[Problem]:
    if b"#" in data:
        data = re.sub(rb"#[^\n]*", b"", data)
    head = data[:1000].split()
    if not head or not head[0].upper().endswith(b"OFF"):
        return [Problem("line 1", "does not begin with OFF", FRESH)]
    if len(head) < 4 or not all(word.isdigit() for word in head[1:3]):
        return [Problem("line 2", "has no counts", "'VERTICES FACES EDGES'")]
    vertices, faces = int(head[1]), int(head[2])
    if vertices == 0 or faces == 0:
        return [Problem("line 2", f"is empty: {vertices} vertices, {faces} faces", "export it with its triangles")]
    # Words are counted by where they begin: splitting a large file would take thirty times its size in memory.
    blank = np.concatenate([[True], np.frombuffer(data, dtype=np.uint8) <= 32])
    numbers = int(np.count_nonzero(blank[:-1] & ~blank[1:])) - 4
    if numbers < 3 * vertices + 4 * faces:
        return [
            Problem("line 2", f"declares {vertices} vertices and {faces} faces but {numbers} numbers follow", FRESH)
        ]
    return _too_many(max(faces, vertices // 3), max_faces)


def _inspect_obj(data: bytes, max_faces: int) -> list[Problem]:
    if b"\x00" in data[:4096]:
        return [Problem("", "is not a text file; an OBJ is", FRESH)]
    text = b"\n" + data
    vertices, faces = text.count(b"\nv "), text.count(b"\nf ")
    if not vertices and not re.search(rb"\n\s*v\s", text[:100_000]):
        return [Problem("", "has no line that begins with 'v': there is no vertex", "export it as an OBJ again")]
    if not faces and not re.search(rb"\n\s*f\s", text):
        return [Problem("", f"is empty: {vertices} vertices and no face", "export it with its triangles")]
    if vertices > 3 * max_faces:
        return [Problem("", f"has {vertices} vertices", f"at most {3 * max_faces}: decimate the mesh first")]
    return _too_many(faces, max_faces)


def _inspect_gltf(data: bytes, max_faces: int, *, binary: bool) -> list[Problem]:
    try:
        tree = _gltf_tree(data, binary=binary)
    except (ValueError, struct.error, RecursionError) as bad:
        return [Problem("", f"is not a whole glTF ({str(bad)[:80]})", FRESH)]
    problems = []
    for kind in ("buffers", "images"):
        for number, entry in enumerate(_dicts(tree.get(kind))):
            uri = entry.get("uri")
            if kind == "buffers" and uri is not None and not str(uri).startswith("data:"):
                problems.append(
                    Problem(
                        f"{kind}[{number}].uri",
                        f"refers to another file '{str(uri)[:60]}'",
                        "export it as one .glb file",
                    )
                )
            elif kind == "buffers" and uri is not None:
                try:
                    base64.b64decode(str(uri).partition(",")[2], validate=True)
                except (binascii.Error, ValueError):
                    problems.append(Problem(f"{kind}[{number}].uri", "does not hold valid base64 data", FRESH))
    if problems:
        return problems
    counts = [entry.get("count", 0) for entry in _dicts(tree.get("accessors"))]
    if any(not isinstance(count, int) or count > 3 * max_faces for count in counts):
        return _too_many(max((c for c in counts if isinstance(c, int)), default=0) // 3, max_faces) or [
            Problem("accessors", "a count is not a number", FRESH)
        ]
    size = [_primitive_faces(mesh, counts) for mesh in _dicts(tree.get("meshes"))]
    used = [node["mesh"] for node in _dicts(tree.get("nodes")) if isinstance(node.get("mesh"), int)]
    faces = sum(size[k] for k in used if 0 <= k < len(size))
    if faces == 0:
        return [Problem("", "is empty: no node of it shows a triangle", "export it with its triangles")]
    return _too_many(faces, max_faces)


def _gltf_tree(data: bytes, *, binary: bool) -> dict[str, Any]:
    if binary:
        magic, _, length, chunk, kind = struct.unpack_from("<4sIII4s", data)
        if magic != b"glTF" or kind != b"JSON":
            raise ValueError("it does not begin as a GLB file does")
        if length > len(data) or 20 + chunk > len(data):
            raise ValueError(f"it declares {length} bytes but has {len(data)}")
        data = data[20 : 20 + chunk]
    tree = json.loads(data.decode("utf-8"))
    if not isinstance(tree, dict):
        raise ValueError("it holds no JSON object")
    return tree


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _primitive_faces(mesh: dict[str, Any], counts: list[int]) -> int:
    total = 0
    for primitive in _dicts(mesh.get("primitives")):
        attributes = primitive.get("attributes")
        position = attributes.get("POSITION") if isinstance(attributes, dict) else None
        accessor = primitive.get("indices", position)
        if isinstance(accessor, int) and 0 <= accessor < len(counts):
            total += max(counts[accessor] // 3, 1)
    return total
