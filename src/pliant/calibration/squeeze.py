"""The trial squeeze: find the object, grip it well, lift it a little, press, loosen until it slips.   (theory 9)

On a table one pad feels what the other pushes along; in the air both feel the same. So the curve of force over way is
taken while the lifted object is loosened, slowly enough to be at rest, and ends in the slip that tells friction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.arrays import Floats
from pliant.calibration.fit import SlipOnset, SqueezePoint, SqueezeSamples
from pliant.calibration.slip import RECENT, forces_at, see_slip
from pliant.control import ControlOptions, GraspController, RunPhase, Sample, contact_kinematics
from pliant.planner import Phase, PlannedForces, PlannedGrasp
from pliant.robot import Assembly
from pliant.tactile import TactileProcessor

PERMITTED = 0.7  # largest force of the squeeze over the permitted one
LEAST_POINTS, DEEPEST = 4, 0.016  # then enough has been pressed: steps; way of a contact over the object's width
STEP_TIME = 0.5  # for each force level [s]
REST_TIME = 0.15  # at its end, over which is averaged [s]
GRIP = 2.5  # of the wanted force, for the lift: friction may be half of what is believed
HEIGHT = 0.012  # the object is lifted so far before it is let slip [m]
PRESSING_TIME = 3.0  # pressing ends after so long [s]
LOOSENING = 1.2  # forces fall to 1/e in this time [s]
STALL, GAINED = 0.4, 1.05  # pressing that has not gained this much in this time is over [s], over the force before
CALMING = 0.3  # between the two [s]
LAG = 0.45  # of what is felt: no less is asked for while loosening; at its usual pace 0.67 is
STEP = 1.15  # forces of one step of the curve over those of the next
CLEAR, BLIND_FRAMES = (
    2.0,
    4,
)  # times what a cell reports at least; strongest cells below it for so many frames are blind
SEEN = 1.0  # as much of what was felt tells a slip [s]
UNSEEN = 0.5  # before the end of a squeeze without a slip, what was felt is not believed [s]


@dataclass(frozen=True, eq=False)
class _Felt:
    """One frame while it was loosened: n centres of pressure, forces and places, joints and the plan."""

    time: float
    points: Floats
    forces: Floats
    places: Floats
    q: Floats
    moment: PlannedForces


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
        self.held: SlipOnset | None = None
        self._level = 0
        self._level_began: float | None = None
        self._kept: list[tuple[Floats, Floats, Floats]] = []
        self._target = float(self.levels[0])
        self._trail: list[_Felt] = []
        self._lift_end = self._lift_time(HEIGHT)
        self._loose_since: float | None = None
        self._loose_from = 0.0
        self._pressed: list[tuple[float, float]] = []  # times and mean forces while it is pressed
        self._q_squeeze = grasp.q_touch
        self._slip_time: float | None = None
        self._faint = 0  # frames in a row in which a pad hardly feels the object
        self._let_go = False  # the object has slipped, or pads would not see it slip

    @property
    def samples(self) -> SqueezeSamples:
        """What has been learned so far."""
        axes = self.timeline.forces_at(self.timeline.grasp_time).axes
        points = tuple(self.points) or self._curve()
        return SqueezeSamples(self.timeline.links, axes[:, :, 2], points, self.slip, self.held)

    def _errors(self, moment: PlannedForces) -> Floats:
        return np.where(self.tracker.sensed, self._target - self._estimate_forces(), 0.0)

    def _squeeze(self, sample: Sample, dt: float, moment: PlannedForces) -> None:
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
        sure = self._trail[-1].time - UNSEEN if self._slip_time is None else self._slip_time
        steps: dict[int, list[tuple[Floats, Floats, Floats]]] = {}
        for felt in self._trail:
            mean = float(np.mean(felt.forces))
            if self._loose_since <= felt.time <= sure and mean > 0.0 and np.isfinite(felt.points).all():
                # The arm carries hand and object alike: the way is that of the hand.
                own = np.where(self.loop.hand, felt.q, self._q_squeeze)
                steps.setdefault(int(np.log(mean) // np.log(STEP)), []).append((own, felt.forces, felt.places))
        points = [_mean_point(kept) for _, kept in sorted(steps.items())]
        shallow = [point for point in points if self._depth(point.q) <= DEEPEST]
        return tuple(shallow if len(shallow) >= LEAST_POINTS else points)

    def _play(self, dt: float, until: float, now: float, follower: RunPhase) -> None:
        lifting = self.phase is RunPhase.LIFT
        super()._play(dt, min(until, self._lift_end) if lifting else until, now, RunPhase.HOLD if lifting else follower)

    def _hold_on(self, sample: Sample, dt: float, moment: PlannedForces) -> None:
        if self.phase is RunPhase.HOLD:
            self._loosen(sample, moment)
        super()._hold_on(sample, dt, moment)

    def _loosen(self, sample: Sample, moment: PlannedForces) -> None:
        """Press until deep enough, rest, then loosen until it slips."""
        now = sample.time
        assert self._estimate is not None
        if self._let_go or sample.joints is None:
            return
        q = np.array(sample.joints.positions)
        if self._loose_since is None:
            # What was asked for runs ahead of what is felt: never by more than a step of the curve or two.
            felt = float(np.nanmean(self._estimate.measured))
            self._target = min(felt * STEP**2, self.levels[-1]) if np.isfinite(felt) else self._target
            more = self._depth(q) < DEEPEST and felt < 0.95 * self.levels[-1]
            if more and super()._elapsed(now) < PRESSING_TIME and not self._stalled(now, felt):
                return
            self._loose_since, self._loose_from = now + CALMING, felt
        spent = now - self._loose_since
        # A drive that was at its limit lets go late; what it has missed is not made up for at once.
        least = LAG * float(np.nanmean(self._estimate.forces))
        self._target = max(self._loose_from * float(np.exp(-max(spent, 0.0) / LOOSENING)), least)
        if not self._estimate.fresh:
            return
        estimate = self._estimate
        felt_now = _Felt(now, estimate.points.copy(), estimate.measured.copy(), estimate.places.copy(), q, moment)
        self._trail.append(felt_now)
        if spent < 0.0:
            return
        self._look_for_slip(now)

    def _stalled(self, now: float, felt: float) -> bool:
        """Whether pressing adds no force any more: the drives are at their limit, and commands would only run away."""
        self._pressed.append((now, felt))
        before = [force for time, force in self._pressed if time <= now - STALL]
        return bool(before) and felt < GAINED * before[-1]

    def _look_for_slip(self, now: float) -> None:
        """Whether it slips now, and with which forces it began to; or whether the pads would not see it."""
        trail = [felt for felt in self._trail if felt.time > now - SEEN and felt.time >= (self._loose_since or now)]
        times = np.array([felt.time for felt in trail])
        forces = np.array([felt.forces for felt in trail])
        down = self._load_in_links(trail[0])
        seen = see_slip(times, np.einsum("kij,ij->ki", np.array([felt.points for felt in trail]), down), forces)
        if seen is not None:
            self._let_go, self._slip_time = True, seen.began
            self.slip = self._grip_at(trail, seen.began)
            how = "a contact broke away" if seen.broken else "contacts ran over their pads"
            ago = f"{1e3 * (now - seen.began):.0f} ms before"
            self._note(now, "slip", f"{how}; it began {ago}, at {np.mean(self.slip.forces):.2f} N on each pad")
            return
        self._faint = 0 if self._felt_clearly() else self._faint + 1
        if self._faint >= BLIND_FRAMES:
            self._let_go = True
            self.held = self._grip_at(trail, now - RECENT)
            text = f"at {np.mean(self.held.forces):.2f} N the pads hardly feel the object, and it has not slipped"
            self._note(now, "note", f"{text}: friction stays unknown")

    def _grip_at(self, trail: list[_Felt], when: float) -> SlipOnset:
        """Forces, places and load at a moment while it was loosened."""
        times = np.array([felt.time for felt in trail])
        forces = forces_at(times, np.array([felt.forces for felt in trail]), when)
        at = trail[int(np.argmin(np.abs(times - when)))]
        contacts = contact_kinematics(self.assembly, self.timeline.links, at.q, at.places, at.moment.axes)
        return SlipOnset(forces, contacts, at.moment.load, at.moment.centre)

    def _load_in_links(self, felt: _Felt) -> Floats:
        """n x 3: which way the load pulls, seen from the links."""
        force = felt.moment.load[:3]
        Ts = self.robot.poses(self.timeline.links, felt.q)
        return np.array([T.rotation.T @ force for T in Ts]) / max(float(np.linalg.norm(force)), 1e-12)

    def _felt_clearly(self) -> bool:
        """Whether the strongest cell of every contact is well above what cells report at all."""
        for names in self.tracker.arrays_of:
            peaks = [0.0]
            for name in names:
                array, reading = self.processor.arrays[name], self.tracker.pads[name].reading
                area = self.processor.layout(name).area
                if reading is not None:
                    peaks += [r.peak_pressure * area / max(array.min_force, 1e-9) for r in reading.regions]
            if names and max(peaks) < CLEAR:
                return False
        return True

    def _time_limit(self, phase: RunPhase) -> float:
        if phase is RunPhase.SQUEEZE:
            return STEP_TIME * max(len(self.levels), 4) + self.options.patience
        if phase is RunPhase.HOLD:
            return PRESSING_TIME + 9.0 * LOOSENING + self.options.patience
        return super()._time_limit(phase)

    def _elapsed(self, now: float) -> float:
        elapsed = super()._elapsed(now)
        if self.phase is RunPhase.HOLD:
            # The hold ends when the object has slipped, or when it will not.
            over = self._let_go or elapsed > PRESSING_TIME + 8.0 * LOOSENING
            return elapsed if over else min(elapsed, 0.99 * self.options.hold)
        return elapsed

    def _lift_time(self, height: float) -> float:
        """When the plan has lifted the object so far."""
        trajectory = self.timeline.trajectory
        z = trajectory.object_poses[:, 2]
        start = int(np.searchsorted(trajectory.times, self.timeline.grasp_time - 1e-9))
        up = np.flatnonzero(z[start:] - z[start] >= height)
        if not len(up):
            return self.timeline.duration
        j = start + int(up[0])
        i = max(j - 1, 0)
        share = (height - (z[i] - z[start])) / max(z[j] - z[i], 1e-9)
        return float(trajectory.times[i] + share * (trajectory.times[j] - trajectory.times[i]))


def _mean_point(kept: list[tuple[Floats, Floats, Floats]]) -> SqueezePoint:
    q, forces, places = (np.mean([entry[i] for entry in kept], axis=0) for i in range(3))
    return SqueezePoint(q, forces, places)
