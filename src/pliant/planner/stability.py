"""Whether an object is held soundly: on pads, over tactile cells, with torques that joints bear.   (theory 8.4)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.grasp import edge_wrenches, epsilon_l1, force_torques
from pliant.planner.context import PlanningContext
from pliant.planner.hand_links import HandLink
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.pressing import Held
from pliant.planner.reasons import Failure, Reason, Stage
from pliant.robot import PALM_FRAME

BESIDE_PAD = 1.5e-3
"""How far outside its region a pad may be touched [m]."""
FACING = np.cos(np.radians(80.0))
"""A pad touches where its surface faces its direction within this angle."""
AROUND = 2.5e-3
"""Tactile cells lie around a planned centre of pressure at least this far away [m]: objects lie a little elsewhere."""
ON_PAD = 0.5
"""Least share of a contact's force on the pad itself: what is beside it is not measured."""


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


def unsound(context: PlanningContext, held: Held) -> Failure | None:
    """Contacts beside the pads, or torques above what the joints can bear."""
    poses = context.robot.poses([link.name for link in held.links], held.q)
    for region, link, T in zip(held.state.regions, held.links, poses, strict=True):
        if (failure := beside_pad(link, T, region.centre, region.normal)) is not None:
            return failure
        if link.pad is not None and region.on_pad < ON_PAD:
            detail = f"{link.name}: {region.on_pad:.0%} of the force is on the pad"
            return Failure(Reason.BESIDE_PAD, ON_PAD - region.on_pad, "of the force", detail)
    return overloaded(context, held)


def grasp_quality_of(held: Held) -> float:
    """Ferrari-Canny epsilon of the contacts."""
    return float(epsilon_l1(edge_wrenches(held.contacts, held.centre)))


def beside_pad(
    link: HandLink, T_world_link: pin.SE3, point: Floats, normal: Floats, *, around: float | None = AROUND
) -> Failure | None:
    """Why a touch is not on a pad, or not where the pad feels; links without pads count where they may touch.

    Args:
        point: of the touch, world [m].
        normal: into the object, world.
        around: tactile cells must lie around it at least this far away [m]; None: cells do not matter.
    """
    if link.pad is None and link.may_touch:
        return None
    if link.pad is None:
        return Failure(Reason.NO_PAD, 0.0, detail=link.name, found_in=Stage.STABILITY)
    p_link = T_world_link.actInv(point)
    out = 0.0
    if link.pad.region is not None:
        low, high = np.minimum(*link.pad.region), np.maximum(*link.pad.region)
        outside, facing = p_link - np.clip(p_link, low, high), np.array(link.pad.facing)
        # where it is pressed in, a contact lies below the pad's surface, not beside it
        out = float(np.abs(outside - min(float(outside @ facing), 0.0) * facing).max())
    # the pad's outward direction there is the object's inward normal
    if out > BESIDE_PAD or (T_world_link.rotation.T @ normal) @ np.array(link.pad.facing) < FACING:
        return Failure(Reason.BESIDE_PAD, out, detail=link.name)
    if around is not None and not link.feels(p_link, around):
        return Failure(Reason.BESIDE_CELLS, around, detail=link.name)
    return None


def overloaded(context: PlanningContext, held: Held) -> Failure | None:
    """Whether a joint must bear more than it can; the arm also what may come on top of the weight.

    The hand's joints under pushes are part of the force problem: what they bear depends on the squeeze.
    """
    torques, limits = joint_torques(context, held), context.assembly.torque_limits
    share = (np.abs(torques) + _pushed(context, held)) / limits
    worst = int(np.argmax(np.where(np.isfinite(share), share, 0.0)))
    if share[worst] <= 1.0:
        return None
    detail = f"{torques[worst]:.3g} at {context.robot.joint_names[worst]}, {limits[worst]:.3g} allowed"
    return Failure(Reason.TORQUE_LIMIT, float(share[worst]), detail=detail)


def _pushed(context: PlanningContext, held: Held) -> Floats:
    """What disturbances add to the arm's joints at most [N m, N]; the palm passes them on whole."""
    robot, added = context.robot, np.zeros(context.robot.dof)
    extra = context.presser.wanted.disturbances
    if len(extra):
        arm = context.assembly.arm_joints
        robot.update(held.q)
        J = robot.live_jacobian(PALM_FRAME)[:, arm]
        lever = held.centre - robot.data.oMf[robot.frame_id(PALM_FRAME)].translation
        wrenches = np.hstack([extra[:, :3], extra[:, 3:] + np.cross(lever, extra[:, :3])])
        added[arm] = np.abs(wrenches @ J).max(axis=0)
    return added


def joint_torques(context: PlanningContext, held: Held) -> Floats:
    """What the joints bear: the contact forces' reaction J^T f and the robot's own weight [N m, N]."""
    own = context.robot.gravity_torques(held.q, gravity=context.task.goal.gravity)
    return np.asarray(own + contact_torques(context, held))


def contact_torques(context: PlanningContext, held: Held) -> Floats:
    """The contact forces' part of it [N m, N]."""
    robot = context.robot
    torques = np.zeros(robot.dof)
    robot.update(held.q)
    for region, link in zip(held.state.regions, held.links, strict=True):
        arm = region.centre - robot.data.oMf[robot.frame_id(link.name)].translation
        # the force on the object: the joints must supply it
        torques += force_torques(robot.live_jacobian(link.name), arm, region.force)
    return np.asarray(torques)
