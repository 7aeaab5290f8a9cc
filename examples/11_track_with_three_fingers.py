"""Arm and hand as one mechanism: three finger tips (18 rows, 13 joints) draw a circle together for a minute."""

import numpy as np

from pliant.motion import Carried, Circle, Eased, FrameTask, Hold, JointLimits, Servo
from pliant.robot import PALM_FRAME, load_assembly, tip_frame

assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
robot, q = assembly.robot, assembly.q_home
dt = 0.002

# The palm's circle carries the tips: each keeps its place relative to it.
T_world_palm = robot.pose(PALM_FRAME, q)
circle = Circle(T_world_palm, centre=T_world_palm.translation - [0.12, 0.0, 0.0], axis=[0, 0, 1], period=6.0)
targets = []
for finger in assembly.hand.fingers:
    T_palm_tip = T_world_palm.actInv(robot.pose(tip_frame(finger.name), q))
    targets.append((FrameTask(tip_frame(finger.name)), Carried(Hold(T_palm_tip), Eased(circle, 0.5))))

servo = Servo(robot, targets, dt=dt, limits=JointLimits.of(robot, acceleration=assembly.acceleration_limits))
worst = np.zeros((60, 2))
for i in range(30_000):
    q = q + servo.step(q, i * dt) * dt
    worst[i // 500] = np.maximum(worst[i // 500], [error.max() for error in servo.errors()])

print(f"largest error: {1e3 * worst[:, 0].max():.4f} mm, {1e3 * worst[:, 1].max():.4f} mrad")
print(f"tenth second {1e3 * worst[9, 0]:.4f} mm, last second {1e3 * worst[59, 0]:.4f} mm: it does not drift")
assert worst.max() < 1e-4
assert worst[54:, 0].max() <= 1.02 * worst[6:12, 0].max()
