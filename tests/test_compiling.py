"""The first minute: what is compiled stays little, is compiled aside, and small commands load little."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import pliant
from pliant.contact import MeshSurface, PlaneSurface, PreparedObject, SphereSurface, deepest, find_overlaps
from pliant.objects import make_shape
from pliant.planner import compiling_aside
from pliant.planner.compiling_aside import compiled_aside

SOURCES = Path(pliant.__file__).parent
DECORATORS = {"kernel", "inner", "jit", "jit_inside", "njit"}
DEAR = {"cross", "where", "median", "outer", "full", "eye", "ones", "minimum", "maximum", "argmin", "argmax", "dot"}
"""NumPy functions that numba compiles anew for each caller, for up to a second each; a loop takes a tenth."""


def loops() -> list[tuple[str, ast.FunctionDef]]:
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"@{name}" in text for name in DECORATORS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                names = {getattr(getattr(d, "func", d), "id", "") for d in node.decorator_list}
                if names & DECORATORS:
                    found.append((f"{path.relative_to(SOURCES)}:{node.name}", node))
    return found


def dear_in(function: ast.FunctionDef) -> set[str]:
    """What a loop calls that takes long to compile."""
    dear = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            if node.attr == "linalg" or (getattr(node.value, "id", "") == "np" and node.attr in DEAR):
                dear.add(node.attr)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            dear.add("@")
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Slice) for t in targets):
                dear.add("[:] =")
    return dear


def test_inner_loops_call_nothing_that_takes_long_to_compile() -> None:
    every = loops()
    assert len(every) > 50
    assert {name: dear for name, loop in every if (dear := dear_in(loop))} == {}


def test_what_takes_long_to_compile_is_recognised() -> None:
    text = "def f(a, b):\n    a[:] = 0.0\n    c = np.linalg.det(a @ b)\n    return np.where(c > 0, np.cross(a, b), c)\n"
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert dear_in(function) == {"[:] =", "@", "linalg", "where", "cross"}


def test_all_kinds_of_surfaces_are_one_type_for_the_compiler() -> None:
    small = make_shape("box", size=(0.02, 0.02, 0.02), edge=0.01)
    held = PreparedObject.of(make_shape("sphere", edge=0.006), young=1e5, poisson=0.3, model="halfspace", cache=False)
    flipped = np.diag([1.0, -1.0, -1.0])
    for pad, height in ((MeshSurface.of(small), 0.0395), (SphereSurface(0.01), 0.0395), (PlaneSurface(), 0.0295)):
        found = find_overlaps(held, pad, pin.SE3(flipped, np.array([0.0, 0.0, height])))
        assert found[0].depth == pytest.approx(0.5e-3, rel=0.01)
    for loop in (deepest.search, deepest.add_candidates):
        assert len(loop.signatures) == 1


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing was compiled before."""
    monkeypatch.setattr(compiling_aside, "compiled_here", lambda: False)


def test_a_first_plan_waits_for_what_is_compiled_aside(
    fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"import pathlib, time; time.sleep(0.3); (pathlib.Path({str(tmp_path)!r}) / '{{}}').touch()"
    monkeypatch.setattr(compiling_aside, "COMMANDS", [("-S", "-c", code.format(part)) for part in ("a", "b")])
    with compiled_aside(2) as wait:
        wait(lambda: False)
        assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_who_is_told_to_stop_does_not_wait_and_leaves_no_process(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    monkeypatch.setattr(compiling_aside, "COMMANDS", 2 * [("-S", "-c", "import time; time.sleep(100)")])
    began = time.monotonic()
    with compiled_aside(2) as wait:
        wait(lambda: bool(started))
    assert len(started) == 2 and all(process.returncode is not None for process in started)
    assert time.monotonic() - began < 90.0


def test_nothing_is_started_where_all_is_compiled_or_one_process_shall_do(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: object, **kwargs: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with compiled_aside(1) as wait:
        wait(lambda: False)
    monkeypatch.setattr(compiling_aside, "compiled_here", lambda: True)
    with compiled_aside(4) as wait:
        wait(lambda: False)


@pytest.mark.parametrize(
    ("command", "without"),
    [
        ("robots", "numba scipy trimesh networkx igl clarabel mujoco viser"),
        ("objects", "numba scipy trimesh pinocchio coal igl mujoco viser"),
    ],
)
def test_small_commands_load_no_heavy_package(command: str, without: str) -> None:
    code = (
        "import sys; from pliant.cli import run_command; "
        f"run_command({command.split()!r}); sys.stderr.write(' '.join({{m.split('.')[0] for m in sys.modules}}))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    assert set(without.split()) & set(answer.stderr.split()) == set()
