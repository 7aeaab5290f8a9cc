"""Plans and runs as tables (CSV) and as one JSON document. SI units; quaternions w x y z.

What was not known in a run is empty (CSV) or null (JSON).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pliant.control import RunLog
from pliant.errors import PlanError
from pliant.file_bytes import write_bytes
from pliant.files.plan_file import plan_fields
from pliant.files.run_file import plain
from pliant.planner import Plan, PlannedGrasp, contact_names

CONTACT_COLUMNS = (
    "time", "phase", "contact", "link", "finger", "patch",
    "x", "y", "z", "normal_x", "normal_y", "normal_z", "force_x", "force_y", "force_z",
    "normal_force", "tangential_force", "wanted_normal_force", "slip_margin",
    "peak_pressure", "radius", "area", "depth",
)  # fmt: skip
"""Of the contacts' table: places [m], normals (into the object) and forces on the object [N] in the world's axes."""


def write_csv(plan: Plan, grasp: PlannedGrasp, path: Path) -> tuple[Path, ...]:
    """The trajectory to ``path``, the contacts of every held state to ``<name>_contacts.csv`` beside it.

    Columns of the trajectory: joints, the object's pose, and what the servos are told.
    """
    robot, trajectory = plan.task.assembly.robot, grasp.trajectory
    head = ["time", "phase", *robot.joint_names]
    head += [f"object_{name}" for name in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    head += [f"command_{name}" for name in robot.joint_names]
    rows = (
        [t, phase.value, *q, *pose, *command]
        for t, phase, q, pose, command in zip(
            trajectory.times.tolist(),
            trajectory.phases,
            trajectory.q.tolist(),
            trajectory.object_poses.tolist(),
            trajectory.commands.tolist(),
            strict=True,
        )
    )
    beside = path.with_name(f"{path.stem}_contacts{path.suffix or '.csv'}")
    write_bytes(path, _table_bytes(head, rows), error=PlanError)
    write_bytes(beside, _table_bytes(CONTACT_COLUMNS, _contact_rows(grasp)), error=PlanError)
    return path, beside


def write_json(plan: Plan, path: Path) -> tuple[Path, ...]:
    """All fields of ``plan.json`` of a plan file, with the trajectories' points in place; meshes are left out."""
    fields = plan_fields(plan)
    for entry, grasp in zip(fields["grasps"], plan.grasps, strict=True):
        entry["trajectory"] |= {
            "times": grasp.trajectory.times.tolist(),
            "joints": grasp.trajectory.q.tolist(),
            "commands": grasp.trajectory.commands.tolist(),
            "object_poses": grasp.trajectory.object_poses.tolist(),
        }
    text = json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path, text.encode(), error=PlanError)
    return (path,)


def write_run_csv(log: RunLog, path: Path) -> tuple[Path, ...]:
    """A row per step to ``path``, the events to ``<name>_events.csv`` beside it.

    Columns: ``time``, ``plan_time``, ``phase``, then ``QUANTITY.JOINT``, ``QUANTITY.CONTACT`` and
    ``QUANTITY.CONTACT.x`` (y, z), such as ``force_measured.left_finger``.
    """
    head, columns = ["time", "plan_time", "phase"], [log["time"], log["plan_time"], np.array(log.phases, dtype=object)]
    for quantity, values in log.table.items():
        if values.ndim > 1:
            names = log.joints if quantity.startswith(("q_", "torque_")) else log.contacts
            for i, name in enumerate(names):
                head += [f"{quantity}.{name}"] if values.ndim == 2 else [f"{quantity}.{name}.{x}" for x in "xyz"]
                columns += [values[:, i]] if values.ndim == 2 else [values[:, i, k] for k in range(3)]
    rows = (
        ["" if value != value else value for value in row]  # NaN: not known
        for row in zip(*(column.tolist() for column in columns), strict=True)
    )
    beside = path.with_name(f"{path.stem}_events{path.suffix or '.csv'}")
    write_bytes(path, _table_bytes(head, rows), error=PlanError)
    events = ([event.time, str(event.phase), event.kind, event.text] for event in log.events)
    write_bytes(beside, _table_bytes(("time", "phase", "kind", "text"), events), error=PlanError)
    return path, beside


def write_run_json(log: RunLog, path: Path) -> tuple[Path, ...]:
    """Everything but the tactile frames."""
    fields = {
        "format": "pliant run",
        "version": 1,
        "joints": log.joints,
        "contacts": log.contacts,
        "phases": [str(phase) for phase in log.phases],
        "table": {name: plain(values) for name, values in log.table.items() if name != "phase"},
        "events": [
            {"time": event.time, "phase": str(event.phase), "kind": event.kind, "text": event.text}
            for event in log.events
        ],
        "facts": plain(log.facts),
    }
    write_bytes(path, json.dumps(fields, ensure_ascii=False, allow_nan=False).encode(), error=PlanError)
    return (path,)


def _contact_rows(grasp: PlannedGrasp) -> Iterable[list[Any]]:
    for state in grasp.states:
        for name, contact in zip(
            contact_names([contact.link for contact in state.contacts]), state.contacts, strict=True
        ):
            T = state.T_world_object * contact.T_object_contact
            yield [
                state.time, state.phase.value, name, contact.link, contact.finger, contact.patch,
                *T.translation.tolist(), *T.rotation[:, 2].tolist(), *(T.rotation @ contact.force).tolist(),
                contact.normal_force, float(np.hypot(*contact.force[:2])), float(contact.wanted[2]),
                contact.slip_margin,
                float(contact.peak_pressure), float(contact.radius), float(contact.area), float(contact.depth),
            ]  # fmt: skip


def _table_bytes(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """CSV with a comma, a point and line feeds on every machine; numbers in full precision."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue().encode()
