"""The schema of ``plan.json`` inside a plan file: every field of a `Plan` but its large arrays, and the robot's tree.

SI units. A pose is the upper three rows of the homogeneous matrix, written in full precision, so that what is read
is what was written to the last bit. Numbers that may be unbounded are written "inf", "-inf" or "nan" where they are.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

import numpy as np
import pinocchio as pin
from pydantic import (
    AfterValidator,
    AllowInfNan,
    BeforeValidator,
    Field,
    PlainSerializer,
    field_validator,
    model_validator,
)

from pliant.documents import Document
from pliant.objects import ContactLimits, Liquid, Material
from pliant.planner import Goal, Phase, PlannerOptions, PlanStatus, Stage
from pliant.robot import ArmDescription, HandDescription

FORMAT: Final = "pliant plan"
VERSION: Final = 1
UNITS = {
    "length": "m", "angle": "rad", "time": "s", "force": "N", "torque": "N m", "pressure": "Pa", "stiffness": "N/m",
    "mass": "kg", "pose": "upper three rows of the homogeneous matrix", "quaternion": "w x y z",
}  # fmt: skip

_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _from_word(value: Any) -> Any:
    return _SPECIAL.get(value, value) if isinstance(value, str) else value


def _to_word(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def _is_number(value: float) -> float:
    if math.isnan(value):
        raise ValueError("nan is no limit; a joint without one has inf")
    return value


Real = Annotated[float, AllowInfNan(True), BeforeValidator(_from_word), PlainSerializer(_to_word)]
"""A computed number: may be infinite or undefined."""
Limit = Annotated[Real, AfterValidator(_is_number)]
"""A bound: may be infinite, not undefined."""
Text = Annotated[str, Field(max_length=100_000)]
_PART = r"[^/\\\x00-\x1f]"
FileName = Annotated[str, Field(max_length=255, pattern=rf"^{_PART}*[^./\\\x00-\x1f]{_PART}*$")]
"""Becomes the name of a file: one part of a path, and not only dots."""
Vector = tuple[float, float, float]
Reals3 = tuple[Real, Real, Real]
Bounded = Annotated[float, Field(ge=-1e9, le=1e9)]
"""A length or a factor, no larger than in a URDF."""
Row = tuple[float, float, float, Bounded]
Count = Annotated[int, Field(ge=0, lt=2**31)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Joints = Annotated[tuple[float, ...], Field(max_length=1000)]


def _is_pose(rows: tuple[Row, Row, Row]) -> tuple[Row, Row, Row]:
    R = np.array(rows)[:, :3]
    if np.abs(R).max() > 1.1 or np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
        raise ValueError("its first three columns are no rotation")
    return rows


PoseRows = Annotated[tuple[Row, Row, Row], AfterValidator(_is_pose)]


def pose_rows(T: pin.SE3) -> tuple[Row, Row, Row]:
    """A pose as three rows of four numbers."""
    a, b, c = np.column_stack([T.rotation, T.translation]).tolist()
    return tuple(a), tuple(b), tuple(c)


def to_se3(rows: tuple[Row, Row, Row]) -> pin.SE3:
    """The pose again, bit for bit."""
    matrix = np.array(rows)
    return pin.SE3(np.ascontiguousarray(matrix[:, :3]), np.ascontiguousarray(matrix[:, 3]))


# -- the robot ---------------------------------------------------------------------------------------------------------


class ShapeEntry(Document):
    """A shape of a link; ``mesh`` is the name of the file in the archive's folder ``meshes``."""

    kind: Literal["mesh", "box", "cylinder", "sphere"]
    size: Annotated[tuple[Bounded, ...], Field(min_length=1, max_length=3)]
    pose: PoseRows
    mesh: Annotated[str, Field(pattern=r"^[0-9a-f]{64}\.[a-z]{2,5}$")] | None = None
    colour: tuple[float, float, float, float] | None = None

    @model_validator(mode="after")
    def _is_shape(self) -> ShapeEntry:
        wanted = {"mesh": 3, "box": 3, "cylinder": 2, "sphere": 1}[self.kind]
        if len(self.size) != wanted:
            raise ValueError(f"a {self.kind} has {wanted} sizes, not {len(self.size)}")
        if (self.kind == "mesh") != (self.mesh is not None):
            raise ValueError(f"a {self.kind} {'needs a' if self.kind == 'mesh' else 'has no'} mesh file")
        # A mesh may be mirrored; nothing may be flat.
        if 0.0 in self.size or (self.kind != "mesh" and min(self.size) < 0.0):
            raise ValueError(f"a {self.kind} of size {self.size}")
        return self


class InertialEntry(Document):
    """Mass, frame of the centre of mass, inertia xx xy xz yy yz zz."""

    mass: NotNegative
    pose: PoseRows
    inertia: tuple[float, float, float, float, float, float]


class LinkEntry(Document):
    """A link."""

    name: str
    visuals: Annotated[tuple[ShapeEntry, ...], Field(max_length=1000)] = ()
    collisions: Annotated[tuple[ShapeEntry, ...], Field(max_length=1000)] = ()
    inertial: InertialEntry | None = None


class MimicEntry(Document):
    """A follower: multiplier * master + offset."""

    joint: str
    multiplier: float
    offset: float


