"""Calibration in the simulator: a task that is wrong by two is put right, and the next plan is the better for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from made_plans import MadeTask, made
from pliant.calibration import CalibrationRun
from pliant.files import calibration_path, read_task, save_calibration
from pliant.lab import CALIBRATION_SETTINGS, Disturbance, SensorSettings, calibrate_in_lab, calibration_settings
from pliant.planner import Plan, plan

WANTED = 0.15
YOUNG, FRICTION = 1.5e5, 0.8
TASK = f"""
robot: {{hand: parallel_gripper}}
object:
  shape: {{sphere: {{radius: 0.03}}}}
  material: {{young: {YOUNG}, poisson: 0.45, density: 884, friction: {FRICTION}}}
planner: {{effort: quick, hypotheses: 60}}
"""


@pytest.fixture(scope="module")
def ball() -> MadeTask:
    return made("ball", hand="parallel_gripper", young=YOUNG)


@pytest.fixture(scope="module")
def too_soft(ball: MadeTask) -> CalibrationRun:
    """The task says half the modulus and twice the friction that the lab's ball has."""
    return calibrate_in_lab(ball.task, ball.grasp, truth=Disturbance(young=2.0, friction=0.5))


@pytest.mark.slow
def test_a_ball_taken_for_half_as_stiff_and_twice_as_rough_is_known_after_one_squeeze(
    too_soft: CalibrationRun,
) -> None:
    found = too_soft.found
    assert found is not None, too_soft.reason
    assert found.young == pytest.approx(2.0 * YOUNG, rel=WANTED)
    assert found.friction == pytest.approx(0.5 * FRICTION, rel=WANTED)
    assert 1.6 < found.k < 2.2


@pytest.mark.slow
def test_in_the_air_both_pads_feel_one_force_and_it_is_that_of_the_fine_fem(
    too_soft: CalibrationRun, ball: MadeTask
) -> None:
    """Ball of 30 mm between plates, 0.5 MPa: 0.7876, 2.2703, 9.3145 N at 0.3, 0.6, 1.5 mm; forces go with E."""
    j = ball.task.assembly.robot.joint_index("opening")
    depths = np.array([ball.grasp.q_touch[j] - point.q[j] for point in too_soft.samples.points])
    forces = np.array([point.forces for point in too_soft.samples.points])
    np.testing.assert_allclose(forces[:, 0], forces[:, 1], rtol=0.03)
    truth = np.exp(np.interp(np.log(depths), np.log([3e-4, 6e-4, 1.5e-3]), np.log([0.7876, 2.2703, 9.3145])))
    within = (depths > 4e-4) & (depths < 1.5e-3)
    assert within.sum() >= 4
    np.testing.assert_allclose(forces.mean(axis=1)[within], 2.0 * YOUNG / 5e5 * truth[within], rtol=0.05)


@pytest.mark.slow
def test_the_next_plan_foretells_the_labs_force_better(
    too_soft: CalibrationRun, ball: MadeTask, tmp_path: Path
) -> None:
    """Plan, calibrate, plan again from the same task file: the force told at the planned way, against the lab's."""
    assert too_soft.found is not None
    path = tmp_path / "ball.yaml"
    path.write_text(TASK)
    j = ball.task.assembly.robot.joint_index("opening")
    depths = [ball.grasp.q_touch[j] - point.q[j] for point in too_soft.samples.points]
    roots = [float(np.mean(point.forces)) ** (2 / 3) for point in too_soft.samples.points]
    slope, start = np.polyfit(depths, roots, 1)

    def off(answer: Plan) -> float:
        grasp = answer.grasps[0]
        # from where both pads would touch: a ball a little aside is touched by one of them before, and pushed
        at = ball.grasp.q_touch[j] - grasp.grasp.q[-1]
        told = float(np.mean([contact.force[2] for contact in grasp.grasp.contacts]))
        # The plan reckons with the soft covers of the pads, the lab's are rigid: F goes with E*, so 1/E1* + 1/E2*.
        assert answer.task.assembly.hand is not None
        cover, thing = answer.task.assembly.hand.fingers[0].pads[0], answer.task.body.material
        assert cover.young is not None
        told *= 1.0 + (thing.young / (1 - thing.poisson**2)) * (1 - cover.poisson**2) / cover.young
        return abs(told / float(slope * at + start) ** 1.5 - 1.0)

    before = off(plan(read_task(path), jobs=1))
    save_calibration(too_soft.found, calibration_path(path), young=YOUNG, friction=FRICTION)
    after = off(plan(read_task(path), jobs=1))
    assert before > 0.4  # half the modulus is half the force
    assert after < 0.15
    assert after < 0.4 * before


def test_stiff_things_are_calibrated_in_a_lab_with_harder_contacts() -> None:
    task = made("ball", hand="parallel_gripper", young=1.5e6).task
    sensors = SensorSettings(seed=5)
    usual, hard = calibration_settings(task), calibration_settings(task, Disturbance(young=2.0), sensors=sensors)
    assert usual.lab == CALIBRATION_SETTINGS.lab
    assert hard.lab.step == 0.5 * usual.lab.step
    assert hard.lab.yielding < usual.lab.yielding
    assert hard.sensors == sensors
    assert hard.period % hard.lab.step == pytest.approx(0.0, abs=1e-12)
