"""Times for everything: from the parts of an operation to one trajectory with its held states.   (theory 8.7)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.contact import ContactRegion, pad_dent, volume_change
from pliant.grasp import joint_range
from pliant.motion import JointLimits, arm_then_fingers
from pliant.planner.approach import ApproachMethod, ApproachPath, path_length
from pliant.planner.commands import servo_commands
from pliant.planner.context import PlanningContext
from pliant.planner.hand_links import HandLink
from pliant.planner.manipulation import Lift, Step
from pliant.planner.pressing import Held
from pliant.planner.results import HeldState, Phase, PlannedContact, PlannedGrasp, Trajectory
from pliant.planner.stability import HeldGrasp, contact_torques, joint_torques

DENSE = 0.02
"""Largest time between two points of a smooth motion [s]: a player goes straight in between."""
GENTLE = 0.3
"""Part of the speed with which fingers close, press and move the object."""
CALM = 0.5
"""Part of the margin against slipping that the inertia of the moved object may take."""
LEAST_CALM = 0.02
""".. and where there is no margin, this part of gravity."""
FOLLOWED = 1.0
"""While the object is moved, a contact's planned force changes by no more than this part of itself in a second [1/s]: a
force loop takes some tenths of a second to follow."""
SQUEEZING = 0.5
"""Shortest time of the squeeze [s]: forces are measured with a delay."""
POINTS = 16
"""Trajectory points of a straight finger motion."""


@dataclass(frozen=True, eq=False)
class Operation:
    """A grasp with all its motions, not yet timed.

    Args:
        grasp: the stable grasp.
        approach: the path of arm and hand to where the fingers begin to close.
        close, squeeze: joints while the fingers close from there, then press; n x joints.
        lift: the lift.
        steps: of the move after it.
    """

    grasp: HeldGrasp
    approach: ApproachPath
    close: Floats
    squeeze: Floats
    lift: Lift
    steps: list[Step]


def planned_grasp(context: PlanningContext, operation: Operation) -> PlannedGrasp:
    """The operation in time, with the held object at the grasp, after the lift and at every step of the move."""
    grasp, path, close, squeeze = operation.grasp, operation.approach, operation.close, operation.squeeze
    lift, steps = operation.lift, operation.steps
    limits = context.limits
    gentle = replace(limits, speed=GENTLE * limits.speed, acceleration=GENTLE * limits.acceleration)
    rest = context.task.T_world_object
    furthest = float(np.linalg.norm(context.body.mesh.vertices, axis=1).max())
    timed = _TrajectoryBuilder(context.task.q_start, rest, furthest)
    times, points = path.timed_corners(limits)
    timed.add(Phase.APPROACH, times, points, [rest] * len(points))
    timed.dense(Phase.APPROACH, path.dense, gentle, [rest] * len(path.dense))
    arrived = timed.now
    timed.dense(Phase.CLOSE, close, gentle, [rest] * len(close))
    touched = timed.now
    held_at, lifted_at = grasp.held.state.T_world_object, lift.end.held.state.T_world_object
    timed.dense(Phase.SQUEEZE, squeeze, gentle, _even(rest, held_at, len(squeeze)), least=SQUEEZING)
    states = [_state(context, grasp.held, timed.now, Phase.SQUEEZE)]
    calm = GRAVITY * max(CALM * context.task.options.margin, LEAST_CALM)
    timed.dense(Phase.LIFT, lift.path, gentle, _even(held_at, lifted_at, len(lift.path)), acceleration=calm)
    states.append(_state(context, lift.end.held, timed.now, Phase.LIFT))
    if steps:
        begin = timed.now
        moved = np.array([lift.path[-1], *(step.q for step in steps)])
        poses = [lifted_at, *(step.held.state.T_world_object for step in steps)]
        least = max(0.2, _followed([lift.end.held, *(step.held for step in steps)]))
        moments = timed.dense(Phase.MOVE, moved, gentle, poses, least=least, acceleration=calm)
        states += [
            _state(context, step.held, begin + float(t), Phase.MOVE) for step, t in zip(steps, moments[1:], strict=True)
        ]
    helds = [grasp.held, lift.end.held, *(step.held for step in steps)]
    commands, unknown = servo_commands(
        context.assembly, timed.trajectory(), states, [contact_torques(context, held) for held in helds]
    )
    trajectory = replace(timed.trajectory(), commands=commands)
    held_part = np.array([state.q for state in states])
    hand = context.assembly.hand_joints
    everywhere = [grasp.held, *(step.held for step in steps)]
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
        arm_path=path_length(context, path.points),
        epsilon=grasp.epsilon,
        slack=float(np.linalg.norm(grasp.held.state.residual[:3])),
        warnings=(*sorted(warnings), *unknown),
        reserve=context.presser.wanted.reserve,
        nominal_force=max(context.presser.nominal_force(held) for held in everywhere),
        grasp_singular_value=min(float(held.ranks.grasp[-1]) for held in everywhere),
        hand_singular_value=min(float(held.ranks.hand[-1]) for held in everywhere),
        approach_s=touched,
        sequential_s=_arm_then_fingers(context, path, gentle) + touched - arrived,
        approach_way=path.description,
    )


def _followed(helds: Sequence[Held]) -> float:
    """Shortest duration of a move in which no force changes faster than a force loop follows [s].

    From smooth motion: the path parameter, one for every step, goes by at most 2 (n - 1) / T. Changes are taken over
    two steps, since each step's forces are only close to the wanted ones.
    """
    fastest = 0.0
    for before, after in zip(helds, helds[2:], strict=False):
        if [link.name for link in before.links] == [link.name for link in after.links]:
            change = 0.5 * np.abs(after.normal_forces - before.normal_forces)
            fastest = max(fastest, float((change / np.minimum(before.normal_forces, after.normal_forces)).max()))
    return 2.0 * (len(helds) - 1) * fastest / FOLLOWED


def _arm_then_fingers(context: PlanningContext, path: ApproachPath, gentle: JointLimits) -> float:
    """Duration of the arm with fixed fingers, then the fingers, to the end of the approach [s].   (theory 5.6)

    Beside a hand-arm approach the arm goes straight in joint space; else it takes the same path.
    """
    points = path.points
    if path.method is ApproachMethod.HAND_ARM:
        return float(arm_then_fingers(context.assembly, points[[0, -1]], context.limits)[0][-1])
    corners, dense, hand = path.corners.copy(), path.dense.copy(), context.assembly.hand_joints
    corners[:, hand] = dense[:, hand] = points[0, hand]
    fingers = np.array([dense[-1], points[-1]])
    slow = smooth_motion(dense, gentle).times
    last = arm_then_fingers(context.assembly, fingers, context.limits)[0][-1]
    return float(arm_then_fingers(context.assembly, corners, context.limits)[0][-1] + slow[-1] + last)


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
        # between points at a joint's limit the spline may overshoot a little
        q = np.clip(motion.along(path), limits.lower, limits.upper)
        self.add(phase, motion.times, q, motion.poses(poses))
        return motion.knots

    def trajectory(self) -> Trajectory:
        return Trajectory(np.array(self._times), np.array(self._q), tuple(self._phases), np.array(self._poses))


def _even(start: pin.SE3, end: pin.SE3, count: int) -> list[pin.SE3]:
    """Poses evenly from one to the other."""
    return [pin.SE3.Interpolate(start, end, float(s)) for s in np.linspace(0.0, 1.0, count)]


def _numbers(T: pin.SE3) -> Floats:
    x, y, z, w = pin.Quaternion(T.rotation).coeffs()
    sign = 1.0 if w >= 0.0 else -1.0
    return np.array([*T.translation, sign * w, sign * x, sign * y, sign * z])


def straight(a: Floats, b: Floats) -> Floats:
    """Joints evenly from one vector to another."""
    return np.asarray(a + np.linspace(0.0, 1.0, POINTS)[:, None] * (b - a))


@dataclass(frozen=True, eq=False)
class SmoothMotion:
    """A dense path in time, at rest at both ends: s = t/T - sin(2 pi t/T) / (2 pi).

    Attributes:
        knots: times of the path's points [s].
        times: times of all points, the knots among them, never further apart than ``DENSE`` [s].
        places: where along the path these are: 0 at its first point, n - 1 at its last.
    """

    knots: Floats
    times: Floats
    places: Floats

    def along(self, path: Floats) -> Floats:
        """The path (n x k) at all times: a cubic spline through its points."""
        if len(path) < 3:
            i = np.clip(self.places.astype(int), 0, max(len(path) - 2, 0))
            share = (self.places - i)[:, None]
            return np.asarray(path[i] + share * (path[np.minimum(i + 1, len(path) - 1)] - path[i]))
        return np.asarray(CubicSpline(np.arange(len(path)), path)(self.places))

    def poses(self, poses: Sequence[pin.SE3]) -> list[pin.SE3]:
        """The same for poses, with angular speed and acceleration continuous; turns of any size."""
        turns = RotationSpline(np.arange(len(poses)), Rotation.from_matrix([T.rotation for T in poses]))(self.places)
        places = self.along(np.array([T.translation for T in poses]))
        return [pin.SE3(R, p) for R, p in zip(turns.as_matrix(), places, strict=True)]


def smooth_motion(
    path: Floats,
    limits: JointLimits,
    *,
    least: float = 0.2,
    carried: Floats | None = None,
    acceleration: float = np.inf,
) -> SmoothMotion:
    """Times for a dense path (n x joints) within speed and acceleration limits.

    Args:
        least: shortest duration [s].
        carried: n x k x 3 places of points that may not be accelerated by more than ``acceleration`` [m, m/s^2].
    """
    n = len(path)
    if n < 2:
        return SmoothMotion(np.zeros(n), np.zeros(n), np.zeros(n))
    slope, bend = _rates(path)
    # the path parameter's speed is at most 2/T, its acceleration 2 pi/T^2
    duration = max(
        least,
        float(np.max(2.0 * slope / limits.speed)),
        float(np.max(np.sqrt((2.0 * np.pi * slope + 4.0 * bend) / limits.acceleration))),
    )
    if carried is not None:
        slope, bend = _rates(carried.reshape(n, -1))
        push = np.linalg.norm((2.0 * np.pi * slope + 4.0 * bend).reshape(-1, 3), axis=1)
        duration = max(duration, float(np.sqrt(push.max() / acceleration)))
    tau = np.linspace(0.0, 1.0, 4001)
    law = tau - np.sin(2.0 * np.pi * tau) / (2.0 * np.pi)
    knots = np.interp(np.linspace(0.0, 1.0, n), law, tau) * duration
    even = np.linspace(0.0, duration, int(np.ceil(1.25 * duration / DENSE)) + 1)
    apart = np.abs(even[:, None] - knots[None, :]).min(axis=1) > 0.2 * DENSE
    times = np.sort(np.concatenate([knots, even[apart]]))
    return SmoothMotion(knots, times, np.interp(times, tau * duration, law * (n - 1)))


def _rates(path: Floats) -> tuple[Floats, Floats]:
    """Largest first and second derivative of a path by its parameter (0 to 1), component by component."""
    n = len(path)
    first = np.diff(path, axis=0) * (n - 1)
    second = np.diff(first, axis=0) * (n - 1) if n > 2 else np.zeros((1, path.shape[1]))
    return np.abs(first).max(axis=0), np.abs(second).max(axis=0)


def _pad_depth(region: ContactRegion, link: HandLink) -> float:
    """How far the link's pad is pressed in at the deepest cell [m]."""
    compliance = link.surface.compliance
    if compliance == 0.0 or not len(region.pressures):
        return 0.0
    T = region.T_world_contact
    xy = ((region.p_world_cells - T.translation) @ T.rotation)[:, :2]
    return float(pad_dent(xy, region.pressures, region.cell_area, compliance).depths.max())


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
                pad_depth=_pad_depth(region, link),
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
        torques=joint_torques(context, held),
        friction_usage=held.friction.usage,
        displacement=(held.vertices - context.body.mesh.vertices).astype(np.float32),
        volume_change=volume_change(context.prepared, held.state),
        liquid_level=held.level,
    )
