"""Liquid at rest in a closed vessel: level, centroid, free surface, for any shape and any tilt.   (theory 6.4)

The liquid is everything inside the surface below one level plane across ``up``: one connected liquid, air able to reach
every part above it. Volume and moments of the part below the plane come from the divergence theorem with the apex of
all tetrahedra on the plane itself, so that the cap contributes nothing and never has to be built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.errors import LiquidError, Problem
from pliant.objects.mass import MassProperties, mesh_volume, tetrahedron_moments
from pliant.objects.material import above_zero, set_floats, zero_or_more
from pliant.objects.mesh.mesh import Mesh

FULL = 1e-9  # a fill beyond the vessel by less than this fraction of it is full, not too much
ROUNDS = 60  # Newton needs about six; each bisection halves the bracket, so this is always enough


@dataclass(frozen=True)
class Liquid:
    """What is in a vessel.   (theory 4)

    Args:
        volume: [m^3], 0 or more.
        density: [kg/m^3], above 0.
        wall: thickness of the vessel's wall [m]; absent where the wall's weight and bending are neglected.
        sealed: whether the vessel is shut: it may be turned over, and squeezing it compresses the air.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    volume: float
    density: float = 1000.0
    wall: float | None = None
    sealed: bool = True

    def __post_init__(self) -> None:
        problems = [
            *zero_or_more("volume", self.volume, "[m^3]; half a litre is 5e-4"),
            *above_zero("density", self.density, "[kg/m^3]; water 1000"),
            *above_zero("wall", self.wall, "a thickness [m]; a bottle's is 3e-4 to 1e-3", optional=True),
        ]
        if problems:
            raise LiquidError("liquid", problems)
        set_floats(self, "volume", "density", "wall")

    @property
    def mass(self) -> float:
        """[kg]."""
        return self.volume * self.density


@dataclass(frozen=True, eq=False)
class LiquidState:
    """Liquid at rest in a vessel.

    Args:
        mesh: the vessel.
        up: unit vector against gravity, in the axes of the mesh.
        level: height of the free surface along ``up`` from the origin of the mesh [m].
        volume: [m^3].
        centroid: centre of the liquid, in the axes and from the origin of the mesh [m].
        capacity: what the vessel holds [m^3].
        second_moment: 3 x 3, integral of (x - centroid)(x - centroid)^T over the liquid [m^5].
    """

    mesh: Mesh
    up: Floats
    level: float
    volume: float
    centroid: Floats
    capacity: float
    second_moment: Floats

    def mass_properties(self, density: float) -> MassProperties:
        """Mass properties of the liquid as if frozen [kg, m, kg m^2]."""
        inertia = density * (np.trace(self.second_moment) * np.eye(3) - self.second_moment)
        return MassProperties(density * self.volume, self.volume, self.centroid, inertia)


def fill(
    mesh: Mesh, volume: float, up: ArrayLike = (0.0, 0.0, 1.0), *, rest_capacity: float | None = None
) -> LiquidState:
    """Let ``volume`` of liquid come to rest in a closed vessel.   (theory 6.4)

    The level solves V(h) = volume by Newton's method, dV/dh being the area of the free surface, kept inside a bracket.

    Args:
        mesh: closed, faces outwards, in its own axes; concave shapes and hollows are welcome.
        volume: [m^3].
        up: direction against gravity in the axes of the mesh; any length.
        rest_capacity: what the vessel holds when nobody squeezes it [m^3]; used in the message when it overflows.
    """
    u = _direction(mesh, up)
    capacity = mesh_volume(mesh)
    _refuse_overflow(mesh, volume, capacity, rest_capacity)
    # Seen from a point in the middle of the mesh, so that nothing is lost far from the origin.
    middle = mesh.bounds.mean(axis=0)
    heights = (mesh.vertices - middle) @ u
    low, high = float(heights.min()), float(heights.max())
    if volume <= 0.0:
        lowest = mesh.vertices[heights <= low + 1e-9 * (high - low)].mean(axis=0)
        return LiquidState(mesh, u, float(lowest @ u), 0.0, lowest, capacity, np.zeros((3, 3)))
    # Which side of the plane is cheaper to weigh does not matter: above the plane is the rest of the capacity.
    h = high if volume >= capacity else _solve_level(mesh, heights, u, middle, volume, capacity)
    apex = middle + h * u
    held, first, second = tetrahedron_moments(*_pieces_below(mesh, heights - h, apex))
    offset = first / held
    second = second - held * np.outer(offset, offset)
    return LiquidState(mesh, u, float(middle @ u) + h, held, apex + offset, capacity, second)


