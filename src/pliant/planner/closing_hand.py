"""A hand as the planner uses it: link surfaces prepared for contact, fingers that close each along its own parameter.

Nothing here depends on the object's place: link poses are computed in the palm's frame and moved to the hypothesis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from pliant.arrays import Floats, Ints
from pliant.compiled import kernel
from pliant.contact import DistanceField, MeshSurface, PreparedObject, field_value
from pliant.errors import OptionError
from pliant.planner.hand_links import HandLink, hand_links
from pliant.robot import PALM_FRAME, Assembly, Preshape, Urdf

BESIDE = 4e-3
"""Edges of the object nearer than this to a touch make it a sharp one [m]."""
STENCIL = np.vstack([np.eye(3), -np.eye(3)])


@dataclass(frozen=True, eq=False)
class ClosingGroup:
    """Fingers that move together because they share a joint; usually one finger.

    Args:
        fingers: their names.
        links: positions of their links in ``ClosingHand.links``.
        joints: positions of the joints that close them.
        travel: closed minus open value of each joint [rad, m].
        speed: bound on how fast any point of these fingers moves per unit of closing [m].
    """

    fingers: tuple[str, ...]
    links: tuple[int, ...]
    joints: Ints
    travel: Floats
    speed: float


@dataclass(frozen=True, eq=False)
class Touch:
    """Where a group of fingers first touches.

    Args:
        group: the fingers.
        closed: closing parameter at the first touch, 0 open .. 1 closed; None if they never touch.
        link: position of the link that touches first in the hand's ``links``; -1 if none.
    """

    group: ClosingGroup
    closed: float | None
    link: int


@dataclass(frozen=True, eq=False)
class Closing:
    """The hand around the object, every finger at its first touch (or fully closed where it never touches).

    Args:
        T_object_palm: the palm in the object's frame.
        q_zero: joints at closing parameter zero.
        q_open: joints as the hand arrives.
        q: joints at the touches.
        touches: one per closing group.
    """

    T_object_palm: pin.SE3
    q_zero: Floats
    q_open: Floats
    q: Floats
    touches: tuple[Touch, ...]

    @property
    def touching(self) -> tuple[Touch, ...]:
        """Groups that touch."""
        return tuple(touch for touch in self.touches if touch.closed is not None)


class ClosingHand:
    """The hand of an assembly with everything that closing and contact need, made once.

    Args:
        assembly: with a hand.
        friction: of its pads and links with the object.
        links: prepared already; prepared here if left out.
        whole: links without pads may hold the object, too: palm and backs of fingers.
    """

    def __init__(
        self,
        assembly: Assembly,
        *,
        friction: float = 0.0,
        links: tuple[HandLink, ...] | None = None,
        whole: bool = False,
    ) -> None:
        if assembly.hand is None:
            raise OptionError(assembly.name, "has no hand; a grasp needs one")
        self.assembly = assembly
        self.description = assembly.hand
        self.robot = assembly.robot
        links = links if links is not None else hand_links(self.robot.urdf, self.description, friction)
        self.links = tuple(replace(link, may_touch=whole) for link in links)
        self.palm = next((i for i, link in enumerate(self.links) if link.name == self.description.palm.link), -1)
        self._frames = [self.robot.frame_id(link.name) for link in self.links]
        self._palm_frame = self.robot.frame_id(PALM_FRAME)
        self._points = np.concatenate([link.points for link in self.links])
        self._ends = np.concatenate([[0], np.cumsum([len(link.points) for link in self.links])])
        self._cover = np.array([link.cover for link in self.links])
        self._all_points = [np.vstack([link.points, link.pad_points]) for link in self.links]
        self._groups: dict[tuple[str, tuple[str, ...]], tuple[ClosingGroup, ...]] = {}

    def on(self, assembly: Assembly, friction: float, whole: bool = False) -> ClosingHand:
        """The same hand on an assembly that may stand elsewhere, with other friction; quick."""
        links = tuple(replace(link, surface=replace(link.surface, friction=friction)) for link in self.links)
        return ClosingHand(assembly, links=links, whole=whole)

    def opening(self, bent: Floats) -> float:
        """How far apart the pads of two fingers can be, middle to middle, in an open preshape [m].

        Args:
            bent: how far each of the hand's joints may be bent away from the preshape [rad, m].
        """
        low, high = self.robot.lower, self.robot.upper
        widest = 0.0
        for preshape in self.description.preshapes:
            q = self.q_open(preshape)
            for i, most in zip(self.assembly.hand_joints, bent, strict=True):
                tried = [q, q.copy(), q.copy()]
                tried[1][i], tried[2][i] = np.clip([q[i] - most, q[i] + most], low[i], high[i])
                q = max(tried, key=self._apart)
            widest = max(widest, self._apart(q))
        return widest

    def _apart(self, q: Floats) -> float:
        """Largest distance between the middles of two fingers' pads [m]."""
        poses = self.poses(q, pin.SE3.Identity())
        places = [(link.finger, T.act(link.middle)) for link, T in zip(self.links, poses, strict=True) if link.pad]
        pairs = [(a, b) for (first, a), (second, b) in combinations(places, 2) if first != second]
        return max((float(np.linalg.norm(a - b)) for a, b in pairs), default=0.0)

    def preshape(self, name: str) -> Preshape:
        """A preshape of the hand by its name."""
        return next(preshape for preshape in self.description.preshapes if preshape.name == name)

    def q_open(self, preshape: Preshape, posture: tuple[float, ...] = ()) -> Floats:
        """Joints with the hand open in a preshape, the arm neutral.

        Args:
            posture: added to the hand's joints, one number each [rad, m]; empty: nothing.
        """
        q = self.assembly.preshaped(self.robot.neutral, preshape, 0.0)
        if posture:
            q[self.assembly.hand_joints] += posture
            q = np.clip(q, self.robot.lower, self.robot.upper)
        return q

    def groups(self, preshape: Preshape, fingers: tuple[str, ...]) -> tuple[ClosingGroup, ...]:
        """The chosen fingers, put together where they share a closing joint."""
        known = preshape.name, fingers
        if known not in self._groups:
            self._groups[known] = self._new_groups(preshape, fingers)
        return self._groups[known]

    def _new_groups(self, preshape: Preshape, fingers: tuple[str, ...]) -> tuple[ClosingGroup, ...]:
        moving = [name for name, start in preshape.open.items() if preshape.closed[name] != start]
        joints_of: dict[str, set[int]] = {}
        for finger in self.description.fingers:
            if finger.name in fingers:
                carried = self.robot.joints_moving(finger.links[-1])
                joints_of[finger.name] = {i for name in moving if carried[i := self.robot.joint_index(name)]}
        groups: list[tuple[list[str], set[int]]] = []
        for name, joints in joints_of.items():
            merged = ([name], set(joints))
            for group in [group for group in groups if group[1] & joints]:
                merged = (group[0] + merged[0], group[1] | merged[1])
                groups.remove(group)
            groups.append(merged)
        return tuple(self._group(preshape, names, sorted(joints)) for names, joints in groups)

    def _group(self, preshape: Preshape, fingers: list[str], joints: list[int]) -> ClosingGroup:
        names = [self.robot.joint_names[i] for i in joints]
        travel = np.array([preshape.closed[name] - preshape.open[name] for name in names])
        kinds = {joint.name: joint.kind for joint in self.robot.urdf.joints}
        speed = 0.0
        for name, change in zip(names, travel, strict=True):
            lever = 1.0 if kinds[name] == "prismatic" else self._lever(name)
            speed += abs(float(change)) * lever
        links = tuple(i for i, link in enumerate(self.links) if link.finger in fingers)
        return ClosingGroup(tuple(sorted(fingers)), links, np.array(joints, dtype=np.int64), travel, speed)

    def _lever(self, joint: str) -> float:
        """Largest distance of any surface behind a joint (or its followers) from the axis, whatever the angles [m]."""
        reach = {link.name: link.reach for link in self.links}
        lever = 0.0
        for j in self.robot.urdf.joints:
            if j.name == joint or (j.mimic is not None and j.mimic.joint == joint):
                factor = 1.0 if j.mimic is None else abs(j.mimic.multiplier)
                lever += factor * _stretched(self.robot.urdf, j.child, reach)
        return lever

    def with_closing(self, q: Floats, group: ClosingGroup, start: Floats, closed: float) -> Floats:
        """``q`` with a group's joints at ``start + closed * travel``, within their limits."""
        result = q.copy()
        result[group.joints] = start[group.joints] + closed * group.travel
        return np.clip(result, self.robot.lower, self.robot.upper)

    def at_opening(self, start: Floats, groups: tuple[ClosingGroup, ...], opening: float) -> Floats:
        """``start`` with all of these groups closed by as much as they arrive with."""
        q = start
        for group in groups:
            q = self.with_closing(q, group, start, opening)
        return q

    def with_arm(self, q_hand: Floats, q_arm: Floats) -> Floats:
        """The hand's joints of one vector and the arm's of another."""
        q = q_hand.copy()
        q[self.assembly.arm_joints] = q_arm[self.assembly.arm_joints]
        return q

    def poses(self, q: Floats, T_any_palm: pin.SE3, which: tuple[int, ...] | None = None) -> list[pin.SE3]:
        """Poses of every entry of ``links``, or of those chosen, when the palm frame stands at ``T_any_palm``."""
        pin.framesForwardKinematics(self.robot.model, self.robot.data, self.robot.full(q))
        placements = self.robot.data.oMf
        root = T_any_palm * placements[self._palm_frame].inverse()
        frames = self._frames if which is None else [self._frames[i] for i in which]
        return [root * placements[i] for i in frames]

    def point_jacobian(self, q: Floats, link: int, p_palm: Floats) -> Floats:
        """3 x n: how a point fixed to a link moves in the palm's frame with each of the hand's joints [m/rad, 1].

        Args:
            p_palm: the point, in the palm's frame [m].
        """
        robot = self.robot
        robot.update(q)
        palm, T = robot.data.oMf[self._palm_frame], robot.data.oMf[self._frames[link]]
        J = robot.live_jacobian(self.links[link].name)[:, self.assembly.hand_joints]
        arm = palm.act(p_palm) - T.translation
        return np.asarray(palm.rotation.T @ (J[:3] - pin.skew(arm) @ J[3:]))

    def turn_jacobian(self, q: Floats, link: int) -> Floats:
        """3 x n: how a link turns in the palm's frame with each of the hand's joints."""
        self.robot.update(q)
        J = self.robot.live_jacobian(self.links[link].name)[3:, self.assembly.hand_joints]
        return np.asarray(self.robot.data.oMf[self._palm_frame].rotation.T @ J)

    def bounds(self, prepared: PreparedObject, Ts_object_link: list[pin.SE3], which: tuple[int, ...]) -> Floats:
        """Lower bounds of the distances between some links (one pose for each) and the object, and hence negative where
        they may touch [m].

        Quick: points on the links in the object's distance field. A value below minus twice the cover is an overlap.
        """
        field, chosen = _field(prepared), np.array(which, dtype=np.int64)
        least = self._sampled(field, Ts_object_link, chosen)
        return np.asarray(least - self._cover[chosen] - 0.25 * field.step)

    def sampled_touch(
        self, prepared: PreparedObject, group: ClosingGroup, start: Floats, places: Floats, T_object_palm: pin.SE3
    ) -> tuple[float, int]:
        """Closing parameter at which sample points of a group's links first touch, and the link; (last place, -1) where
        they do not.

        Args:
            start: joints at closing parameter zero.
            places: closing parameters, evenly spaced.
        """
        field, which = _field(prepared), np.array(group.links, dtype=np.int64)
        step = float(places[1] - places[0])
        k, before, at_before = 0, np.inf, float(places[0])
        while k < len(places):
            at = float(places[k])
            poses = self.poses(self.with_closing(start, group, start, at), T_object_palm, group.links)
            least = self._sampled(field, poses, which)
            nearest = int(np.argmin(least))
            now = float(least[nearest])
            if now <= 0.0:
                share = before / max(before - now, 1e-12) if np.isfinite(before) else 1.0
                return at_before + share * (at - at_before), group.links[nearest]
            before, at_before = now, at
            # no point moves faster than the group's speed
            k += max(1, int(now / max(group.speed * step, 1e-12)))
        return float(places[-1]), -1

    def sampled_place(
        self, prepared: PreparedObject, link: int, T_object_link: pin.SE3, depth: float
    ) -> tuple[Floats, Floats]:
        """About where a link presses on the object, and the object's outward normal there, its frame.

        The mean of its sample points; those count the more, the less they are further away than the nearest. On the
        scale of a third of the depth it is where a bed of springs, pressed in so far by a tilted pad, would press.

        Args:
            depth: about how far the link will be pressed in [m].
        """
        field = _field(prepared)
        R, t = T_object_link.rotation, T_object_link.translation
        point = (
            R @ _pressed_place(self._all_points[link], R, t, depth / 3.0, field.values, field.corner, field.step) + t
        )
        return point, self.sampled_gap(prepared, point)[1]

    def sampled_gap(self, prepared: PreparedObject, p_object: Floats) -> tuple[float, Floats]:
        """Distance of a point from the object, and the direction in which it grows, its frame [m]."""
        field = _field(prepared)
        values = field_values(p_object + np.vstack([STENCIL * 0.5 * field.step, np.zeros(3)]), field)
        outward = values[:3] - values[3:6]
        return float(values[6]), outward / max(float(np.linalg.norm(outward)), 1e-12)

    def patch_radius(self, prepared: PreparedObject, link: int, sharpness: float, force: float) -> float:
        """About the radius of the patch on which a link presses with a force  (Hertz) [m].

        Args:
            sharpness: of the object there [rad].
            force: of the contact [N].
        """
        curved = sharpness / BESIDE + self.links[link].curvature
        radius = 1.0 / max(curved, 1.0 / prepared.surface.size)
        return float(np.cbrt(0.75 * force * radius * (prepared.compliance + self.links[link].surface.compliance)))

    def sharpness(self, prepared: PreparedObject, p_object: Floats, outward: Floats) -> float:
        """By how much the object's outward normal turns within `BESIDE` of a point of its surface [rad]."""
        field = _field(prepared)
        across = np.linalg.svd(outward[None])[2][1:]
        places = p_object + BESIDE * np.vstack([across, -across])
        steps = 0.5 * field.step * np.vstack([np.eye(3), -np.eye(3)])
        values = field_values((places[:, None] + steps[None]).reshape(-1, 3), field).reshape(-1, 2, 3)
        normals = values[:, 0] - values[:, 1]
        lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-12)
        return float(np.arccos(np.clip((normals @ outward / lengths).min(), -1.0, 1.0)))

    def sampled_distances(self, prepared: PreparedObject, poses: list[pin.SE3], which: tuple[int, ...]) -> Floats:
        """Smallest distance of the sample points of some links from the object [m]."""
        return self._sampled(_field(prepared), [poses[i] for i in which], np.array(which, dtype=np.int64))

    def _sampled(self, field: DistanceField, poses: list[pin.SE3], which: Ints) -> Floats:
        """Smallest values of the field at the sample points of some links, whose poses these are."""
        rotations, offsets = np.array([T.rotation for T in poses]), np.array([T.translation for T in poses])
        return _least(self._points, self._ends, which, rotations, offsets, field.values, field.corner, field.step)

    def sample_distances(self, prepared: PreparedObject, bounds: Floats) -> Floats:
        """Smallest signed distance of every link's sample points from its bound: negative is a sure overlap [m]."""
        return np.asarray(bounds + self._cover + 0.25 * _field(prepared).step)


