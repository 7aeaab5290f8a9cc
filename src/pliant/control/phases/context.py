"""What the phases of a run share, and what a phase is.   (theory 9)"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from pliant.arrays import Floats
from pliant.control.estimates import GripEstimates
from pliant.control.events import Event, RunFault, RunPhase
from pliant.control.force_loop import ForceLoop
from pliant.control.grip import ControlStep, Grip
from pliant.control.options import ControlOptions
from pliant.control.run_log import RunRecorder
from pliant.control.slip_reflex import SlipReflex
from pliant.planner import ContactTimeline, Phase, PlannedGrasp
from pliant.robot import Assembly
from pliant.tactile import ContactTracker, TactileProcessor

NEEDED = 0.1  # planned force from which on a contact must be measured [N]
NEARING = 0.4  # the last part of the approach [s]
FOLLOWING = 1.0 / 6.0  # of what counts as not following: how far joints may be behind there
WANDERS = 0.2  # of a patch's radius: how far its centre of pressure may move while nothing slips
SAFE_TIME = 3.0  # opening and easing end after so long, whatever happens [s]


class RunContext:
    """What the phases of a run share.

    Attributes:
        plan_time: how far the plan has been followed [s].
        offset: of the commanded joints from the plan's commands: what search and force loop have added.
        command: the joints' command.
        touched: n, contacts that have been measured, or that no array measures.
        slid: how far the object has slid in the hand, once that is too far [m].
        phase: the current one.
        estimates: what was learned of the object so far.
        reflex: the reaction to slip.
    """

    def __init__(
        self, grasp: PlannedGrasp, assembly: Assembly, processor: TactileProcessor, options: ControlOptions
    ) -> None:
        self.options, self.assembly, self.robot, self.processor = options, assembly, assembly.robot, processor
        self.timeline = ContactTimeline(grasp, self.robot)
        self.tracker = ContactTracker(self.timeline, processor, options.tracking)
        self.loop = ForceLoop(self.timeline, assembly, options)
        self.grip = Grip(self.loop, self.tracker)
        self.estimates = GripEstimates()
        self.reflex = SlipReflex(options, options.slip + WANDERS * float(self.timeline.radius.mean()))
        self.recorder = RunRecorder(self.robot.joint_names, self.timeline.names)
        self.phase = RunPhase.CLOSE
        # An object k times as stiff as planned gives the planned forces at k^(-2/3) of the planned depth (Hertz).
        pressed = self.timeline.joints(self.timeline.grasp_time) - self.timeline.q_touch
        self._deeper = np.where(self.loop.hand, (options.calibration.force ** (-2.0 / 3.0) - 1.0) * pressed, 0.0)
        self.plan_time = 0.0
        self.offset = np.zeros(self.robot.dof)
        self.command = self.timeline.commands(0.0)
        self.touched = ~self.tracker.sensed
        self.slid = 0.0

    def begin(self, phase: RunPhase) -> None:
        """Start with this phase: ``APPROACH`` where the plan has one, or ``CLOSE``."""
        self.phase = phase if Phase.APPROACH in self.timeline.spans else RunPhase.CLOSE
        self.plan_time = 0.0 if self.phase is RunPhase.APPROACH else self.timeline.span(Phase.CLOSE)[0]
        self.command = self.timeline.commands(self.plan_time)

    def planned(self) -> Floats:
        """The plan's commands now, pressed in as deep as gives the planned forces by the calibration."""
        commands = self.timeline.commands(self.plan_time)
        if not self._deeper.any():
            return commands
        return commands + self.timeline.depth_share(self.plan_time) * self._deeper

    def advance(self, dt: float, until: float, rate: float = 1.0) -> None:
        """Follow the plan for a time, at a share of the chosen speed."""
        self.plan_time = min(self.plan_time + self.options.speed * rate * dt, until)

    def follow(self) -> None:
        """Command what the plan commands and what has been added to it."""
        self.command = self.planned() + self.offset

    def wanted(self) -> Floats:
        """Wanted normal forces [N]."""
        return self.loop.wanted

    def leave_torques(self) -> None:
        """All joints go to positions again, the hand's to where their servos press as the torques did."""
        if self.grip.torques is not None:
            self.command, self.grip.torques = self.grip.standing, None

    def turn(self, step: ControlStep, wanted: Callable[[], Floats | float] | None = None) -> None:
        """One turn of the force loop towards these normal forces, or those of ``wanted`` [N]."""
        self.offset = self.grip.turn(step, self.planned(), self.offset, wanted or self.wanted)

    def note(self, time: float, kind: str, text: str) -> None:
        """Write an event into the log."""
        self.recorder.event(Event(float(time), self.phase, kind, text))


class PhaseStrategy(ABC):
    """What is done in one phase.

    Args:
        run: what all phases share.

    Attributes:
        time_limit: the phase is aborted when it lasts longer [s].
        finished: whether the run is over and the command stands.
    """

    time_limit: float = np.inf
    finished = False

    def __init__(self, run: RunContext) -> None:
        self.run = run

    def enter(self) -> None:  # noqa: B027 - most phases begin with nothing
        """The phase begins."""

    @abstractmethod
    def step(self, step: ControlStep) -> RunPhase | RunFault | None:
        """Set the command. The answer: the phase that follows, why the run must be aborted, or None to go on."""

    def planned_limit(self, phase: Phase | None, extra: float = 0.0) -> float:
        """The planned time of a phase at the chosen speed, what it may need beyond it, and some patience [s]."""
        start, end = (0.0, 0.0) if phase is None else self.run.timeline.span(phase)
        return (end - start) / self.run.options.speed + extra + self.run.options.patience


class ApproachPhase(PhaseStrategy):
    """Follow the plan to the hand at the object, at its end no faster than the joints can follow.

    Joints that lag behind in different ways leave the planned path, and near the object there is little room for that.
    """

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.time_limit = self.planned_limit(Phase.APPROACH)
        watch = run.options.watch
        slides = {joint.name for joint in run.robot.urdf.joints if joint.kind == "prismatic"}
        off = [watch.distance if name in slides else watch.angle for name in run.robot.joint_names]
        self._allowed = FOLLOWING * np.array(off)

    def step(self, step: ControlStep) -> RunPhase | None:
        run = self.run
        end = run.timeline.span(Phase.APPROACH)[1]
        rate = 1.0
        if end - run.plan_time < NEARING and step.sample.joints is not None:
            behind = np.abs(run.command - step.sample.joints.positions) / self._allowed
            rate = 1.0 / max(float(np.nan_to_num(behind).max()), 1.0)
        run.advance(step.dt, end, rate)
        run.follow()
        return RunPhase.CLOSE if run.plan_time >= end - 1e-9 else None
