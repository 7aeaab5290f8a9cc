"""Plan files: everything about a plan in one file that opens anywhere.   (theory 11.3)

A plan file is a zip archive:

    plan.json        every field of the plan (`plan_schema`); a program needs no more to read forces
    arrays/*.npy     trajectories, displacements, pressures, meshes
    meshes/*         the robot's mesh files, named by the hash of their content
    robot.urdf       the robot for other programs
    task.yaml        the task file's text

The same plan gives the same bytes. Reading executes nothing and leaves nothing but the robot's mesh files in pliant's
cache folder.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.documents import parse_document
from pliant.errors import InputError, PlanError, Problem
from pliant.file_bytes import write_bytes
from pliant.files.archive import Archive, ArchiveKind, pack
from pliant.files.plan_robot import portable_assembly, read_assembly, read_urdf
from pliant.files.plan_schema import FORMAT, PLAN, VERSION, Joints, RealJoints, mesh_places
from pliant.files.records import from_entry, read_arrays, stored_arrays, to_fields, words_of_kind
from pliant.files.task import MOST_FACES
from pliant.objects import Mesh, check_size, mesh_volume
from pliant.plain_arrays import array_bytes
from pliant.planner import HeldState, Plan, PlannedGrasp, Task, Trajectory

ARCHIVE = ArchiveKind(
    name="plan",
    suffix=".plan",
    document="plan.json",
    members=re.compile(
        r"plan\.json|task\.yaml|robot\.urdf|meshes/[0-9a-f]{64}\.[a-z]{2,5}|arrays/[a-z0-9_]{1,40}\.npy"
    ),
    allowed="plan.json, task.yaml, robot.urdf, meshes/HASH.SUFFIX, arrays/NAME.npy",
    most_bytes=1_000_000_000,
    most_unpacked=1_000_000_000,
    most_text=50_000_000,
    most_values=2_500_000,  # 40 000 hypotheses with a posture of 30 joints each
    error=PlanError,
)
MOST_TASK = 4_000_000
"""Bytes of the task's text, as in a file of its own."""
LONGEST = 1e5
"""Of an operation [s], more than a day: films and bags take as many pictures as it has tenths of a second."""
LARGEST_SCENE = 200.0
"""Of an obstacle [m]: what a task may say, and room for its place."""


def save_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan file; it appears whole or not at all. The usual suffix is ``.plan``."""
    path = Path(path)
    document, members = _document(plan, str(path))
    text = json.dumps(document.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    members |= {"plan.json": text.encode(), "task.yaml": plan.task.source.encode()}
    members["robot.urdf"] = read_urdf(document.task.robot).to_xml().encode()
    members |= {name: array_bytes(array) for name, array in _arrays(plan).items()}
    write_bytes(path, pack(members, first=ARCHIVE.document), error=PlanError)
    return path


def plan_fields(plan: Plan) -> dict[str, Any]:
    """The content of ``plan.json``: a plan in JSON's own types, without its large arrays."""
    fields: dict[str, Any] = _document(plan, plan.task.name)[0].model_dump(mode="json")
    return fields


def load_plan(path: str | Path) -> Plan:
    """Read a plan file. Neither the task's folder nor the robot's files are needed."""
    archive = Archive(Path(path), ARCHIVE)
    fields = archive.document(finite=True)
    # Format and version first: a newer file is refused by its version, not by its fields.
    if fields.get("format") != FORMAT:
        raise archive.refusal("format", f"is {str(fields.get('format'))[:40]!r}", f"expected '{FORMAT}'")
    version = fields.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        allowed = f"this pliant reads version {VERSION}: use a newer pliant, or write the plan again with this one"
        raise archive.refusal("version", f"is {version}", allowed)
    try:
        return _PlanReader(archive).plan(parse_document(fields, PLAN, source=archive.source, error=PlanError))
    except PlanError:
        raise
    except InputError as bad:
        raise PlanError(archive.source, bad.problems) from None


def _document(plan: Plan, source: str) -> tuple[Any, dict[str, bytes]]:
    """``plan.json``, checked as it will be when it is read, and the robot's mesh files."""
    assembly, meshes = portable_assembly(plan.task.assembly)
    fields = to_fields(replace(plan, task=replace(plan.task, assembly=assembly)))
    try:
        return parse_document(fields, PLAN, source=source, error=PlanError), meshes
    except PlanError as bad:
        problems = [Problem(p.where, f"cannot be written: {p.what}", p.allowed) for p in bad.problems]
        raise PlanError(source, problems) from None


def _arrays(plan: Plan) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for place, mesh in mesh_places(plan.task).items():
        arrays |= stored_arrays(mesh, place)
    for i, grasp in enumerate(plan.grasps):
        arrays |= stored_arrays(grasp.trajectory, f"grasp_{i}")
        for k, state in enumerate(grasp.states):
            arrays |= stored_arrays(state, f"grasp_{i}_state_{k}")
            cells = [np.column_stack([contact.p_object_cells, contact.pressures]) for contact in state.contacts]
            arrays[_cells_name(i, k)] = np.vstack([np.zeros((0, 4)), *cells])
    return arrays


def _cells_name(grasp: int, state: int) -> str:
    """The array of a state's pressures: one row for each cell, place in the object's frame [m] and pressure [Pa]."""
    return f"arrays/grasp_{grasp}_state_{state}_cells.npy"


