"""Where a hand could go: approach directions around the object, times roll, preshape and fingers.   (theory 8.1)

The bounding polyhedron of [A] is the object's own mesh with few faces: its face normals follow the shape. The `sphere`
and `box` grids of other planners are here too, so that the gain can be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.errors import OptionError, unknown_name
from pliant.objects import Mesh
from pliant.robot import PALM_FRAME, Assembly, Preshape, tip_frame

Method = Literal["polyhedron", "sphere", "box"]
METHODS = ("polyhedron", "sphere", "box")
CLEARANCE = 0.005
"""Least distance between palm and object [m]."""
TIP_DEPTHS = (0.012, 0.025)
"""How deep below the surface the tips would meet [m]."""
OPENINGS = (0.0, 0.5)
"""Closing parameters with which the fingers arrive."""
ASIDE = 3e-3
"""The middle of the open tips counts where it is further than this from the palm's axis [m]."""
SHIFT, TURN, OPENED, BENT = 0.006, 0.12, 0.1, 0.1
"""Sizes of the changes that make a neighbour: palm [m, rad], closing parameter, finger joints [rad]."""
MOST_BENT = 4.0
"""No joint is bent away from its preshape by more than this multiple of that."""
MOST_CLOSED = 0.9
"""Fingers arrive no further closed than this."""


