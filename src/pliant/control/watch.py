"""The watch: what of a sample can be a measurement at all, and whether anything in it is wrong.   (theory 9)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.control.driver import MOST_AHEAD, JointReading, Sample
from pliant.control.events import Fault, RunFault, RunPhase
from pliant.control.options import ControlOptions
from pliant.robot import Assembly
from pliant.tactile import ContactEstimate, ContactTracker, TactileFrame


class SoundSamples:
    """Takes a driver's samples and gives them on without readings of another size, frames of other arrays, and anything
    from the future. In place of a joint reading that is none stands the last that was one, with its age.

    Numbers that are not finite stay: they are a fault of their own.

    Args:
        joints: how many there are.
        shapes: rows and columns of every array.
    """

    def __init__(self, joints: int, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._joints, self._shapes = joints, shapes
        self._last: JointReading | None = None

    def __call__(self, sample: Sample) -> Sample:
        """The sample as far as it can be believed; itself where all of it can."""
        now = float(sample.time)
        reading = self._last = self._reading(sample.joints, now) or self._last
        frames = sample.frames
        if not all(self._is_frame(name, frame, now) for name, frame in frames.items()):
            frames = {name: frame for name, frame in frames.items() if self._is_frame(name, frame, now)}
        if reading is sample.joints and frames is sample.frames:
            return sample
        return replace(sample, joints=reading, frames=frames)

    def _reading(self, reading: JointReading | None, now: float) -> JointReading | None:
        if (
            reading is None
            or np.shape(reading.positions) != (self._joints,)
            or not float(reading.time) <= now + MOST_AHEAD
        ):
            return None
        if reading.torques is not None and np.shape(reading.torques) != (self._joints,):
            return JointReading(reading.time, reading.positions, None)
        return reading

    def _is_frame(self, name: str, frame: TactileFrame, now: float) -> bool:
        counts = np.asarray(frame.counts)
        return (
            frame.array == name
            and counts.shape == self._shapes.get(name)
            and counts.dtype.kind in "iuf"
            and float(frame.time) <= now + MOST_AHEAD
        )


class Watch:
    """Keeps for how long each fault has lasted. Times are the driver's; no other clock is read."""

    def __init__(self, assembly: Assembly, tracker: ContactTracker, options: ControlOptions) -> None:
        self.tracker, self.options, self.limits = tracker, options, options.watch
        self.names = assembly.robot.joint_names
        slides = {joint.name for joint in assembly.robot.urdf.joints if joint.kind == "prismatic"}
        self.off = np.array([self.limits.distance if n in slides else self.limits.angle for n in self.names])
        self.unit = ["m" if name in slides else "rad" for name in self.names]
        self.max_force = tracker.timeline.max_force
        self._permitted = float(self.max_force.min())
        self._over: Floats | None = None
        self._gone: Floats | None = None
        self._other = np.nan
        self._astray: Floats | None = None
        self._first: float | None = None
        self._last, self._still = -np.inf, 0

    def check(
        self, sample: Sample, estimate: ContactEstimate | None, phase: RunPhase, command: Floats | None, needed: Floats
    ) -> RunFault | None:
        """The first fault, worst first; None if all is well.

        Args:
            command: joints commanded in the step before.
            needed: n, which contacts must carry force now.
        """
        now = sample.time
        if self._first is None:
            self._first = now
        return (
            self._driver(sample)
            or self._joints(sample, now)
            or (self._pads(now, self._first) if phase.senses else None)
            or (self._forces(estimate, now, phase, needed) if estimate is not None else None)
            or self._following(sample, command, now)
        )

    def _driver(self, sample: Sample) -> RunFault | None:
        if sample.stopped:
            return RunFault(Fault.DRIVER, sample.stopped)
        if not np.isfinite(sample.time):
            return RunFault(Fault.NOT_FINITE, f"the driver's clock reports {sample.time}")
        self._still = self._still + 1 if sample.time <= self._last else 0
        self._last = max(self._last, sample.time)
        if self._still >= self.limits.still_clock:
            return RunFault(Fault.CLOCK, f"{self._still} samples at {sample.time:.3f} s")
        return None

    def _joints(self, sample: Sample, now: float) -> RunFault | None:
        assert self._first is not None
        if sample.joints is None:
            late = now - self._first
            return RunFault(Fault.JOINTS_LOST, f"none in {late:.2f} s") if late > self.limits.joint_age else None
        finite = np.isfinite(sample.joints.positions)
        if not finite.all():
            return RunFault(Fault.NOT_FINITE, f"measured joint '{self.names[int(finite.argmin())]}'")
        age = now - sample.joints.time
        return RunFault(Fault.JOINTS_LOST, f"the last is {age:.3f} s old") if age > self.limits.joint_age else None

    def _pads(self, now: float, first: float) -> RunFault | None:
        limits = self.limits
        for name in self.tracker.used:
            pad = self.tracker.pads[name]
            if not np.isfinite(pad.taken):
                if now - first > limits.first_frame:
                    return RunFault(Fault.SENSOR_LOST, f"'{name}' has sent nothing in {now - first:.2f} s")
                continue
            if now - pad.taken > limits.frame_age:
                return RunFault(Fault.SENSOR_LOST, f"the last frame of '{name}' is {now - pad.taken:.3f} s old")
            if pad.loaded and pad.taken - pad.same_since > limits.frozen:
                same = pad.taken - pad.same_since
                return RunFault(Fault.SENSOR_FROZEN, f"'{name}' has sent one picture for {same:.2f} s")
            while pad.spikes and pad.spikes[0] < now - 1.0:
                pad.spikes.popleft()
            if len(pad.spikes) >= limits.spikes:
                return RunFault(Fault.SENSOR_WILD, f"'{name}' jumped {len(pad.spikes)} times within a second")
        return None

    def _forces(self, estimate: ContactEstimate, now: float, phase: RunPhase, needed: Floats) -> RunFault | None:
        names = self.tracker.timeline.names
        measured = np.where(self.tracker.sensed, estimate.measured, 0.0)
        other, where = estimate.other
        if phase is RunPhase.APPROACH:
            worst = int(np.argmax(measured))
            force, place = (float(measured[worst]), names[worst]) if measured[worst] >= other else (other, where)
            if force > self.options.touch_load:
                return RunFault(Fault.UNEXPECTED, f"{force:.2f} N on '{place}' before the hand closes")
            return None
        over = measured > self.max_force
        self._over = _since(self._over, over, now)
        if (i := _first_longer(self._over, now, self.limits.overload)) is not None:
            return RunFault(Fault.OVERLOAD, f"{measured[i]:.2f} N on '{names[i]}', permitted {self.max_force[i]:.4g} N")
        permitted = self._permitted
        self._other = (now if np.isnan(self._other) else self._other) if other > permitted else np.nan
        if not np.isnan(self._other) and now - self._other >= self.limits.overload:
            return RunFault(Fault.OVERLOAD, f"{other:.2f} N on '{where}', permitted {permitted:.4g} N")
        if phase.grips:
            gone = self.tracker.sensed & (needed > 0) & (measured < self.limits.lost_force)
            self._gone = _since(self._gone, gone, now)
            if (i := _first_longer(self._gone, now, self.limits.lost)) is not None:
                assert self._gone is not None
                return RunFault(Fault.CONTACT_LOST, f"nothing measured on '{names[i]}' for {now - self._gone[i]:.2f} s")
        return None

    def _following(self, sample: Sample, command: Floats | None, now: float) -> RunFault | None:
        if command is None or sample.joints is None:
            return None
        error = np.abs(sample.joints.positions - command)
        self._astray = _since(self._astray, error > self.off, now)
        i = _first_longer(self._astray, now, self.limits.unfollowed)
        if i is None:
            return None
        return RunFault(Fault.NOT_FOLLOWING, f"'{self.names[i]}' is {error[i]:.3g} {self.unit[i]} off its command")


def _since(since: Floats | None, wrong: Bools, now: float) -> Floats | None:
    """Since when each has been wrong; NaN where it is not, None where nothing is."""
    if not wrong.any():
        return None
    return np.where(wrong, now if since is None else np.where(np.isnan(since), now, since), np.nan)


def _first_longer(since: Floats | None, now: float, most: float) -> int | None:
    if since is None:
        return None
    long = now - since >= most  # NaN compares as False
    return int(long.argmax()) if long.any() else None
