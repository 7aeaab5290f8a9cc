"""The ROS messages pliant sends and takes, described once for ROS 1 and ROS 2.

Fields have the names and the order of the ROS definitions. What only ROS 1 has (``seq`` of a header) is left out; its
times are translated. A number's width is in its annotation, because ROS 2 needs it on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

Int32 = Annotated[int, "int32"]
UInt8 = Annotated[int, "uint8"]
UInt32 = Annotated[int, "uint32"]
Float64 = Annotated[float, "float64"]


@dataclass
class _Moment:
    sec: Int32 = 0
    nanosec: UInt32 = 0

    @property
    def seconds(self) -> float:
        return self.sec + 1e-9 * self.nanosec


@dataclass
class Time(_Moment):
    """builtin_interfaces/Time, the ``time`` of ROS 1."""

    ROS_TYPE: ClassVar[str] = "builtin_interfaces/Time"

    @classmethod
    def of(cls, seconds: float) -> Time:
        """Whole nanoseconds."""
        return cls(*divmod(round(seconds * 1e9), 10**9))


@dataclass
class Duration(_Moment):
    """builtin_interfaces/Duration, the ``duration`` of ROS 1."""

    ROS_TYPE: ClassVar[str] = "builtin_interfaces/Duration"

    @classmethod
    def of(cls, seconds: float) -> Duration:
        """Whole nanoseconds."""
        return cls(*divmod(round(seconds * 1e9), 10**9))


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


_KNOWN: dict[type[Any], dict[str, Any]] = {}


def field_types(kind: type[Any]) -> dict[str, Any]:
    """Field names and annotations, in the order of the ROS definition; looked up once, as it is slow."""
    if kind not in _KNOWN:
        hints = get_type_hints(kind, include_extras=True)
        _KNOWN[kind] = {each.name: hints[each.name] for each in fields(kind)}
    return _KNOWN[kind]


def to_foreign(message: Any, make: Callable[[type[Any], dict[str, Any]], Any]) -> Any:
    """The same message in a transport's own classes, made innermost first by ``make(kind, values)``."""
    return make(type(message), {name: _given(getattr(message, name), make) for name in field_types(type(message))})


def from_foreign(kind: type[Any], message: Any, read: Callable[[type[Any], Any, str], Any] | None = None) -> Any:
    """One of our messages from a transport's; ``read(kind, message, name)`` is how a field is got from it."""
    get = read or (lambda _, source, name: getattr(source, name))
    return kind(**dict(_taken(kind, message, get)))


def _given(value: Any, make: Callable[[type[Any], dict[str, Any]], Any]) -> Any:
    if is_dataclass(value):
        return to_foreign(value, make)
    if isinstance(value, list) and value and is_dataclass(value[0]):
        return [to_foreign(item, make) for item in value]
    return value


def _taken(kind: type[Any], message: Any, read: Callable[[type[Any], Any, str], Any]) -> Iterator[tuple[str, Any]]:
    for name, hint in field_types(kind).items():
        value = read(kind, message, name)
        if isinstance(hint, type) and is_dataclass(hint):
            value = from_foreign(hint, value, read)
        elif hint is bytes:
            value = bytes(value)
        elif get_origin(hint) is list:
            inner = get_args(hint)[0]
            ours = isinstance(inner, type) and is_dataclass(inner)
            value = [from_foreign(inner, item, read) if ours else item for item in value]
        yield name, value
