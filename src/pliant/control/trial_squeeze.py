"""The trial squeeze: find the object, grip it well, lift it a little, press, loosen until it slips.   (SPEC 9)

On a table one pad feels what the other pushes along; in the air both feel the same. So the curve of force over way is
taken while the lifted object is loosened, slowly enough to be at rest, and ends in the slip that tells friction.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pliant.control.calibration import SlipOnset, SqueezePoint, SqueezeSamples
from pliant.control.controller import GraspController
from pliant.control.driver import Sample
from pliant.control.force_loop import contact_kinematics
from pliant.control.options import ControlOptions
from pliant.control.phases import RunPhase
from pliant.control.tactile import TactileProcessor
from pliant.control.timeline import PlannedMoment
from pliant.planner import Phase, PlannedGrasp
from pliant.robot import Assembly

__all__ = ["TrialSqueeze"]

Floats = NDArray[np.float64]

PERMITTED = 0.7  # largest force of the squeeze over the permitted one
LEAST_POINTS, DEEPEST = 4, 0.016  # then enough has been pressed: steps; way of a contact over the object's width
STEP_TIME = 0.5  # for each force level [s]
REST_TIME = 0.15  # at its end, over which is averaged [s]
GRIP = 2.5  # of the wanted force, for the lift: friction may be half of what is believed
HEIGHT = 0.012  # the object is lifted so far before it is let slip [m]
PRESSING_TIME = 3.0  # pressing ends after so long [s]
LOOSENING = 1.2  # forces fall to 1/e in this time [s]
CALMING = 0.3  # between the two [s]
STEP = 1.15  # forces of one step of the curve over those of the next
RECENT = 0.2  # a slip is told within this time [s]
SLIPPED = 0.0006  # a centre of pressure that has moved so far within it has slipped [m]
RUNNING = 0.005  # speed above which it slips rather than drifts [m/s]
UNSEEN = 0.5  # before the end of a squeeze without a slip, what was felt is not believed [s]
REGRIP = 1.8  # what the grip becomes then, over the slip force


class TrialSqueeze(GraspController):
    """A controller that squeezes to learn instead of to carry out. Same phases, same watch, same reactions.

    Args:
        grasp, assembly, processor, options, start: as for ``GraspController``.
        levels: mean normal forces of the steps where it is not lifted [N]; if left out, ten up to 70 % of what is
            permitted. Pressing ends when the contacts have moved by 1.6 % of the object's width.
        slip: whether to lift and let slip; otherwise it is pressed in steps where it lies, and friction stays unknown.
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
        # A stiffness that is off by two must not make the loop swing; nor must the grip be tightened on a slip.
        options = options or ControlOptions()
        watch = replace(options.watch, slid=np.inf)  # it is let slip on purpose
        options = replace(options, gain=2.5, slip_gain=0.0, reach=0.03, watch=watch)
        super().__init__(grasp, assembly, processor=processor, options=options, start=start)
        most = PERMITTED * float(self.timeline.max_force.min())
        self.levels = levels or tuple(float(level) for level in np.geomspace(0.05, 1.0, 10) * most)
        self._slip_wanted = slip and Phase.LIFT in self.timeline.spans
        self.points: list[SqueezePoint] = []
        self.slip: SlipOnset | None = None
        self._level = 0
        self._level_began: float | None = None
        self._kept: list[tuple[Floats, Floats, Floats]] = []
        self._target = float(self.levels[0])
        self._trail: list[tuple[float, Floats, SlipOnset, Floats]] = []
        self._lift_end = self._lift_time(HEIGHT)
        self._loose_since: float | None = None
        self._loose_from = 0.0
        self._q_squeeze = grasp.q_touch
        self._slipped = False

    @property
    def samples(self) -> SqueezeSamples:
        """What has been learned so far."""
        axes = self.timeline.at(self.timeline.grasp_time).axes
        points = tuple(self.points) or self._curve()
        return SqueezeSamples(self.timeline.links, axes[:, :, 2], points, self.slip)

    def _errors(self, moment: PlannedMoment) -> Floats:
        return np.where(self.tracker.sensed, self._target - self._estimate_forces(), 0.0)

    def _squeeze(self, sample: Sample, dt: float, moment: PlannedMoment) -> None:
        """The plan stands at the touch; the force loop does all the pressing."""
        now = sample.time
        if self._level_began is None:
            self._level_began, self._kept = now, []
            if self._level == 0 and sample.joints is not None:
                self._q_squeeze = np.array(sample.joints.positions)
        if self._slip_wanted:
            self._target = min(GRIP * float(self.loop.wanted.max()), self.levels[-1])
        else:
            self._target = float(self.levels[self._level])
        self._hold_on(sample, dt, moment)
        self._command = self._planned() + self._offset
        spent = now - self._level_began
        if self._slip_wanted:
            weak = float(np.min(self._estimate_forces()[self.tracker.sensed], initial=np.inf)) < 0.8 * self._target
            if spent >= STEP_TIME and (not weak or spent > 4.0 * STEP_TIME):
                self._lift(now)
            return
        if spent > STEP_TIME - REST_TIME and sample.joints is not None and self._estimate is not None:
            self._kept.append((sample.joints.positions, self._estimate.measured, self._estimate.places))
        if spent < STEP_TIME:
            return
        if self._kept:
            self.points.append(_mean_point(self._kept))
        self._level, self._level_began = self._level + 1, None
        deep = len(self.points) >= LEAST_POINTS and self._depth(self.points[-1].q) > DEEPEST
        if self._level >= len(self.levels) or deep:
            self._enter(RunPhase.RELEASE, now)

    def _lift(self, now: float) -> None:
        """The plan goes on from the grasp; what it has squeezed by then has been done already."""
        at_touch = self._planned().copy()
        self._plan_time = self.timeline.grasp_time
        self._offset = self._offset + np.where(self.loop.hand, at_touch - self._planned(), 0.0)
        self._found = self._offset.copy()
        self._enter(RunPhase.LIFT, now)

    def _depth(self, q: Floats) -> float:
        """How far the contacts have moved into the object since the touch, over its width."""
        if self._now is None:
            return 0.0
        points = self._now.points
        size = 2.0 * float(np.linalg.norm(points - points.mean(axis=0), axis=1).mean())
        way = np.where(self.loop.hand, q - self._q_squeeze, 0.0)
        return float((self._now.jacobian[:, 2, :] @ way).mean()) / size

    def _curve(self) -> tuple[SqueezePoint, ...]:
        """Force over way while it was loosened, in even steps of the force's logarithm, lightest first.

        Beyond some percent no small-strain model is right: what lies deeper is left out where enough is left.
        """
        if self._loose_since is None or not self._trail:
            return ()
        # A flat face larger than a pad slips unseen, until it is gone: then the last moments count for nothing.
        sure = self._trail[-1][0] - UNSEEN
        slip = sum(entry[0] <= sure for entry in self._trail) - 1
        if self.slip is not None:
            slip = next(i for i, entry in enumerate(self._trail) if entry[2] is self.slip)
        steps: dict[int, list[tuple[Floats, Floats, Floats]]] = {}
        for time, places, onset, q in self._trail[: slip + 1]:
            if time >= self._loose_since:
                mean = float(np.mean(onset.forces))
                # The arm carries hand and object alike: the way is that of the hand.
                own = np.where(self.loop.hand, q, self._q_squeeze)
                steps.setdefault(int(np.log(mean) // np.log(STEP)), []).append((own, onset.forces, places))
        points = [_mean_point(kept) for _, kept in sorted(steps.items())]
        shallow = [point for point in points if self._depth(point.q) <= DEEPEST]
        return tuple(shallow if len(shallow) >= LEAST_POINTS else points)

    def _play(self, dt: float, until: float, now: float, follower: RunPhase) -> None:
        lifting = self.phase is RunPhase.LIFT
        super()._play(dt, min(until, self._lift_end) if lifting else until, now, RunPhase.HOLD if lifting else follower)

    def _hold_on(self, sample: Sample, dt: float, moment: PlannedMoment) -> None:
        if self.phase is RunPhase.HOLD:
            self._loosen(sample, moment)
        super()._hold_on(sample, dt, moment)

    def _loosen(self, sample: Sample, moment: PlannedMoment) -> None:
        """Press until deep enough, rest, then loosen until it slips."""
        now = sample.time
        assert self._estimate is not None
        if self._slipped or sample.joints is None:
            return
        q = np.array(sample.joints.positions)
        if self._loose_since is None:
            # What was asked for runs ahead of what is felt: never by more than a step of the curve or two.
            felt = float(np.nanmean(self._estimate.measured))
            self._target = min(felt * STEP**2, self.levels[-1]) if np.isfinite(felt) else self._target
            if self._depth(q) < DEEPEST and felt < 0.95 * self.levels[-1] and super()._elapsed(now) < PRESSING_TIME:
                return
            self._loose_since, self._loose_from = now + CALMING, felt
        spent = now - self._loose_since
        self._target = self._loose_from * float(np.exp(-max(spent, 0.0) / LOOSENING))
        if not self._estimate.fresh or not np.isfinite(self._estimate.points).all():
            return
        contacts = contact_kinematics(self.assembly, self.timeline.links, q, self._estimate.places, moment.axes)
        onset = SlipOnset(self._estimate.measured.copy(), contacts, moment.load, moment.centre)
        self._trail.append((now, self._estimate.points.copy(), onset, q))
        if spent < 0.0 or not self._has_slipped():
            return
        self._slipped = True
        assert self.slip is not None
        self._target = min(REGRIP * float(np.mean(self.slip.forces)), self.levels[-1])
        self._note(now, "slip", f"at {np.mean(self.slip.forces):.2f} N on each pad")

    def _has_slipped(self) -> bool:
        """Whether a centre of pressure runs away; the last frame before it began to is kept.

        As the grip loosens the patches shrink and their centres drift, slowly; a slip is faster than that.
        """
        now = self._trail[-1][0]
        recent = next(i for i, entry in enumerate(self._trail) if now - entry[0] < RECENT)
        last = len(self._trail) - 1
        if min(self._slides(recent, last)) < SLIPPED:
            return False  # patches that shrink wander this way and that; a slip takes all contacts along
        chosen = last
        while chosen > recent:
            span = self._trail[chosen][0] - self._trail[chosen - 1][0]
            if max(self._slides(chosen - 1, chosen)) < RUNNING * span:
                break  # the first contact that gives way is the onset
            chosen -= 1
        if chosen == last:
            return False  # it has drifted there
        self.slip = self._trail[chosen][2]
        return True

    def _slides(self, first: int, last: int) -> list[float]:
        """How far each contact has gone over its pad along the load, from one frame to another [m]."""
        force = self._trail[last][2].load[:3]
        down = force / max(float(np.linalg.norm(force)), 1e-12)
        moved = self._trail[last][1] - self._trail[first][1]
        Ts = self.robot.poses(self.timeline.links, self._trail[last][3])
        return [float(down @ (T.rotation @ step)) for T, step in zip(Ts, moved, strict=True)]

    def _time_limit(self, phase: RunPhase) -> float:
        if phase is RunPhase.SQUEEZE:
            return STEP_TIME * max(len(self.levels), 4) + self.options.patience
        if phase is RunPhase.HOLD:
            return PRESSING_TIME + 6.0 * LOOSENING + self.options.patience
        return super()._time_limit(phase)

    def _elapsed(self, now: float) -> float:
        elapsed = super()._elapsed(now)
        if self.phase is RunPhase.HOLD:
            # The hold ends when the object has slipped and is gripped again, or when it will not slip.
            over = self._slipped or elapsed > PRESSING_TIME + 5.0 * LOOSENING
            return elapsed if over else min(elapsed, 0.99 * self.options.hold)
        return elapsed

    def _lift_time(self, height: float) -> float:
        """When the plan has lifted the object so far."""
        trajectory = self.timeline.trajectory
        z = trajectory.object_poses[:, 2]
        start = int(np.searchsorted(trajectory.times, self.timeline.grasp_time - 1e-9))
        up = np.flatnonzero(z[start:] - z[start] >= height)
        if not len(up):
            return self.timeline.end_time
        j = start + int(up[0])
        i = max(j - 1, 0)
        share = (height - (z[i] - z[start])) / max(z[j] - z[i], 1e-9)
        return float(trajectory.times[i] + share * (trajectory.times[j] - trajectory.times[i]))


def _mean_point(kept: list[tuple[Floats, Floats, Floats]]) -> SqueezePoint:
    q, forces, places = (np.mean([entry[i] for entry in kept], axis=0) for i in range(3))
    return SqueezePoint(q, forces, places)
