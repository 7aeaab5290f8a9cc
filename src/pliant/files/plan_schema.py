"""What ``plan.json`` inside a plan file holds: every field of a `Plan` but its large arrays, and the robot's tree.

The fields are those of the dataclasses; here is what their types do not say: bounds, lengths, other words, other
places. SI units.
"""

from __future__ import annotations

import math
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, FailFast, Field

from pliant.documents import Document
from pliant.files.records import Bounded, Count, Kept, PoseRows, Real, StoredArray, record, several
from pliant.objects import Body, Mesh
from pliant.planner import (
    Choice,
    HeldState,
    Hypothesis,
    Phase,
    Plan,
    PlannedContact,
    PlannedGrasp,
    Reason,
    Rejection,
    Reserve,
    StableGrasp,
    Task,
    Trajectory,
    Tried,
)
from pliant.robot import Assembly, Inertial, Joint, Link, LinkShape, Mimic

FORMAT: Final = "pliant plan"
VERSION: Final = 2
MESHES: Final = "meshes"
"""The archive's folder of the robot's mesh files."""
MOST_POINTS = 200_000
"""Of a trajectory: each becomes some kilobytes of messages in a bag."""
UNITS = {
    "length": "m", "angle": "rad", "time": "s", "force": "N", "torque": "N m", "pressure": "Pa", "stiffness": "N/m",
    "mass": "kg", "pose": "upper three rows of the homogeneous matrix", "quaternion": "w x y z",
}  # fmt: skip


def _is_limit(value: float) -> float:
    if math.isnan(value):
        raise ValueError("nan is no limit; a joint without one has inf")
    return value


def _is_unit(axis: tuple[float, float, float]) -> tuple[float, float, float]:
    if abs(math.hypot(*axis) - 1.0) > 1e-6:
        raise ValueError(f"the axis {axis} is not of length one")
    return axis


Limit = Annotated[Real, AfterValidator(_is_limit)]
"""A bound: may be infinite, not undefined."""
Text = Annotated[str, Field(max_length=100_000)]
_PART = r"[^/\\\x00-\x1f]"
FileName = Annotated[str, Field(max_length=255, pattern=rf"^{_PART}*[^./\\\x00-\x1f]{_PART}*$")]
"""Becomes the name of a file: one part of a path, and not only dots."""
MeshName = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\.[a-z]{2,5}$")]
"""Of a file in the archive's folder ``meshes``."""
Names = Annotated[tuple[str, ...], FailFast(), Field(max_length=1000)]
Vector = tuple[float, float, float]
Texts = Annotated[tuple[Text, ...], FailFast(), Field(max_length=100_000)]
Counts = Annotated[tuple[Count, ...], FailFast(), Field(max_length=1000)]
UnitVector = Annotated[Vector, AfterValidator(_is_unit)]
Vector6 = tuple[float, float, float, float, float, float]
Reals3 = tuple[Real, Real, Real]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Joints = Annotated[tuple[float, ...], FailFast(), Field(max_length=1000)]
"""One number for each independent joint, as is `RealJoints`."""
RealJoints = Annotated[tuple[Real, ...], FailFast(), Field(max_length=1000)]


# -- the robot ---------------------------------------------------------------------------------------------------------


def _is_shape(shape: Any) -> Any:
    wanted = {"mesh": 3, "box": 3, "cylinder": 2, "sphere": 1}[shape.kind]
    if len(shape.size) != wanted:
        raise ValueError(f"a {shape.kind} has {wanted} sizes, not {len(shape.size)}")
    if (shape.kind == "mesh") != (shape.mesh is not None):
        raise ValueError(f"a {shape.kind} {'needs a' if shape.kind == 'mesh' else 'has no'} mesh file")
    # A mesh may be mirrored; nothing may be flat.
    if 0.0 in shape.size or (shape.kind != "mesh" and min(shape.size) < 0.0):
        raise ValueError(f"a {shape.kind} of size {shape.size}")
    return shape


record(
    LinkShape,
    kind=Literal["mesh", "box", "cylinder", "sphere"],
    size=Annotated[tuple[Bounded, ...], Field(min_length=1, max_length=3)],
    T_link_shape=Kept("pose"),
    path=Kept("mesh", MeshName | None, lambda path: path and path.name, lambda name: name and Path(MESHES, name)),
    colour=tuple[float, float, float, float] | None,
    check=_is_shape,
)
record(Inertial, mass=NotNegative, T_link_centre=Kept("pose"), inertia=Vector6)
record(Link, visuals=several(LinkShape, most=1000), collisions=several(LinkShape, most=1000))
record(Mimic, multiplier=float, offset=float)
record(
    Joint,
    kind=Literal["revolute", "continuous", "prismatic", "fixed"],
    T_parent_joint=Kept("pose"),
    axis=UnitVector,
    lower=Limit,
    upper=Limit,
    velocity=Limit,
    effort=Limit,
    damping=float,
    friction=float,
    later=("compound",),
)
record(
    Assembly,
    # The tree, where it stands, and for other programs the names of its independent joints.
    robot=None,
    repeated={
        "name": (str, lambda assembly: assembly.robot.name),
        "source": (Text, lambda assembly: assembly.robot.urdf.source),
        "notes": (Texts, lambda assembly: assembly.robot.urdf.notes),
        "base": (PoseRows, lambda assembly: assembly.robot.T_world_base),
        "links": (several(Link, least=1, most=2000), lambda assembly: assembly.robot.urdf.links),
        "joints": (several(Joint, most=2000), lambda assembly: assembly.robot.urdf.joints),
        "joint_names": (Names, lambda assembly: assembly.robot.joint_names),
    },
    arm_joints=Counts,
    hand_joints=Counts,
)


