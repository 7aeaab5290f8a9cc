"""pliant: grasps of things that give, with the smallest contact forces that hold.

The names below are loaded when first used, so ``import pliant`` is quick and pulls in no simulator and no viewer.
"""

from __future__ import annotations

from pliant.lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
