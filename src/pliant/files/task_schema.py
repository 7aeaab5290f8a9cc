"""The schema of a task file: one page of YAML, every field checked. Units: SI, but for fields that end in _deg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from pliant.constants import GRAVITY
from pliant.documents import Document
from pliant.robot import Pose, Vector3

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


ONE_MATERIAL = (
    "a body is of one material throughout. Of foam in a skin, or a filled bag, give as young what the whole shows when "
    "it is pressed ('pliant calibrate' measures it); a hollow is an inner shell of the mesh, faces inwards; a thin "
    "wall with a liquid or air in it is 'liquid'"
)


class StartFields(Document):
    """Where a hand without an arm starts: the palm frame in the world."""

    palm: Pose


class RobotFields(Document):
    """Arm and hand by shipped name or by the path of a description (relative to the task file)."""

    arm: str | None = None
    hand: str
    base: Pose = Pose()
    mount: Pose = Pose()
    start_deg: tuple[float, ...] | dict[str, float] | None = None
    start: StartFields | None = None
    package_dirs: Annotated[tuple[str, ...], Field(max_length=50)] = ()


class MaterialFields(Document):
    """Elastic constants [Pa, -], density [kg/m^3] and friction with the pads. Ranges are checked by `Material`."""

    young: float
    poisson: float
    density: float | None = None
    friction: float = 0.5


class LimitsFields(Document):
    """The most a contact may do to the object: force [N], pressure [Pa]."""

    force: float | None = None
    pressure: float | None = None


class LiquidFields(Document):
    """A liquid inside: volume [m^3], density [kg/m^3], wall thickness of the vessel [m], sealed or open."""

    volume: float
    density: float = 1000.0
    wall: float | None = None
    sealed: bool = True


class ObjectFields(Document):
    """The object: a mesh file or one of the shipped shapes, its pose, material, limits and contents."""

    explained: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("core", "filling", "foam", "inside", "layers", "materials", "shell", "skin", "stuffing"), ONE_MATERIAL
    )
    mesh: str | None = None
    scale: Positive = 1.0
    shape: dict[str, dict[str, Any]] | None = None
    pose: Pose = Pose()
    material: MaterialFields
    mass: float | None = None
    limits: LimitsFields = LimitsFields()
    liquid: LiquidFields | None = None

    @model_validator(mode="after")
    def _one_source(self) -> ObjectFields:
        if (self.mesh is None) == (self.shape is None):
            raise ValueError("give either mesh (a file) or shape (one of those that 'pliant objects' lists)")
        if self.shape is not None and len(self.shape) != 1:
            raise ValueError(f"shape names {len(self.shape)} shapes; give one, as 'shape: {{torus: {{major: 0.035}}}}'")
        return self


class ObstaclePose(Document):
    """An obstacle's pose in the world."""

    position: Vector3 = (0.0, 0.0, 0.0)
    rpy_deg: tuple[float, float, float] = (0.0, 0.0, 0.0)


class BoxFields(ObstaclePose):
    """A box, centred on its position: edges along x, y, z [m]."""

    size: tuple[Positive, Positive, Positive]


class CylinderFields(ObstaclePose):
    """A cylinder along z, centred on its position [m]."""

    radius: Positive
    height: Positive


class SphereFields(ObstaclePose):
    """A ball around its position [m]."""

    radius: Positive


