"""`pliant judge`, as people and programs call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_plans import ball_plan
from pliant.cli import run_command
from pliant.files import save_plan
from pliant.judge import GraspVerdict, JudgedGrasp, Outcome

KEYS = {"holds", "forces_n", "planned_forces_n", "critical_friction_factor", "cpu_s", "notes"}


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_plan(ball_plan(), tmp_path_factory.mktemp("plans") / "ball.plan")


@pytest.fixture(scope="module")
def vessel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_plan(ball_plan(liquid=True), tmp_path_factory.mktemp("plans") / "vessel.plan")


def call(*arguments: object) -> int:
    return run_command([str(argument) for argument in arguments])


def test_a_pinched_ball_is_judged_at_every_friction_that_is_asked(
    plan_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planned 5 % above m g / (2 mu): it holds at the task's friction and cannot at half of it; the answer is the
    first one's."""
    code = call("judge", plan_file, "--friction", 0.5, "--friction", 1.5, "--edge", 0.0025, "--json")
    told = capsys.readouterr()
    answer: dict[str, Any] = json.loads(told.out)
    assert code == 1 and told.err == ""
    assert set(answer) >= KEYS
    assert answer["holds"] is False and answer["verdict"] == "falls"
    assert answer["critical_friction_factor"] is None
    assert sorted(answer["links"][:2]) == ["left_finger", "right_finger"]
    # 70 g in two contacts
    assert answer["planned_forces_n"][:2] == pytest.approx([0.07 * 9.80665 / 1.2] * 2, rel=0.1)
    falls, held = answer["verdicts"]
    assert (falls["friction_factor"], held["friction_factor"]) == (0.5, 1.5)
    assert held["holds"] is True and held["verdict"] == "held"
    assert held["tangential_n"][:2] == pytest.approx([0.07 * 9.80665 / 2.0] * 2, rel=0.03)
    # it stood where the task has it, sunk in by half a millimetre, and the fingers give less than that under its weight
    assert -5e-4 < held["moved_m"][2] < 0.0
    assert held["slid_m"][:2] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert answer["cpu_s"] > 0.0


def test_the_table_for_people_has_units_and_the_critical_friction(
    plan_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdicts are given here, to a grasp that falls below 0.9: what is shown follows from them."""
    given = object.__new__(JudgedGrasp)
    question = type("Q", (), {"partners": [], "planned": (), "friction": 0.6, "notes": ()})()
    for name, value in (("question", question), ("body", type("B", (), {"elements": 1234})()), ("pads", None)):
        object.__setattr__(given, name, value)
    asked: list[float] = []

    def ask(_judged: JudgedGrasp, factor: float = 1.0, progress: Any = None) -> Outcome:
        asked.append(factor)
        return Outcome(GraspVerdict.HELD if factor >= 0.9 else GraspVerdict.FALLS, (), (), (), np.zeros(3), np.zeros(3))

    monkeypatch.setattr(JudgedGrasp, "of", staticmethod(lambda *_given, **_options: given))
    monkeypatch.setattr(JudgedGrasp, "ask", ask)
    monkeypatch.setenv("COLUMNS", "140")
    assert call("judge", plan_file, "--critical") == 0
    shown = capsys.readouterr().out
    assert "[N]" in shown and "[mm]" in shown and "friction 0.6 (x 1): held" in shown
    found = float(shown.split("it falls below ")[1].split()[0])
    assert found == pytest.approx(0.9, rel=0.01)
    assert len(asked) == len(set(asked)) < 12


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--grasp", "3"], "no grasp 3; the plan holds 1"),
        (["--friction", "-0.5"], "-0.5; a factor, 0 or more"),
        (["--friction", "nan"], "nan; a factor, 0 or more"),
        (["--edge", "0"], "edge: 0 m must be above 0"),
        (["--pad-thickness", "-1e-3"], "pad thickness: -0.001 m must be above 0"),
    ],
)
def test_broken_questions_are_refused(
    plan_file: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("judge", plan_file, *options) == 2
    assert said in capsys.readouterr().err


def test_a_vessel_is_refused_in_words(vessel_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("judge", vessel_file, "--json") == 2
    told = capsys.readouterr()
    assert "the judge knows solid bodies only" in told.err
    assert json.loads(told.out)["error"]["problems"][0]["where"] == "object.liquid"


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.plan").write_text("hello")
    assert call("judge", tmp_path / "no.plan") == 2
    assert "no.plan" in capsys.readouterr().err


def test_ctrl_c_ends_it_without_a_word_on_stdout(
    plan_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_given: Any, **_options: Any) -> JudgedGrasp:
        raise KeyboardInterrupt

    monkeypatch.setattr(JudgedGrasp, "of", staticmethod(interrupted))
    assert call("judge", plan_file, "--json") == 130
    told = capsys.readouterr()
    assert told.out == "" and told.err.strip() == "interrupted"
