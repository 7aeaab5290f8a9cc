"""Whether a part of the hand that holds nothing brushes the held object while the fingers move it.

Contact is settled at the steps of the move, with every link that is near; between two steps an idle finger can come and
go. So the finished trajectory is followed from point to point with the deformed object.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pliant.collision import TOUCHING, triangles
from pliant.objects import Mesh
from pliant.planner.context import PlanningContext
from pliant.planner.depth_search import Failure
from pliant.planner.results import Phase, PlannedGrasp
from pliant.robot import link_mesh


def idle_touch(context: PlanningContext, grasp: PlannedGrasp) -> Failure | None:
    """The first touch of the moved object by a link that no state of the grasp holds it with."""
    import coal

    path = grasp.trajectory
    moving = [i for i, phase in enumerate(path.phases) if phase is Phase.MOVE]
    if not moving:
        return None
    gripping = {contact.link for state in grasp.states for contact in state.contacts}
    idle, shapes = [], []
    for link in context.hand.links:
        solid = link_mesh(context.robot.urdf.link(link.name))
        if link.name not in gripping and solid is not None:
            idle.append(link)
            shapes.append(triangles(solid))
    mesh = context.body.mesh
    reach = 1.2 * float(np.linalg.norm(mesh.vertices, axis=1).max())  # it bulges between the fingers
    held, prepared = -1, None
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    for i in moving:
        now = max(k for k, state in enumerate(grasp.states) if k == 0 or state.time <= path.times[i - 1] + 1e-9)
        if now != held:
            held, prepared = now, triangles(Mesh(mesh.vertices + grasp.states[now].displacement, mesh.faces))
        x, y, z, *turn = path.object_poses[i]
        T_object = pin.SE3(pin.Quaternion(*turn).normalized().matrix(), np.array([x, y, z]))
        poses = context.robot.poses([link.name for link in idle], path.q[i])
        for link, shape, T in zip(idle, shapes, poses, strict=True):
            if np.linalg.norm(T.translation - T_object.translation) > reach + link.reach + TOUCHING:
                continue
            result.clear()
            places = (coal.Transform3s(P.rotation, P.translation) for P in (T_object, T))
            gap = float(coal.distance(prepared, next(places), shape, next(places), request, result))
            if gap <= TOUCHING:
                detail = f"{link.name} at {path.times[i]:.2f} s"
                return Failure(
                    "an idle part of the hand touches the moved object", TOUCHING - max(gap, 0.0), "m", detail
                )
    return None
