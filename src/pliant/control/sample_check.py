"""What of a sample can be a measurement at all; the rest is taken for not sent, so that it grows old and is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pliant.control.driver import MOST_AHEAD, JointReading, Sample
from pliant.tactile import TactileFrame


class SoundSamples:
    """Takes a driver's samples and gives them on without readings of another size, frames of other arrays, and anything
    from the future. In place of a joint reading that is none stands the last that was one, with its age.

    Numbers that are not finite stay: the watch has its own word for them.

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
