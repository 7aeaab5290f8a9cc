"""The trial squeeze: find the object, grip it well, lift it a little, press, loosen until it slips.   (theory 9)

On a table one pad measures what the other pushes along; in the air both measure the same. So the curve of force over
depth is taken while the lifted object is loosened, slowly enough to be at rest, and ends in the slip that gives
friction. The phases are those of the controller; squeeze, lift and hold have strategies of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.arrays import Floats
from pliant.calibration.fit import SlipOnset, SqueezePoint, SqueezeSamples
from pliant.calibration.slip_onset import RECENT, forces_at, see_slip
from pliant.control import (
    CarryPhase,
    ControlOptions,
    ControlStep,
    GraspController,
    PhaseStrategy,
    RunContext,
    RunPhase,
    contact_kinematics,
    operation_phases,
)
from pliant.planner import ContactTimeline, Phase, PlannedForces, PlannedGrasp
from pliant.robot import Assembly
from pliant.tactile import TactileProcessor

PERMITTED = 0.7  # largest force of the squeeze over the permitted one
LEAST_POINTS, DEEPEST = 4, 0.016  # then enough has been pressed: steps; path of a contact over the object's width
STEP_TIME = 0.5  # for each force level [s]
REST_TIME = 0.15  # at its end, over which is averaged [s]
GRIP = 2.5  # of the wanted force, for the lift: friction may be half of what is believed
HEIGHT = 0.012  # the object is lifted so far before it is let slip [m]
PRESSING_TIME = 3.0  # pressing ends after so long [s]
LOOSENING = 1.2  # forces fall to 1/e in this time [s]
STALL, GAINED = 0.4, 1.05  # pressing that has not gained this much in this time is over [s], over the force before
CALMING = 0.3  # between the two [s]
LAG = 0.45  # of what is measured: no less is asked for while loosening; at its usual pace 0.67 is
STEP = 1.15  # forces of one step of the curve over those of the next
CLEAR = 2.0  # times what a cell reports at least: a strongest cell below it hardly measures the object
BLIND_FRAMES = 4  # so many such frames in a row, and a slip would not be seen
SEEN = 1.0  # so much of the past shows a slip [s]
UNSEEN = 0.5  # before the end of a squeeze without a slip, what was measured is not believed [s]


@dataclass(frozen=True, eq=False)
class LooseningFrame:
    """One frame while the object was loosened: n centres of pressure, forces and places, joints and the plan."""

    time: float
    points: Floats
    forces: Floats
    places: Floats
    q: Floats
    moment: PlannedForces


class TrialSqueeze:
    """A run that squeezes to learn instead of to carry out. Same phases, same watch, same reactions.

    Args:
        grasp, assembly, processor, options, start: as for ``GraspController``.
        levels: mean normal forces of the steps where it is not lifted [N]; if left out, ten up to 70 % of what is
            permitted. Pressing ends when the contacts have moved by 1.6 % of the object's width.
        slip: whether to lift and let slip; otherwise it is pressed in steps where it lies, and friction stays unknown.

    Attributes:
        controller: does it.
        target: mean normal force that is wanted now [N].
        points: steps where it was not lifted.
        slip: the slip that was seen; None if none was.
        held: the lightest grip that held where no slip was seen because pads measure no less.
    """

    def __init__(
        self,
        grasp: PlannedGrasp,
        assembly: Assembly,
        *,
        processor: TactileProcessor | None = None,
        options: ControlOptions | None = None,
        start: RunPhase = RunPhase.APPROACH,
        levels: tuple[float, ...] | None = None,
        slip: bool = True,
    ) -> None:
        self.levels: tuple[float, ...] = levels or ()
        self.target = 0.0
        self.points: list[SqueezePoint] = []
        self.slip: SlipOnset | None = None
        self.held: SlipOnset | None = None
        self.q_squeeze = grasp.q_touch
        self._lifts = slip
        self._trail: list[LooseningFrame] = []
        self._loose_since = np.inf
        self._slip_time: float | None = None
        self._faint = 0  # frames in a row in which a pad hardly measures the object
        # A stiffness that is off by two must not make the loop swing; nor must the grip be tightened on a slip.
        options = options or ControlOptions()
        watch = replace(options.watch, slid=np.inf)  # it is let slip on purpose
        options = replace(options, gain=2.5, slip_gain=0.0, reach=0.03, watch=watch)
        self.controller = GraspController(
            grasp, assembly, processor=processor, options=options, start=start, phases=self._phases
        )

    def _phases(self, run: RunContext) -> dict[RunPhase, PhaseStrategy]:
        self.run = run
        most = PERMITTED * float(run.timeline.max_force.min())
        self.levels = self.levels or tuple(float(level) for level in np.geomspace(0.05, 1.0, 10) * most)
        self.target = float(self.levels[0])
        phases = operation_phases(run)
        if not (self._lifts and Phase.LIFT in run.timeline.spans):
            return phases | {RunPhase.SQUEEZE: _PressInSteps(run, self)}
        end = lift_time(run.timeline, HEIGHT)
        return phases | {
            RunPhase.SQUEEZE: _GripToLift(run, self),
            RunPhase.LIFT: CarryPhase(run, Phase.LIFT, RunPhase.HOLD, until=end, wanted=lambda: self.target),
            RunPhase.HOLD: _Loosen(run, self),
        }

    @property
    def samples(self) -> SqueezeSamples:
        """What has been learned so far."""
        timeline = self.run.timeline
        axes = timeline.forces_at(timeline.grasp_time).axes
        points = tuple(self.points) or self._curve()
        return SqueezeSamples(timeline.links, axes[:, :, 2], points, self.slip, self.held)

    def depth(self, q: Floats) -> float:
        """How far the contacts have moved into the object since the touch, over its width."""
        contacts = self.run.grip.contacts
        if contacts is None:
            return 0.0
        size = 2.0 * float(np.linalg.norm(contacts.points - contacts.points.mean(axis=0), axis=1).mean())
        moved = np.where(self.run.loop.hand, q - self.q_squeeze, 0.0)
        return float((contacts.jacobian[:, 2, :] @ moved).mean()) / size

    def _curve(self) -> tuple[SqueezePoint, ...]:
        """Force over depth while it was loosened, in even steps of the force's logarithm, lightest first.

        Beyond some percent no small-strain model is right: what lies deeper is left out where enough is left.
        """
        if not self._trail:
            return ()
        # A flat face larger than a pad slips unseen, until it is gone: then the last moments count for nothing.
        sure = self._trail[-1].time - UNSEEN if self._slip_time is None else self._slip_time
        steps: dict[int, list[SqueezePoint]] = {}
        for frame in self._trail:
            mean = float(np.mean(frame.forces))
            if self._loose_since <= frame.time <= sure and mean > 0.0 and np.isfinite(frame.points).all():
                # The arm carries hand and object alike: only the hand's joints squeeze.
                own = np.where(self.run.loop.hand, frame.q, self.q_squeeze)
                level = int(np.log(mean) // np.log(STEP))
                steps.setdefault(level, []).append(SqueezePoint(own, frame.forces, frame.places))
        points = [_mean_point(kept) for _, kept in sorted(steps.items())]
        shallow = [point for point in points if self.depth(point.q) <= DEEPEST]
        return tuple(shallow if len(shallow) >= LEAST_POINTS else points)

    def loosened(self, frame: LooseningFrame, since: float) -> bool:
        """Keep a frame of the loosening that begins at ``since``; whether it is over.

        It is over when the object slips, which also dates the slip, or when pads would not see it slip.
        """
        self._trail.append(frame)
        self._loose_since = since
        now = frame.time
        if now < since:
            return False
        trail = [kept for kept in self._trail if kept.time > now - SEEN and kept.time >= since]
        times = np.array([kept.time for kept in trail])
        forces = np.array([kept.forces for kept in trail])
        down = self._load_in_links(trail[0])
        seen = see_slip(times, np.einsum("kij,ij->ki", np.array([kept.points for kept in trail]), down), forces)
        if seen is not None:
            self._slip_time = seen.began
            self.slip = self._grip_at(trail, seen.began)
            how = "a contact broke away" if seen.broken else "contacts ran over their pads"
            ago = f"{1e3 * (now - seen.began):.0f} ms before"
            self.run.note(now, "slip", f"{how}; it began {ago}, at {np.mean(self.slip.forces):.2f} N on each pad")
            return True
        self._faint = 0 if self._measured_clearly() else self._faint + 1
        if self._faint < BLIND_FRAMES:
            return False
        self.held = self._grip_at(trail, now - RECENT)
        text = f"at {np.mean(self.held.forces):.2f} N the pads hardly measure the object, and it has not slipped"
        self.run.note(now, "note", f"{text}: friction stays unknown")
        return True

    def _grip_at(self, trail: list[LooseningFrame], when: float) -> SlipOnset:
        """Forces, places and load at a moment while it was loosened."""
        times = np.array([frame.time for frame in trail])
        forces = forces_at(times, np.array([frame.forces for frame in trail]), when)
        at = trail[int(np.argmin(np.abs(times - when)))]
        contacts = contact_kinematics(self.run.assembly, self.run.timeline.links, at.q, at.places, at.moment.axes)
        return SlipOnset(forces, contacts, at.moment.load, at.moment.centre)

    def _load_in_links(self, frame: LooseningFrame) -> Floats:
        """n x 3: directions of the load in the links' frames."""
        force = frame.moment.load[:3]
        Ts = self.run.robot.poses(self.run.timeline.links, frame.q)
        return np.array([T.rotation.T @ force for T in Ts]) / max(float(np.linalg.norm(force)), 1e-12)

    def _measured_clearly(self) -> bool:
        """Whether the strongest cell of every contact is well above what cells report at all."""
        tracker, processor = self.run.tracker, self.run.processor
        for names in tracker.arrays_of:
            peaks = [0.0]
            for name in names:
                array, reading = processor.arrays[name], tracker.pads[name].reading
                area = processor.layout(name).area
                if reading is not None:
                    peaks += [r.peak_pressure * area / max(array.min_force, 1e-9) for r in reading.regions]
            if names and max(peaks) < CLEAR:
                return False
        return True


