"""From a hypothesis to a stable grasp: place the open hand, close, press, judge.   (theory 8.1-8.4)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.contact import clearance, find_overlaps
from pliant.grasp import ContactSet, edge_wrenches, epsilon_l1
from pliant.planner.closing import Closing, close_hand, open_hand_gap
from pliant.planner.closing_hand import HandLink
from pliant.planner.context import KEEP_OUT, PlanningContext
from pliant.planner.depth_search import Failure
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.pressing import Held
from pliant.planner.results import Rejection, Stage

AT_OBJECT = 1e-3
"""What the open hand keeps away from the object [m]."""
ALLOWANCE = 1.15
"""How much more friction the first, quick test assumes: pressing turns the normals a little."""
BESIDE_PAD = 1.5e-3
"""How far outside its region a pad may be touched [m]."""
FACING = np.cos(np.radians(80.0))
"""A pad touches where its surface looks its way within this angle."""
AROUND = 2.5e-3
"""Tactile cells lie around a planned centre of pressure at least this far away [m]: objects lie a little elsewhere."""
ON_PAD = 0.5
"""Least share of a contact's force on the pad itself: what is beside it nobody feels."""
LARGEST_SHIFT = 0.02
"""A grasp that moves the object further than this while it closes is not the grasp that was asked for [m]."""


@dataclass(frozen=True, eq=False)
class HeldGrasp:
    """A stable grasp.

    Args:
        hypothesis: where it began.
        T_world_palm: the palm.
        q_open, q_touch: joints with the arm in place: open hand, first touches.
        held: the held object.
        epsilon: Ferrari-Canny quality (forces bounded one by one, torques over the contacts' reference length).
    """

    hypothesis: Hypothesis
    T_world_palm: pin.SE3
    q_open: Floats
    q_touch: Floats
    held: Held
    epsilon: float


def try_hypothesis(context: PlanningContext, hypothesis: Hypothesis) -> HeldGrasp | Rejection:
    """Stages 1 to 4 for one hypothesis, cheap tests first."""

    def no(stage: Stage, reason: str, margin: float, unit: str = "", detail: str = "") -> Rejection:
        return Rejection(hypothesis.number, stage, reason, float(margin), unit, detail)

    task, hand, prepared = context.task, context.hand, context.prepared
    preshape = hand.preshape(hypothesis.preshape)
    q_open = hand.q_open(preshape)
    for group in hand.groups(preshape, hypothesis.fingers):
        q_open = hand.with_closing(q_open, group, q_open, hypothesis.opening)
    gap, link = open_hand_gap(prepared, hand, q_open, hypothesis.T_object_palm, margin=AT_OBJECT)
    if gap < AT_OBJECT:
        return no(Stage.OPEN_HAND, "open hand inside the object", AT_OBJECT - gap, "m", link)
    T_world_palm = task.T_world_object * hypothesis.T_object_palm
    placed = _place_arm(context, T_world_palm, q_open)
    if isinstance(placed, Failure):
        stage = Stage.APPROACH if placed.reason == "palm out of the arm's reach" else Stage.OPEN_HAND
        return no(stage, placed.reason, placed.margin, placed.unit, placed.detail)
    closing = close_hand(
        prepared, hand, hypothesis.preshape, hypothesis.fingers, hypothesis.T_object_palm, opening=hypothesis.opening
    )
    bad = _bad_touch(context, closing)
    if bad is not None:
        return no(Stage.CLOSING, bad.reason, bad.margin, bad.unit, bad.detail)
    q_touch = context.q_with_arm(closing.q, placed)
    if (hit := context.surroundings.collision(q_touch, margin=0.0)) is not None:
        return no(Stage.CLOSING, "closing fingers hit something", 0.0, "m", f"{hit[0]} and {hit[1]}")
    held = _press(context, closing, placed, T_world_palm, hypothesis.T_object_palm)
    if isinstance(held, Failure):
        weak = ("force too small", "friction does not balance", "no forces hold the weight")
        stage = Stage.STABILITY if held.reason in weak else Stage.CONTACT
        return no(stage, held.reason, held.margin, held.unit, held.detail)
    broken = _unsound(context, held)
    if broken is not None:
        return no(Stage.STABILITY, broken.reason, broken.margin, broken.unit, broken.detail)
    epsilon = epsilon_l1(edge_wrenches(held.contacts, held.centre))
    return HeldGrasp(hypothesis, T_world_palm, context.q_with_arm(q_open, placed), q_touch, held, float(epsilon))


