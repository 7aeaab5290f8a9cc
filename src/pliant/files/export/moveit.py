"""Grasps for MoveIt 2: what the stages of a MoveIt Task Constructor pick take, as messages in JSON.

Every field has the name, the place and the type that it has in moveit_msgs, so that
``rosidl_runtime_py.set_message_fields(message, fields)`` fills a message as it is; fields that are left out keep their
defaults. Poses are in the frame ``world``; groups and end effector are those of `pliant.files.export.srdf`.

    object, obstacles         moveit_msgs/CollisionObject   to be added to the planning scene
    grasps[].grasp            moveit_msgs/Grasp             pose of the arm's last link, postures, approach, retreat
    grasps[].pre_grasp        moveit_msgs/RobotState        the open hand
    grasps[].squeeze          moveit_msgs/RobotState        the hand that presses as planned, with its torques
    grasps[].allowed_collisions                             pairs of lists, as ModifyPlanningScene.allowCollisions takes them
"""  # noqa: E501

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import distance, triangles
from pliant.errors import PlanError, Problem
from pliant.file_bytes import write_bytes
from pliant.objects import Mesh
from pliant.planner import Phase, Plan, PlannedGrasp, Task, Timeline

FRAME, OBJECT = "world", "object"
STANDOFF = 0.1
"""How far before the grasp the straight approach begins [m]."""
RESTING = 2e-3
"""An obstacle that is nearer to the object than this bears it [m]."""
SHORTEST = 1e-3
"""What a motion of the arm's last link is at least, to have a direction [m]."""


def write_moveit(plan: Plan, path: Path) -> tuple[Path, ...]:
    """All grasps of a plan, best first."""
    text = json.dumps(moveit_fields(plan), ensure_ascii=False, allow_nan=False, indent=1)
    write_bytes(path, text.encode(), error=PlanError)
    return (path,)


def moveit_fields(plan: Plan) -> dict[str, Any]:
    """The document that is written."""
    task, assembly = plan.task, plan.task.assembly
    if assembly.hand is None or assembly.arm is None:
        what = Problem("", f"{assembly.name} is no arm with a hand", "MoveIt plans the arm; give the task one")
        raise PlanError(task.name, what)
    obstacles = {f"obstacle_{i}": mesh for i, mesh in enumerate(task.scene)}
    at_rest = task.body.mesh.transformed(task.T_world_object)
    bearing = [name for name, mesh in obstacles.items() if _apart(at_rest, mesh) < RESTING]
    return {
        "format": "pliant moveit",
        "version": 1,
        "task": task.name,
        "robot": assembly.name,
        "arm_group": "arm",
        "hand_group": "hand",
        "end_effector": assembly.hand.name,
        "ik_frame": assembly.arm.flange,
        "object": _collision_object(OBJECT, task.body.mesh, task.T_world_object),
        "obstacles": [_collision_object(name, mesh, pin.SE3.Identity()) for name, mesh in obstacles.items()],
        "grasps": [_grasp(task, grasp, f"{task.name}_{rank}", bearing) for rank, grasp in enumerate(plan.grasps)],
    }


def _grasp(task: Task, grasp: PlannedGrasp, name: str, bearing: list[str]) -> dict[str, Any]:
    assembly = task.assembly
    robot, joints = assembly.robot, assembly.hand_joints
    assert assembly.arm is not None and assembly.hand is not None
    flange = assembly.arm.flange
    names = [robot.joint_names[i] for i in joints]
    pressed = grasp.grasp
    squeeze = Timeline(grasp).spans.get(Phase.SQUEEZE, (pressed.time, pressed.time))
    effort = pressed.torques[joints].tolist()
    approach = _approach(task, grasp, flange)
    touching = sorted({contact.link for state in grasp.states for contact in state.contacts})
    return {
        "grasp": {
            "id": name,
            "pre_grasp_posture": _posture(names, [(0.0, grasp.q_pregrasp[joints].tolist(), [])]),
            "grasp_posture": _posture(
                names,
                [
                    (0.0, grasp.q_touch[joints].tolist(), []),
                    (squeeze[1] - squeeze[0], pressed.q[joints].tolist(), effort),
                ],
            ),
            "grasp_pose": {"header": {"frame_id": FRAME}, "pose": _pose(robot.pose(flange, grasp.q_touch))},
            "grasp_quality": grasp.epsilon,
            "pre_grasp_approach": _translation(approach),
            "post_grasp_retreat": _translation(np.array([0.0, 0.0, task.goal.lift])),
            "post_place_retreat": _translation(-approach),
            "max_contact_force": grasp.largest_force,
            "allowed_touch_objects": [OBJECT],
        },
        "pre_grasp": _state(names, grasp.q_pregrasp[joints].tolist(), []),
        "squeeze": _state(names, pressed.q[joints].tolist(), effort),
        "allowed_collisions": [
            {"first": [OBJECT], "second": touching, "from": "touch"},
            *([{"first": [OBJECT], "second": bearing, "from": "lift"}] if bearing else []),
        ],
    }