class JointEntry(Document):
    """A joint; limits may be infinite."""

    name: str
    kind: Literal["revolute", "continuous", "prismatic", "fixed"]
    parent: str
    child: str
    pose: PoseRows
    axis: Vector
    lower: Limit
    upper: Limit
    velocity: Limit
    effort: Limit
    damping: float
    friction: float
    mimic: MimicEntry | None = None

    @field_validator("axis")
    @classmethod
    def _is_unit(cls, axis: Vector) -> Vector:
        if abs(math.hypot(*axis) - 1.0) > 1e-6:
            raise ValueError(f"the axis {axis} is not of length one")
        return axis


class RobotEntry(Document):
    """The whole robot: one tree, where it stands, and what the descriptions say of arm and hand."""

    name: str
    source: Text
    notes: tuple[Text, ...]
    base: PoseRows
    links: Annotated[tuple[LinkEntry, ...], Field(min_length=1, max_length=2000)]
    joints: Annotated[tuple[JointEntry, ...], Field(max_length=2000)]
    joint_names: tuple[str, ...]
    arm: ArmDescription | None
    hand: HandDescription | None
    arm_joints: tuple[Count, ...]
    hand_joints: tuple[Count, ...]


# -- the task ----------------------------------------------------------------------------------------------------------


class MeshEntry(Document):
    """A mesh whose coordinates and faces are arrays ``<array>_vertices`` and ``<array>_faces`` of the archive."""

    name: str
    array: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,30}$")]


class ObjectEntry(Document):
    """What is held."""

    mesh: MeshEntry
    material: Material
    dry_mass: NotNegative
    liquid: Liquid | None
    limits: ContactLimits
    rest_volume: NotNegative


class TaskEntry(Document):
    """The question; its file's text is ``task.yaml`` in the archive."""

    name: FileName
    robot: RobotEntry
    q_start: Joints
    object: ObjectEntry
    object_pose: PoseRows
    scene: Annotated[tuple[MeshEntry, ...], Field(max_length=10_000)]
    wish: Goal
    options: PlannerOptions
    notes: tuple[Text, ...]


# -- the answer --------------------------------------------------------------------------------------------------------


class HypothesisEntry(Document):
    """A hand pose relative to the object, preshape and fingers."""

    number: Count
    pose: PoseRows
    preshape: str
    fingers: Annotated[tuple[str, ...], Field(max_length=100)]
    source: Text
    opening: float


class RejectionEntry(Document):
    """Why a hypothesis fell."""

    number: Count
    stage: Stage
    reason: Text
    margin: Real
    unit: str
    detail: Text


class StableEntry(Document):
    """A hypothesis that held on the way."""

    number: Count
    largest_force: Real
    epsilon: Real


class ContactEntry(Document):
    """A contact region. ``cells`` rows of the state's array of cells belong to it, after those of the ones before."""

    link: str
    finger: str
    patch: Count
    pose: PoseRows
    p_link: Vector
    force: Reals3
    wanted: Reals3
    radius: Real
    half_axes: tuple[Real, Real]
    peak_pressure: Real
    area: Real
    depth: Real
    stiffness: Reals3
    friction: NotNegative
    max_force: Real
    cells: Count
    cell_area: Real


class StateEntry(Document):
    """The held object at one instant."""

    time: float
    phase: Phase
    q: Joints
    pose: PoseRows
    contacts: Annotated[tuple[ContactEntry, ...], Field(max_length=1000)]
    centre_of_mass: Vector
    centre_at_rest: Vector
    load: tuple[float, float, float, float, float, float]
    torques: Annotated[tuple[Real, ...], Field(max_length=1000)]
    friction_usage: Real
    volume_change: Real
    liquid_level: Real | None


class PhaseEntry(Document):
    """A run of trajectory points that belong to one phase, with the times of its first and last point."""

    phase: Phase
    points: Annotated[int, Field(ge=1)]
    start: float
    end: float


class TrajectoryEntry(Document):
    """What the arrays of the trajectory are about."""

    points: Annotated[int, Field(ge=2, le=10_000_000)]
    duration: Positive
    phases: tuple[PhaseEntry, ...]


class GraspEntry(Document):
    """A grasp with its operation."""

    hypothesis: HypothesisEntry
    trajectory: TrajectoryEntry
    states: Annotated[tuple[StateEntry, ...], Field(min_length=1, max_length=10_000)]
    q_pregrasp: Joints
    q_touch: Joints
    largest_force: Real
    largest_pressure: Real
    com_shift: Real
    joint_range: Real
    arm_path: Real
    epsilon: Real
    slack: Real
    warnings: tuple[Text, ...]


class PlanDocument(Document):
    """The whole of ``plan.json``; ``counts`` repeats how many fell and why, for readers that want no more."""

    format: Literal["pliant plan"]
    version: Literal[1]
    units: dict[str, str]
    status: PlanStatus
    advice: Text
    counts: dict[str, Count]
    seed: int
    wall_s: Real
    cpu_s: dict[str, Real]
    versions: dict[str, str]
    task: TaskEntry
    grasps: Annotated[tuple[GraspEntry, ...], Field(max_length=1000)]
    hypotheses: tuple[HypothesisEntry, ...]
    rejections: tuple[RejectionEntry, ...]
    stable: tuple[StableEntry, ...]
