"""Second opinion on collisions: the whole trajectory is followed with exact meshes, as finely as the distances demand.

Between two measurements of a pair neither moves further towards the other than half the distance they had (but for
the resolution): what is clear at both is clear in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Ints
from pliant.collision import distance as surface_distance
from pliant.collision import nearest, triangles
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
MOST_PAIRS = 1_000_000
"""Of solids that are looked at, each in each segment of a trajectory; one of ten seconds has a hundred thousand."""
OBJECT = "the object"


@dataclass(frozen=True, eq=False)
class _Solid:
    """A rigid mesh: a link (its frame's number), the object or a part of the scene."""

    name: str
    mesh: Mesh
    centre: Floats
    radius: float
    frame: int = -1

    @cached_property
    def geometry(self) -> Any:
        """Its triangles; many solids never come so near to another that they are needed."""
        return triangles(self.mesh)


def collision_problems(solids: Solids, grasp: PlannedGrasp, where: str) -> tuple[list[Problem], float]:
    """Collisions along the trajectory, each pair once, and the smallest distance met [m]."""
    follower = _Follower(solids, grasp)
    found: dict[tuple[str, str], float] = {}
    for pair in follower.inside_at_start():
        found.setdefault(pair, 0.0)
    problems = []
    try:
        for time, pair in follower.collisions():
            found.setdefault(pair, time)
    except _TooLong as stopped:
        time, spent = stopped.args
        what = f"cannot be followed beyond {time:.3g} s: {spent} did not do"
        problems.append(Problem(f"{where}.trajectory", what, "shorter and slower motions"))
    problems += [
        Problem(f"{where}.trajectory", f"'{first}' runs into '{second}' at {time:.3f} s", "they must not touch")
        for (first, second), time in found.items()
    ]
    return problems, follower.smallest


class _TooLong(Exception):
    """The path needs more than is allowed; its arguments are the time reached and what was spent."""


class Solids:
    """What all grasps of a plan have in common: the solids, and the pairs of links that could meet."""

    def __init__(self, task: Task, allowed: Tolerances) -> None:
        self.task, self.allowed = task, allowed
        self.robot: Robot = task.assembly.robot
        self.links = list(_links(self.robot))
        self.scene = [_solid(mesh.name or f"scene[{i}]", mesh) for i, mesh in enumerate(task.scene)]
        self.resting = _solid(OBJECT, task.body.mesh)
        self.self_pairs = self._self_pairs()
        self.supports = {solid.name for solid in self.scene if self._at_start(solid) < allowed.resting}
        model = self.robot.model
        self.carried = np.zeros((len(self.links) + 1, model.njoints - 1))
        """Whether each joint carries each link; what is no link comes last."""
        for row, link in zip(self.carried, self.links, strict=False):
            row[[k - 1 for k in model.supports[model.frames[link.frame].parentJoint] if k > 0]] = 1.0
        self.slides = np.array([model.joints[k].shortname().startswith("JointModelP") for k in range(1, model.njoints)])

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


class _Follower:
    """Follows the trajectory pair by pair: each pair is measured again when it could have come close."""

    def __init__(self, solids: Solids, grasp: PlannedGrasp) -> None:
        self.solids, self.task, self.allowed, self.robot = solids, solids.task, solids.allowed, solids.robot
        self.links, self.scene, self.resting = solids.links, solids.scene, solids.resting
        self.path: Trajectory = grasp.trajectory
        self.smallest, self.measurements, self.looks = np.inf, 0, 0
        mesh = self.task.body.mesh
        self.held = [
            (state.time, _solid(OBJECT, Mesh(mesh.vertices + state.displacement, mesh.faces))) for state in grasp.states
        ]
        self.gripping = {contact.link for state in grasp.states for contact in state.contacts}
        self._apart: dict[tuple[str, str], tuple[float, Floats]] = {}

    def collisions(self) -> Iterator[tuple[float, tuple[str, str]]]:
        """Pairs that touch and must not, each with the first time it was seen."""
        seen = set()
        times = self.path.times.tolist()
        pairs: list[tuple[_Solid, _Solid]] = []
        numbers, safe = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        number = {id(link): k for k, link in enumerate(self.links)}
        kind: tuple[Phase, _Solid, bool] | None = None
        speeds = _Speeds(self)
        for i in range(len(times) - 1):
            risen = self.path.object_poses[i, 2] - self.task.T_world_object.translation[2] > self.allowed.resting
            now = (self.path.phases[i + 1], self._object(i), bool(risen))
            if now != kind:
                # pairs that were not followed before have no distance yet
                known = {(id(a), id(b)): s for (a, b), s in zip(pairs, safe.tolist(), strict=True)}
                kind, pairs = now, list(self._pairs(*now))
                safe = np.array([known.get((id(a), id(b)), 0.0) for a, b in pairs])
                numbers = np.array([[number.get(id(solid), len(self.links)) for solid in pair] for pair in pairs])
                numbers = numbers.reshape(-1, 2)
                of_object = np.array([sum(solid.name == OBJECT for solid in pair) for pair in pairs])
            start, end = times[i], times[i + 1]
            self.looks += len(pairs)
            if self.looks > MOST_PAIRS:
                raise _TooLong(start, f"{MOST_PAIRS} looks at pairs of solids")
            speed = speeds.within(i, numbers, of_object)
            left = safe - speed * (end - start)
            for k in np.flatnonzero(left <= 0.0).tolist():
                names = (pairs[k][0].name, pairs[k][1].name)
                if names in seen:
                    continue
                hit, left[k] = self._follow(*pairs[k], start, end, float(speed[k]), float(safe[k]))
                if hit is not None:
                    seen.add(names)
                    yield hit, names
            safe = left

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

    def _follow(
        self, first: _Solid, second: _Solid, time: float, end: float, speed: float, safe: float
    ) -> tuple[float | None, float]:
        """The first time in a segment at which two solids touch, None if they do not; what is safe after it [m]."""
        while True:
            reach = time + safe / max(speed, 1e-12)
            if reach >= end:
                return None, safe - speed * (end - time)
            time = reach
            self.measurements += 1
            if self.measurements > MOST_DISTANCES:
                raise _TooLong(time, f"{MOST_DISTANCES} distances")
            distance = self._measure(first, second, time)
            if distance <= 0.0:
                return time, 0.0
            safe = max(0.5 * distance, 0.5 * self.allowed.resolution)

    def _measure(self, first: _Solid, second: _Solid, time: float) -> float:
        """Distance of two solids; of solids far apart, of the balls around them.

        Or of the planes that touch both and look the way in which they were apart before, where that is not much less
        than their distance was, and more than the smallest met.
        """
        pin.framesForwardKinematics(self.robot.model, self.robot.data, self.robot.full(self.path.at(time)))
        pose = self.path.object_at(time)
        T_first, T_second = self._pose(first, pose), self._pose(second, pose)
        between = float(np.linalg.norm(T_first.act(first.centre) - T_second.act(second.centre)))
        gap = between - first.radius - second.radius
        if gap > FAR:
            return gap
        key = (first.name, second.name)
        before, direction = self._apart.get(key, (np.inf, None))
        if direction is not None:
            n = T_first.rotation @ direction
            gap = float(
                (first.mesh.vertices @ direction).min() - (second.mesh.vertices @ (T_second.rotation.T @ n)).max()
            )
            gap += float(n @ (T_first.translation - T_second.translation))
            if gap > max(self.smallest, 0.25 * before):
                return gap
        found = nearest(first.geometry, T_first, second.geometry, T_second)
        if found.distance > 0.0:
            self._apart[key] = (found.distance, T_first.rotation.T @ (found.p_first - found.p_second) / found.distance)
        self.smallest = min(self.smallest, found.distance)
        return found.distance

    def _pairs(self, phase: Phase, here: _Solid, risen: bool) -> Iterator[tuple[_Solid, _Solid]]:
        yield from ((link, solid) for link in self.links if self._moves(link) for solid in self.scene)
        yield from self.solids.self_pairs
        for link in self.links:
            if phase is Phase.APPROACH or link.name not in self.gripping:
                yield link, here
        if phase in (Phase.LIFT, Phase.MOVE):
            for solid in self.scene:
                # What carries the object touches it until it is off; the squeezed object may even press on it.
                if risen or solid.name not in self.solids.supports:
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


class _Speeds:
    """Bounds on how fast two solids come nearer to each other within one segment of the trajectory [m/s].

    Only joints that carry one of the two and not the other count: what the arm carries as a whole keeps its distances.
    """

    def __init__(self, follower: _Follower) -> None:
        self._path, self._solids = follower.path, follower.solids
        self._radii = np.array([*(link.radius for link in self._solids.links), 0.0])
        self._reach = follower.resting.radius + float(np.linalg.norm(follower.resting.centre))
        self._end = (-1, np.zeros((0, 0)))

    def within(self, i: int, pairs: Ints, of_object: Ints) -> Floats:
        """Of pairs of links in the segment after point i.

        Args:
            pairs: numbers of the links, or how many there are for what is none.
            of_object: how many of the two are the object.
        """
        path, robot, carried = self._path, self._solids.robot, self._solids.carried
        duration = float(path.times[i + 1] - path.times[i])
        rates = np.abs(robot.fold) @ np.abs(path.q[i + 1] - path.q[i]) / duration
        # Levers change along the segment; a fifth more than at either end covers that.
        far = np.maximum(self._levers(i), self._levers(i + 1))
        levers = np.where(self._solids.slides, 1.0, 1.2 * (far + self._radii[:, None]))
        # how far any point of a link moves: per joint that carries it, at most; and of those, that the other one lacks
        moves = (carried * levers * rates[: carried.shape[1]]) @ (1.0 - carried).T
        first, second = pairs.T
        return np.asarray(moves[first, second] + moves[second, first] + of_object * self._of_object(i, duration))

    def _levers(self, i: int) -> Floats:
        """Distances of the links' middles from the joints at point i [m]."""
        if self._end[0] != i:
            robot = self._solids.robot
            robot.update(self._path.q[i])
            origins = np.array([T.translation for T in robot.data.oMi])[1:]
            centres = [robot.data.oMf[link.frame].act(link.centre) for link in self._solids.links]
            away = np.array([*centres, np.zeros(3)])[:, None] - origins
            self._end = (i, np.sqrt(np.einsum("ljx,ljx->lj", away, away)))
        return self._end[1]

    def _of_object(self, i: int, duration: float) -> float:
        a, b = (self._path.object_at(float(self._path.times[k])) for k in (i, i + 1))
        turn = float(np.linalg.norm(pin.log3(a.rotation.T @ b.rotation)))
        return (float(np.linalg.norm(b.translation - a.translation)) + turn * self._reach) / duration


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
        centre,
        float(np.linalg.norm(mesh.vertices - centre, axis=1).max()),
        frame,
    )


def _distance(first: _Solid, T_first: pin.SE3, second: _Solid, T_second: pin.SE3) -> float:
    """Distance of two surfaces; zero or less where they cut each other [m]."""
    return surface_distance(first.geometry, T_first, second.geometry, T_second)
