"""CPU time of the inner loops. Other libraries are compared with in benchmarks/; these bounds only catch accidents."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pliant.motion import FrameTask, InverseKinematics, Servo
from pliant.robot import load_arm, tip_frame


@pytest.mark.performance
def test_a_full_step_of_three_finger_tips_takes_well_under_a_tenth_of_a_millisecond(robot, q_work):
    """Kinematics, 18 x 13 Jacobian, qp with limits: about 20 us on a desktop; at 500 Hz there are 2000."""
    tasks = [FrameTask(tip_frame(name)) for name in ("finger_1", "finger_2", "thumb")]
    servo = Servo(robot, [(task, robot.pose(task.link, q_work + 0.05)) for task in tasks])
    servo.step(q_work, 0.0)
    best = np.inf
    for _ in range(20):
        began = time.process_time()
        for _ in range(200):
            servo.step(q_work, 0.0)
        best = min(best, (time.process_time() - began) / 200)
    assert best < 70e-6


@pytest.mark.performance
def test_inverse_kinematics_takes_less_than_a_millisecond_on_average():
    """Required: under 1 ms; about 0.06 ms on a desktop."""
    robot = load_arm("kawasaki_fs020n").robot
    solver, rng = InverseKinematics(robot, "flange"), np.random.default_rng(0)
    poses = [robot.pose("flange", robot.random_q(rng)) for _ in range(500)]
    solver.solve(poses[0])
    began = time.process_time()
    assert all(solver.solve(T).found for T in poses)
    assert (time.process_time() - began) / len(poses) < 0.5e-3


def test_no_part_of_the_package_loads_numba_before_it_is_needed():
    """Importing numba takes a second; `pliant --help` and the planner's other stages must not pay for it."""
    import subprocess
    import sys

    code = "import sys, pliant.motion, pliant.cli.ik, pliant.cli.servo; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
