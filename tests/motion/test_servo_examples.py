"""The numbered examples of this package run as they are; each ends in checked numbers."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("name", ["10_inverse_kinematics", "12_limits_without_jumps", "13_hand_arm_approach"])
def test_quick_examples_run(name, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["11_track_with_three_fingers", "14_points_for_a_controller"])
def test_longer_examples_run(name, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out
