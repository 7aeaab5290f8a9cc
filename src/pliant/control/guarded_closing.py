"""How fast a hand may close on a thing that may lie elsewhere than planned.   (theory 9)"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats
from pliant.control.force_loop import ForceLoop, contact_kinematics
from pliant.control.options import ControlOptions
from pliant.planner import ContactTimeline, Phase
from pliant.robot import Assembly

SLOWEST, FASTEST = 0.002, 0.03  # of a contact near the object [m/s]


class GuardedClosing:
    """How fast the hand may close: slowly from ``guard`` before the planned touch on, so that a contact that is felt
    late does not press harder than ``touch_load``.

    Attributes:
        speed: of the fastest contact near the object [m/s].
        search_rate: joint speeds with which a finger goes on beyond the planned touch [rad/s, m/s].
        search_speed: of its contact then [m/s].
        searched: how far it has gone beyond so far [m]; the controller counts.
        longest: how long the slow part may take [s].
    """

    def __init__(self, timeline: ContactTimeline, assembly: Assembly, loop: ForceLoop, options: ControlOptions) -> None:
        self.searched = 0.0
        start, end = timeline.span(Phase.CLOSE)
        points = timeline.forces_at(timeline.touch_time).points

        def places(q: Floats) -> list[Floats]:
            Ts = assembly.robot.poses(timeline.links, q)
            return [T.act(p) for T, p in zip(Ts, points, strict=True)]

        self._times = np.linspace(start, end, 41)
        way = np.array([places(timeline.trajectory.at(float(t))) for t in self._times])
        left = np.linalg.norm(way - way[-1], axis=2).max(axis=1)
        speeds = np.ones(41)
        if end > start:
            speeds = np.linalg.norm(np.gradient(way, self._times, axis=0), axis=2).max(axis=1)
        touch = timeline.forces_at(end)
        at_touch = contact_kinematics(assembly, timeline.links, timeline.q_touch, touch.points, touch.axes)
        D = float(loop.series_stiffness(at_touch).max())
        self.speed = float(np.clip(options.touch_load / (D * options.latency), SLOWEST, FASTEST))
        self._rates = np.where(left <= options.guard, self.speed / np.maximum(speeds, 1e-9), 1.0)
        rate = timeline.closing_rate()
        fastest = float(np.linalg.norm(np.einsum("nij,j->ni", at_touch.jacobian, rate), axis=1).max())
        scale = self.speed / fastest if fastest > 1e-9 else 0.0
        self.search_rate = np.where(loop.hand, scale * rate, 0.0)
        self.search_speed = self.speed if scale > 0 else np.inf
        self.longest = (min(options.guard, float(left.max())) + options.search) / self.speed

    def rate(self, time: float) -> float:
        """Share of the planned speed at this time of the plan."""
        return float(np.interp(time, self._times, self._rates))
