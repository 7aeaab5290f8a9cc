"""Bad days on demand: a driver between controller and lab that spoils what passes through it.   (theory 9, 10)"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.control import Driver, Sample
from pliant.errors import OptionError
from pliant.lab.driver import LabDriver
from pliant.tactile import TactileFrame

__all__ = ["FaultyDriver", "Injection", "kick"]

Floats = NDArray[np.float64]


class Injection(StrEnum):
    """What can be spoiled."""

    FROZEN_FRAMES = "frozen frames"
    """Frames go on coming, with new times and one and the same picture."""
    LOST_FRAMES = "lost frames"
    """No more frames."""
    DEAD_PAD = "dead pad"
    """One array reads zero."""
    SPIKE = "spike"
    """One wild frame."""
    SPIKES = "spikes"
    """Every second frame is wild."""
    NAN_JOINTS = "nan joints"
    NAN_FRAMES = "nan frames"
    DELAY = "delay"
    """Frames arrive 200 ms late."""
    STUCK_JOINT = "stuck joint"
    """A joint keeps the position it had."""
    LOST_JOINTS = "lost joints"
    """Joint readings grow old."""
    CLOCK = "clock"
    """The clock stands still."""


DELAY = 0.2


class FaultyDriver:
    """Passes everything on, until it is armed.

    Args:
        driver: the sound one.
        injection: what goes wrong once armed.
        array: of the dead or wild pad; the one that feels most when it is armed if empty.
        joint: of the stuck joint.
    """

    def __init__(self, driver: Driver, injection: Injection, *, array: str = "", joint: str = "") -> None:
        if injection is Injection.STUCK_JOINT and joint not in driver.joint_names:
            raise OptionError("faults", f"no joint '{joint}'; there are: {', '.join(driver.joint_names)}")
        self.driver, self.injection, self.array, self.joint = driver, injection, array, joint
        self.joint_names, self.array_names = driver.joint_names, driver.array_names
        self.takes_torques = driver.takes_torques
        for more in ("torque_joints", "carries_weight"):
            if hasattr(driver, more):
                setattr(self, more, getattr(driver, more))
        self.armed_at: float | None = None
        self._kept: dict[str, TactileFrame] = {}
        self._last: Sample | None = None
        self._queue: dict[str, deque[TactileFrame]] = {}
        self._wild: dict[str, int] = {}
        self._stuck = np.nan

    @property
    def period(self) -> float:
        return self.driver.period

    @property
    def time(self) -> float:
        return self.driver.time

    def arm(self) -> None:
        """From now on it goes wrong."""
        if self.armed_at is not None:
            return
        sample = self.driver.read()
        self.armed_at, self._last = sample.time, sample
        self._kept = dict(sample.frames)
        if not self.array:
            loaded = {name: int(np.sum(frame.counts)) for name, frame in sample.frames.items()}
            self.array = max(loaded, key=lambda name: loaded[name], default="")
        if self.joint and sample.joints is not None:
            self._stuck = float(sample.joints.positions[self.joint_names.index(self.joint)])

    def read(self) -> Sample:
        sample = self.driver.read()
        if self.armed_at is None:
            return sample
        match self.injection:
            case Injection.FROZEN_FRAMES:
                frames = {n: replace(f, counts=self._kept.get(n, f).counts) for n, f in sample.frames.items()}
            case Injection.LOST_FRAMES:
                frames = dict(self._kept)
            case Injection.DEAD_PAD:
                frames = self._with(sample.frames, lambda counts: np.zeros_like(counts))
            case Injection.SPIKE | Injection.SPIKES:
                frames = self._with(sample.frames, None)
            case Injection.NAN_FRAMES:
                frames = {n: replace(f, counts=np.full(f.counts.shape, np.nan)) for n, f in sample.frames.items()}
            case Injection.DELAY:
                frames = self._delayed(sample)
            case _:
                frames = dict(sample.frames)
        sample = replace(sample, frames=frames)
        joints = sample.joints
        if self.injection is Injection.NAN_JOINTS and joints is not None:
            return replace(sample, joints=replace(joints, positions=np.full_like(joints.positions, np.nan)))
        if self.injection is Injection.LOST_JOINTS and self._last is not None:
            return replace(sample, joints=self._last.joints)
        if self.injection is Injection.CLOCK and self._last is not None:
            return self._last
        return sample

    def _with(self, frames: Mapping[str, TactileFrame], change: Any) -> dict[str, TactileFrame]:
        out = dict(frames)
        if self.array not in out:
            return out
        frame = out[self.array]
        if change is not None:
            out[self.array] = replace(frame, counts=change(frame.counts))
            return out
        if self.armed_at is None or frame.time <= self.armed_at:
            return out
        # A frame that has been seen once stays as it was seen.
        key = f"{frame.time:.6f}"
        number = self._wild.setdefault(key, len(self._wild))
        wild = number == 0 if self.injection is Injection.SPIKE else number % 2 == 0
        if wild:
            counts = frame.counts.copy()
            counts[counts.shape[0] // 2 - 2 : counts.shape[0] // 2 + 2, 1:-1] = 4000
            out[self.array] = replace(frame, counts=counts)
        return out

    def _delayed(self, sample: Sample) -> dict[str, TactileFrame]:
        out = {}
        for name, frame in sample.frames.items():
            queue = self._queue.setdefault(name, deque([self._kept[name]] if name in self._kept else []))
            if not queue or frame.time > queue[-1].time:
                queue.append(frame)
            while len(queue) > 1 and queue[1].time <= sample.time - DELAY:
                queue.popleft()
            if queue:
                out[name] = queue[0]
        return out

    def command_positions(self, positions: Floats) -> None:
        wanted = np.array(positions, dtype=np.float64)
        if self.armed_at is not None and self.injection is Injection.STUCK_JOINT:
            wanted[self.joint_names.index(self.joint)] = self._stuck
        self.driver.command_positions(wanted)

    def command_torques(self, torques: Floats, **which: Any) -> None:
        self.driver.command_torques(torques, **which)

    def step(self) -> None:
        self.driver.step()

    def emergency_stop(self, reason: str) -> None:
        self.driver.emergency_stop(reason)

    def close(self) -> None:
        self.driver.close()


def kick(driver: LabDriver, velocity: ArrayLike) -> None:
    """Give the object this velocity on top of its own, all at once [m/s]."""
    simulation = driver.simulation
    held, model, data = simulation.scene.object, simulation.model, simulation.data
    if held is None:
        raise OptionError("lab", "there is nothing to kick")
    v = np.asarray(velocity, dtype=np.float64).reshape(3)
    if held.core:
        start = int(model.jnt_dofadr[model.body_jntadr[model.body(held.core).id]])
        data.qvel[start : start + 3] += v
        return
    first = np.asarray(model.body_dofadr)[np.asarray(model.flex_vertbodyid)]
    local = held.T_world_object.rotation.T @ v
    for i in range(3):
        data.qvel[first + i] += local[i]
