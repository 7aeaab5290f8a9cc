"""`pliant servo`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from pliant.cli.servo import servo
from pliant.errors import InputError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "paths"
ROBOT = "kawasaki_fs020n+schunk_sdh2"


@pytest.fixture
def call(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(servo)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.mark.parametrize("name", ["circle", "eight_three_tips", "conveyor"])
def test_the_example_paths_are_followed(call, tmp_path, name):
    result = call(ROBOT, EXAMPLES / f"{name}.yaml", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["status"] == "followed"
    assert answer["max_error_m"] < 1e-4
    assert answer["max_error_rad"] < 1e-4
    assert answer["step_us"] > 0
    with (tmp_path / f"{name}.points.csv").open() as file:
        assert len(list(csv.reader(file))) == answer["points"] + 1


@pytest.mark.parametrize("solver", ["pinv", "exclusion", "descent", "qp"])
def test_every_solver_can_be_chosen(call, tmp_path, solver):
    (tmp_path / "short.yaml").write_text(
        "duration: 0.3\nframes: [{link: palm_frame, path: {circle: {radius: 0.02, axis: [1, 0, 0], period: 2}}}]"
    )
    result = call(ROBOT, "short.yaml", "--solver", solver, "--out", "points.csv")
    assert result.exit_code == 0, result.output
    assert f"solver {solver}" in result.stdout
    assert (tmp_path / "points.csv").exists()


def test_a_path_out_of_reach_is_an_honest_no_with_place_and_size(call, tmp_path):
    (tmp_path / "far.yaml").write_text(
        "frames: [{link: palm_frame, path: {points:"
        " [{time: 0, position: [1.2, 0, 1.1]}, {time: 3, position: [2.6, 0, 1]}]}}]"
    )
    result = call(ROBOT, "far.yaml", "--json")
    assert result.exit_code == 1
    short = json.loads(result.stdout)["shortfall"]
    assert short["link"] == "palm_frame"
    assert 0.0 < short["first_time_s"] < 3.0
    assert 0.3 < short["error_m"] < 1.5
    assert "cannot follow" in call(ROBOT, "far.yaml").stdout.replace("\n", " ")


def test_a_tolerance_inserts_points(call, tmp_path):
    (tmp_path / "short.yaml").write_text(
        "duration: 1\nframes: [{link: palm_frame, path: {circle: {radius: 0.1, axis: [1, 0, 0], period: 4}}}]\n"
        "points: {every: 0.25}"
    )
    fine = json.loads(call(ROBOT, "short.yaml", "--tolerance", "2e-5", "--json").stdout)
    assert fine["inserted"] > 0
    assert fine["max_interpolation_error_m"] <= 2e-5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ROBOT, "nothing.yaml"), "no such file"),
        (("schunk_sdh3", "nothing.yaml"), "closest: schunk_sdh2"),
        ((ROBOT, EXAMPLES / "circle.yaml", "--solver", "qpp"), "no solver 'qpp'"),
        ((ROBOT, EXAMPLES / "circle.yaml", "--tolerance", "0"), "above zero"),
        (("kawasaki_fs020n", EXAMPLES / "circle.yaml"), "no link 'palm_frame'"),
        ((ROBOT, EXAMPLES / "conveyor.yaml", "--out", "/dev/null/points.csv"), "cannot be written"),
    ],
)
def test_broken_questions_say_what_is_allowed(call, arguments, message):
    result = call(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert message in str(result.exception)
