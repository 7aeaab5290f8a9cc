"""The robot in a plan file: its tree as numbers, its mesh files by content, and back without the files it came from."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np

from pliant.elastic import cache_folder, trim_files
from pliant.errors import InputError, PlanError, Problem
from pliant.file_bytes import read_bytes, write_bytes
from pliant.files.plan_archive import Archive
from pliant.files.plan_schema import (
    InertialEntry,
    JointEntry,
    LinkEntry,
    MimicEntry,
    RobotEntry,
    ShapeEntry,
    pose_rows,
    to_se3,
)
from pliant.objects import FORMATS
from pliant.robot import (
    Assembly,
    Inertial,
    Joint,
    Link,
    LinkShape,
    Mimic,
    Robot,
    Urdf,
    description_problems,
    parse_urdf,
)

MOST_MESH_BYTES = 200_000_000
MOST_KEPT = 2_000_000_000
"""Bytes of mesh files that stay in the cache from plans that were read."""
KINDS = (*FORMATS, "dae")
"""Mesh files that a robot may come with; a .dae is carried along though only other programs can show it."""


def robot_entry(assembly: Assembly) -> tuple[RobotEntry, dict[str, bytes]]:
    """The robot's entry in ``plan.json``, and the members that go with it: mesh files and a URDF for other programs.

    The URDF names its meshes relative to itself, so an unpacked plan file is a robot that anything can load.
    """
    meshes: dict[str, bytes] = {}
    names: dict[Path, str] = {}

    def mesh_name(path: Path | None) -> str | None:
        if path is None:
            return None
        if path not in names:
            data = read_bytes(path, most=MOST_MESH_BYTES, kind="a mesh", error=PlanError)
            names[path] = f"{hashlib.sha256(data).hexdigest()}{path.suffix.lower()}"
            meshes[f"meshes/{names[path]}"] = data
        return names[path]

    def shapes(of: tuple[LinkShape, ...]) -> tuple[ShapeEntry, ...]:
        return tuple(
            ShapeEntry(
                kind=s.kind,  # type: ignore[arg-type]
                size=s.size,
                pose=pose_rows(s.T_link_shape),
                mesh=mesh_name(s.path),
                colour=s.colour,
            )
            for s in of
        )

    robot = assembly.robot
    links = tuple(
        LinkEntry(
            name=link.name,
            visuals=shapes(link.visuals),
            collisions=shapes(link.collisions),
            inertial=None
            if link.inertial is None
            else InertialEntry(
                mass=link.inertial.mass, pose=pose_rows(link.inertial.T_link_centre), inertia=link.inertial.inertia
            ),
        )
        for link in robot.urdf.links
    )
    entry = RobotEntry(
        name=robot.name,
        source=robot.urdf.source,
        notes=robot.urdf.notes,
        base=pose_rows(robot.T_world_base),
        links=links,
        joints=tuple(_joint_entry(joint) for joint in robot.urdf.joints),
        joint_names=robot.joint_names,
        arm=assembly.arm,
        hand=assembly.hand,
        arm_joints=tuple(assembly.arm_joints.tolist()),
        hand_joints=tuple(assembly.hand_joints.tolist()),
    )
    portable = _urdf(entry, {name: Path("meshes") / name for name in names.values()})
    return entry, {**meshes, "robot.urdf": portable.to_xml().encode()}


def read_assembly(entry: RobotEntry, archive: Archive) -> Assembly:
    """The robot again. Its mesh files are put into pliant's cache folder under the hash of their content."""
    wanted = sorted({s.mesh for link in entry.links for s in (*link.visuals, *link.collisions) if s.mesh is not None})
    urdf = _urdf(entry, _unpack_meshes(wanted, archive))
    try:
        # The reader of URDF files knows everything that can be wrong with a tree; what it reads is not used, since a
        # rotation written as three angles would not come back to the last bit.
        parse_urdf(urdf.to_xml(shapes=False), source=archive.source)
        robot = Robot(urdf, T_world_base=to_se3(entry.base))
        found = [
            (part, problem)
            for part, description in (("arm", entry.arm), ("hand", entry.hand))
            if description is not None
            for problem in description_problems(description, robot)
        ]
    except InputError as bad:
        found = [("", problem) for problem in bad.problems]
    problems = [Problem(": ".join(filter(None, ("task.robot", part, p.where))), p.what, p.allowed) for part, p in found]
    if not problems and robot.joint_names != entry.joint_names:
        problems.append(Problem("task.robot.joint_names", "are not those of the tree", ", ".join(robot.joint_names)))
    if not problems and sorted((*entry.arm_joints, *entry.hand_joints)) != list(range(robot.dof)):
        what = f"arm_joints {entry.arm_joints} and hand_joints {entry.hand_joints}"
        problems.append(Problem("task.robot", what, f"together they are 0 .. {robot.dof - 1}, each once"))
    if problems:
        raise PlanError(archive.source, problems)
    arm_joints, hand_joints = (np.array(each, dtype=np.int64) for each in (entry.arm_joints, entry.hand_joints))
    return Assembly(robot, entry.arm, entry.hand, arm_joints, hand_joints)


def _joint_entry(joint: Joint) -> JointEntry:
    m = joint.mimic
    return JointEntry(
        name=joint.name,
        kind=joint.kind,  # type: ignore[arg-type]
        parent=joint.parent,
        child=joint.child,
        pose=pose_rows(joint.T_parent_joint),
        axis=joint.axis,
        lower=joint.lower,
        upper=joint.upper,
        velocity=joint.velocity,
        effort=joint.effort,
        damping=joint.damping,
        friction=joint.friction,
        mimic=None if m is None else MimicEntry(joint=m.joint, multiplier=m.multiplier, offset=m.offset),
    )


def _urdf(entry: RobotEntry, paths: dict[str, Path]) -> Urdf:
    def shapes(of: tuple[ShapeEntry, ...]) -> tuple[LinkShape, ...]:
        return tuple(
            LinkShape(s.kind, s.size, to_se3(s.pose), paths[s.mesh] if s.mesh is not None else None, s.colour)
            for s in of
        )

    links = tuple(
        Link(
            link.name,
            shapes(link.visuals),
            shapes(link.collisions),
            None
            if link.inertial is None
            else Inertial(link.inertial.mass, to_se3(link.inertial.pose), link.inertial.inertia),
        )
        for link in entry.links
    )
    return Urdf(entry.name, links, tuple(_joint(joint) for joint in entry.joints), entry.source, entry.notes)


def _joint(entry: JointEntry) -> Joint:
    m = entry.mimic
    return Joint(
        name=entry.name,
        kind=entry.kind,
        parent=entry.parent,
        child=entry.child,
        T_parent_joint=to_se3(entry.pose),
        axis=entry.axis,
        lower=entry.lower,
        upper=entry.upper,
        velocity=entry.velocity,
        effort=entry.effort,
        damping=entry.damping,
        friction=entry.friction,
        mimic=None if m is None else Mimic(m.joint, m.multiplier, m.offset),
    )


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
