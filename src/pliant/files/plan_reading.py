"""From the checked document and arrays of a plan file to a `Plan`."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats
from pliant.errors import PlanError, Problem
from pliant.files.plan_archive import Archive
from pliant.files.plan_robot import read_assembly
from pliant.files.plan_schema import (
    ContactEntry,
    GraspEntry,
    HypothesisEntry,
    MeshEntry,
    PlanDocument,
    StateEntry,
    TaskEntry,
    TrajectoryEntry,
    to_se3,
)
from pliant.objects import Body, Mesh, check_size, mesh_volume
from pliant.planner import (
    HeldState,
    Hypothesis,
    Plan,
    PlannedContact,
    PlannedGrasp,
    Reason,
    Rejection,
    StableGrasp,
    Task,
    Trajectory,
)

MOST_TASK = 4_000_000
"""Bytes of the task's text, as in a file of its own."""
LONGEST = 1e5
"""Of an operation [s], more than a day: films and bags take as many pictures as it has tenths of a second."""
LARGEST_SCENE = 200.0
"""Of an obstacle [m]: what a task may say, and room for its place."""


def build_plan(document: PlanDocument, archive: Archive) -> Plan:
    """The plan; `PlanError` where document and arrays do not fit together."""
    reader = _Reader(archive)
    task = reader.task(document.task)
    plan = Plan(
        task=task,
        status=document.status,
        grasps=tuple(reader.grasp(i, entry, task) for i, entry in enumerate(document.grasps)),
        hypotheses=tuple(_hypothesis(entry) for entry in document.hypotheses),
        rejections=tuple(
            Rejection(r.number, r.stage, Reason.from_words(r.reason), r.margin, r.unit, r.detail)
            for r in document.rejections
        ),
        stable=tuple(StableGrasp(s.number, s.largest_force, s.epsilon) for s in document.stable),
        advice=document.advice,
        seed=document.seed,
        wall_s=document.wall_s,
        cpu_s=dict(document.cpu_s),
        versions=dict(document.versions),
    )
    if plan.counts != document.counts:
        reader.refuse("counts", "do not agree with the rejections", "write the plan again")
    return plan


