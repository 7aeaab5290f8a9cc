"""The wheel is complete: it works in an environment that has it and what it requires, and nothing else.

What pliant requires is borrowed from the environment of the tests, so that nothing is downloaded; its optional parts
are hidden. `make wheel` does the same with pip and the network, and plans.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pliant.parts import PARTS

ROOT = Path(__file__).resolve().parents[1]
Pliant = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def pliant(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Pliant:
    """The installed command, started in a folder of its own."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True, timeout=120)
    borrowed = [path for path in sys.path if "site-packages" in path]
    (site / "borrowed.pth").write_text("\n".join(borrowed))
    hidden = [module for part in PARTS.values() for module in part.modules]
    (site / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({hidden}))\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    work = folder / "work"
    work.mkdir()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(folder / "bin" / "pliant"), *arguments]
        return subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def test_everything_of_the_package_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    tracked = {
        str(path.relative_to(source))
        for path in (source / "pliant").rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == tracked


def test_the_installed_command_finds_what_ships_with_it(pliant: Pliant) -> None:
    """Robots with their meshes, tasks, shapes; and its doctor finds every part missing, and says what to type."""
    doctor = json.loads(pliant("doctor", "--json").stdout)
    found = {finding["what"]: finding for finding in doctor["findings"]}
    assert doctor["works"] is True
    assert "site-packages" in found["pliant"]["facts"]["folder"]
    assert str(ROOT) not in found["pliant"]["facts"]["folder"]
    assert {name: found[name]["state"] for name in PARTS} == dict.fromkeys(PARTS, "missing")
    robots = json.loads(pliant("robots", "--json").stdout)["robots"]
    assert {name: facts["moving_joints"] for name, facts in robots.items()} == {
        "kawasaki_fs020n": 6, "schunk_sdh2": 8, "allegro_like": 16, "parallel_gripper": 2,
    }  # fmt: skip
    tasks = Path(found["pliant"]["facts"]["folder"]) / "files" / "shipped"
    checked = pliant("check", *map(str, sorted(tasks.glob("*.yaml"))), "--json")
    assert checked.returncode == 0, checked.stdout
    assert len(json.loads(checked.stdout)["files"]) == len(list((ROOT / "src/pliant/files/shipped").glob("*.yaml")))


def test_without_its_parts_it_computes_and_refuses_what_needs_them(pliant: Pliant) -> None:
    forces = pliant("forces", str(ROOT / "examples" / "grasps" / "pinch.yaml"), "--json")
    assert json.loads(forces.stdout)["status"] == "optimal"
    demo = pliant("demo", "--no-view")
    assert demo.returncode == 2
    assert demo.stderr.endswith("pip install 'pliant[lab,viewer]'\n")


def test_the_container_is_made_of_what_is_there() -> None:
    """No engine builds it here: what it copies exists and is let into the build, and what it installs is an extra."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert len(copied) > 4
    for name in copied:
        assert (ROOT / name).exists() and name in let_in, name
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (installed,) = [line for line in lines if "pip install" in line]
    assert installed.split("'.[")[1].split("]")[0] in extras
