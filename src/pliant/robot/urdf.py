"""A robot description as data: links, joints and shapes of a URDF, and how they are written as XML.

What `urdf_reading` makes of a file is a tree of links with names that exist, finite numbers and mesh files that lie
where they may lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import pinocchio as pin

MOVING = ("revolute", "continuous", "prismatic")
LARGEST_SHAPE = 50.0
"""No shape of a link is larger than this [m]."""


@dataclass(frozen=True)
class LinkShape:
    """One visual or collision shape of a link.

    Args:
        kind: mesh, box, cylinder or sphere.
        size: box: three edges; cylinder: radius, length (along z); sphere: radius; mesh: three scale factors [m, -].
        T_link_shape: pose of the shape in the link.
        path: mesh file, for kind mesh.
        colour: red, green, blue, alpha in 0..1, or None.
    """

    kind: str
    size: tuple[float, ...]
    T_link_shape: pin.SE3
    path: Path | None = None
    colour: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], centre of mass frame in the link, inertia about it (xx, xy, xz, yy, yz, zz) [kg m^2]."""

    mass: float
    T_link_centre: pin.SE3
    inertia: tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Link:
    """A rigid link and its shapes."""

    name: str
    visuals: tuple[LinkShape, ...] = ()
    collisions: tuple[LinkShape, ...] = ()
    inertial: Inertial | None = None


@dataclass(frozen=True)
class Mimic:
    """This joint follows another: value = multiplier * master + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A joint between two links. Limits in rad or m, rad/s or m/s, N m or N; infinite where none is given.

    ``compound`` is the name of the joint of several degrees of freedom of which this is one coordinate, if it is.
    """

    name: str
    kind: str
    parent: str
    child: str
    T_parent_joint: pin.SE3
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    compound: str = ""

    @property
    def moves(self) -> bool:
        """Whether it is anything but fixed."""
        return self.kind in MOVING


@dataclass(frozen=True)
class Urdf:
    """A tree of links and joints; ``source`` is the file it came from, for messages, ``notes`` what was odd in it."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    source: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def root(self) -> str:
        """The link that is no joint's child."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)

    def link(self, name: str) -> Link:
        """The link of that name."""
        return next(link for link in self.links if link.name == name)

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return next(joint for joint in self.joints if joint.name == name)

    def renamed(self, links: dict[str, str], joints: dict[str, str]) -> Urdf:
        """The same robot with other names; names that are not mentioned stay."""

        def mimic(m: Mimic | None) -> Mimic | None:
            return None if m is None else replace(m, joint=joints.get(m.joint, m.joint))

        return replace(
            self,
            links=tuple(replace(link, name=links.get(link.name, link.name)) for link in self.links),
            joints=tuple(
                replace(
                    joint,
                    name=joints.get(joint.name, joint.name),
                    parent=links.get(joint.parent, joint.parent),
                    child=links.get(joint.child, joint.child),
                    mimic=mimic(joint.mimic),
                )
                for joint in self.joints
            ),
        )

    def to_xml(self, *, shapes: bool = True, followers: bool = True) -> str:
        """URDF text. Numbers are written in full precision; mesh paths are absolute.

        Args:
            shapes: write visual and collision shapes.
            followers: write mimic tags.
        """
        lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(self.name)}>"]
        for link in self.links:
            lines += _link_xml(link, shapes)
        for joint in self.joints:
            lines += _joint_xml(joint, followers)
        return "\n".join([*lines, "</robot>", ""])


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.17g}" for value in values)


def _origin(T: pin.SE3) -> str:
    return f'<origin xyz="{_numbers(T.translation)}" rpy="{_numbers(_rpy(T.rotation))}"/>'


def _rpy(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw that give R back to rounding, also at a pitch of 90 degrees (asin would lose digits)."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def _shape_xml(tag: str, shape: LinkShape) -> list[str]:
    if shape.kind == "mesh":
        scale = "" if np.allclose(shape.size, 1.0) else f' scale="{_numbers(shape.size)}"'
        geometry = f"<mesh filename={quoteattr(str(shape.path))}{scale}/>"
    elif shape.kind == "box":
        geometry = f'<box size="{_numbers(shape.size)}"/>'
    elif shape.kind == "cylinder":
        geometry = f'<cylinder radius="{shape.size[0]:.17g}" length="{shape.size[1]:.17g}"/>'
    else:
        geometry = f'<sphere radius="{shape.size[0]:.17g}"/>'
    colour = ""
    if tag == "visual" and shape.colour is not None:
        name = "rgba_" + "_".join(f"{round(255 * value):02x}" for value in shape.colour)
        colour = f'<material name="{name}"><color rgba="{_numbers(shape.colour)}"/></material>'
    return [f"    <{tag}>{_origin(shape.T_link_shape)}<geometry>{geometry}</geometry>{colour}</{tag}>"]


def _link_xml(link: Link, shapes: bool) -> list[str]:
    body: list[str] = []
    if link.inertial is not None:
        ixx, ixy, ixz, iyy, iyz, izz = (f"{value:.17g}" for value in link.inertial.inertia)
        body.append(
            f'    <inertial>{_origin(link.inertial.T_link_centre)}<mass value="{link.inertial.mass:.17g}"/>'
            f'<inertia ixx="{ixx}" ixy="{ixy}" ixz="{ixz}" iyy="{iyy}" iyz="{iyz}" izz="{izz}"/></inertial>'
        )
    if shapes:
        for shape in link.visuals:
            body += _shape_xml("visual", shape)
        for shape in link.collisions:
            body += _shape_xml("collision", shape)
    if not body:
        return [f"  <link name={quoteattr(link.name)}/>"]
    return [f"  <link name={quoteattr(link.name)}>", *body, "  </link>"]


def _joint_xml(joint: Joint, followers: bool) -> list[str]:
    # A continuous joint is one number like any other here: a revolute joint whose limits never act.
    kind = "revolute" if joint.kind == "continuous" and not followers else joint.kind
    lines = [
        f'  <joint name={quoteattr(joint.name)} type="{kind}">',
        f"    <parent link={quoteattr(joint.parent)}/><child link={quoteattr(joint.child)}/>",
        f"    {_origin(joint.T_parent_joint)}",
    ]
    if joint.moves:
        finite = {
            "lower": max(joint.lower, -1e9),
            "upper": min(joint.upper, 1e9),
            "effort": min(joint.effort, 1e9),
            "velocity": min(joint.velocity, 1e9),
        }
        limits = " ".join(f'{key}="{value:.17g}"' for key, value in finite.items())
        lines.append(f'    <axis xyz="{_numbers(joint.axis)}"/><limit {limits}/>')
        if joint.damping or joint.friction:
            lines.append(f'    <dynamics damping="{joint.damping:.17g}" friction="{joint.friction:.17g}"/>')
        if joint.mimic is not None and followers:
            m = joint.mimic
            lines.append(
                f'    <mimic joint={quoteattr(m.joint)} multiplier="{m.multiplier:.17g}" offset="{m.offset:.17g}"/>'
            )
    return [*lines, "  </joint>"]