class _TrialPhase(PhaseStrategy):
    """A phase in which the force loop does all the pressing: the plan stands, contacts are brought to the target."""

    def __init__(self, run: RunContext, squeeze: TrialSqueeze) -> None:
        super().__init__(run)
        self.squeeze = squeeze

    def press(self, step: ControlStep, target: float) -> None:
        """One turn of the force loop towards a mean normal force [N]."""
        self.squeeze.target = target
        self.run.turn(step, lambda: target)
        self.run.follow()


class _Press(_TrialPhase):
    """Press from the touch on."""

    def __init__(self, run: RunContext, squeeze: TrialSqueeze) -> None:
        super().__init__(run, squeeze)
        self.time_limit = STEP_TIME * max(len(squeeze.levels), 4) + run.options.patience
        self._began: float | None = None
        self._touched = False

    def enter(self) -> None:
        self.run.grip.start_from(self.run.offset)

    def spent(self, step: ControlStep) -> float:
        """Since the level began [s]."""
        if self._began is None:
            self._began = step.sample.time
            if not self._touched and step.sample.joints is not None:
                self.squeeze.q_squeeze = np.array(step.sample.joints.positions)
            self._touched = True
        return step.sample.time - self._began


class _PressInSteps(_Press):
    """Press level by level where the object lies, and keep what is measured at rest."""

    def __init__(self, run: RunContext, squeeze: TrialSqueeze) -> None:
        super().__init__(run, squeeze)
        self._level = 0
        self._kept: list[SqueezePoint] = []

    def step(self, step: ControlStep) -> RunPhase | None:
        squeeze, joints = self.squeeze, step.sample.joints
        spent = self.spent(step)
        self.press(step, float(squeeze.levels[self._level]))
        if spent > STEP_TIME - REST_TIME and joints is not None:
            self._kept.append(SqueezePoint(joints.positions, step.estimate.measured, step.estimate.places))
        if spent < STEP_TIME:
            return None
        if self._kept:
            squeeze.points.append(_mean_point(self._kept))
        self._level, self._began, self._kept = self._level + 1, None, []
        deep = len(squeeze.points) >= LEAST_POINTS and squeeze.depth(squeeze.points[-1].q) > DEEPEST
        return RunPhase.RELEASE if self._level >= len(squeeze.levels) or deep else None


