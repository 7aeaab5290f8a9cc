"""Every package that pliant brings along has a licence that allows it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", ROOT / "tools" / "licences.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["licences"] = module  # its data classes look there for themselves
    spec.loader.exec_module(module)
    return module


def test_every_dependency_may_be_used(licences: ModuleType) -> None:
    found = licences.packages()
    assert len(found) > 30
    bad = [f"{p.name} {p.version}: {p.licence}" for p in found if not p.allowed]
    assert not bad, bad


REFUSED = (
    "GPL-3.0-or-later", "AGPL-3.0", "GNU General Public License v3 (GPLv3)", "unknown", "Limited use", "SSPL-1.0", "",
    "Other/Proprietary License", "not installed",
)  # fmt: skip


@pytest.mark.parametrize("licence", REFUSED)
def test_other_licences_are_refused(licences: ModuleType, licence: str) -> None:
    assert not licences.Package("x", "1", licence, "pliant", "field").allowed


@pytest.mark.parametrize("licence", ["MIT", "LGPL-3.0-or-later", "MPL-2.0 AND MIT", "BSD License", "Apache-2.0"])
def test_permissive_licences_and_weak_copyleft_are_allowed(licences: ModuleType, licence: str) -> None:
    assert licences.Package("x", "1", licence, "pliant", "field").allowed


def test_the_list_in_the_documentation_names_every_dependency(licences: ModuleType) -> None:
    """Versions may differ from machine to machine; names must not."""
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    missing = [package.name for package in licences.packages() if f"| {package.name} |" not in text]
    assert not missing, f"run tools/licences.py: {missing}"
