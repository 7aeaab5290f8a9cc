"""Numbers of the controller: limits, times and gains, checked once.   (theory 9)"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pliant.errors import OptionError, Problem
from pliant.tactile import FilterNoise, TrackingOptions


@dataclass(frozen=True)
class CalibrationFactors:
    """What a trial squeeze has found about this hand and this object, relative to the plan.

    Args:
        force: k, measured over planned force at the planned depth: the fingers press in so far as makes it 1.
        stiffness: measured over planned contact stiffness D: how far the force loop moves a contact per newton.
    """

    force: float = 1.0
    stiffness: float = 1.0

    def __post_init__(self) -> None:
        wrong = [
            Problem(name, f"{value!r}", "a finite number above 0")
            for name, value in vars(self).items()
            if not (np.isfinite(value) and value > 0)
        ]
        if wrong:
            raise OptionError("calibration", wrong)


@dataclass(frozen=True)
class WatchLimits:
    """When something counts as wrong. Reaction time is how long a fault may last before the controller reacts.

    Args:
        frame_age: oldest tactile frame of a pad in use [s].
        joint_age: oldest joint reading [s].
        first_frame: how long the first frames may take [s].
        frozen: bit-identical frames of a pressed pad for so long mean that it is frozen [s]; infinite for pads without
            noise, which may well repeat themselves.
        overload: a force over its limit for so long [s].
        lost: a contact without force for so long [s].
        lost_force: what counts as without force [N].
        slid: an object that has gone so far along its load, all contacts together, is carried no farther [m].
        unfollowed: a joint off its command for so long [s].
        angle, distance: how far off counts: revolute [rad], prismatic [m].
        spike_force: a force that jumps by more than this and by more than itself from frame to frame is a spike [N].
        spike_frames: a jump that lasts longer than so many frames is believed.
        spikes: so many spikes within a second mean that a pad cannot be believed.
        still_clock: so many samples without the clock moving mean that the driver hangs.
    """

    frame_age: float = 0.18
    joint_age: float = 0.1
    first_frame: float = 0.5
    frozen: float = 0.35
    overload: float = 0.06
    lost: float = 0.12
    lost_force: float = 0.03
    slid: float = 0.005
    unfollowed: float = 0.2
    angle: float = 0.12
    distance: float = 0.008
    spike_force: float = 3.0
    spike_frames: int = 2
    spikes: int = 8
    still_clock: int = 100

    def __post_init__(self) -> None:
        wrong = [
            Problem(name, f"{value!r}", "above 0")
            for name, value in vars(self).items()
            if not value > 0  # NaN fails as well
        ]
        if wrong:
            raise OptionError("watch limits", wrong)

    @property
    def reaction(self) -> float:
        """The longest time from a fault to the reaction, two tactile frames for its arrival included [s]."""
        times = (self.frame_age, self.joint_age, self.overload, self.lost, self.unfollowed)
        frozen = (self.frozen,) if np.isfinite(self.frozen) else ()
        return max(*times, *frozen) + 2 * 0.032 + 0.032 * self.spike_frames


@dataclass(frozen=True)
class ControlOptions:
    """How a plan is carried out.

    Args:
        force_loop: whether forces are controlled; off: the planned joints are played as they are.
        filter: whether forces and points pass through the filter; off: the latest measurement counts.
        noise: of the filter.
        calibration: what a trial squeeze has found.
        watch: when something counts as wrong.
        gain: rate at which force errors are removed [1/s]; below pi / (2 delay) it is stable.
        step: largest change of a contact's place per second by the force loop [m/s].
        reach: largest correction of a contact's place altogether [m].
        slip: how far all centres of pressure together may wander beyond the plan before the grip is made stronger [m].
        slip_gain: part by which the wanted force grows per metre of wandering beyond that [1/m].
        grip_most: .. and at most this many times the wanted force.
        slip_calm: nothing has wandered on for so long: the grip begins to let go again [s].
        slip_fade: time in which it forgets all but 1/e of the wandering then [s].
        limit_share: wanted forces stay below this part of the permitted force.
        touch: force that counts as touched [N].
        touch_load: what a finger may press while it waits for the others [N].
        latency: from a contact to the reaction; sets how slowly fingers close near the object [s].
        guard: from this distance to the planned touch on fingers close slowly [m].
        search: how far beyond the planned touch a finger searches for the object [m].
        settle: how long forces may take to settle after the squeeze [s].
        tolerance: part of the wanted force within which it counts as settled.
        hold: how long to hold at the end [s].
        release: whether to open the hand at the end.
        patience: every phase may last this much longer than planned [s].
        speed: of playing the plan; 1 as planned.
        cost: what the wanted forces make small (7.3): "largest" or "loading", as in the plan's options.
    """

    force_loop: bool = True
    filter: bool = True
    noise: FilterNoise = field(default_factory=lambda: FilterNoise(force_drift=0.1**2, force_error=0.2**2))
    calibration: CalibrationFactors = field(default_factory=CalibrationFactors)
    watch: WatchLimits = field(default_factory=WatchLimits)
    gain: float = 5.0
    step: float = 0.02
    reach: float = 0.02
    slip: float = 0.0007
    slip_gain: float = 400.0
    grip_most: float = 2.5
    slip_calm: float = 0.3
    slip_fade: float = 0.5
    limit_share: float = 0.85
    touch: float = 0.1
    touch_load: float = 1.0
    latency: float = 0.08
    guard: float = 0.008
    search: float = 0.012
    settle: float = 2.0
    tolerance: float = 0.15
    hold: float = 0.4
    release: bool = False
    patience: float = 2.0
    speed: float = 1.0
    cost: Literal["largest", "loading"] = "largest"

    def __post_init__(self) -> None:
        positive = ("gain", "step", "reach", "touch", "touch_load", "latency", "settle", "tolerance", "patience")
        rules = [
            *((name, getattr(self, name) > 0 and np.isfinite(getattr(self, name)), "above 0") for name in positive),
            ("guard", 0 <= self.guard < 1, "0 or more [m]"),
            ("search", 0 <= self.search <= 0.1, "0 to 0.1 [m]"),
            ("hold", 0 <= self.hold < 1e6, "0 or more [s]"),
            ("slip", 0 < self.slip <= 1, "above 0 [m]"),
            ("slip_gain", 0 <= self.slip_gain < 1e5, "0 or more [1/m]"),
            ("slip_calm", self.slip_calm >= 0, "0 or more [s]; infinite: a grip that was made stronger stays so"),
            ("slip_fade", self.slip_fade > 0, "above 0 [s]"),
            ("grip_most", 1 <= self.grip_most <= 10, "1 to 10"),
            ("limit_share", 0 < self.limit_share <= 1, "above 0, at most 1"),
            ("speed", 0.01 <= self.speed <= 1, "0.01 to 1: never faster than planned"),
        ]
        wrong = [Problem(name, f"{getattr(self, name)!r}", allowed) for name, right, allowed in rules if not right]
        if wrong:
            raise OptionError("control", wrong)

    @property
    def tracking(self) -> TrackingOptions:
        """What of this concerns the tracking of contacts."""
        watch = self.watch
        return TrackingOptions(self.noise, self.filter, watch.spike_force, watch.spike_frames)
