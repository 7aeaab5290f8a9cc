"""From tactile frames to the plan's contacts: which region belongs to which, spikes left out, filtered.   (theory 9)"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.planner import ContactTimeline, PlannedForces
from pliant.tactile.filter import FilterNoise, RegionFilter
from pliant.tactile.regions import ArrayReading, TactileFrame, TactileProcessor, TactileRegion

LOADED_COUNTS = 20  # a pad is pressed from here on


@dataclass(frozen=True)
class TrackingOptions:
    """How frames become estimates.

    Args:
        noise: of the filter.
        filter: whether forces and points pass through the filter; off: the latest measurement counts.
        spike_force: a force that jumps by more than this and by more than itself from frame to frame is a spike [N].
        spike_frames: a jump that lasts longer than so many frames is believed.
    """

    noise: FilterNoise
    filter: bool
    spike_force: float
    spike_frames: int


@dataclass(frozen=True, eq=False)
class ContactEstimate:
    """What is known of the plan's n contacts now.

    Attributes:
        measured: n normal forces by the latest frames [N]; NaN where no array measures.
        points: n x 3 centres of pressure in the links' frames [m]; NaN without contact.
        forces, places: the same, filtered; as measured where the filter is off, as planned where no array measures.
        other: largest force of an array on a link that the plan does not touch with [N], and its name.
        fresh: whether a frame of one of the contacts' arrays has just come in.
        spikes: arrays whose frame was left out just now.
    """

    measured: Floats
    points: Floats
    forces: Floats
    places: Floats
    other: tuple[float, str]
    fresh: bool
    spikes: tuple[str, ...]


@dataclass(eq=False)
class PadWatch:
    """What has come from one array so far."""

    taken: float = -np.inf
    counts: Ints | None = None
    same_since: float = np.inf
    loaded: bool = False
    accepted: float = 0.0
    doubted: int = 0
    spikes: deque[float] = field(default_factory=deque)
    reading: ArrayReading | None = None


class ContactTracker:
    """Follows the plan's contacts through the frames.

    A frame whose force jumps by more than ``spike_force`` and by more than itself is left out, unless the jump
    lasts; a frame with numbers that are not finite counts as lost.
    """

    def __init__(self, timeline: ContactTimeline, processor: TactileProcessor, options: TrackingOptions) -> None:
        self.timeline, self.processor, self.options = timeline, processor, options
        n = len(timeline.links)
        arrays: dict[str, list[str]] = {}
        for name, array in processor.arrays.items():
            arrays.setdefault(array.link, []).append(name)
        self.arrays_of = [tuple(arrays.get(link, ())) for link in timeline.links]
        self.sensed = np.array([bool(names) for names in self.arrays_of])
        self._sensed_contacts = np.flatnonzero(self.sensed).tolist()
        self.used = tuple(dict.fromkeys(name for names in self.arrays_of for name in names))
        self.pads = {name: PadWatch() for name in processor.arrays}
        self.filters = [RegionFilter(options.noise) for _ in range(n)]
        self._contacts_of_link = {
            link: [i for i, other in enumerate(timeline.links) if other == link] for link in timeline.links
        }
        self._measured = np.where(self.sensed, 0.0, np.nan)
        self._points = np.full((n, 3), np.nan)
        self._other = (0.0, "")

    def update(
        self, now: float, frames: Mapping[str, TactileFrame], moment: PlannedForces, pushed: Floats
    ) -> ContactEstimate:
        """Take in what has come.

        Args:
            now: the driver's clock [s].
            frames: the latest frame of every array.
            moment: the plan now.
            pushed: n, what the corrections commanded so far add to the planned forces [N]. The plan as it is being
                carried out is what the filter predicts with; the bare plan would drag the estimate away.
        """
        fresh, spikes = False, []
        for name, frame in frames.items():
            pad = self.pads.get(name)
            if pad is None or frame.time <= pad.taken:
                continue
            taken = self._take(name, pad, frame, now)
            if taken is None:
                continue
            if not taken:
                spikes.append(name)
            fresh = fresh or name in self.used
        if fresh or spikes:
            self._assign(moment)
        forces, places = self._filtered(fresh, moment, pushed)
        return ContactEstimate(
            self._measured.copy(), self._points.copy(), forces, places, self._other, fresh, tuple(spikes)
        )

    def _take(self, name: str, pad: PadWatch, frame: TactileFrame, now: float) -> bool | None:
        """None: no new frame worth the name; False: a spike, left out; True: understood."""
        counts = np.asarray(frame.counts)
        if counts.dtype.kind == "f" and not np.isfinite(counts).all():
            return None  # its age is noticed
        same = pad.counts is not None and np.array_equal(counts, pad.counts)
        pad.loaded = bool(counts.max(initial=0) > LOADED_COUNTS)
        if not same or not pad.loaded:
            pad.same_since = frame.time
        pad.taken, pad.counts = frame.time, counts
        reading = self.processor.process(frame)
        options = self.options
        force = reading.force
        if (
            abs(force - pad.accepted) > max(options.spike_force, abs(pad.accepted))
            and pad.doubted < options.spike_frames
        ):
            pad.doubted += 1
            pad.spikes.append(now)
            return False
        pad.doubted, pad.accepted, pad.reading = 0, force, reading
        return True

    def _assign(self, moment: PlannedForces) -> None:
        """Give every region to the nearest planned contact of its link; where a link has none, it is 'other'."""
        n = len(self.timeline.links)
        totals, sums = np.zeros(n), np.zeros((n, 3))
        other, where = 0.0, ""
        for name, pad in self.pads.items():
            if pad.reading is None:
                continue
            regions = pad.reading.regions
            mine = self._contacts_of_link.get(self.processor.arrays[name].link)
            if mine is None:
                force = sum(region.force for region in regions)
                if force > other:
                    other, where = force, name
                continue
            for region in regions:
                i = mine[0] if len(mine) == 1 else self._nearest(region, mine, moment)
                totals[i] += region.force
                sums[i] += region.force * region.centre
        self._measured = np.where(self.sensed, totals, np.nan)
        touched = totals > 0
        self._points = np.where(touched[:, None], sums / np.where(touched, totals, 1.0)[:, None], np.nan)
        self._other = (other, where)

    @staticmethod
    def _nearest(region: TactileRegion, mine: list[int], moment: PlannedForces) -> int:
        away = [float(np.linalg.norm(region.centre - moment.points[i])) for i in mine]
        return mine[int(np.argmin(away))]

    def _filtered(self, fresh: bool, moment: PlannedForces, pushed: Floats) -> tuple[Floats, Floats]:
        forces, places = moment.forces[:, 2].copy(), moment.points.copy()
        for i in self._sensed_contacts:
            touching = self._measured[i] > 0
            if not self.options.filter:
                forces[i] = self._measured[i]
                if touching:
                    places[i] = self._points[i]
                continue
            if not touching:  # nothing there: the estimate would go on living from the plan alone
                if fresh:
                    self.filters[i].reset()
                forces[i] = 0.0
                continue
            seen = (self._measured[i], self._points[i]) if fresh else None
            estimate = self.filters[i].update(seen, (moment.forces[i, 2] + pushed[i], moment.points[i]))
            if estimate is not None:
                forces[i], places[i] = max(estimate[0], 0.0), estimate[1]
        return forces, places
