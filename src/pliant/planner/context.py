"""What all hypotheses of a task share: prepared object, hand, collision checks, inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import (
    Clearance,
    Nearest,
    Obstacle,
    convex_hull,
    link_geometry,
    nearest,
    overlap,
    sphere,
    triangles,
)
from pliant.contact import PreparedObject
from pliant.errors import OptionError, Problem
from pliant.motion import InverseKinematics, JointLimits
from pliant.objects import Body, Mesh, lighter, mesh_volume
from pliant.planner.closing_hand import ClosingHand
from pliant.planner.pressing import Presser
from pliant.planner.results import Reserve
from pliant.planner.task import Task
from pliant.planner.wanted import WantedForces
from pliant.robot import PALM_FRAME, Assembly, Robot, link_mesh

PALM_SHARE = 0.2
"""Radius of the ball that stands for the palm, as part of the hand's length."""
KEEP_OUT = 0.002
"""What links keep away from the scene and from each other [m]."""


def prepare_object(body: Body, progress: Callable[[str, float], None] | None = None) -> PreparedObject:
    """The object ready to be touched; found in the cache after the first time."""
    material = body.material
    wall = body.liquid.wall if body.liquid is not None else None
    return PreparedObject.of(
        body.mesh,
        young=material.young,
        poisson=material.poisson,
        wall=wall,
        contents=body.liquid if wall is not None else None,
        progress=progress,
    )


FELT_CELLS = 10
"""A grip is measured reliably when it is as strong as so many tactile cells at their threshold."""


def least_felt(assembly: Assembly) -> float:
    """Smallest force with which the hand's pads are to press [N]; 0 for a hand without tactile arrays."""
    arrays = assembly.hand.tactile if assembly.hand is not None else ()
    return FELT_CELLS * max((array.min_force for array in arrays), default=0.0)


class PlanningContext:
    """A task with everything that is made once for all of its hypotheses.

    Args:
        task: with an arm (``with_arm``).
        prepared: the object; prepared here if left out.
        hand: the hand, where it was made for the same description before.
    """

    def __init__(self, task: Task, prepared: PreparedObject | None = None, hand: ClosingHand | None = None) -> None:
        if task.body.liquid is not None and not any(task.goal.gravity):
            raise OptionError(task.name, Problem("task.gravity", "is zero", "a liquid needs a direction to settle in"))
        self.task = task
        self.assembly: Assembly = task.assembly
        self.robot: Robot = task.assembly.robot
        self.body = task.body
        self.prepared = prepared if prepared is not None else prepare_object(task.body)
        friction, whole = task.body.material.friction, task.options.whole_hand
        if hand is not None and hand.description is task.assembly.hand:
            self.hand = hand.on(task.assembly, friction, whole)
        else:
            self.hand = ClosingHand(task.assembly, friction=friction, whole=whole)
        wanted = WantedForces.of(
            task.body,
            margin=task.options.margin,
            reserve=Reserve.of(task.uncertainty),
            gravity=task.goal.gravity,
            pushes=task.goal.disturbances,
            objective=task.options.cost,
            least=least_felt(task.assembly),
            beside=task.uncertainty.position,
        )
        self.presser = Presser(self.prepared, task.body, self.hand, wanted)
        self.ik = InverseKinematics(self.robot, PALM_FRAME)
        self.limits = JointLimits.of(
            self.robot, acceleration=self.assembly.acceleration_limits, speed=task.options.speed
        )
        self.obstacles = tuple(
            Obstacle(f"scene {i}" if not mesh.name else f"{mesh.name} {i}", _solid(mesh), pin.SE3.Identity())
            for i, mesh in enumerate(task.scene)
        )
        self._obstacle_boxes = [
            (mesh.bounds[0], mesh.bounds[1], obstacle)
            for mesh, obstacle in zip(task.scene, self.obstacles, strict=True)
        ]
        self._hand_shapes = [
            (i, shape.T_link_shape, link_geometry(shape))
            for i, link in enumerate(self.hand.links)
            for shape in self.robot.urdf.link(link.name).collisions
        ]
        for _, _, geometry in self._hand_shapes:
            geometry.computeLocalAABB()
        pairs = _self_pairs(self.assembly, task.q_start)
        movable = [
            link.name for link in self.robot.urdf.links if link.collisions and self.robot.joints_moving(link.name).any()
        ]
        self.surroundings = Clearance(
            self.robot, self.obstacles, links=movable, pairs=pairs, distance=0.0, influence=0.05
        )
        self.object_triangles = triangles(lighter(task.body.mesh))
        self._movable, self._pairs = movable, pairs
        self._link_surfaces: dict[str, Any] = {}
        of_hand = {link.name for link in self.hand.links}
        self.arm_beside_object = Clearance(
            self.robot,
            (Obstacle("object", self.object_triangles, task.T_world_object),),
            links=[name for name in movable if name not in of_hand],
            distance=0.0,
            influence=0.05,
        )
        in_the_way = self.surroundings.collision(task.q_start)
        if in_the_way is not None:
            what = f"at the start {in_the_way} collide"
            raise OptionError(task.name, Problem("robot.start_deg", what, "start elsewhere, or move the scene"))

    def link_surface(self, name: str) -> Any:
        """A link's collision shapes as one surface for Coal; None where it has none."""
        if name not in self._link_surfaces:
            solid = link_mesh(self.robot.urdf.link(name))
            self._link_surfaces[name] = None if solid is None else triangles(solid)
        return self._link_surfaces[name]

    def scene_near(self, Ts_world_link: Sequence[pin.SE3], within: float) -> list[tuple[int, Nearest]]:
        """Which of the hand's links are nearer than ``within`` to obstacles, and where; the link's side first [m].

        Args:
            Ts_world_link: poses of ``hand.links``.
        """
        return [(link, place) for link, _, place in self._near_obstacles(Ts_world_link, within)]

    def obstacles_near(self, Ts_world_link: Sequence[pin.SE3], within: float) -> set[int]:
        """Which obstacles the hand's links are nearer to than ``within`` [m]."""
        return {obstacle for _, obstacle, _ in self._near_obstacles(Ts_world_link, within)}

    def _near_obstacles(self, Ts_world_link: Sequence[pin.SE3], within: float) -> list[tuple[int, int, Nearest]]:
        found = []
        for i, T_link_shape, geometry in self._hand_shapes:
            T = Ts_world_link[i] * T_link_shape
            centre, reach = T.act(np.asarray(geometry.aabb_center)), float(geometry.aabb_radius) + within
            for k, (low, high, obstacle) in enumerate(self._obstacle_boxes):
                if (centre > low - reach).all() and (centre < high + reach).all():
                    place = nearest(geometry, T, obstacle.geometry, obstacle.T_world_obstacle)
                    if place.distance < within:
                        found.append((i, k, place))
        return found

    def palm_blocked(self, p_object: Floats) -> bool:
        """Whether a palm at a place in the object's frame would stand in the scene."""
        assert self.assembly.hand is not None
        ball = sphere(PALM_SHARE * self.assembly.hand.palm.length)
        T = pin.SE3(np.eye(3), self.task.T_world_object.act(p_object))
        return any(overlap(ball, T, other.geometry, other.T_world_obstacle) for other in self.obstacles)

    def clearance_with_object(self, T_world_object: pin.SE3) -> Clearance:
        """Everything there is to collide with, the object where it stands included."""
        prepared = Obstacle("object", self.object_triangles, T_world_object)
        return Clearance(
            self.robot,
            (*self.obstacles, prepared),
            links=self._movable,
            pairs=self._pairs,
            distance=0.0,
            influence=0.05,
        )


