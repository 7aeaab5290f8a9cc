"""A planned operation as instants: what every exporter goes through in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.planner import Phase, Plan, PlannedGrasp, Timeline
from pliant.robot import Robot


@dataclass(frozen=True, eq=False)
class Instant:
    """The robot and the object at one time.

    Args:
        time: since the beginning [s].
        phase: of the operation.
        q: independent joints.
        positions, velocities: of all moving joints, followers included, in the order of ``joint_names``.
        T_world_object: the object.
        links: T_parent_child of every joint, by the name of the joint.
    """

    time: float
    phase: Phase
    q: Floats
    positions: Floats
    velocities: Floats
    T_world_object: pin.SE3
    links: dict[str, pin.SE3]


def instants(plan: Plan, grasp: PlannedGrasp, rate: float) -> Iterator[Instant]:
    """The operation at ``rate`` per second, and at every point of the trajectory and every held state besides."""
    timeline, path, robot = Timeline(grasp), grasp.trajectory, plan.task.assembly.robot
    grid = np.arange(0.0, path.duration, 1.0 / rate)
    times = np.unique(np.concatenate([grid, path.times, timeline.times]))
    slopes = np.vstack([np.diff(path.q, axis=0) / np.diff(path.times)[:, None], np.zeros((1, robot.dof))])
    last = -1
    for time in times.tolist():
        if to_ns(time) == last:
            continue  # closer than a nanosecond: one instant
        last = to_ns(time)
        after = int(np.clip(np.searchsorted(path.times, time, side="right") - 1, 0, len(path.times) - 1))
        q = path.at(time)
        velocities = robot.fold @ slopes[after]
        links = _joint_transforms(robot, q)
        yield Instant(time, timeline.phase(time), q, robot.full(q), velocities, path.object_at(time), links)


def to_ns(seconds: float) -> int:
    """Whole nanoseconds."""
    return round(seconds * 1e9)


def _joint_transforms(robot: Robot, q: Floats) -> dict[str, pin.SE3]:
    pin.framesForwardKinematics(robot.model, robot.data, robot.full(q))
    poses = {name: robot.data.oMf[robot.frame_id(name)] for name in robot.link_names}
    return {joint.name: poses[joint.parent].actInv(poses[joint.child]) for joint in robot.urdf.joints}
