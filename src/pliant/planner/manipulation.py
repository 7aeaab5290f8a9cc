"""Lifting and moving the held object.   (theory 8.5, 8.6)

In every step contact points are fixed on the links, and the next begins where they lie by then: links roll. Forces are
brought back to the wanted ones at every step. Contact is settled at the steps with every link that is near; between two
steps an idle finger can come and go, so the finished trajectory is followed from point to point with the deformed
object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import TOUCHING, distance, overlap, triangles
from pliant.objects import Mesh
from pliant.planner.approach import lift_path
from pliant.planner.context import KEEP_OUT, PlanningContext
from pliant.planner.finger_reach import FingerReach, Touching, object_path
from pliant.planner.hand_links import HandLink
from pliant.planner.pressing import DEEPEST, HandPose, Held
from pliant.planner.reasons import Failure, Reason, Stage
from pliant.planner.results import Phase, PlannedGrasp
from pliant.planner.stability import HeldGrasp, overloaded
from pliant.planner.task import Carrier

HEADROOM = 2e-3
"""[m]"""
LARGEST_TREND = 2e-4
"""No more than this is foreseen of the change in a finger's depth from step to step [m]."""
HARDER = 1.1
"""Where the fingers' part of a step needs more than this multiple of the force before, the arm alone is tried."""
LARGEST_JUMP = 0.5
"""No joint of the arm moves further than this between two steps [rad, m]."""
WORTH_RISING = 5e-4
"""An object that is not to be lifted, but sags by more than this between the pads, is brought back to its place [m]."""
CLEAR_OF_SUPPORT = 1.9e-3
"""Lifted by this much it touches nothing any more [m]; a squeeze that turns it presses it into what it lies on."""


@dataclass(frozen=True, eq=False)
class Step:
    """The hand and the object after one step.

    Args:
        T_world_palm: the palm.
        q: joints.
        held: the object.
    """

    T_world_palm: pin.SE3
    q: Floats
    held: Held


class Lift(NamedTuple):
    """The lift: joints on the path up (n x joints), and hand and object at its end."""

    path: Floats
    end: Step


def lift(context: PlanningContext, grasp: HeldGrasp) -> Lift | Failure:
    """Lift the held object as high as asked."""
    goal, held = context.task.goal, grasp.held
    # the object sags a little between the pads when its support is gone: the hand rises by that much more
    sag = max(float(context.task.T_world_object.translation[2] - held.state.T_world_object.translation[2]), 0.0)
    rise = goal.lift + sag if goal.lift > 0.0 or sag > WORTH_RISING else 0.0
    path = lift_path(context, held.q, grasp.T_world_palm, rise)
    if isinstance(path, Failure):
        return path
    up = pin.SE3(np.eye(3), np.array([0.0, 0.0, rise]))
    return Lift(
        path, Step(up * grasp.T_world_palm, path[-1], held.shifted(path[-1], up.translation, context.presser.weight.up))
    )


def pressed_into(context: PlanningContext, T_world_object: pin.SE3) -> str | None:
    """What an object, squeezed to this pose and just lifted, still overlaps; None if nothing or if it is not lifted."""
    if context.task.goal.lift <= CLEAR_OF_SUPPORT:
        return None
    off = pin.SE3(T_world_object)
    off.translation[2] = context.task.T_world_object.translation[2] + CLEAR_OF_SUPPORT
    return object_hits(context, off)


def object_hits(context: PlanningContext, T_world_object: pin.SE3) -> str | None:
    """The obstacle that the object (undeformed) overlaps, if any."""
    for obstacle in context.obstacles:
        if overlap(context.object_triangles, T_world_object, obstacle.geometry, obstacle.T_world_obstacle):
            return obstacle.name
    return None


def object_collision(context: PlanningContext, steps: Iterable[Step]) -> Failure | None:
    """The first obstacle that the object overlaps at some steps."""
    for step in steps:
        if (hit := object_hits(context, step.held.state.T_world_object)) is not None:
            return Failure(Reason.OBJECT_HITS, 0.0, detail=hit)
    return None