def _solid(mesh: Mesh) -> Any:
    """A convex obstacle as a solid (so that a link deep inside is seen), any other as its surface."""
    if len(mesh.faces) <= 20_000:
        import trimesh

        hull = trimesh.convex.convex_hull(np.asarray(mesh.vertices))
        if mesh_volume(mesh) > 0.98 * float(hull.volume):
            return convex_hull(mesh.vertices, name=mesh.name)
    return triangles(mesh)


def _self_pairs(assembly: Assembly, q: Floats) -> list[tuple[str, str]]:
    """Pairs of links that could collide: not neighbours, and apart at the start.

    Within the hand links two joints apart are left out as well: their hulls overlap where they themselves do not.
    """
    robot = assembly.robot
    links = [link.name for link in robot.urdf.links if link.collisions]
    parent = {joint.child: (joint.parent, joint.kind) for joint in robot.urdf.joints}

    def body(name: str) -> str:
        """The link at the root of the rigid body that a link belongs to."""
        while name in parent and parent[name][1] == "fixed":
            name = parent[name][0]
        return name

    def above(name: str) -> str:
        root = body(name)
        return body(parent[root][0]) if root in parent else ""

    def of_hand(name: str) -> bool:
        return bool(robot.joints_moving(name)[assembly.hand_joints].any()) or body(name) == body(PALM_FRAME)

    def near(a: str, b: str) -> bool:
        if body(a) == body(b) or above(a) == body(b) or above(b) == body(a):
            return True
        return of_hand(a) and of_hand(b) and (above(above(a) or a) == body(b) or above(above(b) or b) == body(a))

    apart = [(a, b) for a, b in combinations(links, 2) if not near(a, b)]
    everywhere = Clearance(robot, (), links=[], pairs=apart, distance=0.0, influence=0.05)
    touching = set(everywhere.collisions(q))
    return [pair for pair in apart if pair not in touching]
