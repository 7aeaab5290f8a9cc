"""A node on the ROS 1 network: topics in and out, by rospy, found where Debian or ROS itself put it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pliant.errors import OptionError, Problem
from pliant.ros.link import MOST_WAITING
from pliant.ros.messages import Duration, Time, from_foreign, to_foreign

SYSTEM_PACKAGES = Path("/usr/lib/python3/dist-packages")
ROS_INSTALLATIONS = Path("/opt/ros")
TIME_FIELDS = {"sec": "secs", "nanosec": "nsecs"}


class Ros1Link:
    """Implements `RosLink` on ROS 1. rospy lets a process be one ROS 1 node only, once.

    Args:
        master: address of the ROS master; that of ROS_MASTER_URI, else http://localhost:11311, if left out.
        name: of the node; a number is put behind it, so that several may run.
    """

    def __init__(self, master: str | None = None, *, name: str = "pliant") -> None:
        uri = _address(master or os.environ.get("ROS_MASTER_URI", "http://localhost:11311"))
        rospy, rosgraph = _import("rospy"), _import("rosgraph")
        if rospy.core.is_initialized() or rospy.is_shutdown():
            raise OptionError("ros", "this process is or was a ROS 1 node already; start another process")
        os.environ["ROS_MASTER_URI"] = uri
        if not rosgraph.is_master_online():
            raise OptionError("ros", Problem("master", f"no ROS master answers at {uri}", "is roscore running there?"))
        # Ctrl-C stays ours, and our messages go to our own outputs.
        rospy.init_node(name, anonymous=True, disable_signals=True, disable_rosout=True)
        self._rospy: Any = rospy
        self._publishers: dict[str, Any] = {}
        self._waiting: dict[str, tuple[type[Any], deque[Any]]] = {}

    def advertise(self, topic: str, kind: type[Any], *, latched: bool = False) -> None:
        if topic not in self._publishers:
            self._publishers[topic] = self._rospy.Publisher(
                topic, _message_class(kind), latch=latched, queue_size=MOST_WAITING
            )

    def publish(self, topic: str, message: Any, *, latched: bool = False) -> None:
        self.advertise(topic, type(message), latched=latched)
        self._publishers[topic].publish(to_foreign(message, _make))

    def listen(self, topic: str, kind: type[Any], *, latched: bool = False) -> None:
        """Receive messages of this topic from now on; whether old ones come is the publisher's choice in ROS 1."""
        if topic not in self._waiting:
            waiting: deque[Any] = deque(maxlen=MOST_WAITING)
            self._waiting[topic] = kind, waiting
            # rospy calls from a thread of its own; a deque may be filled and emptied at the same time.
            self._rospy.Subscriber(topic, _message_class(kind), waiting.append, tcp_nodelay=True)

    def take(self, topic: str) -> list[Any]:
        kind, waiting = self._waiting[topic]
        return [from_foreign(kind, waiting.popleft(), _read) for _ in range(len(waiting))]

    def close(self) -> None:
        if not self._rospy.is_shutdown():
            self._rospy.signal_shutdown("pliant has finished")


def find_rospy() -> str | None:
    """The folder with ROS 1's Python packages; None where there is none. Nothing is imported."""
    spec = importlib.util.find_spec("rospy")
    if spec is not None and spec.origin is not None:
        return str(Path(spec.origin).parents[1])
    return _system_folder("rospy")


def _system_folder(name: str) -> str | None:
    folders = [*sorted(ROS_INSTALLATIONS.glob("*/lib/python3/dist-packages")), SYSTEM_PACKAGES]
    return next((str(folder) for folder in folders if (folder / name).is_dir()), None)


def _import(name: str) -> Any:
    """A module of ROS 1. Its folder goes to the end of the path, so that it hides none of our packages."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pass
    found = _system_folder(name)
    why = "is missing"
    if found is not None and found not in sys.path:
        sys.path.append(found)
        try:
            return importlib.import_module(name)
        except Exception as bad:  # made for another Python, it may raise anything
            sys.path.remove(found)
            why = f"in {found} does not work with Python {sys.version_info[0]}.{sys.version_info[1]}: {bad}"
    needs = "Debian: apt install python3-rospy python3-sensor-msgs python3-trajectory-msgs"
    raise OptionError("ros", Problem("", f"ROS 1 needs '{name}', which {why}", needs))


def _address(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        right = parts.scheme == "http" and bool(parts.hostname) and parts.port is not None
    except ValueError:
        right = False
    if not right:
        raise OptionError("ros", Problem("master", f"{uri!r}", "an address such as http://127.0.0.1:11311"))
    return uri


def _message_class(kind: type[Any]) -> Any:
    package, name = kind.ROS_TYPE.split("/")
    return getattr(_import(f"{package}.msg"), name)


def _make(kind: type[Any], values: dict[str, Any]) -> Any:
    """ROS 1 has times of its own, with other names for their parts."""
    if kind is Time or kind is Duration:
        return getattr(_import("genpy"), kind.__name__)(values["sec"], values["nanosec"])
    return _message_class(kind)(**values)


def _read(kind: type[Any], message: Any, name: str) -> Any:
    return getattr(message, TIME_FIELDS.get(name, name) if kind is Time or kind is Duration else name)
