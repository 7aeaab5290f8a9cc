"""A run as ROS messages: what was measured, planned, filtered, wanted and commanded.

/joint_states, /planned/joint_states, /commanded/joint_states   sensor_msgs/JointState
/contacts/NAME/measured, filtered, planned, wanted              geometry_msgs/WrenchStamped   normal force along z
/contacts/NAME/point_measured, point_filtered, point_planned    geometry_msgs/PointStamped    in the link's frame
/tactile/ARRAY                                                  sensor_msgs/Image, 16UC1      (16SC1 with bad cells)
/phase, /events                                                 std_msgs/String
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.control import RunLog
from pliant.files.export.ros_builder import MessageBuilder, Stamped, contact_frame, to_ns, topic_name
from pliant.planner import link_of

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

STATES = {"q_measured": "/joint_states", "q_planned": "/planned/joint_states", "q_commanded": "/commanded/joint_states"}
KINDS = ("measured", "filtered", "planned", "wanted")


def run_messages(log: RunLog, store: Typestore, *, start: float) -> list[Stamped]:
    """Every message of a bag, in the order of time; what was not known at a step is not sent."""
    made = _RunMessages(log, store, start)
    return sorted(
        [*made.joints(), *made.contacts(), *made.tactile(), *made.phases(), *made.events()], key=lambda s: s.stamp
    )


class _RunMessages(MessageBuilder):
    def __init__(self, log: RunLog, store: Typestore, start: float) -> None:
        super().__init__(store)
        self.log, self.start = log, start
        self.first = float(log["time"][0]) if len(log) else 0.0
        self.stamps = [self.stamp(float(time)) for time in log["time"]]

    def stamp(self, time: float) -> int:
        """The run's first step has the time stamp of the start; frames may be a little older."""
        return max(to_ns(self.start + time - self.first), 0)

    def joints(self) -> Iterator[Stamped]:
        for quantity, topic in STATES.items():
            efforts = self.log[quantity.replace("q_", "torque_")]
            for stamp, q, effort in zip(self.stamps, self.log[quantity], efforts, strict=True):
                if np.isfinite(q).all():
                    known = effort if np.isfinite(effort).all() else None
                    yield self.joint_state(topic, stamp, self.log.joints, q, effort=known)

    def contacts(self) -> Iterator[Stamped]:
        for i, name in enumerate(self.log.contacts):
            topic, link = f"/contacts/{topic_name(name)}", link_of(name)
            frame = contact_frame(topic_name(name))
            for kind in KINDS:
                for stamp, force in zip(self.stamps, self.log[f"force_{kind}"][:, i].tolist(), strict=True):
                    if np.isfinite(force):
                        yield self.wrench(f"{topic}/{kind}", stamp, frame, (0.0, 0.0, force))
                points = self.log.table.get(f"point_{kind}")
                if points is not None:
                    yield from self.points(f"{topic}/point_{kind}", link, points[:, i])

    def points(self, topic: str, link: str, points: NDArray[Any]) -> Iterator[Stamped]:
        for stamp, point in zip(self.stamps, points, strict=True):
            if np.isfinite(point).all():
                header, place = self.header(stamp, link), self.vector("Point", point)
                yield self.stamped(topic, "geometry_msgs/msg/PointStamped", stamp, header=header, point=place)

    def tactile(self) -> Iterator[Stamped]:
        for name, frames in self.log.frames.items():
            for time, counts in zip(frames.times.tolist(), frames.counts, strict=True):
                stamp = self.stamp(time)
                rows, columns = counts.shape
                yield self.stamped(
                    f"/tactile/{topic_name(name)}",
                    "sensor_msgs/msg/Image",
                    stamp,
                    header=self.header(stamp, name),
                    height=rows,
                    width=columns,
                    encoding="16SC1" if (counts < 0).any() else "16UC1",
                    is_bigendian=0,
                    step=2 * columns,
                    data=np.frombuffer(np.ascontiguousarray(counts, dtype="<i2").tobytes(), dtype=np.uint8),
                )

    def phases(self) -> Iterator[Stamped]:
        before = None
        for stamp, phase in zip(self.stamps, self.log.phases, strict=True):
            if phase is not before:
                yield self.stamped("/phase", "std_msgs/msg/String", stamp, data=str(phase))
            before = phase

    def events(self) -> Iterator[Stamped]:
        for event in self.log.events:
            text = json.dumps({"phase": str(event.phase), "kind": event.kind, "text": event.text})
            yield self.stamped("/events", "std_msgs/msg/String", self.stamp(event.time), data=text)
