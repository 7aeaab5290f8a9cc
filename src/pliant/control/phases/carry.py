"""Gripping and carrying: squeeze until the forces are right, lift and move with them, hold.   (theory 9)"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.control.events import Fault, RunFault, RunPhase
from pliant.control.grip import ControlStep
from pliant.control.phases.context import PhaseStrategy, RunContext
from pliant.control.phases.slip import react_to_slip
from pliant.planner import Phase
from pliant.tactile import measured_forces

CALM = 0.15  # forces off by less than this are right [N]
WEAK = 3.0  # times what counts as right: no grip


class SqueezePhase(PhaseStrategy):
    """Follow the plan from touch to grasp, and wait until the forces are as wanted."""

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.time_limit = self.planned_limit(Phase.SQUEEZE, run.options.settle)
        self._settling_since: float | None = None

    def enter(self) -> None:
        run = self.run
        run.grip.start_from(run.offset)
        if not run.options.force_loop:
            run.touched = ~run.tracker.sensed

    def step(self, step: ControlStep) -> RunPhase | RunFault | None:
        run, options, now = self.run, self.run.options, step.sample.time
        end = run.timeline.grasp_time
        run.turn(step)
        run.advance(step.dt, end)
        run.follow()
        if run.plan_time < end - 1e-9:
            return None
        if not options.force_loop:
            run.touched |= measured_forces(step.estimate.forces) > options.touch
            return self._follower() if run.grip.ready else None
        assert run.grip.contacts is not None
        error = run.loop.internal(run.grip.errors(run.wanted(), step.estimate), run.grip.contacts)
        wanted = run.loop.wanted
        allowed = np.maximum(options.tolerance * wanted, CALM)
        if run.grip.ready and (np.abs(error) <= allowed)[run.tracker.sensed].all():
            return self._follower()
        if self._settling_since is None:
            self._settling_since = now
        if now - self._settling_since <= options.settle:
            return None
        if (error > WEAK * allowed).any():
            i = int(np.argmax(error / wanted))
            text = f"{step.estimate.forces[i]:.2f} N on '{run.timeline.names[i]}', wanted {wanted[i]:.2f} N"
            return RunFault(Fault.NO_GRIP, text)
        run.note(now, "note", "forces have not quite settled; going on")
        return self._follower()

    def _follower(self) -> RunPhase:
        spans = self.run.timeline.spans
        if Phase.LIFT in spans:
            return RunPhase.LIFT
        return RunPhase.MOVE if Phase.MOVE in spans else RunPhase.HOLD


class CarryPhase(PhaseStrategy):
    """Follow the plan with the object in the hand; one that slides goes no farther.

    Args:
        phase: of the plan.
        until: when to end [s]; at the phase's end if left out.
        follower: what comes then.
        wanted: normal forces meanwhile [N]; the run's own if left out.
    """

    def __init__(
        self,
        run: RunContext,
        phase: Phase,
        follower: RunPhase,
        *,
        until: float = np.inf,
        wanted: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(run)
        self.time_limit = self.planned_limit(phase)
        self._end, self._follower = min(run.timeline.span(phase)[1], until), follower
        self._wanted = wanted

    def step(self, step: ControlStep) -> RunPhase | None:
        run = self.run
        run.turn(step, self._wanted)
        if react_to_slip(run, step):
            return RunPhase.HOLD
        run.advance(step.dt, self._end)
        run.follow()
        return self._follower if run.plan_time >= self._end - 1e-9 else None


class HoldPhase(PhaseStrategy):
    """Stand still with the object in the hand."""

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.time_limit = self.planned_limit(None, run.options.hold)

    def step(self, step: ControlStep) -> RunPhase | RunFault | None:
        run = self.run
        run.turn(step)
        react_to_slip(run, step)
        run.follow()
        if step.elapsed < run.options.hold:
            return None
        if run.slid > 0.0:  # gripped harder by now; but where it was to go, it is not
            return RunFault(Fault.SLID, f"{1e3 * run.slid:.1f} mm along its load in the hand")
        return RunPhase.RELEASE if run.options.release else RunPhase.DONE
