"""The ROS messages that pliant sends and receives, described once for ROS 1 and ROS 2.

Fields have the names and the order of the ROS definitions. What only ROS 1 has (``seq`` of a header) is left out; its
times are translated. A number's width is in its annotation, because ROS 2 needs it on the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints

Int32 = Annotated[int, "int32"]
UInt8 = Annotated[int, "uint8"]
UInt32 = Annotated[int, "uint32"]
Float64 = Annotated[float, "float64"]


@dataclass
class _Nanoseconds:
    sec: Int32 = 0
    nanosec: UInt32 = 0

    @classmethod
    def of(cls, seconds: float) -> Self:
        """Rounded to whole nanoseconds."""
        return cls(*divmod(round(seconds * 1e9), 10**9))

    @property
    def seconds(self) -> float:
        return self.sec + 1e-9 * self.nanosec


class Time(_Nanoseconds):
    """builtin_interfaces/Time, the ``time`` of ROS 1."""

    ROS_TYPE: ClassVar[str] = "builtin_interfaces/Time"


class Duration(_Nanoseconds):
    """builtin_interfaces/Duration, the ``duration`` of ROS 1."""

    ROS_TYPE: ClassVar[str] = "builtin_interfaces/Duration"


@dataclass
class Header:
    """std_msgs/Header."""

    ROS_TYPE: ClassVar[str] = "std_msgs/Header"
    stamp: Time = field(default_factory=Time)
    frame_id: str = ""


@dataclass
class String:
    """std_msgs/String."""

    ROS_TYPE: ClassVar[str] = "std_msgs/String"
    data: str = ""


@dataclass
class JointState:
    """sensor_msgs/JointState."""

    ROS_TYPE: ClassVar[str] = "sensor_msgs/JointState"
    header: Header = field(default_factory=Header)
    name: list[str] = field(default_factory=list)
    position: list[Float64] = field(default_factory=list)
    velocity: list[Float64] = field(default_factory=list)
    effort: list[Float64] = field(default_factory=list)


@dataclass
class JointTrajectoryPoint:
    """trajectory_msgs/JointTrajectoryPoint."""

    ROS_TYPE: ClassVar[str] = "trajectory_msgs/JointTrajectoryPoint"
    positions: list[Float64] = field(default_factory=list)
    velocities: list[Float64] = field(default_factory=list)
    accelerations: list[Float64] = field(default_factory=list)
    effort: list[Float64] = field(default_factory=list)
    time_from_start: Duration = field(default_factory=Duration)


@dataclass
class JointTrajectory:
    """trajectory_msgs/JointTrajectory."""

    ROS_TYPE: ClassVar[str] = "trajectory_msgs/JointTrajectory"
    header: Header = field(default_factory=Header)
    joint_names: list[str] = field(default_factory=list)
    points: list[JointTrajectoryPoint] = field(default_factory=list)


@dataclass
class Image:
    """sensor_msgs/Image; tactile frames travel as 16UC1, one pixel per cell."""

    ROS_TYPE: ClassVar[str] = "sensor_msgs/Image"
    header: Header = field(default_factory=Header)
    height: UInt32 = 0
    width: UInt32 = 0
    encoding: str = ""
    is_bigendian: UInt8 = 0
    step: UInt32 = 0
    data: bytes = b""


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """Field names and annotations, in the order of the ROS definition; kept, because finding them is slow."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}


def is_message(hint: Any) -> bool:
    """Whether an annotation is one of our message classes."""
    return isinstance(hint, type) and is_dataclass(hint)


def to_foreign(value: Any, make: Callable[[type[Any], dict[str, Any]], Any]) -> Any:
    """The same message in a transport's own classes, made innermost first by ``make(kind, values)``."""
    kind: Any = type(value)
    if is_message(kind):
        return make(kind, {name: to_foreign(getattr(value, name), make) for name in field_types(kind)})
    if kind is list and value and is_message(type(value[0])):
        return [to_foreign(item, make) for item in value]
    return value


def from_foreign(hint: Any, value: Any, read: Callable[[type[Any], Any, str], Any]) -> Any:
    """One of our messages from a transport's; ``read(kind, message, name)`` gets a field from it."""
    if is_message(hint):
        types = field_types(hint).items()
        return hint(**{name: from_foreign(each, read(hint, value, name), read) for name, each in types})
    if hint is bytes:
        return bytes(value)
    if get_origin(hint) is list:
        inner = get_args(hint)[0]
        return [from_foreign(inner, item, read) for item in value] if is_message(inner) else list(value)
    return value
