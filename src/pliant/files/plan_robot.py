"""The robot in a plan file: its tree as numbers, its mesh files by content, and back without the files it came from."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pliant.elastic import cache_folder, trim_files
from pliant.errors import MOST_PROBLEMS, InputError, PlanError, Problem
from pliant.file_bytes import read_bytes, write_bytes
from pliant.files.archive import Archive
from pliant.files.plan_schema import MESHES
from pliant.files.records import from_entry, to_se3
from pliant.objects import FORMATS
from pliant.robot import MAX_MESH_BYTES, MAX_SHAPES, Assembly, LinkShape, Robot, Urdf, description_problems, parse_urdf

MOST_MESH_BYTES = 200_000_000
MOST_KEPT = 2_000_000_000
"""Bytes of mesh files that stay in the cache from plans that were read."""
KINDS = (*FORMATS, "dae")
"""Mesh files that a robot may come with; a .dae is carried along though only other programs can show it."""


def portable_assembly(assembly: Assembly) -> tuple[Assembly, dict[str, bytes]]:
    """The robot with mesh files named by the hash of their content, and these files."""
    names: dict[Path, Path] = {}
    members: dict[str, bytes] = {}

    def hashed(path: Path) -> Path:
        if path not in names:
            data = read_bytes(path, most=MOST_MESH_BYTES, kind="a mesh", error=PlanError)
            names[path] = Path(MESHES, f"{hashlib.sha256(data).hexdigest()}{path.suffix.lower()}")
            members[names[path].as_posix()] = data
        return names[path]

    robot = assembly.robot
    moved = Robot(_with_paths(robot.urdf, hashed), T_world_base=robot.T_world_base)
    return replace(assembly, robot=moved), members


def read_urdf(entry: Any) -> Urdf:
    """The tree of an entry; its meshes are named relative to itself, so an unpacked plan is a robot for any program."""
    links, joints = (tuple(from_entry(item) for item in items) for items in (entry.links, entry.joints))
    return Urdf(entry.name, links, joints, entry.source, entry.notes)


def read_assembly(entry: Any, archive: Archive) -> Assembly:
    """The robot again. Its mesh files are put into pliant's cache folder under the hash of their content."""
    urdf = read_urdf(entry)
    shapes = [shape for link in urdf.links for shape in (*link.visuals, *link.collisions)]
    if len(shapes) > 2 * MAX_SHAPES:  # an arm's and a hand's
        raise archive.refusal("task.robot.links", f"have {len(shapes)} shapes", f"at most {2 * MAX_SHAPES}")
    named = Counter(shape.path.name for shape in shapes if shape.path is not None)
    paths = _unpack_meshes(sorted(named), archive)
    if (size := sum(count * paths[name].stat().st_size for name, count in named.items())) > 2 * MAX_MESH_BYTES:
        what = f"have meshes of {size / 1e6:.0f} MB, each as often as it is named"
        raise archive.refusal("task.robot.links", what, f"at most {2 * MAX_MESH_BYTES / 1e6:.0f} MB")
    urdf = _with_paths(urdf, lambda path: paths[path.name])
    try:
        # The reader of URDF files knows everything that can be wrong with a tree; what it reads is not used, since a
        # rotation written as three angles would not come back to the last bit.
        parse_urdf(urdf.to_xml(shapes=False), source=archive.source)
        robot = Robot(urdf, T_world_base=to_se3(entry.base))
        found = (
            (part, problem)
            for part, description in (("arm", entry.arm), ("hand", entry.hand))
            if description is not None
            for problem in description_problems(description, robot)
        )
    except InputError as bad:
        found = (("", problem) for problem in bad.problems)
    problems = [
        Problem(": ".join(filter(None, ("task.robot", part, p.where))), p.what, p.allowed)
        for part, p in islice(found, MOST_PROBLEMS)
    ]
    if not problems and robot.joint_names != entry.joint_names:
        problems.append(Problem("task.robot.joint_names", "are not those of the tree", ", ".join(robot.joint_names)))
    if not problems and sorted((*entry.arm_joints, *entry.hand_joints)) != list(range(robot.dof)):
        what = f"arm_joints {entry.arm_joints} and hand_joints {entry.hand_joints}"
        problems.append(Problem("task.robot", what, f"together they are 0 .. {robot.dof - 1}, each once"))
    if problems:
        raise PlanError(archive.source, problems)
    assembly: Assembly = from_entry(entry, robot=robot)
    return assembly


def _with_paths(urdf: Urdf, path: Callable[[Path], Path]) -> Urdf:
    """The same tree with other places of its mesh files."""

    def moved(shapes: tuple[LinkShape, ...]) -> tuple[LinkShape, ...]:
        return tuple(shape if shape.path is None else replace(shape, path=path(shape.path)) for shape in shapes)

    links = tuple(replace(k, visuals=moved(k.visuals), collisions=moved(k.collisions)) for k in urdf.links)
    return replace(urdf, links=links)


def _unpack_meshes(names: list[str], archive: Archive) -> dict[str, Path]:
    """Where the robot's mesh files lie: in the cache, or for this process only where the cache cannot be written."""
    folder = cache_folder() / "meshes"
    paths: dict[str, Path] = {}
    for name in names:
        where = f"meshes/{name}"
        if name.rpartition(".")[2] not in KINDS:
            allowed = f"one of {', '.join('.' + known for known in KINDS)}"
            raise PlanError(archive.source, Problem(where, "is not a mesh format that robots have", allowed))
        data = archive.bytes(where)
        if hashlib.sha256(data).hexdigest() != name.rpartition(".")[0]:
            raise PlanError(archive.source, Problem(where, "its content is not what its name says", "write it again"))
        path = folder / name
        if _holds(path, data):
            with contextlib.suppress(OSError):
                os.utime(path)  # what is used is kept
        else:
            try:
                write_bytes(path, data, error=PlanError)
            except PlanError:
                folder = _own_folder()
                path = folder / name
                write_bytes(path, data, error=PlanError)
        paths[name] = path
    with contextlib.suppress(OSError):
        trim_files(cache_folder() / "meshes", MOST_KEPT)
    return paths


def _holds(path: Path, data: bytes) -> bool:
    """Whether the file is there with exactly this content; a cache may be damaged or tampered with."""
    try:
        return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


_folders: list[tempfile.TemporaryDirectory[str]] = []


def _own_folder() -> Path:
    """A folder of this process, removed when it ends."""
    if not _folders:
        _folders.append(tempfile.TemporaryDirectory(prefix="pliant-meshes-"))
    return Path(_folders[0].name)
