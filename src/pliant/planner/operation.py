"""From a stable grasp to a whole operation: lift, move, the way there, times; or why it cannot be. (theory 8.5-8.7)"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.contact import volume_change
from pliant.grasp import joint_range
from pliant.motion import JointLimits, time_path
from pliant.planner.approach import ArmPath, approach_path, free_along, lift_path, path_length, smooth_motion
from pliant.planner.context import PlanningContext
from pliant.planner.depth_search import Failure
from pliant.planner.idle_links import idle_touch
from pliant.planner.manipulation import Step, manipulate
from pliant.planner.pressing import Held
from pliant.planner.results import HeldState, Phase, PlannedContact, PlannedGrasp, Rejection, Stage, Trajectory
from pliant.planner.stability import HeldGrasp, joint_torques

GENTLE = 0.3
"""Part of the speed with which fingers close, press and move the object."""
CALM = 0.5
"""Part of the margin against slipping that the inertia of the moved object may take."""
LEAST_CALM = 0.02
""".. and where there is no margin, this part of gravity."""
SQUEEZING = 0.5
"""Shortest time of the squeeze [s]: forces are felt with a delay."""
WORTH_RISING = 5e-4
"""An object that is not to be lifted, but sags by more than this between the pads, is brought back to its place [m]."""
CLEAR_OF_SUPPORT = 1.9e-3
"""Lifted by this much it touches nothing any more [m]; a squeeze that turns it presses it into what it lies on."""
POINTS = 16
"""Trajectory points of a straight finger motion."""


def complete(context: PlanningContext, grasp: HeldGrasp) -> PlannedGrasp | Rejection:
    """Stages 5 to 7 for a stable grasp."""

    def no(stage: Stage, failure: Failure) -> Rejection:
        return Rejection(
            grasp.hypothesis.number, stage, failure.reason, float(failure.margin), failure.unit, failure.detail
        )

    goal = context.task.goal
    q_held = grasp.held.q
    # the object sags a little between the pads when its support is gone: the hand rises by that much more
    sag = max(float(context.task.T_world_object.translation[2] - grasp.held.state.T_world_object.translation[2]), 0.0)
    rise = goal.lift + sag if goal.lift > 0.0 or sag > WORTH_RISING else 0.0
    lift = lift_path(context, q_held, grasp.T_world_palm, rise)
    if isinstance(lift, Failure):
        return no(Stage.APPROACH, lift)
    squeeze = _between(grasp.q_touch, q_held)
    close = _between(grasp.q_open, grasp.q_touch)
    if not free_along(np.vstack([close[[0, -1]], squeeze[-1:]]), context.surroundings):
        return no(Stage.APPROACH, Failure("closing fingers hit something", 0.0, "m"))
    up = pin.SE3(np.eye(3), np.array([0.0, 0.0, rise]))
    lifted = Step(up * grasp.T_world_palm, lift[-1], _moved(grasp.held, lift[-1], up))
    if (hit := _object_hits(context, lifted.held.state.T_world_object)) is not None:
        return no(Stage.MANIPULATION, Failure("the object hits something", 0.0, "m", hit))
    if (hit := pressed_into(context, grasp.held.state.T_world_object)) is not None:
        return no(Stage.MANIPULATION, Failure("the squeeze turns the object into something", 0.0, "m", hit))
    steps = manipulate(context, grasp, lifted)
    if isinstance(steps, tuple):
        return no(*steps)
    for step in steps:
        if (hit := _object_hits(context, step.held.state.T_world_object)) is not None:
            return no(Stage.MANIPULATION, Failure("the object hits something", 0.0, "m", hit))
    if steps and not free_along(np.array([lift[-1], *(step.q for step in steps)]), context.surroundings):
        return no(Stage.MANIPULATION, Failure("hits something", 0.0, "m", "between two steps"))
    way = approach_path(context, grasp.q_open, grasp.T_world_palm)
    if isinstance(way, Failure):
        return no(Stage.APPROACH, way)
    whole = _assembled(context, grasp, way, close, squeeze, lift, lifted, steps)
    if (brushed := idle_touch(context, whole)) is not None:
        return no(Stage.MANIPULATION, brushed)
    return whole


def _assembled(
    context: PlanningContext,
    grasp: HeldGrasp,
    way: ArmPath,
    close: Floats,
    squeeze: Floats,
    lift: Floats,
    lifted: Step,
    steps: list[Step],
) -> PlannedGrasp:
    limits = context.limits
    gentle = replace(limits, speed=GENTLE * limits.speed, acceleration=GENTLE * limits.acceleration)
    timed = _TrajectoryBuilder(context.task.q_start, context.task.T_world_object, _reach(context))
    rest = context.task.T_world_object
    times, points = time_path(way.corners, limits, dt=0.05)
    timed.add(Phase.APPROACH, times, points, [rest] * len(points))
    timed.dense(Phase.APPROACH, way.dense, gentle, [rest] * len(way.dense))
    timed.dense(Phase.CLOSE, close, gentle, [rest] * len(close))
    held_at, lifted_at = grasp.held.state.T_world_object, lifted.held.state.T_world_object
    timed.dense(Phase.SQUEEZE, squeeze, gentle, _even(rest, held_at, len(squeeze)), least=SQUEEZING)
    states = [_state(context, grasp.held, timed.now, Phase.SQUEEZE)]
    calm = GRAVITY * max(CALM * context.task.options.margin, LEAST_CALM)
    timed.dense(Phase.LIFT, lift, gentle, _even(held_at, lifted_at, len(lift)), acceleration=calm)
    states.append(_state(context, lifted.held, timed.now, Phase.LIFT))
    if steps:
        begin = timed.now
        path = np.array([lift[-1], *(step.q for step in steps)])
        poses = [lifted_at, *(step.held.state.T_world_object for step in steps)]
        moments = timed.dense(Phase.MOVE, path, gentle, poses, acceleration=calm)
        states += [
            _state(context, step.held, begin + float(t), Phase.MOVE) for step, t in zip(steps, moments[1:], strict=True)
        ]
    trajectory = timed.trajectory()
    held_part = np.array([state.q for state in states])
    hand = context.assembly.hand_joints
    warnings = {w for region in grasp.held.state.regions for w in region.warnings} | set(grasp.held.state.warnings)
    return PlannedGrasp(
        hypothesis=grasp.hypothesis,
        trajectory=trajectory,
        states=tuple(states),
        q_pregrasp=grasp.q_open,
        q_touch=grasp.q_touch,
        largest_force=max(state.largest_force for state in states),
        largest_pressure=max(state.largest_pressure for state in states),
        com_shift=float(np.linalg.norm(grasp.held.centre - grasp.held.centre_at_rest)),
        joint_range=joint_range(held_part[:, hand], context.robot.lower[hand], context.robot.upper[hand]),
        arm_path=path_length(context, way.points),
        epsilon=grasp.epsilon,
        slack=float(np.linalg.norm(grasp.held.state.residual[:3])),
        warnings=tuple(sorted(warnings)),
    )


@dataclass
class _TrajectoryBuilder:
    """A trajectory in the making.

    Args:
        q_start, T_start: where it begins.
        reach: the object's furthest point from its origin [m]: what turns is carried as far as that.
    """

    q_start: Floats
    T_start: pin.SE3
    reach: float

    def __post_init__(self) -> None:
        self.now = 0.0
        self._times: list[float] = [0.0]
        self._q: list[Floats] = [self.q_start]
        self._phases = [Phase.APPROACH]
        self._poses = [_numbers(self.T_start)]

    def add(self, phase: Phase, times: Floats, points: Floats, poses: list[pin.SE3]) -> None:
        """Append all but the first point, which is where the timeline ends now."""
        for t, q, T in zip(times[1:], points[1:], poses[1:], strict=True):
            self._times.append(self.now + float(t))
            self._q.append(q)
            self._phases.append(phase)
            self._poses.append(_numbers(T))
        self.now = self._times[-1]

    def dense(
        self,
        phase: Phase,
        path: Floats,
        limits: JointLimits,
        poses: list[pin.SE3],
        *,
        least: float = 0.2,
        acceleration: float = np.inf,
    ) -> Floats:
        """A dense path at rest at both ends with the object's poses on it.

        Returns:
            Times of the path's points since its beginning [s].
        """
        if len(path) < 2:
            return np.zeros(len(path))
        arms = self.reach * np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
        carried = np.array([arms @ T.rotation.T + T.translation for T in poses])
        motion = smooth_motion(path, limits, least=least, carried=carried, acceleration=acceleration)
        # between points at a joint's limit the spline may bulge by a hair
        q = np.clip(motion.along(path), limits.lower, limits.upper)
        self.add(phase, motion.times, q, motion.poses(poses))
        return motion.knots

    def trajectory(self) -> Trajectory:
        return Trajectory(np.array(self._times), np.array(self._q), tuple(self._phases), np.array(self._poses))


def _reach(context: PlanningContext) -> float:
    """The furthest point of the object from its origin [m]."""
    return float(np.linalg.norm(context.body.mesh.vertices, axis=1).max())


def _even(start: pin.SE3, end: pin.SE3, count: int) -> list[pin.SE3]:
    """Poses evenly from one to the other."""
    return [pin.SE3.Interpolate(start, end, float(s)) for s in np.linspace(0.0, 1.0, count)]


def _numbers(T: pin.SE3) -> Floats:
    x, y, z, w = pin.Quaternion(T.rotation).coeffs()
    sign = 1.0 if w >= 0.0 else -1.0
    return np.array([*T.translation, sign * w, sign * x, sign * y, sign * z])


def _between(a: Floats, b: Floats) -> Floats:
    return np.asarray(a + np.linspace(0.0, 1.0, POINTS)[:, None] * (b - a))


def _moved(held: Held, q: Floats, T: pin.SE3) -> Held:
    """The same held object carried elsewhere by a pure translation: nothing else changes."""
    shift = T.translation
    regions = tuple(
        replace(region, T_world_contact=T * region.T_world_contact, p_world_cells=region.p_world_cells + shift)
        for region in held.state.regions
    )
    state = replace(held.state, regions=regions, T_world_object=T * held.state.T_world_object)
    contacts = replace(held.contacts, points=held.contacts.points + shift)
    return replace(
        held,
        q=q,
        state=state,
        contacts=contacts,
        centre=held.centre + shift,
        centre_at_rest=held.centre_at_rest + shift,
        level=None if held.level is None else held.level + float(shift[2]),
    )


def pressed_into(context: PlanningContext, T_world_object: pin.SE3) -> str | None:
    """What an object, squeezed to this pose and just lifted, still overlaps; None if nothing or if it is not lifted."""
    if context.task.goal.lift <= CLEAR_OF_SUPPORT:
        return None
    off = pin.SE3(T_world_object)
    off.translation[2] = context.task.T_world_object.translation[2] + CLEAR_OF_SUPPORT
    return _object_hits(context, off)


def _object_hits(context: PlanningContext, T_world_object: pin.SE3) -> str | None:
    """The obstacle that the object (undeformed) overlaps, if any."""
    import coal

    request, result = coal.CollisionRequest(), coal.CollisionResult()
    T = coal.Transform3s(T_world_object.rotation, T_world_object.translation)
    for obstacle in context.obstacles:
        result.clear()
        place = obstacle.T_world_obstacle
        pose = coal.Transform3s(place.rotation, place.translation)
        if coal.collide(context.object_triangles, T, obstacle.geometry, pose, request, result):
            return obstacle.name
    return None


def _state(context: PlanningContext, held: Held, time: float, phase: Phase) -> HeldState:
    T = held.state.T_world_object
    poses = context.robot.poses([link.name for link in held.links], held.q)
    assert held.wanted.forces is not None
    contacts = []
    for k, (region, link, T_link) in enumerate(zip(held.state.regions, held.links, poses, strict=True)):
        contacts.append(
            PlannedContact(
                link=link.name,
                finger=link.finger,
                patch=region.patch,
                T_object_contact=T.actInv(region.T_world_contact),
                p_link=T_link.actInv(region.centre),
                force=np.array([*region.tangential_force, region.normal_force]),
                wanted=np.array(held.wanted.forces[k]),
                radius=region.radius,
                half_axes=np.array(region.half_axes),
                peak_pressure=region.peak_pressure,
                area=region.area,
                depth=region.depth,
                stiffness=np.diag(region.stiffness).copy(),
                friction=float(held.contacts.friction[k]),
                max_force=float(held.contacts.max_force[k]),
                p_object_cells=(region.p_world_cells - T.translation) @ T.rotation,
                pressures=np.array(region.pressures),
                cell_area=region.cell_area,
            )
        )
    return HeldState(
        time=time,
        phase=phase,
        q=held.q,
        T_world_object=T,
        contacts=tuple(contacts),
        centre_of_mass=held.centre,
        centre_at_rest=held.centre_at_rest,
        load=held.load,
        torques=joint_torques(context, held.q, held),
        friction_usage=held.friction.usage,
        displacement=(held.vertices - context.body.mesh.vertices).astype(np.float32),
        volume_change=volume_change(context.prepared, held.state),
        liquid_level=held.level,
    )
