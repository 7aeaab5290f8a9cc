"""A path as joint points for a controller that interpolates straight, refined until it deviates by less than 20 um."""

import numpy as np

from pliant.motion import Eased, FigureEight, FrameTask, PathStatus, record_points
from pliant.robot import load_arm

arm = load_arm("kawasaki_fs020n")
robot = arm.robot
T = robot.pose("flange", arm.q_home)
eight = FigureEight(T, along=[0.0, 0.15, 0.0], across=[0.0, 0.0, 0.07], tilt=[0.2, 0.0, 0.1], period=8.0)
targets = [(FrameTask("flange"), Eased(eight, 0.5))]

coarse = record_points(robot, targets, arm.q_home, duration=8.0, every=0.2)
fine = record_points(robot, targets, arm.q_home, duration=8.0, every=0.2, tolerance_m=2e-5)
print(f"every 0.2 s: {len(coarse.times)} points, {1e6 * coarse.interpolation_m:.0f} um off between them")
print(f"refined:     {len(fine.times)} points, {1e6 * fine.interpolation_m:.1f} um off between them")

dense = max(
    np.linalg.norm(robot.pose("flange", fine.at(t)).translation - targets[0][1].at(t)[0].translation)
    for t in np.linspace(0.0, 8.0, 4001)
)
assert fine.status is PathStatus.FOLLOWED
assert fine.point_m < 1e-8
assert dense < 2.1e-5
