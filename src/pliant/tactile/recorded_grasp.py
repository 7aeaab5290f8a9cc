"""What a recorded grasp shows: which pad was touched when, how hard, where; how wide and how stiff the object is.

Width comes from geometry alone: at the moment when pads that face each other both touch, joint angles put their contact
points and normals into space, and a ball tangent to the pads there has ``p_i + R n_i = centre`` for every pad i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from pliant.arrays import Floats
from pliant.errors import Problem, RecordingError
from pliant.robot import Hand
from pliant.tactile.cells import CellHealth, judge_cells
from pliant.tactile.pad import PadSensor
from pliant.tactile.recording import RecordedGrasp, Recording
from pliant.tactile.regions import TactileFrame, TactileProcessor, find_regions

FACING = -0.4  # cosine between normals of pads that face each other; three fingers towards a centre have -0.5
LEAST_FRAMES = 4
POINT_FRAMES = 3
ONSET_FRAMES = 4
SHARE_OF_PEAK = 0.2
SURE_FORCE = 0.3  # from here on both pads of a pair are compared [N]
LARGEST_LAG = 4  # frames
STOPPED = 0.1  # of the closing speed at touch


@dataclass(frozen=True)
class Onset:
    """The touch that a pad's grasp grew from.

    Attributes:
        first: time of the first frame with any contact, a passing brush included [s].
        frame: number of the first frame of the lasting contact.
        time: when its force was zero, by extrapolation [s].
    """

    first: float
    frame: int
    time: float


def find_onset(time: Floats, force: Floats) -> Onset | None:
    """Onset of the lasting contact of a pad; None if nothing touched it.

    The lasting contact is the last rise from zero before the force passes a fifth of its largest value. Between smooth
    bodies force grows as indentation to the power 1.5 (Hertz), so at steady closing speed force^(2/3) is a straight
    line in time; its zero is the touch. It must lie between the last empty frame and the first pressed one.
    """
    if not np.any(force > 0):
        return None
    pressed = np.flatnonzero(force > 0)
    strong = int(np.argmax(force >= SHARE_OF_PEAK * force.max()))
    empty = np.flatnonzero(force[: strong + 1] <= 0)
    start = int(empty[-1]) + 1 if len(empty) else 0
    touch = float(time[start])
    if start > 0:
        end = min(start + ONSET_FRAMES, len(time))
        if end - start >= 2 and np.ptp(time[start:end]) > 0:
            slope, offset = np.polyfit(time[start:end] - touch, force[start:end] ** (2.0 / 3.0), 1)
            if slope > 0:
                touch -= float(offset / slope)
        touch = float(np.clip(touch, time[start - 1], time[start]))
    return Onset(float(time[pressed[0]]), start, touch)


def frame_lag(
    frame_time: Floats, force: Floats, joint_time: Floats, closing: Floats, onset: Onset, period: float
) -> float | None:
    """By how much tactile frames lag behind joint angles [s]: the delay that makes force a function of closing.

    While the fingers close steadily a delay cannot be found from an offset; where they stop, it can. Over the frames
    from the onset to just after the stop, force is fitted by a low polynomial of ``closing(t - lag)``; the lag of the
    best fit is returned. Creep of the rubber is counted as lag. None where there are too few frames to tell.

    Args:
        frame_time, force: of one pad.
        joint_time, closing: distance closed [m], increasing when the hand closes.
        onset: of that pad.
        period: time between frames [s].
    """
    speed = np.gradient(np.interp(frame_time, joint_time, closing), frame_time) if len(frame_time) > 2 else None
    if speed is None or period <= 0:
        return None
    start = onset.frame
    moving = np.abs(speed[: start + 1]).max()
    still = np.flatnonzero(np.abs(speed[start:]) < STOPPED * moving)
    if moving <= 0 or not len(still):
        return None
    stop = min(start + int(still[0]) + 2, len(frame_time) - 1)
    window = slice(start, stop + 1)
    y = force[window]
    if len(y) < 6 or np.ptp(y) <= 0:
        return None
    order = 3 if len(y) > 7 else 2
    lags = np.linspace(0.0, LARGEST_LAG * period, 8 * LARGEST_LAG + 1)
    misfit = []
    for lag in lags:
        x = np.interp(frame_time[window] - lag, joint_time, closing)
        scale = np.ptp(x)
        if scale <= 0:
            return None
        A = np.vander((x - x.mean()) / scale, order + 1)
        misfit.append(float(np.sum((A @ np.linalg.lstsq(A, y, rcond=None)[0] - y) ** 2)))
    return float(lags[int(np.argmin(misfit))])


class GraspStatus(Enum):
    """What became of a recorded grasp."""

    HELD = "held"
    ONE_SIDED = "one_sided"
    NO_CONTACT = "no_contact"
    TOO_SHORT = "too_short"


@dataclass(frozen=True, eq=False)
class PadTrace:
    """One array over a grasp.

    Attributes:
        array, link: which.
        time: of the frames [s].
        force: total over its regions, by the calibration table [N].
        centre: n x 3, centre of pressure of the strongest region in the link's frame [m]; NaN without contact.
        cell: n x 2, the same in (row, column).
        onset: when it was touched.
        point, normal: contact point and outward normal just after the touch, in the link's frame.
        peak_frame: number of the frame with the largest force.
        saturated: whether a cell reached its end of range.
    """

    array: str
    link: str
    time: Floats
    force: Floats
    centre: Floats
    cell: Floats
    onset: Onset
    point: Floats
    normal: Floats
    peak_frame: int
    saturated: bool


@dataclass(frozen=True, eq=False)
class GraspReport:
    """One grasp, understood. Numbers that the grasp does not give are None.

    Attributes:
        index, status, pads: which grasp, how it went, the pads that were touched (in order of touch).
        touch_time: when pads that face each other first both touched, on the frames' clock [s].
        diameter: of the ball between the pads then, the frames' lag taken out [m].
        diameter_raw: the same with the lag left in: the fingers have closed further by then [m].
        misfit: how far the pads' normals miss one common centre [m].
        stiffness: force gained per distance closed, mean over the facing pads [N/m].
        closed: distance closed after the touch [m].
        balance: smallest over largest final force of the facing pads; 1 where both measure the same.
        lag: of this grasp's frames behind its joints, as far as it can be measured [s].
    """

    index: int
    status: GraspStatus
    pads: tuple[PadTrace, ...] = ()
    touch_time: float | None = None
    diameter: float | None = None
    diameter_raw: float | None = None
    misfit: float | None = None
    stiffness: float | None = None
    closed: float | None = None
    balance: float | None = None
    lag: float | None = None


@dataclass(frozen=True, eq=False)
class RecordingReport:
    """A recording, understood.

    Attributes:
        source: the file.
        lag: of tactile frames behind joint angles, the median over grasps and pads [s].
        lag_measured: False where no grasp shows it, and one frame period was taken.
        health: bad cells, by array.
        grasps: one report each.
    """

    source: str
    lag: float
    lag_measured: bool
    health: dict[str, CellHealth]
    grasps: tuple[GraspReport, ...]

    @property
    def diameter(self) -> float | None:
        """Median over the grasps [m]."""
        return _median([grasp.diameter for grasp in self.grasps])

    @property
    def stiffness(self) -> float | None:
        """Median over the grasps [N/m]."""
        return _median([grasp.stiffness for grasp in self.grasps])

    @property
    def gains(self) -> dict[str, float]:
        """What each array's forces are to be multiplied with so that facing pads, which press on one thing, agree."""
        return balanced_gains([grasp.pads for grasp in self.grasps if grasp.status is GraspStatus.HELD])


