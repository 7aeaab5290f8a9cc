"""Keep-out distances: how far links are from obstacles and from each other, and joint speeds that keep them so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Floats, Records
from pliant.collision.shapes import Nearest, link_geometry, nearest_of
from pliant.errors import OptionError, Problem
from pliant.robot import LinkShape, Robot, live_link_poses


@dataclass(frozen=True, eq=False)
class Obstacle:
    """What to keep away from: a Coal geometry (`box`, `sphere`, `cylinder`, `triangles`, `convex_hull` make one)
    and its pose in the world.
    """

    name: str
    geometry: Any
    T_world_obstacle: pin.SE3


class BodyPair(NamedTuple):
    """A link, and the obstacle or second link that it is near."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


@dataclass(frozen=True)
class PathClearance:
    """The tightest place of a joint path.

    Attributes:
        distance: smallest distance [m]; negative where they overlap, infinite if nothing is near.
        index: at which point of the path.
        pair: what is near.
    """

    distance: float
    index: int
    pair: BodyPair


@dataclass(frozen=True, eq=False)
class _Body:
    """One collision shape of a link, or an obstacle (link -1)."""

    name: str
    frame: int
    T: pin.SE3
    geometry: Any
    centre: Floats
    radius: float


class Clearance:
    """Distances between links and obstacles, by Coal.   (theory 5.5)

    As rows for the ``qp`` solver they are velocity dampers: a link nearer than ``influence`` may approach no faster
    than ``rate (d - distance)``, so it comes to rest at the keep-out distance, and is pushed out where it starts
    inside.

    Meshes of links are replaced by their convex hulls: on the safe side, and quick.

    Args:
        obstacles: what to keep away from.
        links: which links keep away; all that have collision shapes by default.
        pairs: pairs of links that keep away from each other.
        distance: keep-out distance [m].
        influence: beyond this nothing is done [m].
        rate: [1/s].
        ignore: (link, obstacle) pairs that may touch.
    """

    def __init__(
        self,
        robot: Robot,
        obstacles: Iterable[Obstacle] = (),
        *,
        links: Sequence[str] | None = None,
        pairs: Iterable[tuple[str, str]] = (),
        distance: float = 0.01,
        influence: float = 0.1,
        rate: float = 10.0,
        ignore: Iterable[tuple[str, str]] = (),
    ) -> None:
        if not 0.0 <= distance < influence:
            what = f"distance {distance:g} m, influence {influence:g} m"
            raise OptionError("clearance", Problem("", what, "0 <= distance < influence"))
        self.robot, self.distance, self.influence, self.rate = robot, distance, influence, rate
        self._links = live_link_poses(robot)
        names = list(links) if links is not None else [link.name for link in robot.urdf.links if link.collisions]
        bodies: dict[str, list[_Body]] = {name: self._link_bodies(name) for name in names}
        fixed = [_body(o.name, -1, o.T_world_obstacle, o.geometry) for o in obstacles]
        skip = set(ignore)
        self._pairs = [
            (body, obstacle)
            for name in names
            for body in bodies[name]
            for obstacle in fixed
            if (name, obstacle.name) not in skip
        ]
        for first, second in pairs:
            for name in (first, second):
                bodies.setdefault(name, self._link_bodies(name))
            self._pairs += [(a, b) for a in bodies[first] for b in bodies[second]]
        self._spheres = _SpherePairs(self._pairs)
        self._support = {name: self._carriers(name) for name in bodies}
        self._request, self._result = coal.DistanceRequest(), coal.DistanceResult()

    def _link_bodies(self, name: str) -> list[_Body]:
        frame = self.robot.frame_id(name)
        shapes: tuple[LinkShape, ...] = self.robot.urdf.link(name).collisions
        return [_body(name, frame, shape.T_link_shape, link_geometry(shape)) for shape in shapes]

    def _carriers(self, name: str) -> Floats:
        joint_id = self.robot.model.frames[self.robot.frame_id(name)].parentJoint
        carriers = np.zeros(self.robot.model.nv)
        carriers[[i - 1 for i in self.robot.model.supports[joint_id] if i > 0]] = 1.0
        return carriers

    def barrier(self, q: Floats) -> tuple[Floats, Floats] | None:
        """(A, b) with A qdot >= b for everything nearer than ``influence``; None if nothing is.

        The robot must have been brought to ``q`` (``robot.update``), as the servo does.
        """
        rows, bounds = [], []
        for first, second in self._near(self.influence):
            d, p_first, p_second, n = self._distance(first, second)
            if d >= self.influence or not np.isfinite(n).all():
                continue
            # d grows with the first body's point along n and shrinks with the second's.
            row = self._point_row(first, p_first, n)
            if second.frame >= 0:
                row = row - self._point_row(second, p_second, n)
            rows.append(row @ self.robot.fold)
            bounds.append(-self.rate * (d - self.distance))
        return (np.array(rows), np.array(bounds)) if rows else None

    def _point_row(self, body: _Body, p: Floats, n: Floats) -> Floats:
        """n . J_p over the moving joints, from the joint twists at the world's origin."""
        J = self.robot.data.J
        return np.asarray((n @ J[:3] + np.cross(p, n) @ J[3:]) * self._support[body.name])

    def nearest(self, q: Floats, *, within: float = np.inf) -> PathClearance:
        """The smallest distance at one joint vector, if it is below ``within``."""
        self.robot.update(q)
        best = PathClearance(np.inf, 0, BodyPair("", ""))
        for first, second in self._near(within):
            d = self._distance(first, second).distance
            if d < best.distance and d < within:
                best = PathClearance(d, 0, BodyPair(first.name, second.name))
        return best

    def collision(self, q: Floats, *, margin: float = 0.0) -> BodyPair | None:
        """The first pair found nearer than ``margin``, or None."""
        self.robot.update(q)
        for first, second in self._near(margin):
            if self._distance(first, second).distance <= margin:
                return BodyPair(first.name, second.name)
        return None

    def collisions(self, q: Floats, *, margin: float = 0.0) -> list[BodyPair]:
        """Every pair nearer than ``margin``."""
        self.robot.update(q)
        near = [pair for pair in self._near(margin) if self._distance(*pair).distance <= margin]
        return [BodyPair(first.name, second.name) for first, second in near]

    def levers(self, longest: Floats) -> Floats:
        """How far the bodies of each pair can come nearer for a unit of each independent joint, pairs x joints [m/rad].

        Args:
            longest: the same for any body of the robot, by joint; a joint that carries both bodies of a pair, or
                neither, does not count.
        """
        still = np.zeros(self.robot.model.nv)
        rows = [
            np.where(self._support[a.name] != self._support.get(b.name, still), 1.0, 0.0) @ np.abs(self.robot.fold) > 0
            for a, b in self._pairs
        ]
        return np.array(rows, dtype=np.float64).reshape(len(self._pairs), len(longest)) * longest

    def distances(self, q: Floats, pairs: Iterable[int]) -> Floats:
        """Distances of some pairs, by their rows in `levers` [m]."""
        self.robot.update(q)
        return np.array([self._distance(*self._pairs[i]).distance for i in pairs])

    def along(self, path: ArrayLike) -> PathClearance:
        """The tightest place of a joint path, point by point."""
        best = PathClearance(np.inf, 0, BodyPair("", ""))
        for i, q in enumerate(np.atleast_2d(np.asarray(path, dtype=np.float64))):
            here = self.nearest(q, within=best.distance)
            if here.distance < best.distance:
                best = PathClearance(here.distance, i, here.pair)
        return best

    # -- geometry ------------------------------------------------------------------------------------------------

    def _near(self, within: float) -> Iterable[tuple[_Body, _Body]]:
        """Pairs whose bounding spheres are nearer than ``within``."""
        if not self._pairs:
            return
        for i in np.flatnonzero(self._spheres.gaps(self._links) <= within):
            yield self._pairs[i]

    def _distance(self, first: _Body, second: _Body) -> Nearest:
        self._result.clear()
        coal.distance(
            first.geometry, self._pose(first), second.geometry, self._pose(second), self._request, self._result
        )
        return nearest_of(self._result)

    def _pose(self, body: _Body) -> Any:
        T = body.T if body.frame < 0 else self.robot.data.oMf[body.frame] * body.T
        return coal.Transform3s(T.rotation, T.translation)