def _field(prepared: PreparedObject) -> DistanceField:
    assert isinstance(prepared.surface, MeshSurface)
    return prepared.surface.field


def field_values(points: Floats, field: DistanceField) -> Floats:
    """Signed distances of points from the object, between the nodes of its field [m]."""
    return _values(np.ascontiguousarray(points), field.values, field.corner, field.step)


@kernel
def _values(points: Floats, values: NDArray[np.float32], corner: Floats, step: float) -> Floats:
    out = np.empty(len(points))
    for i in range(len(points)):
        out[i] = field_value(points[i, 0], points[i, 1], points[i, 2], values, corner, step)
    return out


@kernel
def _pressed_place(
    points: Floats,
    R: Floats,
    t: Floats,
    scale: float,
    values: NDArray[np.float32],
    corner: Floats,
    step: float,
) -> Floats:
    """Mean of some points of a link, in its frame, weighted by exp(-(distance - least distance) / scale)."""
    distances, least = np.empty(len(points)), np.inf
    for i in range(len(points)):
        a, b, c = points[i, 0], points[i, 1], points[i, 2]
        x = R[0, 0] * a + R[0, 1] * b + R[0, 2] * c + t[0]
        y = R[1, 0] * a + R[1, 1] * b + R[1, 2] * c + t[1]
        z = R[2, 0] * a + R[2, 1] * b + R[2, 2] * c + t[2]
        distances[i] = field_value(x, y, z, values, corner, step)
        least = min(least, distances[i])
    mean, total = np.zeros(3), 0.0
    for i in range(len(points)):
        away = (distances[i] - least) / scale
        if away < 30.0:
            weight = np.exp(-away)
            total += weight
            for axis in range(3):
                mean[axis] += weight * points[i, axis]
    for axis in range(3):
        mean[axis] /= total
    return mean


