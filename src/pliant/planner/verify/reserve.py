"""Second opinion on a grasp's reserve: planned forces do for the worst world that the plan promises, and for pushes.

(theory 8.10, 8.11)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import product

import numpy as np

from pliant.arrays import Floats
from pliant.errors import Problem
from pliant.grasp import ContactSet, ForceSolver, contact_twists, hand_jacobian
from pliant.planner.results import HeldState, PlannedGrasp, Reserve
from pliant.planner.task import Task
from pliant.planner.verify.tolerances import Tolerances
from pliant.planner.wanted import margin_force, push_wrenches

DIRECTIONS = 200
"""Planes around each friction cone; they touch it from outside, so that no honest plan is refused."""


def reserve_problems(task: Task, grasp: PlannedGrasp, where: str, allowed: Tolerances) -> Iterator[Problem]:
    """The reserve is the task's, the force without it is right, and every held state has it."""
    reserve, promised = grasp.reserve, Reserve.of(task.uncertainty)
    known = task.assembly.robot.link_names
    states = {k: state for k, state in enumerate(grasp.states) if _computable(state, known)}
    # a plan that says nothing of a nominal force was made without reserves
    if not math.isnan(grasp.nominal_force):
        if reserve.friction > promised.friction + 1e-9 or reserve.load < promised.load - 1e-9:
            what = f"is for {reserve.friction:.4g} of the friction and {reserve.load:.4g} of the weight"
            yield Problem(
                f"{where}.reserve", what, f"the task's uncertainty: {promised.friction:.4g}, {promised.load:.4g}"
            )
        found = max((_nominal_force(task, state) for state in states.values()), default=np.nan)
        if abs(found - grasp.nominal_force) > allowed.nominal * found:
            what = f"is {grasp.nominal_force:.4g} N"
            yield Problem(f"{where}.nominal_force", what, f"computed again: {found:.4g} N")
    for k, state in states.items():
        for load in sorted({reserve.load, 2.0 - reserve.load}):
            pushes = _pushes(task)
            left = [_missing(task, state, reserve.friction, load, push, allowed) for push in pushes]
            missing, push = max(left), pushes[int(np.argmax(left))]
            if missing > 0.0:
                what = f"cannot bear {load:.4g} of the weight"
                if push.any():
                    what += f" and a push of ({', '.join(f'{value:.3g}' for value in push)}) N, N m"
                what += f" with {reserve.friction:.4g} of the friction"
                yield Problem(f"{where}.states[{k}].contacts", what, f"{missing:.3g} N are missing")


def _pushes(task: Task) -> list[Floats]:
    """No push, each of the task's, and of one that may come from anywhere those along axes and diagonals."""
    wrenches = [np.zeros(6)]
    for push in task.goal.disturbances:
        wrenches.append(np.array([*push.force, *push.torque]))
        if push.any_force:
            around = [axis for axis in product((-1.0, 0.0, 1.0), repeat=3) if sum(map(abs, axis)) in (1.0, 3.0)]
            unit = np.array(around) / np.linalg.norm(around, axis=1)[:, None]
            wrenches += [np.concatenate([push.any_force * direction, np.zeros(3)]) for direction in unit]
    return wrenches


def _computable(state: HeldState, known: Collection[str]) -> bool:
    """Whether there are contacts of known links with finite numbers; states without are reported elsewhere."""
    numbers = [state.load, state.centre_of_mass, state.T_world_object.homogeneous.ravel()]
    for contact in state.contacts:
        numbers += [contact.T_object_contact.homogeneous.ravel(), contact.force, np.array([contact.radius])]
    if not state.contacts or any(contact.link not in known for contact in state.contacts):
        return False
    return bool(np.isfinite(np.concatenate(numbers)).all())


