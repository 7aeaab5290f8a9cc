"""A driver that plays a recorded grasp: what a controller or the tactile processing would have seen, again."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.control.driver import JointReading, Sample
from pliant.errors import OptionError
from pliant.tactile import RecordedGrasp, TactileFrame


class ReplayDriver:
    """Plays one recorded grasp through the driver interface.

    A recording cannot be moved: position commands are kept in ``commands`` (what a controller *would* have done), and
    change nothing.

    Args:
        grasp: what to play.
        period: control cycle [s]; None: one cycle per tactile frame, as they came.
    """

    takes_torques = False

    def __init__(self, grasp: RecordedGrasp, *, period: float | None = None) -> None:
        if period is not None and not (np.isfinite(period) and period > 0):
            raise OptionError("replay", f"period {period!r}: a time above 0 [s], or None")
        self.grasp = grasp
        self.joint_names = grasp.layout.joints
        self.array_names = tuple(name for name, _, _ in grasp.layout.arrays)
        self._period = period
        self._next_frame = 0
        self._stopped = ""
        self.commands: list[tuple[float, Floats]] = []
        start = float(grasp.frame_time[0])
        self._time = start if period is None else min(start, float(grasp.joint_time[0]))
        self._end = float(max(grasp.frame_time[-1], grasp.joint_time[-1]))

    @property
    def period(self) -> float:
        return self._period if self._period is not None else self.grasp.frame_period

    @property
    def time(self) -> float:
        return self._time

    @property
    def finished(self) -> bool:
        """Whether the recording is at its end (or stopped)."""
        if self._stopped:
            return True
        if self._period is None:
            return self._next_frame >= len(self.grasp.frame_time) - 1
        return self._time >= self._end

    def read(self) -> Sample:
        grasp = self.grasp
        joint = int(np.searchsorted(grasp.joint_time, self._time, side="right")) - 1
        frame = int(np.searchsorted(grasp.frame_time, self._time, side="right")) - 1
        joints = None
        if joint >= 0:
            joints = JointReading(float(grasp.joint_time[joint]), grasp.joints[joint].copy())
        frames = {}
        if frame >= 0:
            taken = float(grasp.frame_time[frame])
            frames = {name: TactileFrame(name, taken, counts[frame]) for name, counts in grasp.frames.items()}
        return Sample(self._time, joints, frames, self._stopped)

    def command_positions(self, positions: Floats) -> None:
        self.commands.append((self._time, np.array(positions, dtype=np.float64)))

    def command_torques(self, torques: Floats, *, joints: Bools | None = None, positions: Floats | None = None) -> None:
        raise OptionError("replay", "a recording takes no torques")

    def step(self) -> None:
        if self.finished:
            return
        if self._period is None:
            self._next_frame += 1
            self._time = float(self.grasp.frame_time[self._next_frame])
        else:
            self._time = min(self._time + self._period, self._end)

    def emergency_stop(self, reason: str) -> None:
        self._stopped = self._stopped or reason or "emergency stop"

    def close(self) -> None:
        self._stopped = self._stopped or "closed"
