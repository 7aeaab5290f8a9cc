"""The page of published experiments: what the tool measures, and that the page is what its record gives."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pliant.control import RunPhase, RunRecorder

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
published = import_module("published")
page, compare_contacts = published.page, import_module("published_runs").compare_contacts

PHASES = tuple(RunPhase)


def recorded(rows: list[tuple[RunPhase, list[float], list[float], float]]) -> RunRecorder:
    """Steps of two contacts: phase, planned and measured forces [N], how far the first one's centre is off [m]."""
    recorder = RunRecorder(("joint",), ("left", "right"))
    for k, (phase, planned, measured, off) in enumerate(rows):
        points = np.zeros((2, 3))
        felt = np.array([[0.0, off, 0.0], [np.nan] * 3])
        recorder.append(
            {
                "time": 0.01 * k,
                "phase": PHASES.index(phase),
                "force_planned": planned,
                "force_measured": measured,
                "point_planned": points,
                "point_measured": felt,
            }
        )
    return recorder


def test_means_of_the_phase_asked_for_alone_are_compared() -> None:
    log = recorded(
        [
            (RunPhase.LIFT, [9.0, 9.0], [9.0, 9.0], 0.5),
            (RunPhase.HOLD, [2.0, 1.0], [1.0, np.nan], 0.001),
            (RunPhase.HOLD, [2.0, 1.0], [2.0, 0.5], 0.002),
            (RunPhase.HOLD, [2.0, 1.0], [1.5, 0.5], 0.009),
        ]
    ).log()
    left, right = compare_contacts(log)
    assert (left.name, left.planned_force, left.measured_force) == ("left", 2.0, pytest.approx(1.5))
    assert left.force_error == pytest.approx(-0.25)
    assert left.point_error == pytest.approx(0.002), "the median: a single frame that hops does not count"
    assert right.measured_force == pytest.approx(1.0 / 3.0), "what is not felt counts as nothing"
    assert np.isnan(right.point_error)


def test_a_phase_that_never_came_has_nothing_to_compare() -> None:
    log = recorded([(RunPhase.LIFT, [1.0, 0.0], [1.0, 0.2], 0.0)]).log()
    assert compare_contacts(log, RunPhase.HOLD) == ()
    assert np.isnan(compare_contacts(log, RunPhase.LIFT)[1].force_error)


def test_the_page_is_what_its_record_gives() -> None:
    record = json.loads(published.RECORD.read_text(encoding="utf-8"))
    assert published.PAGE.read_text(encoding="utf-8") == page(record, published.TASKS, published.FIGURES), (
        "run: python tools/published.py --render"
    )


def numbers(**changed: Any) -> dict[str, Any]:
    """A task of the record."""
    told = {
        "found": True, "hand": "h", "contacts": 2, "outcome": "held", "reason": "", "worst_error": 0.1,
        "errors": [0.1, -0.1], "median_error": 0.1, "peak_force_n": 1.0, "planned_peak_force_n": 1.0,
        "worst_centre_cells": 0.5, "slip_mm": 0.1, "events": {}, "approach_s": 2.0, "sequential_s": 4.0,
        "approach_way": "hand-arm",
    }  # fmt: skip
    return told | changed


def test_misses_are_counted_as_misses() -> None:
    """Five tasks: good; too strong; too weak and dropped; its centre off; without any measurement."""
    tasks = {
        "good": numbers(),
        "strong": numbers(worst_error=0.31, errors=[0.31]),
        "dropped": numbers(outcome="dropped", reason="fell", worst_error=-0.2, errors=[-0.2]),
        "off": numbers(worst_centre_cells=1.1),
        "blind": numbers(worst_error=None, errors=[], median_error=None, worst_centre_cells=None),
    }
    text = page({"tasks": tasks}, tuple(tasks), {"7": "good"})
    assert "Of 5 tasks with 1 hands 4 are held, 2 with every contact's force within 30 %" in text
    assert "3 with every centre of pressure within a cell" in text
    assert "| dropped | h | 2 | dropped | -20% |" in text
    assert "median gain 50%" in text
    assert "Not measured yet: other" in page({"tasks": tasks}, (*tasks, "other"), {"7": "good"})


@pytest.mark.slow
def test_the_tool_plans_runs_and_writes_its_page_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "FIGURES", {"7": "ball_gripper"})
    out, record = tmp_path / "published.md", tmp_path / "published.json"
    words = ["--quick", "--work", str(tmp_path / "work"), "--record", str(record), "--out", str(out), "--jobs", "1"]
    published.main([*words, "--only", "ball_gripper"])
    told = json.loads(record.read_text())["tasks"]["ball_gripper"]
    assert told["outcome"] == "held"
    assert {row["phase"] for row in told["phases"]} == {"lift", "move", "hold"}
    means = [row["measured_force"] / row["planned_force"] - 1.0 for row in told["phases"]]
    assert told["worst_error"] == pytest.approx(max(means, key=abs), abs=2e-3)
    assert told["approach_s"] > 0.0 and told["sequential_s"] > 0.0
    text = out.read_text()
    assert "| ball_gripper | parallel_gripper | 2 | yes |" in text
    for picture in ("forces", "points", "finger_joints", "finger_torques"):
        file = tmp_path / "pictures" / f"published_ball_gripper_{picture}.svg"
        assert file.name in text
        assert 2_000 < file.stat().st_size < 100_000
        assert "<polyline" in file.read_text()
    monkeypatch.setattr(published, "run_command", lambda _: pytest.fail("what is there is measured again"))
    published.main([*words, "--only", "ball_gripper"])
    assert out.read_text() == text
    capsys.readouterr()


def test_the_servo_is_measured_by_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = published.Measurements(tmp_path / "work", tmp_path / "record.json", tmp_path, quick=True)
    (tmp_path / "circle.yaml").write_text(json.dumps(published._circle(1, points={"every": 0.1})))
    job.followed("circle", tmp_path / "circle.yaml")
    told = json.loads((tmp_path / "record.json").read_text())["tracking"]["circle"]
    assert 0.0 < told["max_error_mm"] < 0.1 < told["max_interpolation_error_mm"] < 2.0
    capsys.readouterr()


def test_numbers_of_a_trial_run_never_replace_the_record() -> None:
    with pytest.raises(SystemExit):
        published.main(["--quick"])
