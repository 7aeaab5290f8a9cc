"""Grasp matrix, in space and in the plane, with reports on rank and conditioning of it and of J.   (theory 7.1)

`G~` maps contact wrenches in {C_i} to the wrench on the object about its centre of mass in {B}; `G = G~ H` keeps what
the contact models pass on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.grasp.contacts import ContactSet

# Singular values below this part of the largest count as zero.
RANK_TOLERANCE = 1e-9


def cross_matrix(vectors: ArrayLike) -> Floats:
    """S(a) with S(a) b = a x b; in the plane S(a) = [-a_y a_x].   (theory 2)

    Args:
        vectors: ... x 3 or ... x 2.
    """
    a = np.asarray(vectors, dtype=float)
    if a.shape[-1] == 2:
        return np.stack([-a[..., 1], a[..., 0]], axis=-1)[..., None, :]
    s = np.zeros((*a.shape, 3))
    s[..., 0, 1], s[..., 0, 2] = -a[..., 2], a[..., 1]
    s[..., 1, 0], s[..., 1, 2] = a[..., 2], -a[..., 0]
    s[..., 2, 0], s[..., 2, 1] = -a[..., 1], a[..., 0]
    return s


def full_grasp_matrix(contacts: ContactSet, centre: ArrayLike | None = None) -> Floats:
    """G~ = [G~_1 .. G~_n] with G~_i = [[R_i, 0], [S(r_i) R_i, R_i]]; balance is w_ext = -G~ w_c.   (theory 7.1, (1))

    In the plane the angular block of R_i is the number 1.

    Args:
        contacts: n contacts.
        centre: centre of mass in {B} [m]; the origin when left out.

    Returns:
        d x nd: unit contact forces give forces [-] and torques [m]; unit contact moments give torques [-].
    """
    s, d = (3, 6) if contacts.dimension == 3 else (2, 3)
    r = contacts.points if centre is None else contacts.points - np.asarray(centre, dtype=float)
    rotations = contacts.rotations
    g = np.zeros((d, len(contacts), d))
    g[:s, :, :s] = rotations.transpose(1, 0, 2)
    g[s:, :, :s] = (cross_matrix(r) @ rotations).transpose(1, 0, 2)
    g[s:, :, s:] = rotations.transpose(1, 0, 2) if s == 3 else 1.0
    return g.reshape(d, -1)


def grasp_matrix(contacts: ContactSet, centre: ArrayLike | None = None) -> Floats:
    """G = G~ H: stacked contact forces f to the wrench on the object, w_ext = -G f.   (theory 7.1, (3))"""
    layout = contacts.layout
    if contacts.dimension == 3 and layout.size == 3 * len(contacts) and not layout.moment_entries.size:
        # Points with friction in space, the everyday case: the moment columns need not be made first.
        r = contacts.points if centre is None else contacts.points - np.asarray(centre, dtype=float)
        g = np.empty((6, len(contacts), 3))
        g[:3] = contacts.rotations.transpose(1, 0, 2)
        g[3:] = (cross_matrix(r) @ contacts.rotations).transpose(1, 0, 2)
        return g.reshape(6, -1)
    return full_grasp_matrix(contacts, centre)[:, contacts.layout.columns]


def wrench_about(force: ArrayLike, torque: ArrayLike, at: ArrayLike, centre: ArrayLike) -> Floats:
    """The wrench about ``centre`` of a force acting ``at`` a point plus a torque; all in {B} [N, N m, m]."""
    f, arm = np.asarray(force, dtype=float), np.asarray(at, dtype=float) - np.asarray(centre, dtype=float)
    return np.concatenate([f, np.atleast_1d(torque) + cross_matrix(arm) @ f])


def reference_length(contacts: ContactSet, centre: ArrayLike | None = None) -> float:
    """The length that makes torques comparable with forces: distance of the farthest contact from the centre [m]."""
    r = contacts.points if centre is None else contacts.points - np.asarray(centre, dtype=float)
    longest = math.sqrt(np.einsum("ij,ij->i", r, r).max())
    return longest if longest > 1e-9 else 1.0


def component_scale(contacts: ContactSet) -> Floats:
    """What turns f into newtons throughout: 1 for forces, e for the moments of soft fingers, m = e (m / e)."""
    layout = contacts.layout
    if not layout.moment_entries.size:
        return layout.ones
    scale = layout.ones.copy()
    scale[layout.moment_entries] = contacts.spin_arm[layout.moment_contacts]
    return scale


@dataclass(frozen=True, eq=False)
class MatrixReport:
    """Rank and conditioning of G or J, with the singular values behind them.

    Args:
        name: which matrix.
        singular_values: largest first; torques divided by the reference length, so all have one unit.
        rank: how many are above the tolerance.
        full: the rank the matrix should have.
        free: unit directions that are lost: wrenches no contact force can answer (G, rows) or joint rates that move no
            contact (J, columns), one per row, in the scaled units.
        idle_joints: joints that carry no contact at all; not held against the grasp.
    """

    name: str
    singular_values: Floats
    rank: int
    full: int
    free: Floats
    idle_joints: tuple[int, ...] = ()

    @property
    def is_full(self) -> bool:
        """Whether nothing is lost."""
        return self.rank == self.full

    @property
    def condition(self) -> float:
        """Largest over smallest singular value; infinite when rank is lost."""
        if not self.is_full or self.full == 0:
            return np.inf
        return float(self.singular_values[0] / self.singular_values[self.full - 1])


def object_report(
    contacts: ContactSet, centre: ArrayLike | None = None, *, length: float | None = None
) -> MatrixReport:
    """Whether every external wrench can be answered, friction permitting: G of full row rank.   (theory 7.1)"""
    s = contacts.dimension
    g = grasp_matrix(contacts, centre) * component_scale(contacts)
    g[s:] /= length or reference_length(contacts, centre)
    u, sigma, _ = np.linalg.svd(g, full_matrices=True)
    rank = int((sigma > RANK_TOLERANCE * sigma[0]).sum())
    values = np.concatenate([sigma, np.zeros(len(g) - len(sigma))])
    return MatrixReport("G", values, rank, len(g), u[:, rank:].T)


def hand_report(contacts: ContactSet, jacobian: ArrayLike) -> MatrixReport:
    """Whether every joint that carries a contact matters: J of full column rank in those joints.   (theory 7.1)"""
    j = np.asarray(jacobian, dtype=float)
    scale = component_scale(contacts)[:, None]
    size = np.abs(j).max(initial=0.0)
    busy = np.abs(j).max(axis=0, initial=0.0) > RANK_TOLERANCE * size
    _, sigma, vt = np.linalg.svd((j * scale)[:, busy], full_matrices=True)
    rank = int((sigma > RANK_TOLERANCE * sigma[0]).sum()) if sigma.size else 0
    free = np.zeros((len(vt) - rank, j.shape[1]))
    free[:, busy] = vt[rank:]
    values = np.concatenate([sigma, np.zeros(len(vt) - len(sigma))])
    return MatrixReport("J", values, rank, int(busy.sum()), free, tuple(int(k) for k in np.flatnonzero(~busy)))