@kernel
def _least(
    points: Floats,
    ends: Ints,
    chosen: Ints,
    rotations: Floats,
    offsets: Floats,
    values: NDArray[np.float32],
    corner: Floats,
    step: float,
) -> Floats:
    """Smallest field value over the points of every chosen link."""
    R, t, out = rotations, offsets, np.empty(len(chosen))
    for k in range(len(chosen)):
        least = np.inf
        for i in range(ends[chosen[k]], ends[chosen[k] + 1]):
            a, b, c = points[i, 0], points[i, 1], points[i, 2]
            x = R[k, 0, 0] * a + R[k, 0, 1] * b + R[k, 0, 2] * c + t[k, 0]
            y = R[k, 1, 0] * a + R[k, 1, 1] * b + R[k, 1, 2] * c + t[k, 1]
            z = R[k, 2, 0] * a + R[k, 2, 1] * b + R[k, 2, 2] * c + t[k, 2]
            least = min(least, field_value(x, y, z, values, corner, step))
        out[k] = least
    return out


def _stretched(urdf: Urdf, link: str, reach: dict[str, float]) -> float:
    """Largest distance that any surface point behind ``link`` can have from the link's origin [m]."""
    best = reach.get(link, 0.0)
    for joint in urdf.joints:
        if joint.parent == link:
            offset = float(np.linalg.norm(joint.T_parent_joint.translation))
            travel = max(abs(joint.lower), abs(joint.upper)) if joint.kind == "prismatic" else 0.0
            best = max(best, offset + travel + _stretched(urdf, joint.child, reach))
    return best
