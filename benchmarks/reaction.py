"""From slip to a stronger grip, in the lab: how long it takes on the clock of the samples.

    pliant plan ball_gripper --effort quick --out ball_gripper.plan
    python benchmarks/reaction.py ball_gripper.plan [--times 4] [--friction 0.6] [--out out/benchmarks/reaction.json]

While the object is held its friction is cut to a share of the truth for 60 ms, ``times`` times in one run. Told for
each: when the object began to slide (it leaves its place in the palm by more than 5 mm/s), when a pad took the frame
that shows it, when the command for a stronger grip was given, when the true force was a tenth larger, and how far the
object went.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from record import about, write

from pliant.control import ControlOptions, RunPhase
from pliant.files import load_plan
from pliant.lab import LabDriver, TrialSettings, run_trial
from pliant.robot import PALM_FRAME

FIRST, PAUSE, LASTS = 0.3, 2.5, 0.06  # before the first slip, between two, of each [s]
SLIDES = 0.005  # [m/s]
STRONGER = 1.1


class SlipperyHand:
    """The lab's driver with an object that becomes smooth for moments while it is held."""

    def __init__(self, lab: LabDriver, times: int, friction: float) -> None:
        self.lab, self.times, self.share = lab, times, friction
        self.held_since = np.inf
        self.cuts: list[tuple[float, float]] = []
        self.path: list[tuple[float, float, float]] = []  # time, way in the palm, largest true force
        self._friction = lab.simulation.model.flex_friction[:, 0].copy()
        self._start: np.ndarray | None = None
        self._since = -np.inf

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lab, name)

    def command_positions(self, positions: np.ndarray) -> None:
        self.lab.command_positions(positions)

    def step(self) -> None:
        lab, now = self.lab, self.lab.time
        if np.isfinite(self.held_since):
            due = self.held_since + FIRST + PAUSE * len(self.cuts)
            cut = np.isfinite(self._since)
            if not cut and now >= due and len(self.cuts) < self.times:
                self._since = now
                lab.simulation.model.flex_friction[:, 0] = self.share * self._friction
            elif cut and now - self._since >= LASTS:
                self._restore(now)
            palm = lab.assembly.robot.pose(PALM_FRAME, lab.true_joints())
            place = palm.actInv(lab.simulation.object_state().T_world_object).translation
            self._start = place if self._start is None else self._start
            force = max((pad.total for pad in lab.pads.read().values()), default=0.0)
            self.path.append((now, float(np.linalg.norm(place - self._start)), force))
        lab.step()

    def _restore(self, now: float) -> None:
        self.cuts.append((self._since, now))
        self._since = -np.inf
        self.lab.simulation.model.flex_friction[:, 0] = self._friction


def measure(path: Path, times: int, friction: float, settings: TrialSettings) -> list[dict[str, float]]:
    plan = load_plan(path)
    assert plan.best is not None
    kept: list[SlipperyHand] = []

    def wrap(lab: LabDriver) -> Any:
        kept.append(SlipperyHand(lab, times, friction))
        return kept[0]

    def held(lab: LabDriver, phase: RunPhase) -> None:
        if phase is RunPhase.HOLD:
            kept[0].held_since = lab.time

    result = run_trial(plan.task, plan.best, settings=settings, wrap=wrap, on_phase=held)
    print(f"{result.outcome} {result.reason}")
    log, way = result.log, np.array(kept[0].path)
    noticed = np.array([event.time for event in log.events if event.kind == "slip"])
    frames = np.unique(np.concatenate([pad.times for pad in log.frames.values()]))
    rows = []
    for start, end in kept[0].cuts:
        here = (way[:, 0] >= start) & (way[:, 0] < end + 0.5)
        time, moved, force = way[here].T
        speed = np.gradient(moved, time)
        sliding = np.flatnonzero(np.abs(speed) > SLIDES)
        after = noticed[noticed >= start]
        if not len(sliding) or not len(after):
            rows.append({"cut_s": start, "began_ms": np.nan})
            continue
        began, told = float(time[sliding[0]]), float(after[0])
        more = np.flatnonzero((time > began) & (force > STRONGER * force[sliding[0]]))
        rows.append(
            {
                "cut_s": float(start),
                "began_ms": 1e3 * (began - start),
                "frame_ms": 1e3 * (float(frames[frames <= told + 1e-9][-1]) - began),
                "command_ms": 1e3 * (told - began),
                "force_ms": 1e3 * (float(time[more[0]]) - began) if len(more) else np.nan,
                "moved_at_command_mm": 1e3 * float(np.interp(told, time, moved) - moved[sliding[0]]),
                "moved_mm": 1e3 * float(np.abs(moved - moved[sliding[0]]).max()),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--friction", type=float, default=0.6)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/reaction.json"))
    options = parser.parse_args()
    control = ControlOptions(hold=FIRST + PAUSE * options.times)
    settings = TrialSettings(control=control, from_pregrasp=True)
    settings = replace(settings, control=replace(control, watch=replace(control.watch, slid=1.0)))
    rows = measure(options.plan, options.times, options.friction, settings)
    names = ("began_ms", "frame_ms", "command_ms", "force_ms", "moved_at_command_mm", "moved_mm")
    print("| slip | " + " | ".join(names) + " |")
    for k, row in enumerate(rows):
        print(f"| {k} | " + " | ".join(f"{row.get(name, np.nan):.1f}" for name in names) + " |")
    write(options.out, {**about("mujoco"), "friction": options.friction, "slips": rows})


if __name__ == "__main__":
    main()
