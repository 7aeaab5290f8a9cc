"""How elastic pads give: a layer on a rigid core, as thick as it is and no wider than the pad.   (theory 10.2)

The surface of a half-space under a normal point force rises by (1 - nu^2) / (pi E r). A layer of thickness t that is
bonded to something rigid gives less: in the transform over wave numbers k it has L(k t) times that,

    L(s) = (2 kappa sinh 2s - 4 s) / (2 kappa cosh 2s + 4 s^2 + 1 + kappa^2),    kappa = 3 - 4 nu,

and between points r apart   1 / r - (1 / t) int_0^inf (1 - L(s)) J0(s r / t) ds.  Along the surface, averaged over the
directions, a half-space has (1 + nu) (1 - nu / 2) / (pi E r), and a layer tanh(s / c) of that with c = 1 - nu / 2:
right where the pad is thick, and where it is thin (t / G).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import j0

from pliant.arrays import Bools, Floats
from pliant.judge.condensed_body import CondensedBody
from pliant.judge.partners import Partner

_WAVES = 4000
_HIGHEST = 40.0
"""Wave numbers times thickness; beyond 15 both functions are one to rounding."""
_FARTHEST = 30.0
"""Distance over thickness up to which the layer's function is tabulated; beyond, nothing is left of it."""


def pad_matrix(body: CondensedBody, partners: Sequence[Partner], soft: Bools) -> Floats | None:
    """3n x 3n that elastic pads give beside the body, in its axes [m/N]; None where all are rigid.

    Args:
        body: its hats.
        partners: numbered as in the hats.
        soft: q, whether each of the hats' points meets pad.
    """
    hats, out = body.hats, None
    mean_normals = hats.means.T @ hats.normals
    mean_normals /= np.maximum(np.linalg.norm(mean_normals, axis=1), np.finfo(float).tiny)[:, None]
    for number, partner in enumerate(partners):
        index, at = np.flatnonzero(hats.partner == number), np.flatnonzero(hats.owner == number)
        if not np.isfinite(partner.young) or not len(index):
            continue
        normal, tangential = pad_compliance(
            hats.points[at],
            np.where(soft[at], hats.areas[at], 0.0),
            hats.means[at][:, index],
            young=partner.young,
            poisson=partner.poisson,
            thickness=partner.thickness,
        )
        n = mean_normals[index]
        block = np.einsum("ij,ia,jb->iajb", normal - tangential, n, n)
        block += np.einsum("ij,ab->iajb", tangential, np.eye(3))
        out = np.zeros((hats.count, 3, hats.count, 3)) if out is None else out
        out[index[:, None, None, None], np.arange(3)[:, None, None], index[:, None], np.arange(3)] = block
    return None if out is None else out.reshape(3 * hats.count, -1)


def pad_compliance(
    points: Floats, areas: Floats, means: csr_matrix, *, young: float, poisson: float, thickness: float
) -> tuple[Floats, Floats]:
    """Normal and tangential compliance between hats of one pad, m x m each [m/N].

    Args:
        points: q x 3, of the surface [m].
        areas: q, that they stand for; 0 where there is no pad [m^2].
        means: q x m weights of the points in each hat's mean; columns sum to one.
        young, poisson: of the pad [Pa].
        thickness: of the pad; infinite for a half-space [m].
    """
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = 1.0 / np.where(apart > 0.0, apart, 1.0)
    # a disc's own mean of 1 / r
    np.fill_diagonal(near, 16.0 / (3.0 * np.pi) / np.sqrt(np.maximum(areas, np.finfo(float).tiny) / np.pi))
    soft = areas > 0.0
    near *= soft[:, None] & soft[None]
    weights = means.toarray()

    def between(layer: Callable[[Floats], Floats], own: float) -> Floats:
        kernel = near
        if np.isfinite(thickness):
            short = layer(apart / thickness) / thickness
            kernel = near - np.where(soft[:, None] & soft[None], short, 0.0)
        return np.asarray(own / (np.pi * young) * (weights.T @ kernel @ weights))

    c = 1.0 - 0.5 * poisson
    return (
        between(_shortfall(poisson, False), 1.0 - poisson**2),
        between(_shortfall(poisson, True), (1.0 + poisson) * c),
    )


def layer_factor(s: Floats, poisson: float) -> Floats:
    """L(s): what a bonded layer gives over what a half-space gives, for wave number times thickness s."""
    kappa = 3.0 - 4.0 * poisson
    s = np.minimum(s, 300.0)
    return np.asarray(
        (2.0 * kappa * np.sinh(2.0 * s) - 4.0 * s) / (2.0 * kappa * np.cosh(2.0 * s) + 4.0 * s**2 + 1.0 + kappa**2)
    )


@lru_cache(maxsize=16)
def _shortfall(poisson: float, tangential: bool) -> Callable[[Floats], Floats]:
    """int (1 - L(s)) J0(s r) ds as a function of r (distance over thickness)."""
    s = np.asarray((np.arange(_WAVES) + 0.5) * (_HIGHEST / _WAVES), dtype=np.float64)
    share = np.tanh(s / (1.0 - 0.5 * poisson)) if tangential else layer_factor(s, poisson)
    r = np.linspace(0.0, _FARTHEST, 1500)
    table = (j0(np.outer(r, s)) * (1.0 - share)).sum(axis=1) * (_HIGHEST / _WAVES)

    def at(distance: Floats) -> Floats:
        # far away the layer's own share is nothing, so that the shortfall is that of the half-space
        far = 1.0 / np.maximum(distance, 1.0)
        return np.where(distance > _FARTHEST, far, np.interp(distance, r, table))

    return at
