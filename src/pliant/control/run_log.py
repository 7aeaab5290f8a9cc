"""The complete log of a run: planned, measured, filtered, wanted, commanded; per contact and joint; every event.

Rows are written into arrays that double when full, so that a step never waits for memory or disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Bools, Floats
from pliant.control.events import Event, RunPhase
from pliant.tactile import PadSensor, TactileFrame

PHASES = tuple(RunPhase)


@dataclass(frozen=True, eq=False)
class PadFrames:
    """All frames of one array: when they were taken [s] and their counts, k x rows x columns."""

    times: Floats
    counts: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class RunLog:
    """What happened: m steps, n contacts, j joints.

    Attributes:
        joints, contacts: their names.
        table: one array of m rows per quantity: ``time``, ``plan_time`` [s], ``phase`` (number in ``PHASES``),
            ``q_planned``, ``q_measured``, ``q_commanded`` (j), ``torque_measured``, ``torque_planned``,
            ``torque_commanded`` (j; NaN where unknown), ``force_planned``, ``force_measured``, ``force_filtered``,
            ``force_wanted`` (n) [N], ``point_planned``, ``point_measured``, ``point_filtered`` (n x 3, in the links'
            frames) [m]. Planned and measured values are of one time; phase, wanted forces and
            commands are for the time until the next step.
        events: in the order in which they happened.
        frames: of every array that sent any.
        facts: anything else worth keeping, in JSON's types; ``pad_sensor`` is what counts meant in this run.
    """

    joints: tuple[str, ...]
    contacts: tuple[str, ...]
    table: Mapping[str, NDArray[Any]]
    events: tuple[Event, ...]
    frames: Mapping[str, PadFrames] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table["time"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.table[name]

    @property
    def phases(self) -> tuple[RunPhase, ...]:
        """The phase of every step."""
        return tuple(PHASES[int(number)] for number in self.table["phase"])

    @property
    def end(self) -> RunPhase:
        """The last phase."""
        return PHASES[int(self.table["phase"][-1])] if len(self) else RunPhase.STOPPED

    @property
    def reason(self) -> str:
        """Why it was aborted; empty if it was not."""
        return next((event.text for event in self.events if event.kind == "abort"), "")

    @property
    def pad_sensor(self) -> PadSensor:
        """What its counts mean: the sensor the controller read them with; standard pads where the log has none."""
        facts = self.facts.get("pad_sensor")
        return PadSensor() if facts is None else PadSensor.from_facts(facts, source="run log")

    def during(self, phase: RunPhase) -> Bools:
        """Which steps belong to a phase."""
        return np.asarray(self.table["phase"] == PHASES.index(phase))


def row_shapes(joints: int, contacts: int) -> dict[str, tuple[int, ...]]:
    """Shape of one row of every quantity that a log has."""
    j, n, p = (joints,), (contacts,), (contacts, 3)
    return {
        "time": (),
        "plan_time": (),
        "phase": (),
        **dict.fromkeys(("q_planned", "q_measured", "q_commanded"), j),
        **dict.fromkeys(("torque_planned", "torque_measured", "torque_commanded"), j),
        **dict.fromkeys(("force_planned", "force_measured", "force_filtered", "force_wanted"), n),
        **dict.fromkeys(("point_planned", "point_measured", "point_filtered"), p),
    }


class RunRecorder:
    """Writes a log row by row."""

    def __init__(self, joints: tuple[str, ...], contacts: tuple[str, ...], *, capacity: int = 2048) -> None:
        self.joints, self.contacts = joints, contacts
        self._shapes = row_shapes(len(joints), len(contacts))
        self._arrays = {name: np.full((capacity, *shape), np.nan) for name, shape in self._shapes.items()}
        self._rows = 0
        self.events: list[Event] = []
        self._frames: dict[str, list[tuple[float, NDArray[np.int16]]]] = {}

    def append(self, values: Mapping[str, Any]) -> None:
        """One row; quantities that are left out or None are NaN."""
        if self._rows == len(self._arrays["time"]):
            for name, array in self._arrays.items():
                self._arrays[name] = np.concatenate([array, np.full_like(array, np.nan)])
        for name, value in values.items():
            if value is not None:
                self._arrays[name][self._rows] = value
        self._rows += 1

    def frame(self, frame: TactileFrame) -> None:
        """Keep a frame if it is newer than the last one of its array."""
        kept = self._frames.setdefault(frame.array, [])
        if not kept or frame.time > kept[-1][0]:
            counts = np.asarray(frame.counts)
            if counts.dtype.kind == "f":
                counts = np.nan_to_num(counts, nan=-1.0)
            kept.append((frame.time, np.minimum(np.maximum(counts, -1), 2**15 - 1).astype(np.int16)))

    def event(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)

    def log(self, facts: Mapping[str, Any] | None = None) -> RunLog:
        """What has been written so far."""
        table: dict[str, NDArray[Any]] = {name: array[: self._rows].copy() for name, array in self._arrays.items()}
        table["phase"] = np.nan_to_num(table["phase"]).astype(np.int8)
        frames = {
            name: PadFrames(np.array([time for time, _ in kept]), np.array([counts for _, counts in kept]))
            for name, kept in self._frames.items()
        }
        return RunLog(self.joints, self.contacts, table, tuple(self.events), frames, dict(facts or {}))
