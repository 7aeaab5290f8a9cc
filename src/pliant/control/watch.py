"""The watch: looks at every sample for what must not be, and says which fault it is and why.   (theory 9)"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.control.driver import Sample
from pliant.control.options import ControlOptions
from pliant.control.phases import Fault, RunPhase
from pliant.robot import Assembly
from pliant.tactile import ContactEstimate, ContactTracker

FEELS = (RunPhase.CLOSE, RunPhase.SQUEEZE, RunPhase.LIFT, RunPhase.MOVE, RunPhase.HOLD)
GRIPS = (RunPhase.SQUEEZE, RunPhase.LIFT, RunPhase.MOVE, RunPhase.HOLD)


class Watch:
    """Keeps how long each thing has been wrong. Times are the driver's; nothing is asked of any other clock."""

    def __init__(self, assembly: Assembly, tracker: ContactTracker, options: ControlOptions) -> None:
        self.tracker, self.options, self.limits = tracker, options, options.watch
        self.names = assembly.robot.joint_names
        slides = {joint.name for joint in assembly.robot.urdf.joints if joint.kind == "prismatic"}
        self.off = np.array([self.limits.distance if n in slides else self.limits.angle for n in self.names])
        self.unit = ["m" if name in slides else "rad" for name in self.names]
        n = len(tracker.timeline.links)
        self.max_force = tracker.timeline.max_force
        self._over, self._gone = np.full(n, np.nan), np.full(n, np.nan)
        self._other = np.nan
        self._astray = np.full(len(self.names), np.nan)
        self._first: float | None = None
        self._last, self._still = -np.inf, 0

    def look(
        self, sample: Sample, estimate: ContactEstimate | None, phase: RunPhase, command: Floats | None, needed: Floats
    ) -> tuple[Fault, str] | None:
        """The first thing that is wrong, worst first; None if all is well.

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
            or (self._pads(now, self._first) if phase in FEELS else None)
            or (self._forces(estimate, now, phase, needed) if estimate is not None else None)
            or self._following(sample, command, now)
        )

    def _driver(self, sample: Sample) -> tuple[Fault, str] | None:
        if sample.stopped:
            return Fault.DRIVER, sample.stopped
        if not np.isfinite(sample.time):
            return Fault.NOT_FINITE, f"the driver's clock says {sample.time}"
        self._still = self._still + 1 if sample.time <= self._last else 0
        self._last = max(self._last, sample.time)
        if self._still >= self.limits.still_clock:
            return Fault.CLOCK, f"{self._still} samples at {sample.time:.3f} s"
        return None

    def _joints(self, sample: Sample, now: float) -> tuple[Fault, str] | None:
        assert self._first is not None
        if sample.joints is None:
            late = now - self._first
            return (Fault.JOINTS_LOST, f"none in {late:.2f} s") if late > self.limits.joint_age else None
        finite = np.isfinite(sample.joints.positions)
        if not finite.all():
            return Fault.NOT_FINITE, f"measured joint '{self.names[int(finite.argmin())]}'"
        age = now - sample.joints.time
        return (Fault.JOINTS_LOST, f"the last is {age:.3f} s old") if age > self.limits.joint_age else None

    def _pads(self, now: float, first: float) -> tuple[Fault, str] | None:
        limits = self.limits
        for name in self.tracker.used:
            pad = self.tracker.pads[name]
            if not np.isfinite(pad.taken):
                if now - first > limits.first_frame:
                    return Fault.SENSOR_LOST, f"'{name}' has sent nothing in {now - first:.2f} s"
                continue
            if now - pad.taken > limits.frame_age:
                return Fault.SENSOR_LOST, f"the last frame of '{name}' is {now - pad.taken:.3f} s old"
            if pad.loaded and pad.taken - pad.same_since > limits.frozen:
                return Fault.SENSOR_FROZEN, f"'{name}' has sent one picture for {pad.taken - pad.same_since:.2f} s"
            while pad.spikes and pad.spikes[0] < now - 1.0:
                pad.spikes.popleft()
            if len(pad.spikes) >= limits.spikes:
                return Fault.SENSOR_WILD, f"'{name}' jumped {len(pad.spikes)} times within a second"
        return None

    def _forces(
        self, estimate: ContactEstimate, now: float, phase: RunPhase, needed: Floats
    ) -> tuple[Fault, str] | None:
        names = self.tracker.timeline.names
        measured = np.where(self.tracker.sensed, estimate.measured, 0.0)
        other, where = estimate.other
        if phase is RunPhase.APPROACH:
            worst = int(np.argmax(measured))
            force, place = (float(measured[worst]), names[worst]) if measured[worst] >= other else (other, where)
            if force > self.options.touch_load:
                return Fault.UNEXPECTED, f"{force:.2f} N on '{place}' before the hand closes"
            return None
        over = measured > self.max_force
        self._over = _since(self._over, over, now)
        if (i := _first_longer(self._over, now, self.limits.overload)) is not None:
            return Fault.OVERLOAD, f"{measured[i]:.2f} N on '{names[i]}', permitted {self.max_force[i]:.4g} N"
        permitted = float(self.max_force.min())
        self._other = (now if np.isnan(self._other) else self._other) if other > permitted else np.nan
        if not np.isnan(self._other) and now - self._other >= self.limits.overload:
            return Fault.OVERLOAD, f"{other:.2f} N on '{where}', permitted {permitted:.4g} N"
        if phase in GRIPS:
            gone = self.tracker.sensed & (needed > 0) & (measured < self.limits.lost_force)
            self._gone = _since(self._gone, gone, now)
            if (i := _first_longer(self._gone, now, self.limits.lost)) is not None:
                return Fault.CONTACT_LOST, f"nothing felt on '{names[i]}' for {now - self._gone[i]:.2f} s"
        return None

    def _following(self, sample: Sample, command: Floats | None, now: float) -> tuple[Fault, str] | None:
        if command is None or sample.joints is None:
            return None
        error = np.abs(sample.joints.positions - command)
        self._astray = _since(self._astray, error > self.off, now)
        i = _first_longer(self._astray, now, self.limits.unfollowed)
        if i is None:
            return None
        return Fault.NOT_FOLLOWING, f"'{self.names[i]}' is {error[i]:.3g} {self.unit[i]} off its command"


def _since(since: Floats, wrong: Bools, now: float) -> Floats:
    """Since when each thing has been wrong; NaN where it is not."""
    if not wrong.any():
        return np.full(len(since), np.nan)
    return np.where(wrong, np.where(np.isnan(since), now, since), np.nan)


def _first_longer(since: Floats, now: float, most: float) -> int | None:
    long = now - since >= most  # NaN compares as False
    return int(long.argmax()) if long.any() else None
