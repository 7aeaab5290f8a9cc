"""The robot: Pinocchio's kinematics behind names, limits and one number per independent joint."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Bools, Floats, Records
from pliant.constants import GRAVITY
from pliant.errors import OptionError, Problem, RobotError, unknown_name
from pliant.robot.compound import ball_joints
from pliant.robot.kinematic_tree import build_model
from pliant.robot.urdf import Joint, Urdf
from pliant.robot.urdf_reading import read_urdf


def load_robot(
    urdf: str | Path, *, package_dirs: Iterable[str | Path] = (), T_world_base: pin.SE3 | None = None
) -> Robot:
    """Read any URDF: revolute, continuous, prismatic, fixed, mimic, floating, planar and spherical joints in any tree.

    Args:
        urdf: the file.
        package_dirs: folders in which ``package://name/...`` is looked for.
        T_world_base: where the root link stands; the world's origin by default.
    """
    return Robot(read_urdf(urdf, package_dirs=package_dirs), T_world_base=T_world_base)


class Ball(NamedTuple):
    """Yaw, pitch and roll of a ball joint, which follow each other: the first of their rows among the moving joints
    and of their columns in ``q``, and the number of the frame that they turn.
    """

    row: int
    column: int
    frame: int


class Robot:
    """A tree of links moved by ``dof`` independent joints.

    Joint vectors ``q`` hold one number per independent joint, in the order of ``joint_names``: radians or metres, also
    for continuous joints. Followers (mimic joints) do not appear in ``q``; they are carried along by
    ``q_full = fold @ q + fold_offset``, and Jacobians come folded: ``J = J_full @ fold``. (theory 5.1)

    ``model`` and ``data`` are Pinocchio's, with one coordinate per moving joint (followers included). The methods that
    take ``q`` overwrite ``data``: use one Robot per thread.

    Attributes:
        joint_names: independent joints.
        lower, upper: joint limits, those of the followers included [rad, m].
        velocity_limits, effort_limits: largest joint speed [rad/s, m/s] and torque or force [N m, N]; inf if unknown.
        balls: every three joints that together are a ball joint.
    """

    def __init__(self, urdf: Urdf, *, T_world_base: pin.SE3 | None = None) -> None:
        self.urdf = urdf
        self.name = urdf.name
        self.T_world_base = T_world_base if T_world_base is not None else pin.SE3.Identity()
        self.model = build_model(urdf, self.T_world_base)
        self.data = self.model.createData()
        self._set_coordinates()
        self.link_names = tuple(link.name for link in urdf.links)
        self._frames = {frame.name: i for i, frame in enumerate(self.model.frames) if frame.type == pin.BODY}
        self.balls = tuple(ball for three in ball_joints(urdf.joints) if (ball := self._ball(*three)) is not None)

    def _ball(self, yaw: Joint, pitch: Joint, roll: Joint) -> Ball | None:
        """None where another joint hangs between them or follows one of them: then they are just three joints."""
        row, column = self.model.getJointId(yaw.name) - 1, self.joint_names.index(yaw.name)
        in_a_row = [*self.model.names][row + 1 : row + 4] == [yaw.name, pitch.name, roll.name]
        followed = np.count_nonzero(self.fold[:, column : column + 3]) > 3
        return Ball(row, column, self._frames[roll.child]) if in_a_row and not followed else None

    def _set_coordinates(self) -> None:
        """Independent joints, the fold matrix and limits that respect every follower."""
        full_names = list(self.model.names)[1:]
        joints = {joint.name: joint for joint in self.urdf.joints}
        self.joint_names = tuple(name for name in full_names if joints[name].mimic is None)
        column = {name: i for i, name in enumerate(self.joint_names)}
        self.dof = len(self.joint_names)
        self.fold = np.zeros((self.model.nv, self.dof))
        self.fold_offset = np.zeros(self.model.nv)
        self.lower, self.upper = np.full(self.dof, -np.inf), np.full(self.dof, np.inf)
        self.velocity_limits, self.effort_limits = np.full(self.dof, np.inf), np.full(self.dof, np.inf)
        for row, name in enumerate(full_names):
            joint, multiplier, offset = joints[name], 1.0, 0.0
            while joint.mimic is not None:
                offset += multiplier * joint.mimic.offset
                multiplier *= joint.mimic.multiplier
                joint = joints[joint.mimic.joint]
            i, own = column[joint.name], joints[name]
            self.fold[row, i], self.fold_offset[row] = multiplier, offset
            if multiplier == 0.0:
                continue
            ends = sorted(((own.lower - offset) / multiplier, (own.upper - offset) / multiplier))
            self.lower[i], self.upper[i] = max(self.lower[i], ends[0]), min(self.upper[i], ends[1])
            self.velocity_limits[i] = min(self.velocity_limits[i], own.velocity / abs(multiplier))
            if own.mimic is None:
                self.effort_limits[i] = own.effort
        for i in np.flatnonzero(self.lower > self.upper).tolist():
            what = f"the limits of its followers leave it no range ({self.lower[i]:g} .. {self.upper[i]:g})"
            raise RobotError(
                self.urdf.source, Problem(f"joint '{self.joint_names[i]}'", what, "widen the followers' limits")
            )

    # -- names ---------------------------------------------------------------------------------------------------

    def joint_index(self, name: str) -> int:
        """Position of an independent joint in ``q``."""
        try:
            return self.joint_names.index(name)
        except ValueError:
            raise OptionError(self.name, unknown_name("independent joint", name, self.joint_names)) from None

    def frame_id(self, link: str) -> int:
        """Pinocchio's number of a link's frame."""
        try:
            return self._frames[link]
        except KeyError:
            raise OptionError(self.name, unknown_name("link", link, self.link_names)) from None

    def carriers(self, link: str) -> Floats:
        """1 for every moving joint (followers included, in the model's order) that carries ``link``, else 0."""
        carriers = np.zeros(self.model.nv)
        joint_id = self.model.frames[self.frame_id(link)].parentJoint
        carriers[[i - 1 for i in self.model.supports[joint_id] if i > 0]] = 1.0
        return carriers

    def joints_moving(self, link: str) -> Bools:
        """Which independent joints carry ``link``: a mask over ``q``."""
        return np.asarray((self.fold[self.carriers(link) > 0.0] != 0.0).any(axis=0))

    # -- joint vectors -------------------------------------------------------------------------------------------

    def q(self, values: Mapping[str, float] | ArrayLike | None = None) -> Floats:
        """A joint vector from a mapping of names to values (the rest neutral), from numbers, or neutral."""
        if isinstance(values, Mapping):
            q = self.neutral
            for name, value in values.items():
                q[self.joint_index(name)] = value
        else:
            q = self.neutral if values is None else np.array(values, dtype=np.float64)
        if q.shape != (self.dof,):
            raise OptionError(
                self.name, f"joint vector of shape {q.shape}; expected {self.dof} values: {', '.join(self.joint_names)}"
            )
        if not np.isfinite(q).all():
            bad = self.joint_names[int(np.flatnonzero(~np.isfinite(q))[0])]
            raise OptionError(self.name, Problem(f"joint '{bad}'", "the value is not a finite number"))
        return q

    @property
    def neutral(self) -> Floats:
        """Zero where the limits allow it, else the nearest limit."""
        return np.clip(np.zeros(self.dof), self.lower, self.upper)

    @property
    def mid_range(self) -> Floats:
        """Middle of every range; zero for joints without limits."""
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        return np.where(bounded, 0.5 * (np.where(bounded, self.lower, 0.0) + np.where(bounded, self.upper, 0.0)), 0.0)

    def random_q(self, rng: np.random.Generator) -> Floats:
        """Uniform within the limits; -pi..pi for joints without limits."""
        lower = np.where(np.isfinite(self.lower), self.lower, -np.pi)
        upper = np.where(np.isfinite(self.upper), self.upper, np.pi)
        return lower + (upper - lower) * rng.random(self.dof)

    def within_limits(self, q: Floats, *, tolerance: float = 0.0) -> bool:
        """Whether every joint lies in its range, give or take ``tolerance`` [rad, m]."""
        return bool(np.all(q >= self.lower - tolerance) and np.all(q <= self.upper + tolerance))

    def full(self, q: Floats) -> Floats:
        """Values of all moving joints, followers included: fold @ q + fold_offset."""
        return np.asarray(self.fold @ q + self.fold_offset)

    # -- kinematics and statics ----------------------------------------------------------------------------------

    def update(self, q: Floats) -> None:
        """Bring ``data`` to ``q``: joint and link poses (``oMf``) and joint Jacobians (``J``)."""
        pin.computeJointJacobians(self.model, self.data, self.full(q))
        pin.updateFramePlacements(self.model, self.data)

    def pose(self, link: str, q: Floats) -> pin.SE3:
        """T_world_link."""
        frame_id = self.frame_id(link)
        pin.framesForwardKinematics(self.model, self.data, self.full(q))
        return pin.SE3(self.data.oMf[frame_id])

    def poses(self, links: Sequence[str], q: Floats) -> list[pin.SE3]:
        """Ts_world_link of several links at once."""
        ids = [self.frame_id(link) for link in links]
        pin.framesForwardKinematics(self.model, self.data, self.full(q))
        return [pin.SE3(self.data.oMf[i]) for i in ids]

    def jacobian(self, link: str, q: Floats, *, basis: str = "world") -> Floats:
        """6 x dof: twist of the link's origin (linear first) per joint speed, followers folded in. (theory 5.1)

        Args:
            basis: ``world``: world axes; ``link``: the link's own axes.
        """
        references = {"world": pin.LOCAL_WORLD_ALIGNED, "link": pin.LOCAL}
        if basis not in references:
            raise OptionError(self.name, unknown_name("basis", basis, references))
        frame_id = self.frame_id(link)
        self.update(q)
        J_full = pin.getFrameJacobian(self.model, self.data, frame_id, references[basis])
        return np.asarray(J_full @ self.fold)

    def live_jacobian(self, link: str) -> Floats:
        """The same in world axes at the joints of the last ``update``."""
        J_full = pin.getFrameJacobian(self.model, self.data, self.frame_id(link), pin.LOCAL_WORLD_ALIGNED)
        return np.asarray(J_full @ self.fold)

    def mass_matrix(self, q: Floats) -> Floats:
        """dof x dof joint-space inertia, followers folded in."""
        M = pin.crba(self.model, self.data, self.full(q))
        M = np.triu(M) + np.triu(M, 1).T
        return np.asarray(self.fold.T @ M @ self.fold)

    def gravity_torques(self, q: Floats, *, gravity: ArrayLike = (0.0, 0.0, -GRAVITY)) -> Floats:
        """Joint torques that hold the robot's own weight [N m, N]."""
        self.model.gravity.linear = np.asarray(gravity, dtype=np.float64)
        return np.asarray(self.fold.T @ pin.computeGeneralizedGravity(self.model, self.data, self.full(q)))

    @property
    def mass(self) -> float:
        """Total mass [kg]; links without <inertial> count as zero."""
        return float(sum(link.inertial.mass for link in self.urdf.links if link.inertial is not None))

    # -- copies --------------------------------------------------------------------------------------------------

    def at(self, T_world_base: pin.SE3) -> Robot:
        """The same robot standing elsewhere."""
        return Robot(self.urdf, T_world_base=T_world_base)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.urdf, self.T_world_base)

    def __repr__(self) -> str:
        return f"Robot('{self.name}', {self.dof} joints, {len(self.link_names)} links)"


def _rebuild(urdf: Urdf, T_world_base: pin.SE3) -> Robot:
    return Robot(urdf, T_world_base=T_world_base)


LINK_POSE = np.dtype([("columns", "f8", (3, 3)), ("translation", "f8", (3,))])
"""A pose as Pinocchio stores it: the rotation column by column."""


def live_link_poses(robot: Robot) -> Records:
    """Pinocchio's poses of all frames as one array that changes with ``robot.update``: rows of `LINK_POSE`.

    Asking Pinocchio for one pose from Python takes as long as the whole forward kinematics; reading its memory takes
    nothing. The layout is checked here, not assumed.
    """
    poses = robot.data.oMf
    count = len(poses)
    memory = (ctypes.c_double * (12 * count)).from_address(poses[0].rotation.__array_interface__["data"][0])
    links = np.ctypeslib.as_array(memory).view(LINK_POSE)
    robot.update(np.linspace(0.1, 0.9, robot.dof))
    same = (
        np.array_equal(link["columns"], T.rotation.T) and np.array_equal(link["translation"], T.translation)
        for link, T in zip(links, poses, strict=True)
    )
    if not all(same):
        raise RuntimeError("pinocchio stores poses in a layout that pliant does not know; pin 4.1 is known to work")
    return links
