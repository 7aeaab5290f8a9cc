"""What k and D of a trial squeeze are worth on a body whose modulus is wrong by two: the same runs with and without.

    pliant plan ball.yaml --out ball.plan          # docs/first_plan.md
    python benchmarks/calibrated_runs.py ball.yaml ball.plan [--picture docs/pictures/calibrated_runs.svg]

For a body that is really twice, and one that is half as stiff as the task says: `pliant calibrate --truth young=F`,
then `pliant run --world young=F` four times, with and without the calibration, with and without the force loop. Told
are forces over planned ones: the largest that the pads measured in squeeze and lift, the largest true one, and the mean
of the hold, each of the contact that is farthest off; and how long after the touch all of them are within 15 % of the
wanted ones. The picture shows the force that one pad measured in the first of these worlds, over time since the touch.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from record import about, write

from pliant.cli import run_command
from pliant.control import RunLog, RunPhase
from pliant.files import load_run
from pliant.viewer import Line, line_figure

TRUE = (2.0, 0.5)
"""Young's modulus of the lab's body over that of the task."""
SETTLED = 0.15
SHOWN = 2.5
"""Of the picture, after the touch [s]."""


def answer(*words: str) -> dict[str, Any]:
    """What a command of pliant answers with --json."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run_command([*words, "--json"])
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def touched(log: RunLog) -> float:
    """When the squeeze begins [s]."""
    return float(log["time"][log.during(RunPhase.SQUEEZE)][0])


def numbers(log: RunLog, told: dict[str, Any]) -> dict[str, Any]:
    """One run, forces over planned ones; the contact that is farthest off counts."""
    if not log.during(RunPhase.HOLD).any():
        return {"outcome": told["outcome"], "reason": told["reason"]}
    time, measured = log["time"] - touched(log), np.nan_to_num(log["force_measured"])
    planned = log["force_planned"][log.during(RunPhase.HOLD)].mean(axis=0)
    early, hold = log.during(RunPhase.SQUEEZE) | log.during(RunPhase.LIFT), log.during(RunPhase.HOLD)
    held = measured[hold].mean(axis=0) / planned
    wanted = log["force_wanted"][hold].mean(axis=0)
    off = (np.abs(measured - wanted) > SETTLED * wanted).any(axis=1) & (early | hold | log.during(RunPhase.MOVE))
    return {
        "outcome": told["outcome"],
        "most": float((measured[early] / planned).max()),
        "true_most": told["max_force_n"] / float(planned.max()),
        "hold": float(held[np.argmax(np.abs(held - 1.0))]),
        "settled_s": float(time[off].max()) if off.any() else 0.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("plan")
    parser.add_argument("--true", type=float, nargs="+", default=TRUE, help="of these moduli over the task's")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/calibrated_runs.json"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    lines: list[Line] = []
    print(
        "| E really / in the task | k, D | force loop | | most measured | most true | in the hold | settled after [s] |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for number, true in enumerate(options.true):
            world, file = ("--world", f"young={true:g}"), str(Path(folder) / f"{true:g}.calibration.yaml")
            found = answer("calibrate", options.task, "--plan", options.plan, "--truth", world[1], "--out", file)
            if found["status"] != "found":
                print(f"| {true:g} | the squeeze failed: {found['reason']} |", flush=True)
            for calibrated in (False, True) if found["status"] == "found" else (False,):
                used = ("--calibration", file) if calibrated else ("--no-calibration",)
                text = f"{found['k']:.2f}, {found['stiffness_factor']:.2f}" if calibrated else "not used"
                for loop in (True, False):
                    out = str(Path(folder) / "one.run")
                    told = answer(
                        "run", options.plan, *world, *used, "--out", out, *(() if loop else ("--no-force-loop",))
                    )
                    log = load_run(out)
                    row = numbers(log, told) | {"young": true, "calibrated": calibrated, "force_loop": loop}
                    rows.append(row)
                    start = f"| {true:g} | {text} | {'on' if loop else 'off'} | {row['outcome']} |"
                    values = (row.get(name, np.nan) for name in ("most", "true_most", "hold", "settled_s"))
                    print(start, " | ".join(f"{value:.2f}" for value in values), "|", flush=True)
                    if number == 0 and "hold" in row:
                        label = f"{'with' if calibrated else 'without'} k and D, {'' if loop else 'no '}force loop"
                        lines.append(curve(log, label, calibrated, len(lines)))
                        planned = planned_curve(log)
    if options.picture is not None and lines:
        options.picture.write_text(
            line_figure(
                [*lines, planned],
                title="Force of one contact: solid with k and D, dotted without, dashed planned",
                x_label="time since the touch [s]",
                y_label="N",
                width=720,
                height=340,
                alone=True,
            ),
            encoding="utf-8",
        )
    write(options.out, {**about("mujoco"), "rows": rows})


def shown(log: RunLog) -> Any:
    """Rows and times of the picture."""
    time = log["time"] - touched(log)
    rows = np.flatnonzero((time > -0.2) & (time < SHOWN))
    return rows, time[rows]


def curve(log: RunLog, label: str, calibrated: bool, colour: int) -> Line:
    """What the pad of the first contact measured."""
    rows, time = shown(log)
    return Line(label, time, log["force_measured"][rows, 0], "solid" if calibrated else "dotted", colour)


def planned_curve(log: RunLog) -> Line:
    """What was planned for it."""
    rows, time = shown(log)
    return Line("planned", time, log["force_planned"][rows, 0], "dashed", 4)


if __name__ == "__main__":
    main()
