"""The forces with which touches hold an object, at the grasp and after the move, before anything is pressed.

(theory 8.9)
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.grasp import ContactSet
from pliant.planner.context import PlanningContext
from pliant.planner.drives import drives_at
from pliant.planner.finger_reach import FingerReach, Touching, object_path
from pliant.planner.pressing import HandPose
from pliant.planner.reasons import Failure, Reason
from pliant.planner.task import Carrier

ALLOWANCE = 1.15
"""How much more friction is assumed than the worst there may be: pressing turns the normals a little."""
PLACES = 3
"""Places on the path of the move at which the fingers' reach is looked at."""
DEPTHS = 1e-4, 1e-3
"""Fingers are taken to press in at least and at most so far, to see where on a pad they do [m]."""


def touch_depth(context: PlanningContext, count: int) -> float:
    """About how far so many fingers will press into the object [m]."""
    return float(np.clip(context.presser.first_depth(count), *DEPTHS))


def promised_forces(
    context: PlanningContext,
    q: Floats,
    T_world_palm: pin.SE3,
    T_world_object: pin.SE3,
    touching: Touching,
    *,
    explain: bool = False,
) -> Floats | Failure:
    """Smallest sufficient normal forces at some touches, with the task's reserves [N].

    What two patches can bear of a moment depends on how large they are, so on the forces: those are found twice.

    Args:
        touching: with the patches as large as the contacts' share of the load makes them.
        explain: find out what is to blame where there are none; takes longer.
    """
    forces = _promised_once(context, q, T_world_palm, T_world_object, touching, explain)
    if isinstance(forces, Failure) or len(forces) > 2:
        return forces
    larger = np.cbrt(np.maximum(forces, 1e-9) / context.presser.share(len(forces)))
    touching = touching._replace(radii=touching.radii * larger)
    return _promised_once(context, q, T_world_palm, T_world_object, touching, explain)


def _promised_once(
    context: PlanningContext,
    q: Floats,
    T_world_palm: pin.SE3,
    T_world_object: pin.SE3,
    touching: Touching,
    explain: bool,
) -> Floats | Failure:
    presser = context.presser
    contacts = ContactSet.from_arrays(
        touching.points,
        touching.normals,
        friction=ALLOWANCE * context.body.material.friction,
        max_force=np.array([presser.permitted(link) for link in touching.links]),
        radius=touching.radii,
    )
    centre = T_world_object.act(presser.weight.acting(T_world_object).centre)
    drives = drives_at(context.hand, q, T_world_palm, touching.links, contacts, presser.weight.gravity)
    wanted = presser.wanted.solve(contacts, centre, drives)
    if wanted.forces is None and explain:
        return presser.wanted.failure(contacts, centre, drives)
    if wanted.forces is None:
        return Failure(Reason.NO_FORCES, 1.0)
    return np.asarray(wanted.forces[:, 2])


def promised_move(context: PlanningContext, q: Floats, T_world_palm: pin.SE3, touching: Touching) -> float | Failure:
    """Largest wanted force at the end of the move [N], as far as the fingers, or the arm, can carry it out.

    What both do together is looked at as if the arm did it: the forces depend little on that, and where the fingers can
    do no more the arm does the rest.
    """
    T, goal = context.task.T_world_object, context.task.goal
    centre = T.act(context.presser.weight.acting(T).centre)
    path = object_path(context, T, T_world_palm, centre)
    if goal.by is Carrier.FINGERS:
        reach = FingerReach(context, q, T_world_palm, T, touching, centre)
        places = [path[i] for i in sorted({round(k * (len(path) - 1) / PLACES) for k in range(1, PLACES + 1)})]
        rolled = _Rolling(context, HandPose(q, T_world_palm), touching)
        q_end = reach.along(places, rolled)
        if isinstance(q_end, Failure):
            return q_end
        there = rolled(q_end, path[-1])
    else:
        q_end, carried = q, path[-1] * T.inverse()
        T_world_palm = carried * T_world_palm
        there = touching._replace(
            points=np.array([carried.act(point) for point in touching.points]),
            normals=touching.normals @ carried.rotation.T,
        )
    forces = promised_forces(context, q_end, T_world_palm, path[-1], there)
    return forces if isinstance(forces, Failure) else float(forces.max())


class _Rolling:
    """Where the links touch an object that the fingers carry: they turn and roll on it.

    Args:
        start, touching: the hand and its touches where the object stands.
    """

    def __init__(self, context: PlanningContext, start: HandPose, touching: Touching) -> None:
        self._context, self._palm, self._touching = context, start.T_world_palm, touching
        self._links = [context.hand.links.index(link) for link in touching.links]
        T = context.task.T_world_object
        # the touches are known better than where sample points say that they are
        points = np.array([T.actInv(point) for point in touching.points])
        self._beside = points - self._sampled(start.q, T)

    def __call__(self, q: Floats, T_world_object: pin.SE3) -> Touching:
        """The touches with these joints, in the world."""
        hand, prepared, T = self._context.hand, self._context.prepared, T_world_object
        places = self._beside + self._sampled(q, T)
        normals = np.array([-T.rotation @ hand.sampled_gap(prepared, place)[1] for place in places])
        return self._touching._replace(points=np.array([T.act(place) for place in places]), normals=normals)

    def _sampled(self, q: Floats, T_world_object: pin.SE3) -> Floats:
        hand, depth = self._context.hand, touch_depth(self._context, len(self._links))
        poses = hand.poses(q, self._palm)
        there = [T_world_object.actInv(poses[i]) for i in self._links]
        prepared = self._context.prepared
        return np.array([hand.sampled_place(prepared, i, T, depth)[0] for i, T in zip(self._links, there, strict=True)])
