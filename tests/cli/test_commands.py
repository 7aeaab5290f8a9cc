"""The command line as a user meets it: a real process, its output, its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pliant.cli import run_command as run
from pliant.objects import make_shape, write_mesh


def pliant(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from pliant.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


def test_version_and_help_name_the_commands() -> None:
    from pliant import __version__

    assert pliant("--version").stdout == f"pliant {__version__}\n"
    text = pliant("--help").stdout
    for command in ("demo", "check", "robots", "objects"):
        assert command in text
    assert "Examples" in pliant("check", "--help").stdout


def test_check_prints_one_json_object_with_every_file(tmp_path: Path) -> None:
    good = write_mesh(make_shape("sphere"), tmp_path / "ball.stl")
    bad = tmp_path / "bad.urdf"
    bad.write_text('<robot name="r"><link name="a"/><joint name="j" type="ball"/></robot>')
    answer = pliant("check", good, bad, "--json")
    assert answer.returncode == 2
    files = json.loads(answer.stdout)["files"]
    assert [(f["kind"], f["ok"]) for f in files] == [("mesh", True), ("robot", False)]
    assert all(set(p) == {"where", "what", "allowed"} for p in files[1]["problems"])
    assert pliant("check", good).returncode == 0


def test_bad_questions_exit_with_2_and_a_message_but_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text("colour: blue")
    for arguments in (
        ["check"],
        ["check", "no.stl"],
        ["check", tmp_path / "odd.yaml"],
        ["frobnicate"],
        ["objects", "cubb"],
    ):
        answer = pliant(*arguments, cwd=tmp_path)
        assert answer.returncode == 2, arguments
        assert "Traceback" not in answer.stdout + answer.stderr
        assert answer.stdout + answer.stderr


def test_a_run_is_not_shown_beside_a_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", "ring", "--run", "ring.run"]) == 2
    assert "a run belongs to a plan" in capsys.readouterr().err


def test_error_in_json_mode_is_one_object_and_a_message_on_stderr() -> None:
    answer = pliant("objects", "tors", "--json")
    assert answer.returncode == 2
    assert json.loads(answer.stdout)["error"]["problems"][0]["allowed"] == "closest: torus"
    assert "closest: torus" in answer.stderr


def test_our_own_faults_exit_with_3(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import pliant.objects

    def broken(text: str) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(pliant.objects, "parse_shape", broken, raising=False)
    monkeypatch.delenv("PLIANT_TRACEBACK", raising=False)
    assert run(["objects", "torus"]) == 3
    assert "our fault: ZeroDivisionError: boom" in capsys.readouterr().err


def test_robots_and_objects_list_what_ships(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["robots", "--json"]) == 0
    robots = json.loads(capsys.readouterr().out)["robots"]
    assert set(robots) == {"schunk_sdh2", "kawasaki_fs020n", "allegro_like", "parallel_gripper"}
    assert all(r["sources"] and r["assumed"] for r in robots.values())
    assert run(["objects", "--json"]) == 0
    shapes = json.loads(capsys.readouterr().out)["shapes"]
    assert {"torus", "sphere", "box", "cylinder", "disc", "tube", "bottle"} <= set(shapes)
    assert run(["robots", "schunk_sdh2"]) == 0
    assert "base_rotation" in capsys.readouterr().out


def test_objects_writes_a_mesh_that_check_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "box.obj"
    assert run(["objects", "box:size=0.1x0.05x0.02", "--out", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(facts["volume_m3"], 1e-4, rtol=1e-12)
    assert run(["check", str(file)]) == 0


@pytest.mark.slow
def test_demo_plans_executes_and_reports(
    tmp_path: Path, coarse_lab: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pliant import lab, viewer

    monkeypatch.setattr(lab, "TrialSettings", partial(lab.TrialSettings, from_pregrasp=True))
    monkeypatch.setattr(viewer, "save_stills", partial(viewer.save_stills, width=240, height=160))
    code = run(["demo", "--out", str(tmp_path / "demo"), "--jobs", "1", "--no-view", "--json"])
    demo = json.loads(capsys.readouterr().out)
    assert code in (0, 1)
    assert demo["plan"]["status"] == "found"
    assert sum(demo["plan"]["rejected"].values()) + 1 + len(demo["plan"]["runners_up"]) == demo["plan"]["hypotheses"]
    # three or fewer contacts carry 1.67 N with friction 0.8: each at least a third of W / mu
    assert 0.69 < demo["plan"]["best"]["max_force_n"] < 15.0
    assert demo["run"]["outcome"] in ("held", "dropped", "aborted")
    assert (demo["run"]["outcome"] == "held") == (code == 0)
    names = [Path(file).name for file in demo["files"]]
    assert names[:2] == ["ring.plan", "ring.run"]
    assert names[-1] == "ring.html"
    assert all(name.endswith(".png") for name in names[2:-1])
    assert all(Path(file).stat().st_size > 1000 for file in demo["files"])
    assert "<html" in Path(demo["files"][-1]).read_text()[:200].lower()


def test_demo_into_a_folder_that_cannot_be_made_is_a_broken_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(["demo", "--out", str(tmp_path / "file" / "below")]) == 2
    assert "cannot be made" in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_failure() -> None:
    code = "from pliant.cli import main; main(['objects', '--json'])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


def test_a_full_disk_is_told_without_a_traceback() -> None:
    command = [sys.executable, "-c", "from pliant.cli import main; main(['objects', '--json'])"]
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr
    assert "cannot be written" in answer.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin1"])
def test_terminals_without_unicode_get_question_marks(encoding: str) -> None:
    command = [sys.executable, "-c", "from pliant.cli import main; main(['robots'])"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"}
    answer = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    assert answer.returncode == 0
    assert b"kawasaki_fs020n" in answer.stdout


def test_names_are_never_cut_in_a_narrow_terminal() -> None:
    environment = {**os.environ, "COLUMNS": "80"}
    command = [sys.executable, "-c", "from pliant.cli import main; main(['robots'])"]
    text = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True).stdout
    for name in ("kawasaki_fs020n", "parallel_gripper", "allegro_like", "schunk_sdh2"):
        assert name in text
