"""Changes of a task that may let a grasp through: fields of the task file with values from mild to strong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import distance
from pliant.planner.context import KEEP_OUT, PlanningContext
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.reasons import Reason
from pliant.planner.task import Carrier, Push, Task
from pliant.robot import PALM_FRAME, HandDescription, Pad

RAISED = np.geomspace(1.1, 150.0, 28)
"""Factors on a limit."""
LOWERED = np.geomspace(0.9, 0.005, 28)
"""Factors on a load."""
SHARES = np.linspace(0.95, 0.05, 19)
"""Parts of a lift or a move."""
STICKIEST = 1.5
"""No surface has more friction than this."""
NEARER = 0.05
"""Steps in which the robot's base comes nearer to the object, or goes further away [m]."""
STANDS = np.arange(0.02, 0.31, 0.02)
"""Heights of a stand under the object [m]."""
LARGER_PADS = np.array([2e-3, 4e-3, 6e-3, 0.01, 0.015, 0.02, 0.03, 0.04])
"""What a pad's region may reach further [m]."""
SUPPORTS = 5e-3
"""What is nearer than this below the object carries it [m]."""

TOO_WEAK = frozenset(
    {
        Reason.NO_FORCES,
        Reason.NEEDS_MORE_FORCE,
        Reason.FORCE_LIMIT,
        Reason.FORCE_TOO_SMALL,
        Reason.FRICTION_UNBALANCED,
        Reason.SLIPS,
        Reason.NEVER_HELD,
    }
)
NOT_HELD = TOO_WEAK | {
    Reason.TORQUE_LIMIT,
    Reason.CANNOT_COMMAND,
    Reason.PUSHED_AWAY,
    Reason.NO_REST,
    Reason.PRESSED_TOO_HARD,
    Reason.PRESSURE_LIMIT,
}
NOT_MOVED = frozenset(
    {Reason.FINGERS_FALL_SHORT, Reason.ARM_FALLS_SHORT, Reason.LEAVES_PATH, Reason.MOVE_HITS, Reason.IDLE_LINK_TOUCHES}
)
HITS = frozenset(
    {
        Reason.OPEN_HAND_HITS,
        Reason.CLOSING_HITS,
        Reason.LIFT_HITS,
        Reason.MOVE_HITS,
        Reason.OBJECT_HITS,
        Reason.NO_FREE_PATH,
    }
)


class Variant(NamedTuple):
    """A changed task, and the change as the task file has it."""

    task: Task
    setting: str


@dataclass(frozen=True)
class Change:
    """A field that may be changed.

    Args:
        reasons: hypotheses that are rejected for these may pass once it is.
        variants: changed tasks, each further changed than the one before; none where the field does not apply.
    """

    reasons: frozenset[Reason]
    variants: Callable[[PlanningContext, Sequence[Hypothesis]], list[Variant]]


def rounded(value: float) -> float:
    """A value as it is written: what is tried is what is advised."""
    return float(f"{value:.3g}")


def _field(name: str, before: float, values: Floats, changed: Callable[[float], Task]) -> list[Variant]:
    """Variants of a field that is a number."""
    numbers = [rounded(float(value)) for value in values]
    return [Variant(changed(value), f"{name}: {value:g} (now {before:.6g})") for value in numbers]


