"""Contact forces as an elastic answer plus a squeeze: the stiffness-weighted inverse and the torque law.   (theory 7.2)

`f = -G_K^R w_ext + (I - G_K^R G) K J y` (5): the first part is how the springs at the contacts share the load, the
second is what the hand adds by commanding y without moving the balance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag
from scipy.linalg.lapack import dposv

from pliant.arrays import Floats
from pliant.errors import GraspError
from pliant.grasp.contacts import ContactSet
from pliant.grasp.matrix import RANK_TOLERANCE


def contact_compliance(contacts: ContactSet) -> Floats:
    """C_contact, block diagonal: displacement per force in {C_i}, for the components the models pass on.

    A component that is not passed on carries no force, so it is the compliance, not the stiffness, that is picked from.

    Returns:
        [m/N], for moments of soft fingers [rad/(N m)].
    """
    s, n = contacts.dimension, len(contacts)
    if contacts.layout.size == contacts.layout.force_entries.size == s * n:
        c = np.zeros((n, s, n, s))
        c[np.arange(n), :, np.arange(n), :] = np.linalg.inv(contacts.stiffness)
        return c.reshape(s * n, s * n)
    blocks = []
    for i, part in enumerate(contacts.layout.slices):
        picks = contacts.layout.columns[part] % (6 if s == 3 else 3)
        whole = np.zeros((6, 6)) if s == 3 else np.zeros((3, 3))
        whole[:s, :s] = np.linalg.inv(contacts.stiffness[i])
        whole[-1, -1] = 1 / contacts.spin_stiffness[i] if contacts.spin_stiffness[i] > 0 else 0.0
        blocks.append(whole[np.ix_(picks, picks)])
    return np.asarray(block_diag(*blocks), dtype=float)


def contact_stiffness(
    contacts: ContactSet, jacobian: ArrayLike | None = None, joint_compliance: ArrayLike | None = None
) -> Floats:
    """K = (C_contact + J C_joint J^T)^-1.   (theory 7.2)

    Args:
        contacts: gives C_contact.
        jacobian: J, size of f x q; needed with joint_compliance.
        joint_compliance: of the joint servos, q numbers or q x q [rad/(N m)], [m/N] for prismatic joints.
    """
    return np.linalg.inv(total_compliance(contacts, jacobian, joint_compliance)).astype(np.float64)


def total_compliance(
    contacts: ContactSet, jacobian: ArrayLike | None = None, joint_compliance: ArrayLike | None = None
) -> Floats:
    """C_contact + J C_joint J^T: springs at the contacts and in the joints, one behind the other.   (theory 7.2)"""
    c = contact_compliance(contacts)
    if joint_compliance is not None:
        if jacobian is None:
            raise GraspError("joint_compliance", "needs the hand Jacobian too")
        j = np.asarray(jacobian, dtype=float)
        given = np.asarray(joint_compliance, dtype=float)
        cj = np.diag(np.broadcast_to(given, (j.shape[1],))) if given.ndim < 2 else given
        if not np.isfinite(cj).all() or np.linalg.eigvalsh((cj + cj.T) / 2).min(initial=0.0) < 0:
            raise GraspError("joint_compliance", "must be finite and not negative")
        c = c + j @ cj @ j.T
    return c


def weighted_right_inverse(grasp_matrix: ArrayLike, stiffness: ArrayLike) -> Floats:
    """Contact forces of least elastic energy for a unit wrench: G_K^R = K G^T (G K G^T)^-1.   (theory 7.2)

    Unlike the Moore-Penrose inverse it does not change with the choice of units or frames. Where G has lost rank, it
    answers the wrenches that can be answered.

    Args:
        grasp_matrix: G, d x m, contact forces in contact frames to wrench at the centre of mass [-, m].
        stiffness: K, m x m, positive definite [N/m].
    """
    g, k = np.asarray(grasp_matrix, dtype=float), np.asarray(stiffness, dtype=float)
    if k.shape != (g.shape[1], g.shape[1]):
        raise GraspError(
            "stiffness", f"shape {k.shape}; expected {g.shape[1]} x {g.shape[1]}, one row per force component"
        )
    try:
        root = np.linalg.cholesky(k)
        sound = bool(np.isfinite(root).all()) and np.allclose(k, k.T, rtol=1e-9, atol=1e-12 * np.abs(k).max())
    except np.linalg.LinAlgError:
        sound = False
    if not sound:
        raise GraspError("stiffness", "is not symmetric positive definite; every direction must push back")
    # Rows are brought to one size first, so that the rank test does not see whether torques are in N m or N mm.
    springs = g @ root
    sizes = np.sqrt(np.einsum("ij,ij->i", springs, springs))
    sizes[sizes == 0] = 1.0
    return root @ np.linalg.pinv(springs / sizes[:, None], rcond=RANK_TOLERANCE) / sizes


def internal_projector(grasp_matrix: ArrayLike, stiffness: ArrayLike) -> Floats:
    """I - G_K^R G: takes any contact forces to their internal part, which the object does not feel as a whole."""
    g = np.asarray(grasp_matrix, dtype=float)
    return np.eye(g.shape[1]) - weighted_right_inverse(g, stiffness) @ g


def internal_part(grasp_matrix: Floats, stiffness: Floats, forces: Floats) -> Floats:
    """(I - G_K^R G) f for springs along the contacts' axes: as `internal_projector`, for a control loop.

    By normal equations instead of a pseudo-inverse; the grain of damping in them serves grasps whose G has lost rank
    (two contacts cannot turn the object about their line).

    Args:
        grasp_matrix: G, d x m.
        stiffness: m, the diagonal of K [N/m].
        forces: m [N].
    """
    root = np.sqrt(stiffness)
    springs = grasp_matrix * root
    normal = springs @ springs.T
    normal.flat[:: len(normal) + 1] += 1e-9 * normal.trace()
    y = forces / root
    # LAPACK itself: the checks around it cost more than the work
    _, particular, info = dposv(normal, springs @ y)
    if info:
        particular = np.linalg.solve(normal, springs @ y)
    return np.asarray(root * (y - springs.T @ particular))


def internal_basis(
    grasp_matrix: ArrayLike, stiffness: ArrayLike | None = None, jacobian: ArrayLike | None = None
) -> Floats:
    """Orthonormal columns that span the internal forces: all of null(G), or with J those the hand can command by (5).

    Args:
        grasp_matrix: G, d x m.
        stiffness: K, m x m [N/m]; needed with the Jacobian.
        jacobian: J, m x q; given, the basis spans (I - G_K^R G) K J.
    """
    g = np.asarray(grasp_matrix, dtype=float)
    if jacobian is None:
        sizes = np.abs(g).max(axis=1, keepdims=True)
        _, sigma, vt = np.linalg.svd(g / np.where(sizes > 0, sizes, 1.0))
        return vt[int((sigma > RANK_TOLERANCE * sigma[0]).sum()) :].T
    if stiffness is None:
        raise GraspError("stiffness", "is needed to say which internal forces the hand can command")
    k = np.asarray(stiffness, dtype=float)
    commanded = internal_projector(g, k) @ (k / np.abs(k).max()) @ np.asarray(jacobian, dtype=float)
    u, sigma, _ = np.linalg.svd(commanded, full_matrices=False)
    scale = np.abs(np.asarray(jacobian, dtype=float)).max(initial=0.0)
    return u[:, sigma > RANK_TOLERANCE * max(scale, 1e-300)]


def forces_for(
    grasp_matrix: ArrayLike, stiffness: ArrayLike, jacobian: ArrayLike, external: ArrayLike, command: ArrayLike
) -> Floats:
    """f = -G_K^R w_ext + (I - G_K^R G) K J y.   (theory 7.2, (5))

    Args:
        grasp_matrix, stiffness, jacobian: G [-, m], K [N/m], J [m/rad].
        external: w_ext at the centre of mass, in {B} [N, N m].
        command: y, one number per joint [rad], [m] for prismatic joints.
    """
    g, k, j = (np.asarray(x, dtype=float) for x in (grasp_matrix, stiffness, jacobian))
    inverse = weighted_right_inverse(g, k)
    squeeze = k @ (j @ np.asarray(command, dtype=float))
    return squeeze - inverse @ (np.asarray(external, dtype=float) + g @ squeeze)


def torques_for(
    grasp_matrix: ArrayLike, stiffness: ArrayLike, jacobian: ArrayLike, external: ArrayLike, command: ArrayLike
) -> Floats:
    """tau = -J^T G_K^R w_ext + J^T (I - G_K^R G) K J y.   (theory 7.3, (6))"""
    return np.asarray(jacobian, dtype=float).T @ forces_for(grasp_matrix, stiffness, jacobian, external, command)


def hand_command(
    grasp_matrix: ArrayLike, stiffness: ArrayLike, jacobian: ArrayLike, external: ArrayLike, forces: ArrayLike
) -> Floats:
    """The smallest y that makes (5) give these forces; the nearest ones where the hand cannot command them exactly."""
    g, k, j = (np.asarray(x, dtype=float) for x in (grasp_matrix, stiffness, jacobian))
    inverse = weighted_right_inverse(g, k)
    commanded = k @ j - inverse @ (g @ k @ j)
    wanted = np.asarray(forces, dtype=float) + inverse @ np.asarray(external, dtype=float)
    return np.linalg.lstsq(commanded, wanted, rcond=RANK_TOLERANCE)[0]


def elastic_energy(stiffness: ArrayLike, forces: ArrayLike) -> float:
    """f^T K^-1 f / 2, the energy in the springs at the contacts [J].   (theory 7.2)"""
    f = np.asarray(forces, dtype=float)
    return float(f @ np.linalg.solve(np.asarray(stiffness, dtype=float), f)) / 2
