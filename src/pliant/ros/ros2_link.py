"""A participant on the ROS 2 network: topics in and out, by CycloneDDS. No ROS is needed.

DDS types are made from `pliant.ros.messages`; their names, fields and bytes are those of ROS 2.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_origin

from pliant.errors import OptionError, Problem
from pliant.parts import need_module
from pliant.ros.link import MOST_WAITING
from pliant.ros.messages import field_types, from_foreign, is_message, to_foreign


class Ros2Link:
    """Implements `RosLink` with the wire format of ROS 2.

    Args:
        domain: ROS_DOMAIN_ID of the robot, 0 to 232.
    """

    def __init__(self, domain: int = 0) -> None:
        if not 0 <= domain <= 232:
            raise OptionError("ros", Problem("domain", f"{domain}", "ROS_DOMAIN_ID is 0 to 232"))
        need_module("cyclonedds")
        from cyclonedds.core import DDSException
        from cyclonedds.domain import DomainParticipant

        try:
            self._participant: Any = DomainParticipant(domain)
        except DDSException as bad:
            raise OptionError("ros", f"no network for ROS domain {domain}: {bad}") from None
        self._writers: dict[str, Any] = {}
        self._readers: dict[str, tuple[type[Any], Any]] = {}

    def advertise(self, topic: str, kind: type[Any], *, latched: bool = False) -> None:
        from cyclonedds.pub import DataWriter

        if topic not in self._writers:
            self._writers[topic] = DataWriter(self._participant, self._topic(topic, kind), qos=_qos(latched))

    def publish(self, topic: str, message: Any, *, latched: bool = False) -> None:
        self.advertise(topic, type(message), latched=latched)
        self._writers[topic].write(to_dds(message))

    def listen(self, topic: str, kind: type[Any], *, latched: bool = False) -> None:
        from cyclonedds.sub import DataReader

        if topic not in self._readers:
            self._readers[topic] = kind, DataReader(self._participant, self._topic(topic, kind), qos=_qos(latched))

    def take(self, topic: str) -> list[Any]:
        kind, reader = self._readers[topic]
        samples = reader.take(N=MOST_WAITING)
        # A sample without data only reports that a writer came or went.
        valid = [sample for sample in samples if getattr(sample.sample_info, "valid_data", True)]
        return [from_foreign(kind, sample, lambda _, source, name: getattr(source, name)) for sample in valid]

    def close(self) -> None:
        self._writers.clear()
        self._readers.clear()
        self._participant = None

    def _topic(self, name: str, kind: Any) -> Any:
        """ROS 2 puts ``rt`` before the names of topics."""
        from cyclonedds.topic import Topic

        return Topic(self._participant, f"rt/{name.lstrip('/')}", dds_type(kind))


@cache
def dds_type(kind: Any) -> Any:
    """The DDS type of a message: ``std_msgs::msg::dds_::String_`` of std_msgs/String. Made once: DDS compares them."""
    from cyclonedds.idl import make_idl_struct

    package, name = kind.ROS_TYPE.split("/")
    fields = {field: _annotation(hint) for field, hint in field_types(kind).items()}
    return make_idl_struct(name, f"{package}::msg::dds_::{name}_", fields)


def to_dds(message: Any) -> Any:
    """A message as CycloneDDS sends it."""
    return to_foreign(message, _make)


def _make(kind: Any, values: dict[str, Any]) -> Any:
    return dds_type(kind)(
        **{name: list(value) if isinstance(value, bytes) else value for name, value in values.items()}
    )


def _annotation(hint: Any) -> Any:
    from cyclonedds.idl import types

    if hint is bytes:
        return types.sequence[types.uint8]
    if is_message(hint):
        return dds_type(hint)
    if get_origin(hint) is list:
        return types.sequence[_annotation(get_args(hint)[0])]
    width = getattr(hint, "__metadata__", None)
    return getattr(types, width[0]) if width else hint


def _qos(latched: bool) -> Any:
    """Reliable and volatile, as ROS 2 does it by default; or kept for late listeners."""
    from cyclonedds.core import Policy, Qos
    from cyclonedds.util import duration

    return Qos(
        Policy.Reliability.Reliable(duration(milliseconds=100)),
        Policy.Durability.TransientLocal if latched else Policy.Durability.Volatile,
        Policy.History.KeepLast(1 if latched else MOST_WAITING),
        Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False),
    )
