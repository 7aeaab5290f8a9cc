"""One door for every format: what is exported, how, and to which files."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pliant.control import RunLog
from pliant.documents import make_room, not_of
from pliant.errors import OptionError, PlanError, Problem, unknown_name
from pliant.files.export.foxglove import write_plan_layout, write_run_layout
from pliant.files.export.grasp_array import write_grasp_array
from pliant.files.export.moveit import write_moveit
from pliant.files.export.srdf import write_srdf
from pliant.files.export.tables import write_csv, write_json, write_run_csv, write_run_json
from pliant.files.plan_file import ARCHIVE as PLAN_ARCHIVE
from pliant.files.plan_file import load_plan
from pliant.files.run_file import ARCHIVE as RUN_ARCHIVE
from pliant.files.run_file import load_run
from pliant.planner import Plan, PlannedGrasp


@dataclass(frozen=True)
class ExportOptions:
    """How to export.

    Args:
        grasp: which of the plan's grasps, best first.
        rate: joint states and transforms per second in bags, besides those at the trajectory's own points [1/s].
        start: time stamp of the trajectory's beginning [s]; not 0, which means "no time" to ROS.
    """

    grasp: int = 0
    rate: float = 50.0
    start: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and 0.0 < self.rate <= 10_000.0):
            raise OptionError("export", Problem("rate", f"{self.rate:g}", "above 0 and at most 10000 per second"))
        if not 0.0 < self.start < 4e9:
            raise OptionError("export", Problem("start", f"{self.start:g}", "seconds above 0, such as a Unix time"))


def _plan_bag(kind: str, plan: Plan, grasp: PlannedGrasp, path: Path, options: ExportOptions) -> tuple[Path, ...]:
    from pliant.files.export.bags import write_bag
    from pliant.files.export.plan_messages import plan_messages

    return (write_bag(partial(plan_messages, plan, grasp, rate=options.rate, start=options.start), path, kind=kind),)


def _run_bag(kind: str, log: RunLog, path: Path, options: ExportOptions) -> tuple[Path, ...]:
    from pliant.files.export.bags import write_bag
    from pliant.files.export.run_messages import run_messages

    return (write_bag(partial(run_messages, log, start=options.start), path, kind=kind),)


BAGS = ("mcap", "ros1", "ros2")
FORMATS: dict[str, Callable[[Plan, PlannedGrasp, Path, ExportOptions], tuple[Path, ...]]] = {
    **{kind: partial(_plan_bag, kind) for kind in BAGS},
    "csv": lambda plan, grasp, path, options: write_csv(plan, grasp, path),
    "json": lambda plan, grasp, path, options: write_json(plan, path),
    "grasps": lambda plan, grasp, path, options: write_grasp_array(plan, path),
    "srdf": lambda plan, grasp, path, options: write_srdf(plan.task.assembly, path),
    "moveit": lambda plan, grasp, path, options: write_moveit(plan, path),
    "foxglove": lambda plan, grasp, path, options: write_plan_layout(plan, grasp, path),
}
RUN_FORMATS: dict[str, Callable[[RunLog, Path, ExportOptions], tuple[Path, ...]]] = {
    **{kind: partial(_run_bag, kind) for kind in BAGS},
    "csv": lambda log, path, options: write_run_csv(log, path),
    "json": lambda log, path, options: write_run_json(log, path),
    "foxglove": lambda log, path, options: write_run_layout(log, path),
}


def export_plan(plan: Plan, path: str | Path, *, format: str, options: ExportOptions | None = None) -> tuple[Path, ...]:
    """Write a plan for other tools; the files written.

    Args:
        path: the file, or the folder of a ``ros2`` bag. ``csv`` and ``grasps`` write a second file beside it.
        format: mcap: one MCAP file with ROS 2 messages; ros2: a bag folder (sqlite3); ros1: a ROS 1 bag; csv:
            trajectory and contacts as tables; json: everything but large arrays; grasps: arrays of all grasps (.npz);
            srdf: the robot's groups and postures; moveit: all grasps as MoveIt 2 takes them; foxglove: a layout for the
            MCAP file.
    """
    options, path = options or ExportOptions(), Path(path)
    if format not in FORMATS:
        raise OptionError("export", unknown_name("format", format, FORMATS, where="format"))
    if not plan.grasps and format not in ("json", "srdf"):
        raise PlanError(plan.task.name, Problem("", "the plan has no grasp to export", "json exports its reasons"))
    if plan.grasps and not 0 <= options.grasp < len(plan.grasps):
        what = f"{options.grasp}"
        raise OptionError("export", Problem("grasp", what, f"the plan has {len(plan.grasps)}, counted from 0"))
    make_room(path)
    return FORMATS[format](plan, plan.grasps[options.grasp] if plan.grasps else None, path, options)  # type: ignore[arg-type]


def export_run(log: RunLog, path: str | Path, *, format: str, options: ExportOptions | None = None) -> tuple[Path, ...]:
    """Write the log of a run for other tools; the files written.

    Args:
        path: the file, or the folder of a ``ros2`` bag; ``csv`` writes the events to a second file beside it.
        format: mcap, ros1, ros2, csv, json or foxglove, as for plans.
    """
    options, path = options or ExportOptions(), Path(path)
    if format not in RUN_FORMATS:
        kind = "format of runs" if format in FORMATS else "format"
        raise OptionError("export", unknown_name(kind, format, RUN_FORMATS, where="format"))
    if not len(log):
        raise PlanError(str(path), "the run has no steps to export")
    make_room(path)
    return RUN_FORMATS[format](log, path, options)


def export_file(
    source: str | Path, path: str | Path, *, format: str, options: ExportOptions | None = None
) -> tuple[Path, ...]:
    """Export a plan file or the log of a run, whichever it is."""
    source = Path(source)
    not_of(path, source)
    if source.suffix.lower() in (".yaml", ".yml"):
        raise PlanError(str(source), Problem("", "is a document, not a plan", f"plan it first: pliant plan {source}"))
    if _is_run(source):
        return export_run(load_run(source), path, format=format, options=options)
    return export_plan(load_plan(source), path, format=format, options=options)


def _is_run(source: Path) -> bool:
    """By the name of the first member of the archive; by the name of the file where that says nothing."""
    head = b""
    with contextlib.suppress(OSError, ValueError):
        if source.is_file():  # a pipe would be waited for; the reader of plans says what it is
            with source.open("rb") as file:
                head = file.read(100)[30:]
    if head.startswith((RUN_ARCHIVE.document.encode(), PLAN_ARCHIVE.document.encode())):
        return head.startswith(RUN_ARCHIVE.document.encode())
    return source.suffix.lower() == RUN_ARCHIVE.suffix
