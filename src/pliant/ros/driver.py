"""A real robot on ROS 1 or ROS 2 as the controller's driver: joint states and tactile frames in, joint positions out.

/joint_states            sensor_msgs/JointState            in; several publishers (arm, hand) are put together
/tactile/ARRAY           sensor_msgs/Image, 16UC1          in; rows x columns counts of one tactile array
/joint_command           trajectory_msgs/JointTrajectory   out; one point, to be reached one period from now
"""

from __future__ import annotations

import os
import time

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.control import MOST_AHEAD, JointReading, Sample
from pliant.errors import OptionError, Problem
from pliant.robot import Assembly
from pliant.ros.link import RosLink
from pliant.ros.messages import Duration, Header, Image, JointState, JointTrajectory, JointTrajectoryPoint
from pliant.ros.ros1_link import Ros1Link
from pliant.ros.ros2_link import Ros2Link
from pliant.tactile import TactileFrame


class RosDriver:
    """Implements `pliant.control.Driver` over ROS.

    Time is that of the messages' stamps, counted from the driver's start: robot and controller must keep the same time
    (chrony, PTP). A message from the future is left out, and this machine's clock may be set without the driver's time
    following it: in both cases measurements grow old, and what watches them stops.

    Args:
        link: the network.
        assembly: the robot; names of joints and arrays come from it.
        period: of the control cycle [s].
        joint_states, command, tactile: topics; ``tactile`` is put before ``/ARRAY``.
    """

    takes_torques = False

    def __init__(
        self,
        link: RosLink,
        assembly: Assembly,
        *,
        period: float = 0.01,
        joint_states: str = "/joint_states",
        command: str = "/joint_command",
        tactile: str = "/tactile",
    ) -> None:
        if not 1e-4 <= period <= 10.0:
            raise OptionError("ros", Problem("period", f"{period:g}", "0.0001 to 10 s"))
        self._link, self.period = link, period
        self.joint_names: tuple[str, ...] = assembly.robot.joint_names
        arrays = assembly.hand.tactile if assembly.hand is not None else ()
        self._shapes = {array.name: (array.rows, array.columns) for array in arrays}
        self.array_names: tuple[str, ...] = tuple(self._shapes)
        self._states, self._command, self._tactile = joint_states, command, tactile
        self._positions = np.full(len(self.joint_names), np.nan)
        self._torques = np.full(len(self.joint_names), np.nan)
        self._stamps = np.full(len(self.joint_names), -np.inf)
        self._frames: dict[str, TactileFrame] = {}
        self._stopped = ""
        self._start, self._began = time.time(), time.monotonic()
        self._next = time.monotonic() + period
        link.advertise(command, JointTrajectory)
        link.listen(joint_states, JointState)
        for name in self.array_names:
            link.listen(f"{tactile}/{name}", Image)

    @property
    def time(self) -> float:
        return time.monotonic() - self._began

    def read(self) -> Sample:
        """The latest of everything; joints are None until every one of them has been received."""
        for message in self._link.take(self._states):
            self._take_joint_state(message)
        for name in self.array_names:
            for image in self._link.take(f"{self._tactile}/{name}"):
                self._take_image(name, image)
        joints = None
        if np.isfinite(self._positions).all():
            torques = self._torques.copy() if np.isfinite(self._torques).all() else None
            # As old as the oldest part of it: the arm's and the hand's states come from different programs.
            joints = JointReading(float(self._stamps.min()), self._positions.copy(), torques)
        return Sample(self.time, joints, dict(self._frames), self._stopped)

    def command_positions(self, positions: Floats) -> None:
        """One point of a trajectory, one period from now."""
        target = np.asarray(positions, dtype=np.float64)
        if target.shape != (len(self.joint_names),) or not np.isfinite(target).all():
            what = f"{positions!r}"[:100]
            raise OptionError("ros", Problem("positions", what, f"{len(self.joint_names)} finite numbers"))
        if self._stopped:
            raise OptionError("ros", f"the driver has stopped: {self._stopped}")
        point = JointTrajectoryPoint(positions=target.tolist(), time_from_start=Duration.of(self.period))
        self._link.publish(self._command, JointTrajectory(joint_names=list(self.joint_names), points=[point]))

    def command_torques(self, torques: Floats, *, joints: Bools | None = None, positions: Floats | None = None) -> None:
        raise OptionError("ros", "this driver takes positions only")

    def step(self) -> None:
        """Wait for the next cycle; cycles that were missed are not made up for."""
        now = time.monotonic()
        if self._next > now:
            time.sleep(self._next - now)
        self._next = max(self._next, now) + self.period

    def emergency_stop(self, reason: str) -> None:
        """Command the robot to stay at its last measured position, then refuse every later command."""
        if self._stopped:
            return
        try:
            if np.isfinite(self._positions).all():
                self.command_positions(self._positions)
        except Exception as bad:  # a stop never raises
            reason = f"{reason} (and the robot could not be commanded: {bad})"
        self._stopped = reason or "emergency stop"

    def close(self) -> None:
        self._link.close()

    def _time_of(self, header: Header) -> float | None:
        """When a message was sent, on the driver's clock [s]; None for one from the future."""
        stamp = header.stamp.seconds - self._start
        return stamp if stamp <= self.time + MOST_AHEAD else None

    def _take_joint_state(self, message: JointState) -> None:
        """A joint state may name any joints in any order; others than ours are ignored."""
        stamp = self._time_of(message.header)
        if stamp is None:
            return
        values, efforts = message.position, message.effort
        for k, name in enumerate(message.name):
            if name in self.joint_names and k < len(values) and np.isfinite(values[k]):
                i = self.joint_names.index(name)
                if stamp >= self._stamps[i]:
                    self._positions[i], self._stamps[i] = values[k], stamp
                    self._torques[i] = efforts[k] if k < len(efforts) else np.nan

    def _take_image(self, name: str, image: Image) -> None:
        """A frame of another size or kind, or from the future, is no measurement: without it the last one grows old."""
        rows, columns = self._shapes[name]
        sizes = (image.height, image.width, image.step, len(image.data))
        stamp = self._time_of(image.header)
        right = sizes == (rows, columns, 2 * columns, 2 * rows * columns)
        if stamp is None or not right or image.encoding not in ("16UC1", "mono16"):
            return
        order = ">u2" if image.is_bigendian else "<u2"
        counts = np.frombuffer(image.data, dtype=order).reshape(rows, columns).astype(np.int64)
        self._frames[name] = TactileFrame(name, stamp, counts)


def ros1_driver(assembly: Assembly) -> RosDriver:
    """A driver on the master at ROS_MASTER_URI: ``pliant run PLAN --driver pliant.ros:ros1_driver``."""
    return RosDriver(Ros1Link(), assembly)


def ros2_driver(assembly: Assembly) -> RosDriver:
    """A driver in the domain ROS_DOMAIN_ID (0 by default): ``pliant run PLAN --driver pliant.ros:ros2_driver``."""
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    if not domain.isdecimal():
        raise OptionError("ros", Problem("ROS_DOMAIN_ID", f"'{domain}'", "0 to 232"))
    return RosDriver(Ros2Link(int(domain)), assembly)
