"""The command line as a user meets it: a real process, its output, its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pliant.cli import run
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
def test_demo_draws_the_ring_and_tells_the_truth(tmp_path: Path) -> None:
    answer = pliant("demo", "--out", tmp_path / "demo", "--json")
    assert answer.returncode == 0, answer.stderr
    demo = json.loads(answer.stdout)
    assert demo["robot"]["independent_joints"] == 13
    exact = 2 * np.pi**2 * 0.035 * 0.015**2
    assert demo["object"]["exact_volume_m3"] == pytest.approx(exact, rel=1e-12)
    assert abs(demo["object"]["volume_error"]) < 0.005
    from PIL import Image

    with Image.open(demo["files"][0]) as picture:
        pixels = np.asarray(picture, dtype=float)
    # The ring is the only orange thing: red well above blue somewhere, and only there.
    orange = (pixels[..., 0] - pixels[..., 2]) > 100
    assert 100 < orange.sum() < 0.02 * orange.size


def test_demo_into_a_folder_that_cannot_be_made_is_a_broken_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(["demo", "--out", str(tmp_path / "file" / "below")]) == 2
    assert "cannot be made" in capsys.readouterr().err
