"""Couplings that a user gives at import, since the URDF does not have them."""

from __future__ import annotations

import made_hands
import numpy as np
import pytest

from pliant.cli import run_command as run
from pliant.robot import couple, load_hand, parse_urdf


def test_a_joint_can_be_made_to_follow_another(tmp_path, capsys):
    """Two independent fingers become a gripper of one drive; what is no coupling is refused with what would be."""
    (tmp_path / "two.urdf").write_text(made_hands.opening_gripper())
    command = ["hand", "import", str(tmp_path / "two.urdf"), "--out", str(tmp_path / "out"), "--no-picture"]
    assert run([*command, "--couple", "r_joint=1.0*l_joint"]) == 0
    hand = load_hand(tmp_path / "out" / "hand.yaml")
    assert hand.robot.joint_names == ("l_joint",)
    assert hand.robot.full(np.array([0.3])) == pytest.approx([0.3, 0.3])
    capsys.readouterr()
    for wrong, told in (
        ("r_joint", "FOLLOWER=FACTOR*JOINT"),
        ("r_joint=1*l_jont", "closest: l_joint"),
        ("r_joint=1*r_joint", "would follow itself"),
    ):
        assert run([*command[:4], str(tmp_path / "other"), "--no-picture", "--couple", wrong]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(("text", "offset"), [("r_joint=0.5*l_joint+0.1", 0.1), ("r_joint = -2e-1*l_joint", 0.0)])
def test_factor_and_offset_are_those_that_were_given(text, offset):
    urdf = couple(parse_urdf(made_hands.opening_gripper()), [text])
    mimic = urdf.joint("r_joint").mimic
    assert mimic is not None and mimic.joint == "l_joint" and mimic.offset == offset
    assert mimic.multiplier == (0.5 if offset else -0.2)
