"""Many plans: objects x hands x tasks, on this machine or a cluster, resumable."""

from pliant.batch.engines import Engine, LocalEngine
from pliant.batch.items import Item, make_item
from pliant.batch.ray_engine import RayEngine
from pliant.batch.running import BatchResult, Progress, run_batch
from pliant.batch.seat import Attempt, Limits, WorkerError
from pliant.batch.work import Column, Work, find_work

__all__ = [
    "Attempt",
    "BatchResult",
    "Column",
    "Engine",
    "Item",
    "Limits",
    "LocalEngine",
    "Progress",
    "RayEngine",
    "Work",
    "WorkerError",
    "find_work",
    "make_item",
    "run_batch",
]
