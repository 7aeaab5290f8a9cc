"""Volume, mass, centre of mass and inertia by integration over the surface, exact for a mesh of flat faces.

Every face and a reference point span a signed tetrahedron; their sum is the body. The reference point is the middle of
the mesh, so a mesh far from the origin loses no digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.errors import MaterialError, Problem
from pliant.objects.mesh.mesh import Mesh


@dataclass(frozen=True, eq=False)
class MassProperties:
    """What a rigid motion needs to know of a body.

    Args:
        mass: [kg].
        volume: what the mass fills [m^3]; zero for a thin wall.
        centre: centre of mass, in the axes and from the origin of the mesh [m].
        inertia: 3 x 3 about the centre of mass, in the axes of the mesh [kg m^2].
    """

    mass: float
    volume: float
    centre: Floats
    inertia: Floats

    def __post_init__(self) -> None:
        for name in ("centre", "inertia"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def density(self) -> float:
        """Mass over volume [kg/m^3]; infinite for a thin wall."""
        return self.mass / self.volume if self.volume > 0 else float("inf")

    def inertia_about(self, point: ArrayLike) -> Floats:
        """Inertia about another point, by the parallel axis theorem [kg m^2]."""
        return self.inertia + self.mass * _parallel_axis(self.centre - np.asarray(point, dtype=np.float64))


class Moments(NamedTuple):
    """Moments about the common apex: content (volume or area), integral of x and integral of x x^T over it."""

    content: float
    first: Floats
    second: Floats


def combine(*parts: MassProperties) -> MassProperties:
    """Several bodies as one rigid body (a wall and the liquid inside), by the parallel axis theorem."""
    mass = sum(part.mass for part in parts)
    if not mass > 0:
        raise MaterialError("combined bodies", Problem("mass", f"{mass} kg in all", "above 0"))
    centre = sum((part.mass * part.centre for part in parts), np.zeros(3)) / mass
    inertia = sum((part.inertia_about(centre) for part in parts), np.zeros((3, 3)))
    return MassProperties(mass, sum(part.volume for part in parts), centre, inertia)


def mesh_volume(mesh: Mesh) -> float:
    """Enclosed volume, negative for a mesh inside out [m^3]."""
    middle = mesh.bounds.mean(axis=0)
    return float(np.einsum("ij,ij->", mesh.corners[:, 0] - middle, mesh.face_vectors) / 3.0)


def mass_properties(mesh: Mesh, *, density: float | None = None, mass: float | None = None) -> MassProperties:
    """Mass properties of a solid of uniform density; exactly one of ``density`` and ``mass``.   (theory 6.4)

    Args:
        mesh: closed, faces outwards.
        density: [kg/m^3].
        mass: [kg].
    """
    middle = mesh.bounds.mean(axis=0)
    return _from_moments(mesh, tetrahedron_moments(mesh.corners - middle), middle, density=density, mass=mass)


def shell_mass_properties(
    mesh: Mesh, *, areal_density: float | None = None, mass: float | None = None
) -> MassProperties:
    """Mass properties of a thin wall along the surface; exactly one of ``areal_density`` [kg/m^2] and ``mass`` [kg].

    Per face of area A with corners a, b, c and s = a + b + c: integral of x is A s / 3, of x x^T is
    A (a a^T + b b^T + c c^T + s s^T) / 12.
    """
    middle = mesh.bounds.mean(axis=0)
    corners = mesh.corners - middle
    areas = mesh.face_areas
    s = corners.sum(axis=1)
    first = areas @ s / 3.0
    second = (np.einsum("f,fki,fkj->ij", areas, corners, corners) + np.einsum("f,fi,fj->ij", areas, s, s)) / 12.0
    whole = _from_moments(mesh, Moments(mesh.area, first, second), middle, density=areal_density, mass=mass)
    return replace(whole, volume=0.0)


def tetrahedron_moments(corners: Floats, weight: Floats | None = None) -> Moments:
    """Summed moments of the tetrahedra (0, a, b, c).

    With d = a . (b x c) and s = a + b + c: d / 6, d s / 24, and d (a a^T + b b^T + c c^T + s s^T) / 120.

    Args:
        corners: n x 3 corners x 3, a, b, c from the common apex, counter-clockwise from outside [m].
        weight: n, factor of each tetrahedron; 1 where absent.
    """
    a, b, c = corners.transpose(1, 0, 2)
    ax, ay, az = a.T
    bx, by, bz = b.T
    cx, cy, cz = c.T
    # Written out: numpy's cross product of rows takes several times as long.
    d = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    if weight is not None:
        d = d * weight
    s = a + b + c
    second = sum(((x * d[:, None]).T @ x for x in (a, b, c, s)), np.zeros((3, 3))) / 120.0
    return Moments(float(d.sum() / 6.0), d @ s / 24.0, 0.5 * (second + second.T))


def _from_moments(
    mesh: Mesh, moments: Moments, origin: Floats, *, density: float | None, mass: float | None
) -> MassProperties:
    """Mass properties from the moments about ``origin`` of a body of uniform density."""
    content, first, second = moments
    if (density is None) == (mass is None):
        raise MaterialError(mesh.name or "mesh", "give either a density or a mass, not both and not neither")
    rho = mass / content if mass is not None else density
    assert rho is not None
    offset = first / content
    covariance = second - content * np.outer(offset, offset)
    inertia = rho * (np.trace(covariance) * np.eye(3) - covariance)
    return MassProperties(rho * content, content, origin + offset, inertia)


def _parallel_axis(offset: Floats) -> Floats:
    return float(offset @ offset) * np.eye(3) - np.outer(offset, offset)
