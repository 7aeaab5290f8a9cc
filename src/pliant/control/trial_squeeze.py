"""The trial squeeze: find the object, press in steps, lift a little, loosen until it slips.   (SPEC 9)"""

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
LEAST_POINTS, DEEPEST = 4, 0.02  # then enough has been pressed: steps; way of a contact over the object's width
STEP_TIME = 0.5  # for each force level [s]
REST_TIME = 0.15  # at its end, over which is averaged [s]
HEIGHT = 0.012  # the object is lifted so far before it is let slip [m]
LOOSENING = 1.2  # forces fall to 1/e in this time [s]
LOOSE_FROM = 3.0  # of the wanted force, where the loosening begins
CALMING = 0.4  # to get there [s]
RECENT = 0.2  # a slip is told within this time [s]
SLIPPED = 0.0006  # a centre of pressure that has moved so far within it has slipped [m]
RUNNING = 0.005  # speed above which it slips rather than drifts [m/s]
REGRIP = 1.8  # what the grip becomes then, over the slip force


class TrialSqueeze(GraspController):
    """A controller that squeezes to learn instead of to carry out. Same phases, same watch, same reactions.

    Args:
        grasp, assembly, processor, options, start: as for ``GraspController``.
        levels: mean normal forces of the steps [N]; if left out, ten up to 70 % of what is permitted. Steps end when
            the contacts have moved by 2 % of the object's width.
        slip: whether to lift and let slip, for friction.
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
        self._loose_from: float | None = None
        self._lift_end = self._lift_time(HEIGHT)
        self._loosening: float | None = None
        self._q_squeeze = grasp.q_touch
        self._slipped = False

    @property
    def samples(self) -> SqueezeSamples:
        """What has been learned so far."""
        axes = self.timeline.at(self.timeline.grasp_time).axes
        return SqueezeSamples(self.timeline.links, axes[:, :, 2], tuple(self.points), self.slip)

    def _errors(self, moment: PlannedMoment) -> Floats:
        return np.where(self.tracker.sensed, self._target - self._estimate_forces(), 0.0)

    def _squeeze(self, sample: Sample, dt: float, moment: PlannedMoment) -> None:
        """The plan stands at the touch; the force loop does all the pressing."""
        now = sample.time
        if self._level_began is None:
            self._level_began, self._kept = now, []
            if self._level == 0 and sample.joints is not None:
                self._q_squeeze = np.array(sample.joints.positions)
        self._target = float(self.levels[self._level])
        self._hold_on(sample, dt, moment)
        self._command = self._planned() + self._offset
        spent = now - self._level_began
        if spent > STEP_TIME - REST_TIME and sample.joints is not None and self._estimate is not None:
            self._kept.append((sample.joints.positions, self._estimate.measured, self._estimate.places))
        if spent < STEP_TIME:
            return
        if self._kept:
            q, forces, places = (np.mean([kept[i] for kept in self._kept], axis=0) for i in range(3))
            self.points.append(SqueezePoint(q, forces, places))
        self._level, self._level_began = self._level + 1, None
        if self._level < len(self.levels) and not self._deep():
            return
        self.levels = self.levels[: self._level]
        if not self._slip_wanted:
            self._enter(RunPhase.RELEASE, now)
            return
        # The plan goes on from the grasp; what it has squeezed by then has been done already.
        at_touch = self._planned().copy()
        self._plan_time = self.timeline.grasp_time
        self._offset = self._offset + np.where(self.loop.hand, at_touch - self._planned(), 0.0)
        self._found = self._offset.copy()
        self._enter(RunPhase.LIFT, now)

    def _deep(self) -> bool:
        """Whether enough has been pressed: beyond some percent no small-strain model is right."""
        if len(self.points) < LEAST_POINTS or self._now is None:
            return False
        points = self._now.points
        size = 2.0 * float(np.linalg.norm(points - points.mean(axis=0), axis=1).mean())
        way = self.points[-1].q - self._q_squeeze
        return float((self._now.jacobian[:, 2, :] @ np.where(self.loop.hand, way, 0.0)).mean()) > DEEPEST * size

    def _play(self, dt: float, until: float, now: float, follower: RunPhase) -> None:
        lifting = self.phase is RunPhase.LIFT
        super()._play(dt, min(until, self._lift_end) if lifting else until, now, RunPhase.HOLD if lifting else follower)

    def _hold_on(self, sample: Sample, dt: float, moment: PlannedMoment) -> None:
        if self.phase is RunPhase.HOLD:
            self._loosen(sample, moment)
        super()._hold_on(sample, dt, moment)

    def _loosen(self, sample: Sample, moment: PlannedMoment) -> None:
        now = sample.time
        assert self._estimate is not None
        if self._loosening is None:
            self._loosening = now
        if self._slipped:
            return
        if self._loose_from is None:
            self._loose_from = min(self.levels[-1], LOOSE_FROM * float(self.loop.wanted.max()))
        spent = now - self._loosening
        share = min(spent / CALMING, 1.0)
        start = self.levels[-1] + share * (self._loose_from - self.levels[-1])
        self._target = start * float(np.exp(-max(spent - 1.5 * CALMING, 0.0) / LOOSENING))
        if not self._estimate.fresh or sample.joints is None or not np.isfinite(self._estimate.points).all():
            return
        contacts = contact_kinematics(
            self.assembly, self.timeline.links, sample.joints.positions, self._estimate.places, moment.axes
        )
        onset = SlipOnset(self._estimate.measured.copy(), contacts, moment.load, moment.centre)
        self._trail.append((now, self._estimate.points.copy(), onset, np.array(sample.joints.positions)))
        if spent < 1.5 * CALMING or not self._has_slipped():
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
            return STEP_TIME * len(self.levels) + self.options.patience
        if phase is RunPhase.HOLD:
            return 6.0 * LOOSENING + self.options.patience
        return super()._time_limit(phase)

    def _elapsed(self, now: float) -> float:
        elapsed = super()._elapsed(now)
        if self.phase is RunPhase.HOLD:
            # The hold ends when the object has slipped and is gripped again, or after five times the loosening.
            over = self._slipped or elapsed > 5.0 * LOOSENING
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
