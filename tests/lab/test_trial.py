"""Whole trials in the lab: a soft ball is found, gripped, lifted and held; too heavy, the run ends safely."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from made_plans import MadeTask, made
from pliant.control import ControlOptions, RunOutcome, RunPhase
from pliant.files import load_run, save_run
from pliant.lab import Disturbance, LabOptions, TrialSettings, pressed_places, run_trial
from pliant.lab.trial import _with_grip
from pliant.robot import load_assembly
from pliant.viewer import run_figures, write_run_plots

SETTINGS = TrialSettings(
    from_pregrasp=True,
    period=0.012,
    lab=LabOptions(step=0.004, friction_stiffness=100.0, nodes=150),
    control=ControlOptions(hold=0.25),
)


@pytest.fixture(scope="module")
def ball() -> MadeTask:
    return made("ball", hand="parallel_gripper", young=1.5e5)


@pytest.mark.slow
def test_a_ball_that_differs_from_the_plan_in_everything_is_held(ball: MadeTask, tmp_path: Path) -> None:
    differs = Disturbance((0.003, -0.002), 0.05, young=0.8, friction=0.85, mass=1.08)
    result = run_trial(ball.task, ball.grasp, settings=SETTINGS, disturbance=differs)
    assert result.outcome is RunOutcome.HELD, result.reason
    assert result.log.end is RunPhase.DONE
    assert result.slip < 0.006
    assert result.object_error[0] < 0.012
    assert result.overload_s == 0.0
    # What the pads say while it is held is what the loop wants, and enough to carry it: 2 mu f >= m g.
    held = result.log.during(RunPhase.HOLD)
    felt, wanted = result.log["force_measured"][held][-1], result.log["force_wanted"][held][-1]
    np.testing.assert_allclose(felt, wanted, rtol=0.25)
    assert 0.8 * 0.85 * felt.sum() >= 9.81 * 1.08 * ball.task.body.mass
    assert result.max_force < ball.task.body.limits.largest_force

    again = load_run(save_run(result.log, tmp_path / "ball.run"))
    assert again.phases == result.log.phases
    assert set(run_figures(again)) == {"forces", "joints", "torques", "points"}
    assert ball.task.assembly.hand is not None
    files = write_run_plots(again, tmp_path / "plots", ball.task.assembly.hand)
    assert {f.name for f in files} >= {"forces.svg", "pads_squeeze.png", "pads_hold.png"}


@pytest.mark.parametrize(
    ("pads", "servos", "force_loop", "torques"),
    [(False, False, True, True), (True, False, True, False), (False, True, True, False), (False, False, False, False)],
)
def test_only_a_hand_that_feels_nothing_on_servos_of_unknown_stiffness_is_gripped_by_torques_unasked(
    pads: bool, servos: bool, force_loop: bool, torques: bool
) -> None:
    assembly = load_assembly(None, "parallel_gripper")
    assert assembly.hand is not None
    left = {"tactile": assembly.hand.tactile if pads else (), "servos": assembly.hand.servos if servos else {}}
    bare = replace(assembly, hand=assembly.hand.model_copy(update=left))
    settings = _with_grip(replace(SETTINGS, control=ControlOptions(force_loop=force_loop)), bare)
    assert (settings.torques is not None) is torques


def test_a_long_patch_is_pressed_in_its_middle_and_to_both_of_its_ends(ball: MadeTask) -> None:
    """A line of cells 20 mm long, from -8 to 12 mm of its centre: fine nodes at -4.8, 0 and 7.2 mm (0.6 of that)."""
    round_one, other = ball.grasp.grasp.contacts
    T, line = round_one.T_object_contact, np.linspace(-0.008, 0.012, 101)
    cells = T.translation + np.outer(line, T.rotation[:, 1])
    long = replace(round_one, p_object_cells=cells, half_axes=np.array([0.001, 0.01]))
    state = replace(ball.grasp.grasp, contacts=(long, other))
    places = pressed_places(replace(ball.grasp, states=(state, *ball.grasp.states[1:])))
    along = (places - T.translation) @ T.rotation[:, 1]
    np.testing.assert_allclose(along[:3], [0.0, -0.0048, 0.0072], atol=1e-4)
    assert len(places) == 4, "a round patch is pressed in its middle alone"


@pytest.mark.slow
def test_three_times_the_weight_ends_safely_with_a_reason(ball: MadeTask) -> None:
    result = run_trial(ball.task, ball.grasp, settings=SETTINGS, disturbance=Disturbance(mass=3.0, friction=0.8))
    if result.outcome is RunOutcome.HELD:  # gripped harder as it slipped: also a good end, and told
        assert any(event.kind == "slip" for event in result.log.events)
    else:
        assert result.outcome in (RunOutcome.DROPPED, RunOutcome.ABORTED)
        assert result.reason
        assert result.log.end.safe or result.outcome is RunOutcome.DROPPED
    assert result.max_force < ball.task.body.limits.largest_force