class _Reader:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive

    def refuse(self, where: str, what: str, allowed: str) -> NoReturn:
        raise PlanError(self.archive.source, Problem(where, what, allowed))

    def floats(self, name: str, *shape: int | None) -> Floats:
        return np.asarray(self.archive.array(name, "<f8", shape), dtype=np.float64)

    def task(self, entry: TaskEntry) -> Task:
        assembly = read_assembly(entry.robot, self.archive)
        thing = entry.object
        mesh = check_size(self.mesh(thing.mesh))
        volume = mesh_volume(mesh)
        if not (volume > 0.0 and abs(volume - thing.rest_volume) <= 1e-6 * volume):
            self.refuse("task.object.rest_volume", f"is {thing.rest_volume:.6g} m3", f"its mesh has {volume:.6g} m3")
        body = Body(mesh, thing.material, thing.dry_mass, thing.liquid, thing.limits, thing.rest_volume)
        return Task(
            assembly=assembly,
            q_start=self.joints("task.q_start", entry.q_start, assembly.robot.dof),
            body=body,
            T_world_object=to_se3(entry.object_pose),
            scene=tuple(check_size(self.mesh(mesh), smallest=0.0, largest=LARGEST_SCENE) for mesh in entry.scene),
            goal=entry.wish,
            options=entry.options,
            name=entry.name,
            notes=entry.notes,
            source=self.archive.text("task.yaml", MOST_TASK),
        )

    def mesh(self, entry: MeshEntry) -> Mesh:
        vertices = self.floats(f"{entry.array}_vertices", None, 3)
        faces = self.archive.array(f"{entry.array}_faces", "<i8", (None, 3))
        return Mesh(vertices, faces, entry.name)

    def joints(self, where: str, values: tuple[float, ...], dof: int) -> Floats:
        if len(values) != dof:
            self.refuse(where, f"has {len(values)} values", f"the robot has {dof} independent joints")
        return np.array(values, dtype=np.float64)

    def grasp(self, i: int, entry: GraspEntry, task: Task) -> PlannedGrasp:
        dof, where = task.assembly.robot.dof, f"grasps[{i}]"
        states = tuple(
            self.state(f"grasp_{i}_state_{k}", f"{where}.states[{k}]", state, task)
            for k, state in enumerate(entry.states)
        )
        return PlannedGrasp(
            hypothesis=_hypothesis(entry.hypothesis),
            trajectory=self.trajectory(f"grasp_{i}", f"{where}.trajectory", entry.trajectory, dof),
            states=states,
            q_pregrasp=self.joints(f"{where}.q_pregrasp", entry.q_pregrasp, dof),
            q_touch=self.joints(f"{where}.q_touch", entry.q_touch, dof),
            largest_force=entry.largest_force,
            largest_pressure=entry.largest_pressure,
            com_shift=entry.com_shift,
            joint_range=entry.joint_range,
            arm_path=entry.arm_path,
            epsilon=entry.epsilon,
            slack=entry.slack,
            warnings=entry.warnings,
        )

    def trajectory(self, name: str, where: str, entry: TrajectoryEntry, dof: int) -> Trajectory:
        n = entry.points
        times = self.floats(f"{name}_times", n)
        if times[0] != 0.0 or not np.all(np.diff(times) > 0.0):
            self.refuse(f"arrays/{name}_times.npy", "does not increase from 0", "times in seconds, in order")
        if times[-1] > LONGEST:
            self.refuse(f"arrays/{name}_times.npy", f"ends at {times[-1]:.4g} s", f"at most {LONGEST:g} s")
        if sum(run.points for run in entry.phases) != n:
            self.refuse(f"{where}.phases", "do not add up", f"the trajectory has {n} points")
        return Trajectory(
            times=times,
            q=self.floats(f"{name}_joints", n, dof),
            phases=tuple(run.phase for run in entry.phases for _ in range(run.points)),
            object_poses=self.floats(f"{name}_object_poses", n, 7),
        )

    def state(self, name: str, where: str, entry: StateEntry, task: Task) -> HeldState:
        robot = task.assembly.robot
        cells = np.asarray(self.archive.array(f"{name}_cells", "<f8", (None, 4)))
        ends = np.cumsum([0, *(contact.cells for contact in entry.contacts)])
        if ends[-1] != len(cells):
            self.refuse(f"{where}.contacts", f"name {ends[-1]} cells", f"arrays/{name}_cells.npy has {len(cells)}")
        for i, contact in enumerate(entry.contacts):
            if contact.link not in robot.link_names:
                self.refuse(f"{where}.contacts[{i}].link", f"no link '{contact.link}'", f"one of {robot.name}'s links")
        displacement = self.archive.array(f"{name}_displacement", "<f4", (len(task.body.mesh.vertices), 3))
        return HeldState(
            time=entry.time,
            phase=entry.phase,
            q=self.joints(f"{where}.q", entry.q, robot.dof),
            T_world_object=to_se3(entry.pose),
            contacts=tuple(
                _contact(contact, cells[a:b]) for contact, a, b in zip(entry.contacts, ends[:-1], ends[1:], strict=True)
            ),
            centre_of_mass=np.array(entry.centre_of_mass),
            centre_at_rest=np.array(entry.centre_at_rest),
            load=np.array(entry.load),
            torques=self.joints(f"{where}.torques", entry.torques, robot.dof),
            friction_usage=entry.friction_usage,
            displacement=np.asarray(displacement, dtype=np.float32),
            volume_change=entry.volume_change,
            liquid_level=entry.liquid_level,
        )


def _contact(entry: ContactEntry, cells: NDArray[Any]) -> PlannedContact:
    return PlannedContact(
        link=entry.link,
        finger=entry.finger,
        patch=entry.patch,
        T_object_contact=to_se3(entry.pose),
        p_link=np.array(entry.p_link),
        force=np.array(entry.force),
        wanted=np.array(entry.wanted),
        radius=entry.radius,
        half_axes=np.array(entry.half_axes),
        peak_pressure=entry.peak_pressure,
        area=entry.area,
        depth=entry.depth,
        stiffness=np.array(entry.stiffness),
        friction=entry.friction,
        max_force=entry.max_force,
        p_object_cells=np.ascontiguousarray(cells[:, :3]),
        pressures=np.ascontiguousarray(cells[:, 3]),
        cell_area=entry.cell_area,
    )


def _hypothesis(entry: HypothesisEntry) -> Hypothesis:
    return Hypothesis(entry.number, to_se3(entry.pose), entry.preshape, entry.fingers, entry.source, entry.opening)
