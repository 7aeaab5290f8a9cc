"""Hands as they are proposed from other people's URDFs, used in a shipped task without a word changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pliant.files import read_task
from pliant.files.catalogue import SHIPPED
from pliant.planner import plan
from pliant.robot import read_urdf
from pliant.robot.proposal.propose import propose_hand
from pliant.robot.proposal.write import write_proposal


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", ["allegro_hand/allegro_hand_right.urdf", "schunk_sdh2/schunk_sdh2.urdf"], ids=["allegro", "sdh2"]
)
def test_an_imported_hand_picks_up_the_ball_and_moves_it(tmp_path: Path, shared_data: Path, file: str) -> None:
    write_proposal(propose_hand(read_urdf(shared_data / file, package_dirs=[shared_data])), tmp_path / "mine")
    text = (SHIPPED / "ball.yaml").read_text()
    assert "hand: schunk_sdh2" in text
    (tmp_path / "ball.yaml").write_text(text.replace("hand: schunk_sdh2", "hand: mine/hand.yaml"))
    found = plan(read_task(tmp_path / "ball.yaml"), jobs=1, first=True)
    assert found.best is not None, found.advice
    assert found.best.largest_force < 20.0
