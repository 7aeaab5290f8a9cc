"""Starting is quick and light."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys

import pytest

HEAVY = ("mujoco", "viser", "ray", "ompl", "matplotlib", "trimesh", "numba", "scipy", "pinocchio")


def cpu_seconds(*command: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, capture_output=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_import_pulls_in_no_simulator_and_no_viewer() -> None:
    code = "import json, sys, pliant; print(json.dumps(sorted(sys.modules)))"
    modules = json.loads(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )
    assert "pliant" in modules
    assert not [name for name in modules if name.split(".")[0] in HEAVY]


def test_every_public_name_of_the_package_exists() -> None:
    import pliant

    for name in pliant.__all__:
        assert getattr(pliant, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pliant.nonsense  # noqa: B018


@pytest.mark.performance
def test_import_takes_under_half_a_second_of_cpu() -> None:
    assert min(cpu_seconds("-c", "import pliant") for _ in range(3)) < 0.5


@pytest.mark.performance
def test_help_takes_under_a_second_of_cpu() -> None:
    assert min(cpu_seconds("-c", "from pliant.cli import main; main(['--help'])") for _ in range(3)) < 1.0


def test_help_fits_80_columns_and_asks_no_value_of_a_switch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pliant.cli import COMMANDS, run_command

    monkeypatch.setenv("COLUMNS", "80")
    for name in ("", *COMMANDS):
        assert run_command([*name.split(), "--help"]) == 0
        text = capsys.readouterr().out
        assert "--help" in text and "-h" in text
        assert "<bool>" not in text and not re.search(r"<\w+ range|<list", text), name
        assert max(map(len, text.splitlines())) <= 80, name
