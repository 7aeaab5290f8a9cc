"""Arm and fingers to a pre-grasp at once, beside arm-then-fingers; a wall in the way is noticed and named.

The planner does this for every grasp (`pliant plan`); here without an object, to a posture chosen by hand.
"""

import numpy as np
import pinocchio as pin

from pliant.collision import Clearance, Obstacle, box
from pliant.motion import JointLimits, MotionStatus, arm_then_fingers, drive_hand_and_arm
from pliant.robot import PALM_FRAME, load_assembly

assembly = load_assembly("kawasaki_fs020n", "schunk_sdh2")
robot, start = assembly.robot, assembly.q_home
limits = JointLimits.of(robot, acceleration=assembly.acceleration_limits)

end = start.copy()
end[assembly.arm_joints] += [-0.5, 0.4, -0.3, 0.0, 0.3, 0.0]
end = assembly.preshaped(end, assembly.hand.preshapes[0], 0.3)

sequential = arm_then_fingers(assembly, np.array([start, end]), limits)[0][-1]
for tip_targets in ("position", "pose"):
    together = drive_hand_and_arm(assembly, start, end, limits=limits, tip_targets=tip_targets)
    print(f"tips by {tip_targets}: together {together.duration:.2f} s, arm then fingers {sequential:.2f} s")
    assert together.arrived
    assert np.abs(together.q[-1] - end).max() <= 1e-4
    assert together.duration < 0.8 * sequential

between = 0.5 * (robot.pose(PALM_FRAME, start).translation + robot.pose(PALM_FRAME, end).translation)
wall = Obstacle("wall", box(0.6, 0.02, 0.6), pin.SE3(np.eye(3), between))
blocked = drive_hand_and_arm(assembly, start, end, limits=limits, clearance=Clearance(robot, [wall]))
print(f"with a wall: {blocked.status.value} ({blocked.reason}); a plan then takes another path")
assert blocked.status is MotionStatus.COLLISION
