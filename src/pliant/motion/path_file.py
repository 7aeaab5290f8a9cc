"""Path files: which frames follow which paths, as a YAML document; and the point array as a CSV file."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path as File
from typing import Annotated, Any, Literal

import numpy as np
import pinocchio as pin
from pydantic import Field, model_validator

from pliant.arrays import Floats
from pliant.documents import Document, read_document
from pliant.errors import DocumentError, InputError, OptionError, Problem, unknown_name
from pliant.file_bytes import write_bytes
from pliant.motion.frame_task import FrameTask
from pliant.motion.path import Carried, Circle, Eased, FigureEight, Hold, Path, PathFunction, Waypoints
from pliant.motion.point_array import PointArray, Targets, record_points
from pliant.motion.split import split_chain
from pliant.motion.tracking import Gains
from pliant.robot import Pose, Robot

Vector3 = tuple[float, float, float]
Positive = Annotated[float, Field(gt=0)]
MAX_STEPS = 2_000_000


class CircleDoc(Document):
    """Round an axis: through ``centre``, or at ``radius`` from the start."""

    start: Pose | None = None
    centre: Vector3 | None = None
    radius: Positive | None = None
    axis: Vector3 = (0.0, 0.0, 1.0)
    period: Positive
    turning: bool = False

    @model_validator(mode="after")
    def _one_centre(self) -> CircleDoc:
        if (self.centre is None) == (self.radius is None):
            raise ValueError("give either centre or radius")
        return self


class EightDoc(Document):
    """p0 + along sin(wt) + across sin(2wt), tilting by tilt sin(wt)."""

    start: Pose | None = None
    along: Vector3
    across: Vector3
    tilt: Vector3 = (0.0, 0.0, 0.0)
    period: Positive


class PointDoc(Pose):
    """A pose at a time; without an orientation, that of the start."""

    time: Annotated[float, Field(ge=0)]


class VelocityDoc(Document):
    """Constant velocity and turn rate from a start: a conveyor, a turntable."""

    start: Pose = Pose()
    velocity: Vector3 = (0.0, 0.0, 0.0)
    turn_rate: Vector3 = (0.0, 0.0, 0.0)


class PathDoc(Document):
    """Exactly one kind of path. A start that is not given is where the frame is at the start joints."""

    hold: Pose | None = None
    here: Literal[True] | None = None
    points: Annotated[tuple[PointDoc, ...], Field(min_length=2)] | None = None
    circle: CircleDoc | None = None
    eight: EightDoc | None = None
    constant: VelocityDoc | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> PathDoc:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"{' and '.join(given) or 'nothing'} given; give one of {', '.join(type(self).model_fields)}"
            )
        return self


class FrameDoc(Document):
    """A frame and its path; see `FrameTask`."""

    link: str
    offset: Pose | None = None
    rows: str = "pose"
    axis: str = "z"
    basis: str = "frame"
    relative_to: str | None = None
    weights: float | tuple[float, float, float, float, float, float] = 1.0
    priority: int = 0
    path: PathDoc


class GainsDoc(Document):
    """Gains of the tracking servo [1/s], and whether the path's own speed is fed forward."""

    linear: float = 20.0
    angular: float = 20.0
    feed_forward: bool = True


class PointsDoc(Document):
    """How the point array is spaced: every so many seconds or metres, refined to a tolerance."""

    by: Literal["time", "distance"] = "time"
    every: Positive = 0.05
    tolerance: Positive | None = None
    tolerance_rad: Positive | None = None


class PathFile(Document):
    """A path file."""

    frames: Annotated[tuple[FrameDoc, ...], Field(min_length=1, max_length=100)]
    bases: Annotated[dict[str, PathDoc], Field(max_length=100)] = Field(default_factory=dict)
    start: dict[str, float] | None = None
    start_deg: dict[str, float] | None = None
    duration: Positive | None = None
    rate_hz: Annotated[float, Field(gt=0, le=10_000)] = 500.0
    ramp: Annotated[float, Field(ge=0)] = 0.5
    solver: str = "qp"
    gains: GainsDoc = GainsDoc()
    joints: Annotated[tuple[str, ...], Field(max_length=200)] | None = None
    scales: dict[str, Annotated[float, Field(ge=1e-3, le=1e3)]] = Field(default_factory=dict)
    split: str | Annotated[tuple[str, ...], Field(min_length=1, max_length=100)] | None = None
    points: PointsDoc = PointsDoc()

    @model_validator(mode="after")
    def _one_start(self) -> PathFile:
        if self.start is not None and self.start_deg is not None:
            raise ValueError("both start and start_deg are given; give one")
        return self


