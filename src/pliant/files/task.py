"""From a task file to a `Task`: robot and object loaded, every wrong value named with its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import pinocchio as pin
import yaml

from pliant.arrays import Floats
from pliant.documents import parse_document, read_mapping, resolve_inside
from pliant.errors import DocumentError, InputError, LiquidError, MaterialError, OptionError, Problem
from pliant.files.calibration_file import with_calibration
from pliant.files.task_schema import ObjectFields, RobotFields, SceneItem, TaskFile
from pliant.objects import Body, ContactLimits, Liquid, Material, Mesh, check_size, load_mesh, make_shape, read_mesh
from pliant.planner import Carrier, Goal, MoveFrame, PlannerOptions, Push, Task, Uncertainty, with_arm
from pliant.robot import Assembly, Pose, load_assembly, shipped_names

T = TypeVar("T")
MOST_FACES = 2_000_000
"""Of all obstacles together."""
FILE_NAME = re.compile(r"(?!\.+$)[^/\\\x00-\x1f]{1,255}")
"""One part of a path, and not only dots."""


def read_task(
    path: str | Path,
    *,
    allow_outside: bool = False,
    package_dirs: Iterable[str | Path] = (),
    calibrated: bool = True,
) -> Task:
    """Read a task file. Files it names must lie in its own folder or below, unless ``allow_outside``.

    Args:
        package_dirs: folders in which ``package://name/...`` of its robots is looked for.
        calibrated: use the calibration beside the file (``NAME.calibration.yaml``), where there is one.
    """
    path = Path(path)
    fields = parse_document(read_mapping(path), TaskFile, source=str(path))
    if not FILE_NAME.fullmatch(path.stem):  # the plan has this name, and is offered for saving under it
        raise DocumentError(str(path), f"'{path.stem}' cannot be the name of a plan; call the file otherwise")
    changes: tuple[str, ...] = ()
    if calibrated:
        fields, changes = with_calibration(fields, path)
    task = task_from_fields(fields, path, allow_outside=allow_outside, package_dirs=package_dirs)
    return replace(task, notes=(*task.notes, *changes)) if changes else task


def task_from_fields(
    fields: TaskFile, path: Path, *, allow_outside: bool = False, package_dirs: Iterable[str | Path] = ()
) -> Task:
    """Load what the fields name; problems of several parts are reported together."""
    loader = _TaskLoader(path, allow_outside, package_dirs)
    assembly = loader.part("robot", lambda: loader.assembly(fields.robot))
    body_notes = loader.part("object", lambda: loader.body(fields.object))
    scene = loader.part("scene", lambda: loader.scene(fields.scene))
    if loader.problems or assembly is None or body_notes is None or scene is None:
        raise DocumentError(str(path), loader.problems)
    body, notes = body_notes
    source = yaml.safe_dump(
        fields.model_dump(mode="json", exclude_unset=True), sort_keys=False, default_flow_style=None, width=120
    )
    q_start = _start(fields.robot, assembly, path)
    move = fields.task.move
    rotation = np.zeros(3)
    if move.rotate is not None:
        axis = np.array(move.rotate.axis)
        rotation = np.radians(move.rotate.angle_deg) * axis / np.linalg.norm(axis)
    goal = Goal(
        fields.task.lift,
        move.translate,
        (float(rotation[0]), float(rotation[1]), float(rotation[2])),
        MoveFrame(move.frame),
        fields.task.steps,
        Carrier(fields.task.by),
        tuple(Push(push.force, push.torque, push.any_force) for push in fields.task.disturbances),
        fields.task.gravity,
    )
    unsure = fields.uncertainty
    uncertainty = Uncertainty(
        unsure.position, float(np.radians(unsure.turn_deg)), unsure.friction, unsure.mass, unsure.young
    )
    chosen = fields.planner.model_dump(exclude={"turn_tolerance_deg"})
    options = PlannerOptions(**chosen, turn_tolerance=float(np.radians(fields.planner.turn_tolerance_deg)))
    task = Task(
        assembly, q_start, body, fields.object.pose.se3, scene, goal, options, uncertainty, path.stem, notes, source
    )
    start = fields.robot.start
    if start is None:
        return task
    if assembly.arm is not None:
        what = "is where a hand without an arm starts, and this one has an arm"
        raise DocumentError(str(path), Problem("robot.start.palm", what, "give the arm's joints: start_deg"))
    return with_arm(task, start.palm.se3)


class _TaskLoader:
    def __init__(self, path: Path, allow_outside: bool, package_dirs: Iterable[str | Path]) -> None:
        self.path = path
        self.package_dirs = tuple(package_dirs)
        self.allow_outside = allow_outside
        self.problems: list[Problem] = []
        self.read = lru_cache(maxsize=1)(read_mesh)  # a scene of many equal parts names one file again and again

    def part(self, field: str, load: Callable[[], T]) -> T | None:
        """Load one part; its problems are kept under the field's name instead of stopping here."""
        try:
            return load()
        except InputError as bad:
            for problem in bad.problems:
                where = self.place(field, bad)
                self.problems.append(
                    Problem(f"{where}: {problem.where}" if problem.where else where, problem.what, problem.allowed)
                )
            return None

    def place(self, field: str, bad: InputError) -> str:
        """The field that a problem belongs to, as a user would write it."""
        if isinstance(bad, MaterialError):
            return f"{field}.material"
        if isinstance(bad, LiquidError):
            return f"{field}.liquid"
        if isinstance(bad, OptionError) and bad.source.startswith("shape"):
            return f"{field}.shape"
        return field if bad.source in ("", str(self.path)) else f"{field}: {bad.source}"

    def file(self, name: str, where: str) -> Path:
        folder = self.path.parent
        return resolve_inside(folder, name, source=str(self.path), where=where, allow_outside=self.allow_outside)

    def assembly(self, robot: RobotFields) -> Assembly:
        def module(kind: Literal["arm", "hand"], name: str | None) -> str | Path | None:
            """A shipped name as it is; anything else is a file below the task's own folder."""
            if name is None or name in shipped_names(kind):
                return name
            path = self.file(name, f"robot.{kind}")
            return path if path.suffix or path.is_file() else name

        return load_assembly(
            module("arm", robot.arm),
            module("hand", robot.hand),
            T_flange_hand=robot.mount.se3,
            T_world_base=robot.base.se3,
            package_dirs=[*self.package_dirs, *(self.file(f, "robot.package_dirs") for f in robot.package_dirs)],
        )

    def body(self, fields: ObjectFields) -> tuple[Body, tuple[str, ...]]:
        notes: list[str] = []
        if fields.mesh is not None:
            repaired = load_mesh(self.file(fields.mesh, "object.mesh"), scale=fields.scale)
            mesh = repaired.mesh
            notes += repaired.report.repaired
        else:
            assert fields.shape is not None
            ((name, parameters),) = fields.shape.items()
            made = make_shape(name, **parameters)
            mesh = check_size(made.scaled(fields.scale) if fields.scale != 1.0 else made)
        m = fields.material
        material = Material(m.young, m.poisson, m.density, m.friction)
        liquid = None
        if fields.liquid is not None:
            liquid = Liquid(fields.liquid.volume, fields.liquid.density, fields.liquid.wall, fields.liquid.sealed)
        limits = ContactLimits(fields.limits.force, fields.limits.pressure)
        body = Body.from_mesh(mesh, material, mass=fields.mass, liquid=liquid, limits=limits)
        return body, (*notes, *material.notes())

    def scene(self, items: Iterable[SceneItem]) -> tuple[Mesh, ...]:
        obstacles: list[Mesh] = []
        faces = 0
        for i, item in enumerate(items):
            where = f"scene[{i}]"
            if (mesh := self.part(where, partial(self.obstacle, item, where))) is None:
                continue
            obstacles.append(mesh)
            if (faces := faces + len(mesh.faces)) > MOST_FACES:
                what = f"with it the scene has {faces} faces"
                self.problems.append(Problem(where, what, f"at most {MOST_FACES}: use fewer or coarser obstacles"))
                break
        return tuple(obstacles)

    def obstacle(self, item: SceneItem, where: str) -> Mesh:
        if item.mesh is not None:
            mesh = self.read(self.file(item.mesh, f"{where}.mesh")).scaled(item.scale)
            return check_size(mesh, smallest=0.0, largest=50.0).transformed(item.pose.se3)
        if item.box is not None:
            mesh, placed = make_shape("box", size=item.box.size, edge=max(item.box.size)), item.box
            return mesh.transformed(Pose(position=placed.position, rpy_deg=placed.rpy_deg).se3)
        if item.cylinder is not None:
            c = item.cylinder
            area = 2 * np.pi * c.radius * (c.radius + c.height)
            edge = max(0.3 * c.radius, float(np.sqrt(area / 5000)))
            mesh = make_shape("cylinder", radius=c.radius, height=c.height, edge=edge)
            return mesh.transformed(Pose(position=c.position, rpy_deg=c.rpy_deg).se3)
        assert item.sphere is not None
        s = item.sphere
        return make_shape("sphere", radius=s.radius, edge=0.2 * s.radius).transformed(
            pin.SE3(np.eye(3), np.array(s.position))
        )


