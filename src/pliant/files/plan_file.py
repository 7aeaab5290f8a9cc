"""Plan files: everything about a plan in one file that opens anywhere.   (theory 11.3)

A plan file is a zip archive:

    plan.json        every field of the plan, documented in `plan_schema`; a program needs no more to read forces
    arrays/*.npy     trajectories, displacements, pressures, meshes
    meshes/*         the robot's mesh files, named by the hash of their content
    robot.urdf       the robot for other programs
    task.yaml        the task file's text

The same plan gives the same bytes. Reading executes nothing and leaves nothing but the robot's mesh files in pliant's
cache folder.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from pliant.documents import parse_document
from pliant.errors import InputError, PlanError, Problem
from pliant.file_bytes import write_bytes
from pliant.files.plan_archive import Archive
from pliant.files.plan_reading import build_plan
from pliant.files.plan_robot import robot_entry
from pliant.files.plan_schema import (
    FORMAT,
    UNITS,
    VERSION,
    ContactEntry,
    GraspEntry,
    HypothesisEntry,
    MeshEntry,
    ObjectEntry,
    PhaseEntry,
    PlanDocument,
    RejectionEntry,
    StableEntry,
    StateEntry,
    TaskEntry,
    TrajectoryEntry,
    pose_rows,
)
from pliant.files.zip_parts import array_bytes, pack
from pliant.objects import Mesh
from pliant.planner import HeldState, Hypothesis, Plan, PlannedContact, PlannedGrasp, Task, Trajectory


def save_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan file; it appears whole or not at all. The usual suffix is ``.plan``."""
    path = Path(path)
    writer = _Writer()
    fields = _document(writer, plan, str(path)).model_dump(mode="json")
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    members = {**writer.members, "plan.json": text.encode(), "task.yaml": plan.task.source.encode()}
    write_bytes(path, pack(members), error=PlanError)
    return path


def plan_fields(plan: Plan) -> dict[str, Any]:
    """The content of ``plan.json``: a plan in JSON's own types, without its large arrays."""
    fields: dict[str, Any] = _document(_Writer(), plan, plan.task.name).model_dump(mode="json")
    return fields


def load_plan(path: str | Path) -> Plan:
    """Read a plan file. Neither the task's folder nor the robot's files are needed."""
    archive = Archive(Path(path))
    fields = _fields(archive)
    try:
        document = parse_document(fields, PlanDocument, source=archive.source, error=PlanError)
        return build_plan(document, archive)
    except PlanError:
        raise
    except InputError as bad:
        raise PlanError(archive.source, bad.problems) from None


def _document(writer: _Writer, plan: Plan, source: str) -> PlanDocument:
    try:
        return writer.document(plan)
    except ValidationError as bad:
        first = bad.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PlanError(source, Problem(where, f"{bad.title} cannot be written: {first['msg']}")) from None


def _fields(archive: Archive) -> dict[str, Any]:
    """plan.json as plain data, its format and version looked at first: a newer file is refused in words."""
    try:
        fields = json.loads(archive.text("plan.json"), parse_constant=_refuse)
    except (ValueError, RecursionError) as bad:
        raise PlanError(archive.source, Problem("plan.json", f"is not JSON: {str(bad)[:100]}")) from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        found = fields.get("format") if isinstance(fields, dict) else type(fields).__name__
        raise PlanError(archive.source, Problem("format", f"is {str(found)[:40]!r}", f"expected '{FORMAT}'"))
    version = fields.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        allowed = f"this pliant reads version {VERSION}: use a newer pliant, or write the plan again with this one"
        raise PlanError(archive.source, Problem("version", f"is {version}", allowed))
    return fields


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number in JSON")


