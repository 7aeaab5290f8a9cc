"""Documents in and out: tasks, and what a file is."""

from pliant.files.catalogue import shipped_task, shipped_tasks
from pliant.files.checking import FileReport, check_file
from pliant.files.task import read_task, task_from_fields
from pliant.files.task_schema import TaskFile

__all__ = [
    "FileReport",
    "TaskFile",
    "check_file",
    "read_task",
    "shipped_task",
    "shipped_tasks",
    "task_from_fields",
]