@dataclass(frozen=True)
class TrackingJob:
    """A path file made ready for a robot: ``job.run()``."""

    robot: Robot
    document: PathFile
    q_start: Floats
    targets: Targets
    duration: float

    @property
    def joint_weights(self) -> Floats:
        """1 / scale^2 of each joint.   (theory 5.1)"""
        return np.array([self.document.scales.get(name, 1.0) ** -2.0 for name in self.robot.joint_names])

    @property
    def split(self) -> tuple[str, ...]:
        """The links at which the chain is split, from the root outwards."""
        split = self.document.split or ()
        return (split,) if isinstance(split, str) else split

    def run(self, *, solver: str | None = None, tolerance: float | None = None, **options: Any) -> PointArray:
        """Track the paths and record the point array; ``solver`` and ``tolerance`` [m] override the file's."""
        doc = self.document
        return record_points(
            self.robot,
            self.targets,
            self.q_start,
            duration=self.duration,
            every=doc.points.every,
            by=doc.points.by,
            tolerance_m=tolerance if tolerance is not None else doc.points.tolerance,
            tolerance_rad=doc.points.tolerance_rad,
            dt=1.0 / doc.rate_hz,
            solver=solver if solver is not None else doc.solver,
            gains=Gains(doc.gains.linear, doc.gains.angular, doc.gains.feed_forward),
            joints=doc.joints,
            joint_weights=self.joint_weights,
            split=self.split,
            **options,
        )


def read_path_file(path: str | File, robot: Robot, *, q_home: Floats | None = None) -> TrackingJob:
    """Read a path file for a robot; every problem names the file and the field.

    Args:
        q_home: start joints where the file gives none, or only some; mid-range by default.
    """
    doc = read_document(path, PathFile)
    source = str(path)
    q = robot.mid_range if q_home is None else q_home.copy()
    degrees = doc.start_deg is not None
    for name, value in (doc.start_deg or doc.start or {}).items():
        if name not in robot.joint_names:
            where = "start_deg" if degrees else "start"
            raise DocumentError(source, unknown_name("independent joint", name, robot.joint_names, where=where))
        turns = robot.urdf.joint(name).kind != "prismatic"
        q[robot.joint_index(name)] = math.radians(value) if degrees and turns else value
    for where, names in (("joints", doc.joints or ()), ("scales", doc.scales)):
        for name in names:
            if name not in robot.joint_names:
                raise DocumentError(source, unknown_name("independent joint", name, robot.joint_names, where=where))
    bases = {name: _make(doc.bases[name], pin.SE3.Identity(), source, f"bases.{name}") for name in doc.bases}
    targets = [_target(robot, frame, q, doc, bases, source, f"frames[{i}]") for i, frame in enumerate(doc.frames)]
    ends = [path.duration for _, path in targets if math.isfinite(path.duration)]
    duration = doc.duration if doc.duration is not None else max(ends, default=math.nan)
    if not math.isfinite(duration):
        raise DocumentError(
            source, Problem("duration", "is not given, and no path ends by itself", "a time in seconds")
        )
    if duration * doc.rate_hz > MAX_STEPS:
        what = f"{duration:g} s at {doc.rate_hz:g} Hz are {duration * doc.rate_hz:.3g} steps"
        raise DocumentError(source, Problem("duration", what, f"at most {MAX_STEPS}"))
    job = TrackingJob(robot, doc, q, targets, duration)
    if job.split:
        try:
            split_chain(robot, job.split, [task for task, _ in targets])
        except InputError as bad:
            raise DocumentError(source, [Problem("split", p.what, p.allowed) for p in bad.problems]) from None
    return job


