"""All finger tips to their pre-grasp points at once, beside arm-then-fingers; and round a wall where that collides."""

import numpy as np
import pinocchio as pin

from pliant.collision import Clearance, Obstacle, box
from pliant.motion import ApproachVariant, GraspPoint, approach
from pliant.robot import PALM_FRAME, load_assembly, tip_frame

assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
robot = assembly.robot

# Grasp points that the hand can reach elsewhere: taken from a posture there, moved inwards by 3 cm.
there = assembly.q_home.copy()
there[assembly.arm_joints] += [-0.5, 0.4, -0.3, 0.0, 0.3, 0.0]
there = assembly.preshaped(there, assembly.hand.preshapes[0], 0.3)
tips = {finger.name: robot.pose(tip_frame(finger.name), there).translation for finger in assembly.hand.fingers}
centre = np.mean(list(tips.values()), axis=0)
grasp = {}
for name, tip in tips.items():
    normal = (tip - centre) / np.linalg.norm(tip - centre)
    grasp[name] = GraspPoint(tip - 0.03 * normal, normal)

free = approach(assembly, assembly.q_home, grasp, distance=0.03)
print(
    f"together {free.together.duration:.2f} s, arm then fingers {free.sequential.duration:.2f} s: {free.variant.value}"
)

between = 0.5 * (robot.pose(PALM_FRAME, assembly.q_home).translation + centre)
wall = Obstacle("wall", box(0.6, 0.02, 0.6), pin.SE3(np.eye(3), between))
clearance = Clearance(robot, [wall])
blocked = approach(assembly, assembly.q_home, grasp, distance=0.03, clearance=clearance)
tightest = clearance.along(blocked.motion.q)
print(f"with a wall: {blocked.together.status.value} ({blocked.together.reason}); {blocked.variant.value}")
print(f"it takes {blocked.motion.duration:.2f} s and stays {1e3 * tightest.distance:.1f} mm clear of the wall")

assert free.variant is ApproachVariant.TOGETHER
assert free.time_saved > 0.1
assert blocked.variant is ApproachVariant.PLANNED
assert tightest.distance > 0.0