def manipulate(context: PlanningContext, grasp: HeldGrasp, start: Step, bound: float = np.inf) -> list[Step] | Failure:
    """Every step of the move after the lift, or the reason why it ends and how much of it was possible.

    Args:
        bound: a move that needs more force is of no use [N].
    """
    goal = context.task.goal
    if not goal.moves:
        return []
    path = object_path(context, start.held.state.T_world_object, start.T_world_palm, start.held.centre)
    carried = _Carried(context, grasp, start)
    steps: list[Step] = []
    before = start
    for k, T_wanted in enumerate(path):
        done = carried.step(before, T_wanted)
        if isinstance(done, Failure):
            share = k / len(path)
            detail = f"{share:.0%} of it was possible; {done.detail}"
            stage = Stage.REACH if done.stage is Stage.REACH else Stage.MANIPULATION
            return Failure(done.reason, 1.0 - share, "of the move", detail, found_in=stage)
        if done.held.largest_force > bound:
            return Failure(Reason.LESS_FORCE, done.held.largest_force)
        steps.append(done)
        before = done
    return steps


class _Carried(FingerReach):
    """A held object and how fingers and arm move it."""

    def __init__(self, context: PlanningContext, grasp: HeldGrasp, start: Step) -> None:
        held = start.held
        T_object = held.state.T_world_object
        super().__init__(context, start.q, start.T_world_palm, T_object, _touching(held), held.centre)
        self.start = start
        # the pads took hold of the object where it stood; under its weight it has settled a little beside that place
        rise = start.T_world_palm.translation - grasp.T_world_palm.translation
        self.unsettled = held.state.T_world_object.actInv(pin.SE3(np.eye(3), rise) * context.task.T_world_object)
        # depths are those of fingers from now on; while the hand closed some may have shared one
        self._depths = np.full(len(self.fingers), max(float(held.depths.max()), 1e-5))
        self._trend = np.zeros(len(self.fingers))
        self._exhausted = False

    def step(self, before: Step, T_wanted: pin.SE3) -> Step | Failure:
        """One step of the object to a pose: fingers and arm move, the contacts settle anew.

        Of what fingers and arm do together the fingers do as much as they can without pressing much harder; from then
        on they stay as they are and the arm does the rest.
        """
        by = self.context.task.goal.by
        if by is Carrier.BOTH and self._exhausted:
            by = Carrier.ARM
        if by is not Carrier.ARM:
            state = before.held.state
            self.roll(before.q, before.T_world_palm, state.T_world_object, _touching(before.held))
        done = self._step(before, T_wanted, by)
        if by is Carrier.BOTH:
            harder = isinstance(done, Failure) or done.held.largest_force > HARDER * before.held.largest_force
            alone = self._step(before, T_wanted, Carrier.ARM) if harder else None
            if isinstance(alone, Step) and (
                isinstance(done, Failure) or alone.held.largest_force < done.held.largest_force
            ):
                done, self._exhausted = alone, True
        if isinstance(done, Step):
            # what this step took more or less, the next will take as well
            self._trend = np.clip(done.held.depths - self._depths, -LARGEST_TREND, LARGEST_TREND)
            self._depths = done.held.depths
        return done

    def _step(self, before: Step, T_wanted: pin.SE3, by: Carrier) -> Step | Failure:
        context = self.context
        T_palm = before.T_world_palm
        if by is Carrier.ARM:
            still = self.start if context.task.goal.by is Carrier.ARM else before
            T_palm = T_wanted * still.held.state.T_world_object.actInv(still.T_world_palm)
        offsets = self._trend
        q = self.reach(before.q, T_palm, T_wanted, offsets)
        T_object = self.follow(q, T_palm, T_wanted, offsets)
        error = self.apart(T_object, T_wanted)
        if by is Carrier.BOTH:
            T_palm = T_wanted * T_object.actInv(T_palm)
            T_object = T_wanted
        elif self.too_far(error):
            detail = f"the object would stay {error} behind"
            return Failure(Reason.FINGERS_FALL_SHORT, error.distance, "m", detail)
        q_arm = self.arm(before.q, T_palm)
        if q_arm is None:
            return Failure(Reason.ARM_FALLS_SHORT, 0.0)
        held = self._hold(context.hand.with_arm(q, q_arm), T_palm, T_object, offsets, before.held)
        if isinstance(held, Failure):
            return held
        error = self.apart(held.state.T_world_object, T_wanted)
        if self.too_far(error):
            return Failure(Reason.LEAVES_PATH, error.distance, detail=f"the object settles {error} beside its path")
        if (hit := context.surroundings.collision(held.q, margin=0.0)) is not None:
            return Failure(Reason.MOVE_HITS, KEEP_OUT, detail=str(hit))
        return overloaded(context, held) or Step(T_palm, held.q, held)

    def _hold(self, q: Floats, T_palm: pin.SE3, T_object: pin.SE3, offsets: Floats, before: Held) -> Held | Failure:
        # the search's depths count from so far above the touch that they are never used up
        base = self._depths + HEADROOM

        def pose(new: Floats) -> HandPose:
            return HandPose(self.reach(q, T_palm, T_object, new - base), T_palm)

        def owner(link: HandLink) -> int:
            return self.fingers.index(link.finger) if link.finger in self.fingers else -1

        deepest = base + DEEPEST * self.context.prepared.surface.size
        T_start = T_object * self.unsettled
        held = self.context.presser.hold(pose, base + offsets, deepest, T_start, owner, tries=8, before=before)
        return replace(held, depths=held.depths - HEADROOM) if isinstance(held, Held) else held

    def arm(self, q: Floats, T_palm: pin.SE3) -> Floats | None:
        """Arm joints for a palm pose near the present ones."""
        context = self.context
        error_m, error_rad = context.ik.pose_error(q, T_palm)
        if error_m < 1e-7 and error_rad < 1e-7:
            return q
        found = context.ik.solve(T_palm, seed=q, starts=1)
        arm = context.assembly.arm_joints
        if not found.found or np.abs(found.q - q)[arm].max() > LARGEST_JUMP:
            return None
        return found.q


