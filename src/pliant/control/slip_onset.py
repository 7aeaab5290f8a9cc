"""When an object that is loosened slowly began to slip, told from what pads see of it a moment later.   (SPEC 9)

Pads without shear cells see a slip late: a centre of pressure runs away, or, where a face is larger than the pad, the
force breaks away once its edge has come by. Until then the object has fallen freely for some frames. Normal forces fall
at the rate r, so the share of the weight that friction no longer holds grows as r t, and the way as g r t^3 / 6: the
beginning lies (6 x / g r)^(1/3) before the moment at which it has gone x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["SlipSeen", "forces_at", "see_slip"]

Floats = NDArray[np.float64]

GRAVITY = 9.81
RECENT, BEFORE = 0.16, 0.4  # a slip is told within this time, against what was seen for so long before [s]
LEAST_BEFORE = 4  # frames of it
GONE, SIGMAS = 0.0012, 5.0  # all centres of pressure have moved by so much, and by so many times their noise [m]
BEGUN = 2.5  # times the noise of their mean: where the run began
BROKEN = 0.6  # two frames in a row below this part of what they have been loosened to are no loosening
FALLEN = 0.004  # way of an object whose contact breaks away; after 1 to 30 mm an edge has come by [m]
LEAST_RATE = 0.2  # of the loosening [1/s]
NEAR = (-0.2, 0.04)  # frames around the beginning that tell its forces [s]


@dataclass(frozen=True)
class SlipSeen:
    """A slip.

    Attributes:
        began: when [s].
        broken: whether a contact broke away rather than ran over its pad.
    """

    began: float
    broken: bool


def see_slip(times: Floats, slides: Floats, forces: Floats) -> SlipSeen | None:
    """The slip that the latest frames show; None while the object sits.

    Args:
        times: K frames while it is loosened, in order [s].
        slides: K x n ways of the centres of pressure along the load [m]; NaN where a pad feels nothing.
        forces: K x n normal forces [N].
    """
    now = times[-1]
    recent = int(np.searchsorted(times, now - RECENT))
    first = int(np.searchsorted(times, now - RECENT - BEFORE))
    sat = slice(first, recent)
    if recent - first < LEAST_BEFORE or len(times) - recent < 2 or not np.isfinite(slides[sat]).all():
        return None
    rate = max(-float(np.polyfit(times[sat], np.log(np.maximum(forces[sat].mean(axis=1), 1e-6)), 1)[0]), LEAST_RATE)
    loosened = np.exp(-rate * (times[-2:] - times[sat].mean()))[:, None] * forces[sat].mean(axis=0)
    if (forces[-2:] < BROKEN * loosened).all(axis=0).any():
        return SlipSeen(float(times[-2]) - _fall_time(FALLEN, rate), True)
    seat = slides[sat].mean(axis=0)
    moved = slides[recent:] - seat
    noise = np.maximum(slides[sat].std(axis=0), 1e-5)
    if not (moved[-2:] > np.maximum(GONE, SIGMAS * noise)).all():
        return None
    together = moved.mean(axis=1)
    still = np.flatnonzero(together <= BEGUN * float(np.linalg.norm(noise)) / len(noise))
    run = int(still[-1]) + 1 if len(still) else 0
    return SlipSeen(float(times[recent + run]) - _fall_time(float(together[run]), rate), False)


def forces_at(times: Floats, forces: Floats, when: float) -> Floats:
    """n normal forces at a moment [N]: a line through the logarithms of the frames around it, as one frame is noise."""
    near = (times >= when + NEAR[0]) & (times <= when + NEAR[1]) & (forces > 0.0).all(axis=1)
    if near.sum() < 2:
        return np.array(forces[int(np.argmin(np.abs(times - when)))])
    return np.exp(np.polyfit(times[near] - when, np.log(forces[near]), 1)[1])


def _fall_time(way: float, rate: float) -> float:
    """How long it takes to fall so far from where friction just held, normal forces falling at a rate [s]."""
    return float((6.0 * way / (GRAVITY * rate)) ** (1.0 / 3.0))