def _approach(task: Task, grasp: PlannedGrasp, flange: str) -> Floats:
    """The straight line to the grasp from where the planned motion enters the stand-off distance; world axes [m].

    Towards the object's middle where the arm does not move before the touch.
    """
    robot, path = task.assembly.robot, grasp.trajectory
    end = robot.pose(flange, grasp.q_touch).translation
    before = [q for t, q in zip(path.times.tolist(), path.q, strict=True) if t < grasp.grasp.time]
    motion = np.zeros(3)
    for q in reversed(before):
        motion = end - robot.pose(flange, q).translation
        if np.linalg.norm(motion) >= STANDOFF:
            break
    length = float(np.linalg.norm(motion))
    if length < SHORTEST:
        motion = task.T_world_object.act(task.body.mesh.bounds.mean(axis=0)) - end
        length = float(np.linalg.norm(motion))
    return np.asarray(min(length, STANDOFF) / length * motion)


def _apart(first: Mesh, second: Mesh) -> float:
    nothing = pin.SE3.Identity()
    return distance(triangles(first), nothing, triangles(second), nothing)


# -- messages ----------------------------------------------------------------------------------------------------------


def _collision_object(name: str, mesh: Mesh, T: pin.SE3) -> dict[str, Any]:
    """moveit_msgs/CollisionObject with one mesh; operation 0 adds it."""
    shape = {
        "triangles": [{"vertex_indices": face} for face in mesh.faces.tolist()],
        "vertices": [dict(zip("xyz", vertex, strict=True)) for vertex in mesh.vertices.tolist()],
    }
    return {
        "header": {"frame_id": FRAME},
        "pose": _pose(T),
        "id": name,
        "meshes": [shape],
        "mesh_poses": [_pose(pin.SE3.Identity())],
        "operation": 0,
    }


def _pose(T: pin.SE3) -> dict[str, Any]:
    """geometry_msgs/Pose."""
    position, turn = T.translation.tolist(), pin.Quaternion(T.rotation).coeffs().tolist()
    return {
        "position": dict(zip("xyz", position, strict=True)),
        "orientation": dict(zip("xyzw", turn, strict=True)),
    }


def _translation(motion: Floats) -> dict[str, Any]:
    """moveit_msgs/GripperTranslation; without a length there is none to be made."""
    length = float(np.linalg.norm(motion))
    direction = (motion / length if length > 0.0 else np.array([0.0, 0.0, 1.0])).tolist()
    return {
        "direction": {"header": {"frame_id": FRAME}, "vector": dict(zip("xyz", direction, strict=True))},
        "desired_distance": length,
        "min_distance": 0.0,
    }


def _posture(names: list[str], points: list[tuple[float, list[float], list[float]]]) -> dict[str, Any]:
    """trajectory_msgs/JointTrajectory from times [s], positions and efforts."""
    return {
        "joint_names": names,
        "points": [
            {
                "positions": positions,
                "effort": effort,
                "time_from_start": dict(zip(("sec", "nanosec"), divmod(round(1e9 * time), 10**9), strict=True)),
            }
            for time, positions, effort in points
        ],
    }


def _state(names: list[str], positions: list[float], effort: list[float]) -> dict[str, Any]:
    """moveit_msgs/RobotState of the hand alone: a difference to what the robot is in."""
    return {"joint_state": {"name": names, "position": positions, "effort": effort}, "is_diff": True}