# -- the task ----------------------------------------------------------------------------------------------------------


class MeshEntry(Document):
    """A mesh whose coordinates and faces are arrays ``<array>_vertices`` and ``<array>_faces`` of the archive."""

    name: str
    array: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,30}$")]


def mesh_places(task: Task) -> dict[str, Mesh]:
    """The meshes of a task by the names that begin those of their arrays."""
    return {"object": task.body.mesh, **{f"scene_{i}": mesh for i, mesh in enumerate(task.scene)}}


record(
    Mesh,
    vertices=StoredArray("vertices", "<f8", (None, 3)),
    faces=StoredArray("faces", "<i8", (None, 3)),
    name=None,
)
record(
    Body,
    mesh=Kept(kind=MeshEntry, write=lambda mesh: MeshEntry(name=mesh.name, array="object")),
    dry_mass=NotNegative,
    rest_volume=NotNegative,
)
record(
    Task,
    first=("name",),
    name=FileName,
    assembly=Kept("robot"),
    q_start=Joints,
    body=Kept("object"),
    T_world_object=Kept("object_pose"),
    scene=Kept(
        kind=Annotated[tuple[MeshEntry, ...], FailFast(), Field(max_length=10_000)],
        write=lambda scene: [MeshEntry(name=mesh.name, array=f"scene_{i}") for i, mesh in enumerate(scene)],
    ),
    goal=Kept("wish"),
    later=("uncertainty",),
    notes=Texts,
    source=None,
)


# -- the answer --------------------------------------------------------------------------------------------------------


class PhaseEntry(Document):
    """A run of trajectory points that belong to one phase, with the times of its first and last point."""

    phase: Phase
    points: Annotated[int, Field(ge=1)]
    start: float
    end: float


def _phase_runs(trajectory: Trajectory) -> list[PhaseEntry]:
    runs, first = [], 0
    for phase, run in groupby(trajectory.phases):
        last = first + len(list(run)) - 1
        start, end = float(trajectory.times[first]), float(trajectory.times[last])
        runs.append(PhaseEntry(phase=phase, points=last - first + 1, start=start, end=end))
        first = last + 1
    return runs


record(
    Hypothesis,
    T_object_palm=Kept("pose"),
    fingers=Names,
    source=Text,
    opening=float,
    posture=Joints,
    later=("posture",),
)
record(Rejection, reason=Kept(kind=Text, write=str, read=Reason.from_words), detail=Text)
record(StableGrasp)
record(Tried, promised=Count, pressed=Count, stable=Count, completed=Count)
record(Choice)
record(
    PlannedContact,
    later=("pad_depth",),
    pad_depth=NotNegative,
    T_object_contact=Kept("pose"),
    p_link=Vector,
    force=Reals3,
    wanted=Reals3,
    half_axes=tuple[Real, Real],
    stiffness=Reals3,
    friction=NotNegative,
    p_object_cells=None,
    # So many rows of the state's array of cells belong to it, after those of the contacts before.
    pressures=Kept("cells", Count, write=len),
)
record(
    HeldState,
    time=float,
    q=Joints,
    T_world_object=Kept("pose"),
    contacts=several(PlannedContact, most=1000),
    centre_of_mass=Vector,
    centre_at_rest=Vector,
    load=Vector6,
    torques=RealJoints,
    displacement=StoredArray("displacement", "<f4", ("vertices", 3)),
)
record(
    Trajectory,
    repeated={
        "points": (Annotated[int, Field(ge=2, le=MOST_POINTS)], lambda trajectory: len(trajectory.times)),
        "duration": (Positive, lambda trajectory: trajectory.duration),
        "phases": (Annotated[tuple[PhaseEntry, ...], FailFast()], _phase_runs),
    },
    times=StoredArray("times", "<f8", ("points",)),
    q=StoredArray("joints", "<f8", ("points", "joints")),
    phases=None,
    object_poses=StoredArray("object_poses", "<f8", ("points", 7)),
    commands=StoredArray("commands", "<f8", ("points", "joints"), later=True),
)
record(Reserve, friction=Positive, load=Positive)
record(
    PlannedGrasp,
    later=(
        "reserve",
        "nominal_force",
        "grasp_singular_value",
        "hand_singular_value",
        "approach_s",
        "sequential_s",
        "approach_way",
        "holds_share",
        "holds_interval",
    ),
    approach_way=Text,
    states=several(HeldState, least=1, most=10_000),
    q_pregrasp=Joints,
    q_touch=Joints,
    warnings=Texts,
)
PLAN = record(
    Plan,
    first=("format", "version", "units", "status", "advice", "counts", "seed", "wall_s", "cpu_s", "versions"),
    repeated={
        "format": (Literal["pliant plan"], lambda plan: FORMAT),
        "version": (Literal[1, 2], lambda plan: VERSION),
        "units": (dict[str, str], lambda plan: UNITS),
        # How many were rejected and why, for readers that want no more.
        "counts": (dict[str, Count], lambda plan: plan.counts),
    },
    later=("choice", "stopped", "first_s", "improved_s", "tried"),
    grasps=several(PlannedGrasp, most=1000),
    advice=Text,
    seed=int,
)
"""The whole of ``plan.json``."""
