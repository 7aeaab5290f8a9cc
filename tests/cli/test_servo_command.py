"""`pliant servo`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
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


@pytest.mark.parametrize("name", ["circle", "eight_three_tips", "conveyor", "split_at_the_palm"])
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


def columns(file):
    """Point array: names of the joints, and their values."""
    with Path(file).open() as opened:
        rows = list(csv.reader(opened))
    return rows[0][1:], np.array(rows[1:], dtype=float)[:, 1:]


def test_a_split_chain_moves_the_arm_as_if_there_were_no_fingers(call, tmp_path):
    """The arm's points of the example are those of its palm alone; unsplit, the tip's target moves them."""
    text = (EXAMPLES / "split_at_the_palm.yaml").read_text().replace("duration: 4", "duration: 1")
    text = text.replace("palm_frame, path", "palm_frame, rows: position, path")  # leaves the arm a choice
    (tmp_path / "split.yaml").write_text(text)
    (tmp_path / "together.yaml").write_text(text.replace("split: palm\n", ""))
    arm = "joints: [joint1, joint2, joint3, joint4, joint5, joint6]\n"
    (tmp_path / "alone.yaml").write_text(arm + text.replace("split: palm\n", "").rpartition("  - {link: tip")[0])
    points = {}
    for name in ("split", "together", "alone"):
        assert call(ROBOT, f"{name}.yaml").exit_code == 0
        points[name] = columns(tmp_path / f"{name}.points.csv")[1]
    np.testing.assert_allclose(points["split"][:, :6], points["alone"][:, :6], atol=2e-6)  # as settled
    assert np.abs(points["split"][:, 6:] - points["split"][0, 6:]).max() > 0.01
    assert np.abs(points["together"][:, :6] - points["alone"][:, :6]).max() > 1e-3


SLIDES = """<robot name="slides"><link name="base"/><link name="a"/><link name="b"/>
<joint name="coarse" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="fine" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


@pytest.mark.parametrize("solver", ["qp", "pinv", "exclusion"])
@pytest.mark.parametrize(("scales", "share"), [("{}", 0.5), ("{coarse: 2}", 0.8), ("{coarse: 0.5, fine: 1.5}", 0.1)])
def test_scales_share_a_motion_between_joints_as_their_squares(call, tmp_path, solver, scales, share):
    """Two slides in line: the smallest sum (qdot / s)^2 gives each s_i^2 / (s_1^2 + s_2^2) of the way."""
    (tmp_path / "slides.urdf").write_text(SLIDES)
    (tmp_path / "path.yaml").write_text(
        f"scales: {scales}\nframes: [{{link: b, path: {{points: [{{time: 0, position: [0, 0, 0]}},"
        " {time: 1, position: [0.3, 0, 0]}]}}]"
    )
    result = call("slides.urdf", "path.yaml", "--solver", solver, "--json")
    assert result.exit_code == 0, result.output
    names, q = columns(tmp_path / "path.points.csv")
    assert names == ["coarse", "fine"]
    assert q[-1].sum() == pytest.approx(0.3, abs=1e-9)
    assert q[-1, 0] == pytest.approx(0.3 * share, abs=1e-4)


COMPOUND = """<robot name="rover"><link name="floor"/><link name="cart"/><link name="arm"/><link name="tip"/>
<joint name="cart" type="planar"><parent link="floor"/><child link="cart"/><axis xyz="0 0 1"/></joint>
<joint name="neck" type="spherical"><parent link="cart"/><child link="arm"/><origin xyz="0 0 0.5"/></joint>
<joint name="slide" type="prismatic"><parent link="arm"/><child link="tip"/><origin xyz="0 0 0.2"/><axis xyz="0 0 1"/>
  <limit lower="0" upper="0.4" velocity="1" effort="1"/></joint></robot>"""


def test_planar_and_spherical_joints_carry_a_frame_over_the_top(call, tmp_path):
    """The tip tilts from upright through a pitch of 90 degrees, where yaw and roll turn about one line."""
    (tmp_path / "rover.urdf").write_text(COMPOUND)
    (tmp_path / "tilt.yaml").write_text(
        """
start_deg: {cart.x: 0.2, neck.yaw: 30, slide: 0.1}
points: {every: 0.02, tolerance: 1.0e-4}
frames:
  - link: tip
    basis: world
    weights: [1, 1, 0, 1, 1, 1]
    path:
      points:
        - {time: 0, position: [0.2, 0, 0.8], rpy_deg: [0, 0, 30]}
        - {time: 2, position: [0.6, 0.3, 0.5], rpy_deg: [1, 90, 20]}
        - {time: 4, position: [0.9, 0.4, 0.4], rpy_deg: [170, 60, 200]}
"""
    )
    result = call("rover.urdf", "tilt.yaml", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["max_error_rad"] < 1e-3
    assert answer["max_interpolation_error_m"] <= 1e-4
    names, q = columns(tmp_path / "tilt.points.csv")
    assert names[:4] == ["cart.x", "cart.y", "cart.theta", "neck.yaw"]
    assert q[0, 0] == pytest.approx(0.2, abs=1e-6)
    assert np.abs(np.sin(q[:, 4])).max() > 0.99


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
        ((ROBOT, EXAMPLES / "conveyor.yaml", "--out", "/dev/null/points.csv"), "is no folder"),
    ],
)
def test_broken_questions_say_what_is_allowed(call, arguments, message):
    result = call(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert message in str(result.exception)
