"""Optional parts of pliant: which packages they need, and what to type where one is missing."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

from pliant.errors import OptionError, Problem


class Part(NamedTuple):
    """What an extra brings.

    Attributes:
        modules: packages that must be there, as they are imported.
        gives: what works with them, in words.
    """

    modules: tuple[str, ...]
    gives: str


PARTS = {
    "lab": Part(("mujoco",), "the virtual lab: demo, run and calibrate without hardware"),
    "viewer": Part(("viser",), "pages and films: demo, view, report, hand import --view"),
    "batch": Part(("pyarrow",), "batch: many plans, results as Parquet"),
    "ray": Part(("ray",), "batch --engine ray: many machines"),
    "ros": Part(("rosbags", "cyclonedds"), "export to bags; ros and drivers on ROS 2"),
}
"""By the name of the extra in pyproject.toml."""


def missing_modules(part: str) -> tuple[str, ...]:
    """The packages of a part that are not installed; nothing is imported."""
    return tuple(module for module in PARTS[part].modules if find_spec(module) is None)


def install_command(part: str) -> str:
    """What to type to get a part."""
    return f"pip install 'pliant[{part}]'"


def need(*parts: str) -> None:
    """Refuse to begin where a part is missing: better now than after a search of minutes.

    Raises:
        OptionError: with the command that installs what is missing.
    """
    lacking = {part: modules for part in parts if (modules := missing_modules(part))}
    if lacking:
        _refuse(",".join(lacking), [module for modules in lacking.values() for module in modules])


def need_module(module: str) -> None:
    """Refuse in the same words where one package of a part is missing; other packages do not matter."""
    part = next((part for part, content in PARTS.items() if module in content.modules), None)
    if part is not None and module in missing_modules(part):
        _refuse(part, [module])


def _refuse(parts: str, modules: list[str]) -> None:
    names, are = " and ".join(f"'{module}'" for module in modules), "is" if len(modules) == 1 else "are"
    raise OptionError("", Problem("", f"this needs {names}, which {are} not installed", install_command(parts)))
