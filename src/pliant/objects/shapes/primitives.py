"""Closed meshes of everyday shapes by parameters; every vertex lies on the true surface.

Angles and positions: the axis of a round shape is z. Shapes are centred at the centroid of their volume, except bottle
and cup, which stand on z = 0 with their axis through the origin. ``edge`` is the edge length of the triangles aimed at.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.errors import OptionError, Problem
from pliant.objects.material import is_finite
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.shapes.revolution import Curve, arc, polyline, revolve

MOST_FACES = 1_000_000
SHORTEST, LONGEST = 1e-6, 100.0  # [m] of any length of a shape


def torus(major: float = 0.035, minor: float = 0.015, *, edge: float | None = None) -> Mesh:
    """A ring: a circle of radius ``minor`` carried round the z axis at radius ``major``."""
    _positive("torus", major=major, minor=minor)
    _below("torus", "minor", minor, "major", major)
    area = 4 * np.pi**2 * major * minor
    edge = min(_edge("torus", edge, 2 * (major + minor), area), 1.2 * minor)
    _edge("torus", edge, edge, area)
    return revolve([arc((major, 0.0), minor, 0.0, 360.0)], edge, name="torus")


def sphere(radius: float = 0.03, *, edge: float | None = None) -> Mesh:
    """A ball: the faces of an icosahedron, each cut into f x f triangles, vertices moved out to the sphere."""
    _positive("sphere", radius=radius)
    edge = _edge("sphere", edge, 2 * radius, 4 * np.pi * radius**2)
    # An edge of the icosahedron spans 1.10715 rad; the cut triangles are on average 1.05 times their arc.
    frequency = max(1, round(1.10715 * 1.05 * radius / edge))
    directions, faces = _geodesic(frequency)
    return Mesh(radius * directions, faces, "sphere")


def box(size: tuple[float, float, float] = (0.06, 0.04, 0.1), *, edge: float | None = None) -> Mesh:
    """A cuboid with the given edge lengths along x, y, z."""
    lengths = np.asarray(size, dtype=np.float64)
    if lengths.shape != (3,):
        raise _wrong("box", "size", f"{size!r}", "three lengths [m]")
    _positive("box", size_x=lengths[0], size_y=lengths[1], size_z=lengths[2])
    a, b, c = (float(x) for x in lengths)
    edge = _edge("box", edge, float(lengths.max()), 2 * (a * b + b * c + c * a))
    # One cell, or an even number: then the diagonals can be mirrored about the middle of each side.
    cells = [1 if length / edge < 1.5 else 2 * max(1, round(length / edge / 2)) for length in (a, b, c)]
    vertices, faces, first = [], [], 0
    for axis in range(3):
        u, w = (axis + 1) % 3, (axis + 2) % 3
        grid, triangles = _square(cells[u], cells[w])
        for side in (-0.5, 0.5):
            points = np.empty((len(grid), 3))
            points[:, axis], points[:, u], points[:, w] = side, grid[:, 0], grid[:, 1]
            vertices.append(points)
            faces.append(first + (triangles if side > 0 else triangles[:, ::-1]))
            first += len(points)
    unit, which = np.unique(np.round(np.concatenate(vertices), 12), axis=0, return_inverse=True)
    return Mesh(unit * lengths, which.reshape(-1)[np.concatenate(faces)], "box")


def cylinder(radius: float = 0.03, height: float = 0.1, *, rounding: float = 0.0, edge: float | None = None) -> Mesh:
    """A round rod along z; ``rounding`` is the radius of its two edges, 0 for sharp ones."""
    return _rod("cylinder", radius, height, rounding, edge, "height")


def disc(radius: float = 0.03, thickness: float = 0.03, *, rounding: float = 0.0, edge: float | None = None) -> Mesh:
    """A round plate of the given thickness along z; ``rounding`` as for a cylinder."""
    return _rod("disc", radius, thickness, rounding, edge, "thickness")


def tube(outer: float = 0.03, inner: float = 0.024, height: float = 0.1, *, edge: float | None = None) -> Mesh:
    """A pipe along z, open at both ends: a solid wall between radii ``inner`` and ``outer``."""
    _positive("tube", outer=outer, inner=inner, height=height)
    _below("tube", "inner", inner, "outer", outer)
    area = 2 * np.pi * (outer + inner) * height + 2 * np.pi * (outer**2 - inner**2)
    edge = _edge("tube", edge, max(2 * outer, height), area)
    h = height / 2
    profile = polyline((inner, -h), (outer, -h), (outer, h), (inner, h), (inner, -h))
    return revolve(profile, edge, name="tube")


def bottle(
    radius: float = 0.033,
    height: float = 0.2,
    neck_radius: float = 0.013,
    *,
    neck_height: float = 0.03,
    shoulder_height: float = 0.05,
    rounding: float = 0.006,
    edge: float | None = None,
) -> Mesh:
    """A closed bottle standing on z = 0: rounded heel, straight body, cosine shoulder, straight neck, flat top."""
    _positive(
        "bottle",
        radius=radius,
        height=height,
        neck_radius=neck_radius,
        neck_height=neck_height,
        shoulder_height=shoulder_height,
        rounding=rounding,
    )
    _below("bottle", "neck_radius", neck_radius, "radius", radius)
    _below("bottle", "rounding", rounding, "radius", radius)
    z_shoulder = height - neck_height - shoulder_height
    if z_shoulder <= rounding:
        least = height - z_shoulder + rounding
        raise _wrong("bottle", "height", f"{height} m", f"more than neck, shoulder and rounding: {least:g} m")
    edge = _edge("bottle", edge, max(2 * radius, height), 2 * np.pi * radius * (height + radius))
    mean, half = 0.5 * (radius + neck_radius), 0.5 * (radius - neck_radius)

    def shoulder(t: Floats) -> Floats:
        return np.stack([mean + half * np.cos(np.pi * t), z_shoulder + t * shoulder_height], axis=1)

    profile: list[Curve] = [
        *polyline((0.0, 0.0), (radius - rounding, 0.0)),
        arc((radius - rounding, rounding), rounding, -90.0, 0.0),
        *polyline((radius, rounding), (radius, z_shoulder)),
        shoulder,
        *polyline((neck_radius, height - neck_height), (neck_radius, height), (0.0, height)),
    ]
    return revolve(profile, edge, name="bottle")


def cup(
    radius: float = 0.04,
    height: float = 0.09,
    wall: float = 0.003,
    *,
    base_radius: float | None = None,
    base: float | None = None,
    edge: float | None = None,
) -> Mesh:
    """An open cup standing on z = 0, as the solid between its inner and its outer face.

    Args:
        radius: outside, at the rim [m].
        height: [m].
        wall: thickness, measured along r [m].
        base_radius: outside, at the foot; the rim's where absent [m].
        base: thickness of the bottom; the wall's where absent [m].
    """
    foot = radius if base_radius is None else base_radius
    floor = wall if base is None else base
    _positive("cup", radius=radius, height=height, wall=wall, base_radius=foot, base=floor)
    _below("cup", "wall", wall, "radius", min(radius, foot))
    _below("cup", "base", floor, "height", height)
    area = 2 * np.pi * (radius + foot) * height + 2 * np.pi * foot**2
    edge = _edge("cup", edge, max(2 * radius, height), area)
    inner_foot = foot + (radius - foot) * floor / height - wall
    if inner_foot <= 0:
        raise _wrong("cup", "wall", f"{wall} m", f"below {inner_foot + wall:g} m: nothing is left inside")
    rim, inner_rim = (radius, height), (radius - wall, height)
    profile = polyline((0.0, 0.0), (foot, 0.0), rim, inner_rim, (inner_foot, floor), (0.0, floor))
    return revolve(profile, edge, name="cup")


def banana(
    length: float = 0.18, radius: float = 0.018, bend: float = 0.12, *, taper: float = 1.0, edge: float | None = None
) -> Mesh:
    """A bent fruit: round cross-sections about a circular centre line in the x-z plane, thin towards both ends.

    At share t of the centre line the radius is ``radius`` times (4 t (1 - t)) to the power taper / 2: an ellipse's for
    taper 1, more pointed above.

    Args:
        length: of the centre line [m].
        radius: of the thickest cross-section, in the middle [m].
        bend: radius of the centre line [m]; the ends point to +z.
        taper: between 1 and 2.
    """
    _positive("banana", length=length, radius=radius, bend=bend, taper=taper)
    _below("banana", "radius", radius, "bend", bend)
    if not 1.0 <= taper <= 2.0:
        raise _wrong("banana", "taper", f"{taper}", "between 1 and 2")
    if length > 1.5 * np.pi * bend:
        raise _wrong("banana", "length", f"{length} m", f"at most {1.5 * np.pi * bend:.3g} m at this bend")
    edge = _edge("banana", edge, min(length, 6 * radius), 2 * np.pi * radius * length * 0.8)

    def profile(angle_share: Floats) -> Floats:
        # Walking along t = (1 - cos a) / 2 makes the blunt ends, where the radius rises like a root, smooth in a.
        angle = np.pi * angle_share
        r = radius * np.sin(angle) ** taper
        r[(angle_share == 0) | (angle_share == 1)] = 0.0
        return np.stack([r, -0.5 * length * np.cos(angle)], axis=1)

    straight = revolve([profile], edge, name="banana")
    x, y, s = straight.vertices.T
    angle, reach = s / bend, bend - x
    # y changes sign so that the bending keeps faces outwards.
    vertices = np.stack([reach * np.sin(angle), -y, bend - reach * np.cos(angle)], axis=1)
    vertices[:, 2] -= _banana_centroid(length, radius, bend, taper)
    return Mesh(vertices, straight.faces, "banana")


def _banana_centroid(length: float, radius: float, bend: float, taper: float) -> float:
    """Height of the banana's centroid above the lowest point of its centre line.

    A disc of radius r across a centre line of radius R has the volume pi r^2 ds (Pappus) and the centroid at
    R + r^2 / (4 R) from the centre of the bend.
    """
    node, weight = np.polynomial.legendre.leggauss(200)
    a = 0.5 * np.pi * (node + 1.0)
    r = radius * np.sin(a) ** taper
    slice_volume = weight * r**2 * np.sin(a)
    reach = bend + r**2 / (4.0 * bend)
    return bend - float(slice_volume @ (reach * np.cos(0.5 * length * np.cos(a) / bend)) / slice_volume.sum())


def _rod(name: str, radius: float, height: float, rounding: float, edge: float | None, height_name: str) -> Mesh:
    _positive(name, radius=radius, **{height_name: height})
    most = min(radius, height / 2)
    if not (np.isfinite(rounding) and 0.0 <= rounding < most):
        raise _wrong(name, "rounding", f"{rounding} m", f"0 or more, below {most:g} m")
    edge = _edge(name, edge, max(2 * radius, height), 2 * np.pi * radius * (radius + height))
    h, flat, upright = height / 2, radius - rounding, height / 2 - rounding
    if rounding > 0:
        profile = [
            *polyline((0.0, -h), (flat, -h)),
            arc((flat, -upright), rounding, -90.0, 0.0),
            *polyline((radius, -upright), (radius, upright)),
            arc((flat, upright), rounding, 0.0, 90.0),
            *polyline((flat, h), (0.0, h)),
        ]
    else:
        profile = polyline((0.0, -h), (radius, -h), (radius, h), (0.0, h))
    return revolve(profile, edge, name=name)


def _geodesic(frequency: int) -> tuple[Floats, Ints]:
    """Unit directions and faces of an icosahedron with every face cut into frequency^2 triangles."""
    golden = (1 + np.sqrt(5)) / 2
    corners = np.array([(0, s, t * golden) for s in (-1, 1) for t in (-1, 1)])
    corners = np.concatenate([corners, np.roll(corners, 1, axis=1), np.roll(corners, 2, axis=1)])
    distance = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    near = (distance > 0) & (distance < 2.1)
    whole = np.array(
        [(i, j, k) for i in range(12) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[k, i]]
    )
    outward = np.einsum("fi,fi->f", corners[whole[:, 0]], np.cross(corners[whole[:, 1]], corners[whole[:, 2]])) > 0
    whole = np.where(outward[:, None], whole, whole[:, ::-1])
    i, j = np.array([(i, j) for i in range(frequency + 1) for j in range(frequency + 1 - i)]).T
    number = {(int(a), int(b)): k for k, (a, b) in enumerate(zip(i, j, strict=True))}
    small = []
    for (a, b), k in number.items():
        if a + b < frequency:
            small.append((k, number[a + 1, b], number[a, b + 1]))
        if a + b < frequency - 1:
            small.append((number[a + 1, b], number[a + 1, b + 1], number[a, b + 1]))
    share = np.stack([frequency - i - j, i, j], axis=1) / frequency
    points = np.einsum("nk,fki->fni", share, corners[whole]).reshape(-1, 3)
    faces = (np.arange(20)[:, None, None] * len(i) + np.array(small)[None]).reshape(-1, 3)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    _, first, which = np.unique(np.round(points, 9) + 0.0, axis=0, return_index=True, return_inverse=True)
    return points[first], which.reshape(-1)[faces]


def _square(columns: int, rows: int) -> tuple[Floats, Ints]:
    """Points and triangles (counter-clockwise) of a grid over the unit square around 0, diagonals mirrored."""
    u, w = np.meshgrid(np.linspace(-0.5, 0.5, columns + 1), np.linspace(-0.5, 0.5, rows + 1), indexing="ij")
    i, j = (x.reshape(-1) for x in np.meshgrid(np.arange(columns), np.arange(rows), indexing="ij"))
    a, b = i * (rows + 1) + j, (i + 1) * (rows + 1) + j
    c, d = b + 1, a + 1
    rising = ((2 * i < columns) == (2 * j < rows))[:, None, None]
    one = np.stack([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)], axis=1)
    other = np.stack([np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)], axis=1)
    return np.stack([u.reshape(-1), w.reshape(-1)], axis=1), np.where(rising, one, other).reshape(-1, 3)


def _positive(name: str, **lengths: float) -> None:
    problems = []
    for parameter, value in lengths.items():
        low, high, unit = (1e-3, 1e3, "") if parameter == "taper" else (SHORTEST, LONGEST, " m")
        if not (is_finite(value) and low <= value <= high):
            given = f"{float(value) if isinstance(value, float) else value!r}"  # a NumPy number shows its type
            problems.append(Problem(parameter, given, f"must be a number from {low:g} to {high:g}{unit}"))
    if problems:
        raise OptionError(f"shape {name}", problems)


def _below(name: str, parameter: str, value: float, limit_name: str, limit: float) -> None:
    if not value < limit:
        raise _wrong(name, parameter, f"{value} m", f"below {limit_name}, {limit} m")


def _wrong(name: str, parameter: str, value: str, allowed: str) -> OptionError:
    return OptionError(f"shape {name}", Problem(parameter, value, allowed))


def _edge(name: str, edge: float | None, size: float, area: float) -> float:
    """The given edge length, a fortieth of ``size`` where there is none; refused where it makes too many faces."""
    if edge is not None:
        _positive(name, edge=edge)
    aim = size / 40.0 if edge is None else edge
    faces = area / (np.sqrt(3.0) / 4.0 * aim**2)
    if faces > MOST_FACES:
        least = float(np.sqrt(area / (np.sqrt(3.0) / 4.0 * MOST_FACES)))
        what = f"triangles of {aim:.3g} m make about {faces:.2g} faces"
        allowed = f"at most {MOST_FACES}: an edge of {least:.2g} m or more, or a shape that is less thin"
        raise _wrong(name, "edge", what, allowed)
    return aim
