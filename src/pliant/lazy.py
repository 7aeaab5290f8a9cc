"""Names of a package that are loaded when first used, so that importing the package is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Args:
        package: its ``__name__``.
        homes: name to the module that defines it, relative to the package where it begins with a dot.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)  # from now on it is found without us
        return value

    def names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return load, names
