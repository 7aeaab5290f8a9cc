"""Hands imported from their makers' URDFs plan a ball as they come, without an edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from pliant.files import read_task, shipped_tasks
from pliant.planner import PlanStatus, plan
from pliant.robot import read_urdf
from pliant.robot.proposal import propose_hand, write_proposal

FREE_BALL = """
robot: {hand: imported/hand.yaml}
object:
  shape: {sphere: {radius: 0.03}}
  pose: {position: [0, 0, 0.5]}
  material: {young: 5.0e+5, poisson: 0.45, density: 1000, friction: 0.8}
  limits: {force: 15}
task: {lift: 0.05}
planner: {faces: 40, rolls: 4, keep: 1, hypotheses: 40}
"""


def _import(urdf: Path, data: Path, folder: Path) -> None:
    write_proposal(propose_hand(read_urdf(urdf, package_dirs=[data])), folder / "imported")


@pytest.mark.slow
def test_the_imported_sdh2_picks_the_ball_from_the_table(tmp_path, shared_data):
    _import(shared_data / "schunk_sdh2" / "schunk_sdh2.urdf", shared_data, tmp_path)
    text = shipped_tasks()["ball"].read_text().replace("hand: schunk_sdh2", "hand: imported/hand.yaml")
    assert "imported" in text
    (tmp_path / "ball.yaml").write_text(text)
    found = plan(read_task(tmp_path / "ball.yaml"), jobs=1)
    assert found.status is PlanStatus.FOUND, found.advice
    assert found.best.largest_force < 20.0  # the task's limit
    weight = found.task.body.mass * 9.80665
    assert sum(contact.force[2] for contact in found.best.grasp.contacts) * 0.7 > weight  # friction bears it


@pytest.mark.slow
def test_the_imported_allegro_holds_a_ball(tmp_path, shared_data):
    _import(shared_data / "allegro_hand" / "allegro_hand_right.urdf", shared_data, tmp_path)
    (tmp_path / "ball.yaml").write_text(FREE_BALL)
    found = plan(read_task(tmp_path / "ball.yaml"), jobs=1)
    assert found.status is PlanStatus.FOUND, found.advice
    assert found.best.largest_force < 15.0
    assert "thumb" in found.best.hypothesis.fingers
