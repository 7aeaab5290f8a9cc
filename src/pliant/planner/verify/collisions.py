"""Second opinion on collisions: the whole trajectory is followed with exact meshes, as finely as the distances demand.

Between two measurements of a pair neither moves further towards the other than half the distance they had (but for
the resolution): what is clear at both is clear in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.collision import distance as surface_distance
from pliant.collision import triangles
from pliant.errors import Problem
from pliant.objects import Mesh, winding_number
from pliant.planner.results import Phase, PlannedGrasp, Trajectory
from pliant.planner.task import Task
from pliant.planner.verify.tolerances import Tolerances
from pliant.robot import Robot, link_mesh

FAR = 0.1
"""Nothing further apart than this is measured [m]."""
MOST_DISTANCES = 50_000
"""Of distances along one trajectory; one of ten seconds takes three thousand, one of absurd length never ends."""
OBJECT = "the object"


@dataclass(frozen=True, eq=False)
class _Solid:
    """A rigid mesh: a link (its frame's number), the object or a part of the scene."""

    name: str
    mesh: Mesh
    geometry: Any
    centre: Floats
    radius: float
    frame: int = -1


def collision_problems(task: Task, grasp: PlannedGrasp, where: str, allowed: Tolerances) -> tuple[list[Problem], float]:
    """Collisions along the trajectory, each pair once, and the smallest distance met [m]."""
    follower = _Follower(task, grasp, allowed)
    found: dict[tuple[str, str], float] = {}
    for pair in follower.inside_at_start():
        found.setdefault(pair, 0.0)
    problems = []
    try:
        for time, pair in follower.collisions():
            found.setdefault(pair, time)
    except _TooLong as stopped:
        what = f"cannot be followed beyond {float(stopped.args[0]):.3g} s: {MOST_DISTANCES} distances did not do"
        problems.append(Problem(f"{where}.trajectory", what, "shorter and slower motions"))
    problems += [
        Problem(f"{where}.trajectory", f"'{first}' runs into '{second}' at {time:.3f} s", "they must not touch")
        for (first, second), time in found.items()
    ]
    return problems, follower.smallest


class _TooLong(Exception):
    """The path needs more measurements than are allowed; its argument is the time reached."""


class _Follower:
    """Follows the trajectory pair by pair: each pair is measured again when it could have come close."""

    def __init__(self, task: Task, grasp: PlannedGrasp, allowed: Tolerances) -> None:
        self.task, self.allowed = task, allowed
        self.path: Trajectory = grasp.trajectory
        self.robot: Robot = task.assembly.robot
        self.smallest, self.measurements = np.inf, 0
        self.links = list(_links(self.robot))
        self.scene = [_solid(mesh.name or f"scene[{i}]", mesh) for i, mesh in enumerate(task.scene)]
        self.resting = _solid(OBJECT, task.body.mesh)
        vertices = task.body.mesh.vertices
        self.held = [
            (state.time, _solid(OBJECT, Mesh(vertices + state.displacement, task.body.mesh.faces)))
            for state in grasp.states
        ]
        self.gripping = {contact.link for state in grasp.states for contact in state.contacts}
        self.self_pairs = self._self_pairs()
        self.supports = {solid.name for solid in self.scene if self._at_start(solid) < allowed.resting}
        self._safe: dict[tuple[int, int], float] = {}

    def collisions(self) -> Iterator[tuple[float, tuple[str, str]]]:
        """Pairs that touch and must not, each with the first time it was seen."""
        seen = set()
        times = self.path.times
        for i in range(len(times) - 1):
            speeds = _Speeds(self, i)
            here, risen = self._object(i), self.path.object_poses[i, 2] - self.task.T_world_object.translation[2]
            for first, second in self._pairs(self.path.phases[i + 1], here, float(risen)):
                names = (first.name, second.name)
                if names in seen:
                    continue
                hit = self._follow(first, second, float(times[i]), float(times[i + 1]), speeds(first, second))
                if hit is not None:
                    seen.add(names)
                    yield hit, names

    def inside_at_start(self) -> Iterator[tuple[str, str]]:
        """Solids that begin wholly inside others: their surfaces need not meet at all."""
        self.robot.update(self.path.q[0])
        pose = self.task.T_world_object
        movers = [link for link in self.links if self._moves(link)]
        pairs = [(link, solid) for link in movers for solid in (*self.scene, self.resting)]
        for small, large in [*pairs, *((self.resting, solid) for solid in self.scene)]:
            T = self._pose(large, pose).actInv(self._pose(small, pose))
            # The outermost points along each axis; one that lies on the surface, of an object on a table, has
            # a winding number of a half.
            points = small.mesh.vertices @ T.rotation.T + T.translation
            outermost = points[np.concatenate([points.argmin(axis=0), points.argmax(axis=0)])]
            low, high = large.mesh.bounds
            if np.all((outermost >= low) & (outermost <= high)) and all(
                winding_number(large.mesh, p) > 0.75 for p in outermost
            ):
                yield small.name, large.name

    def _follow(self, first: _Solid, second: _Solid, time: float, end: float, speed: float) -> float | None:
        """The first time in a segment at which two solids touch; None if they do not."""
        key = (id(first), id(second))
        safe = self._safe.get(key, 0.0)
        while True:
            reach = time + safe / max(speed, 1e-12)
            if reach >= end:
                self._safe[key] = safe - speed * (end - time)
                return None
            time = reach
            self.measurements += 1
            if self.measurements > MOST_DISTANCES:
                raise _TooLong(time)
            distance = self._measure(first, second, time)
            if distance <= 0.0:
                return time
            safe = max(0.5 * distance, 0.5 * self.allowed.resolution)

    def _measure(self, first: _Solid, second: _Solid, time: float) -> float:
        """Distance of two solids; of solids far apart, of the balls around them."""
        pin.framesForwardKinematics(self.robot.model, self.robot.data, self.robot.full(self.path.at(time)))
        pose = self.path.object_at(time)
        T_first, T_second = self._pose(first, pose), self._pose(second, pose)
        between = float(np.linalg.norm(T_first.act(first.centre) - T_second.act(second.centre)))
        gap = between - first.radius - second.radius
        if gap > FAR:
            return gap
        distance = _distance(first, T_first, second, T_second)
        self.smallest = min(self.smallest, distance)
        return distance

    def _pairs(self, phase: Phase, here: _Solid, risen: float) -> Iterator[tuple[_Solid, _Solid]]:
        yield from ((link, solid) for link in self.links if self._moves(link) for solid in self.scene)
        yield from self.self_pairs
        for link in self.links:
            if phase is Phase.APPROACH or link.name not in self.gripping:
                yield link, here
        if phase in (Phase.LIFT, Phase.MOVE):
            for solid in self.scene:
                # What carries the object touches it until it is off; the squeezed object may even press on it.
                if solid.name not in self.supports or risen > self.allowed.resting:
                    yield here, solid

    def _moves(self, link: _Solid) -> bool:
        """Whether any joint carries it; what stands on the floor may touch the floor."""
        return bool(self.robot.model.frames[link.frame].parentJoint > 0)

    def _object(self, i: int) -> _Solid:
        """The object in the segment after point i: undeformed until it is held."""
        if self.path.phases[i + 1] in (Phase.APPROACH, Phase.CLOSE):
            return self.resting
        before = [solid for at, solid in self.held if at <= self.path.times[i] + 1e-9]
        return before[-1] if before else self.resting

    def _pose(self, solid: _Solid, pose: pin.SE3) -> pin.SE3:
        if solid.frame >= 0:
            return self.robot.data.oMf[solid.frame]
        return pose if solid.name == OBJECT else pin.SE3.Identity()

    def _at_start(self, solid: _Solid) -> float:
        return _distance(self.resting, self.task.T_world_object, solid, pin.SE3.Identity())

    def _self_pairs(self) -> list[tuple[_Solid, _Solid]]:
        """Links that could meet: not the same rigid piece, not neighbours, not one inside the other by design."""
        robot = self.robot
        piece = {link.name: robot.model.frames[link.frame].parentJoint for link in self.links}
        parents = robot.model.parents
        pairs = []
        for first, second in combinations(self.links, 2):
            a, b = piece[first.name], piece[second.name]
            if a != b and parents[a] != b and parents[b] != a:
                pairs.append((first, second))
        by_design = set()
        for q in (self.task.assembly.q_home, robot.neutral):
            robot.update(q)
            for first, second in pairs:
                T_first, T_second = robot.data.oMf[first.frame], robot.data.oMf[second.frame]
                gap = float(np.linalg.norm(T_first.act(first.centre) - T_second.act(second.centre)))
                if gap < first.radius + second.radius and _distance(first, T_first, second, T_second) <= 0.0:
                    by_design.add((first.name, second.name))
        return [pair for pair in pairs if (pair[0].name, pair[1].name) not in by_design]


class _Speeds:
    """Bounds on how fast two solids come nearer to each other within one segment of the trajectory [m/s].

    Only joints that carry one of the two and not the other count: what the arm carries as a whole keeps its distances.
    """

    def __init__(self, follower: _Follower, i: int) -> None:
        path, robot = follower.path, follower.robot
        duration = float(path.times[i + 1] - path.times[i])
        self._rates = np.abs(robot.fold) @ np.abs(path.q[i + 1] - path.q[i]) / duration
        self._robot = robot
        # Levers change along the segment; a fifth more than at either end covers that.
        self._origins, self._frames = [], []
        for q in (path.q[i], path.q[i + 1]):
            robot.update(q)
            self._origins.append([T.translation.copy() for T in robot.data.oMi])
            self._frames.append([pin.SE3(T) for T in robot.data.oMf])
        a, b = (path.object_at(float(path.times[k])) for k in (i, i + 1))
        turn = float(np.linalg.norm(pin.log3(a.rotation.T @ b.rotation)))
        reach = follower.resting.radius + float(np.linalg.norm(follower.resting.centre))
        self._of_object = (float(np.linalg.norm(b.translation - a.translation)) + turn * reach) / duration

    def __call__(self, first: _Solid, second: _Solid) -> float:
        carried = [set(self._support(solid)) for solid in (first, second)]
        speed = 0.0
        for solid, only in ((first, carried[0] - carried[1]), (second, carried[1] - carried[0])):
            speed += sum(self._rates[k - 1] * self._lever(k, solid) for k in only if self._rates[k - 1] > 0.0)
            if solid.name == OBJECT:
                speed += self._of_object
        return float(speed)

    def _support(self, solid: _Solid) -> list[int]:
        if solid.frame < 0:
            return []
        joint = self._robot.model.frames[solid.frame].parentJoint
        return [k for k in self._robot.model.supports[joint] if k > 0]

    def _lever(self, k: int, solid: _Solid) -> float:
        """How far any point of a link moves per unit of joint k, at most [m]."""
        if self._robot.model.joints[k].shortname().startswith("JointModelP"):
            return 1.0
        far = max(
            float(np.linalg.norm(frames[solid.frame].act(solid.centre) - origins[k]))
            for frames, origins in zip(self._frames, self._origins, strict=True)
        )
        return 1.2 * (far + solid.radius)


def _links(robot: Robot) -> Iterator[_Solid]:
    for link in robot.urdf.links:
        mesh = link_mesh(link, "collision")
        if mesh is not None:
            yield _solid(link.name, mesh, robot.frame_id(link.name))


def _solid(name: str, mesh: Mesh, frame: int = -1) -> _Solid:
    centre = mesh.bounds.mean(axis=0)
    return _Solid(
        name,
        mesh,
        triangles(mesh),
        centre,
        float(np.linalg.norm(mesh.vertices - centre, axis=1).max()),
        frame,
    )


def _distance(first: _Solid, T_first: pin.SE3, second: _Solid, T_second: pin.SE3) -> float:
    """Distance of two surfaces; zero or less where they cut each other [m]."""
    return surface_distance(first.geometry, T_first, second.geometry, T_second)
