"""Small but physically sensible plans, made without the planner: a ball pinched from above, lifted straight up.

An arm with the parallel gripper; contact forces come from `settle` (half-space model: no tetrahedra, quick), the
smallest sufficient force from the closed form of a pinch: m g / (2 mu) on either side.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pinocchio as pin

from made_plans.states import GRAVITY, held_state, pad_surface, pads_of, planned_contact, weight_load
from pliant.contact import ContactState, PadSurface, PreparedObject, settle
from pliant.motion import InverseKinematics
from pliant.objects import Body, ContactLimits, Liquid, Material, make_shape
from pliant.planner import (
    Carrier,
    Goal,
    HeldState,
    Hypothesis,
    MoveFrame,
    Phase,
    Plan,
    PlannedGrasp,
    PlanStatus,
    Reason,
    Rejection,
    StableGrasp,
    Stage,
    Task,
    Trajectory,
)
from pliant.robot import PALM_FRAME, Assembly, load_assembly

RADIUS = 0.025
REACH = 0.052  # ball's centre in front of the palm
LINKS = {"left": "left_finger", "right": "right_finger"}


@lru_cache
def ball_plan(*, liquid: bool = False, move: bool = False) -> Plan:
    """A rubber ball of 70 g on a table, lifted by 50 mm; with ``liquid`` a thin vessel of the same shape, half full.

    With ``move`` the last quarter of the way up is a move that the arm makes.
    """
    mesh = make_shape("sphere", radius=RADIUS, edge=0.004)
    material = Material(young=2e5, poisson=0.45, friction=0.6)
    contents = Liquid(3e-5, 1000.0, 0.001) if liquid else None
    limits = ContactLimits(force=15.0, pressure=2e5)
    body = Body.from_mesh(mesh, material, mass=0.02 if liquid else 0.07, liquid=contents, limits=limits)
    assembly = load_assembly("kawasaki_fs020n", "parallel_gripper")
    table = make_shape("box", size=(0.6, 0.6, 0.4), edge=0.6)
    table = table.moved((0.9, 0.0, 0.2))
    T_world_object = pin.SE3(np.eye(3), np.array([0.9, 0.0, 0.4 + RADIUS + 5e-4]))
    solve = InverseKinematics(assembly.robot, PALM_FRAME)
    q = assembly.q_home
    path = []
    for height in (0.10, 0.06, 0.03, 0.0):
        q = _above(assembly, solve, T_world_object, height, q)
        path.append(q)
    goal = Goal(lift=0.05)
    if move:
        goal = Goal(0.0375, (0.0, 0.0, 0.0125), frame=MoveFrame.WORLD, by=Carrier.ARM, steps=1)
    task = Task(assembly, path[0], body, T_world_object, (table,), goal, name="ball", source="# made by hand\n")
    return _plan(task, path, solve)


def _above(assembly: Assembly, solve: InverseKinematics, T_world_object: pin.SE3, height: float, seed) -> np.ndarray:
    """Joints with the palm looking down at the object from ``height`` above the grasp."""
    down = np.diag([1.0, -1.0, -1.0])
    T = pin.SE3(down, T_world_object.translation + np.array([0.0, 0.0, REACH + height]))
    answer = solve.solve(T, seed=seed)
    assert answer.found
    return answer.q


def _plan(task: Task, path: list[np.ndarray], solve: InverseKinematics) -> Plan:
    assembly, robot = task.assembly, task.assembly.robot
    opening = robot.joint_index("opening")
    q_pregrasp = path[-1]
    q_touch = q_pregrasp.copy()
    q_touch[opening] = RADIUS
    prepared = PreparedObject.of(
        task.body.mesh, young=task.body.material.young, poisson=task.body.material.poisson, model="halfspace"
    )
    pads = [pad_surface(assembly, pads_of(assembly)[link][1], task.body) for link in LINKS.values()]
    q_held = q_touch.copy()
    low, high = 1e-5, 3e-3  # squeeze until the normal force is a little above the smallest sufficient one
    wanted = task.body.mass * GRAVITY / (2 * task.body.material.friction)
    for _ in range(12):
        depth = 0.5 * (low + high)
        q_held[opening] = RADIUS - depth
        force = _settled(task, prepared, pads, q_held, task.T_world_object).largest_force
        low, high = (depth, high) if force < 1.05 * wanted else (low, depth)
    q_held[opening] = RADIUS - high
    lift = [_above(assembly, solve, task.T_world_object, h, q_held) for h in (0.0125, 0.025, 0.0375, 0.05)]
    for q in lift:
        q[opening] = q_held[opening]
    points = [*path, q_touch, q_held, *lift]
    phases = [Phase.APPROACH] * 4 + [Phase.CLOSE, Phase.SQUEEZE] + [Phase.LIFT] * 4
    if task.goal.moves:
        phases[-1] = Phase.MOVE
    times = [0.0]
    for a, b in itertools.pairwise(points):
        times.append(times[-1] + max(0.05, 1.25 * float(np.max(np.abs(b - a) / robot.velocity_limits))))
    grasped = _state(task, prepared, pads, q_held, task.T_world_object, times[5], Phase.SQUEEZE)
    states = [grasped]
    for i in range(8, 10) if task.goal.moves else range(9, 10):
        lifted_by = robot.pose(PALM_FRAME, points[i]) * robot.pose(PALM_FRAME, q_held).inverse()
        states.append(_state(task, prepared, pads, points[i], lifted_by * task.T_world_object, times[i], phases[i]))
    poses = []
    for q, phase in zip(points, phases, strict=True):
        T = task.T_world_object
        if phase in (Phase.SQUEEZE, Phase.LIFT, Phase.MOVE):
            palm = robot.pose(PALM_FRAME, q_held).inverse()
            T = robot.pose(PALM_FRAME, q) * palm * grasped.T_world_object
        x, y, z, w = pin.SE3ToXYZQUAT(T)[3:]
        poses.append([*T.translation, w, x, y, z])
    trajectory = Trajectory(np.array(times), np.array(points), tuple(phases), np.array(poses))
    T_object_palm = task.T_world_object.actInv(robot.pose(PALM_FRAME, q_pregrasp))
    hypotheses = tuple(
        Hypothesis(i, T_object_palm, "parallel", tuple(LINKS), f"polyhedron face {i}, roll 0 deg") for i in range(4)
    )
    shift = float(np.linalg.norm(grasped.centre_of_mass - grasped.centre_at_rest))
    grasp = PlannedGrasp(
        hypothesis=hypotheses[2],
        trajectory=trajectory,
        states=tuple(states),
        q_pregrasp=q_pregrasp,
        q_touch=q_touch,
        largest_force=max(state.largest_force for state in states),
        largest_pressure=max(state.largest_pressure for state in states),
        com_shift=shift,
        joint_range=0.11,
        arm_path=float(np.linalg.norm(np.diff(np.array(path)[:, assembly.arm_joints], axis=0), axis=1).sum()),
        epsilon=0.01,
        slack=0.001,
        warnings=("made by hand",),
    )
    rejections = (
        Rejection(
            0, Stage.OPEN_HAND, Reason.from_words("the open hand touches the scene"), 0.012, "m", "housing and table"
        ),
        Rejection(1, Stage.CLOSING, Reason.from_words("never touched"), float("inf")),
        Rejection(3, Stage.OPEN_HAND, Reason.from_words("the open hand touches the scene"), 0.02, "m"),
    )
    return Plan(
        task=task,
        status=PlanStatus.FOUND,
        grasps=(grasp,),
        hypotheses=hypotheses,
        rejections=rejections,
        stable=(StableGrasp(2, grasp.largest_force, 0.01),),
        advice="",
        seed=7,
        wall_s=1.25,
        cpu_s={"closing": 0.5},
        versions={"pliant": "0.1.0"},
    )


def _settled(
    task: Task, prepared: PreparedObject, pads: list[PadSurface], q: np.ndarray, T_world_object: pin.SE3
) -> ContactState:
    poses = task.assembly.robot.poses([pad.name for pad in pads], q)
    return settle(prepared, pads, poses, T_world_object, load=weight_load(task.body, T_world_object))


def _state(
    task: Task, prepared: PreparedObject, pads, q, T_world_object: pin.SE3, time: float, phase: Phase
) -> HeldState:
    settled = _settled(task, prepared, pads, q, T_world_object)
    half = task.body.mass * GRAVITY / 2
    contacts = []
    for region in settled.regions:
        up = region.T_world_contact.rotation.T @ [0.0, 0.0, half]
        wanted = np.array([up[0], up[1], half / task.body.material.friction])
        contacts.append(planned_contact(task, region, q, settled.T_world_object, wanted))
    return held_state(task, prepared, settled, contacts, q, time, phase)