def analyse_recording(
    recording: Recording, hand: Hand, *, sensor: PadSensor | None = None, gains: Mapping[str, float] | None = None
) -> RecordingReport:
    """Play every grasp through the tactile processing and report what it shows.

    Args:
        recording: of a hand with the arrays and joints of ``hand``.
        sensor: calibration and temperature of the pads; the SDH2's at operating temperature by default.
        gains: of the arrays, as ``RecordingReport.gains`` of an earlier analysis has them; 1 where left out.
    """
    _check_names(recording, hand)
    processor = TactileProcessor.for_hand(
        hand.description, sensor=sensor, saturation=recording.layout.saturation, gains=gains
    )
    health = {
        name: judge_cells(np.concatenate([g.frames[name] for g in recording.grasps]), processor.layout(name).exists)
        for name, _, _ in recording.layout.arrays
    }
    processor = replace(processor, health=health)
    traced = [(grasp, _trace(grasp, processor)) for grasp in recording.grasps]
    facing = [_facing_pads(pads, grasp, hand) for grasp, pads in traced]
    closings = [_closing(pair, grasp, hand) for (grasp, _), pair in zip(traced, facing, strict=True)]
    lags = [_lags(grasp, pair, c) for (grasp, _), pair, c in zip(traced, facing, closings, strict=True)]
    found = [lag for some in lags for lag in some]
    lag = float(np.median(found)) if found else max(grasp.frame_period for grasp in recording.grasps)
    reports = tuple(
        _report(grasp, pads, pair, closing, hand, lag, own)
        for (grasp, pads), pair, closing, own in zip(traced, facing, closings, lags, strict=True)
    )
    return RecordingReport(recording.source, lag, bool(found), health, reports)