class SceneItem(Document):
    """One obstacle: a box, a cylinder, a sphere, or a mesh file with a pose."""

    box: BoxFields | None = None
    cylinder: CylinderFields | None = None
    sphere: SphereFields | None = None
    mesh: str | None = None
    pose: Pose = Pose()
    scale: Positive = 1.0

    @model_validator(mode="after")
    def _one_shape(self) -> SceneItem:
        given = [name for name in ("box", "cylinder", "sphere", "mesh") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an obstacle is one of box, cylinder, sphere, mesh; given: {', '.join(given) or 'none'}")
        if self.mesh is None and (self.pose != Pose() or self.scale != 1.0):
            raise ValueError(f"pose and scale are a mesh's; a {given[0]} has a position and a size of its own")
        return self


class RotateFields(Document):
    """A turn about an axis through the object's centre of mass."""

    axis: Vector3
    angle_deg: float

    @model_validator(mode="after")
    def _has_axis(self) -> RotateFields:
        if float(np.linalg.norm(self.axis)) < 1e-9:
            raise ValueError("axis (0, 0, 0) has no direction")
        return self


class MoveFields(Document):
    """Displacement of the object after the lift."""

    translate: Vector3 = (0.0, 0.0, 0.0)
    rotate: RotateFields | None = None
    frame: Literal["world", "object", "palm"] = "palm"


class PushFields(Document):
    """A push on the held object: force [N] and torque [N m] in the world, or any force up to a size [N]."""

    force: Vector3 = (0.0, 0.0, 0.0)
    torque: Vector3 = (0.0, 0.0, 0.0)
    any_force: NotNegative = 0.0

    @model_validator(mode="after")
    def _one_kind(self) -> PushFields:
        if bool(self.any_force) == bool(any(self.force) or any(self.torque)):
            raise ValueError("a disturbance is a force and/or a torque, or any_force alone")
        return self


class UncertaintyFields(Document):
    """By how much the world may differ from the task: half widths [m, degrees]; relative for friction, mass, young."""

    position: Annotated[float, Field(ge=0, le=0.1)] = 0.003
    turn_deg: Annotated[float, Field(ge=0, le=180)] = 3.0
    friction: Annotated[float, Field(ge=0, lt=1)] = 0.15
    mass: Annotated[float, Field(ge=0, lt=1)] = 0.05
    young: Annotated[float, Field(ge=0, lt=1)] = 0.2


class GoalFields(Document):
    """What must happen to the object."""

    lift: Annotated[float, Field(ge=0, le=2)] = 0.05
    move: MoveFields = MoveFields()
    steps: Annotated[int, Field(ge=1, le=10_000)] = 20
    by: Literal["fingers", "arm", "both"] = "fingers"
    disturbances: Annotated[tuple[PushFields, ...], Field(max_length=100)] = ()
    gravity: Vector3 = (0.0, 0.0, -GRAVITY)


class PlannerFields(Document):
    """How thorough the search is."""

    effort: Literal["quick", "normal", "thorough"] = "normal"
    faces: Annotated[int, Field(ge=4, le=100_000)] = 60
    rolls: Annotated[int, Field(ge=1, le=360)] = 8
    keep: Annotated[int, Field(ge=1, le=1000)] = 5
    method: Literal["polyhedron", "sphere", "box"] = "polyhedron"
    hypotheses: Annotated[int, Field(ge=1, le=40_000)] = 10000
    margin: Annotated[float, Field(ge=0, le=1)] = 0.05
    speed: Annotated[float, Field(gt=0, le=1)] = 0.5
    move_tolerance: Annotated[float, Field(gt=0, le=0.1)] = 2e-3
    turn_tolerance_deg: Annotated[float, Field(gt=0, le=90)] = 3.0
    weights: tuple[NotNegative, NotNegative, NotNegative] = (1.0, 0.0, 0.0)
    shortlist: Annotated[int, Field(ge=1, le=1000)] = 5
    force_tolerance: Annotated[float, Field(ge=0, le=10)] = 0.05
    cost: Literal["largest", "loading"] = "largest"
    standoff: Annotated[float, Field(gt=0, le=0.2)] = 0.01
    tip_targets: Literal["position", "pose"] = "position"
    whole_hand: bool = False

    @model_validator(mode="after")
    def _weighs_something(self) -> PlannerFields:
        if not any(self.weights):
            raise ValueError("weights are all 0: nothing is left to choose by; give at least one above 0")
        return self


class TaskFile(Document):
    """A task file as written."""

    robot: RobotFields
    object: ObjectFields
    scene: Annotated[tuple[SceneItem, ...], Field(max_length=1000)] = ()
    task: GoalFields = GoalFields()
    uncertainty: UncertaintyFields = UncertaintyFields()
    planner: PlannerFields = PlannerFields()

    @model_validator(mode="after")
    def _liquids_settle(self) -> TaskFile:
        if self.object.liquid is not None and not any(self.task.gravity):
            raise ValueError(
                "task.gravity is zero, but a liquid needs a direction to settle in; leave object.liquid out"
            )
        return self
