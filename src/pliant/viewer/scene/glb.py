"""A coloured triangle surface as binary glTF 2.0 (Khronos 2021), the one format that a browser takes with colours."""

from __future__ import annotations

import json
import struct

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.viewer.scene.colours import linear_light

_FLOAT, _USHORT, _UINT = 5126, 5123, 5125
_TRIANGLES = 4


def glb_bytes(
    vertices: ArrayLike,
    faces: ArrayLike,
    colours: ArrayLike,
    *,
    roughness: float = 0.55,
    opacity: float = 1.0,
    inside: bool = True,
) -> bytes:
    """The file's content.

    Args:
        vertices: n x 3 [m].
        faces: m x 3.
        colours: n x 3, sRGB 0..1; the file wants linear light.
        roughness: of the surface, 0 mirror .. 1 chalk.
        opacity: below 1 what lies behind is seen through it, further surfaces of the same kind included.
        inside: whether it is seen from its inner side too.
    """
    surface: dict[str, object] = {"metallicFactor": 0.0, "roughnessFactor": roughness}
    material: dict[str, object] = {"pbrMetallicRoughness": surface, "doubleSided": inside}
    if opacity < 1.0:
        surface["baseColorFactor"] = [1.0, 1.0, 1.0, opacity]
        material["alphaMode"] = "BLEND"
    v = np.ascontiguousarray(vertices, dtype="<f4")
    small = len(v) < 65536
    f = np.ascontiguousarray(faces, dtype="<u2" if small else "<u4")
    c: NDArray[np.uint16] = np.full((len(v), 4), 65535, dtype="<u2")
    c[:, :3] = np.round(65535 * np.clip(linear_light(colours), 0.0, 1.0))
    chunks, views, offset = [], [], 0
    for array, target in ((v, 34962), (c, 34962), (f, 34963)):
        data = array.tobytes()
        views.append({"buffer": 0, "byteOffset": offset, "byteLength": len(data), "target": target})
        data += b"\0" * (-len(data) % 4)
        offset += len(data)
        chunks.append(data)
    document = {
        "asset": {"version": "2.0", "generator": "pliant"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [
            {
                "primitives": [
                    {"attributes": {"POSITION": 0, "COLOR_0": 1}, "indices": 2, "material": 0, "mode": _TRIANGLES}
                ]
            }
        ],
        "materials": [material],
        "buffers": [{"byteLength": offset}],
        "bufferViews": views,
        "accessors": [
            {
                "bufferView": 0,
                "componentType": _FLOAT,
                "count": len(v),
                "type": "VEC3",
                "min": v.min(axis=0).tolist(),
                "max": v.max(axis=0).tolist(),
            },
            {"bufferView": 1, "componentType": _USHORT, "normalized": True, "count": len(v), "type": "VEC4"},
            {"bufferView": 2, "componentType": _USHORT if small else _UINT, "count": f.size, "type": "SCALAR"},
        ],
    }
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(chunks)
    return b"".join(
        [
            struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(body)),
            struct.pack("<I4s", len(text), b"JSON"),
            text,
            struct.pack("<I4s", len(body), b"BIN\0"),
            body,
        ]
    )
