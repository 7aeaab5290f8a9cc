"""Gripping and carrying: squeeze until the forces are right, lift and move with them, hold.   (theory 9)"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.arrays import Floats
from pliant.control.events import Fault, RunFault, RunPhase
from pliant.control.grip import ControlStep
from pliant.control.phases.context import PhaseStrategy, RunContext
from pliant.control.phases.slip import react_to_slip
from pliant.planner import Phase, force_share
from pliant.tactile import measured_forces

CALM = 0.15  # forces that lack less than this are right [N]
TOO_MUCH, GRAIN = 0.1, 0.05  # of the wanted force, and at least: more than that too much is not right [N]
SURE = 2.0  # times the force that counts as touched: a contact that stays
WEAK = 3.0  # times what counts as right: no grip


class SqueezePhase(PhaseStrategy):
    """Follow the plan from touch to grasp, and wait until the forces are as wanted.

    The plan presses deeper only where force is lacking: a finger that has touched early or hard, or an object that is
    stiffer than planned, has the force of that depth already, and pressed on it would have too much when it is lifted.
    """

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.time_limit = self.planned_limit(Phase.SQUEEZE, run.options.settle)
        self._settling_since: float | None = None
        self._touched_at: Floats | None = None
        self._planned = run.timeline.forces_at(run.timeline.grasp_time).forces[:, 2]

    def enter(self) -> None:
        run = self.run
        run.grip.start_from(run.offset)
        if not run.options.force_loop:
            run.touched = ~run.tracker.sensed

    def step(self, step: ControlStep) -> RunPhase | RunFault | None:
        run, options, now = self.run, self.run.options, step.sample.time
        end = run.timeline.grasp_time
        run.turn(step, lambda: self._wanted(step))
        self._learn(step)
        before = run.planned()
        run.advance(step.dt, end)
        if run.grip.contacts is not None and run.grip.torques is None and not self._lacks(step):
            run.offset = run.offset - np.where(run.loop.hand, run.planned() - before, 0.0)
        run.follow()
        if run.plan_time < end - 1e-9:
            return None
        if not options.force_loop:
            run.touched |= measured_forces(step.estimate.forces) > options.touch
            return self._follower() if run.grip.ready else None
        assert run.grip.contacts is not None
        wanted = self._grown()[0]
        error = run.loop.internal(run.grip.errors(wanted, step.estimate), run.grip.contacts)
        allowed = np.maximum(options.tolerance * wanted, CALM)
        right = (error <= allowed) & (error >= -np.maximum(TOO_MUCH * wanted, GRAIN))
        if run.grip.ready and right[run.tracker.sensed].all():
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

    def _grown(self) -> tuple[Floats, Floats]:
        """Normal forces of the grasp, and what they have grown to, from what is sure to be measured on [N]."""
        run = self.run
        full = np.minimum(np.maximum(run.loop.wanted, self._planned), np.maximum(run.loop.limits, 1e-3))
        share = force_share(run.timeline.depth_share(run.plan_time))
        return full, np.maximum(share * full, np.minimum(full, SURE * run.options.touch))

    def _wanted(self, step: ControlStep) -> Floats:
        """What has grown; a contact that has more already, and will need it, keeps it [N]."""
        full, grown = self._grown()
        return np.maximum(grown, np.minimum(step.estimate.forces, full))

    def _lacks(self, step: ControlStep) -> bool:
        """Whether the contacts press less than they shall by now."""
        run = self.run
        assert run.grip.contacts is not None
        error = run.loop.internal(run.grip.errors(self._grown()[1], step.estimate), run.grip.contacts)
        return bool(error.mean() >= 0.0)

    def _learn(self, step: ControlStep) -> None:
        """What this frame tells about the object's stiffness."""
        run, joints = self.run, step.sample.joints
        if not step.estimate.fresh or joints is None or run.grip.contacts is None:
            return
        q = np.asarray(joints.positions)
        self._touched_at = q if self._touched_at is None else self._touched_at
        way = run.grip.contacts.jacobian[:, 2, :] @ np.where(run.loop.hand, q - self._touched_at, 0.0)
        sensed = run.tracker.sensed
        run.estimates.squeezed(float(way[sensed].mean()), float(measured_forces(step.estimate.measured)[sensed].mean()))

    def _follower(self) -> RunPhase:
        run = self.run
        series = 1.0 / float((1.0 / run.loop.stiffness[:, 2]).mean())
        factor = run.estimates.learn_stiffness(float(self._planned.mean()), series)
        if factor is not None:
            run.loop.stiffness = factor * run.loop.stiffness
        spans = run.timeline.spans
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
