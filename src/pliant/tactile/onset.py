"""When a pad was touched, from its force over time: onset, extrapolated touch, and how far frames lag behind joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Floats

ONSET_FRAMES = 4
SHARE_OF_PEAK = 0.2
LARGEST_LAG = 4  # frames
STOPPED = 0.1  # of the closing speed at touch


@dataclass(frozen=True)
class Onset:
    """The touch that a pad's grasp grew from.

    Attributes:
        first: time of the first frame with any contact, a passing brush included [s].
        frame: number of the first frame of the lasting contact.
        time: when its force was zero, by extrapolation [s].
    """

    first: float
    frame: int
    time: float


def find_onset(time: Floats, force: Floats) -> Onset | None:
    """Onset of the lasting contact of a pad; None if nothing touched it.

    The lasting contact is the last rise from zero before the force passes a fifth of its largest value. Between smooth
    bodies force grows as indentation to the power 1.5 (Hertz), so at steady closing speed force^(2/3) is a straight
    line in time; its zero is the touch. It must lie between the last empty frame and the first pressed one.
    """
    if not np.any(force > 0):
        return None
    pressed = np.flatnonzero(force > 0)
    strong = int(np.argmax(force >= SHARE_OF_PEAK * force.max()))
    empty = np.flatnonzero(force[: strong + 1] <= 0)
    start = int(empty[-1]) + 1 if len(empty) else 0
    touch = float(time[start])
    if start > 0:
        end = min(start + ONSET_FRAMES, len(time))
        if end - start >= 2 and np.ptp(time[start:end]) > 0:
            slope, offset = np.polyfit(time[start:end] - touch, force[start:end] ** (2.0 / 3.0), 1)
            if slope > 0:
                touch -= float(offset / slope)
        touch = float(np.clip(touch, time[start - 1], time[start]))
    return Onset(float(time[pressed[0]]), start, touch)


def frame_lag(
    frame_time: Floats, force: Floats, joint_time: Floats, closing: Floats, onset: Onset, period: float
) -> float | None:
    """By how much tactile frames lag behind joint angles [s]: the delay that makes force a function of closing.

    While the fingers close steadily a delay cannot be told from an offset; where they stop, it can. Over the frames
    from the onset to just after the stop, force is fitted by a low polynomial of ``closing(t - lag)``; the lag of the
    best fit is returned. Creep of the rubber is counted as lag. None where there are too few frames to tell.

    Args:
        frame_time, force: of one pad.
        joint_time, closing: distance closed [m], increasing when the hand closes.
        onset: of that pad.
        period: time between frames [s].
    """
    speed = np.gradient(np.interp(frame_time, joint_time, closing), frame_time) if len(frame_time) > 2 else None
    if speed is None or period <= 0:
        return None
    start = onset.frame
    moving = np.abs(speed[: start + 1]).max()
    still = np.flatnonzero(np.abs(speed[start:]) < STOPPED * moving)
    if moving <= 0 or not len(still):
        return None
    stop = min(start + int(still[0]) + 2, len(frame_time) - 1)
    window = slice(start, stop + 1)
    y = force[window]
    if len(y) < 6 or np.ptp(y) <= 0:
        return None
    order = 3 if len(y) > 7 else 2
    lags = np.linspace(0.0, LARGEST_LAG * period, 8 * LARGEST_LAG + 1)
    misfit = []
    for lag in lags:
        x = np.interp(frame_time[window] - lag, joint_time, closing)
        scale = np.ptp(x)
        if scale <= 0:
            return None
        A = np.vander((x - x.mean()) / scale, order + 1)
        misfit.append(float(np.sum((A @ np.linalg.lstsq(A, y, rcond=None)[0] - y) ** 2)))
    return float(lags[int(np.argmin(misfit))])
