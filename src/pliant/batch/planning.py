"""Planning as work of a batch: one row per hypothesis, the plan itself in a file.   (theory 8, 11.5)"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.batch.plan_summary import summary
from pliant.batch.questions import question_task
from pliant.batch.work import Column, Work
from pliant.planner import Hypothesis, Plan, PlannedGrasp

PLAN_FILE = "best.plan"

COLUMNS = (
    Column("object", "text", "the object: a mesh file, or the task's own"),
    Column("hand", "text", "the hand"),
    Column("task", "text", "the task file"),
    Column("seed", "int", "of the search"),
    Column("status", "text", "of the whole item: found, or none"),
    Column("hypothesis", "int", "number of the hypothesis; the same for the same question"),
    Column("outcome", "text", "kept (in the plan file) or rejected"),
    Column("rank", "int", "1 is the chosen grasp; empty unless kept"),
    Column("stage", "text", "where it was rejected: open hand, closing, contact, stability, reach, ..."),
    Column("reason", "text", "why, in the same words for the same reason"),
    Column("margin", "float", "by how much it failed, in `unit`; larger is worse"),
    Column("unit", "text", "of the margin"),
    Column("detail", "text", "which link, joint or contact, with numbers"),
    Column("preshape", "text", "of the hand"),
    Column("fingers", "text", "fingers that close, with + between them"),
    Column("source", "text", "where the hypothesis comes from"),
    Column("palm_x", "float", "palm frame in the object's frame: position [m]"),
    Column("palm_y", "float", "position [m]"),
    Column("palm_z", "float", "position [m]"),
    Column("palm_qw", "float", "its orientation: quaternion, w x y z"),
    Column("palm_qx", "float", "quaternion"),
    Column("palm_qy", "float", "quaternion"),
    Column("palm_qz", "float", "quaternion"),
    Column("stable", "bool", "whether it came to a stable grasp, whatever became of it afterwards"),
    Column("force_n", "float", "largest normal force when the weight is held [N]; stable grasps"),
    Column("epsilon", "float", "Ferrari-Canny quality; stable grasps"),
    Column("max_force_n", "float", "largest normal force over the whole operation [N]; kept ones, as all below"),
    Column("max_pressure_pa", "float", "largest pressure over the whole operation [Pa]"),
    Column("contacts", "int", "contact regions of the grasp"),
    Column("com_shift_m", "float", "how far the deformation moves the centre of mass [m]"),
    Column("joint_range", "float", "criterion of joint ranges; small is good"),
    Column("arm_path_rad", "float", "length of the arm's path in joint space [rad]"),
    Column("duration_s", "float", "of the operation [s]"),
)


def plan_item(arguments: Mapping[str, Any], files: Path) -> Iterator[dict[str, Any]]:
    """Plan a question of `questions`, keep the plan in ``best.plan``, and give a row for every hypothesis."""
    from pliant.files import save_plan
    from pliant.planner import plan

    task = question_task(arguments)
    found = plan(task, jobs=1, seed=int(arguments["seed"]))
    # What it took is in the log of the batch; the results are the same wherever and whenever they were made.
    found = replace(found, wall_s=0.0, cpu_s={})
    save_plan(found, files / PLAN_FILE)
    labels = {key: str(arguments[key]) for key in ("object", "hand", "task")}
    return plan_rows(found, labels)


def plan_rows(plan: Plan, labels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """One row per hypothesis of a plan, in their order."""
    kept = {grasp.hypothesis.number: (rank, grasp) for rank, grasp in enumerate(plan.grasps, 1)}
    rejections = {rejection.number: rejection for rejection in plan.rejections}
    stable = {grasp.number: grasp for grasp in plan.stable}
    for hypothesis in plan.hypotheses:
        number = hypothesis.number
        row: dict[str, Any] = {**labels, "seed": plan.seed, "status": plan.status.value, "hypothesis": number}
        row |= _pose(hypothesis) | {"stable": number in stable}
        if number in stable:
            row |= {"force_n": _real(stable[number].largest_force), "epsilon": _real(stable[number].epsilon)}
        if number in kept:
            row |= _kept(*kept[number])
        else:
            row["outcome"] = "rejected"
            if (rejection := rejections.get(number)) is not None:
                row |= {
                    "stage": rejection.stage.value,
                    "reason": rejection.reason,
                    "margin": _real(rejection.margin),
                    "unit": rejection.unit,
                    "detail": rejection.detail,
                }
        yield row


def _pose(hypothesis: Hypothesis) -> dict[str, Any]:
    T = hypothesis.T_object_palm
    x, y, z, w = np.asarray(pin.Quaternion(T.rotation).coeffs()).tolist()
    values = dict(zip(("palm_x", "palm_y", "palm_z"), T.translation.tolist(), strict=True))
    values |= {"palm_qw": w, "palm_qx": x, "palm_qy": y, "palm_qz": z}
    return values | {
        "preshape": hypothesis.preshape,
        "fingers": "+".join(hypothesis.fingers),
        "source": hypothesis.source,
    }


def _kept(rank: int, grasp: PlannedGrasp) -> dict[str, Any]:
    return {
        "outcome": "kept",
        "rank": rank,
        "max_force_n": _real(grasp.largest_force),
        "max_pressure_pa": _real(grasp.largest_pressure),
        "contacts": len(grasp.grasp.contacts),
        "com_shift_m": _real(grasp.com_shift),
        "joint_range": _real(grasp.joint_range),
        "arm_path_rad": _real(grasp.arm_path),
        "duration_s": _real(grasp.trajectory.duration),
    }


def _real(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


PLAN = Work(plan_item, COLUMNS, summary)
