"""`pliant objects repair`, and the promise of every refusal: the command that it names makes the file sound."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from made_scans import ball, hammer, joined, noisy, sampled, with_specks, without_bottom, written
from pliant.cli import run_command
from pliant.objects import Mesh, load_mesh, make_shape, mesh_volume

BOX = make_shape("box", size=(0.06, 0.05, 0.04), edge=0.01)
OPEN_BOX = without_bottom(BOX, 1e-6)
HAMMER = 0.08 * 0.03 * 0.03 + 0.015**2 * 0.095
UNSEEN_BOTTOM = sampled(without_bottom(make_shape("box", size=(0.06, 0.06, 0.03), edge=0.01), 1e-6), 2000)

REFUSED = {
    "millimetres": ("scan.stl", BOX.scaled(1000), "--units mm", 1.2e-4),
    "centimetres": ("scan.obj", make_shape("banana", edge=0.006).scaled(100), "--units cm", None),
    "inches": ("a ball.ply", ball().scaled(1 / 0.0254), "--units in", mesh_volume(ball())),
    "open bottom": ("scan.obj", OPEN_BOX, "--cap", 1.2e-4),
    "open bottom in inches": ("my box.obj", OPEN_BOX.scaled(1 / 0.0254), "--cap --units in", 1.2e-4),
    "open, with specks, in mm": ("scan.stl", with_specks(OPEN_BOX, 20).scaled(1000), "--cap --units mm", 1.2e-4),
    "overlapping parts": ("scan.obj", hammer(), "", HAMMER),
    "overlapping parts in cm": ("scan.off", hammer().scaled(100), "--units cm", HAMMER),
    "noise that folds": ("scan.obj", noisy(ball(0.002), 0.0008), "--smooth", None),
    "cloud": ("scan.obj", sampled(ball(0.001), 1500), "", mesh_volume(ball(0.001))),
    "cloud in millimetres": ("scan.obj", sampled(ball(0.001), 1500).scaled(1000), "--units mm", None),
    "cloud without a bottom": ("scan.obj", UNSEEN_BOTTOM, "--cap", 1.08e-4),
}


def commands_in(text: str) -> list[list[str]]:
    """The arguments of every command of pliant that a text names."""
    return [
        shlex.split(found)
        for found in re.findall(r"pliant (objects repair .+? --out (?:'[^']+'|\S+?))(?=[,;\s)]|$)", text)
    ]


@pytest.mark.parametrize("name", REFUSED)
def test_the_command_that_a_refusal_names_makes_the_file_sound(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, mesh, options, volume = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    written(mesh, tmp_path / file)
    assert run_command(["check", file]) == 2
    commands = commands_in(capsys.readouterr().out)
    assert commands, name
    wanted = [words for words in commands if words[3:-2] == shlex.split(options)]
    assert len(wanted) == 1
    assert wanted[0][2] == file
    assert run_command(wanted[0]) == 0
    assert run_command(["check", wanted[0][-1]]) == 0
    report = load_mesh(wanted[0][-1]).report
    if volume is not None:
        assert report.volume == pytest.approx(volume, rel=0.015)


def test_every_unit_in_which_hands_could_hold_it_is_offered_with_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(make_shape("box", size=(9, 6, 12), edge=6), tmp_path / "box.obj")
    assert run_command(["check", "box.obj"]) == 2
    text = capsys.readouterr().out
    assert "centimetres (120 x 90 x 60 mm then, in a task file with 'scale: 0.01')" in text
    assert "inches (305 x 229 x 152 mm then, in a task file with 'scale: 0.0254')" in text
    assert "millimetres (12 x 9 x 6 mm then" in text
    assert text.index("centimetres") < text.index("inches") < text.index("millimetres")  # the likeliest first
    for words, extents in zip(commands_in(text), ((0.09, 0.06, 0.12), (0.2286, 0.1524, 0.3048)), strict=False):
        assert run_command(words) == 0
        assert load_mesh(words[-1]).mesh.extents == pytest.approx(extents)


def test_a_ball_of_two_inches_is_no_ball_of_two_metres(tmp_path: Path) -> None:
    """It was taken for one of 2 m: below 3 m nothing was asked."""
    file = written(make_shape("sphere", radius=1.0, edge=0.3), tmp_path / "ball.obj")
    with pytest.raises(Exception, match=r"no hand holds more than 0.5 m: its coordinates may be inches \(50\.8 x"):
        load_mesh(file)
    with pytest.raises(Exception, match=r"m across; at most 3 m: its coordinates are almost surely millimetres"):
        load_mesh(written(make_shape("sphere", radius=18.0, edge=6.0), file))
    large = load_mesh(written(make_shape("box", size=(0.3, 0.4, 0.5), edge=0.5), file)).report
    assert "0.3 m across at its thinnest, more than most hands span: check the units" in large.notes[0]


def test_the_task_s_scale_becomes_the_command_s_unit(tmp_path: Path) -> None:
    written(OPEN_BOX.scaled(100), tmp_path / "box.obj")
    with pytest.raises(Exception, match="is open") as caught:
        load_mesh(tmp_path / "box.obj", scale=0.01)
    (words,) = commands_in(str(caught.value))
    assert words[3:-2] == ["--cap", "--units", "cm"]
    with pytest.raises(Exception, match="is open") as caught:
        load_mesh(tmp_path / "box.obj", scale=0.011)  # no unit: no command can be named
    assert "pliant objects repair" not in str(caught.value)


def test_what_nothing_mends_is_refused_without_a_command(tmp_path: Path) -> None:
    file = written(joined(ball(), ball().moved((0.1, 0, 0))), tmp_path / "two.obj")
    with pytest.raises(Exception, match="2 separate bodies") as caught:
        load_mesh(file)
    assert "pliant objects repair" not in str(caught.value)


def test_the_answer_says_what_was_done_and_draws_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    file, out, picture = written(OPEN_BOX, tmp_path / "box.obj"), tmp_path / "new" / "box.ply", tmp_path / "box.png"
    assert (
        run_command(["objects", "repair", str(file), "--cap", "--out", str(out), "--picture", str(picture), "--json"])
        == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["out"] == str(out)
    assert answer["volume_change"] == pytest.approx(0.0, abs=1e-9)
    assert answer["done"][-1] == "closed the open bottom at (0, 0, -0.02) m flat (220 mm around)"
    assert answer["volume_m3"] == pytest.approx(1.2e-4, rel=1e-5)
    assert "trust" not in answer
    seen = np.asarray(Image.open(picture)).astype(float)
    height, width = seen.shape[:2]
    red = (seen[..., 0] > 1.8 * seen[..., 2]) & (seen[..., 0] > 2.5 * seen[..., 1])
    blue = seen[..., 2] > 1.5 * seen[..., 0]
    left, below = np.arange(width) < width // 2, np.arange(height) > height // 2
    assert red[:, left].sum() > 200 and red[:, ~left].sum() == 0  # the rim, before
    assert blue[below][:, ~left].sum() > 5000 and blue[:, left].sum() == 0  # the new bottom, after, from below
    assert blue[~below][:, ~left].sum() == 0


def test_the_answer_for_a_cloud_says_how_far_it_can_be_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = written(sampled(ball(0.001), 1500), tmp_path / "cloud.obj"), tmp_path / "ball.obj"
    assert run_command(["objects", "repair", str(file), "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["volume_change"] is None
    assert answer["trust"]["made_up_share"] == 0.0
    assert answer["trust"]["spacing_m"] == pytest.approx(np.sqrt(4 * np.pi * 0.03**2 / 1500), rel=0.1)
    off = np.abs(np.linalg.norm(load_mesh(out).mesh.vertices, axis=1) - 0.03)
    assert off.max() < answer["trust"]["distance_95_m"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["repair"], "repair needs a file"),
        (["repair", "box.obj"], "repair needs a name for the result"),
        (["torus", "--cap"], "go with repair only"),
        (["torus", "box.obj"], "go with repair only"),
        (["repair", "box.obj", "--units", "inch", "--out", "b.obj"], "no unit 'inch'; closest: in"),
        (["repair", "bux.obj", "--out", "b.obj"], "no such file; closest there: box.obj"),
        (["repair", "box.obj", "--out", "b.step"], "cannot write '.step'"),
        (["repair", "box.obj", "--out", "b.obj", "--picture", "b.jpg"], "pictures are not written as '.jpg'"),
        (["repair", "box.obj", "--units", "mm", "--out", "b.obj"], "6e-05 m across"),
    ],
)
def test_wrong_options_are_answered_before_anything_is_written(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    written(BOX, tmp_path / "box.obj")
    assert run_command(["objects", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "b.obj").exists()


def test_clouds_in_every_format_that_holds_points_are_read(tmp_path: Path) -> None:
    cloud: Mesh = sampled(ball(), 300)
    rows = "".join(f"{x:.6f} {y:.6f} {z:.6f}\n" for x, y, z in cloud.vertices)
    header = "ply\nformat ascii 1.0\nelement vertex 300\nproperty float x\nproperty float y\nproperty float z\n"
    (tmp_path / "a.ply").write_text(f"{header}end_header\n{rows}")
    (tmp_path / "b.off").write_text(f"OFF\n300 0 0\n{rows}")
    for name in ("a.ply", "b.off"):
        with pytest.raises(Exception, match="is empty: 300 vertices, no faces") as caught:
            load_mesh(tmp_path / name)
        assert len(commands_in(str(caught.value))) == 1
