"""`pliant plan` as a program sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from made_arms import rover
from pliant.cli import run_command as run
from pliant.constants import GRAVITY
from pliant.files import load_plan
from pliant.planner import Phase

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
planner: {{shortlist: 1, faces: 20, rolls: 4, keep: 2, hypotheses: {hypotheses}}}
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
    assert answer["hypotheses"] >= 24  # improvements come on top
    assert set(answer) >= {"status", "hypotheses", "rejected", "best", "runners_up", "wall_s"}
    best = answer["best"]
    assert set(best) >= {"max_force_n", "contacts", "com_shift_m", "joint_range", "arm_path_rad", "fingers", "preshape"}
    assert set(best["contacts"][0]) >= {"link", "force_n", "normal", "point_m", "radius_m", "pressure_pa"}
    # Both bodies give: the softer ball more than the pad, and together about what the fingers overlap it by.
    assert all(0.0 < contact["pad_depth_m"] < 1e-3 for contact in best["contacts"])
    assert set(best) >= {"approach_s", "sequential_s", "approach_way"}
    grasp = load_plan(out).best
    assert best["approach_s"] == pytest.approx(grasp.trajectory.span(Phase.CLOSE)[1])
    assert best["sequential_s"] > grasp.trajectory.span(Phase.CLOSE)[1] - grasp.trajectory.span(Phase.CLOSE)[0]
    assert best["approach_way"] == grasp.approach_way
    assert sum(answer["rejected"].values()) + 1 + len(answer["runners_up"]) == answer["hypotheses"]
    assert load_plan(out).best.largest_force == pytest.approx(best["max_force_n"])
    assert run(["check", str(out)]) == 0


@pytest.mark.parametrize(
    ("uncertainty", "friction", "load"),
    [
        ("", 0.85, 1.05),
        ("uncertainty: {friction: 0, mass: 0}", 1.0, 1.0),
        ("uncertainty: {friction: 0.05, mass: 0.1}", 0.95, 1.1),
    ],
)
def test_planned_forces_have_the_reserve_of_the_tasks_uncertainty(tmp_path, capsys, uncertainty, friction, load):
    """Level pads need (load W / 2 + 0.05 W) / (friction mu); other pads are planned only where they need no more."""
    path, out = task(tmp_path), tmp_path / "ball.plan"
    path.write_text(path.read_text() + uncertainty + "\n")
    assert run(["plan", str(path), "--out", str(out), "--jobs", "1", "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    weight = GRAVITY * 0.12
    assert best["bound_n"] < best["nominal_force_n"] <= 1.001 * best["max_force_n"]
    assert best["reserve"] == {"friction": pytest.approx(friction), "load": pytest.approx(load)}
    needed = (0.5 * load + 0.05) * weight / (friction * 0.6)
    assert best["max_force_n"] < 1.12 * needed
    assert max(contact["wanted_n"] for contact in best["contacts"]) < 1.02 * needed
    assert best["bound_n"] == pytest.approx(load * weight / (2.0 * np.hypot(1.0, friction * 0.6)))


def test_an_arm_of_planar_and_spherical_joints_is_planned_for(tmp_path, capsys):
    path = task(tmp_path)
    path.write_text(path.read_text().replace("robot: {hand", f"robot: {{arm: {rover(tmp_path)}, hand"))
    out = tmp_path / "rover.plan"
    assert run(["plan", str(path), "--out", str(out), "--jobs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "found"
    plan = load_plan(out)
    robot = plan.task.assembly.robot
    assert robot.joint_names[:7] == (
        *("drive.x", "drive.y", "drive.theta", "lift"),
        *("wrist.yaw", "wrist.pitch", "wrist.roll"),
    )
    assert [ball.column for ball in robot.balls] == [4]
    assert run(["check", str(out)]) == 0


SURE = "uncertainty: {friction: 0, mass: 0}"
WEIGHT, DELTA, MU = GRAVITY * 0.12, 0.05 * GRAVITY * 0.12, 0.6


@pytest.mark.parametrize(
    ("goal", "smallest", "largest"),
    [
        # nothing weighs: the margin alone makes the squeeze, delta / mu
        ("gravity: [0, 0, 0]", DELTA / MU, DELTA / MU),
        # pushed along or across, without weight: across the pads F / 2 along one, n = F / 2 + delta / mu; along both
        # (F / 2 + delta) / mu, which is more
        ("gravity: [0, 0, 0], disturbances: [{force: [0, 0, 0.8]}]", 0.4 + DELTA / MU, (0.4 + DELTA) / MU),
        # on a slope: level pads along the slope bear m 9 / 2 each, and the lower one m 3 more
        ("gravity: [3, 0, -9]", 0.36 + (0.54 + DELTA) / MU, 0.36 + (0.54 + DELTA) / MU),
        # from any direction: along the weight at least, leaning on one pad at most, 8.4 % more by the 32 directions
        (
            "disturbances: [{any_force: 0.5}]",
            (0.5 * (WEIGHT + 0.5) + DELTA) / MU,
            (0.5 * WEIGHT + DELTA) / MU + 1.084 * 0.25 * (1.0 + MU**-2) ** 0.5,
        ),
    ],
)
def test_goals_with_gravity_and_pushes_are_planned_and_checked(tmp_path, capsys, goal, smallest, largest):
    """The nominal force of the best pinch beside its closed form; planned forces are close to it from above."""
    path, out = task(tmp_path), tmp_path / "ball.plan"
    path.write_text(path.read_text().replace("lift: 0.05", f"lift: 0.05, {goal}") + SURE + "\n")
    assert run(["plan", str(path), "--out", str(out), "--jobs", "1", "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    # pads that are not level may do with less, never with less than is possible at all
    planned = max(largest, 0.2)  # ten times what a cell of the gripper's pads reports at least
    assert 0.999 * best["bound_n"] < best["max_force_n"] < 1.12 * planned
    assert 0.999 * best["nominal_force_n"] < best["max_force_n"]
    assert best["hand_singular_value"] == pytest.approx(2**0.5)  # one slide moves two pads
    assert 0.01 < best["grasp_singular_value"] < 0.3
    assert run(["check", str(out)]) == 0


def test_a_liquid_without_gravity_is_refused_in_words(tmp_path, capsys):
    path = task(tmp_path)
    text = path.read_text().replace("lift: 0.05", "lift: 0.05, gravity: [0, 0, 0]")
    path.write_text(
        text.replace("  mass: 0.12", "  mass: 0.12\n  liquid: {volume: 2.0e-5, density: 1000, wall: 0.001}")
    )
    assert run(["plan", str(path), "--out", str(tmp_path / "ball.plan")]) == 2
    assert "a liquid needs a direction to settle in" in " ".join(capsys.readouterr().err.split())


def test_the_table_for_people_says_its_units(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    assert run(["plan", str(task(tmp_path)), "--out", str(tmp_path / "ball.plan"), "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    for unit in ("[N]", "[kPa]", "[s]"):
        assert unit in shown


def test_the_task_says_how_far_from_the_object_the_approach_ends(tmp_path, capsys):
    """10 mm from the touches by default; at 30 mm the gripper is open, and closing takes longer."""
    near, far = task(tmp_path), tmp_path / "far.yaml"
    far.write_text(near.read_text().replace("planner: {", "planner: {standoff: 0.03, tip_targets: pose, "))
    begins, closes, away = [], [], []
    for path in (near, far):
        out = path.with_suffix(".plan")
        assert run(["plan", str(path), "--out", str(out), "--jobs", "1", "--json"]) == 0
        assert run(["check", str(out)]) == 0
        grasp = load_plan(out).best
        begin, end = grasp.trajectory.span(Phase.CLOSE)
        begins.append(grasp.trajectory.at(begin))
        closes.append(end - begin)
        hand = grasp.trajectory.at(end) != begins[-1]
        away.append(float((begins[-1] - grasp.q_touch)[hand].max()))
    capsys.readouterr()
    # or twice or four times as far, where the approach would hit the ball
    assert min(abs(away[0] - 0.01 * factor) for factor in (1.0, 2.0, 4.0)) < 1e-4
    np.testing.assert_allclose(begins[1], grasp.q_pregrasp, atol=1e-9)
    assert closes[1] >= closes[0]


def test_no_plan_is_an_honest_no_with_advice(tmp_path, capsys):
    out = tmp_path / "none.plan"
    assert run(["plan", str(task(tmp_path, force=0.3)), "--out", str(out), "--jobs", "1", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "none"
    assert answer["best"] is None
    assert "Set object.limits.force: " in answer["advice"]
    assert load_plan(out).status == "none"


def test_a_task_that_is_not_there_is_a_broken_question(tmp_path, capsys):
    assert run(["plan", str(tmp_path / "nowhere.yaml"), "--json"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


def test_a_script_without_a_guard_plans_once_on_two_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import pliant\nplan = pliant.plan(pliant.load_task({str(task(tmp_path, hypotheses=40))!r}), jobs=2)\n"
        "print(plan.status, sum(h.number < 40 for h in plan.hypotheses))\n"
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
        while time.monotonic() < deadline and len(_children(process.pid)) < 2:
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
    forces = (grasp.largest_force, grasp.nominal_force)
    for number in (*forces, grasp.largest_pressure / 1e3, grasp.joint_range, grasp.trajectory.duration):
        assert f" {number:.3g} " in row
    assert "…" not in text and max(map(len, text.splitlines())) <= 80


def test_a_place_that_cannot_be_written_to_is_told_before_planning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.process_time()
    assert run(["plan", str(task(tmp_path, hypotheses=4000)), "--out", str(tmp_path)]) == 2
    assert "is a folder; name a file in it" in capsys.readouterr().err
    assert time.process_time() - start < 5.0
