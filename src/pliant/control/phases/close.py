"""Closing: slowly near the object, until every planned contact is measured.   (theory 9)"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats
from pliant.control.events import Fault, RunFault, RunPhase
from pliant.control.force_loop import ForceLoop, contact_kinematics
from pliant.control.grip import ControlStep
from pliant.control.options import ControlOptions
from pliant.control.phases.context import NEEDED, PhaseStrategy, RunContext
from pliant.planner import ContactTimeline, Phase
from pliant.robot import Assembly
from pliant.tactile import measured_forces

SLOWEST, FASTEST = 0.002, 0.03  # of a contact near the object [m/s]


class GuardedClosing:
    """How fast the hand may close: slowly from ``guard`` before the planned touch on, so that a contact that is
    measured late does not press harder than ``touch_load``.

    Attributes:
        speed: of the fastest contact near the object [m/s].
        search_rate: joint speeds with which a finger goes on beyond the planned touch [rad/s, m/s].
        search_speed: of its contact then [m/s].
        searched: how far it has gone beyond so far [m].
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
        path = np.array([places(timeline.trajectory.at(float(t))) for t in self._times])
        left = np.linalg.norm(path - path[-1], axis=2).max(axis=1)
        speeds = np.ones(41)
        if end > start:
            speeds = np.linalg.norm(np.gradient(path, self._times, axis=0), axis=2).max(axis=1)
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


class ClosePhase(PhaseStrategy):
    """Close until every planned contact is measured. A finger that touches waits; one that does not goes on."""

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.guard = GuardedClosing(run.timeline, run.assembly, run.loop, run.options)
        self.time_limit = self.planned_limit(Phase.CLOSE, self.guard.longest)
        self._moves = np.array([run.robot.joints_moving(link) for link in run.timeline.links]) & run.loop.hand
        self._waiting = np.zeros(run.robot.dof, dtype=bool)
        needed = run.timeline.forces_at(run.timeline.grasp_time).forces[:, 2]
        self._optional = needed <= NEEDED

    def step(self, step: ControlStep) -> RunPhase | RunFault | None:
        run, guard = self.run, self.guard
        end = run.timeline.touch_time
        if not run.options.force_loop:
            run.advance(step.dt, end)
            run.follow()
            return RunPhase.SQUEEZE if run.plan_time >= end - 1e-9 else None
        self._touch(step)
        if run.plan_time < end:
            before = run.planned()
            run.advance(step.dt, end, min(1.0, guard.rate(run.plan_time)))
            # A finger that waits takes back what the plan adds.
            run.offset[self._waiting] -= (run.planned() - before)[self._waiting]
        elif not run.touched.all():
            going = ~self._waiting & run.loop.hand
            run.offset[going] += guard.search_rate[going] * step.dt
            guard.searched += guard.search_speed * step.dt
        run.follow()
        ready = run.touched | self._optional
        if run.plan_time >= end - 1e-9 and ready.all():
            return RunPhase.SQUEEZE
        if guard.searched > run.options.search:
            missing = ", ".join(f"'{run.timeline.names[i]}'" for i in np.flatnonzero(~ready))
            text = f"{missing} measured nothing up to {1e3 * run.options.search:.0f} mm beyond the planned touch"
            return RunFault(Fault.NO_CONTACT, text)
        return None

    def _touch(self, step: ControlStep) -> None:
        """Which contacts have touched, and which joints wait for the others."""
        run = self.run
        forces = measured_forces(step.estimate.measured)
        new = (forces >= run.options.touch) & ~run.touched
        for i in np.flatnonzero(new):
            off = run.plan_time - run.timeline.touch_time
            text = f"'{run.timeline.names[i]}' with {forces[i]:.2f} N, {off:+.2f} s from plan"
            run.note(step.sample.time, "touch", text)
        run.touched = run.touched | new
        # A joint waits when all contacts that it moves have touched, or one of them is pressed too hard.
        sensed = run.tracker.sensed[:, None] & self._moves
        waiting = np.where(sensed, run.touched[:, None], True).all(axis=0) & sensed.any(axis=0)
        pressed = (sensed & (forces > run.options.touch_load)[:, None]).any(axis=0)
        shared = sensed.sum(axis=0) > 1
        self._waiting = waiting | (pressed & ~shared)
