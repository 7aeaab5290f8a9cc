"""Second opinion on a trajectory: limits, speeds, agreement with the held states, and whether the goal is reached."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.errors import Problem
from pliant.planner.results import Phase, PlannedGrasp, Trajectory
from pliant.planner.task import MoveFrame, Task
from pliant.planner.verify.tolerances import Tolerances
from pliant.robot import PALM_FRAME

ORDER = list(Phase)
CARRIED = {Phase.LIFT, Phase.MOVE}


def motion_problems(task: Task, grasp: PlannedGrasp, where: str, allowed: Tolerances) -> list[Problem]:
    """Everything about the trajectory but collisions."""
    path, where_path = grasp.trajectory, f"{where}.trajectory"
    for name, values in (("times", path.times), ("q", path.q), ("object_poses", path.object_poses)):
        if not np.isfinite(values).all():
            return [Problem(f"{where_path}.{name}", "is not finite")]
    if len(path.times) < 2 or path.times[0] != 0.0 or np.any(np.diff(path.times) <= 0.0):
        return [Problem(f"{where_path}.times", "do not increase from 0", "seconds, in order")]
    return [
        *_limits(task, path, where_path, allowed),
        *_phases(task, path, where_path, allowed),
        *_inertia(task, path, where_path),
        *_states(grasp, where, allowed),
    ]


def _pose(numbers: Floats) -> pin.SE3:
    w, x, y, z = numbers[3:] / np.linalg.norm(numbers[3:])
    return pin.SE3(pin.Quaternion(w, x, y, z).matrix(), numbers[:3].copy())


def _limits(task: Task, path: Trajectory, where: str, allowed: Tolerances) -> Iterator[Problem]:
    robot = task.assembly.robot
    beyond = np.maximum(robot.lower - path.q, path.q - robot.upper)
    for j in np.flatnonzero(beyond.max(axis=0) > allowed.joints).tolist():
        i = int(np.argmax(beyond[:, j]))
        what = f"joint '{robot.joint_names[j]}' is at {path.q[i, j]:.5g} at {path.times[i]:.3f} s"
        yield Problem(where, what, f"allowed: {robot.lower[j]:.4g} .. {robot.upper[j]:.4g}")
    speeds = np.abs(np.diff(path.q, axis=0)) / np.diff(path.times)[:, None]
    for j in np.flatnonzero((speeds - robot.velocity_limits).max(axis=0) > 1e-6 * robot.velocity_limits).tolist():
        i = int(np.argmax(speeds[:, j]))
        what = f"joint '{robot.joint_names[j]}' moves at {speeds[i, j]:.4g} /s after {path.times[i]:.3f} s"
        yield Problem(where, what, f"at most {robot.velocity_limits[j]:.4g} /s")
    start = np.abs(path.q[0] - task.q_start)
    if start.max() > 1e-3:
        j = int(np.argmax(start))
        what = f"begins with joint '{robot.joint_names[j]}' at {path.q[0, j]:.4g}"
        yield Problem(where, what, f"the task begins at {task.q_start[j]:.4g}")


def _phases(task: Task, path: Trajectory, where: str, allowed: Tolerances) -> Iterator[Problem]:
    """Phases follow each other in order, and the object stays where it is until it is squeezed."""
    ranks = [ORDER.index(phase) for phase in path.phases]
    if ranks != sorted(ranks):
        yield Problem(f"{where}.phases", "are not in their order", ", ".join(ORDER))
    lengths = np.linalg.norm(path.object_poses[:, 3:], axis=1)
    if np.abs(lengths - 1.0).max() > 1e-6:
        yield Problem(f"{where}.object_poses", f"a quaternion has length {lengths[np.argmax(np.abs(lengths - 1))]:.4g}")
        return
    for i, phase in enumerate(path.phases):
        if phase in (Phase.APPROACH, Phase.CLOSE):
            moved, turned = _apart(_pose(path.object_poses[i]), task.T_world_object)
            if moved > allowed.object_place or turned > allowed.object_turn:
                what = f"the object has moved by {1e3 * moved:.3g} mm and {np.degrees(turned):.3g} deg "
                what += f"at {path.times[i]:.3f} s, while the hand was still coming"
                yield Problem(f"{where}.object_poses", what, "nothing has touched it yet")
                break


def _inertia(task: Task, path: Trajectory, where: str) -> Iterator[Problem]:
    """A held object is moved so calmly that the margin against slipping covers its inertia."""
    held = [i for i in range(1, len(path.times) - 1) if {path.phases[i], path.phases[i + 1]} <= CARRIED]
    most = GRAVITY * max(task.options.margin, 0.04)
    centre = task.body.centre_of_mass(task.T_world_object.rotation[2])
    places = np.array([_pose(numbers).act(centre) for numbers in path.object_poses])
    speeds = np.diff(places, axis=0) / np.diff(path.times)[:, None]
    for i in held:
        change = float(np.linalg.norm(speeds[i] - speeds[i - 1]) / (0.5 * (path.times[i + 1] - path.times[i - 1])))
        if change > most:
            what = f"the held object is accelerated by {change:.3g} m/s^2 at {path.times[i]:.3f} s"
            yield Problem(f"{where}.object_poses", what, f"at most {most:.3g} m/s^2, the margin against slipping")
            return


def _states(grasp: PlannedGrasp, where: str, allowed: Tolerances) -> Iterator[Problem]:
    """Held states lie on the trajectory: same joints, same pose of the object, same phase; in the order of time."""
    path = grasp.trajectory
    times = [state.time for state in grasp.states]
    if times != sorted(times) or times[0] < 0.0 or times[-1] > path.duration + 1e-9:
        yield Problem(
            f"{where}.states", "their times are not in order within the trajectory", f"0 .. {path.duration:.3f} s"
        )
        return
    for k, state in enumerate(grasp.states):
        error = np.abs(path.at(state.time) - state.q)
        if error.max() > 1e-4:
            what = f"joint {int(np.argmax(error))} is {error.max():.3g} off the trajectory at {state.time:.3f} s"
            yield Problem(f"{where}.states[{k}].q", what, "they are the same motion")
        moved, turned = _apart(path.object_at(state.time), state.T_world_object)
        if moved > allowed.object_place or turned > allowed.object_turn:
            what = f"the object is {1e3 * moved:.3g} mm and {np.degrees(turned):.3g} deg off the trajectory's pose"
            yield Problem(f"{where}.states[{k}].T_world_object", what, f"at {state.time:.3f} s they are the same")


def goal_problems(task: Task, grasp: PlannedGrasp, where: str, allowed: Tolerances) -> Iterator[Problem]:
    """The object was lifted, then moved and turned as asked, about its centre of mass."""
    goal, robot = task.goal, task.assembly.robot
    moves = [k for k, state in enumerate(grasp.states) if state.phase is Phase.MOVE]
    lifted = grasp.states[moves[0] - 1] if moves and moves[0] > 0 else grasp.states[-1]
    raised = float(lifted.T_world_object.translation[2] - task.T_world_object.translation[2])
    if raised < goal.lift - allowed.object_place:
        yield Problem(f"{where}.states", f"the object is lifted by {1e3 * raised:.4g} mm", f"{1e3 * goal.lift:.4g} mm")
    if not goal.moves:
        return
    if not moves:
        yield Problem(f"{where}.states", "the object is never moved after the lift", "the task asks for a move")
        return
    axes = {
        MoveFrame.WORLD: np.eye(3),
        MoveFrame.OBJECT: lifted.T_world_object.rotation,
        MoveFrame.PALM: robot.pose(PALM_FRAME, lifted.q).rotation,
    }[goal.frame]
    end = grasp.states[-1]
    R = pin.exp3(axes @ np.array(goal.rotation)) @ lifted.T_world_object.rotation
    # The point that was the centre of mass: a liquid's own motion does not count.
    p = lifted.T_world_object.actInv(lifted.centre_of_mass)
    wanted = lifted.centre_of_mass + axes @ np.array(goal.translation)
    moved = float(np.linalg.norm(end.T_world_object.act(p) - wanted))
    turned = float(np.linalg.norm(pin.log3(R.T @ end.T_world_object.rotation)))
    # The task itself says how near is near enough.
    near = max(allowed.object_place, task.options.move_tolerance)
    if moved > near or turned > max(allowed.object_turn, task.options.turn_tolerance):
        what = f"the object ends {1e3 * moved:.3g} mm and {np.degrees(turned):.3g} deg from where it should"
        yield Problem(f"{where}.states[-1].T_world_object", what, "the move of the task")


def _apart(a: pin.SE3, b: pin.SE3) -> tuple[float, float]:
    between = np.linalg.norm(a.translation - b.translation), np.linalg.norm(pin.log3(a.rotation.T @ b.rotation))
    return float(between[0]), float(between[1])
