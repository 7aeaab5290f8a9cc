"""A run beside its plan: forces, centres of pressure, joints and torques of the hand, as numbers and pictures.

([D] chapter 4, fig. 7-8)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from pliant.control import RunLog, RunPhase, finger_torques
from pliant.planner import Plan
from pliant.viewer import run_figures

HELD = (RunPhase.LIFT, RunPhase.MOVE, RunPhase.HOLD)
PICTURES = {
    "forces": "contact forces",
    "points": "centres of pressure",
    "finger_joints": "joints of the hand",
    "finger_torques": "torques of the hand",
}
MOST_ROWS = 150
"""Steps of a run in a picture: enough for its width."""


@dataclass(frozen=True)
class ContactComparison:
    """One contact in one phase, means over its time.

    Args:
        phase: of the run.
        name: the contact's link.
        planned_force, measured_force: normal force [N].
        point_error: median distance of the measured centre of pressure from the planned one [m]; NaN if never felt.
    """

    phase: str
    name: str
    planned_force: float
    measured_force: float
    point_error: float

    @property
    def force_error(self) -> float:
        """Measured over planned, less one; NaN where nothing was planned."""
        return self.measured_force / self.planned_force - 1.0 if self.planned_force > 0.0 else float("nan")


def compare_contacts(log: RunLog, phase: RunPhase = RunPhase.HOLD) -> tuple[ContactComparison, ...]:
    """Every contact of a run in one phase beside the plan; empty where the run has no such phase."""
    rows = log.during(phase)
    if not rows.any():
        return ()
    away = np.linalg.norm(log["point_measured"][rows] - log["point_planned"][rows], axis=2)
    answer = []
    for i, name in enumerate(log.contacts):
        felt = np.isfinite(away[:, i])
        answer.append(
            ContactComparison(
                str(phase),
                name,
                float(np.nanmean(log["force_planned"][rows, i])),
                float(np.nan_to_num(log["force_measured"][rows, i]).mean()),
                float(np.median(away[felt, i])) if felt.any() else float("nan"),
            )
        )
    return tuple(answer)


def cell_size(plan: Plan) -> float:
    """The shorter side of the hand's tactile cells [m]."""
    assert plan.task.assembly.hand is not None
    return min(min(array.cell) for array in plan.task.assembly.hand.tactile)


def run_numbers(plan: Plan, log: RunLog, answer: dict[str, Any]) -> dict[str, Any]:
    """What the page says of a run; ``answer`` is that of `pliant run`. NaN becomes None."""
    cell = cell_size(plan)
    rows = [row for phase in HELD for row in compare_contacts(log, phase)]
    errors = [row.force_error for row in rows if np.isfinite(row.force_error)]
    centres = [row.point_error / cell for row in rows if np.isfinite(row.point_error)]
    kinds = [event["kind"] for event in answer["events"] if event["kind"] not in ("phase", "touch")]
    return _plain(
        {
            "outcome": answer["outcome"],
            "reason": answer["reason"],
            "slip_mm": None if answer["slip_m"] is None else 1e3 * answer["slip_m"],
            "peak_force_n": answer["peak_force_n"],
            "planned_peak_force_n": answer["planned_peak_force_n"],
            "permitted_force_n": answer["permitted_force_n"],
            "cell_mm": 1e3 * cell,
            "worst_error": max(errors, key=abs, default=float("nan")),
            "errors": errors,
            "median_error": median(map(abs, errors)) if errors else float("nan"),
            "worst_centre_cells": max(centres, default=float("nan")),
            "phases": [asdict(row) for row in rows],
            "events": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
            "sim_s": answer["sim_s"],
        }
    )


def finger_numbers(plan: Plan, log: RunLog) -> dict[str, Any]:
    """Root mean square differences of the hand's joints from the plan while the object is held."""
    assert plan.best is not None
    fingers = finger_torques(log, plan.best, plan.task.assembly, gravity=plan.task.goal.gravity)
    rows = np.logical_or.reduce([log.during(phase) for phase in HELD])
    joints = list(fingers.joints)
    planned = log["torque_planned"][rows][:, joints]
    turned = np.degrees(log["q_measured"][rows][:, joints] - log["q_planned"][rows][:, joints])
    return _plain(
        {
            "angle_deg": _rms(turned),
            "torque_planned_nm": float(np.nanmax(np.abs(planned), initial=0.0)),
            "torque_from_forces_nm": _rms(fingers.from_forces[rows] - planned),
            "torque_drives_nm": _rms(log["torque_measured"][rows][:, joints] - planned),
        }
    )


def write_pictures(plan: Plan, log: RunLog, folder: Path, name: str) -> list[str]:
    """Force, centre of pressure, joints and torques over time, from shortly before the touch; the files' names."""
    assert plan.best is not None
    grips = np.flatnonzero([phase.grips for phase in log.phases])
    first = int(np.searchsorted(log["time"], log["time"][grips[0]] - 0.3)) if len(grips) else 0
    rows = np.arange(first, len(log))[:: max(1, (len(log) - first) // MOST_ROWS)]
    thin = replace(log, table={key: values[rows] for key, values in log.table.items()})
    fingers = finger_torques(thin, plan.best, plan.task.assembly, gravity=plan.task.goal.gravity)
    figures = run_figures(thin, fingers=fingers, cell=cell_size(plan))
    files = []
    for kind in PICTURES:
        files.append(f"published_{name}_{kind}.svg")
        (folder / files[-1]).write_text(figures[kind], encoding="utf-8")
    return files


def _rms(values: Any) -> float:
    known = np.asarray(values)[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


def _plain(value: Any) -> Any:
    """The same with four digits, and None for what is not a number: stable in JSON."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if np.isfinite(value) else None
    return value
