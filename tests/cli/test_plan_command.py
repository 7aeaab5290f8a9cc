"""`pliant plan` as a program sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pliant.cli import run_command as run
from pliant.files import load_plan

pytestmark = pytest.mark.slow

TASK = """
robot: {{hand: parallel_gripper}}
object:
  shape: {{sphere: {{radius: 0.03, edge: 0.009}}}}
  pose: {{position: [0.5, 0, 0.3]}}
  mass: 0.12
  material: {{young: 5.0e+5, poisson: 0.45, friction: 0.6}}
  limits: {{force: {force}}}
task: {{lift: 0.05}}
planner: {{faces: 20, rolls: 4, keep: 2, hypotheses: {hypotheses}}}
"""


def task(folder: Path, force: float = 20.0, hypotheses: int = 24) -> Path:
    path = folder / "ball.yaml"
    path.write_text(TASK.format(force=force, hypotheses=hypotheses))
    return path


def test_a_plan_is_found_written_and_described(tmp_path, capsys):
    out = tmp_path / "made" / "ball.plan"
    assert run(["plan", str(task(tmp_path)), "--out", str(out), "--jobs", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "found"
    assert answer["hypotheses"] == 24
    assert set(answer) >= {"status", "hypotheses", "rejected", "best", "runners_up", "wall_s"}
    best = answer["best"]
    assert set(best) >= {"max_force_n", "contacts", "com_shift_m", "joint_range", "arm_path_rad", "fingers", "preshape"}
    assert set(best["contacts"][0]) >= {"link", "force_n", "normal", "point_m", "radius_m", "pressure_pa"}
    assert sum(answer["rejected"].values()) + 1 + len(answer["runners_up"]) == 24
    assert load_plan(out).best.largest_force == pytest.approx(best["max_force_n"])
    assert run(["check", str(out)]) == 0


def test_the_table_for_people_says_its_units(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    assert run(["plan", str(task(tmp_path)), "--out", str(tmp_path / "ball.plan"), "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    for unit in ("[N]", "[kPa]", "[rad]", "[s]"):
        assert unit in shown


def test_no_plan_is_an_honest_no_with_advice(tmp_path, capsys):
    out = tmp_path / "none.plan"
    assert run(["plan", str(task(tmp_path, force=0.3)), "--out", str(out), "--jobs", "1", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "none"
    assert answer["best"] is None
    assert "raise" in answer["advice"]
    assert load_plan(out).status == "none"


def test_a_task_that_is_not_there_is_a_broken_question(tmp_path, capsys):
    assert run(["plan", str(tmp_path / "nowhere.yaml"), "--json"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


def test_a_script_without_a_guard_plans_once_on_two_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import pliant\nplan = pliant.plan(pliant.load_task({str(task(tmp_path, hypotheses=40))!r}), jobs=2)\n"
        "print(plan.status, len(plan.hypotheses))\n"
    )
    answer = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=240, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "found 40\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_end_from_outside_ends_all_processes_and_leaves_no_file(tmp_path, how):
    out = tmp_path / "ball.plan"
    command = [sys.executable, "-m", "pliant", "plan", str(task(tmp_path, hypotheses=4000)), "--out", str(out)]
    with (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen([*command, "--jobs", "2"], stderr=errors, start_new_session=True)
    children: list[int] = []
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len(_children(process.pid)) < 3:
            assert process.poll() is None, (tmp_path / "errors").read_text()
            time.sleep(0.1)
        children = _children(process.pid)
        assert len(children) >= 2
        if how is signal.SIGINT:
            os.killpg(process.pid, how)  # what a terminal does
        else:
            process.kill()  # the parent alone: nobody is left to end the workers
        process.wait(timeout=60)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and any(_alive(child) for child in children):
            time.sleep(0.1)
        left = [child for child in children if _alive(child)]
    finally:
        if process.poll() is None or any(_alive(child) for child in children):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == (130 if how is signal.SIGINT else -how)
    assert not out.exists()
    assert not left
    if how is signal.SIGINT:
        assert (tmp_path / "errors").read_text() == "interrupted\n"


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text() if Path("/proc").exists() else ""
    return [int(child) for child in text.split()]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def test_the_table_of_grasps_shows_every_number_on_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["plan", str(task(tmp_path)), "--out", str(tmp_path / "ball.plan"), "--jobs", "1"]) == 0
    text = capsys.readouterr().out
    grasp = load_plan(tmp_path / "ball.plan").grasps[0]
    row = next(line for line in text.splitlines() if line.startswith("│ 1 │"))
    for number in (grasp.largest_force, grasp.largest_pressure / 1e3, grasp.joint_range, grasp.trajectory.duration):
        assert f" {number:.3g} " in row
    assert "…" not in text and max(map(len, text.splitlines())) <= 80


def test_a_place_that_cannot_be_written_to_is_told_before_planning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.process_time()
    assert run(["plan", str(task(tmp_path, hypotheses=4000)), "--out", str(tmp_path)]) == 2
    assert "is a folder; name a file in it" in capsys.readouterr().err
    assert time.process_time() - start < 5.0