def _nominal_force(task: Task, state: HeldState) -> float:
    """The largest normal force that would do with nominal friction and weight [N]."""
    T = state.T_world_object
    frames = [T * contact.T_object_contact for contact in state.contacts]
    contacts = ContactSet.from_arrays(
        np.array([frame.translation for frame in frames]),
        np.array([frame.rotation[:, 2] for frame in frames]),
        friction=np.array([contact.friction for contact in state.contacts]),
        max_force=np.array([contact.max_force for contact in state.contacts]),
        stiffness=np.array([np.diag(contact.stiffness) for contact in state.contacts]),
        radius=np.array([max(contact.radius, 1e-5) for contact in state.contacts]),
        rotations=np.array([frame.rotation for frame in frames]),
    )
    assembly, robot = task.assembly, task.assembly.robot
    joints = assembly.hand_joints
    jacobians = np.array([robot.jacobian(contact.link, state.q)[:, joints] for contact in state.contacts])
    origins = np.array([robot.pose(contact.link, state.q).translation for contact in state.contacts])
    goal = task.goal
    margin = margin_force(task.options.margin, task.body.mass, goal.gravity, goal.disturbances)
    solver = ForceSolver(objective=task.options.cost, margin=margin, explain=False)
    answer = solver.solve(
        contacts,
        state.load,
        centre=state.centre_of_mass,
        jacobian=hand_jacobian(contacts, contact_twists(contacts, jacobians, origins)),
        torque_limits=assembly.torque_limits[joints],
        gravity_torques=robot.gravity_torques(state.q, gravity=goal.gravity)[joints],
        disturbances=push_wrenches(goal.disturbances),
        joint_compliance=1.0 / assembly.servo_stiffness[joints],
    )
    return float(answer.forces[:, 2].max()) if answer.forces is not None else np.inf


def _missing(task: Task, state: HeldState, friction: float, load: float, push: Floats, allowed: Tolerances) -> float:
    """What no forces up to the planned normal ones can bear of a changed load, beyond the tolerance [N].

    A linear program over forces and patch moments in polyhedra around the friction cones. The normal forces that look
    along what comes on top take their part of it.
    """
    from scipy.optimize import linprog

    T = state.T_world_object
    w = load * state.load + push
    extra = w[:3] - state.load[:3]
    length = 0.5 * task.body.mesh.diagonal
    n = len(state.contacts)
    G = np.zeros((6, 4 * n))
    rows, most = [], np.full(4 * n, np.inf)
    planes = _directions()
    for i, contact in enumerate(state.contacts):
        R = T.rotation @ contact.T_object_contact.rotation
        arm = T.act(contact.T_object_contact.translation) - state.centre_of_mass
        e = 3.0 * np.pi / 16.0 * max(contact.radius, 1e-5)
        part = slice(4 * i, 4 * i + 4)
        # tangents and moment over e, then the normal force
        G[:3, part] = np.column_stack([R[:, :2], np.zeros(3), R[:, 2]])
        G[3:, part] = np.column_stack([np.cross(arm, R[:, :2].T).T, e * R[:, 2], np.cross(arm, R[:, 2])])
        block = np.zeros((len(planes), 4 * n))
        block[:, 4 * i : 4 * i + 3] = planes
        block[:, 4 * i + 3] = -friction * contact.friction
        rows.append(block)
        most[4 * i + 3] = max(contact.normal_force, 0.0) + abs(float(R[:, 2] @ extra))
    G[3:] /= length
    w[3:] /= length
    # the least s with |G f + w| <= s in every component
    A = np.vstack(
        [
            np.hstack([np.vstack(rows), np.zeros((len(planes) * n, 1))]),
            np.hstack([G, -np.ones((6, 1))]),
            np.hstack([-G, -np.ones((6, 1))]),
        ]
    )
    b = np.concatenate([np.zeros(len(planes) * n), -w, w])
    low = np.tile([-np.inf, -np.inf, -np.inf, 0.0], n)
    bounds = [*zip(low, most, strict=True), (0.0, None)]
    cost = np.zeros(4 * n + 1)
    cost[-1] = 1.0
    answer = linprog(cost, A_ub=A, b_ub=b, bounds=bounds, method="highs")
    left = np.inf if answer.fun is None else float(answer.fun)
    return left - allowed.reserve * (float(np.linalg.norm(w[:3])) + state.largest_force)


def _directions() -> Floats:
    """Unit vectors spread evenly over the sphere."""
    k = np.arange(DIRECTIONS) + 0.5
    z, turn = 1.0 - 2.0 * k / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * k
    r = np.sqrt(1.0 - z**2)
    return np.column_stack([r * np.cos(turn), r * np.sin(turn), z])