def write_points(array: PointArray, robot: Robot, file: str | File) -> None:
    """Write a point array as CSV: time [s], then the joints [rad, m] in the robot's order."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["time_s", *robot.joint_names])
    for t, q in zip(array.times, array.q, strict=True):
        writer.writerow([f"{t:.9g}", *(f"{value:.12g}" for value in q)])
    write_bytes(File(file), out.getvalue().encode(), error=OptionError)


def _target(
    robot: Robot, frame: FrameDoc, q: Floats, doc: PathFile, bases: dict[str, Path], source: str, where: str
) -> tuple[FrameTask, Path]:
    if frame.link not in robot.link_names:
        raise DocumentError(source, unknown_name("link", frame.link, robot.link_names, where=f"{where}.link"))
    base, link = None, frame.relative_to
    if link is not None and link not in robot.link_names:
        base, link = bases.get(link), None
        if base is None:
            known = [*bases, *robot.link_names]
            raise DocumentError(
                source, unknown_name("basis or link", str(frame.relative_to), known, where=f"{where}.relative_to")
            )
    if frame.basis not in ("frame", "world", *robot.link_names):
        known = ["frame", "world", *robot.link_names]
        raise DocumentError(source, unknown_name("basis", frame.basis, known, where=f"{where}.basis"))
    try:
        task = FrameTask(
            frame.link,
            T_link_frame=frame.offset.se3 if frame.offset is not None else None,
            rows=frame.rows,
            axis=frame.axis,
            basis=frame.basis,
            relative_to=link,
            weights=frame.weights,
            priority=frame.priority,
        )
    except InputError as bad:
        raise DocumentError(source, [Problem(f"{where}.{p.where}", p.what, p.allowed) for p in bad.problems]) from None
    here = robot.pose(frame.link, q) * (task.T_link_frame or pin.SE3.Identity())
    if link is not None:
        here = robot.pose(link, q).actInv(here)
    elif base is not None:
        here = base.at(0.0)[0].actInv(here)
    path = _make(frame.path, here, source, f"{where}.path")
    if doc.ramp > 0.0 and not math.isfinite(path.duration) and not isinstance(path, Hold):
        path = Eased(path, doc.ramp)
    return task, Carried(path, base) if base is not None else path


def _make(doc: PathDoc, here: pin.SE3, source: str, where: str) -> Path:
    """The path that a document describes, starting ``here`` where it gives no start."""
    try:
        if doc.hold is not None:
            return Hold(doc.hold.se3)
        if doc.here is not None:
            return Hold(here)
        if doc.points is not None:
            poses = [
                p.se3 if p.rpy_deg or p.quaternion else pin.SE3(here.rotation, p.se3.translation) for p in doc.points
            ]
            return Waypoints([p.time for p in doc.points], poses)
        if doc.circle is not None:
            return _circle(doc.circle, here)
        if doc.eight is not None:
            eight, start = doc.eight, doc.eight.start.se3 if doc.eight.start is not None else here
            return FigureEight(start, along=eight.along, across=eight.across, tilt=eight.tilt, period=eight.period)
        assert doc.constant is not None
        return _constant(doc.constant)
    except InputError as bad:
        raise DocumentError(source, [Problem(f"{where}.{p.where}", p.what, p.allowed) for p in bad.problems]) from None


def _circle(doc: CircleDoc, here: pin.SE3) -> Circle:
    start = doc.start.se3 if doc.start is not None else here
    centre = np.asarray(doc.centre) if doc.centre is not None else None
    if centre is None:
        assert doc.radius is not None
        axis = np.asarray(doc.axis)
        # Any direction across the axis will do; the one nearest to x, or to y where the axis is x, is easy to foresee.
        across = np.eye(3)[0] if abs(axis[0]) < 0.9 * np.linalg.norm(axis) else np.eye(3)[1]
        across = across - axis * (across @ axis) / max(float(axis @ axis), 1e-12)
        centre = start.translation + doc.radius * across / np.linalg.norm(across)
    return Circle(start, centre=centre, axis=doc.axis, period=doc.period, turning=doc.turning)


def _constant(doc: VelocityDoc) -> PathFunction:
    start, v, w = doc.start.se3, np.array(doc.velocity), np.array(doc.turn_rate)

    def pose(t: float) -> pin.SE3:
        return pin.SE3(pin.exp3(w * t) @ start.rotation, start.translation + v * t)

    return PathFunction(pose, twist=lambda t: np.concatenate([v, w]))