class _SpherePairs:
    """Bounding spheres of all pairs at once: what is far apart is not asked about."""

    def __init__(self, pairs: Sequence[tuple[_Body, _Body]]) -> None:
        self._sides = [_Spheres([pair[side] for pair in pairs]) for side in (0, 1)]
        self._radii = np.array([a.radius + b.radius for a, b in pairs])

    def gaps(self, links: Records) -> Floats:
        a, b = (side.centres(links) for side in self._sides)
        return np.asarray(np.linalg.norm(a - b, axis=1) - self._radii)


class _Spheres:
    def __init__(self, bodies: Sequence[_Body]) -> None:
        self._frame = np.array([body.frame for body in bodies])
        self._local = np.array([body.centre for body in bodies])

    def centres(self, links: Records) -> Floats:
        poses = links[self._frame]
        moved = np.einsum("kji,kj->ki", poses["columns"], self._local) + poses["translation"]
        return np.where((self._frame >= 0)[:, None], moved, self._local)


def _body(name: str, frame: int, T: pin.SE3, geometry: Any) -> _Body:
    geometry.computeLocalAABB()
    centre = T.act(np.asarray(geometry.aabb_center).copy())
    return _Body(name, frame, pin.SE3(T), geometry, centre, float(geometry.aabb_radius))