def _start(fields: RobotFields, assembly: Assembly, path: Path) -> Floats:
    """The start: values by name, or a list for the arm alone or for all joints; home where nothing is given."""
    robot, q = assembly.robot, assembly.q_home
    where = "robot.start_deg"
    if fields.start_deg is None:
        return q
    if isinstance(fields.start_deg, dict):
        try:
            indices = np.array([robot.joint_index(name) for name in fields.start_deg], dtype=np.int64)
        except InputError as bad:
            raise DocumentError(str(path), Problem(where, bad.problems[0].what, bad.problems[0].allowed)) from None
        values = np.array(list(fields.start_deg.values()))
    else:
        values = np.array(fields.start_deg)
        if len(values) == len(assembly.arm_joints) and len(values) > 0:
            indices = assembly.arm_joints
        elif len(values) == robot.dof:
            indices = np.arange(robot.dof)
        else:
            allowed = f"give {len(assembly.arm_joints)} (the arm) or {robot.dof} (all): {', '.join(robot.joint_names)}"
            raise DocumentError(str(path), Problem(where, f"has {len(values)} values", allowed))
    kinds = {joint.name: joint.kind for joint in robot.urdf.joints}
    for i, value in zip(indices.tolist(), values, strict=True):
        name = robot.joint_names[i]
        q[i] = value if kinds[name] == "prismatic" else np.radians(value)
        if not robot.lower[i] - 1e-9 <= q[i] <= robot.upper[i] + 1e-9:
            linear = kinds[name] == "prismatic"
            low, high = (robot.lower[i], robot.upper[i]) if linear else np.degrees([robot.lower[i], robot.upper[i]])
            allowed = f"allowed: {low:.4g} .. {high:.4g} {'m (a linear joint)' if linear else 'deg'}"
            raise DocumentError(
                str(path), Problem(f"{where}: {name}", f"{value:g} is outside the joint's limits", allowed)
            )
    return q