def _touching(held: Held) -> Touching:
    regions = held.state.regions
    return Touching(
        held.links,
        np.array([region.centre for region in regions]),
        np.array([region.normal for region in regions]),
        np.array([max(region.radius, 1e-5) for region in regions]),
    )


def idle_touch(context: PlanningContext, grasp: PlannedGrasp) -> Failure | None:
    """The first touch of the moved object by a link that no state of the grasp holds it with."""
    path = grasp.trajectory
    moving = [i for i, phase in enumerate(path.phases) if phase is Phase.MOVE]
    if not moving:
        return None
    gripping = {contact.link for state in grasp.states for contact in state.contacts}
    idle = [link for link in context.hand.links if link.name not in gripping and context.link_surface(link.name)]
    mesh, hand = context.body.mesh, context.hand
    numbers = tuple(hand.links.index(link) for link in idle)
    held, object_shape, bulge = -1, None, 0.0
    for i in moving:
        now = max(k for k, state in enumerate(grasp.states) if k == 0 or state.time <= path.times[i - 1] + 1e-9)
        if now != held:
            held, object_shape = now, None
            bulge = float(np.linalg.norm(grasp.states[now].displacement, axis=1).max())
        x, y, z, *turn = path.object_poses[i]
        T_object = pin.SE3(pin.Quaternion(*turn).normalized().matrix(), np.array([x, y, z]))
        every = context.robot.poses([link.name for link in hand.links], path.q[i])
        bounds = hand.bounds(context.prepared, [T_object.actInv(every[i]) for i in numbers], numbers)
        for link, number, bound in zip(idle, numbers, bounds, strict=True):
            if bound > bulge + TOUCHING:
                continue
            shape, T = context.link_surface(link.name), every[number]
            if object_shape is None:
                object_shape = triangles(Mesh(mesh.vertices + grasp.states[now].displacement, mesh.faces))
            gap = distance(object_shape, T_object, shape, T)
            if gap <= TOUCHING:
                detail = f"{link.name} at {path.times[i]:.2f} s"
                return Failure(Reason.IDLE_LINK_TOUCHES, TOUCHING - max(gap, 0.0), detail=detail)
    return None
