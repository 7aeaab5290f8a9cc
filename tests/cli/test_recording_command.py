"""`pliant recording` on real and broken files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pliant.cli import run_command as run


def test_recording_prints_one_json_object_and_draws_the_pads(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shared_data / "sdh2_recordings" / "golf_ball.npz"
    if not file.exists():
        pytest.skip(f"RECORDINGS ABSENT ({file})")
    assert run(["recording", str(file), "--out", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert 1e3 * answer["diameter_m"] == pytest.approx(42.7, abs=3.0)
    assert len(answer["grasps"]) == len(answer["files"]) == 8
    pads = answer["grasps"][0]["pads"]
    assert {pad["array"] for pad in pads} == {"finger_1_distal", "finger_2_distal"}
    assert len(pads[0]["time_s"]) == len(pads[0]["force_n"]) == len(pads[0]["centre_m"])
    from PIL import Image

    with Image.open(answer["files"][0]) as picture:
        pixels = np.asarray(picture).astype(int)
    # Pressed cells are green or brighter (green above red and blue), silent ones dark blue, and most are silent.
    pressed = (pixels[..., 1] > pixels[..., 0] + 20) & (pixels[..., 1] > pixels[..., 2] + 20)
    silent = (pixels == (13, 8, 66)).all(axis=-1)
    assert 0.005 < pressed.mean() < 0.1
    assert silent.mean() > 0.2
    assert run(["recording", str(file)]) == 0
    assert "finger_1_distal" in capsys.readouterr().out


def test_recording_without_contact_is_an_honest_no_and_broken_files_are_broken_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "nothing.npz"
    np.savez(
        file,
        g0_frames=np.zeros((10, 486)),
        g0_frame_time_s=np.arange(10) * 0.03,
        g0_joints_deg=np.zeros((5, 7)),
        g0_joint_time_s=np.arange(5) * 0.1,
    )
    assert run(["recording", str(file), "--out", str(tmp_path / "pictures")]) == 1
    assert "no contact" in capsys.readouterr().out
    assert run(["recording", str(tmp_path / "absent.npz")]) == 2
    assert run(["recording", str(file), "--warmth", "3"]) == 2