def _place_arm(context: PlanningContext, T_world_palm: pin.SE3, q_open: Floats) -> Floats | Failure:
    """Arm joints for a palm pose that keep clear of the surroundings; a few solutions are looked at."""
    seed = context.q_with_arm(q_open, context.task.q_start)
    rng = np.random.default_rng(0)
    failure = Failure("palm out of the arm's reach", np.inf)
    for attempt in range(3):
        found = context.ik.solve(T_world_palm, seed=seed, starts=20 if attempt == 0 else 4)
        if not found.found:
            if attempt == 0:
                return Failure("palm out of the arm's reach", found.error_m, "m")
            return failure
        q = context.q_with_arm(q_open, found.q)
        hit = context.surroundings.collision(q, margin=KEEP_OUT) or context.arm_beside_object.collision(q)
        if hit is None:
            return q
        failure = Failure("open hand or arm hits something", 0.0, "m", f"{hit[0]} and {hit[1]}")
        if hit[0] in {link.name for link in context.hand.links}:
            break  # another elbow does not move the hand
        seed = context.q_with_arm(q_open, context.robot.random_q(rng))
    return failure


def _bad_touch(context: PlanningContext, closing: Closing) -> Failure | None:
    touching = closing.touching
    fingers = {finger for touch in touching for finger in touch.group.fingers}
    if not touching or (len(touching) < 2 and len(fingers) < 2):
        return Failure("fewer than two fingers touch", float(len(touching)), "fingers")
    for touch in touching:
        link = context.hand.links[touch.link]
        if link.pad is None:
            return Failure("touches with a link that has no pad", 0.0, "", link.name)
    return None


def _press(
    context: PlanningContext, closing: Closing, q_arm: Floats, T_world_palm: pin.SE3, T_object_palm: pin.SE3
) -> Held | Failure:
    hand, presser = context.hand, context.presser
    touches = closing.touching
    rates = np.array([_normal_speed(context, closing, k, T_object_palm) for k in range(len(touches))])
    most = np.array([_room(context, closing, k) for k in range(len(touches))]) * rates

    def pose(depths: Floats) -> tuple[Floats, pin.SE3]:
        q = closing.q
        for touch, depth, rate in zip(touches, depths, rates, strict=True):
            assert touch.closed is not None
            q = hand.with_closing(q, touch.group, closing.q_zero, touch.closed + float(depth / rate))
        return context.q_with_arm(q, q_arm), T_world_palm

    def owner(link: HandLink) -> int:
        return next((k for k, touch in enumerate(touches) if link.finger in touch.group.fingers), -1)

    first = np.minimum(np.full(len(touches), presser.first_depth(len(touches))), most)
    hopeless = _hopeless(context, pose, np.minimum(np.maximum(first, 2e-4), most))
    if hopeless is not None:
        return hopeless
    deepest = np.minimum(most, 0.35 * context.prepared.surface.size)
    held = presser.hold(pose, first, deepest, context.task.T_world_object, owner)
    if isinstance(held, Held):
        moved = float(np.linalg.norm(held.state.motion[:3]))
        if moved > LARGEST_SHIFT:
            return Failure("pushed away", moved, "m", "the object would move while the fingers close")
    return held


def _hopeless(
    context: PlanningContext, pose: Callable[[Floats], tuple[Floats, pin.SE3]], depths: Floats
) -> Failure | None:
    """Whether no forces at the places of touch, with a little more friction than there is, could carry the weight."""
    presser, hand, T = context.presser, context.hand, context.task.T_world_object
    poses = hand.poses(*pose(depths))
    points, normals = [], []
    for i in presser.near(poses, T):
        for place in find_overlaps(context.prepared, hand.links[i].surface.surface, T.actInv(poses[i])):
            points.append(T.act(place.origin))
            normals.append(-T.rotation @ place.axes[2])
    if len(points) < 2:
        return Failure("fewer than two regions", float(len(points)), "regions")
    mu = ALLOWANCE * context.body.material.friction
    contacts = ContactSet.from_arrays(np.array(points), np.array(normals), friction=mu, radius=0.01)
    weight = np.array([0.0, 0.0, -presser.weight, 0.0, 0.0, 0.0])
    centre = T.act(context.body.centre_of_mass(T.rotation[2]))
    if not presser.solver.solve(contacts, weight, centre=centre).feasible:
        return Failure("no forces hold the weight", 1.0, "", "the directions of the touches do not allow it")
    return None


