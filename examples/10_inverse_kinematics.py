"""Joint values for a pose, verified, and an honest answer for a pose out of reach."""

import numpy as np
import pinocchio as pin

from pliant.motion import InverseKinematics
from pliant.robot import load_arm

robot = load_arm("kawasaki_fs020n").robot
solver = InverseKinematics(robot, "flange")

rng = np.random.default_rng(0)
found = 0
for _ in range(200):
    T_world_flange = robot.pose("flange", robot.random_q(rng))
    answer = solver.solve(T_world_flange, tolerance=1e-5)
    found += answer.found and np.allclose(
        robot.pose("flange", answer.q).homogeneous, T_world_flange.homogeneous, atol=1e-5
    )
print(f"{found} of 200 random reachable poses found")

far = solver.solve(pin.SE3(np.eye(3), np.array([3.0, 0.0, 0.5])))
print(f"3 m away: {far.status.value}; the closest pose is {far.error_m:.3f} m short")

assert found == 200
assert not far.found
assert 1.2 < far.error_m < 1.4
