"""All grasps of a plan as arrays, with the names that DexGraspBench and its relatives use.

One row per grasp, best first. A hand posture is ``x y z qw qx qy qz`` of the hand's root link in the world, then the
hand's independent joints in the order of ``joint_names``:

    pregrasp_qpos   n x (7 + h)   the open hand in place
    grasp_qpos      n x (7 + h)   first touch
    squeeze_qpos    n x (7 + h)   pressing with the planned forces
    obj_pose        n x 7         the object before it is touched
    obj_scale       n             1: the mesh is in metres
    obj_path        n             the mesh file beside the array
    joint_names     h             hand_root, hand, preshape, fingers: text
    largest_force, epsilon, joint_range   n

The file is an .npz archive without pickled objects.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.arrays import Floats
from pliant.errors import PlanError
from pliant.file_bytes import write_bytes
from pliant.files.archive import pack
from pliant.motion import pose_numbers
from pliant.objects import write_mesh
from pliant.plain_arrays import array_bytes
from pliant.planner import Plan


def write_grasp_array(plan: Plan, path: Path) -> tuple[Path, ...]:
    """The arrays to ``path`` (.npz), the object's mesh to ``<name>_object.obj`` beside it."""
    assembly = plan.task.assembly
    if assembly.hand is None:
        raise PlanError(str(path), "the plan's robot has no hand")
    mesh = write_mesh(plan.task.body.mesh, path.with_name(f"{path.stem}_object.obj"))
    root, joints = assembly.hand.mount, assembly.hand_joints

    def posture(q: Floats) -> list[float]:
        return [*pose_numbers(assembly.robot.pose(root, q)), *q[joints].tolist()]

    count = len(plan.grasps)
    arrays = {
        "pregrasp_qpos": np.array([posture(grasp.q_pregrasp) for grasp in plan.grasps]),
        "grasp_qpos": np.array([posture(grasp.q_touch) for grasp in plan.grasps]),
        "squeeze_qpos": np.array([posture(grasp.grasp.q) for grasp in plan.grasps]),
        "obj_pose": np.tile(pose_numbers(plan.task.T_world_object), (count, 1)),
        "obj_scale": np.ones(count),
        "obj_path": np.array([mesh.name] * count),
        "joint_names": np.array([assembly.robot.joint_names[i] for i in joints]),
        "hand_root": np.array(root),
        "hand": np.array(assembly.hand.name),
        "preshape": np.array([grasp.hypothesis.preshape for grasp in plan.grasps]),
        "fingers": np.array([",".join(grasp.hypothesis.fingers) for grasp in plan.grasps]),
        "largest_force": np.array([grasp.largest_force for grasp in plan.grasps]),
        "epsilon": np.array([grasp.epsilon for grasp in plan.grasps]),
        "joint_range": np.array([grasp.joint_range for grasp in plan.grasps]),
    }
    members = {f"{name}.npy": array_bytes(array) for name, array in arrays.items()}
    write_bytes(path, pack(members), error=PlanError)
    return path, mesh
