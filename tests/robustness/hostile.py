"""Files of strangers that are long lists of small wrong things, for every format, and what measures commands on them.

    python tests/robustness/hostile.py FOLDER [NAME...]

prints a line of JSON for each: exit code, words, CPU time for a size and for twice that size. The whole process may
take a gigabyte more than its libraries; who asks for more gets a MemoryError, which a command answers with exit code 3.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import math
import os
import resource
import struct
import sys
import time
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

MEMORY = 1_000_000_000
REPEATS = 10
GROWTH, SHORTEST = 2.5, 0.1
"""Of the time for twice the size, over that for the size; what takes less says nothing of how it grows [s]."""
Maker = Callable[[int], bytes]


class Hostile(NamedTuple):
    """Files with something wrong in each of ``size`` places, and the command that gets them."""

    file: str
    make: Maker
    size: int
    command: tuple[str, ...] = ("check",)


def _task(scene: str) -> bytes:
    rest = (
        "robot: {hand: parallel_gripper}\nobject: {shape: {sphere: {radius: 0.03}}, material: {young: 1, poisson: 0}}\n"
    )
    return (rest + scene).encode()


def _items(item: str, before: str = "", after: str = "") -> Maker:
    return lambda n: f"{before}[{', '.join([item] * n)}]{after}".encode()


HAND = "kind: hand\nversion: 1\nname: x\nurdf: r.urdf\nmount: m\n"
GRASP = "external: {force: [0, 0, 1]}\ncontacts: "
PATH = "duration: 1\nframes: "


def _robot(element: Callable[[int], str]) -> Maker:
    return lambda n: f'<robot name="r">{chr(10).join(map(element, range(n)))}</robot>'.encode()


def _links(body: str) -> Maker:
    return lambda n: f'<robot name="r"><link name="a">{body * n}</link></robot>'.encode()


def _unknown_parents(n: int) -> bytes:
    """The most links there may be, whose names are alike: each unknown one is compared with them."""
    links = "".join(f'<link name="{"ab" * 30}{i}"/>' for i in range(n))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="{"ba" * 30}{i}"/><child link="x{i}"/></joint>' for i in range(n)
    )
    return f'<robot name="r">{links}{joints}</robot>'.encode()


@lru_cache
def _members(kind: str) -> dict[str, bytes]:
    """Of a sound plan or run log."""
    from made_plans import ball_plan
    from pliant.files import save_plan

    path = Path(f"sound.{kind}")
    if kind == "plan":
        save_plan(ball_plan(), path)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    document = {
        "kind": "pliant run", "version": 1, "joints": [], "contacts": [], "phases": ["approach"], "arrays": [],
        "quantities": ["time", "phase"], "events": [], "facts": {},
    }  # fmt: skip
    return {"run.json": json.dumps(document).encode(), "table/time.npy": _numbers(5), "table/phase.npy": _numbers(5)}


def _numbers(count: int) -> bytes:
    import numpy as np

    from pliant.plain_arrays import array_bytes

    return array_bytes(np.zeros(count))


def packed(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def _archive(kind: str, **changes: Callable[[int], Any]) -> Maker:
    def make(n: int) -> bytes:
        members = _members(kind)
        fields = json.loads(members[f"{kind}.json"])
        fields |= {name: change(n) for name, change in changes.items()}
        return packed(members | {f"{kind}.json": json.dumps(fields).encode()})

    return make


def _one_twice(n: int) -> list[dict[str, Any]]:
    number = {"stage": "closing", "reason": "never touched", "margin": 0, "unit": "", "detail": ""}
    return [{"number": i, **number} for i in (*range(n), 0)]


def _counted(n: int) -> dict[str, int]:
    return {"closing: never touched": n + 1}


def _gltf(**parts: Callable[[int], Any]) -> Maker:
    def make(n: int) -> bytes:
        tree: dict[str, Any] = {"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}]}
        return json.dumps(tree | {name: part(n) for name, part in parts.items()}).encode()

    return make


def _sheets(n: int) -> bytes:
    """Triangles above each other: each is a part of its own, and a hole to be closed."""
    lines = [f"v 0 0 {z}\nv 0.2 0 {z}\nv 0 0.2 {z}\nf -3 -2 -1\n" for z in (0.2 * i / n for i in range(n))]
    return "".join(lines).encode()


def _fan(n: int) -> bytes:
    """Two cones on one rim: the boxes around their faces all meet at the tips."""
    turns = [2 * math.pi * i / n for i in range(n)]
    rim = "".join(f"v {0.1 * math.cos(t):.9f} {0.1 * math.sin(t):.9f} 0\n" for t in turns)
    faces = "".join(f"f 1 {i + 3} {(i + 1) % n + 3}\nf 2 {(i + 1) % n + 3} {i + 3}\n" for i in range(n))
    return f"v 0 0 0.1\nv 0 0 -0.1\n{rim}{faces}".encode()


SOLID = "solid x\nfacet normal 0 0 1\nouter loop\n" + "vertex %g %g %g\n" * 3 + "endloop\nendfacet\nendsolid x\n"
PLY = (
    "ply\nformat ascii 1.0\nelement vertex {n}\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
)
PLY += "property list uchar int vertex_indices\nend_header\n"

HOSTILE = {
    # YAML and JSON
    "task_scene": Hostile("s.yaml", lambda n: _task(_items("1", "scene: ")(n).decode()), 15_000),
    "task_obstacles": Hostile("s.yaml", lambda n: _task(_items("{bix: 1}", "scene: ")(n).decode()), 5_000),
    "task_pushes": Hostile("s.yaml", lambda n: _task(_items("{}", "task: {disturbances: ", "}")(n).decode()), 8_000),
    "task_joints": Hostile(
        "t.json",
        lambda n: json.dumps({"robot": {"hand": "parallel_gripper", "start_deg": {f"j{i}": "x" for i in range(n)}}})
        .encode(),
        9_000,
    ),
    "hand_fingers": Hostile("hand.yaml", _items("1", HAND + "fingers: "), 15_000),
    "hand_fields": Hostile("hand.yaml", lambda n: (HAND + "".join(f"fun{i}: 1\n" for i in range(n))).encode(), 5_000),
    "grasp_contacts": Hostile("g.yaml", _items("{point: 1}", GRASP), 5_000),
    "path_frames": Hostile("p.yaml", _items("{link: 1}", PATH), 6_000, ("servo", "kawasaki_fs020n")),
    "calibration_notes": Hostile(
        "t.calibration.yaml", _items("{kind: 1}", "kind: calibration\nnotes: "), 5_000, ("check", "t.yaml")
    ),
    "keys_doubled": Hostile(
        "k.json", lambda n: b"{" + b", ".join(b'"k%d": 1' % i for i in (*range(n), n - 1)) + b"}", 40_000
    ),
    "many_values": Hostile("k.json", lambda n: b'{"robot": [' + b"1," * n + b"1]}", 900_000),
    "yaml_directives": Hostile("d.yaml", lambda n: "".join(f"%TAG !a{i}! x\n" for i in range(n)).encode(), 40_000),
    "deep_json": Hostile("k.json", lambda n: b'{"robot": ' + b"[" * n, 1_000_000),
    "control_characters": Hostile("k.json", lambda n: b'{"robot": [' + b'"\\u001b",' * n + b"1]}", 90_000),
    # robots
    "urdf_joints": Hostile("r.urdf", _unknown_parents, 1_000),
    "urdf_fixed_joints": Hostile("r.urdf", _robot(lambda i: f'<joint name="j{i}" type="fixed"/>'), 40_000),
    "urdf_same_links": Hostile("r.urdf", _robot(lambda i: '<link name="a"/>'), 1_000),
    "urdf_shapes": Hostile("r.urdf", _links("<visual/>"), 40_000),
    "urdf_numbers": Hostile(
        "r.urdf", lambda n: _links(f'<inertial><mass value="{"1 " * n}"/></inertial>')(1), 2_000_000
    ),
    "urdf_tags": Hostile("r.urdf", _links("<vizual/>"), 60_000),
    "urdf_attributes": Hostile(
        "r.urdf", lambda n: f'<robot {" ".join(f"a{i}=" + chr(34) * 2 for i in range(n))}/>'.encode(), 60_000
    ),
    # meshes
    "obj_blank": Hostile("m.obj", lambda n: b"v 0 0 0\n" + b"\n" * n, 1_500_000),
    "obj_spaces": Hostile("m.obj", lambda n: b"v 0 0 0\n" + b" \t\r" * n, 1_000_000),
    "obj_faces": Hostile("m.obj", lambda n: b"v 0 0 0\n" + b"f 1 2 99\n" * n, 60_000),
    "obj_materials": Hostile(
        "m.obj", lambda n: b"v 0 0 0\n" + b"".join(b"usemtl m%d\nf 1 1 1\n" % i for i in range(n)), 20_000
    ),
    "grasp_one_point": Hostile(
        "g.yaml", _items("{point: [0, 0, 0], normal: [1, 0, 0], friction: 0}", GRASP), 400, ("forces",)
    ),
    "obj_words": Hostile("m.obj", lambda n: b"v a b c\n" * n + b"f 1 1 1\n", 60_000),
    "obj_open_parts": Hostile("m.obj", _sheets, 3_000),
    "ply_words": Hostile("m.ply", lambda n: PLY.format(n=n).encode() + b"x y z\n" * n + b"3 0 1 2\n", 100_000),
    "ply_elements": Hostile("m.ply", lambda n: b"ply\nformat ascii 1.0\n" + b"element x 1\n" * n, 300_000),
    "off_words": Hostile("m.off", lambda n: f"OFF\n{n} 1 0\n".encode() + b"x y z\n" * n + b"3 0 1 2\n", 100_000),
    "off_comments": Hostile("m.off", lambda n: b"OFF\n" + b"#\n" * n, 1_000_000),
    "stl_words": Hostile("m.stl", lambda n: b"solid x\nfacet normal\n" + b"vertex x\n" * n + b"endsolid\n", 300_000),
    "stl_solids": Hostile(
        "m.stl", lambda n: (SOLID % (0, 0, 0, 0.1, 0, 0, 0, 0.1, 0)).encode() * n, 10_000
    ),
    "stl_letters": Hostile("m.stl", lambda n: b"solid \xff\xe9\n" + b"\xff" * n, 10_000_000),
    "obj_backwards": Hostile("m.obj", lambda n: b"v 0 0 0\nv 0 0 1\nv 0 1 0\n" + b"f -1 -2 -3\n" * n, 60_000),
    "obj_fan": Hostile("m.obj", _fan, 3_000),
    "stl_needles": Hostile("m.stl", lambda n: bytes(80) + struct.pack("<I", n) + bytes(50 * n), 20_000),
    "gltf_accessors": Hostile("m.gltf", _gltf(accessors=lambda n: [{"count": 9, "type": "MAT4"}] * n), 20_000),
    "gltf_claims": Hostile("m.gltf", _gltf(accessors=lambda n: [{"count": n, "type": "MAT4"}]), 6_000_000),
    "gltf_nodes": Hostile("m.gltf", _gltf(nodes=lambda n: [{"children": [i + 1]} for i in range(n)]), 60_000),
    # archives
    "plan_rejections": Hostile("p.plan", _archive("plan", rejections=_one_twice, counts=_counted), 20_000),
    "plan_wrong_rejections": Hostile("p.plan", _archive("plan", rejections=lambda n: [1] * n), 300_000),
    "plan_counts": Hostile("p.plan", _archive("plan", counts=lambda n: {f"k{i}": -1 for i in range(n)}), 9_000),
    "plan_large": Hostile("p.plan", _archive("plan", hypotheses=lambda n: [{"a": 0.123456789}] * n), 500_000),
    "plan_texts": Hostile("p.plan", _archive("plan", hypotheses=lambda n: [{"fingers": [1] * n}]), 300_000),
    "run_events": Hostile("r.run", _archive("run", events=lambda n: [1] * n), 100_000),
    "run_joints": Hostile("r.run", _archive("run", joints=lambda n: ["j"] * n), 100_000),
    "zip_members": Hostile("p.plan", lambda n: packed({f"x{i}": b"" for i in range(n)}), 9_000),
    "recording_arrays": Hostile(
        "r.npz", lambda n: packed({f"g{i}_frames.npy": b"x" for i in range(n)}), 1_900, ("recording",)
    ),
    "recording_grasps": Hostile(
        "r.npz", lambda n: packed({f"g{i}_frames.npy": _numbers(1) for i in range(n)}), 1_900, ("recording",)
    ),
}  # fmt: skip


def measured(hostile: Hostile) -> dict[str, Any]:
    """What the command answers to both sizes, and how long it takes."""
    from pliant.cli import run_command

    best = [float("inf")] * 2
    codes: list[int] = []
    words = ""
    for _ in range(REPEATS):
        for k, size in enumerate((hostile.size, 2 * hostile.size)):
            Path(hostile.file).write_bytes(hostile.make(size))
            out = io.StringIO()
            gc.collect()
            gc.disable()  # or the larger one may pay for what both have left behind
            began = time.process_time()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                codes.append(run_command([*hostile.command, hostile.file]))
            best[k] = min(best[k], time.process_time() - began)
            gc.enable()
            words = out.getvalue()
        if best[1] <= GROWTH * max(best[0], SHORTEST):  # else another time: the machine may be busy
            break
    Path(hostile.file).unlink()
    return {"codes": sorted(set(codes)), "seconds": best, "words": words[:2000], "length": len(words)}


def main(folder: str, *names: str) -> None:
    os.chdir(folder)
    from pliant.cli import run_command

    with contextlib.redirect_stdout(io.StringIO()):
        _members("plan")
        Path("t.yaml").write_bytes(_task(""))
        run_command(
            ["check", "sound.plan", "no.urdf", "no.yaml", "no.obj"]
        )  # libraries are loaded before the clock runs
    here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (here + MEMORY, here + MEMORY))
    for name in names or HOSTILE:
        print(json.dumps({"name": name, **measured(HOSTILE[name])}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
