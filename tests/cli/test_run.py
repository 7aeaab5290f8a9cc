"""`pliant run` and `pliant calibrate`: answers as the contract says, and questions that are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_plans import made
from pliant.cli import run_command as run_command_line
from pliant.control import CalibrationFactors
from pliant.errors import OptionError
from pliant.files import load_plan, load_run, read_task, save_calibration, save_plan
from pliant.lab import Disturbance, TrialSettings
from pliant.planner import Plan, PlanStatus, Push, Uncertainty


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = made("ball", hand="parallel_gripper", young=1.5e5, reserve=2.2)
    plan = Plan(there.task, PlanStatus.FOUND, (there.grasp,), (there.grasp.hypothesis,), ())
    return save_plan(plan, tmp_path_factory.mktemp("plans") / "ball.plan")


def call(*arguments: object) -> int:
    return run_command_line([str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--driver", "ros"], "no driver 'ros'"),
        (["--grasp", "3"], "no grasp 3"),
        (["--perturb", "colour=2"], "no setting 'colour'"),
        (["--perturb", "young=soft"], "'soft'"),
        (["--perturb", "mass=-1"], "--perturb: mass: -1; a half width, 0 or more, below 1"),
        (["--perturb", "young=1.5", "--series", "2"], "young: 1.5; a half width, 0 or more, below 1"),
        (["--perturb", "young=0.8/0.9"], "young: '0.8/0.9'; a finite number"),
        (["--perturb", "pose=1e-3/2e-3"], "pose: '1e-3/2e-3'; a finite number"),
        (["--perturb", "turn=4"], "closest: turn_deg"),
        (["--perturb", "pose=1e-3,position=1e-3"], "one of the two"),
        (["--perturb", "pose=1e-3", "--world", "turn=4"], "--world: is one chosen world"),
        (["--world", "turn=4", "--series", "2"], "--world: is one chosen world"),
        (["--world", "mass=-1"], "a factor above 0"),
        (["--world", "shift=1e-3/1e-3/1e-3"], "or two with a slash between"),
        (["--series", "2", "--out", "all.run"], "--out: is of a single run"),
        (["--series", "2", "--plots", "plots"], "--plots: is of a single run"),
        (["--sensor", "dropout=2"], "a probability"),
        (["--sensor", "noise"], "a finite number"),
    ],
)
def test_broken_questions_are_refused_before_anything_moves(
    plan_file: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("run", plan_file, *options) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "question",
    [
        ["run", "ball.plan"],
        ["calibrate", "ball.yaml"],
        ["plan", "ball.yaml"],
        ["batch", "--task", "ball.yaml", "--out", "out"],
        ["ik", "arm.urdf", "--frame", "tool0", "--samples", "2"],
    ],
)
def test_a_seed_below_zero_is_refused_before_anything_is_read(
    question: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*question, "--seed", "-1") == 2
    assert "'--seed'" in capsys.readouterr().err


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.plan").write_text("hello")
    assert call("run", tmp_path / "no.plan") == 2
    assert "no.plan" in capsys.readouterr().err


@pytest.mark.slow
def test_one_run_answers_with_the_keys_of_the_contract_and_writes_its_files(
    plan_file: Path, tmp_path: Path, coarse_lab: None, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plots = tmp_path / "ball.run", tmp_path / "plots"
    code = call(
        "run", plan_file, "--from-pregrasp", "--world", "shift=0.002/0.001,friction=0.95", "--sensor", "noise=4",
        "--out", out, "--plots", plots, "--json",
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0, answer
    assert answer["outcome"] == "held"
    keys = {"outcome", "reason", "slip_m", "object_error_m", "object_error_rad", "planned_force_n", "measured_force_n"}
    assert keys | {"max_force_n", "sim_s", "wall_s"} <= set(answer)
    assert 0.0 < answer["measured_force_n"] < answer["permitted_force_n"]
    log = load_run(out)
    assert log.facts["trial"]["outcome"] == "held"
    drawn = {path.name: path for path in plots.iterdir()}
    assert {"forces.svg", "joints.svg", "torques.svg", "finger_joints.svg", "finger_torques.svg"} <= set(drawn)
    # the gripper's one joint: from measured forces, reported by the drives, planned
    assert drawn["finger_torques.svg"].read_text().count("<polyline") >= 3


@pytest.mark.slow
def test_pushes_of_the_task_are_applied_told_and_reported(
    tmp_path: Path, coarse_lab: None, capsys: pytest.CaptureFixture[str]
) -> None:
    there = made("ball", hand="parallel_gripper", young=1.5e5, reserve=2.2)
    pushes = (Push(force=(0.0, 0.4, 0.0)), Push(force=(0.0, 30.0, 0.0)), Push(any_force=0.1))
    task = replace(there.task, goal=replace(there.task.goal, disturbances=pushes))
    plan = Plan(task, PlanStatus.FOUND, (there.grasp,), (there.grasp.hypothesis,), ())
    file, out = save_plan(plan, tmp_path / "ball.plan"), tmp_path / "ball.run"
    assert call("run", file, "--from-pregrasp", "--out", out, "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    weak, strong, *others = answer["pushes"]
    assert weak["force_n"] == [0.0, 0.4, 0.0] and weak["held"] is True and 0.0 < weak["slip_m"] < 0.003
    assert strong["held"] is False and strong["slip_m"] > 0.005
    assert len(others) == 6 and all(push["held"] is None and push["slip_m"] is None for push in others)
    assert answer["outcome"] in ("dropped", "aborted")
    page = tmp_path / "ball.html"
    assert call("report", file, "--run", out, "--out", page) == 0
    text = page.read_text()
    assert "Pushes on the held object" in text and "0 30 0" in text
    capsys.readouterr()

    one = replace(there.task, goal=replace(there.task.goal, disturbances=pushes[:1]))
    file = save_plan(replace(plan, task=one), tmp_path / "ball.plan")
    assert call("run", file, "--from-pregrasp") == 0
    text = capsys.readouterr().out
    assert "pushes on the held object" in text and "0 0.4 0" in text and "note: 1 push on the held object" in text


def asked_world(
    monkeypatch: pytest.MonkeyPatch, plan_file: Path, *options: object
) -> tuple[Disturbance, TrialSettings]:
    """World and settings with which the first trial would begin."""
    asked: list[tuple[Disturbance, TrialSettings]] = []

    def refuse(*_: object, settings: TrialSettings, disturbance: Disturbance, **__: object) -> None:
        asked.append((disturbance, settings))
        raise OptionError("trial", "is not run")

    monkeypatch.setattr("pliant.lab.run_trial", refuse)
    monkeypatch.setattr("pliant.lab.series.run_trial", refuse)
    assert call("run", plan_file, *options) == 2
    assert len(asked) == 1
    return asked[0]


@pytest.mark.parametrize("seed", [0, 7])
def test_one_run_with_half_widths_is_in_the_world_of_number_0_of_a_series(
    plan_file: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    half_widths = "position=0.003,turn_deg=4,young=0.2,friction=0.15,mass=0.05"
    world, settings = asked_world(monkeypatch, plan_file, "--perturb", half_widths, "--seed", seed)
    options = ("--perturb", half_widths, "--seed", seed, "--series", 3)
    assert (world, settings) == asked_world(monkeypatch, plan_file, *options)
    assert 0.0 < abs(world.shift[0]) <= 0.003 and 0.0 < abs(world.shift[1]) <= 0.003
    assert 0.0 < abs(world.turn) <= np.radians(4.0)
    assert 0.0 < abs(world.young - 1.0) <= 0.2
    assert 0.0 < abs(world.friction - 1.0) <= 0.15
    assert 0.0 < abs(world.mass - 1.0) <= 0.05
    assert world != asked_world(monkeypatch, plan_file, "--perturb", half_widths, "--seed", seed + 1)[0]


def test_a_chosen_world_is_taken_as_it_is_and_no_world_is_the_plans(
    plan_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = "shift=0.003/-0.002,turn=4,young=0.8,friction=0.9,mass=1.05"
    world = asked_world(monkeypatch, plan_file, "--world", chosen)[0]
    assert world == Disturbance((0.003, -0.002), np.radians(4.0), young=0.8, friction=0.9, mass=1.05)
    assert asked_world(monkeypatch, plan_file, "--world", "shift=0.001")[0] == Disturbance((0.001, 0.0))
    assert asked_world(monkeypatch, plan_file)[0] == Disturbance()


def test_the_controller_wants_forces_by_the_cost_that_the_plan_was_made_with(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load_plan(plan_file)
    options = replace(plan.task.options, cost="loading")
    other = save_plan(replace(plan, task=replace(plan.task, options=options)), tmp_path / "loading.plan")
    assert asked_world(monkeypatch, other)[1].control.cost == "loading"
    assert asked_world(monkeypatch, plan_file)[1].control.cost == "largest"


def test_the_calibration_beside_a_plan_reaches_its_controller(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """k and D are over the modulus of the calibration's start: a plan of another E has them times E_start / E."""
    from pliant.calibration import Calibration

    plan = load_plan(plan_file)
    mine = save_plan(plan, tmp_path / "mine.plan")
    young = plan.task.body.material.young
    found = Calibration(1.8, 3000.0, 1.6, 3.5e5, 0.45, 0.0, 0.02, 5, ())
    beside = tmp_path / "mine.calibration.yaml"
    save_calibration(found, beside, young=0.5 * young, friction=0.6)

    def used(*options: object) -> CalibrationFactors:
        return asked_world(monkeypatch, mine, *options)[1].control.calibration

    assert vars(used()) == pytest.approx({"force": 0.9, "stiffness": 0.8})
    assert used("--no-calibration") == CalibrationFactors()
    elsewhere = beside.rename(tmp_path / "other.yaml")
    assert used() == CalibrationFactors()
    assert used("--calibration", elsewhere).force == pytest.approx(0.9)
    assert call("run", mine, "--calibration", elsewhere, "--no-calibration") == 2
    assert "one of the two" in capsys.readouterr().err


