"""How a run ends: the hand opens, gives way where a force is too large, or stands.   (theory 9)"""

from __future__ import annotations

import numpy as np

from pliant.control.events import RunPhase
from pliant.control.force_loop import contact_kinematics
from pliant.control.grip import ControlStep
from pliant.control.phases.context import SAFE_TIME, PhaseStrategy, RunContext
from pliant.tactile import measured_forces

OPENING = 1.0  # of the planned path per second, when the hand opens [1/s]
SLOWEST = 0.04  # it opens no slower than this [rad/s, m/s]
EASED = 0.8  # of the permitted force


class StandPhase(PhaseStrategy):
    """The last command stands."""

    finished = True

    def step(self, step: ControlStep) -> None:
        return None


class DonePhase(StandPhase):
    """The last command stands; a grip by torques goes on where nobody knows what positions press as strongly."""

    def step(self, step: ControlStep) -> None:
        if self.run.grip.torques is not None:
            self.run.turn(step)
            self.run.follow()


class OpenPhase(PhaseStrategy):
    """The arm stands, the hand opens as at the pre-grasp and stays open."""

    def step(self, step: ControlStep) -> None:
        self.finished = open_hand(self.run, step)


class ReleasePhase(PhaseStrategy):
    """The object is let go at the end of the operation."""

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.time_limit = self.planned_limit(None, SAFE_TIME)

    def step(self, step: ControlStep) -> RunPhase | None:
        return RunPhase.DONE if open_hand(self.run, step) else None


def open_hand(run: RunContext, step: ControlStep) -> bool:
    """Command the next piece of the path to the open hand; whether it is open, or has had its time."""
    timeline, hand = run.timeline, run.loop.hand
    goal = run.command.copy()
    goal[hand] = timeline.q_pregrasp[hand]
    path = np.abs(timeline.q_pregrasp - timeline.q_touch)[hand].max(initial=0.0)
    reach = max(OPENING * path, SLOWEST) * step.dt
    run.command = run.command + np.clip(goal - run.command, -reach, reach)
    return bool(np.abs(goal - run.command).max() < 1e-6) or step.elapsed > SAFE_TIME


class EasePhase(PhaseStrategy):
    """The arm stands, the fingers give way where a force is above ``EASED`` of what is permitted."""

    def step(self, step: ControlStep) -> None:
        self.finished = self._ease(step) or step.elapsed > SAFE_TIME

    def _ease(self, step: ControlStep) -> bool:
        """Give way; whether no force is too large."""
        run, loop, joints = self.run, self.run.loop, step.sample.joints
        over = measured_forces(step.estimate.measured) > EASED * run.timeline.max_force
        if not over.any() or joints is None or not np.isfinite(joints.positions).all():
            return not over.any()
        q = np.asarray(joints.positions)
        now = contact_kinematics(run.assembly, run.timeline.links, q, step.estimate.places, step.moment.axes)
        # As fast as the loop may move a contact; the error that asks for just that.
        back = np.where(over, -run.options.step / run.options.gain, 0.0) * loop.series_stiffness(now)
        run.command = run.command + loop.correct(back, now, loop.hand, step.dt)
        return False