def ball_between(points: Floats, normals: Floats) -> tuple[float, Floats, float]:
    """Radius, centre and misfit of the ball that touches pads at ``points`` (n x 3) with outward ``normals`` (n x 3).

    Least squares of ``p_i + R n_i = c``: with means taken off, ``R = -sum dp.dn / sum dn.dn``. For two opposed pads
    2 R is their distance; for pads inclined by t it is distance / cos t.
    """
    dp, dn = points - points.mean(axis=0), normals - normals.mean(axis=0)
    radius = -float(np.sum(dp * dn) / np.sum(dn * dn))
    centres = points + radius * normals
    centre = centres.mean(axis=0)
    return radius, centre, float(np.linalg.norm(centres - centre, axis=1).max())


def _trace(grasp: RecordedGrasp, processor: TactileProcessor) -> tuple[PadTrace, ...]:
    """Traces of the arrays that were touched, in order of touch."""
    if len(grasp.frame_time) < LEAST_FRAMES:
        return ()
    readings: dict[str, list[tuple[float, Floats, Floats, bool]]] = {name: [] for name in grasp.frames}
    nothing = np.full(3, np.nan), np.full(2, np.nan)
    active = [name for name, counts in grasp.frames.items() if counts.any()]
    for name in active:
        for time, counts in zip(grasp.frame_time, grasp.frames[name], strict=True):
            reading = processor.process(TactileFrame(name, float(time), counts))
            best = reading.regions[0] if reading.regions else None
            centre, cell = nothing if best is None else (best.centre, np.array(best.cell))
            readings[name].append((reading.force, centre, cell, best is not None and best.saturated))
    traces = []
    for name in active:
        force = np.array([entry[0] for entry in readings[name]])
        onset = find_onset(grasp.frame_time, force)
        if onset is None:
            continue
        point, normal = _first_point(grasp, processor, name, onset)
        traces.append(
            PadTrace(
                name,
                processor.arrays[name].link,
                grasp.frame_time,
                force,
                np.array([entry[1] for entry in readings[name]]),
                np.array([entry[2] for entry in readings[name]]),
                onset,
                point,
                normal,
                int(np.argmax(force)),
                any(entry[3] for entry in readings[name]),
            )
        )
    return tuple(sorted(traces, key=lambda trace: trace.onset.time))


def _first_point(grasp: RecordedGrasp, processor: TactileProcessor, name: str, onset: Onset) -> tuple[Floats, Floats]:
    """Contact point and normal from the sum of the first frames: one frame of few counts jumps from cell to cell."""
    counts = grasp.frames[name][onset.frame : onset.frame + POINT_FRAMES]
    forces = sum(processor.process(TactileFrame(name, 0.0, frame)).forces for frame in counts)
    regions = find_regions(processor.arrays[name], processor.layout(name), np.asarray(forces))
    return regions[0].centre, regions[0].normal


def _placed(pads: Sequence[PadTrace], joints: Floats, grasp: RecordedGrasp, hand: Hand) -> tuple[Floats, Floats]:
    """Contact points and outward normals of pads in the hand's frame, at joint angles in the recording's order."""
    q = hand.robot.q(dict(zip(grasp.layout.joints, joints, strict=True)))
    poses = hand.robot.poses([pad.link for pad in pads], q)
    points = np.array([T.act(pad.point) for T, pad in zip(poses, pads, strict=True)])
    return points, np.array([T.rotation @ pad.normal for T, pad in zip(poses, pads, strict=True)])


def _facing_pads(pads: tuple[PadTrace, ...], grasp: RecordedGrasp, hand: Hand) -> tuple[PadTrace, ...]:
    """The pads, in order of touch, up to the first that faces an earlier one; empty if none does."""
    for last in range(1, len(pads)):
        some = pads[: last + 1]
        _, n = _placed(some, grasp.joints_at(some[-1].onset.time), grasp, hand)
        if (n[:-1] @ n[-1]).min() < FACING:
            return some
    return ()


def _closing(pads: tuple[PadTrace, ...], grasp: RecordedGrasp, hand: Hand) -> Floats:
    """Distance closed at every joint sample: how much the ball between the contact points has shrunk [m]."""
    if not pads:
        return np.zeros(len(grasp.joints))
    diameters = np.array([2.0 * ball_between(*_placed(pads, q, grasp, hand))[0] for q in grasp.joints])
    return diameters[0] - diameters