def _normal_speed(context: PlanningContext, closing: Closing, k: int, T_object_palm: pin.SE3) -> float:
    """How fast a group's gap closes at its touch, per unit of closing [m]."""
    touch, hand = closing.touching[k], context.hand
    assert touch.closed is not None
    step = 3e-4 / touch.group.speed
    q = hand.with_closing(closing.q, touch.group, closing.q_zero, touch.closed - step)
    T = hand.poses(q, T_object_palm)[touch.link]
    gap = clearance(context.prepared, hand.links[touch.link].surface, T)
    return float(np.clip(gap / step, 0.02 * touch.group.speed, touch.group.speed))


def _room(context: PlanningContext, closing: Closing, k: int) -> float:
    """How much further a group can close before its first joint reaches a limit; at most half of its travel."""
    touch = closing.touching[k]
    group, robot = touch.group, context.robot
    q = closing.q[group.joints]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(group.travel > 0, robot.upper[group.joints] - q, q - robot.lower[group.joints])
        share = np.where(group.travel != 0.0, room / np.abs(group.travel), np.inf)
    return float(np.clip(share.min(), 1e-6, 0.5))


def _unsound(context: PlanningContext, held: Held) -> Failure | None:
    """Contacts beside the pads, or torques above what the joints can bear."""
    poses = dict(zip([link.name for link in context.hand.links], _link_poses(context, held.q), strict=True))
    for region, link in zip(held.state.regions, held.links, strict=True):
        if link.pad is None:
            return Failure("touches with a link that has no pad", region.normal_force, "N", link.name)
        T = poses[link.name]
        out = 0.0
        if link.pad.region is not None:
            p = T.actInv(region.centre)
            low, high = np.minimum(*link.pad.region), np.maximum(*link.pad.region)
            out = max(float(np.max(np.maximum(low - p, p - high))), 0.0)
        # the pad's outward direction there is the object's inward normal
        if out > BESIDE_PAD or (T.rotation.T @ region.normal) @ np.array(link.pad.facing) < FACING:
            return Failure("touches beside the pad", out, "m", link.name)
        if not link.feels(T.actInv(region.centre), AROUND):
            return Failure("touches at the edge of what is felt", AROUND, "m", link.name)
        if region.on_pad < ON_PAD:
            detail = f"{link.name}: {region.on_pad:.0%} of the force is on the pad"
            return Failure("touches beside the pad", ON_PAD - region.on_pad, "of the force", detail)
    torques = joint_torques(context, held.q, held)
    limits = context.assembly.torque_limits
    share = np.abs(torques) / limits
    worst = int(np.argmax(np.where(np.isfinite(share), share, 0.0)))
    if share[worst] > 1.0:
        name = context.robot.joint_names[worst]
        detail = f"{torques[worst]:.3g} at {name}, {limits[worst]:.3g} allowed"
        return Failure("joint torque above the limit", float(share[worst]), "of the limit", detail)
    return None


def _link_poses(context: PlanningContext, q: Floats) -> list[pin.SE3]:
    return context.robot.poses([link.name for link in context.hand.links], q)


def joint_torques(context: PlanningContext, q: Floats, held: Held) -> Floats:
    """What the joints bear: the contact forces' reaction J^T f and the robot's own weight [N m, N]."""
    robot = context.robot
    torques = robot.gravity_torques(q)
    robot.update(q)
    for region, link in zip(held.state.regions, held.links, strict=True):
        frame = robot.frame_id(link.name)
        J = pin.getFrameJacobian(robot.model, robot.data, frame, pin.LOCAL_WORLD_ALIGNED) @ robot.fold
        arm = region.centre - robot.data.oMf[frame].translation
        force = region.force  # on the object: the joints must supply it
        torques += J[:3].T @ force + J[3:].T @ np.cross(arm, force)
    return np.asarray(torques)
