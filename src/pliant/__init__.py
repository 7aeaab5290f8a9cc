"""pliant: grasps of things that give, with the smallest contact forces that hold.

The names below are loaded when first used, so ``import pliant`` is quick and pulls in no simulator and no viewer.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Body": "pliant.objects",
    "Contact": "pliant.grasp",
    "ContactSet": "pliant.grasp",
    "ContactLimits": "pliant.objects",
    "InputError": "pliant.errors",
    "Liquid": "pliant.objects",
    "Material": "pliant.objects",
    "Mesh": "pliant.objects",
    "PliantError": "pliant.errors",
    "Robot": "pliant.robot",
    "load_arm": "pliant.robot",
    "load_assembly": "pliant.robot",
    "load_hand": "pliant.robot",
    "load_mesh": "pliant.objects",
    "load_plan": "pliant.files",
    "load_robot": "pliant.robot",
    "make_shape": "pliant.objects",
    "plan": "pliant.planner",
    "read_task": "pliant.files",
    "save_plan": "pliant.files",
    "solve_forces": "pliant.grasp",
    "solve_pose": "pliant.servo",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'pliant' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
