"""`pliant hand import` as a user meets it."""

from __future__ import annotations

import json

import pytest

from pliant.cli import run_command as run
from pliant.robot import load_hand
from pliant.robot.catalogue import SHIPPED

URDF = str(SHIPPED / "parallel_gripper" / "parallel_gripper.urdf")


@pytest.mark.slow
def test_import_writes_a_hand_with_a_picture_that_check_accepts(tmp_path, capsys):
    out = tmp_path / "mine"
    assert run(["hand", "import", URDF, "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] and sorted(answer["fingers"]) == ["left", "right"]
    assert all(0 <= guess["sure"] <= 1 and guess["why"] for guess in answer["guesses"])
    hand = load_hand(out / "hand.yaml")
    assert hand.q_open("tips") == pytest.approx([0.05]) and hand.q_closed("tips") == pytest.approx([0.0])
    assert (out / "hand.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "meshes" / "finger.obj").is_file()  # the folder stands by itself
    assert str(SHIPPED) not in (out / "parallel_gripper.urdf").read_text()
    assert run(["check", str(out / "hand.yaml")]) == 0
    capsys.readouterr()
    assert run(["hand", "import", URDF, "--out", str(out)]) == 2  # corrections are not overwritten
    assert "is there already" in capsys.readouterr().err


def test_import_explains_its_guesses_to_people(tmp_path, capsys):
    assert run(["hand", "import", URDF, "--out", str(tmp_path / "mine"), "--no-picture"]) == 0
    text = capsys.readouterr().out
    assert "the tips come" in text and "95 %" in text
    assert run(["hand", "imprt", URDF]) == 2
    assert "closest: import" in capsys.readouterr().err


def test_a_shipped_hand_can_be_looked_at_by_its_name_but_not_changed(tmp_path, monkeypatch, capsys):
    said = []

    def press_save(page, _ended):
        page._store()
        said.append(page._message.content)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pliant.viewer.page.hand_page.HandPage.wait", press_save)
    assert run(["hand", "view", "parallel_gripper", "--no-browser", "--port", "0"]) == 0
    assert "ships with pliant and stays as it is" in said[0]
    assert list(tmp_path.iterdir()) == []
    assert run(["hand", "view", "parallel_griper", "--no-browser", "--port", "0"]) == 2
    assert "closest: parallel_gripper" in capsys.readouterr().err


def test_a_folder_with_brackets_in_its_name_is_told_whole(tmp_path, capsys):
    out = tmp_path / "mine [old]"
    assert run(["hand", "import", URDF, "--out", str(out), "--no-picture"]) == 0
    assert f"{out}/hand.yaml" in capsys.readouterr().out
