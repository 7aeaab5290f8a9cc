"""`pliant check` of plan files: the file, then the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest import CaptureFixture

from made_plans import ball_plan
from pliant.cli import run_command as run
from pliant.control import Event, RunPhase, RunRecorder
from pliant.files import check_file, save_plan, save_run


def test_an_honest_plan_is_fine_and_summed_up(tmp_path: Path) -> None:
    report = check_file(save_plan(ball_plan(), tmp_path / "ball.plan"))
    assert (report.kind, report.ok, report.problems) == ("plan", True, ())
    assert "4 hypotheses, 1 kept; open hand: the open hand touches the scene 2" in report.facts[1]
    assert "grasp 0: left, right; at most 0.601 N and 20.8 kPa" in report.facts[2]
    assert "grasp 0: made by hand" in report.notes


def test_a_plan_that_does_not_hold_is_refused_with_numbers(tmp_path: Path, capsys: CaptureFixture[str]) -> None:
    plan = ball_plan()
    heavy = replace(plan, task=replace(plan.task, body=replace(plan.task.body, dry_mass=0.14)))
    file = save_plan(heavy, tmp_path / "heavy.plan")
    problems = check_file(file).problems
    assert any(p.where == "grasps[0].states[0].load" and "the weight is 1.373 N" in p.allowed for p in problems)
    assert run(["check", str(file), "--json"]) == 2
    assert '"kind": "plan"' in capsys.readouterr().out


def test_a_broken_plan_file_is_explained(tmp_path: Path) -> None:
    file = save_plan(ball_plan(), tmp_path / "ball.plan")
    file.write_bytes(file.read_bytes()[:-100])
    report = check_file(file)
    assert report.kind == "plan"
    assert "damaged" in str(report.problems[0])


def test_a_run_is_summed_up_and_a_broken_one_refused(tmp_path: Path) -> None:
    recorder = RunRecorder(("a",), ("pad",))
    for i in range(11):
        recorder.append({"time": 3.0 + 0.1 * i, "plan_time": 0.0, "phase": list(RunPhase).index(RunPhase.STOPPED)})
    recorder.event(Event(3.5, RunPhase.LIFT, "abort", "contact lost"))
    file = save_run(recorder.log(), tmp_path / "one.run")
    report = check_file(file)
    assert (report.kind, report.ok) == ("run", True)
    assert report.facts == (
        "11 steps in 1.00 s, 1 joints, 1 contacts, 0 tactile frames",
        "ended: stopped, aborted: contact lost",
    )
    file.write_bytes(file.read_bytes()[:300])
    assert "is not a run log" in str(check_file(file).problems[0])