class _PlanReader:
    """From the checked document and the arrays of a plan file to a `Plan`."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive

    def plan(self, entry: Any) -> Plan:
        task = self.task(entry.task)
        grasps = tuple(self.grasp(i, grasp, task) for i, grasp in enumerate(entry.grasps))
        plan: Plan = from_entry(entry, task=task, grasps=grasps)
        if plan.counts != entry.counts:
            raise self.archive.refusal("counts", "do not agree with the rejections", "write the plan again")
        return plan

    def task(self, entry: Any) -> Task:
        assembly = read_assembly(entry.robot, self.archive)
        self.check_joints(entry, "task", assembly.robot.dof)
        mesh = check_size(self.mesh(entry.object.mesh))
        volume, declared = mesh_volume(mesh), entry.object.rest_volume
        if not (volume > 0.0 and abs(volume - declared) <= 1e-6 * volume):
            allowed = f"its mesh has {volume:.6g} m3"
            raise self.archive.refusal("task.object.rest_volume", f"is {declared:.6g} m3", allowed)
        task: Task = from_entry(
            entry,
            assembly=assembly,
            body=from_entry(entry.object, mesh=mesh),
            scene=self.scene(entry.scene),
            source=self.archive.text("task.yaml", MOST_TASK),
        )
        return task

    def scene(self, entries: Any) -> tuple[Mesh, ...]:
        scene: list[Mesh] = []
        faces = 0
        for i, entry in enumerate(entries):
            scene.append(check_size(self.mesh(entry), smallest=0.0, largest=LARGEST_SCENE))
            if (faces := faces + len(scene[-1].faces)) > MOST_FACES:
                raise self.archive.refusal(f"task.scene[{i}]", f"with it has {faces} faces", f"at most {MOST_FACES}")
        return tuple(scene)

    def mesh(self, entry: Any) -> Mesh:
        return Mesh(**read_arrays(Mesh, entry.array, self.array, self.archive.files), name=entry.name)

    def grasp(self, i: int, entry: Any, task: Task) -> PlannedGrasp:
        self.check_joints(entry, f"grasps[{i}]", task.assembly.robot.dof)
        states = tuple(self.state(i, k, state, task) for k, state in enumerate(entry.states))
        trajectory = self.trajectory(i, entry.trajectory, task.assembly.robot.dof)
        grasp: PlannedGrasp = from_entry(entry, trajectory=trajectory, states=states)
        return grasp

    def trajectory(self, i: int, entry: Any, dof: int) -> Trajectory:
        arrays = read_arrays(Trajectory, f"grasp_{i}", self.array, self.archive.files, points=entry.points, joints=dof)
        times, where = arrays["times"], f"arrays/grasp_{i}_times.npy"
        if times[0] != 0.0 or not np.all(np.diff(times) > 0.0):
            raise self.archive.refusal(where, "does not increase from 0", "times in seconds, in order")
        if times[-1] > LONGEST:
            raise self.archive.refusal(where, f"ends at {times[-1]:.4g} s", f"at most {LONGEST:g} s")
        if sum(run.points for run in entry.phases) != entry.points:
            allowed = f"the trajectory has {entry.points} points"
            raise self.archive.refusal(f"grasps[{i}].trajectory.phases", "do not add up", allowed)
        phases = tuple(run.phase for run in entry.phases for _ in range(run.points))
        trajectory: Trajectory = from_entry(entry, **arrays, phases=phases)
        return trajectory

    def state(self, i: int, k: int, entry: Any, task: Task) -> HeldState:
        robot, where = task.assembly.robot, f"grasps[{i}].states[{k}]"
        self.check_joints(entry, where, robot.dof)
        cells = self.array(_cells_name(i, k), "<f8", (None, 4))
        ends = np.cumsum([0, *(contact.cells for contact in entry.contacts)])
        if ends[-1] != len(cells):
            allowed = f"{_cells_name(i, k)} has {len(cells)}"
            raise self.archive.refusal(f"{where}.contacts", f"name {ends[-1]} cells", allowed)
        contacts = []
        for n, (contact, a, b) in enumerate(zip(entry.contacts, ends[:-1], ends[1:], strict=True)):
            if contact.link not in robot.link_names:
                allowed = f"one of {robot.name}'s links"
                raise self.archive.refusal(f"{where}.contacts[{n}].link", f"no link '{contact.link}'", allowed)
            places, pressures = np.ascontiguousarray(cells[a:b, :3]), np.ascontiguousarray(cells[a:b, 3])
            contacts.append(from_entry(contact, p_object_cells=places, pressures=pressures))
        vertices = len(task.body.mesh.vertices)
        arrays = read_arrays(HeldState, f"grasp_{i}_state_{k}", self.array, self.archive.files, vertices=vertices)
        state: HeldState = from_entry(entry, **arrays, contacts=tuple(contacts))
        return state

    def array(self, name: str, dtype: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        return self.archive.array(name, dtype, shape, finite=True)

    def check_joints(self, entry: Any, where: str, dof: int) -> None:
        """Every field with one number for each joint has as many as there are joints."""
        for word in words_of_kind(entry, Joints, RealJoints):
            if (found := len(getattr(entry, word))) != dof:
                allowed = f"the robot has {dof} independent joints"
                raise self.archive.refusal(f"{where}.{word}", f"has {found} values", allowed)
