"""Documents in and out: tasks, grasps, plans, and what a file is. Names are loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.lazy import lazy_names

if TYPE_CHECKING:
    from pliant.files.calibration_file import calibration_path as calibration_path
    from pliant.files.calibration_file import load_calibration as load_calibration
    from pliant.files.calibration_file import save_calibration as save_calibration
    from pliant.files.calibration_file import with_calibration as with_calibration
    from pliant.files.catalogue import find_task as find_task
    from pliant.files.catalogue import shipped_task as shipped_task
    from pliant.files.catalogue import shipped_tasks as shipped_tasks
    from pliant.files.checking import FileReport as FileReport
    from pliant.files.checking import check_file as check_file
    from pliant.files.grasp_file import Grasp as Grasp
    from pliant.files.grasp_file import GraspFile as GraspFile
    from pliant.files.grasp_file import read_grasp as read_grasp
    from pliant.files.plan_file import load_plan as load_plan
    from pliant.files.plan_file import save_plan as save_plan
    from pliant.files.run_file import load_run as load_run
    from pliant.files.run_file import save_run as save_run
    from pliant.files.task import read_task as read_task
    from pliant.files.task import task_from_fields as task_from_fields
    from pliant.files.task_schema import TaskFile as TaskFile

_HOMES = {
    "calibration_path": ".calibration_file",
    "load_calibration": ".calibration_file",
    "save_calibration": ".calibration_file",
    "with_calibration": ".calibration_file",
    "FileReport": ".checking",
    "Grasp": ".grasp_file",
    "GraspFile": ".grasp_file",
    "TaskFile": ".task_schema",
    "check_file": ".checking",
    "load_run": ".run_file",
    "read_grasp": ".grasp_file",
    "read_task": ".task",
    "save_run": ".run_file",
    "load_plan": ".plan_file",
    "save_plan": ".plan_file",
    "find_task": ".catalogue",
    "shipped_task": ".catalogue",
    "shipped_tasks": ".catalogue",
    "task_from_fields": ".task",
}

__all__ = [
    "FileReport",
    "Grasp",
    "GraspFile",
    "TaskFile",
    "calibration_path",
    "check_file",
    "find_task",
    "load_calibration",
    "load_plan",
    "load_run",
    "read_grasp",
    "read_task",
    "save_calibration",
    "save_plan",
    "save_run",
    "shipped_task",
    "shipped_tasks",
    "task_from_fields",
    "with_calibration",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
