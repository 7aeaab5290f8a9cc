"""Whether a joint path is free everywhere, not only at the points checked.

No point of the robot moves further than sum_i r_i |dq_i|, r_i: the longest lever that joint i can have. So where two
bodies are d apart, the joints that move one against the other may go on until that sum reaches d.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.collision.clearance import Clearance
from pliant.robot import Robot, link_mesh

TOUCHING = 2e-4
"""What is nearer than this collides [m]."""


@lru_cache(maxsize=8)
def longest_levers(robot: Robot, unlimited_travel: float = 0.0) -> Floats:
    """How far a point of the robot can move at most for a unit of each independent joint [m/rad, m/m].

    Args:
        unlimited_travel: how far sliding joints without limits are out at most [m].
    """
    model = robot.model
    size = np.zeros(model.njoints)  # furthest point of what hangs on a joint itself, from the joint
    for link in robot.urdf.links:
        mesh = link_mesh(link, "collision")
        if mesh is None:
            continue
        frame = model.frames[robot.frame_id(link.name)]
        points = np.asarray(mesh.vertices) @ frame.placement.rotation.T + frame.placement.translation
        size[frame.parentJoint] = max(size[frame.parentJoint], float(np.linalg.norm(points, axis=1).max()))
    slides = np.array([joint.shortname().startswith("JointModelP") for joint in model.joints])
    travel = np.zeros(model.njoints)
    for j in range(1, model.njoints):
        if slides[j]:
            i = model.joints[j].idx_q
            ends = np.abs([model.lowerPositionLimit[i], model.upperPositionLimit[i]])
            travel[j] = float(np.max(ends)) if np.isfinite(ends).all() else unlimited_travel
    reach = size.copy()
    for j in range(model.njoints - 1, 0, -1):  # children come after their parents
        above = model.parents[j]
        offset = float(np.linalg.norm(model.jointPlacements[j].translation)) + travel[j]
        reach[above] = max(reach[above], offset + reach[j])
    levers = np.where(slides, 1.0, reach)[1:]
    return np.asarray(np.abs(robot.fold).T @ levers)


@lru_cache(maxsize=8)
def _unlimited_slides(robot: Robot) -> Ints:
    """Positions in ``q`` of sliding joints without limits."""
    slides = [robot.urdf.joint(name).kind == "prismatic" for name in robot.joint_names]
    return np.flatnonzero(np.array(slides) & np.isinf(robot.upper - robot.lower))


def sweeps_clear(path: Floats, world: Clearance) -> bool:
    """Whether nothing touches anywhere on the straight segments between the points of a joint path.

    Each pair of bodies is measured anew where the joints that move one against the other may have closed its distance.
    """
    travel = np.abs(path[:, _unlimited_slides(world.robot)]).max(initial=0.0)
    levers = world.levers(longest_levers(world.robot, float(np.ceil(travel))))
    # how far the bodies of each pair can have come nearer at the points of the path: points x pairs [m]
    nearer = np.vstack([np.zeros(len(levers)), np.cumsum(np.abs(np.diff(path, axis=0)) @ levers.T, axis=0)])
    places = np.arange(len(path), dtype=np.float64)
    due_at = np.zeros(len(levers))
    while len(levers):
        place = float(due_at.min())
        k = min(int(place), len(path) - 2) if len(path) > 1 else 0
        here = path[k] + (place - k) * (path[k + 1] - path[k]) if len(path) > 1 else path[0]
        due = np.flatnonzero(due_at <= place).tolist()
        apart = world.distances(here, due)
        if (apart <= TOUCHING).any():
            return False
        if place >= len(path) - 1:
            break
        for i, distance in zip(due, apart.tolist(), strict=True):
            reached = float(np.interp(place, places, nearer[:, i])) + distance
            # past the end it is measured once more at the end itself
            due_at[i] = np.interp(reached, nearer[:, i], places) if reached < nearer[-1, i] else len(path) - 1
    return True
