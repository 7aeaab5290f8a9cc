"""When an object that is loosened slowly began to slip, from what pads see of it a moment later.   (theory 9)

Pads without shear cells see a slip late: a centre of pressure runs away, or, where a face is larger than the pad, the
force breaks away once its edge has come by. Until then the object has fallen freely for some frames. Normal forces fall
at the rate r, so the share of the weight that friction no longer holds grows as r t, and the path as g r t^3 / 6: the
beginning lies (6 x / g r)^(1/3) before the moment at which it has gone x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Floats
from pliant.constants import GRAVITY

RECENT, BEFORE = 0.13, 0.3  # a slip shows in the mean of this time against that of so long before [s]
LEAST_RECENT, LEAST_BEFORE = 3, 4  # frames of each
GONE, SIGMAS = 0.001, 5.0  # all centres of pressure have moved by so much, and by so many times their noise [m]
BEGUN = 2.5  # times the noise of their mean: where the run began
BROKEN, BREAKING = 0.7, 0.8  # of the force loosened to: mean of a contact that broke away; its first frame
FALLEN = 0.004  # path of an object whose contact breaks away; after 1 to 30 mm an edge has come by [m]
LEAST_RATE = 0.2  # of the loosening [1/s]
NEAR = (-0.2, 0.04)  # frames around the beginning that give its forces [s]


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
        slides: K x n paths of the centres of pressure along the load [m]; NaN where a pad measures nothing.
        forces: K x n normal forces [N].
    """
    now = times[-1]
    recent = int(np.searchsorted(times, now - RECENT))
    first = int(np.searchsorted(times, now - RECENT - BEFORE))
    sat = slice(first, recent)
    enough = recent - first >= LEAST_BEFORE and len(times) - recent >= LEAST_RECENT
    if not enough or not np.isfinite(slides[sat]).all():
        return None
    rate = max(-float(np.polyfit(times[sat], np.log(np.maximum(forces[sat].mean(axis=1), 1e-6)), 1)[0]), LEAST_RATE)
    held = forces[recent:] / (np.exp(-rate * (times[recent:] - times[sat].mean()))[:, None] * forces[sat].mean(axis=0))
    if (held.mean(axis=0) < BROKEN).any():
        broke = recent + int(np.argmax((held < BREAKING).any(axis=1)))
        return SlipSeen(float(times[broke]) - _fall_time(FALLEN, rate), True)
    moved = slides[recent:] - slides[sat].mean(axis=0)
    noise = np.maximum(slides[sat].std(axis=0), 1e-5)
    certain = SIGMAS * noise / np.sqrt(len(moved))
    if not (moved.mean(axis=0) > np.maximum(GONE, certain)).all():
        return None
    together = moved.mean(axis=1)
    still = np.flatnonzero(together <= BEGUN * float(np.linalg.norm(noise)) / len(noise))
    run = min(int(still[-1]) + 1 if len(still) else 0, len(together) - 1)
    return SlipSeen(float(times[recent + run]) - _fall_time(max(float(together[run]), 0.0), rate), False)


def forces_at(times: Floats, forces: Floats, when: float) -> Floats:
    """n normal forces at a moment [N]: a line through the logarithms of the frames around it, as one frame is noise."""
    near = (times >= when + NEAR[0]) & (times <= when + NEAR[1]) & (forces > 0.0).all(axis=1)
    if near.sum() < 2:
        return np.array(forces[int(np.argmin(np.abs(times - when)))])
    return np.exp(np.polyfit(times[near] - when, np.log(forces[near]), 1)[1])


def _fall_time(path: float, rate: float) -> float:
    """How long it takes to fall so far from where friction just held, normal forces falling at a rate [s]."""
    return float((6.0 * path / (GRAVITY * rate)) ** (1.0 / 3.0))