def _force(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, limits = context.task, context.task.body.limits
    if limits.force is None:
        return []

    def changed(value: float) -> Task:
        return replace(task, body=replace(task.body, limits=replace(limits, force=value)))

    return _field("object.limits.force", limits.force, RAISED * limits.force, changed)


def _pressure(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, limits = context.task, context.task.body.limits
    present = context.presser.largest_pressure

    def changed(value: float) -> Task:
        return replace(task, body=replace(task.body, limits=replace(limits, pressure=value)))

    return _field("object.limits.pressure", present, RAISED * present, changed)


def _pushes(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, pushes = context.task, context.task.goal.disturbances

    def scaled(push: Push, share: float) -> Push:
        def less(values: tuple[float, float, float]) -> tuple[float, float, float]:
            x, y, z = (rounded(share * value) for value in values)
            return x, y, z

        return Push(less(push.force), less(push.torque), rounded(share * push.any_force))

    def words(push: Push) -> str:
        if push.any_force:
            return f"{{any_force: {push.any_force:g}}}"
        return f"{{force: {list(push.force)}, torque: {list(push.torque)}}}"

    variants = []
    for share in LOWERED if pushes else ():
        less = tuple(scaled(push, float(share)) for push in pushes)
        listed, before = (", ".join(words(push) for push in those) for those in (less, pushes))
        changed = replace(task, goal=replace(task.goal, disturbances=less))
        variants.append(Variant(changed, f"task.disturbances: [{listed}] (now [{before}])"))
    return variants


def _friction(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, material = context.task, context.task.body.material
    if material.friction >= STICKIEST / RAISED[0] or material.friction <= 0.0:
        return []

    def changed(value: float) -> Task:
        return replace(task, body=replace(task.body, material=replace(material, friction=value)))

    values = np.geomspace(RAISED[0] * material.friction, STICKIEST, 20)
    return _field("object.material.friction", material.friction, values, changed)


def _mass(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, body = context.task, context.task.body
    if body.liquid is not None:
        return []

    def changed(value: float) -> Task:
        return replace(task, body=replace(body, dry_mass=value))

    return _field("object.mass", body.dry_mass, LOWERED * body.dry_mass, changed)


def _lift(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, height = context.task, context.task.goal.lift
    if height <= 0.0:
        return []
    return _field("task.lift", height, SHARES * height, lambda v: replace(task, goal=replace(task.goal, lift=v)))


def _move(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, goal = context.task, context.task.goal
    angle, way = float(np.linalg.norm(goal.rotation)), np.array(goal.translation)
    variants = []
    for share in SHARES if goal.moves else ():
        degrees, shift = rounded(float(share * np.degrees(angle))), [rounded(float(s)) for s in share * way]
        turn = np.array(goal.rotation) * (np.radians(degrees) / angle if angle else 0.0)
        less = replace(goal, translation=(shift[0], shift[1], shift[2]), rotation=(turn[0], turn[1], turn[2]))
        words = [f"task.move.rotate.angle_deg: {degrees:g} (now {np.degrees(angle):.3g})"] if angle else []
        words += [f"task.move.translate: {shift} (now {way.tolist()})"] if way.any() else []
        variants.append(Variant(replace(task, goal=less), " and ".join(words)))
    return variants


def _carrier(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, goal = context.task, context.task.goal
    order = [Carrier.FINGERS, Carrier.BOTH, Carrier.ARM]
    others = order[order.index(goal.by) + 1 :] if goal.moves else []
    return [
        Variant(replace(task, goal=replace(goal, by=by)), f"task.by: {by.value} (now {goal.by.value})") for by in others
    ]


def _base(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    """The robot's base elsewhere on the floor, until the object is as far from it as the palm is at home."""
    task, robot = context.task, context.robot
    T = robot.T_world_base
    palm = robot.pose(PALM_FRAME, context.assembly.q_home).translation
    away = (task.T_world_object.translation - T.translation) * (1.0, 1.0, 0.0)
    far = float(np.linalg.norm(away))
    change = far - float(np.linalg.norm((palm - T.translation)[:2]))
    variants = []
    for step in np.arange(NEARER, abs(change), NEARER) if far > 0.0 else ():
        p = [rounded(float(x)) for x in T.translation + np.sign(change) * step / far * away]
        assembly = task.assembly.at(pin.SE3(T.rotation, np.array(p)))
        before = [rounded(float(x)) for x in T.translation]
        variants.append(Variant(replace(task, assembly=assembly), f"robot.base.position: {p} (now {before})"))
    return variants


def _supports(context: PlanningContext) -> list[bool]:
    """Which obstacles carry the object."""
    task = context.task
    lowest = float((task.body.mesh.vertices @ task.T_world_object.rotation.T)[:, 2].min())
    lowest += float(task.T_world_object.translation[2])
    return [
        mesh.bounds[1, 2] < lowest + SUPPORTS
        and distance(context.object_triangles, task.T_world_object, other.geometry, other.T_world_obstacle) < SUPPORTS
        for mesh, other in zip(task.scene, context.obstacles, strict=True)
    ]


def _obstacles(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    """Without the obstacle that most open hands hit, then also without the next; what carries the object stays."""
    task, hand = context.task, context.hand
    hits = np.zeros(len(task.scene))
    for hypothesis in lost:
        preshape = hand.preshape(hypothesis.preshape)
        start = hand.q_open(preshape, hypothesis.posture)
        q = hand.at_opening(start, hand.groups(preshape, hypothesis.fingers), hypothesis.opening)
        poses = hand.poses(q, task.T_world_object * hypothesis.T_object_palm)
        hits[list(context.obstacles_near(poses, KEEP_OUT))] += 1
    order = [i for i in np.argsort(-hits, kind="stable").tolist() if not _supports(context)[i]]
    variants = []
    for count in range(1, len(order) + 1):
        gone = sorted(order[:count])
        left = tuple(mesh for i, mesh in enumerate(task.scene) if i not in gone)
        listed = ", ".join(f"scene[{i}] ({task.scene[i].name or 'mesh'})" for i in gone)
        variants.append(Variant(replace(task, scene=left), f"scene: without {listed}"))
    return variants


def _stand(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, T = context.task, context.task.T_world_object
    variants = []
    for height in STANDS if any(_supports(context)) else ():
        p = [*T.translation[:2].tolist(), rounded(float(T.translation[2] + height))]
        raised = replace(task, T_world_object=pin.SE3(T.rotation, np.array(p)))
        words = f"object.pose.position: {[rounded(x) for x in p]} (a stand under it, {1e3 * height:.0f} mm high)"
        variants.append(Variant(raised, words))
    return variants


def larger_pads(hand: HandDescription, by: float) -> HandDescription:
    """The hand with pads whose regions reach further on every side [m]."""

    def larger(pad: Pad) -> Pad:
        if pad.region is None:
            return pad
        low, high = np.minimum(*pad.region) - by, np.maximum(*pad.region) + by
        return pad.model_copy(update={"region": (tuple(low.tolist()), tuple(high.tolist()))})

    fingers = [finger.model_copy(update={"pads": tuple(map(larger, finger.pads))}) for finger in hand.fingers]
    return hand.model_copy(update={"fingers": tuple(fingers)})


def _pads(context: PlanningContext, lost: Sequence[Hypothesis]) -> list[Variant]:
    task, hand = context.task, context.hand.description
    if all(pad.region is None for finger in hand.fingers for pad in finger.pads):
        return []
    return [
        Variant(
            replace(task, assembly=replace(task.assembly, hand=larger_pads(hand, float(by)))),
            f"fingers[].pads[].region {1e3 * by:g} mm larger on every side, in the hand's description",
        )
        for by in LARGER_PADS
    ]


CHANGES = (
    Change(TOO_WEAK, _force),
    Change(frozenset({Reason.PRESSURE_LIMIT}), _pressure),
    Change(NOT_HELD, _pushes),
    Change(NOT_HELD, _friction),
    Change(NOT_HELD, _mass),
    Change(frozenset({Reason.LIFT_OUT_OF_REACH, Reason.LIFT_HITS}), _lift),
    Change(NOT_MOVED, _move),
    Change(NOT_MOVED, _carrier),
    Change(frozenset({Reason.PALM_OUT_OF_REACH, Reason.LIFT_OUT_OF_REACH, Reason.ARM_FALLS_SHORT}), _base),
    Change(HITS, _obstacles),
    Change(frozenset({Reason.OPEN_HAND_HITS, Reason.CLOSING_HITS, Reason.PRESSED_INTO_SUPPORT}), _stand),
    Change(frozenset({Reason.BESIDE_PAD}), _pads),
)
"""In the order in which they are asked of a user where several help alike."""
