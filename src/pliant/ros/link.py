"""What the planning node and the driver need of a ROS network, whichever version it speaks."""

from __future__ import annotations

from typing import Any, Protocol

MOST_WAITING = 100
"""Messages kept per topic until they are taken."""


class RosLink(Protocol):
    """Topics in and out; messages are those of `pliant.ros.messages`. There are `Ros1Link` and `Ros2Link`."""

    def advertise(self, topic: str, kind: type[Any], *, latched: bool = False) -> None:
        """Let others find this topic before the first message, so that they do not miss it."""

    def publish(self, topic: str, message: Any, *, latched: bool = False) -> None:
        """Send a message; ``latched`` ones reach listeners that come later as well."""

    def listen(self, topic: str, kind: type[Any], *, latched: bool = False) -> None:
        """Receive messages of this topic from now on (with ``latched``, those already sent as well)."""

    def take(self, topic: str) -> list[Any]:
        """What has arrived since the last call, oldest first, at most `MOST_WAITING`."""

    def close(self) -> None:
        """Leave the network. May be called twice."""
