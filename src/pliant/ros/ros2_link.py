"""A participant on the ROS 2 network: topics in and out, by CycloneDDS. No ROS is needed."""

from __future__ import annotations

from typing import Any

from pliant.errors import OptionError, Problem
from pliant.ros.link import MOST_WAITING


class Ros2Link:
    """Implements `RosLink` with the wire format of ROS 2.

    Args:
        domain: ROS_DOMAIN_ID of the robot, 0 to 232.
    """

    def __init__(self, domain: int = 0) -> None:
        if not 0 <= domain <= 232:
            raise OptionError("ros", Problem("domain", f"{domain}", "ROS_DOMAIN_ID is 0 to 232"))
        try:
            from cyclonedds.core import DDSException
            from cyclonedds.domain import DomainParticipant
        except ImportError:
            missing = Problem("", "live ROS 2 needs the package 'cyclonedds'", "pip install cyclonedds")
            raise OptionError("ros", missing) from None
        try:
            self._participant: Any = DomainParticipant(domain)
        except DDSException as bad:
            raise OptionError("ros", f"no network for ROS domain {domain}: {bad}") from None
        self._writers: dict[str, Any] = {}
        self._readers: dict[str, tuple[type[Any], Any]] = {}

    def advertise(self, topic: str, kind: type[Any], *, latched: bool = False) -> None:
        """Let others find this topic before the first message, so that they do not miss it."""
        from cyclonedds.pub import DataWriter

        if topic not in self._writers:
            self._writers[topic] = DataWriter(self._participant, self._topic(topic, kind), qos=_qos(latched))

    def publish(self, topic: str, message: Any, *, latched: bool = False) -> None:
        """Send a message; ``latched`` ones reach listeners that come later as well."""
        from pliant.ros.ros2_types import to_dds

        self.advertise(topic, type(message), latched=latched)
        self._writers[topic].write(to_dds(message))

    def listen(self, topic: str, kind: type[Any], *, latched: bool = False) -> None:
        """Receive messages of this topic from now on (with ``latched``, those already sent as well)."""
        from cyclonedds.sub import DataReader

        if topic not in self._readers:
            self._readers[topic] = kind, DataReader(self._participant, self._topic(topic, kind), qos=_qos(latched))

    def take(self, topic: str) -> list[Any]:
        """What has arrived since the last call, oldest first."""
        from pliant.ros.ros2_types import from_dds

        kind, reader = self._readers[topic]
        # A sample without data only says that a writer came or went.
        return [
            from_dds(kind, sample)
            for sample in reader.take(N=MOST_WAITING)
            if getattr(sample.sample_info, "valid_data", True)
        ]

    def close(self) -> None:
        """Leave the network. May be called twice."""
        self._writers.clear()
        self._readers.clear()
        self._participant = None

    def _topic(self, name: str, kind: type[Any]) -> Any:
        """ROS 2 puts ``rt`` before the names of topics."""
        from cyclonedds.topic import Topic

        from pliant.ros.ros2_types import dds_type

        return Topic(self._participant, f"rt/{name.lstrip('/')}", dds_type(kind))


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
