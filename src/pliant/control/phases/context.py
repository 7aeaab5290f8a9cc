"""What the phases of a run share, and what a phase is.   (theory 9)"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from pliant.arrays import Floats
from pliant.control.events import Event, RunFault, RunPhase
from pliant.control.force_loop import ForceLoop
from pliant.control.grip import ControlStep, Grip
from pliant.control.options import ControlOptions
from pliant.control.run_log import RunRecorder
from pliant.planner import ContactTimeline, Phase, PlannedGrasp
from pliant.robot import Assembly
from pliant.tactile import ContactTracker, TactileProcessor

NEEDED = 0.1  # planned force from which on a contact must be measured [N]
SAFE_TIME = 3.0  # opening and easing end after so long, whatever happens [s]


class RunContext:
    """What the phases of a run share.

    Attributes:
        plan_time: how far the plan has been followed [s].
        offset: of the commanded joints from the planned ones: what search and force loop have added.
        command: the joints' command.
        touched: n, contacts that have been measured, or that no array measures.
        slid: how far the object has slid in the hand, once that is too far [m].
        phase: the current one.
    """

    def __init__(
        self, grasp: PlannedGrasp, assembly: Assembly, processor: TactileProcessor, options: ControlOptions
    ) -> None:
        self.options, self.assembly, self.robot, self.processor = options, assembly, assembly.robot, processor
        self.timeline = ContactTimeline(grasp, self.robot)
        self.tracker = ContactTracker(self.timeline, processor, options.tracking)
        self.loop = ForceLoop(self.timeline, assembly, options)
        self.grip = Grip(self.loop, self.tracker)
        self.recorder = RunRecorder(self.robot.joint_names, self.timeline.names)
        self.phase = RunPhase.CLOSE
        self.plan_time = 0.0
        self.offset = np.zeros(self.robot.dof)
        self.command = self.timeline.trajectory.at(0.0)
        self.touched = ~self.tracker.sensed
        self.slid = 0.0

    def begin(self, phase: RunPhase) -> None:
        """Start with this phase: ``APPROACH`` where the plan has one, or ``CLOSE``."""
        self.phase = phase if Phase.APPROACH in self.timeline.spans else RunPhase.CLOSE
        self.plan_time = 0.0 if self.phase is RunPhase.APPROACH else self.timeline.span(Phase.CLOSE)[0]
        self.command = self.timeline.trajectory.at(self.plan_time)

    def planned(self) -> Floats:
        """The plan's joints now."""
        return self.timeline.joints(self.plan_time)

    def advance(self, dt: float, until: float, rate: float = 1.0) -> None:
        """Follow the plan for a time, at a share of the chosen speed."""
        self.plan_time = min(self.plan_time + self.options.speed * rate * dt, until)

    def follow(self) -> None:
        """Command the plan's joints and what has been added to them."""
        self.command = self.planned() + self.offset

    def wanted(self) -> Floats:
        """Wanted normal forces, growing with the squeeze [N]."""
        share, wanted = self.timeline.depth_share(self.plan_time), self.loop.wanted
        return np.maximum(share * wanted, np.minimum(wanted, self.options.touch_load))

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
    """Follow the plan to the open hand at the object."""

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.time_limit = self.planned_limit(Phase.APPROACH)

    def step(self, step: ControlStep) -> RunPhase | None:
        end = self.run.timeline.span(Phase.APPROACH)[1]
        self.run.advance(step.dt, end)
        self.run.follow()
        return RunPhase.CLOSE if self.run.plan_time >= end - 1e-9 else None
