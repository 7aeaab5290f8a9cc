"""What goes over the network is what ROS 2 sends: the same bytes as an independent serialiser of ROS messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from made_plans import ball_plan
from pliant.ros import messages
from pliant.ros.planning_node import trajectory_message
from pliant.ros.ros2_link import dds_type, to_dds

STORE = get_typestore(Stores.ROS2_HUMBLE)


def reference(message: Any) -> Any:
    """The same message as rosbags builds it from the ROS definitions."""
    kind = message.__idl_typename__.replace("::", "/").replace("dds_/", "").removesuffix("_")
    reference_type = STORE.types[kind]
    values = {}
    for name in reference_type.__dataclass_fields__:
        if name.startswith("__") or name.isupper():
            continue
        value = getattr(message, name)
        if hasattr(value, "__idl_typename__"):
            value = reference(value)
        elif isinstance(value, list):
            numbers = "uint8" if name == "data" else "float64"
            if value and hasattr(value[0], "__idl_typename__"):
                value = [reference(item) for item in value]
            elif name not in ("name", "joint_names", "points"):
                value = np.array(value, dtype=numbers)
        values[name] = value
    return reference_type(**values)


HEADER = messages.Header(messages.Time.of(1700000000.123456789), "world")
POINT = messages.JointTrajectoryPoint([1.5], time_from_start=messages.Duration.of(0.25))
MESSAGES = [
    messages.String("pliant: Größe"),
    messages.JointState(HEADER, ["a", "joint_2", "c"], [0.1, -2.5, 3.0], [1.0, 2.0, 3.0], []),
    messages.JointState(),
    messages.JointTrajectory(
        HEADER, ["j"], [messages.JointTrajectoryPoint([1.5], time_from_start=messages.Duration.of(0.25))]
    ),
    messages.Image(HEADER, 2, 3, "16UC1", 0, 6, bytes(range(12))),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_bytes_are_those_of_ros(message: Any) -> None:
    expected = reference(to_dds(message))
    data = bytes(STORE.serialize_cdr(expected, expected.__msgtype__))
    ours = to_dds(message).serialize()
    # The end of a message may be padded to four bytes.
    assert ours[: len(data)] == data[: len(ours)]
    assert abs(len(ours) - len(data)) < 4
    again = STORE.deserialize_cdr(ours, expected.__msgtype__)
    assert STORE.serialize_cdr(again, expected.__msgtype__) == STORE.serialize_cdr(expected, expected.__msgtype__)


def test_a_planned_trajectory_is_read_by_ros() -> None:
    plan = ball_plan()
    data = to_dds(trajectory_message(plan, plan.best)).serialize()
    read = STORE.deserialize_cdr(data, "trajectory_msgs/msg/JointTrajectory")
    assert tuple(read.joint_names) == plan.task.assembly.robot.joint_names
    np.testing.assert_array_equal([point.positions for point in read.points], plan.best.trajectory.q)
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in read.points]
    np.testing.assert_allclose(times, plan.best.trajectory.times, atol=1e-9)


def test_type_names_are_those_of_ros() -> None:
    assert dds_type(messages.JointState).__idl_typename__ == "sensor_msgs::msg::dds_::JointState_"
    assert dds_type(messages.JointTrajectory).__idl_typename__ == "trajectory_msgs::msg::dds_::JointTrajectory_"
