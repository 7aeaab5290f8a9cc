"""`pliant.run` and `pliant.report`: what a user calls; the README's block plans, runs in the lab and reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pliant
from made_plans import ball_plan, made
from pliant.control import RunOutcome
from spring_hand import SpringHand


@pytest.fixture(scope="module")
def plan() -> pliant.Plan:
    return ball_plan()


def test_a_driver_carries_out_the_plan_and_its_run_is_drawn_into_the_report(tmp_path: Path, plan: pliant.Plan) -> None:
    thing = made("ball", hand="parallel_gripper", young=1.5e5)
    planned = replace(plan, task=thing.task, grasps=(thing.grasp,))
    hand = SpringHand(thing.grasp, thing.task.assembly, start=thing.grasp.trajectory.q[0])
    result = pliant.run(planned, driver=hand)
    assert result.outcome is RunOutcome.HELD, result.reason
    assert result.max_force == pytest.approx(max(hand.true_force), rel=0.15)  # noise and rounding of the pads
    text = pliant.report(planned, tmp_path / "ball.html", run=result).read_text()
    assert "measured values are dotted" in text
    assert "measured values are dotted" not in pliant.report(planned, tmp_path / "bare.html").read_text()


def test_a_grasp_that_the_plan_has_not_and_a_world_for_hardware_are_refused(plan: pliant.Plan) -> None:
    with pytest.raises(pliant.InputError, match="grasp: 7; 0 to"):
        pliant.run(plan, grasp=7)
    with pytest.raises(pliant.InputError, match="the plan found none"):
        pliant.run(replace(plan, grasps=()))
    hand = SpringHand(plan.grasps[0], plan.task.assembly, start=plan.grasps[0].trajectory.q[0])
    with pytest.raises(pliant.InputError, match="world: is of the lab"):
        pliant.run(plan, driver=hand, world=pliant.Disturbance(mass=1.1))
