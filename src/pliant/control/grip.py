"""The grip on the object: the force loop, answered frame by frame and kept up in between.   (theory 9)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.control.driver import Sample
from pliant.control.force_loop import ContactKinematics, ForceLoop, contact_kinematics
from pliant.planner import PlannedForces
from pliant.tactile import ContactEstimate, ContactTracker, Slip, SlipSense

KEPT_UP = 0.1  # how long a correction goes on without a new frame [s]
BELIEVED = 3.0  # times the force that counts as touched: a centre of pressure is known from there on


@dataclass(frozen=True, eq=False)
class ControlStep:
    """One control step.

    Attributes:
        sample: what was measured.
        dt: time since the step before [s].
        elapsed: time since the phase began [s].
        moment: what the plan wants now.
        estimate: the contacts now.
    """

    sample: Sample
    dt: float
    elapsed: float
    moment: PlannedForces
    estimate: ContactEstimate


class Grip:
    """Turns of the force loop.

    Forces are news only when a frame comes. It is understood in one step, answered in the next, where it is also asked
    what shall be wanted from then on, and that is found in the one after, so that none takes long; in between the
    answer is kept up, but not for longer than frames may take.

    Attributes:
        contacts: at the last frame that was answered; None before the first.
        pushed: n, what the corrections commanded so far add to the planned forces [N].
        torques: what joints shall apply instead of going to positions [N m, N]; None: all go to positions.
        torque_joints: which joints those are.
        standing: positions at which the joints' servos would press just as strongly.
        stays: whether torques stay at the end, since the stiffness of some servo, and so ``standing``, is not known.
    """

    torques: Floats | None = None
    torque_joints: Bools = np.zeros(0, dtype=bool)
    standing: Floats = np.zeros(0)
    stays = False

    def __init__(self, loop: ForceLoop, tracker: ContactTracker) -> None:
        self.loop, self.tracker = loop, tracker
        n, dof = len(loop.timeline.links), loop.assembly.robot.dof
        self.contacts: ContactKinematics | None = None
        self.pushed = np.zeros(n)
        self._slip = SlipSense(tracker.sensed, BELIEVED * loop.options.touch)
        self._start = np.zeros(dof)
        self._answer_due = self._wanted_due = False
        self._rate, self._rated = np.zeros(dof), -np.inf
        self._owed = np.zeros(dof)
        self._series = np.ones(n)

    @property
    def ready(self) -> bool:
        """Whether the object can be lifted, as far as pads do not tell."""
        return True

    def start_from(self, offset: Floats) -> None:
        """The object is found with this offset of the joints: how far contacts are pushed counts from here."""
        self._start = offset.copy()

    def errors(self, wanted: Floats | float, estimate: ContactEstimate) -> Floats:
        """Wanted minus measured normal forces; 0 where no array measures [N]."""
        return np.where(self.tracker.sensed, wanted - estimate.forces, 0.0)

    def turn(self, step: ControlStep, planned: Floats, offset: Floats, wanted: Callable[[], Floats | float]) -> Floats:
        """The joints' offset from the plan after one turn.

        Args:
            planned: commands of the plan now.
            offset: of the commanded joints from them so far.
            wanted: normal forces [N], asked for once the loop has found what it wants itself.
        """
        sample, moment, estimate = step.sample, step.moment, step.estimate
        loop, options = self.loop, self.loop.options
        if not options.force_loop or sample.joints is None:
            return offset
        due, self._answer_due = self._answer_due or self.contacts is None, estimate.fresh
        if self._wanted_due:
            loop.take(moment)
            self._wanted_due = False
        if due:
            q = np.asarray(sample.joints.positions)
            self.contacts = contact_kinematics(loop.assembly, loop.timeline.links, q, estimate.places, moment.axes)
            loop.ask(self.contacts, moment)
            self._wanted_due = True
            self._series = loop.series_stiffness(self.contacts)
            coming = self.contacts.jacobian[:, 2, :] @ self._owed * self._series
            error = self.errors(wanted() - coming, estimate)
            self._rate = loop.correct(error, self.contacts, loop.hand, 1.0, self._series)
            self._rated = sample.time
        if sample.time - self._rated > KEPT_UP:
            return offset
        assert self.contacts is not None
        return self._moved(offset + self._rate * step.dt + self._installment(step.dt), offset, planned)

    def press(self, step: ControlStep, planned: Floats, offset: Floats, extra: Floats) -> Floats:
        """The joints' offset on the way to normal forces that are larger by ``extra`` [N]: as fast as contacts may move
        at all, where turns of the loop would take their time.
        """
        if self.contacts is None:
            return offset
        loop = self.loop
        self._owed = self._owed + loop.correct(extra, self.contacts, loop.hand, 1.0 / loop.options.gain, self._series)
        return self._moved(offset + self._installment(step.dt), offset, planned)

    def _installment(self, dt: float) -> Floats:
        """What is to be moved at once, as far as contacts may move in this time."""
        assert self.contacts is not None
        farthest = float(np.abs(self.contacts.jacobian[:, 2, :] @ self._owed).max(initial=0.0))
        if farthest == 0.0:
            return self._owed
        part = min(self.loop.options.step * dt / farthest, 1.0) * self._owed
        self._owed = self._owed - part
        return part

    def _moved(self, moved: Floats, offset: Floats, planned: Floats) -> Floats:
        """Where the offset may go: no contact beyond its reach, no joint beyond its range."""
        assert self.contacts is not None
        push = self.contacts.jacobian[:, 2, :] @ (moved - self._start)
        if np.abs(push).max(initial=0.0) <= self.loop.options.reach:
            offset, self.pushed = moved, push * self._series
        robot = self.loop.assembly.robot
        return np.minimum(np.maximum(offset, robot.lower - planned), robot.upper - planned)

    def slip(self, step: ControlStep) -> Slip | None:
        """How far the object has gone since it was gripped; None where no frame shows it."""
        if not self.loop.options.force_loop or step.sample.joints is None:
            return None
        axes = None if self.contacts is None else self.contacts.axes
        return self._slip.update(step.estimate, step.moment, axes)

    def forgive(self) -> None:
        """How far the object has gone so far is no slip any more."""
        self._slip.forgive()
