"""What a glTF file says about itself, checked against what is there, before any parser sees it."""

from __future__ import annotations

import base64
import binascii
import struct
from collections import Counter
from typing import Any

from pliant.errors import Problem
from pliant.json_text import read_json

FRESH = "the file is cut off or damaged: export or copy it again"
MOST_VALUES = 500_000
"""In the JSON of the file."""
MOST_PARTS, MOST_DEPTH = 2000, 50
"""Nodes, meshes, accessors and the like, of each kind; nodes below each other."""
_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
_NUMBERS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


class DamagedError(Exception):
    """What a file says about itself is not true; the problem is its argument."""

    def __init__(self, where: str, what: str, allowed: str = FRESH) -> None:
        super().__init__(Problem(where, what, allowed))


def count_gltf(data: bytes, *, binary: bool) -> tuple[int, int]:
    """Vertices and faces of a glTF or GLB, after its own counts were compared with what is there."""
    try:
        tree = _tree(data, binary=binary)
    except (ValueError, struct.error) as bad:
        raise DamagedError("", f"is not a whole glTF ({str(bad)[:80]})") from None
    for kind in ("buffers", "bufferViews", "accessors", "meshes", "nodes", "scenes"):
        if (count := len(_dicts(tree.get(kind)))) > MOST_PARTS:
            raise DamagedError(kind, f"are {count}", f"at most {MOST_PARTS}: join the parts of the mesh")
    _check_buffers(tree)
    counts = _accessor_counts(tree, len(data))
    _check_tree(_dicts(tree.get("nodes")))
    parts = sum(len(_dicts(mesh.get("primitives"))) for mesh in _dicts(tree.get("meshes")))
    if parts > MOST_PARTS:
        raise DamagedError("meshes", f"have {parts} parts", f"at most {MOST_PARTS}: join them")
    size = [_faces(mesh, counts) for mesh in _dicts(tree.get("meshes"))]
    used = [node["mesh"] for node in _dicts(tree.get("nodes")) if isinstance(node.get("mesh"), int)]
    return max(counts, default=0), sum(size[k] for k in used if 0 <= k < len(size))


def _tree(data: bytes, *, binary: bool) -> dict[str, Any]:
    if binary:
        magic, _, length, chunk, kind = struct.unpack_from("<4sIII4s", data)
        if magic != b"glTF" or kind != b"JSON":
            raise ValueError("it does not begin as a GLB file does")
        if length > len(data) or 20 + chunk > len(data):
            raise ValueError(f"it declares {length} bytes but has {len(data)}")
        data = data[20 : 20 + chunk]
    tree = read_json(data.decode("utf-8"), most_values=MOST_VALUES)
    if not isinstance(tree, dict):
        raise ValueError("it holds no JSON object")
    return tree


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _check_buffers(tree: dict[str, Any]) -> None:
    """Everything is inside."""
    for number, entry in enumerate(_dicts(tree.get("buffers"))):
        if (uri := entry.get("uri")) is None:
            continue
        where = f"buffers[{number}].uri"
        if not str(uri).startswith("data:"):
            what = f"refers to another file '{str(uri)[:60]}'"
            raise DamagedError(where, what, "export it as one .glb file")
        try:
            base64.b64decode(str(uri).partition(",")[2], validate=True)
        except (binascii.Error, ValueError):
            raise DamagedError(where, "does not hold valid base64 data") from None


def _accessor_counts(tree: dict[str, Any], room: int) -> list[int]:
    """How many items each accessor has; all together they need no more than ``room`` bytes.

    A parser makes room for what an accessor claims, and fills it with zeros where it has no data.
    """
    counts, needed = [], 0
    for number, entry in enumerate(_dicts(tree.get("accessors"))):
        count, where = entry.get("count", 0), f"accessors[{number}]"
        if type(count) is not int or count < 0:
            raise DamagedError(where, f"its count {str(count)[:40]} is not a number of things")
        if not isinstance(entry.get("bufferView"), int):
            allowed = "export it uncompressed: meshes packed by extensions are not read"
            raise DamagedError(where, f"has {count} items but no data", allowed)
        width = _BYTES.get(_plain(entry.get("componentType")), 1) * _NUMBERS.get(_plain(entry.get("type")), 1)
        needed += count * width
        counts.append(count)
    if needed > room:
        raise DamagedError("accessors", f"claim {needed} bytes of a file of {room}")
    return counts


def _plain(value: Any) -> Any:
    """For a look into a table: lists cannot be looked up."""
    return value if isinstance(value, int | str) else None


def _check_tree(nodes: list[dict[str, Any]]) -> None:
    """Each node hangs on one other at most, not too far down: a pose is made of all those above."""
    children = (node.get("children") for node in nodes)
    below = [[k for k in named if type(k) is int] if isinstance(named, list) else [] for named in children]
    for child, parents in Counter(k for children in below for k in children).items():
        if parents > 1 or not 0 <= child < len(nodes):
            raise DamagedError(f"nodes[{child}]", f"is a child {parents} times, of {len(nodes)} nodes")
    level, depth = sorted(set(range(len(nodes))) - {k for children in below for k in children}), 0
    reached = len(level)
    while level:
        depth += 1
        level = [k for node in level for k in below[node]]
        reached += len(level)
    if depth > MOST_DEPTH or reached < len(nodes):
        what = f"hang below each other {depth} times" if reached == len(nodes) else "hang on themselves"
        raise DamagedError("nodes", what, f"a tree of at most {MOST_DEPTH} levels")


def _faces(mesh: dict[str, Any], counts: list[int]) -> int:
    total = 0
    for primitive in _dicts(mesh.get("primitives")):
        attributes = primitive.get("attributes")
        position = attributes.get("POSITION") if isinstance(attributes, dict) else None
        accessor = primitive.get("indices", position)
        if isinstance(accessor, int) and 0 <= accessor < len(counts):
            # A strip has a face for almost every corner, a list one for three.
            faces = counts[accessor] // 3 if primitive.get("mode", 4) == 4 else counts[accessor]
            total += max(faces, 1)
    return total
