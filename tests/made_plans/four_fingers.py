"""The shipped ball for the hand of four fingers with four joints each, held as the planner holds it.

Joints, contacts and forces are those of the best of 4000 hypotheses: the middle finger from the side, the thumb from
below. Only the lift is made here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from made_plans.states import GRAVITY, contact_torques
from made_plans.things import MadeTask
from pliant.files import shipped_task
from pliant.motion import InverseKinematics
from pliant.planner import (
    Goal,
    HeldState,
    Hypothesis,
    Phase,
    PlannedContact,
    PlannedGrasp,
    Reserve,
    Task,
    Trajectory,
)
from pliant.robot import PALM_FRAME

ARM = (1.77782, 0.433331, -2.256477, 1.483694, -1.55032, -2.304012)
INDEX, RING = (0.0, 0.6, 0.3, 0.3), (0.0, 1.4, 1.0, 0.9)
OPEN = (*ARM, *INDEX, 0.0, 0.6, 0.3, 0.3, *INDEX, 1.2, 0.3, 0.0, 0.2)
TOUCH = (*ARM, *INDEX, 0.0, 1.01452, 0.6627, 0.61089, *RING, 1.27587, 0.57951, 0.23958, 0.47951)
GRASP = (*ARM, *INDEX, 0.0, 1.01687, 0.66476, 0.61265, *RING, 1.27679, 0.5829, 0.24249, 0.4829)
PLACE, TURN = (0.948531, 0.000173, 0.631894), (-0.007298, -0.08168, -0.041761)  # of the ball in the grasp


class Touch(NamedTuple):
    """A contact in the grasp: place, x axis and normal in the ball's frame, place in the link's; forces and patch."""

    link: str
    point: tuple[float, ...]
    x: tuple[float, ...]
    normal: tuple[float, ...]
    p_link: tuple[float, ...]
    force: tuple[float, ...]
    wanted: tuple[float, ...]
    radius: float
    pressure: float
    depth: float
    stiffness: tuple[float, ...]


TOUCHES = (
    Touch("middle_distal", (0.003154, 0.031634, -0.001458), (0.0063, 0.0454, 0.9989), (-0.0997, -0.994, 0.0458),
          (0.008848, 0.000179, 0.034487), (0.024, -0.0527, 0.5464), (0.0509, -0.053, 0.4994),
          0.001858, 7.46e4, 0.000381, (1441.0, 1441.0, 2219.0)),
    Touch("thumb_distal", (-0.001308, -0.017197, -0.026655), (0.5102, -0.7334, 0.4492), (0.0424, 0.5431, 0.8386),
          (0.011157, 0.003746, 0.040739), (0.0421, 0.0153, 1.0434), (0.0634, -0.0011, 0.9964),
          0.002909, 7.43e4, 0.0005, (2061.0, 2057.0, 3195.0)),
)  # fmt: skip


def ball_in_four_fingers() -> MadeTask:
    """Grasp and lift from the open hand, with reserves for 15 % less friction and 5 % more weight."""
    task = replace(shipped_task("ball_four_fingers"), goal=Goal(lift=0.05))
    q_open, q_touch, q_grasp = (np.array(q) for q in (OPEN, TOUCH, GRASP))
    inverse = InverseKinematics(task.assembly.robot, PALM_FRAME)
    T_world_palm = task.assembly.robot.pose(PALM_FRAME, q_grasp)
    q_up = inverse.solve(pin.SE3(np.eye(3), np.array([0.0, 0.0, task.goal.lift])) * T_world_palm, seed=q_grasp).q
    points = [
        (Phase.APPROACH, 0.0, q_open),
        (Phase.APPROACH, 0.1, q_open),
        *((Phase.CLOSE, 0.5 + 0.25 * k, q_open + 0.25 * k * (q_touch - q_open)) for k in range(1, 5)),
        (Phase.SQUEEZE, 1.8, q_grasp),
        *((Phase.LIFT, 1.8 + 0.25 * k, q_grasp + 0.25 * k * (q_up - q_grasp)) for k in range(1, 5)),
    ]
    held = pin.SE3(pin.exp3(np.array(TURN)), np.array(PLACE))
    up = pin.SE3(held.rotation, held.translation + np.array([0.0, 0.0, task.goal.lift]))
    x, y, z, w = pin.SE3ToXYZQUAT(held)[3:]
    poses = []
    for phase, time, _ in points:
        share = (time - 1.8) if phase is Phase.LIFT else 0.0
        poses.append([*(held.translation + share * (up.translation - held.translation)), w, x, y, z])
    trajectory = Trajectory(
        np.array([time for _, time, _ in points]),
        np.array([q for _, _, q in points]),
        tuple(phase for phase, _, _ in points),
        np.array(poses),
    )
    states = (_state(task, 1.8, Phase.SQUEEZE, q_grasp, held), _state(task, 2.8, Phase.LIFT, q_up, up))
    T_object_palm = task.T_world_object.actInv(T_world_palm)
    grasp = PlannedGrasp(
        Hypothesis(0, T_object_palm, "pinch", ("middle", "thumb"), "by hand"),
        trajectory,
        states,
        q_open,
        q_touch,
        states[0].largest_force,
        states[0].largest_pressure,
        com_shift=0.0,
        joint_range=0.5,
        arm_path=0.0,
        epsilon=0.0,
        reserve=Reserve(friction=0.85, load=1.05),
    )
    return MadeTask(task, grasp)


def _state(task: Task, time: float, phase: Phase, q: np.ndarray, T_world_object: pin.SE3) -> HeldState:
    contacts = tuple(_contact(touch, task) for touch in TOUCHES)
    load = np.array([0.0, 0.0, -GRAVITY * task.body.mass, 0.0, 0.0, 0.0])
    centre = T_world_object.translation
    torques = contact_torques(task, q, T_world_object, contacts)
    still = np.zeros((len(task.body.mesh.vertices), 3), dtype=np.float32)
    return HeldState(time, phase, q, T_world_object, contacts, centre, centre, load, torques, 0.9, still, 0.0)


def _contact(touch: Touch, task: Task) -> PlannedContact:
    z = np.array(touch.normal) / np.linalg.norm(touch.normal)
    x = np.array(touch.x) - np.array(touch.x) @ z * z
    x /= np.linalg.norm(x)
    area = float(np.pi * touch.radius**2)
    return PlannedContact(
        link=touch.link,
        finger=touch.link.partition("_")[0],
        patch=0,
        T_object_contact=pin.SE3(np.stack([x, np.cross(z, x), z], axis=1), np.array(touch.point)),
        p_link=np.array(touch.p_link),
        force=np.array(touch.force),
        wanted=np.array(touch.wanted),
        radius=touch.radius,
        half_axes=np.full(2, touch.radius),
        peak_pressure=touch.pressure,
        area=area,
        depth=touch.depth,
        stiffness=np.array(touch.stiffness),
        friction=task.body.material.friction,
        max_force=20.0,
        p_object_cells=np.array([touch.point]),
        pressures=np.array([touch.force[2] / area]),
        cell_area=area,
    )
