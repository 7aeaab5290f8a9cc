"""`pliant doctor` tells the truth about this machine; TAB offers what fits."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pliant.cli import machine
from pliant.cli import run_command as run
from pliant.parts import PARTS

KERNEL = '''
from numba import njit


@njit(cache=True)
def double(x):
    """2 x."""
    return x + x
'''


def findings(capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, dict[str, Any]]:
    assert run(["doctor", "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert answer["works"] == (code == 0)
    return {finding["what"]: finding for finding in answer["findings"]}


def test_the_cache_is_weighed_and_every_question_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.bin").write_bytes(bytes(12_345))
    found = findings(capsys)
    cache = found["cache"]["facts"]
    assert (cache["folder"], cache["files"], cache["bytes"]) == (str(tmp_path), 1, 12_345)
    assert cache["writable"] is True and cache["free_bytes"] > 0
    assert found["pliant"]["facts"]["executable"] == sys.executable
    assert found["cores"]["facts"]["allowed"] == len(os.sched_getaffinity(0))
    assert found["packages"]["facts"]["numpy"] == importlib.metadata.version("numpy")
    assert {*PARTS, "linear algebra", "compiled loops", "off-screen GL", "browser", "ROS 1", "ROS 2"} <= set(found)
    assert all(finding["remedy"] for finding in found.values() if finding["state"] != "good")


def test_what_does_not_work_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.setitem(sys.modules, "daqp", None)
    found = findings(capsys, code=1)
    assert found["cache"]["state"] == "slow" and "PLIANT_CACHE" in found["cache"]["remedy"]
    assert found["cache"]["facts"]["writable"] is False
    assert (found["lab"]["state"], found["lab"]["remedy"]) == ("missing", "pip install 'pliant[lab]'")
    assert (found["daqp"]["state"], found["daqp"]["remedy"]) == ("BROKEN", "pip install --force-reinstall daqp")
    assert "daqp" not in found["packages"]["facts"]
    assert run(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "lab: pip install 'pliant[lab]'" in text and "planning works here" not in text


def test_a_loop_counts_as_compiled_while_its_source_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_loop.py").write_text(KERNEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    kernel = importlib.import_module("own_loop").double
    assert not machine._is_compiled(kernel)
    assert kernel(2.0) == 4.0
    assert machine._is_compiled(kernel)
    later = (tmp_path / "own_loop.py").stat().st_mtime + 10.0
    os.utime(tmp_path / "own_loop.py", (later, later))
    assert not machine._is_compiled(kernel)


def test_loops_are_compiled_on_demand_before_they_are_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr("pliant.compiling.compile_loops", lambda: done.append("compiled"))

    def examine() -> list[machine.Finding]:
        return [machine.Finding("compiled loops", machine.State.GOOD, " ".join(done), facts={})]

    monkeypatch.setattr(machine, "examine", examine)
    assert run(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"][0]["found"] == ""
    assert run(["doctor", "--compile", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"][0]["found"] == "compiled"


def test_every_loop_of_pliant_is_counted_once() -> None:
    kernels = list(machine._kernels())
    assert len(kernels) > 50
    assert len({(kernel.py_func.__module__, kernel.py_func.__qualname__) for kernel in kernels}) == len(kernels)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pliant pl", ["plan"]),
        ("pliant plan rin", ["ring"]),
        ("pliant plan my", ["my_task.yaml"]),
        ("pliant plan --effort q", ["quick"]),
        ("pliant view my", ["my.plan", "my_task.yaml"]),
        ("pliant view sub/", ["sub/deep.plan"]),
        ("pliant robots kawa", ["kawasaki_fs020n"]),
        ("pliant objects tor", ["torus"]),
    ],
)
def test_the_shell_is_offered_names_options_and_files(
    line: str,
    offered: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("my_task.yaml", "my.plan", "my.stl", "sub/deep.plan"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_PLIANT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    assert run([]) == 0
    assert capsys.readouterr().out.split() == offered


def test_a_shell_gets_its_script_and_an_unknown_one_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for shell, part in (("bash", "complete -o default"), ("zsh", "#compdef pliant"), ("fish", "complete --command")):
        monkeypatch.setenv("_PLIANT_COMPLETE", f"source_{shell}")
        assert run([]) == 0
        assert part in capsys.readouterr().out
    monkeypatch.setenv("_PLIANT_COMPLETE", "source_nosuch")
    assert run([]) == 2
    assert "nosuch not supported" in capsys.readouterr().err