@dataclass(frozen=True, eq=False)
class ApproachDirection:
    """Where a hand could come from: a point on or around the object and the outward direction there, object's frame."""

    point: Floats
    normal: Floats
    source: str


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A hand pose relative to the object, a preshape and the fingers that take part.

    Args:
        number: position in the list; stays the same for the same task and seed.
        T_object_palm: the palm frame (z towards the object, x along the closing direction) in the object's frame.
        preshape: name of the preshape.
        fingers: names of the fingers that close.
        source: where it comes from, in words.
        opening: closing parameter at which the fingers arrive: 0 fully open, larger where they enter a narrow place.
        posture: what is added to the joints of the hand in its preshape, open and closed alike, one number each in
            the order of ``Assembly.hand_joints`` [rad, m]; empty: nothing.
    """

    number: int
    T_object_palm: pin.SE3
    preshape: str
    fingers: tuple[str, ...]
    source: str
    opening: float = 0.0
    posture: tuple[float, ...] = ()


def approaches(mesh: Mesh, method: Method = "polyhedron", count: int = 60) -> list[ApproachDirection]:
    """Approach directions around a closed mesh.

    Args:
        mesh: the object [m].
        method: polyhedron: one per face of the mesh decimated to ``count`` faces; sphere: ``count`` directions spread
            evenly over the circumscribed sphere; box: a grid on the sides of the principal-axes box.
        count: about how many.
    """
    if method == "polyhedron":
        return _polyhedron(mesh, count)
    if method == "sphere":
        return _sphere(mesh, count)
    if method == "box":
        return _box(mesh, count)
    raise OptionError("planner", unknown_name("method", str(method), METHODS))


def finger_subsets(assembly: Assembly, preshape: Preshape) -> list[tuple[str, ...]]:
    """Every choice of two or more fingers that this preshape allows, most fingers first.

    Fingers that share a joint move together, so a choice that separates them is left out; so is one whose fingers all
    push in one direction (no two of them more than a right angle apart): it can push an object, not hold it.
    """
    assert assembly.hand is not None
    names = preshape.fingers or tuple(finger.name for finger in assembly.hand.fingers)
    groups = _coupled(assembly, preshape, names)
    directions = _closing_directions(assembly, preshape, names)

    def allowed(subset: tuple[str, ...]) -> bool:
        together = all(not (group & set(subset)) or group <= set(subset) for group in groups)
        return together and any(directions[a] @ directions[b] < 0.0 for a, b in combinations(subset, 2))

    sizes = range(len(names), 1, -1)
    return [subset for size in sizes for subset in combinations(names, size) if allowed(subset)]


def meeting_height(assembly: Assembly, preshape: Preshape, fingers: tuple[str, ...]) -> float:
    """How far in front of the palm the tips are when the closing fingers come closest to each other [m]."""
    q_home = assembly.robot.neutral
    best, height = np.inf, 0.0
    for closed in np.linspace(0.0, 1.0, 41):
        q = assembly.preshaped(q_home, preshape, float(closed))
        palm, *tips = assembly.robot.poses([PALM_FRAME, *(tip_frame(name) for name in fingers)], q)
        local = np.array([palm.actInv(tip.translation) for tip in tips])
        spread = float(np.linalg.norm(local[:, :2] - local[:, :2].mean(axis=0), axis=1).mean())
        if spread < best:
            best, height = spread, float(local[:, 2].mean())
    return height


def make_hypotheses(
    mesh: Mesh,
    assembly: Assembly,
    *,
    method: Method = "polyhedron",
    count: int = 60,
    rolls: int = 8,
    limit: int | None = None,
    seed: int = 0,
    blocked: Callable[[Floats], bool] | None = None,
) -> list[Hypothesis]:
    """All combinations of approach, distance, roll, preshape and fingers, in an order that any prefix samples evenly.

    For every approach the palm stands at several distances: so that the tips meet 12 or 25 mm below the surface, or 12
    or 25 mm past the object's middle, and close by, so that the fingers wrap around; larger than nothing and smaller
    than the hand's length. It faces along the normal at the approach point, or along the same direction at the middle
    of the object. Its own axis goes through the approach point, or the middle of the open finger tips does, where a
    thumb opens further than the fingers. The fingers come fully open, or half closed, to enter a narrow place.

    Args:
        rolls: roll angles about the approach direction, over a full turn.
        limit: keep only so many.
        seed: shuffles the order; the set is the same for every seed unless it is limited.
        blocked: whether a palm cannot be at a place in the object's frame; directions from which every palm would be at
            such a place are not used.
    """
    if assembly.hand is None:
        raise OptionError(assembly.name, "has no hand; a grasp needs one")
    variants = list(_variants(assembly))
    if not variants:
        return []
    middle = mesh.bounds.mean(axis=0)
    found = approaches(mesh, method, count)
    found += [_centred(mesh, approach) for approach in found]
    # the object's own axes as often as a quarter of all others: objects stand and lie along them
    found += _along_axes(mesh) * max(1, len(found) // 24)
    if blocked is not None:
        length = assembly.hand.palm.length
        found = [
            approach
            for approach in found
            if not all(blocked(approach.point + share * length * approach.normal) for share in (0.3, 1.0))
        ]
    sizes = (len(found), rolls, len(variants))
    total = int(np.prod(sizes))
    # numbers drawn without laying out all combinations: there may be a hundred thousand
    order = np.random.default_rng(seed).permutation(total)[:limit]
    hypotheses = []
    for number, i in enumerate(order.tolist()):
        a, roll, v = (int(k) for k in np.unravel_index(i, sizes))
        variant = variants[v]
        turn = 2 * np.pi * roll / rolls
        half = max(0.0, float((found[a].point - middle) @ found[a].normal))
        distance = float(np.clip(variant.distance - variant.share * half, CLEARANCE, assembly.hand.palm.length))
        source = f"{found[a].source}, roll {np.degrees(turn):.0f} deg, {variant.source}"
        pose = _palm_pose(found[a], distance, turn) * pin.SE3(np.eye(3), -np.array([*variant.middle, 0.0]))
        hypotheses.append(Hypothesis(number, pose, variant.preshape, variant.fingers, source, variant.opening))
    return hypotheses


def _along_axes(mesh: Mesh) -> list[ApproachDirection]:
    """From all six sides of the object's own axes, aimed at its middle."""
    axes = [sign * axis for axis in np.eye(3) for sign in (1.0, -1.0)]
    names = ("+x", "-x", "+y", "-y", "+z", "-z")
    middle = mesh.bounds.mean(axis=0)
    return [
        _centred(mesh, ApproachDirection(middle, axis, f"axis {name}")) for axis, name in zip(axes, names, strict=True)
    ]


def _centred(mesh: Mesh, approach: ApproachDirection) -> ApproachDirection:
    """The same direction, but aimed at the middle of the object."""
    middle = mesh.bounds.mean(axis=0)
    height = float((mesh.vertices @ approach.normal).max() - middle @ approach.normal)
    return ApproachDirection(middle + height * approach.normal, approach.normal, f"{approach.source} centred")


class _Variant(NamedTuple):
    """A preshape with some fingers, the palm at a distance from the surface, fingers closed by ``opening``.

    The distance is ``distance`` [m] less ``share`` of the object's half thickness along the approach. ``middle`` is the
    place in the palm's x and y that comes to lie on the approach [m].
    """

    preshape: str
    fingers: tuple[str, ...]
    distance: float
    share: float
    opening: float
    middle: tuple[float, float]
    source: str