def test_a_series_draws_from_the_tasks_own_uncertainty(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load_plan(plan_file)
    sure = replace(plan.task, uncertainty=Uncertainty(0.0, 0.0, friction=0.0, mass=0.3, young=0.0))
    other = save_plan(replace(plan, task=sure), tmp_path / "sure.plan")
    world = asked_world(monkeypatch, other, "--series", 2)[0]
    assert world == Disturbance(mass=world.mass) and 0.0 < abs(world.mass - 1.0) <= 0.3


TASK = """
robot: {hand: parallel_gripper}
object:
  shape: {sphere: {radius: 0.03}}
  material: {young: 2.0e+5, poisson: 0.45, density: 1100, friction: 0.6}
"""


def test_a_plan_of_another_object_calibrates_nothing(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thing.yaml").write_text(TASK.replace("0.03", "0.02"))
    assert call("calibrate", tmp_path / "thing.yaml", "--plan", plan_file) == 2
    assert "another object than that of" in capsys.readouterr().err
    assert not (tmp_path / "thing.calibration.yaml").exists()


def test_a_truth_that_makes_no_sense_is_told_before_a_grasp_is_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr("pliant.planner.plan", never)
    (tmp_path / "thing.yaml").write_text(TASK)
    for text, words in (("young=-2", "a factor above 0"), ("young=stiff", "a finite number"), ("yung=2", "young")):
        assert call("calibrate", tmp_path / "thing.yaml", "--truth", text) == 2
        assert words in capsys.readouterr().err


def test_a_calibration_beside_the_task_is_used_when_it_is_read_and_noted(tmp_path: Path) -> None:
    from pliant.calibration import Calibration, CalibrationNote, NoteKind

    path = tmp_path / "thing.yaml"
    path.write_text(TASK)
    assert read_task(path).body.material.young == 2e5
    vague = CalibrationNote(NoteKind.VAGUE_YOUNG, "Young's modulus may be 2.8e+05 to 4.5e+05 Pa")
    other = CalibrationNote(NoteKind.NO_SLIP, "something else")
    found = Calibration(1.8, 3000.0, 1.6, 3.5e5, 0.45, 0.0, 0.02, 5, (vague, other))
    save_calibration(found, tmp_path / "thing.calibration.yaml", young=2e5, friction=0.6)
    task = read_task(path)
    assert task.body.material.young == pytest.approx(3.5e5)
    assert task.body.material.friction == pytest.approx(0.45)
    assert [note for note in task.notes if "thing.calibration.yaml" in note] == [
        "thing.calibration.yaml: young 2e+05 -> 3.5e+05, friction 0.6 -> 0.45",
        f"thing.calibration.yaml: {vague.text}",
    ]
    assert read_task(path, calibrated=False).body.material.young == 2e5
    bounds = CalibrationNote(NoteKind.AT_BOUNDS, "any words")
    save_calibration(replace(found, notes=(bounds,)), tmp_path / "thing.calibration.yaml", young=2e5, friction=0.6)
    with pytest.raises(OptionError, match="not to be trusted"):
        read_task(path)


OLD_CALIBRATION = """
kind: calibration
version: 1
young: 3.5e+5
friction: 0.45
k: 1.8
stiffness: 3000.0
stiffness_factor: 1.6
misfit: 0.02
started_from: {young: 2.0e+5, friction: 0.6}
"""


def test_a_calibration_of_version_1_with_notes_as_texts_is_still_read(tmp_path: Path) -> None:
    (tmp_path / "thing.yaml").write_text(TASK)
    calibration = tmp_path / "thing.calibration.yaml"
    vague = "Young's modulus may be 2.8e+05 to 4.5e+05 Pa: the forces felt span a factor of 1.3"
    calibration.write_text(f'{OLD_CALIBRATION}notes: ["{vague}", something else]\n')
    notes = read_task(tmp_path / "thing.yaml").notes
    assert f"thing.calibration.yaml: {vague}" in notes
    assert not any("something else" in note for note in notes)
    calibration.write_text(f"{OLD_CALIBRATION}notes: ['the fit ran into its bounds: do not trust it']\n")
    with pytest.raises(OptionError, match="not to be trusted"):
        read_task(tmp_path / "thing.yaml")
    calibration.write_text(OLD_CALIBRATION)
    assert read_task(tmp_path / "thing.yaml").body.material.young == pytest.approx(3.5e5)
