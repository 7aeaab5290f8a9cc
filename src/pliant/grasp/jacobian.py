"""The contact Jacobian: what joints do to the points at which links touch, and what forces there do to joints.

`J~` maps joint rates to twists of the link points at the contacts in {C_i}; `J = H^T J~` keeps what the contact models
pass on. (theory 7.1)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.errors import GraspError
from pliant.grasp.contacts import ContactSet
from pliant.grasp.matrix import cross_matrix


def point_jacobian(link_jacobian: Floats, arm: Floats) -> Floats:
    """J_v - S(arm) J_w: velocity of a link's point per joint rate, v = v_o + w x arm.   (theory 7.1, (2))

    Args:
        link_jacobian: ... x 6 x q, twist of a link per joint rate, linear part first, at the link's origin.
        arm: ... x 3, from that origin to the point, same axes [m].
    """
    return np.asarray(link_jacobian[..., :3, :] - cross_matrix(arm) @ link_jacobian[..., 3:, :])


def force_torques(link_jacobian: Floats, arm: Floats, force: Floats) -> Floats:
    """J_v^T f + J_w^T (arm x f): the joint torques that put a force on something at a link's point [N m, N].

    Args:
        link_jacobian, arm: as of `point_jacobian`; 6 x q and 3.
        force: 3 [N].
    """
    return np.asarray(link_jacobian[:3].T @ force + link_jacobian[3:].T @ np.cross(arm, force))


def contact_twists(contacts: ContactSet, link_jacobians: ArrayLike, origins: ArrayLike) -> Floats:
    """J~ from the Jacobians of the links that touch: nd x q, twists of the contact points in {C_i}.   (theory 7.1, (2))

    Args:
        contacts: n contacts.
        link_jacobians: n x d x q; block i maps joint rates to the twist of the touching link (linear first) in {B},
            the linear part being the velocity of the link's point at ``origins[i]``.
        origins: n x s points of the links in {B} [m].
    """
    jac = np.asarray(link_jacobians, dtype=float)
    s, d = (3, 6) if contacts.dimension == 3 else (2, 3)
    if jac.ndim != 3 or jac.shape[:2] != (len(contacts), d):
        raise GraspError("link_jacobians", f"shape {jac.shape}; expected {len(contacts)} x {d} x joints")
    arm = contacts.points - np.broadcast_to(np.asarray(origins, dtype=float), contacts.points.shape)
    turns = jac[:, s:, :]
    if s == 3:
        return _in_contact_frames(contacts, point_jacobian(jac, arm), turns)
    # in the plane w x arm = w (-arm_y, arm_x) = w S(arm)^T
    return _in_contact_frames(contacts, jac[:, :s, :] + cross_matrix(arm).transpose(0, 2, 1) @ turns, turns)


def joint_jacobian(
    contacts: ContactSet,
    axes: ArrayLike,
    origins: ArrayLike,
    carries: ArrayLike,
    *,
    prismatic: ArrayLike | Sequence[bool] | bool = False,
) -> Floats:
    """J~ from joint axes: prismatic column (z_j, 0), revolute (z_j x (c_i - o_j), z_j), zero if j does not carry i.

    (theory 7.1, (2))

    Args:
        contacts: n contacts.
        axes: q x s unit axes z_j in {B}; in the plane used by prismatic joints only (revolute ones turn about +z).
        origins: q x s points o_j on the axes in {B} [m].
        carries: n x q, true where joint j moves the link of contact i.
        prismatic: q flags, or one for all.

    Returns:
        nd x q, twists in {C_i} per unit joint rate.
    """
    s = contacts.dimension
    z, o = np.asarray(axes, dtype=float).reshape(-1, s), np.asarray(origins, dtype=float).reshape(-1, s)
    q = len(z)
    mask = np.asarray(carries, dtype=bool)
    if len(o) != q or mask.shape != (len(contacts), q):
        raise GraspError(
            "joints",
            f"{q} axes, {len(o)} origins, carries of shape {mask.shape}; expected carries {len(contacts)} x {q}",
        )
    slides = np.broadcast_to(np.asarray(prismatic, dtype=bool), (q,))
    arms = contacts.points[:, None, :] - o[None, :, :]
    if s == 3:
        moved, turned = np.cross(z[None], arms), np.broadcast_to(z, (len(contacts), q, 3))
    else:
        moved = np.stack([-arms[..., 1], arms[..., 0]], axis=-1)
        turned = np.ones((len(contacts), q, 1))
    linear = np.where(slides[None, :, None], z[None], moved) * mask[..., None]
    angular = np.where(slides[None, :, None], 0.0, turned) * mask[..., None]
    return _in_contact_frames(contacts, linear.transpose(0, 2, 1), angular.transpose(0, 2, 1))


def hand_jacobian(contacts: ContactSet, twists: ArrayLike) -> Floats:
    """J = H^T J~: joint rates to the contact velocities that the models pass on; tau = J^T f.   (theory 7.1, (4))"""
    full = np.asarray(twists, dtype=float)
    rows = len(contacts) * (6 if contacts.dimension == 3 else 3)
    if full.ndim != 2 or full.shape[0] != rows:
        raise GraspError("twists", f"shape {full.shape}; expected {rows} rows, one block per contact")
    return full[contacts.layout.columns]


def _in_contact_frames(contacts: ContactSet, linear: Floats, angular: Floats) -> Floats:
    back = contacts.rotations.transpose(0, 2, 1)
    turned = back @ angular if contacts.dimension == 3 else angular
    both = np.concatenate([back @ linear, turned], axis=1)
    return both.reshape(-1, both.shape[2])