def _lags(grasp: RecordedGrasp, pads: tuple[PadTrace, ...], closing: Floats) -> list[float]:
    found = (
        frame_lag(grasp.frame_time, pad.force, grasp.joint_time, closing, pad.onset, grasp.frame_period) for pad in pads
    )
    return [lag for lag in found if lag is not None]


def _report(
    grasp: RecordedGrasp,
    pads: tuple[PadTrace, ...],
    facing: tuple[PadTrace, ...],
    closing: Floats,
    hand: Hand,
    lag: float,
    lags: list[float],
) -> GraspReport:
    if len(grasp.frame_time) < LEAST_FRAMES:
        return GraspReport(grasp.index, GraspStatus.TOO_SHORT)
    if not facing:
        status = GraspStatus.ONE_SIDED if pads else GraspStatus.NO_CONTACT
        return GraspReport(grasp.index, status, pads)
    touch = facing[-1].onset.time
    radius, _, misfit = ball_between(*_placed(facing, grasp.joints_at(touch - lag), grasp, hand))
    raw = ball_between(*_placed(facing, grasp.joints_at(touch), grasp, hand))[0]
    seen = facing[-1].onset.frame > 0  # a contact that was there from the first frame on began before the recording
    stiffness, closed = _stiffness(grasp, facing, closing, touch, lag)
    final = [float(pad.force[-1]) for pad in facing]
    return GraspReport(
        grasp.index,
        GraspStatus.HELD,
        pads,
        touch if seen else None,
        2.0 * radius if seen else None,
        2.0 * raw if seen else None,
        misfit,
        stiffness,
        closed,
        min(final) / max(final) if max(final) > 0 else None,
        float(np.median(lags)) if lags else None,
    )


def _stiffness(
    grasp: RecordedGrasp, pads: tuple[PadTrace, ...], closed: Floats, touch: float, lag: float
) -> tuple[float | None, float | None]:
    """Slope of force over distance closed, from the touch until the fingers stop: least squares [N/m], [m]."""
    time = grasp.frame_time
    closing = np.interp(time - lag, grasp.joint_time, closed)
    if len(time) < 3:
        return None, None
    speed = np.gradient(closing, time)
    start = pads[-1].onset.frame
    fastest = np.abs(speed[: start + 1]).max()
    still = np.flatnonzero(np.abs(speed[start:]) < STOPPED * fastest)
    end = start + (int(still[0]) if len(still) else len(time) - 1 - start)
    force = np.mean([pad.force for pad in pads], axis=0)[start : end + 1]
    distance = closing[start : end + 1]
    at_touch = float(np.interp(touch - lag, grasp.joint_time, closed))
    if len(force) < 3 or np.ptp(distance) <= 0:
        return None, None
    return float(np.polyfit(distance, force, 1)[0]), float(distance[-1] - at_touch)


def balanced_gains(grasps: Sequence[Sequence[PadTrace]]) -> dict[str, float]:
    """Gains by array with which the two pads of every grasp measure the same force, in the mean of the logarithms.

    Only ratios show in a grasp: the geometric mean of the gains is 1. Grasps of more than two pads are left out, for
    their forces need not be equal.
    """
    pairs = []
    for pads in grasps:
        if len(pads) == 2:
            both = np.array([pad.force for pad in pads])
            pressed = (both > SURE_FORCE).all(axis=0)
            if pressed.any():
                pairs.append(
                    ([pad.array for pad in pads], float(np.median(np.log(both[0, pressed] / both[1, pressed]))))
                )
    names = sorted({name for arrays, _ in pairs for name in arrays})
    if not names:
        return {}
    A, b = np.zeros((len(pairs) + 1, len(names))), np.zeros(len(pairs) + 1)
    for row, ((first, second), ratio) in enumerate(pairs):
        A[row, names.index(first)], A[row, names.index(second)], b[row] = 1.0, -1.0, -ratio
    A[-1] = 1.0
    return {name: float(np.exp(x)) for name, x in zip(names, np.linalg.lstsq(A, b)[0], strict=True)}


def _check_names(recording: Recording, hand: Hand) -> None:
    shapes = {array.name: (array.rows, array.columns) for array in hand.description.tactile}
    problems = [
        Problem(name, f"{rows} x {columns} cells", f"'{hand.name}' has {shapes.get(name, 'no such array')}")
        for name, rows, columns in recording.layout.arrays
        if shapes.get(name) != (rows, columns)
    ]
    if set(recording.layout.joints) != set(hand.robot.joint_names):
        problems.append(
            Problem("joints", ", ".join(recording.layout.joints), f"those of the hand: {hand.robot.joint_names}")
        )
    if problems:
        raise RecordingError(recording.source, problems)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
