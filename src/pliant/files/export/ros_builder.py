"""ROS messages from plain values, for ROS 1 and ROS 2 alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore


@dataclass(frozen=True)
class Stamped:
    """A message for a bag: topic, type, when [ns], and whether late listeners get it as well (latched)."""

    topic: str
    type: str
    stamp: int
    message: Any
    latched: bool = False


def contact_frame(name: str) -> str:
    """The frame of a contact: origin at its centre of pressure, z into the object."""
    return f"contact_{name}"


def topic_name(name: str) -> str:
    """A name that ROS accepts in a topic: letters, digits and underscores, no digit first."""
    clean = re.sub(r"\W", "_", name, flags=re.ASCII)
    return clean if not clean[:1].isdigit() else f"_{clean}"


def to_ns(seconds: float) -> int:
    """Whole nanoseconds."""
    return round(seconds * 1e9)


class MessageBuilder:
    """Builds messages of one version of ROS.

    Args:
        store: the message definitions.
    """

    def __init__(self, store: Typestore) -> None:
        self.store = store

    def stamped(self, topic: str, kind: str, stamp: int, /, *, latched: bool = False, **fields: Any) -> Stamped:
        """A message for a bag, made of its fields."""
        return Stamped(topic, kind, stamp, self.make(kind, **fields), latched)

    def make(self, kind: str, /, **fields: Any) -> Any:
        """A message; fields that only ROS 1 or only ROS 2 has are left empty."""
        message_type: Any = self.store.types[kind]
        return message_type(**fields, **self._empty(kind, message_type.__dataclass_fields__))

    def _empty(self, kind: str, known: dict[str, Any]) -> dict[str, Any]:
        """Fields that only this version of a message has, with values that mean nothing."""
        values: dict[str, Any] = {}
        if kind == "std_msgs/msg/Header" and "seq" in known:
            values["seq"] = 0
        if kind == "visualization_msgs/msg/Marker" and "mesh_file" in known:
            nothing = np.zeros(0, dtype=np.uint8)
            header = self.header(0, "")
            values |= {
                "texture_resource": "",
                "texture": self.make("sensor_msgs/msg/CompressedImage", header=header, format="", data=nothing),
                "uv_coordinates": [],
                "mesh_file": self.make("visualization_msgs/msg/MeshFile", filename="", data=nothing),
            }
        return values

    def header(self, stamp: int, frame: str) -> Any:
        """std_msgs/Header with a time stamp [ns]."""
        return self.make("std_msgs/msg/Header", stamp=self.time(stamp), frame_id=frame)

    def time(self, ns: int) -> Any:
        """A time stamp [ns]."""
        return self.make("builtin_interfaces/msg/Time", sec=ns // 10**9, nanosec=ns % 10**9)

    def duration(self, ns: int) -> Any:
        """A duration [ns]."""
        return self.make("builtin_interfaces/msg/Duration", sec=ns // 10**9, nanosec=ns % 10**9)

    def vector(self, kind: str, values: Iterable[float]) -> Any:
        """A geometry_msgs message of three numbers: Vector3, Point."""
        x, y, z = (float(value) for value in values)
        return self.make(f"geometry_msgs/msg/{kind}", x=x, y=y, z=z)

    def quaternion(self, R: Floats) -> Any:
        """The orientation of a rotation matrix."""
        x, y, z, w = (float(value) for value in pin.Quaternion(R).coeffs())
        return self.make("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)

    def joint_state(
        self,
        topic: str,
        stamp: int,
        names: Iterable[str],
        position: Floats,
        velocity: Floats | None = None,
        effort: Floats | None = None,
    ) -> Stamped:
        """Left out values are sent as empty lists, as ROS means them to be."""
        nothing = np.zeros(0)
        return self.stamped(
            topic,
            "sensor_msgs/msg/JointState",
            stamp,
            header=self.header(stamp, ""),
            name=list(names),
            position=np.ascontiguousarray(position, dtype=np.float64),
            velocity=nothing if velocity is None else velocity,
            effort=nothing if effort is None else np.ascontiguousarray(effort, dtype=np.float64),
        )

    def wrench(self, topic: str, stamp: int, frame: str, force: Iterable[float]) -> Stamped:
        """geometry_msgs/WrenchStamped: a force without a torque [N]."""
        torque = self.vector("Vector3", (0.0, 0.0, 0.0))
        wrench = self.make("geometry_msgs/msg/Wrench", force=self.vector("Vector3", force), torque=torque)
        kind = "geometry_msgs/msg/WrenchStamped"
        return self.stamped(topic, kind, stamp, header=self.header(stamp, frame), wrench=wrench)
