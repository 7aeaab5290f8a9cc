"""The elastic body as seen from where it may be touched: hats and one dense compliance.   (theory 10.1)

Tractions are piecewise linear on the boundary of quadratic tetrahedra, one hat per corner of the candidate faces. Gaps
are means weighted with the same hats, over points on the smooth surface: loads and observations are dual, so

    C = B^T K^+ B,    B: consistent nodal loads of unit forces spread as hats,

is symmetric and positive definite, and a contact that rests on many small faces has no teeth. K^+ is that of the free
body: loads are balanced by inertia forces, which for a body at rest are its weight, so sag is contained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags

from pliant.arrays import Bools, Floats, Ints
from pliant.elastic import Tetrahedra, free_gram
from pliant.errors import MeshError
from pliant.objects import SmoothSurface, sectors
from pliant.threads import one_thread

_FOLD = np.deg2rad(40.0)
"""Faces folded more than this do not share a hat: pressure on one side of an edge must not leak onto the other."""
MOST_HATS = 2500
"""A dense compliance of three times as many rows is what memory allows."""
# Dunavant 1985, degree 4: barycentric coordinates and weights (sum 1) in a triangle
_A, _B = 0.445948490915965, 0.091576213509771
_POINTS = np.array(
    [
        *([1 - 2 * _A, _A, _A], [_A, 1 - 2 * _A, _A], [_A, _A, 1 - 2 * _A]),
        *([1 - 2 * _B, _B, _B], [_B, 1 - 2 * _B, _B], [_B, _B, 1 - 2 * _B]),
    ]
)
_WEIGHTS = np.array([0.223381589678011] * 3 + [0.109951743655322] * 3)

Near = Callable[[int, Floats], Bools]
"""Which of the given points (n x 3, object's frame) may be touched by the partner of that number."""


@dataclass(frozen=True, eq=False)
class Hats:
    """Where tractions may act. Frame: the object's axes, origin at its centre of mass.

    Args:
        partner: n, the partner that each hat may meet.
        area: n, of the surface under each hat: its integral [m^2].
        places: n x 3 mean place of each hat [m].
        rim: n, whether a hat lies at the edge of the candidates.
        points, normals: q x 3 quadrature points on the smooth surface and its outward normals there [m].
        areas: q, that the points stand for [m^2].
        owner: q, the partner that each point may meet.
        means: q x n weights of points in a hat's mean; columns sum to one.
        spread: q x n values of the hats at the points.
        loads: nodes x n consistent nodal loads of unit forces.
    """

    partner: Ints
    area: Floats
    places: Floats
    rim: Bools
    points: Floats
    normals: Floats
    areas: Floats
    owner: Ints
    means: csr_matrix
    spread: csr_matrix
    loads: csr_matrix

    @property
    def count(self) -> int:
        """Number of hats."""
        return len(self.partner)


@dataclass(frozen=True, eq=False)
class CondensedBody:
    """A body ready to be judged: nothing of its inside is needed any more.

    Args:
        hats: where it may be touched.
        compliance: 3n x 3n displacement of hats for forces on hats [m/N].
        centre: its centre of mass in the object's frame [m].
        mass: [kg].
        elements: number of tetrahedra it was made from.
    """

    hats: Hats
    compliance: Floats
    centre: Floats
    mass: float
    elements: int


@one_thread
def condense(
    tets: Tetrahedra,
    smooth: SmoothSurface,
    partners: Sequence[int],
    near: Near,
    *,
    young: float,
    poisson: float,
    mass: float,
    progress: Callable[[float], None] | None = None,
) -> CondensedBody:
    """Find the hats that may be touched and what forces on them do.

    Args:
        tets: the body, in the object's frame.
        smooth: its true surface.
        partners: their numbers.
        near: which faces they may touch, by their middles.
        young, poisson: of the body [Pa].
        mass: [kg].
        progress: called with the fraction done.

    Raises:
        MeshError: no face can be touched, or too many.
    """
    corners = tets.nodes[tets.elements[:, :4]]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    centre = (volumes[:, None] * corners.mean(axis=1)).sum(axis=0) / volumes.sum()
    hats = _hats(tets, smooth, partners, near, centre)
    if not hats.count:
        raise MeshError(smooth.mesh.name or "object", "no partner comes near its surface")
    if hats.count > MOST_HATS:
        what = f"{hats.count} places at which it may be touched, at most {MOST_HATS}"
        raise MeshError(smooth.mesh.name or "object", f"{what}; use larger elements")
    compliance = free_gram(tets, poisson, hats.loads, progress=progress) / young
    return CondensedBody(hats, 0.5 * (compliance + compliance.T), centre, mass, len(tets.elements))


def _hats(tets: Tetrahedra, smooth: SmoothSurface, partners: Sequence[int], near: Near, centre: Floats) -> Hats:
    x = tets.nodes[tets.boundary[:, :3]]
    flat = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    corner_of, _ = sectors(tets.boundary[:, :3], flat / np.linalg.norm(flat, axis=1)[:, None], _FOLD)
    middles = smooth.project(x.mean(axis=1)).points
    faces, locals_, owners, rims, count = [], [], [], [], 0
    for number in partners:
        chosen = np.flatnonzero(near(number, middles))
        known, local = np.unique(corner_of[chosen], return_inverse=True)
        faces.append(tets.boundary[chosen])
        locals_.append(local.reshape(-1, 3) + count)
        owners.append(np.full(len(chosen), number, dtype=np.int64))
        rims.append(np.isin(known, np.delete(corner_of, chosen, axis=0)))
        count += len(known)
    face, local, owner = np.concatenate(faces), np.concatenate(locals_), np.concatenate(owners)
    partner = np.zeros(count, dtype=np.int64)
    partner[local.ravel()] = np.repeat(owner, 3)
    nodes, m = tets.nodes[face], len(face)
    points, normals = np.empty((len(_POINTS), m, 3)), np.empty((len(_POINTS), m, 3))
    areas = np.empty((len(_POINTS), m))
    psi = np.zeros((m, 6, 3))
    for k, ((l0, l1, l2), weight) in enumerate(zip(_POINTS, _WEIGHTS, strict=True)):
        shape = np.array(
            [l0 * (2 * l0 - 1), l1 * (2 * l1 - 1), l2 * (2 * l2 - 1), 4 * l0 * l1, 4 * l1 * l2, 4 * l2 * l0]
        )
        along_1 = np.array([1 - 4 * l0, 4 * l1 - 1, 0, 4 * (l0 - l1), 4 * l2, -4 * l2])
        along_2 = np.array([1 - 4 * l0, 0, 4 * l2 - 1, -4 * l1, 4 * l1, 4 * (l0 - l2)])
        cross = np.cross(np.einsum("a,fax->fx", along_1, nodes), np.einsum("a,fax->fx", along_2, nodes))
        areas[k] = 0.5 * weight * np.linalg.norm(cross, axis=1)
        points[k], normals[k], _ = smooth.project(np.einsum("a,fax->fx", shape, nodes))
        psi += areas[k][:, None, None] * shape[None, :, None] * np.array([l0, l1, l2])
    rows = np.arange(len(_POINTS) * m).reshape(len(_POINTS), m)
    values = np.broadcast_to(_POINTS[:, None, :], (len(_POINTS), m, 3))
    at = (np.repeat(rows[:, :, None], 3, axis=2).ravel(), np.broadcast_to(local, (len(_POINTS), m, 3)).ravel())
    spread = coo_matrix((values.ravel(), at), shape=(rows.size, count)).tocsr()
    weighted = (diags(areas.ravel()) @ spread).tocsr()
    area = np.asarray(weighted.sum(axis=0)).ravel()
    means = (weighted @ diags(1.0 / area)).tocsr()
    loads = coo_matrix(
        (psi.ravel(), (np.repeat(face, 3, axis=1).ravel(), np.tile(local, (1, 6)).ravel())),
        shape=(len(tets.nodes), count),
    ).tocsr()
    flat_points = points.reshape(-1, 3) - centre
    return Hats(
        partner,
        area,
        np.asarray(means.T @ flat_points),
        np.concatenate(rims) if rims else np.zeros(0, dtype=bool),
        flat_points,
        normals.reshape(-1, 3),
        areas.ravel(),
        np.tile(owner, len(_POINTS)),
        means,
        spread,
        (loads @ diags(1.0 / area)).tocsr(),
    )
