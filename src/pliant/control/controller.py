"""The controller: one step from a sample to a command, through the phases of an operation.   (theory 9)

`step` knows no clock but the sample's. Time along the plan is the controller's own: it runs as planned, slows down
near the touch, and waits where forces have to settle. Commands are the planned joints plus what the force loop and the
search for the object have added.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Floats
from pliant.control.driver import Sample
from pliant.control.force_loop import ContactKinematics, ForceLoop, contact_kinematics
from pliant.control.guarded_closing import GuardedClosing
from pliant.control.options import ControlOptions
from pliant.control.phase_limits import SAFE_TIME, time_limit
from pliant.control.phases import REACTIONS, Event, Fault, Reaction, RunPhase
from pliant.control.run_log import PHASES, RunLog, RunRecorder
from pliant.control.safe_ends import eased, opened
from pliant.control.sample_check import SoundSamples
from pliant.control.watch import FEELS, GRIPS, Watch
from pliant.errors import OptionError
from pliant.planner import ContactTimeline, Phase, PlannedForces, PlannedGrasp, force_share
from pliant.robot import Assembly
from pliant.tactile import ContactEstimate, ContactTracker, SlipSense, TactileProcessor, felt_forces

LONGEST_STEP = 0.1  # a late sample does not make the plan jump [s]
NEEDED = 0.1  # planned force from which on a contact must be felt [N]
KEPT_UP = 0.1  # how long a correction goes on without news [s]


@dataclass(frozen=True, eq=False)
class Command:
    """What the joints shall do until the next step.

    Attributes:
        positions: [rad, m].
        phase: in which it was decided.
        finished: whether the run is over; the command stands.
    """

    positions: Floats
    phase: RunPhase
    finished: bool


class GraspController:
    """Carries out one planned grasp.

    Args:
        grasp: what to do.
        assembly: the robot.
        processor: calibration of the pads; the hand's arrays with standard pads if left out.
        options: limits, times, gains.
        start: RunPhase.APPROACH, or RunPhase.CLOSE where the open hand stands at the pre-grasp already.
    """

    def __init__(
        self,
        grasp: PlannedGrasp,
        assembly: Assembly,
        *,
        processor: TactileProcessor | None = None,
        options: ControlOptions | None = None,
        start: RunPhase = RunPhase.APPROACH,
    ) -> None:
        if assembly.hand is None:
            raise OptionError("control", "an arm without a hand grasps nothing")
        if start not in (RunPhase.APPROACH, RunPhase.CLOSE):
            raise OptionError("control", f"start in phase '{start}'; allowed: approach, close")
        self.options = options or ControlOptions()
        self.assembly, self.robot = assembly, assembly.robot
        self.timeline = ContactTimeline(grasp, self.robot)
        self.processor = processor or TactileProcessor.for_hand(assembly.hand)
        self.processor.warm_up()
        self.tracker = ContactTracker(self.timeline, self.processor, self.options.tracking)
        self.loop = ForceLoop(self.timeline, assembly, self.options)
        self.watch = Watch(assembly, self.tracker, self.options)
        self.recorder = RunRecorder(self.robot.joint_names, self.timeline.names)
        self._grasp_forces = self.timeline.forces_at(self.timeline.grasp_time).forces[:, 2]
        self._torque_times = [state.time for state in grasp.states]
        self._torques = [state.torques for state in grasp.states]
        self.phase: RunPhase = start if Phase.APPROACH in self.timeline.spans else RunPhase.CLOSE
        self._plan_time = 0.0 if self.phase is RunPhase.APPROACH else self.timeline.span(Phase.CLOSE)[0]
        self._offset = np.zeros(self.robot.dof)
        self._command = self.timeline.trajectory.at(self._plan_time)
        self._last_command = self._command
        self._commanded = False
        self._began: float | None = None
        self._time: float | None = None
        self._settled: float | None = None
        self._touched = ~self.tracker.sensed
        self._frozen = np.zeros(self.robot.dof, dtype=bool)
        self._moves = np.array([self.robot.joints_moving(link) for link in self.timeline.links]) & self.loop.hand
        self._guard = GuardedClosing(self.timeline, assembly, self.loop, self.options)
        self._estimate: ContactEstimate | None = None
        self._now: ContactKinematics | None = None
        self._pushed = np.zeros(len(self.timeline.links))
        self._slip = SlipSense(self.tracker.sensed, self.options.touch)
        self._far = 0.0  # how far the object has slid, once it is too far [m]
        self._unwanted = False  # whether the wanted forces are older than the contacts
        self._due = False  # whether a frame waits for its answer
        self._rate = np.zeros(self.robot.dof)
        self._rated = -np.inf
        self._series = np.ones(len(self.timeline.links))
        shapes = {name: self.processor.layout(name).exists.shape for name in self.processor.arrays}
        self._sound = SoundSamples(self.robot.dof, shapes)
        self.finished = False
        self.reason = ""

    # -- one step ------------------------------------------------------------------------------------------------

    def step(self, sample: Sample) -> Command:
        """The command for this sample. Never raises for what a driver may send; always finite."""
        sample = self._sound(sample)
        before = self._time if self._time is not None else sample.time
        dt = min(max(sample.time - before, 0.0), LONGEST_STEP) if math.isfinite(sample.time) else 0.0
        if math.isfinite(sample.time):
            self._time = max(sample.time, before)
        if self._began is None:
            self._enter(self.phase, sample.time)
        planned_at = self._plan_time
        moment = self.timeline.forces_at(planned_at)
        self._estimate = self.tracker.update(sample.time, sample.frames, moment, self._pushed)
        for name in self._estimate.spikes:
            self._note(sample.time, "spike", f"a frame of '{name}' was left out")
        needed = np.where(self._touched & (moment.forces[:, 2] > NEEDED), 1.0, 0.0)
        if not self.phase.safe and self.phase is not RunPhase.DONE:
            previous = self._command if self._commanded else None
            fault = self.watch.look(sample, self._estimate, self.phase, previous, needed)
            if fault is not None:
                self._abort(*fault, sample.time)
        if not self.finished or self.phase in (RunPhase.OPENED, RunPhase.EASED):
            self._advance(sample, dt, moment)
        if not np.isfinite(self._command).all():
            self._abort(Fault.NOT_FINITE, "the command", sample.time)
            self._command = self._last_command
        self._last_command = self._command
        self._commanded = True
        self._record(sample, moment, planned_at)
        return Command(self._command.copy(), self.phase, self.finished)

    def _advance(self, sample: Sample, dt: float, moment: PlannedForces) -> None:
        now = sample.time
        match self.phase:
            case RunPhase.APPROACH:
                self._play(dt, self.timeline.span(Phase.APPROACH)[1], now, RunPhase.CLOSE)
            case RunPhase.CLOSE:
                self._close(sample, dt)
            case RunPhase.SQUEEZE:
                self._squeeze(sample, dt, moment)
            case RunPhase.LIFT:
                self._hold_on(sample, dt, moment)
                follower = RunPhase.MOVE if Phase.MOVE in self.timeline.spans else RunPhase.HOLD
                self._play_on(RunPhase.LIFT, dt, self.timeline.span(Phase.LIFT)[1], now, follower)
            case RunPhase.MOVE:
                self._hold_on(sample, dt, moment)
                self._play_on(RunPhase.MOVE, dt, self.timeline.span(Phase.MOVE)[1], now, RunPhase.HOLD)
            case RunPhase.HOLD:
                self._hold_on(sample, dt, moment)
                self._command = self._planned() + self._offset
                if self._elapsed(now) >= self.options.hold:
                    if self._far > 0.0:  # gripped harder by now; but where it was to go, it is not
                        self._abort(Fault.SLID, f"{1e3 * self._far:.1f} mm along its load in the hand", now)
                        return
                    self._enter(RunPhase.RELEASE if self.options.release else RunPhase.DONE, now)
            case RunPhase.RELEASE:
                if self._opened(dt) or self._elapsed(now) > SAFE_TIME:
                    self._enter(RunPhase.DONE, now)
            case RunPhase.OPENED:
                self.finished = self._opened(dt) or self._elapsed(now) > SAFE_TIME
            case RunPhase.EASED:
                self.finished = self._eased(sample, dt) or self._elapsed(now) > SAFE_TIME
            case _:
                pass
        if not self.phase.safe and self.phase is not RunPhase.DONE:
            late = self._elapsed(now) - self._limit
            if late > 0:
                self._abort(Fault.TIME, f"'{self.phase}' has lasted {self._elapsed(now):.2f} s", now)

    # -- phases --------------------------------------------------------------------------------------------------

    def _play(self, dt: float, until: float, now: float, follower: RunPhase) -> None:
        """Follow the plan to the end of the phase."""
        self._plan_time = min(self._plan_time + self.options.speed * dt, until)
        self._command = self._planned() + self._offset
        if self._plan_time >= until - 1e-9:
            self._enter(follower, now)

    def _play_on(self, phase: RunPhase, dt: float, until: float, now: float, follower: RunPhase) -> None:
        """Follow the plan unless the force loop has just ended the phase."""
        if self.phase is phase:
            self._play(dt, until, now, follower)

    def _close(self, sample: Sample, dt: float) -> None:
        """Close until every planned contact is felt. A finger that touches waits; one that does not goes on."""
        end = self.timeline.touch_time
        if not self.options.force_loop:
            self._play(dt, end, sample.time, RunPhase.SQUEEZE)
            return
        self._feel(sample.time)
        before = self._planned()
        if self._plan_time < end:
            rate = self.options.speed * min(1.0, self._guard.rate(self._plan_time))
            self._plan_time = min(self._plan_time + rate * dt, end)
            # A finger that waits takes back what the plan adds.
            self._offset[self._frozen] -= (self._planned() - before)[self._frozen]
        elif not self._touched.all():
            going = ~self._frozen & self.loop.hand
            self._offset[going] += self._guard.search_rate[going] * dt
            self._guard.searched += self._guard.search_speed * dt
        self._command = self._planned() + self._offset
        needed = self._grasp_forces
        ready = self._touched | (needed <= NEEDED)
        if self._plan_time >= end - 1e-9 and ready.all():
            self._enter(RunPhase.SQUEEZE, sample.time)
        elif self._guard.searched > self.options.search:
            missing = ", ".join(f"'{self.timeline.names[i]}'" for i in np.flatnonzero(~ready))
            text = f"{missing} felt nothing up to {1e3 * self.options.search:.0f} mm beyond the planned touch"
            self._abort(Fault.NO_CONTACT, text, sample.time)

    def _feel(self, now: float) -> None:
        assert self._estimate is not None
        felt = felt_forces(self._estimate.measured)
        new = (felt >= self.options.touch) & ~self._touched
        for i in np.flatnonzero(new):
            off = self._plan_time - self.timeline.touch_time
            self._note(now, "touch", f"'{self.timeline.names[i]}' with {felt[i]:.2f} N, {off:+.2f} s from plan")
        self._touched = self._touched | new
        # A joint waits when all contacts that it moves have touched, or one of them is pressed too hard.
        sensed = self.tracker.sensed[:, None] & self._moves
        waiting = np.where(sensed, self._touched[:, None], True).all(axis=0) & sensed.any(axis=0)
        pressed = (sensed & (felt > self.options.touch_load)[:, None]).any(axis=0)
        shared = sensed.sum(axis=0) > 1
        self._frozen = waiting | (pressed & ~shared)

    def _squeeze(self, sample: Sample, dt: float, moment: PlannedForces) -> None:
        end = self.timeline.grasp_time
        self._hold_on(sample, dt, moment)
        self._plan_time = min(self._plan_time + self.options.speed * dt, end)
        self._command = self._planned() + self._offset
        if self._plan_time < end - 1e-9:
            return
        if not self.options.force_loop:
            self._touched |= felt_forces(self._estimate_forces()) > self.options.touch
            self._enter(self._after_squeeze, sample.time)
            return
        assert self._now is not None
        error = self.loop.internal(self._errors(moment), self._now)
        wanted = self.loop.wanted
        calm = np.abs(error) <= np.maximum(self.options.tolerance * wanted, 0.15)
        if calm[self.tracker.sensed].all():
            self._enter(self._after_squeeze, sample.time)
            return
        if self._settled is None:
            self._settled = sample.time
        if sample.time - self._settled > self.options.settle:
            weak = error > 3 * np.maximum(self.options.tolerance * wanted, 0.15)
            if weak.any():
                i = int(np.argmax(error / wanted))
                text = f"{self._estimate_forces()[i]:.2f} N on '{self.timeline.names[i]}', wanted {wanted[i]:.2f} N"
                self._abort(Fault.NO_GRIP, text, sample.time)
            else:
                self._note(sample.time, "note", "forces have not quite settled; going on")
                self._enter(self._after_squeeze, sample.time)

    @property
    def _after_squeeze(self) -> RunPhase:
        spans = self.timeline.spans
        if Phase.LIFT in spans:
            return RunPhase.LIFT
        return RunPhase.MOVE if Phase.MOVE in spans else RunPhase.HOLD

    def _hold_on(self, sample: Sample, dt: float, moment: PlannedForces) -> None:
        """One turn of the force loop: its correction is added to the trajectory."""
        if not self.options.force_loop or sample.joints is None:
            return
        assert self._estimate is not None
        # Forces are news only when a frame comes. It is understood in one step, answered in the next, and what shall
        # be wanted from then on is found in the one after, so that none takes long; in between the answer is kept up,
        # but not for longer than frames may take.
        first = self._now is None
        due, self._due = self._due or first, self._estimate.fresh
        if self._now is not None and self._unwanted:
            self.loop.want(self._now, moment)
            self._unwanted = False
        if due:
            q = np.asarray(sample.joints.positions)
            self._now = contact_kinematics(self.assembly, self.timeline.links, q, self._estimate.places, moment.axes)
            self._unwanted = not first
            if first:
                self.loop.want(self._now, moment)
            self._series = self.loop.series_stiffness(self._now)
            self._rate = self.loop.correct(self._errors(moment), self._now, self.loop.hand, 1.0, self._series)
            self._rated = sample.time
        if self.phase.carries:
            self._feel_slip(sample.time, moment)
        if sample.time - self._rated > KEPT_UP:
            return
        assert self._now is not None
        offset = self._offset + self._rate * dt
        push = self._now.jacobian[:, 2, :] @ (offset - self._found)
        if np.abs(push).max(initial=0.0) <= self.options.reach:
            self._offset = offset
            self._pushed = push * self._series
        planned = self._planned()
        self._offset = np.minimum(np.maximum(self._offset, self.robot.lower - planned), self.robot.upper - planned)

    def _feel_slip(self, now: float, moment: PlannedForces) -> None:
        """A contact that wanders beyond the plan is gripped harder, at once; an object that slides goes no farther."""
        assert self._estimate is not None
        slip = self._slip.look(self._estimate, moment, None if self._now is None else self._now.axes)
        if slip is None:
            return
        beyond = max(slip.together - self.options.slip, slip.alone - self.options.roll)
        if self.loop.tighten(beyond):
            text = f"contacts have wandered {1e3 * slip.together:.1f} mm together, {1e3 * slip.alone:.1f} mm alone"
            self._note(now, "slip", f"{text}: grip {self.loop.grip:.2f} times as strong")
        if slip.slid > max(self._far, self.options.watch.slid):
            if self._far == 0.0 and self.phase is not RunPhase.HOLD:
                self._note(now, "slip", f"the object has slid {1e3 * slip.slid:.1f} mm along its load: the arm stops")
                self._enter(RunPhase.HOLD, now)
            self._far = slip.slid

    def _errors(self, moment: PlannedForces) -> Floats:
        """Wanted minus felt, the wanted force growing with the squeeze; 0 where nothing looks."""
        share = self.timeline.depth_share(self._plan_time)
        wanted = np.maximum(share * self.loop.wanted, np.minimum(self.loop.wanted, self.options.touch_load))
        return np.where(self.tracker.sensed, wanted - self._estimate_forces(), 0.0)

    def _estimate_forces(self) -> Floats:
        assert self._estimate is not None
        return self._estimate.forces

    def _opened(self, dt: float) -> bool:
        self._command, open_now = opened(self._command, self.timeline, self.loop.hand, dt)
        return open_now

    def _eased(self, sample: Sample, dt: float) -> bool:
        assert self._estimate is not None
        moment = self.timeline.forces_at(self._plan_time)
        self._command, enough = eased(self._command, sample, self._estimate, moment, self.loop, dt)
        return enough

    # -- changes of phase ----------------------------------------------------------------------------------------

    def _planned(self) -> Floats:
        return self.timeline.joints(self._plan_time)

    def _elapsed(self, now: float) -> float:
        return now - self._began if self._began is not None and math.isfinite(now) else 0.0

    def _enter(self, phase: RunPhase, now: float) -> None:
        self.phase, self._began = phase, now if np.isfinite(now) else 0.0
        self._limit = self._time_limit(phase)
        self._note(now, "phase", str(phase))
        if phase is RunPhase.SQUEEZE:
            self._found = self._offset.copy()
            if not self.options.force_loop:
                self._touched = ~self.tracker.sensed
        self.finished = self.finished or phase in (RunPhase.DONE, RunPhase.STOPPED)

    _found: Floats
    _limit: float = np.inf

    def _time_limit(self, phase: RunPhase) -> float:
        """How long a phase may last [s]; a phase that lasts longer is aborted."""
        return time_limit(phase, self.timeline, self.options, self._guard.longest)

    def _abort(self, fault: Fault, detail: str, now: float) -> None:
        if self.phase.safe:
            return
        reaction = REACTIONS[fault, self.phase]
        self.reason = f"{fault}: {detail}" if detail else str(fault)
        self._note(now, "abort", self.reason)
        self._note(now, "note", f"reaction: {reaction}")
        ends = {Reaction.STOP: RunPhase.STOPPED, Reaction.OPEN: RunPhase.OPENED, Reaction.EASE: RunPhase.EASED}
        self._enter(ends[reaction], now)

    def _note(self, now: float, kind: str, text: str) -> None:
        self.recorder.event(Event(float(now), self.phase, kind, text))

    # -- log -----------------------------------------------------------------------------------------------------

    def _record(self, sample: Sample, moment: PlannedForces, planned_at: float) -> None:
        """What was measured beside what was planned for that time; phase, wanted forces and command follow from it."""
        estimate = self._estimate
        assert estimate is not None
        joints = sample.joints
        gripping = self.phase in FEELS
        self.recorder.append(
            {
                "time": sample.time,
                "plan_time": planned_at,
                "phase": PHASES.index(self.phase),
                "q_planned": moment.q,
                "q_measured": joints.positions if joints is not None else None,
                "q_commanded": self._command,
                "torque_planned": self._planned_torques(planned_at) if self.phase in GRIPS else None,
                "torque_measured": joints.torques if joints is not None else None,
                "force_planned": moment.forces[:, 2] if gripping else None,
                "force_measured": estimate.measured,
                "force_filtered": estimate.forces if gripping else None,
                "force_wanted": self.loop.wanted if gripping else None,
                "point_planned": moment.points,
                "point_measured": estimate.points,
                "point_filtered": estimate.places if gripping else None,
            }
        )
        for frame in sample.frames.values():
            self.recorder.frame(frame)

    def _planned_torques(self, time: float) -> Floats:
        i = min(bisect_left(self._torque_times, time), len(self._torques) - 1)
        scale = force_share(self.timeline.depth_share(time))
        return np.asarray(scale * self._torques[i])

    @property
    def log(self) -> RunLog:
        """What has happened so far."""
        from dataclasses import asdict

        facts = {"options": asdict(self.options), "end": str(self.phase), "reason": self.reason}
        return self.recorder.log(facts | {"pad_sensor": asdict(self.processor.sensor)})