def _variants(assembly: Assembly) -> Iterator[_Variant]:
    assert assembly.hand is not None
    length = assembly.hand.palm.length
    for preshape in assembly.hand.preshapes:
        for fingers in finger_subsets(assembly, preshape):
            meeting = meeting_height(assembly, preshape, fingers)
            middles = {opening: _tips_middle(assembly, preshape, fingers, opening) for opening in OPENINGS}
            distances = [(meeting - depth, 0.0, f"tips {depth * 1e3:.0f} mm deep") for depth in TIP_DEPTHS]
            distances += [(meeting - depth, 1.0, f"tips {depth * 1e3:.0f} mm past the middle") for depth in TIP_DEPTHS]
            close = max(CLEARANCE, 0.3 * length)
            if close < meeting - TIP_DEPTHS[-1] - 0.02:
                distances.append((close, 0.0, "wrapping"))
            for distance, share, how in distances:
                for opening in OPENINGS:
                    source = how if opening == 0.0 else f"{how}, {opening:.0%} closed"
                    yield _Variant(preshape.name, fingers, distance, share, opening, (0.0, 0.0), source)
                    if np.hypot(*middles[opening]) > ASIDE:
                        aside = f"{source}, between the open tips"
                        yield _Variant(preshape.name, fingers, distance, share, opening, middles[opening], aside)


def _tips_middle(
    assembly: Assembly, preshape: Preshape, fingers: tuple[str, ...], opening: float
) -> tuple[float, float]:
    """Centre of the smallest circle around the finger tips, in the palm's x and y [m]."""
    q = assembly.preshaped(assembly.robot.neutral, preshape, opening)
    palm, *tips = assembly.robot.poses([PALM_FRAME, *(tip_frame(name) for name in fingers)], q)
    places = np.array([palm.actInv(tip.translation)[:2] for tip in tips])
    middle = places.mean(axis=0)
    for k in range(1, 400):  # towards the farthest, by less and less: converges to the centre
        middle += (places[np.argmax(np.linalg.norm(places - middle, axis=1))] - middle) / (k + 1)
    return float(middle[0]), float(middle[1])


def neighbour(hypothesis: Hypothesis, assembly: Assembly, rng: np.random.Generator, size: float) -> Hypothesis:
    """A hypothesis a little beside another.

    Args:
        size: as of `random_change`.
    """
    return changed(hypothesis, assembly, random_change(assembly, rng, size))


def random_change(assembly: Assembly, rng: np.random.Generator, size: float) -> Floats:
    """A random change of a hypothesis: shift, turn, opening and every joint of the hand, half of these not at all.

    Args:
        size: 1 for changes of about 6 mm, 7 degrees and a tenth of the closing; less for less.
    """
    joints = len(assembly.hand_joints)
    return np.asarray(size * rng.normal(size=7 + joints) * np.append(np.ones(7), rng.random(joints) < 0.5))


def changed(hypothesis: Hypothesis, assembly: Assembly, change: Floats) -> Hypothesis:
    """A hypothesis with its palm moved, in its own frame, its opening and the posture of its fingers changed.

    Args:
        change: as of `random_change`, in units of what is usual.
    """
    shift, turn = SHIFT * change[:3], TURN * change[3:6]
    scale = _bending(assembly)
    posture = np.array(hypothesis.posture or np.zeros(len(scale))) + scale * change[7:]
    return replace(
        hypothesis,
        T_object_palm=hypothesis.T_object_palm * pin.SE3(pin.exp3(turn), shift),
        opening=float(np.clip(hypothesis.opening + OPENED * change[6], 0.0, MOST_CLOSED)),
        posture=tuple(np.clip(posture, -MOST_BENT * scale, MOST_BENT * scale).tolist()),
    )


def unit_change(assembly: Assembly) -> Floats:
    """What 1 means in a change: shift and turn of the palm, closing, joints of the hand [m, rad, -, rad or m]."""
    return np.concatenate([np.full(3, SHIFT), np.full(3, TURN), [OPENED], _bending(assembly)])


def largest_posture(assembly: Assembly) -> Floats:
    """How far the search bends each of the hand's joints away from a preshape [rad, m]."""
    return MOST_BENT * _bending(assembly)


def _bending(assembly: Assembly) -> Floats:
    """Size of a usual change of each of the hand's joints [rad, m]."""
    names = [assembly.robot.joint_names[i] for i in assembly.hand_joints]
    slides = {joint.name for joint in assembly.robot.urdf.joints if joint.kind == "prismatic"}
    return np.array([SHIFT if name in slides else BENT for name in names])


