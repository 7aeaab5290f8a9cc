"""Everyday things for tests of control and lab: pads close on a thing from above, the arm lifts, the arm moves.

No search: the palm stands over the object, one preshape closes until the weight is held with a reserve. Forces and
contact points come from the same contact model that the planner uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from made_plans.states import GRAVITY, contact_torques, pad_surface, planned_contact
from pliant.contact import ContactState, ContactStatus, PadSurface, PreparedObject, clearance, settle
from pliant.grasp import Contact, ContactSet, ForceSolver
from pliant.motion import InverseKinematics
from pliant.objects import Body, ContactLimits, Liquid, Material, make_shape
from pliant.planner import Goal, HeldState, Hypothesis, Phase, PlannedGrasp, Task, Trajectory
from pliant.robot import PALM_FRAME, load_assembly, tip_frame

TABLE = 0.4
PLACE = (0.95, 0.0)


@dataclass(frozen=True, eq=False)
class MadeTask:
    """A task and its plan."""

    task: Task
    grasp: PlannedGrasp


def make_body(name: str, *, young: float = 5e5, friction: float = 0.8, force: float = 15.0) -> Body:
    """Everyday things: ball, ring, block, roll, foam, bottle."""
    limits = ContactLimits(force, 4e5)
    soft = Material(young, 0.45, friction=friction)
    if name == "ball":
        return Body.from_mesh(make_shape("sphere", radius=0.03), soft, mass=0.1, limits=limits)
    if name == "ring":
        return Body.from_mesh(make_shape("torus", major=0.035, minor=0.015), soft, mass=0.17, limits=limits)
    if name == "block":
        return Body.from_mesh(make_shape("box", size=(0.05, 0.05, 0.05)), soft, mass=0.12, limits=limits)
    if name == "roll":
        shape = make_shape("cylinder", radius=0.025, height=0.07)
        return Body.from_mesh(shape, soft, mass=0.15, limits=limits)
    if name == "foam":
        material = Material(1.2e5, 0.3, friction=friction)
        return Body.from_mesh(make_shape("sphere", radius=0.032), material, mass=0.04, limits=limits)
    assert name == "bottle", name
    return Body.from_mesh(
        make_shape("bottle"),
        Material(2e9, 0.38, friction=0.6),
        mass=0.03,
        liquid=Liquid(2e-4, 1000.0, wall=0.0005),
        limits=limits,
    )


def make_task(body: Body, *, hand: str = "schunk_sdh2", goal: Goal | None = None, name: str = "handmade") -> Task:
    """The thing on a table before an FS020N."""
    assembly = load_assembly("kawasaki_fs020n", hand)
    table = make_shape("box", size=(0.6, 0.8, TABLE), edge=0.8).transformed(
        pin.SE3(np.eye(3), np.array([*PLACE, TABLE / 2]))
    )
    T = pin.SE3(np.eye(3), np.array([*PLACE, TABLE - float(body.mesh.bounds[0][2]) + 0.0004]))
    return Task(assembly, assembly.q_home, body, T, (table,), goal or Goal(lift=0.04), name=name)


def make_grasp(
    task: Task, *, preshape: str | None = None, backset: float = 0.02, height: float = 0.0, reserve: float = 1.4
) -> PlannedGrasp:
    """Close from above.

    Args:
        preshape: the first one if left out ("pinch" for the SDH2).
        backset: how far behind the finger tips the object's middle lies [m].
        height: of the grasp above the object's middle [m].
        reserve: planned forces over the smallest sufficient ones.
    """
    assembly, robot = task.assembly, task.assembly.robot
    assert assembly.hand is not None
    name = preshape or ("pinch" if assembly.hand.name == "schunk_sdh2" else assembly.hand.preshapes[0].name)
    shape = next(p for p in assembly.hand.preshapes if p.name == name)
    fingers = [f for f in assembly.hand.fingers if shape.fingers is None or f.name in shape.fingers]
    prepared = prepared_object(task.body)
    pads = [(finger.name, pad, pad_surface(assembly, pad, task.body)) for finger in fingers for pad in finger.pads]

    # The object's middle between the tips when they are as far apart as it is wide.
    low, high = task.body.mesh.bounds
    middle = 0.5 * (low + high) + np.array([0.0, 0.0, height])
    half = 0.5 * float(min(high[0] - low[0], high[1] - low[1]))
    shares = np.linspace(0.0, 1.0, 101)
    spread = []
    for share in shares:
        q = assembly.preshaped(task.q_start, shape, float(share))
        T_palm = robot.pose(PALM_FRAME, q)
        tips = np.array([T_palm.actInv(robot.pose(tip_frame(f.name), q)).translation for f in fingers])
        spread.append((tips.mean(axis=0), float(np.linalg.norm(tips - tips.mean(axis=0), axis=1).mean())))
    at = int(np.argmin([abs(radius - half) for _, radius in spread]))
    backset = min(backset, float(middle[2] - low[2]) - 0.005)  # the tips stay above the table
    p_palm_middle = spread[at][0] - np.array([0.0, 0.0, backset])
    T_world_palm = pin.SE3(
        pin.utils.rotate("x", np.pi), task.T_world_object.act(middle) - np.diag([1, -1, -1]) @ p_palm_middle
    )
    inverse = InverseKinematics(robot, PALM_FRAME)

    def arm(T: pin.SE3, seed: np.ndarray) -> np.ndarray:
        answer = inverse.solve(T, seed=seed)
        assert answer.found, f"the palm does not reach {T.translation}"
        return answer.q

    q_open = arm(T_world_palm, assembly.preshaped(task.q_start, shape, 0.0))

    def q_at(share: float) -> np.ndarray:
        return assembly.preshaped(q_open, shape, share)

    def poses(q: np.ndarray) -> list[pin.SE3]:
        return robot.poses([pad.link for _, pad, _ in pads], q)

    def gap(share: float) -> float:
        T = task.T_world_object
        return min(clearance(prepared, s, T.actInv(P)) for (_, _, s), P in zip(pads, poses(q_at(share)), strict=True))

    touch = _first_zero(gap)
    opened = max(0.0, touch - 0.25)  # no wider than need be: the way is simulated
    q_open = q_at(opened)
    weight = np.array([0.0, 0.0, -GRAVITY * task.body.mass])
    state, share = None, touch
    wanted: np.ndarray | None = None
    while state is None:
        share += 0.004
        assert share < 1.0, "nothing holds"
        found = _settled(task, prepared, [s for _, _, s in pads], poses(q_at(share)), weight)
        if found is None or len(found.regions) < 2:
            continue
        wanted = _wanted(found, task, weight)
        if wanted is not None and all(
            r.normal_force >= reserve * w[2] for r, w in zip(found.regions, wanted, strict=True)
        ):
            state = found
    assert wanted is not None
    q_grasp, q_touch = q_at(share), q_at(touch)

    T_lifted = pin.SE3(T_world_palm.rotation, T_world_palm.translation + np.array([0.0, 0.0, task.goal.lift]))
    way = [(Phase.APPROACH, task.q_start)]
    T_above = pin.SE3(T_world_palm.rotation, T_world_palm.translation + np.array([0.0, 0.0, 0.1]))
    way += [(Phase.APPROACH, arm(T_above, q_open)), (Phase.APPROACH, q_open)]
    way += [(Phase.CLOSE, q_at(opened + (touch - opened) * s)) for s in (0.25, 0.5, 0.75, 1.0)]
    way += [(Phase.SQUEEZE, q_at(touch + (share - touch) * s)) for s in (0.25, 0.5, 0.75, 1.0)]
    held = [(len(way) - 1, pin.SE3.Identity())]
    for s in (0.25, 0.5, 0.75, 1.0):
        T = pin.SE3(T_world_palm.rotation, T_world_palm.translation + np.array([0.0, 0.0, s * task.goal.lift]))
        way.append((Phase.LIFT, arm(T, q_grasp)))
    held.append((len(way) - 1, T_lifted * T_world_palm.inverse()))
    if task.goal.moves:
        centre = T_lifted * T_world_palm.inverse() * state.T_world_object
        p = centre.act(task.body.centre_of_mass())
        for k in range(1, task.goal.steps + 1):
            part = k / task.goal.steps
            R = pin.exp3(part * np.array(task.goal.rotation))
            shift = pin.SE3(R, p - R @ p + part * np.array(task.goal.translation))
            way.append((Phase.MOVE, arm(shift * T_lifted, way[-1][1])))
            held.append((len(way) - 1, shift * T_lifted * T_world_palm.inverse()))
    trajectory = _timed(task, way, dict(held), state)
    states = tuple(_held(task, state, wanted, trajectory, i, shift, weight) for i, shift in held)
    hypothesis = Hypothesis(
        0, task.T_world_object.actInv(T_world_palm), name, tuple(f.name for f in fingers), "by hand"
    )
    return PlannedGrasp(
        hypothesis,
        trajectory,
        states,
        q_open,
        q_touch,
        max(s.largest_force for s in states),
        max(s.largest_pressure for s in states),
        0.0,
        0.0,
        0.0,
        0.0,
    )


def made(
    name: str, *, hand: str = "schunk_sdh2", goal: Goal | None = None, young: float = 5e5, **options: float
) -> MadeTask:
    """Task and plan of one of the everyday things."""
    task = make_task(make_body(name, young=young), hand=hand, goal=goal, name=name)
    return MadeTask(task, make_grasp(task, **options))  # type: ignore[arg-type]


def prepared_object(body: Body) -> PreparedObject:
    """The contact model of a body."""
    m = body.material
    if body.liquid is not None:
        return PreparedObject.of(
            body.mesh, young=m.young, poisson=m.poisson, wall=body.liquid.wall, contents=body.liquid
        )
    return PreparedObject.of(body.mesh, young=m.young, poisson=m.poisson, model="halfspace")


def _first_zero(gap: object) -> float:
    low, high = 0.0, 1.0
    assert gap(low) > 0.0, "the open hand touches already"  # type: ignore[operator]
    for share in np.linspace(0.0, 1.0, 41)[1:]:
        if gap(float(share)) <= 0.0:  # type: ignore[operator]
            high = float(share)
            break
        low = float(share)
    for _ in range(25):
        at = 0.5 * (low + high)
        low, high = (at, high) if gap(at) > 0.0 else (low, at)  # type: ignore[operator]
    return high


def _settled(
    task: Task, prepared: PreparedObject, surfaces: list[PadSurface], Ts: list[pin.SE3], weight: np.ndarray
) -> ContactState | None:
    T = task.T_world_object
    arm = T.act(task.body.centre_of_mass()) - T.translation
    load = np.concatenate([weight, np.cross(arm, weight)])
    state = settle(prepared, surfaces, Ts, T, load=load)
    return state if state.status is ContactStatus.SETTLED else None


def _wanted(state: ContactState, task: Task, weight: np.ndarray) -> np.ndarray | None:
    contacts = ContactSet.of(
        [
            Contact(r.centre, r.normal, task.body.material.friction, stiffness=r.stiffness, radius=max(r.radius, 1e-4))
            for r in state.regions
        ]
    )
    centre = state.T_world_object.act(task.body.centre_of_mass())
    return ForceSolver(explain=False).solve(contacts, np.concatenate([weight, np.zeros(3)]), centre=centre).forces


def _timed(
    task: Task, way: list[tuple[Phase, np.ndarray]], shifts: dict[int, pin.SE3], state: ContactState
) -> Trajectory:
    speed = 0.4 * task.assembly.robot.velocity_limits
    acceleration = np.where(np.isfinite(task.assembly.acceleration_limits), task.assembly.acceleration_limits, 5.0)
    q = [way[0][1]]
    phases = [Phase.APPROACH]
    times = [0.0]
    poses = [task.T_world_object]
    for i, (phase, goal) in enumerate(way[1:], start=1):
        pace = {Phase.APPROACH: 1.0, Phase.CLOSE: 0.4, Phase.SQUEEZE: 0.1, Phase.LIFT: 0.2, Phase.MOVE: 0.2}[phase]
        way_to_go = np.abs(goal - q[-1])
        # From rest to rest with a cosine: peak speed pi/2 of the mean, peak acceleration pi^2/2 of way over time^2.
        least = max(
            float(np.max(0.5 * np.pi * way_to_go / (pace * speed))),
            float(np.max(np.sqrt(0.5 * np.pi**2 * way_to_go / acceleration))),
            0.1,
        )
        rest = phase is Phase.APPROACH
        steps = 12 if rest else 1
        start, began = q[-1], times[-1]
        for k in range(1, steps + 1):
            share = 0.5 - 0.5 * np.cos(np.pi * k / steps) if rest else k / steps
            q.append(start + share * (goal - start))
            times.append(began + least * k / steps)
            phases.append(phase)
            T = poses[-1]
            if phase is Phase.SQUEEZE:
                T = state.T_world_object
            elif phase in (Phase.LIFT, Phase.MOVE):
                T = shifts.get(i, _shift(task, way[i - 1][1], goal)) * state.T_world_object
                if i not in shifts:
                    T = _shift(task, task_grasp(way), goal) * state.T_world_object
            poses.append(T)
    table = np.array([[*T.translation, *_quaternion(T)] for T in poses])
    return Trajectory(np.array(times), np.array(q), tuple(phases), table)


def task_grasp(way: list[tuple[Phase, np.ndarray]]) -> np.ndarray:
    """Joints at the end of the squeeze."""
    return [q for phase, q in way if phase is Phase.SQUEEZE][-1]


def _shift(task: Task, q_from: np.ndarray, q_to: np.ndarray) -> pin.SE3:
    robot = task.assembly.robot
    return robot.pose(PALM_FRAME, q_to) * robot.pose(PALM_FRAME, q_from).inverse()


def _quaternion(T: pin.SE3) -> list[float]:
    q = pin.Quaternion(T.rotation)
    return [q.w, q.x, q.y, q.z]


def _held(
    task: Task,
    state: ContactState,
    wanted: np.ndarray,
    trajectory: Trajectory,
    point: int,
    shift: pin.SE3,
    weight: np.ndarray,
) -> HeldState:
    row = 2 * 11 + point  # the two stretches of the approach have twelve points each
    q = trajectory.q[row]
    T_world_object = shift * state.T_world_object
    contacts = [
        planned_contact(task, region, q, T_world_object, want, shift)
        for region, want in zip(state.regions, wanted, strict=True)
    ]
    up = T_world_object.rotation.T @ np.array([0.0, 0.0, 1.0])
    centre = T_world_object.act(task.body.centre_of_mass(up))
    return HeldState(
        float(trajectory.times[row]),
        trajectory.phases[row],
        q,
        T_world_object,
        tuple(contacts),
        centre,
        centre,
        np.concatenate([weight, np.zeros(3)]),
        contact_torques(task, q, T_world_object, contacts),
        1.0 / 1.4,
        np.zeros((len(task.body.mesh.vertices), 3), dtype=np.float32),
        0.0,
    )
