"""What the joints of the hand bear in a run, from what the pads measured: for hands that report no torques.

([D], chapter 4)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.control.force_loop import contact_kinematics
from pliant.control.run_log import RunLog
from pliant.planner import ContactTimeline, PlannedForces, PlannedGrasp
from pliant.robot import Assembly


@dataclass(frozen=True, eq=False)
class FingerTorques:
    """The hand's joints in a run of m steps.

    Attributes:
        joints: k positions in the log's joints.
        from_forces: m x k torques J^T f of the measured contact forces and of the links' own weight [N m, N]; NaN
            while nothing is gripped.
    """

    joints: tuple[int, ...]
    from_forces: Floats


def finger_torques(
    log: RunLog, grasp: PlannedGrasp, assembly: Assembly, *, gravity: ArrayLike = (0.0, 0.0, -GRAVITY)
) -> FingerTorques:
    """tau = J^T f at the measured joints, centres of pressure and normal forces.   (theory 7.1, (4))

    Pads do not feel friction: it is the plan's, which follows from the load, and less in proportion where a contact
    presses less than planned. Directions are the plan's in the links' frames; so are centres where none was measured.

    Args:
        log: a run of ``grasp``.
        grasp: what was run.
        assembly: the robot.
        gravity: acceleration in the world [m/s^2].
    """
    robot, hand = assembly.robot, assembly.hand_joints
    timeline = ContactTimeline(grasp, robot)
    columns = [log.joints.index(name) for name in robot.joint_names]
    torques = np.full((len(log), len(hand)), np.nan)
    for i, phase in enumerate(log.phases):
        q, time = np.asarray(log["q_measured"][i], dtype=np.float64)[columns], float(log["plan_time"][i])
        if not (phase.grips and np.isfinite(q).all() and np.isfinite(time)):
            continue
        moment = timeline.forces_at(time)
        measured = np.asarray(log["point_measured"][i], dtype=np.float64)
        points = np.where(np.isfinite(measured), measured, moment.points)
        now = contact_kinematics(assembly, timeline.links, q, points, moment.axes)
        forces = _forces(moment, np.nan_to_num(np.asarray(log["force_measured"][i], dtype=np.float64)))
        bears = robot.gravity_torques(q, gravity=gravity) + np.einsum("nij,ni->j", now.jacobian, forces)
        torques[i] = bears[hand]
    return FingerTorques(tuple(columns[j] for j in hand.tolist()), torques)


def _forces(moment: PlannedForces, normal: Floats) -> Floats:
    """n x 3 in the contact frames: measured normal forces with the plan's friction."""
    planned = moment.forces
    there = planned[:, 2] > 0.0
    share = np.minimum(np.where(there, normal / np.where(there, planned[:, 2], 1.0), 0.0), 1.0)
    return np.column_stack([share[:, None] * planned[:, :2], normal])
