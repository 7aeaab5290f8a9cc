"""ROS 2 messages as CycloneDDS types: names, fields and bytes are those of ROS 2.

No ``from __future__ import annotations`` here: CycloneDDS reads the annotations as they are.
"""

from dataclasses import dataclass, field

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, sequence, uint8, uint32

__all__ = ["Duration", "Header", "Image", "JointState", "JointTrajectory", "JointTrajectoryPoint", "String", "Time"]


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):  # type: ignore[call-arg]
    """builtin_interfaces/Time."""

    sec: int32 = 0
    nanosec: uint32 = 0

    @classmethod
    def of(cls, seconds: float) -> "Time":
        """Whole nanoseconds."""
        ns = round(seconds * 1e9)
        return cls(ns // 10**9, ns % 10**9)

    @property
    def seconds(self) -> float:
        return self.sec + 1e-9 * self.nanosec


@dataclass
class Duration(IdlStruct, typename="builtin_interfaces::msg::dds_::Duration_"):  # type: ignore[call-arg]
    """builtin_interfaces/Duration."""

    sec: int32 = 0
    nanosec: uint32 = 0

    @classmethod
    def of(cls, seconds: float) -> "Duration":
        """Whole nanoseconds."""
        ns = round(seconds * 1e9)
        return cls(ns // 10**9, ns % 10**9)


@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):  # type: ignore[call-arg]
    """std_msgs/Header."""

    stamp: Time = field(default_factory=Time)
    frame_id: str = ""


@dataclass
class String(IdlStruct, typename="std_msgs::msg::dds_::String_"):  # type: ignore[call-arg]
    """std_msgs/String."""

    data: str = ""


@dataclass
class JointState(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):  # type: ignore[call-arg]
    """sensor_msgs/JointState."""

    header: Header = field(default_factory=Header)
    name: sequence[str] = field(default_factory=list)
    position: sequence[float64] = field(default_factory=list)
    velocity: sequence[float64] = field(default_factory=list)
    effort: sequence[float64] = field(default_factory=list)


@dataclass
class JointTrajectoryPoint(IdlStruct, typename="trajectory_msgs::msg::dds_::JointTrajectoryPoint_"):  # type: ignore[call-arg]
    """trajectory_msgs/JointTrajectoryPoint."""

    positions: sequence[float64] = field(default_factory=list)
    velocities: sequence[float64] = field(default_factory=list)
    accelerations: sequence[float64] = field(default_factory=list)
    effort: sequence[float64] = field(default_factory=list)
    time_from_start: Duration = field(default_factory=Duration)


@dataclass
class JointTrajectory(IdlStruct, typename="trajectory_msgs::msg::dds_::JointTrajectory_"):  # type: ignore[call-arg]
    """trajectory_msgs/JointTrajectory."""

    header: Header = field(default_factory=Header)
    joint_names: sequence[str] = field(default_factory=list)
    points: sequence[JointTrajectoryPoint] = field(default_factory=list)


@dataclass
class Image(IdlStruct, typename="sensor_msgs::msg::dds_::Image_"):  # type: ignore[call-arg]
    """sensor_msgs/Image; tactile frames travel as 16UC1, one pixel per cell."""

    header: Header = field(default_factory=Header)
    height: uint32 = 0
    width: uint32 = 0
    encoding: str = ""
    is_bigendian: uint8 = 0
    step: uint32 = 0
    data: sequence[uint8] = field(default_factory=list)
