"""The controller: one step from a sample to a command, through the phases of an operation.   (theory 9)

`step` knows no clock but the sample's. Time along the plan is the controller's own: it runs as planned, slows down
near the touch, and waits where forces have to settle. Commands are the planned joints plus what the force loop and the
search for the object have added.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np

from pliant.arrays import Bools, Floats
from pliant.control.driver import Sample
from pliant.control.events import REACTIONS, Fault, RunFault, RunPhase
from pliant.control.grip import ControlStep
from pliant.control.options import ControlOptions
from pliant.control.phases.carry import CarryPhase, HoldPhase, SqueezePhase
from pliant.control.phases.close import ClosePhase
from pliant.control.phases.context import NEEDED, ApproachPhase, PhaseStrategy, RunContext
from pliant.control.phases.ends import DonePhase, EasePhase, OpenPhase, ReleasePhase, StandPhase
from pliant.control.run_log import PHASES, RunLog
from pliant.control.watch import SoundSamples, Watch
from pliant.errors import OptionError
from pliant.planner import Phase, PlannedGrasp, force_share
from pliant.robot import Assembly
from pliant.tactile import TactileProcessor

LONGEST_STEP = 0.1  # a late sample does not make the plan jump [s]


@dataclass(frozen=True, eq=False)
class Command:
    """What the joints shall do until the next step.

    Attributes:
        positions: [rad, m].
        phase: in which it was decided.
        finished: whether the run is over; the command stands.
        torques: what ``torque_joints`` shall apply instead of going to their positions [N m, N]; None: none of them.
        torque_joints: which they are.
    """

    positions: Floats
    phase: RunPhase
    finished: bool
    torques: Floats | None = None
    torque_joints: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))


def operation_phases(run: RunContext) -> dict[RunPhase, PhaseStrategy]:
    """What is done in each phase when a plan is carried out."""
    moves = Phase.MOVE in run.timeline.spans
    return {
        RunPhase.APPROACH: ApproachPhase(run),
        RunPhase.CLOSE: ClosePhase(run),
        RunPhase.SQUEEZE: SqueezePhase(run),
        RunPhase.LIFT: CarryPhase(run, Phase.LIFT, RunPhase.MOVE if moves else RunPhase.HOLD),
        RunPhase.MOVE: CarryPhase(run, Phase.MOVE, RunPhase.HOLD),
        RunPhase.HOLD: HoldPhase(run),
        RunPhase.RELEASE: ReleasePhase(run),
        RunPhase.DONE: DonePhase(run),
        RunPhase.STOPPED: StandPhase(run),
        RunPhase.OPENED: OpenPhase(run),
        RunPhase.EASED: EasePhase(run),
    }


class GraspController:
    """Carries out one planned grasp: a state machine over the phases of a run.

    Args:
        grasp: what to do.
        assembly: the robot.
        processor: calibration of the pads; the hand's arrays with standard pads if left out.
        options: limits, times, gains.
        start: RunPhase.APPROACH, or RunPhase.CLOSE where the hand stands at the end of the approach already.
        phases: makes the strategies of all phases; those of an operation if left out.

    Attributes:
        run: what the phases share.
        failure: why the run was aborted; None if it was not.
    """

    def __init__(
        self,
        grasp: PlannedGrasp,
        assembly: Assembly,
        *,
        processor: TactileProcessor | None = None,
        options: ControlOptions | None = None,
        start: RunPhase = RunPhase.APPROACH,
        phases: Callable[[RunContext], dict[RunPhase, PhaseStrategy]] = operation_phases,
    ) -> None:
        if assembly.hand is None:
            raise OptionError("control", "an arm without a hand grasps nothing")
        if start not in (RunPhase.APPROACH, RunPhase.CLOSE):
            raise OptionError("control", f"start in phase '{start}'; allowed: approach, close")
        processor = processor or TactileProcessor.for_hand(assembly.hand)
        processor.warm_up()
        self.run = RunContext(grasp, assembly, processor, options or ControlOptions())
        self.run.begin(start)
        self.watch = Watch(assembly, self.run.tracker, self.options)
        self.failure: RunFault | None = None
        self._grasp = grasp
        self._phases = phases(self.run)
        shapes = {name: processor.layout(name).exists.shape for name in processor.arrays}
        self._sound = SoundSamples(assembly.robot.dof, shapes)
        self._time: float | None = None
        self._began: float | None = None
        self._last_command = self.run.command
        self._commanded = False
        self._last_standing = self.run.command

    @property
    def options(self) -> ControlOptions:
        """Limits, times, gains."""
        return self.run.options

    @property
    def phase(self) -> RunPhase:
        """What the controller is doing."""
        return self.run.phase

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return self._phases[self.phase].finished

    @property
    def reason(self) -> str:
        """Why the run was aborted; empty if it was not."""
        return self.failure.reason if self.failure is not None else ""

    def step(self, sample: Sample) -> Command:
        """The command for this sample. Never raises for what a driver may send; always finite."""
        run = self.run
        sample = self._sound(sample)
        before = self._time if self._time is not None else sample.time
        dt = min(max(sample.time - before, 0.0), LONGEST_STEP) if math.isfinite(sample.time) else 0.0
        if math.isfinite(sample.time):
            self._time = max(sample.time, before)
        if self._began is None:
            self._enter(self.phase, sample.time)
        planned_at = run.plan_time
        moment = run.timeline.forces_at(planned_at)
        estimate = run.tracker.update(sample.time, sample.frames, moment, run.grip.pushed)
        for name in estimate.spikes:
            run.note(sample.time, "spike", f"a frame of '{name}' was left out")
        if not self.phase.safe and self.phase is not RunPhase.DONE:
            needed = np.where(run.touched & (moment.forces[:, 2] > NEEDED), 1.0, 0.0)
            previous = self._last_command if self._commanded else None
            failure = self.watch.check(sample, estimate, self.phase, previous, needed)
            if failure is not None:
                self._abort(failure, sample.time)
        step = ControlStep(sample, dt, self.elapsed(sample.time), moment, estimate)
        self._advance(step)
        if run.grip.torques is not None and not np.isfinite(run.grip.torques).all():
            run.grip.standing = self._last_standing
            self._abort(RunFault(Fault.NOT_FINITE, "the torques"), sample.time)
        self._last_standing = run.command if run.grip.torques is None else run.grip.standing
        if not np.isfinite(run.command).all():
            self._abort(RunFault(Fault.NOT_FINITE, "the command"), sample.time)
            run.command = self._last_command
        self._last_command, self._commanded = run.command, True
        self._record(step, planned_at)
        grip, torques = run.grip, run.grip.torques
        torques = torques.copy() if torques is not None else None
        return Command(run.command.copy(), self.phase, self.finished, torques, grip.torque_joints)

    def elapsed(self, now: float) -> float:
        """How long the phase has lasted [s]."""
        return now - self._began if self._began is not None and math.isfinite(now) else 0.0

    def _advance(self, step: ControlStep) -> None:
        """Let the phase act, and go on to what follows from it."""
        strategy, now = self._phases[self.phase], step.sample.time
        follows = strategy.step(step)
        if isinstance(follows, RunPhase):
            self._enter(follows, now)
        elif follows is not None:
            self._abort(follows, now)
        elif step.elapsed > strategy.time_limit:
            self._abort(RunFault(Fault.TIME, f"'{self.phase}' has lasted {step.elapsed:.2f} s"), now)

    def _enter(self, phase: RunPhase, now: float) -> None:
        self.run.phase, self._began = phase, now if np.isfinite(now) else 0.0
        self.run.note(now, "phase", str(phase))
        if not phase.grips and not (phase is RunPhase.DONE and self.run.grip.stays):
            self.run.leave_torques()
        self._phases[phase].enter()

    def _abort(self, failure: RunFault, now: float) -> None:
        if self.phase.safe:
            return
        reaction = REACTIONS[failure.fault, self.phase]
        self.failure = failure
        self.run.note(now, "abort", failure.reason)
        self.run.note(now, "note", f"reaction: {reaction}")
        self._enter(reaction.end, now)

    def _record(self, step: ControlStep, planned_at: float) -> None:
        """What was measured beside what was planned for that time; phase, wanted forces and command follow from it."""
        run, moment, estimate, joints = self.run, step.moment, step.estimate, step.sample.joints
        senses = self.phase.senses
        run.recorder.append(
            {
                "time": step.sample.time,
                "plan_time": planned_at,
                "phase": PHASES.index(self.phase),
                "q_planned": moment.q,
                "q_measured": joints.positions if joints is not None else None,
                "q_commanded": run.command,
                "torque_planned": self._planned_torques(planned_at) if self.phase.grips else None,
                "torque_commanded": self._commanded_torques(),
                "torque_measured": joints.torques if joints is not None else None,
                "force_planned": moment.forces[:, 2] if senses else None,
                "force_measured": estimate.measured,
                "force_filtered": estimate.forces if senses else None,
                "force_wanted": run.loop.wanted if senses else None,
                "point_planned": moment.points,
                "point_measured": estimate.points,
                "point_filtered": estimate.places if senses else None,
            }
        )
        for frame in step.sample.frames.values():
            run.recorder.frame(frame)

    def _commanded_torques(self) -> Floats | None:
        grip = self.run.grip
        return None if grip.torques is None else np.where(grip.torque_joints, grip.torques, np.nan)

    def _planned_torques(self, time: float) -> Floats:
        states = self._grasp.states
        i = min(bisect_left(states, time, key=lambda state: state.time), len(states) - 1)
        return np.asarray(force_share(self.run.timeline.depth_share(time)) * states[i].torques)

    @property
    def log(self) -> RunLog:
        """What has happened so far."""
        facts = {"options": asdict(self.options), "end": str(self.phase), "reason": self.reason}
        facts["estimates"] = self.run.estimates.facts
        return self.run.recorder.log(facts | {"pad_sensor": asdict(self.run.processor.sensor)})
