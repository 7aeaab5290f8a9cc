"""pliant: grasps of things that give, with the smallest contact forces that hold.

The names below are loaded when first used, so ``import pliant`` is quick and pulls in no simulator and no viewer.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "PliantError": "pliant.errors",
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
