"""Bags without ROS: written by the pure Python package rosbags, complete or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.errors import OptionError
from pliant.files.export.ros_builder import Stamped
from pliant.parts import need_module

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore


def write_bag(make: Callable[[Typestore], Iterable[Stamped]], path: Path, *, kind: str) -> Path:
    """Write a bag.

    Args:
        make: from message definitions to the messages, in the order of time.
        path: a file for ``mcap`` and ``ros1``, a new folder for ``ros2``.
        kind: mcap: one MCAP file with ROS 2 messages; ros2: a bag folder with an SQLite file; ros1: a ROS 1 bag.
    """
    store = _type_store(kind)
    messages = make(store)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder as the result, so that it can take its place in one move.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".pliant-export-") as folder:
            made = Path(folder) / path.name
            _write(made, messages, store, kind)
            if kind == "mcap":
                made = next(made.glob("*.mcap"))
            if made.is_dir():
                shutil.move(made, path)
            else:
                made.replace(path)
    except OSError as bad:
        raise OptionError(str(path), f"cannot be written: {bad.strerror or bad}") from None
    return path


def _type_store(kind: str) -> Typestore:
    """The message definitions: of ROS Noetic for ``ros1``, of ROS 2 Humble for the others."""
    need_module("rosbags")
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    if kind != "ros1":
        return get_typestore(Stores.ROS2_HUMBLE)
    store = get_typestore(Stores.ROS1_NOETIC)
    if "tf2_msgs/msg/TFMessage" not in store.types:
        store.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms", "tf2_msgs/msg/TFMessage"))
    return store


def _write(path: Path, messages: Iterable[Stamped], store: Typestore, kind: str) -> None:
    from rosbags import rosbag1, rosbag2

    bag: Any
    if kind == "ros1":
        bag = rosbag1.Writer(path)
    else:
        plugin = rosbag2.StoragePlugin.MCAP if kind == "mcap" else rosbag2.StoragePlugin.SQLITE3
        bag = rosbag2.Writer(path, version=9 if kind == "mcap" else 8, storage_plugin=plugin)
    serialize = store.serialize_ros1 if kind == "ros1" else store.serialize_cdr
    with bag:
        connections: dict[str, Any] = {}
        for stamped in messages:
            if stamped.topic not in connections:
                once: dict[str, Any] = {"latching": 1 if stamped.latched else None}
                if kind != "ros1":
                    once = {"offered_qos_profiles": [_quality(stamped.latched)]}
                connections[stamped.topic] = bag.add_connection(stamped.topic, stamped.type, typestore=store, **once)
            bag.write(connections[stamped.topic], stamped.stamp, serialize(stamped.message, stamped.type))


def _quality(latched: bool) -> Any:
    """Reliable; kept for late listeners where it is sent only once."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    never = QosTime(2147483647, 4294967295)
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=1 if latched else 100,
        reliability=QosReliability.RELIABLE,
        durability=QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        deadline=never,
        lifespan=never,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=never,
        avoid_ros_namespace_conventions=False,
    )