class _GripToLift(_Press):
    """Grip so well that it can be lifted even where friction is half of what is believed."""

    def step(self, step: ControlStep) -> RunPhase | None:
        run = self.run
        spent = self.spent(step)
        target = min(GRIP * float(run.loop.wanted.max()), self.squeeze.levels[-1])
        self.press(step, target)
        weak = float(np.min(step.estimate.forces[run.tracker.sensed], initial=np.inf)) < 0.8 * target
        if spent < STEP_TIME or (weak and spent <= 4.0 * STEP_TIME):
            return None
        # The plan goes on from the grasp; what it has squeezed by then has been done already.
        at_touch = run.planned().copy()
        run.plan_time = run.timeline.grasp_time
        run.offset = run.offset + np.where(run.loop.hand, at_touch - run.planned(), 0.0)
        run.grip.start_from(run.offset)
        return RunPhase.LIFT


class _Loosen(_TrialPhase):
    """In the air: press until deep enough, rest, then loosen until the object slips, or until it will not."""

    def __init__(self, run: RunContext, squeeze: TrialSqueeze) -> None:
        super().__init__(run, squeeze)
        self._since: float | None = None  # loosening begins
        self._from = 0.0  # .. with this force [N]
        self._pressed: list[tuple[float, float]] = []  # times and mean forces while it is pressed
        self._over = False

    def step(self, step: ControlStep) -> RunPhase | None:
        run = self.run
        if not self._over and step.sample.joints is not None:
            self._set_target(step, np.array(step.sample.joints.positions))
        self.press(step, self.squeeze.target)
        over = self._over or step.elapsed > PRESSING_TIME + 8.0 * LOOSENING
        if not over or step.elapsed < run.options.hold:
            return None
        return RunPhase.RELEASE if run.options.release else RunPhase.DONE

    def _set_target(self, step: ControlStep, q: Floats) -> None:
        now, squeeze, estimate = step.sample.time, self.squeeze, step.estimate
        if self._since is None:
            # What was asked for runs ahead of what is measured: never by more than a step of the curve or two.
            mean = float(np.nanmean(estimate.measured))
            squeeze.target = min(mean * STEP**2, squeeze.levels[-1]) if np.isfinite(mean) else squeeze.target
            more = squeeze.depth(q) < DEEPEST and mean < 0.95 * squeeze.levels[-1]
            if more and step.elapsed < PRESSING_TIME and not self._stalled(now, mean):
                return
            self._since, self._from = now + CALMING, mean
        # A drive that was at its limit lets go late; what it has missed is not made up for at once.
        least = LAG * float(np.nanmean(estimate.forces))
        squeeze.target = max(self._from * float(np.exp(-max(now - self._since, 0.0) / LOOSENING)), least)
        if estimate.fresh:
            points, forces, places = estimate.points.copy(), estimate.measured.copy(), estimate.places.copy()
            frame = LooseningFrame(now, points, forces, places, q, step.moment)
            self._over = squeeze.loosened(frame, self._since)

    def _stalled(self, now: float, force: float) -> bool:
        """Whether pressing adds no force any more: the drives are at their limit, and commands would only run away."""
        self._pressed.append((now, force))
        before = [earlier for time, earlier in self._pressed if time <= now - STALL]
        return bool(before) and force < GAINED * before[-1]


def lift_time(timeline: ContactTimeline, height: float) -> float:
    """When the plan has lifted the object so far [s]."""
    trajectory = timeline.trajectory
    z = trajectory.object_poses[:, 2]
    start = int(np.searchsorted(trajectory.times, timeline.grasp_time - 1e-9))
    up = np.flatnonzero(z[start:] - z[start] >= height)
    if not len(up):
        return timeline.duration
    j = start + int(up[0])
    i = max(j - 1, 0)
    share = (height - (z[i] - z[start])) / max(z[j] - z[i], 1e-9)
    return float(trajectory.times[i] + share * (trajectory.times[j] - trajectory.times[i]))


def _mean_point(kept: list[SqueezePoint]) -> SqueezePoint:
    q, forces, places = (np.mean([getattr(p, name) for p in kept], axis=0) for name in ("q", "forces", "places"))
    return SqueezePoint(q, forces, places)