def _palm_pose(approach: ApproachDirection, distance: float, turn: float) -> pin.SE3:
    z = -approach.normal
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    rotation = np.column_stack([x, np.cross(z, x), z]) @ pin.rpy.rpyToMatrix(0.0, 0.0, turn)
    return pin.SE3(rotation, approach.point + distance * approach.normal)


def _closing_directions(assembly: Assembly, preshape: Preshape, names: tuple[str, ...]) -> dict[str, Floats]:
    """Unit vectors of the finger tips' travel when half closed, across the approach direction (all curl along it)."""
    ends = []
    for closed in (0.4, 0.6):
        q = assembly.preshaped(assembly.robot.neutral, preshape, closed)
        palm, *tips = assembly.robot.poses([PALM_FRAME, *(tip_frame(name) for name in names)], q)
        ends.append(np.array([palm.actInv(T.translation) for T in tips]))
    travel = (ends[1] - ends[0]) * (1.0, 1.0, 0.0)
    travel /= np.maximum(np.linalg.norm(travel, axis=1, keepdims=True), 1e-12)
    return dict(zip(names, travel, strict=True))


def _coupled(assembly: Assembly, preshape: Preshape, names: tuple[str, ...]) -> list[set[str]]:
    """Groups of fingers that a moving joint of this preshape shares."""
    assert assembly.hand is not None
    groups = []
    for joint, start in preshape.open.items():
        if preshape.closed[joint] == start:
            continue
        i = assembly.robot.joint_index(joint)
        moved = {
            f.name for f in assembly.hand.fingers if f.name in names and assembly.robot.joints_moving(f.links[-1])[i]
        }
        groups.append(moved)
    return groups


def _polyhedron(mesh: Mesh, count: int) -> list[ApproachDirection]:
    from fast_simplification import simplify

    vertices, faces = mesh.vertices, mesh.faces
    if len(faces) > count:
        # Single precision inside: centre the mesh so that no digits are lost far from the origin.
        centre = vertices.mean(axis=0)
        # The library's own haste (agg=7) leaves slivers whose normals are up to 57 degrees off on a ball; 5 leaves 18.
        start = (vertices - centre).astype(np.float32), faces.astype(np.int32)
        coarse, faces = simplify(*start, target_count=count, agg=5)
        if len(faces) > 2 * count:
            coarse, faces = simplify(*start, target_count=count)
        vertices = coarse.astype(np.float64) + centre
    polyhedron = Mesh(vertices, faces, mesh.name)
    real = polyhedron.face_areas > 1e-6 * polyhedron.face_areas.max()
    return [
        ApproachDirection(polyhedron.face_centres[i], polyhedron.face_normals[i], f"polyhedron face {i}")
        for i in np.flatnonzero(real).tolist()
    ]


def _sphere(mesh: Mesh, count: int) -> list[ApproachDirection]:
    centre = mesh.bounds.mean(axis=0)
    radius = float(np.linalg.norm(mesh.vertices - centre, axis=1).max())
    i = np.arange(count) + 0.5
    polar, turn = np.arccos(1 - 2 * i / count), np.pi * (1 + 5**0.5) * i
    directions = np.column_stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)])
    return [ApproachDirection(centre + radius * d, d, f"sphere direction {k}") for k, d in enumerate(directions)]


def _box(mesh: Mesh, count: int) -> list[ApproachDirection]:
    """A grid on each side of the box along the principal axes of the surface, points by its share of the area."""
    weights = mesh.face_areas / mesh.face_areas.sum()
    middle = weights @ mesh.face_centres
    offset = mesh.face_centres - middle
    _, axes = np.linalg.eigh((offset * weights[:, None]).T @ offset)
    local = (mesh.vertices - middle) @ axes
    low, high = local.min(axis=0), local.max(axis=0)
    centre, half = 0.5 * (low + high), 0.5 * (high - low)
    area = np.array([half[1] * half[2], half[2] * half[0], half[0] * half[1]])
    result = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        share = count * area[axis] / (2 * area.sum())
        n_u = max(1, round(float(np.sqrt(share * half[u] / half[v]))))
        n_v = max(1, round(share / n_u))
        for sign in (-1.0, 1.0):
            for i in range(n_u):
                for j in range(n_v):
                    p = centre.copy()
                    p[axis] += sign * half[axis]
                    p[u] += ((i + 0.5) / n_u * 2 - 1) * half[u]
                    p[v] += ((j + 0.5) / n_v * 2 - 1) * half[v]
                    normal = sign * axes[:, axis]
                    result.append(
                        ApproachDirection(middle + axes @ p, normal, f"box side {axis}{'-+'[sign > 0]} point {i},{j}")
                    )
    return result
