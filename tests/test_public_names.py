"""Every public name says what it is: no function, class or method without a docstring.

Public is what does not begin with an underscore and is defined in `pliant`: functions and classes of every module, and
the methods and properties of those classes. A member that a base class explains, or a protocol which the class
fulfils (`Driver`, `Engine`, `Path`, ..), needs no words of its own.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import pytest

import pliant

MODULES = sorted(
    info.name for info in pkgutil.walk_packages(pliant.__path__, "pliant.") if not info.name.endswith("__main__")
)


def own(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public functions and classes that this module defines."""
    for name, value in vars(module).items():
        value = getattr(value, "py_func", value)  # what numba has compiled
        defined = getattr(value, "__module__", None) == module.__name__
        if not name.startswith("_") and defined and (inspect.isclass(value) or inspect.isfunction(value)):
            yield name, value


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class defines itself."""
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        value = getattr(value, "__func__", value)
        if inspect.isfunction(value) or isinstance(value, property | cached_property):
            yield name, value


def has_words(value: Any) -> bool:
    doc = value.__doc__
    # A dataclass without a docstring is given its signature as one.
    made = inspect.isclass(value) and (doc or "").startswith(f"{value.__name__}(")
    return bool(doc and doc.strip()) and not made


@cache
def protocols() -> tuple[type, ...]:
    """All protocols of `pliant`."""
    found = [value for name in MODULES for _, value in own(importlib.import_module(name))]
    return tuple(value for value in found if getattr(value, "_is_protocol", False))


def inherits_words(kind: type, name: str) -> bool:
    """Whether a base class explains the member, or a protocol all of whose methods the class has."""
    fulfilled = [
        protocol
        for protocol in protocols()
        if protocol is not kind
        and all(hasattr(kind, member) for member, value in members(protocol) if inspect.isfunction(value))
    ]
    return any(has_words(vars(base)[name]) for base in (*kind.__mro__[1:], *fulfilled) if name in vars(base))


def silent(module: ModuleType) -> list[str]:
    """Public names of a module without a docstring."""
    found = [] if has_words(module) else [module.__name__]
    for name, value in own(module):
        if not has_words(value):
            found.append(f"{module.__name__}.{name}")
        if inspect.isclass(value):
            found += [
                f"{module.__name__}.{name}.{member}"
                for member, function in members(value)
                if not has_words(function) and not inherits_words(value, member)
            ]
    return found


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert silent(importlib.import_module(name)) == []


PACKAGES = [name for name in MODULES if hasattr(importlib.import_module(name), "__path__")]


def test_every_name_of_a_package_s_door_exists_and_is_explained() -> None:
    for name in PACKAGES:
        package = importlib.import_module(name)
        for door in getattr(package, "__all__", []):
            value = getattr(package, door)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert has_words(value), f"{name}.{door}"


def test_no_module_has_the_name_of_something_in_its_package_s_door() -> None:
    """Once such a module is imported, Python gives it out in place of what the door promises."""
    for name in ("pliant", *PACKAGES):
        package = importlib.import_module(name)
        modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
        assert not modules & set(getattr(package, "__all__", ())), name


def test_one_class_name_has_one_meaning_in_the_whole_tree() -> None:
    homes: dict[str, list[str]] = {}
    for name in MODULES:
        for found, value in own(importlib.import_module(name)):
            if inspect.isclass(value):
                homes.setdefault(found, []).append(name)
    assert {found: where for found, where in homes.items() if len(where) > 1} == {}


def test_a_name_without_words_is_found() -> None:
    module = ModuleType("made_up", "A module.")
    exec("def told():\n    'Words.'\nclass Silent:\n    def mute(self): ...\n", vars(module))
    for name in ("told", "Silent"):
        vars(module)[name].__module__ = "made_up"
    assert silent(module) == ["made_up.Silent", "made_up.Silent.mute"]
