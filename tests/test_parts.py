"""Where an optional part is missing, every command that needs it says what to type, before it does anything."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pliant.cli import run_command as run
from pliant.errors import OptionError
from pliant.parts import PARTS, install_command, need, need_module

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("module", "arguments", "command"),
    [
        ("mujoco", ["demo", "--out", "out", "--no-view"], "pip install 'pliant[lab]'"),
        ("mujoco", ["calibrate", "ball_gripper"], "pip install 'pliant[lab]'"),
        ("viser", ["view", "ring", "--no-browser", "--port", "0"], "pip install 'pliant[viewer]'"),
        ("viser", ["hand", "view", "schunk_sdh2", "--no-browser"], "pip install 'pliant[viewer]'"),
        ("viser", ["demo", "--out", "out"], "pip install 'pliant[viewer]'"),
        ("pyarrow", ["batch", "--task", "no.yaml", "--out", "out"], "pip install 'pliant[batch]'"),
        ("ray", ["batch", "--task", "no.yaml", "--out", "out", "--engine", "ray"], "pip install 'pliant[ray]'"),
        ("cyclonedds", ["ros", "--once"], "pip install 'pliant[ros]'"),
    ],
)
def test_a_command_without_its_part_exits_with_2_and_the_command_to_type(
    module: str,
    arguments: list[str],
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)  # so Python, and whoever asks it, finds none
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.strip() == f"pliant: this needs '{module}', which is not installed; {command}"
    assert printed.out == "" and not list(tmp_path.iterdir())


def test_in_python_the_lab_s_door_says_the_same() -> None:
    code = "import sys; sys.modules['mujoco'] = None; from pliant.lab import run_trial"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    last = answer.stderr.strip().splitlines()[-1]
    assert last == "pliant.errors.OptionError: this needs 'mujoco', which is not installed; pip install 'pliant[lab]'"


def test_several_missing_parts_are_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(OptionError) as refused:
        need("lab", "batch", "viewer")
    assert str(refused.value) == (
        "this needs 'mujoco' and 'viser', which are not installed; pip install 'pliant[lab,viewer]'"
    )


def test_one_package_of_a_part_does_not_ask_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cyclonedds", None)
    need_module("rosbags")
    need_module("numpy")  # of no part
    with pytest.raises(OptionError, match="cyclonedds"):
        need_module("cyclonedds")


def test_every_part_is_an_extra_that_brings_its_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for name, part in PARTS.items():
        for module in part.modules:
            assert any(line.startswith(module) for line in extras[name]), module
            assert not any(line.startswith(module) for line in project["dependencies"]), module
        assert install_command(name) == f"pip install 'pliant[{name}]'"
    assert extras["all"] == ["pliant[lab,viewer,batch,ros]"]