class _Writer:
    """Collects the archive's members while the document is built."""

    def __init__(self) -> None:
        self.members: dict[str, bytes] = {}

    def array(self, name: str, array: NDArray[Any], dtype: str) -> None:
        self.members[f"arrays/{name}.npy"] = array_bytes(np.asarray(array, dtype=dtype))

    def document(self, plan: Plan) -> PlanDocument:
        return PlanDocument(
            format=FORMAT,
            version=VERSION,
            units=UNITS,
            status=plan.status,
            advice=plan.advice,
            counts=plan.counts,
            seed=plan.seed,
            wall_s=plan.wall_s,
            cpu_s=plan.cpu_s,
            versions=plan.versions,
            task=self.task(plan.task),
            grasps=tuple(self.grasp(i, grasp) for i, grasp in enumerate(plan.grasps)),
            hypotheses=tuple(_hypothesis(each) for each in plan.hypotheses),
            rejections=tuple(
                RejectionEntry(
                    number=r.number, stage=r.stage, reason=r.reason, margin=r.margin, unit=r.unit, detail=r.detail
                )
                for r in plan.rejections
            ),
            stable=tuple(
                StableEntry(number=s.number, largest_force=s.largest_force, epsilon=s.epsilon) for s in plan.stable
            ),
        )

    def task(self, task: Task) -> TaskEntry:
        robot, members = robot_entry(task.assembly)
        self.members.update(members)
        body = task.body
        return TaskEntry(
            name=task.name,
            robot=robot,
            q_start=_floats(task.q_start),
            object=ObjectEntry(
                mesh=self.mesh("object", body.mesh),
                material=body.material,
                dry_mass=body.dry_mass,
                liquid=body.liquid,
                limits=body.limits,
                rest_volume=body.rest_volume,
            ),
            object_pose=pose_rows(task.T_world_object),
            scene=tuple(self.mesh(f"scene_{i}", mesh) for i, mesh in enumerate(task.scene)),
            wish=task.goal,
            options=task.options,
            notes=task.notes,
        )

    def mesh(self, array: str, mesh: Mesh) -> MeshEntry:
        self.array(f"{array}_vertices", mesh.vertices, "<f8")
        self.array(f"{array}_faces", mesh.faces, "<i8")
        return MeshEntry(name=mesh.name, array=array)

    def grasp(self, i: int, grasp: PlannedGrasp) -> GraspEntry:
        return GraspEntry(
            hypothesis=_hypothesis(grasp.hypothesis),
            trajectory=self.trajectory(f"grasp_{i}", grasp.trajectory),
            states=tuple(self.state(f"grasp_{i}_state_{k}", state) for k, state in enumerate(grasp.states)),
            q_pregrasp=_floats(grasp.q_pregrasp),
            q_touch=_floats(grasp.q_touch),
            largest_force=grasp.largest_force,
            largest_pressure=grasp.largest_pressure,
            com_shift=grasp.com_shift,
            joint_range=grasp.joint_range,
            arm_path=grasp.arm_path,
            epsilon=grasp.epsilon,
            slack=grasp.slack,
            warnings=grasp.warnings,
        )

    def trajectory(self, name: str, trajectory: Trajectory) -> TrajectoryEntry:
        self.array(f"{name}_times", trajectory.times, "<f8")
        self.array(f"{name}_joints", trajectory.q, "<f8")
        self.array(f"{name}_object_poses", trajectory.object_poses, "<f8")
        phases, first = [], 0
        for phase, run in groupby(trajectory.phases):
            last = first + len(list(run)) - 1
            start, end = float(trajectory.times[first]), float(trajectory.times[last])
            phases.append(PhaseEntry(phase=phase, points=last - first + 1, start=start, end=end))
            first = last + 1
        return TrajectoryEntry(points=len(trajectory.times), duration=trajectory.duration, phases=tuple(phases))

    def state(self, name: str, state: HeldState) -> StateEntry:
        self.array(f"{name}_displacement", state.displacement, "<f4")
        cells = [np.column_stack([contact.p_object_cells, contact.pressures]) for contact in state.contacts]
        self.array(f"{name}_cells", np.vstack([np.zeros((0, 4)), *cells]), "<f8")
        return StateEntry(
            time=state.time,
            phase=state.phase,
            q=_floats(state.q),
            pose=pose_rows(state.T_world_object),
            contacts=tuple(_contact(contact) for contact in state.contacts),
            centre_of_mass=_floats(state.centre_of_mass),
            centre_at_rest=_floats(state.centre_at_rest),
            load=_floats(state.load),
            torques=_floats(state.torques),
            friction_usage=state.friction_usage,
            volume_change=state.volume_change,
            liquid_level=state.liquid_level,
        )


def _contact(contact: PlannedContact) -> ContactEntry:
    return ContactEntry(
        link=contact.link,
        finger=contact.finger,
        patch=contact.patch,
        pose=pose_rows(contact.T_object_contact),
        p_link=_floats(contact.p_link),
        force=_floats(contact.force),
        wanted=_floats(contact.wanted),
        radius=contact.radius,
        half_axes=_floats(contact.half_axes),
        peak_pressure=contact.peak_pressure,
        area=contact.area,
        depth=contact.depth,
        stiffness=_floats(contact.stiffness),
        friction=contact.friction,
        max_force=contact.max_force,
        cells=len(contact.pressures),
        cell_area=contact.cell_area,
    )


def _hypothesis(hypothesis: Hypothesis) -> HypothesisEntry:
    return HypothesisEntry(
        number=hypothesis.number,
        pose=pose_rows(hypothesis.T_object_palm),
        preshape=hypothesis.preshape,
        fingers=hypothesis.fingers,
        source=hypothesis.source,
        opening=hypothesis.opening,
    )


def _floats(values: NDArray[Any]) -> Any:
    """A tuple of Python floats: they are written with as many digits as they need."""
    return tuple(np.asarray(values, dtype=np.float64).tolist())
