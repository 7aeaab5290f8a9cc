"""Preshapes measured by the largest ball that the open hand takes and the closing fingers hold."""

from __future__ import annotations

import json

import made_hands
import numpy as np
import pytest

from pliant.cli import run_command
from pliant.robot import load_hand, parse_urdf, propose_hand, read_urdf
from pliant.robot.catalogue import SHIPPED
from pliant.robot.proposal.largest_ball import _rest


def test_a_parallel_gripper_holds_a_ball_as_wide_as_it_opens(tmp_path, capsys):
    """The fingers of the shipped gripper open to 100 mm; a ball just fits, and both pads are square to it."""
    urdf, out = SHIPPED / "parallel_gripper" / "parallel_gripper.urdf", tmp_path / "out"
    assert run_command(["hand", "import", str(urdf), "--out", str(out), "--no-picture", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["largest_ball_m"] == {"tips": pytest.approx(0.1, abs=0.003)}
    assert answer["warnings"] == []


def test_a_gripper_of_half_the_stroke_holds_half_the_ball():
    text = (SHIPPED / "parallel_gripper" / "parallel_gripper.urdf").read_text()
    urdf = parse_urdf(text, folder=SHIPPED / "parallel_gripper")
    proposal = propose_hand(urdf)
    (preshape,) = proposal.description.preshapes
    (joint,) = preshape.open
    narrow = parse_urdf(
        text.replace('upper="0.050000000000000003"', 'upper="0.025"'), folder=SHIPPED / "parallel_gripper"
    )
    found = propose_hand(narrow)
    assert found.description.preshapes[0].open[joint] == pytest.approx(0.025)
    assert found.largest_ball["tips"] == pytest.approx(0.5 * proposal.largest_ball["tips"], abs=0.003)


def test_directions_balance_iff_some_weights_cancel_them():
    """Opposed: 0. Two at right angles: half of sqrt(2). Three at 120 degrees: 0. One: 1."""
    x, y = np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
    third = -0.5 * x + np.sqrt(0.75) * y
    assert _rest(np.array([x, -x])) == pytest.approx(0.0, abs=1e-6)
    assert _rest(np.array([x, y])) == pytest.approx(np.sqrt(0.5), abs=1e-4)
    assert _rest(np.array([x, third, third - 2 * np.sqrt(0.75) * y])) == pytest.approx(0.0, abs=1e-6)
    assert _rest(np.array([x])) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "approach", "facing_deg"),
    [
        ("leap_hand/leap_hand_right.urdf", (0, 0, -1), 15),
        ("barrett_hand/bhand_model.urdf", (0, 0, 1), 45),
        ("dclaw_gripper/dclaw_gripper.urdf", (1, 0, 0), 65),
    ],
)
def test_strange_hands_open_wide_and_close_on_something(shared_data, file, approach, facing_deg):
    """Every preshape takes a fist-sized ball, joints of a finger bend one way, the palm looks out of its face.

    D'Claw's three fingers come from three sides: 60 degrees off facing is as good as they can be.
    """
    proposal = propose_hand(read_urdf(shared_data / file, package_dirs=[shared_data]))
    found = proposal.description
    assert not proposal.warnings
    assert np.allclose(found.palm.approach, approach)
    assert set(proposal.largest_ball) == {preshape.name for preshape in found.preshapes}
    assert min(proposal.largest_ball.values()) > 0.08
    tips = found.preshapes[0]
    reason = next(guess.reason for guess in proposal.guesses if guess.about == "preshapes.tips")
    assert float(reason.rpartition(" deg from")[0].rpartition(", ")[2]) < facing_deg
    closes = {}
    for guess in proposal.guesses:
        if guess.what.startswith("closes by "):
            closes |= dict(part.rsplit(" ", 1) for part in guess.what.removeprefix("closes by ").split(", "))
    for joint, sign in closes.items():
        moved = tips.closed[joint] - tips.open[joint]
        assert moved * (1 if sign == "+" else -1) >= -1e-9, f"{joint} opens while the fingers close"


def test_what_holds_nothing_is_a_warning():
    """Two fingers that cannot open: nothing fits between them."""
    text = made_hands.opening_gripper().replace('upper="0.55"', 'upper="0.01"')
    proposal = propose_hand(parse_urdf(text))
    assert proposal.largest_ball["tips"] < 0.03
    assert any("takes and holds a ball of 30 mm" in text for text in proposal.warnings)


def test_measured_balls_are_those_of_the_written_description(tmp_path, capsys):
    """The answer is about the file that was written, not about something before it."""
    (tmp_path / "hand.urdf").write_text(made_hands.opening_gripper())
    out = tmp_path / "out"
    assert (
        run_command(["hand", "import", str(tmp_path / "hand.urdf"), "--out", str(out), "--no-picture", "--json"]) == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert sorted(answer["largest_ball_m"]) == sorted(
        p.name for p in load_hand(out / "hand.yaml").description.preshapes
    )
