"""The door of a package: its public names, listed once in ``__init__.pyi`` and loaded when first used.

Type checkers and editors read the stub as it is; at run time `open_door` does. So importing a package is
quick, whatever stands behind its door. A module must not have the name of something in its package's door: once the
module is imported, Python would return the module.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["open_door"]

LINE = re.compile(r"^from (?P<module>[\w.]+) import (?P<name>\w+) as (?P=name)$", re.MULTILINE)


def open_door(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` (PEP 562) and ``__all__`` of a package.

    Args:
        package: its ``__name__``.
        file: its ``__file__``; the stub lies beside it.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {found["name"]: found["module"] for found in LINE.finditer(stub)}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        try:
            value = getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as missing:
            from pliant.parts import need_module

            need_module((missing.name or "").partition(".")[0])
            raise
        setattr(sys.modules[package], name, value)  # from now on it is found without us
        return value

    return load, lambda: sorted(homes), sorted(homes)