def _solve_level(mesh: Mesh, heights: Floats, u: Floats, middle: Floats, volume: float, capacity: float) -> float:
    """Height h above ``middle`` below which the mesh holds ``volume``."""
    low, high = float(heights.min()), float(heights.max())
    # Per face: N . (a - middle - h u) / 6 is the tetrahedron with its apex on the plane, N twice the area vector.
    normal = 2.0 * mesh.face_vectors
    constant = np.einsum("ij,ij->i", normal, mesh.corners[:, 0] - middle)
    rise = normal @ u
    corner_heights = heights[mesh.faces]
    corner_heights.sort(axis=1)
    h = low + (high - low) * volume / capacity
    tolerance = 1e-13 * volume
    for _ in range(ROUNDS):
        share = _share_below(corner_heights - h)
        error = float(share @ (constant - h * rise)) / 6.0 - volume
        if abs(error) <= tolerance:
            break
        low, high = (h, high) if error < 0 else (low, h)
        area = -0.5 * float(share @ rise)
        step = -error / area if area > 0 else np.inf
        h_new = h + step
        if not low < h_new < high:
            h_new = 0.5 * (low + high)
        if h_new == h:
            break
        h = h_new
    return h


def _share_below(s: Floats) -> Floats:
    """Share of each triangle's area below height zero; ``s`` are its corner heights, m x 3, sorted."""
    s0, s1, s2 = s[:, 0], s[:, 1], s[:, 2]
    share = (s2 <= 0).astype(np.float64)
    one = np.flatnonzero((s0 < 0) & (s1 >= 0))
    share[one] = s0[one] ** 2 / ((s0[one] - s1[one]) * (s0[one] - s2[one]))
    two = np.flatnonzero((s1 < 0) & (s2 > 0))
    share[two] = 1.0 - s2[two] ** 2 / ((s2[two] - s0[two]) * (s2[two] - s1[two]))
    return share


def _pieces_below(mesh: Mesh, heights: Floats, apex: Floats) -> tuple[Floats, Floats]:
    """Corners (from ``apex``) and weights of the wall below height zero: whole triangles and parts of cut ones."""
    s = heights[mesh.faces]
    below = s < 0
    number = below.sum(axis=1)
    corners = mesh.corners - apex
    whole = corners[(number == 3) | (number == 2)]
    pieces, weights = [whole], [np.ones(len(whole))]
    # One corner below is a small triangle at that corner; two below are the whole triangle less the one above.
    for count, sign in ((1, 1.0), (2, -1.0)):
        rows = np.flatnonzero(number == count)
        lone = np.argmax(below[rows] if count == 1 else ~below[rows], axis=1)
        p, q, r = (corners[rows, (lone + k) % 3] for k in range(3))
        sp, sq, sr = (s[rows, (lone + k) % 3] for k in range(3))
        tq, tr = (sp / (sp - sq))[:, None], (sp / (sp - sr))[:, None]
        pieces.append(np.stack([p, p + tq * (q - p), p + tr * (r - p)], axis=1))
        weights.append(np.full(len(rows), sign))
    return np.concatenate(pieces), np.concatenate(weights)


def _direction(mesh: Mesh, up: ArrayLike) -> Floats:
    u = np.array(up, dtype=np.float64)
    length = float(np.linalg.norm(u)) if u.shape == (3,) else 0.0
    if not (np.isfinite(length) and length > 0):
        raise LiquidError(mesh.name or "vessel", Problem("up", f"{up!r}", "a direction of three numbers, not all zero"))
    return u / length


def _refuse_overflow(mesh: Mesh, volume: float, capacity: float, rest_capacity: float | None) -> None:
    name = mesh.name or "vessel"
    if problems := zero_or_more("volume", volume, "[m^3]"):
        raise LiquidError(name, problems)
    if not capacity > 0:
        raise LiquidError(
            name, Problem("", f"the vessel encloses {1e6 * capacity:.4g} cm3", "a closed mesh with faces outwards")
        )
    if volume > capacity * (1.0 + FULL):
        holds = f"the vessel holds {1e6 * capacity:.4f} cm3"
        if rest_capacity is not None and capacity < rest_capacity:
            holds = f"squeezed as it is, {holds} ({1e6 * rest_capacity:.4f} cm3 at rest)"
        raise LiquidError(
            name,
            Problem("volume", f"{1e6 * volume:.4f} cm3 of liquid ({volume:.6g} m3)", f"at most all of it: {holds}"),
        )
