"""Whether friction can do the rest when a contact simulation gives the normal forces.   (theory 8.4, condition (8))"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from pliant.arrays import Floats
from pliant.errors import GraspError
from pliant.grasp.cones import solve_once
from pliant.grasp.contacts import ContactSet
from pliant.grasp.layout import ContactModel
from pliant.grasp.matrix import component_scale, grasp_matrix, reference_length

# Usage above one by less than this is rounding of the cone solver.
EDGE = 1e-6


@dataclass(frozen=True, eq=False)
class FrictionResult:
    """Friction forces that balance the load beside given normal forces.

    Args:
        usage: largest part of the available friction that any contact must use; holds if at most 1. Infinite when no
            friction forces, however large, balance the load.
        forces: n x s in the contact frames, normal last, as given [N]; None if usage is infinite.
        moments: n moments of soft fingers [N m]; None if usage is infinite.
        imbalance: what is left of the balance, torques over the reference length [N].
    """

    usage: float
    forces: Floats | None
    moments: Floats | None
    imbalance: float

    @property
    def holds(self) -> bool:
        """Whether the friction needed is there."""
        return self.usage <= 1 + EDGE


def balancing_friction(
    contacts: ContactSet,
    external: ArrayLike,
    normal_forces: ArrayLike,
    *,
    centre: ArrayLike | None = None,
    tolerance: float = 1e-3,
) -> FrictionResult:
    """The friction forces of least usage that balance the load: min rho with |(f_t, m / e)| <= rho mu f_n.

    Args:
        contacts: n contacts.
        external: w_ext about ``centre`` [N, N m].
        normal_forces: n normal forces, not negative [N].
        centre: centre of mass in {B} [m].
        tolerance: permitted imbalance as part of the load or the largest normal force, whichever is more; simulated
            normal forces never balance exactly in the directions that friction cannot reach.
    """
    layout, s, n = contacts.layout, contacts.dimension, len(contacts)
    w, f_n = np.asarray(external, dtype=float), np.asarray(normal_forces, dtype=float)
    if w.shape != ((6,) if s == 3 else (3,)) or not np.isfinite(w).all():
        raise GraspError("external", f"{w.tolist()}; expected {6 if s == 3 else 3} finite numbers")
    if f_n.shape != (n,) or not np.isfinite(f_n).all() or f_n.min() < -EDGE * f_n.max():
        raise GraspError("normal_forces", f"{f_n.tolist()}; expected {n} finite numbers, none negative")
    f_n = np.maximum(f_n, 0.0)
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise GraspError("tolerance", f"{tolerance}; allowed: above 0")
    length = reference_length(contacts, centre)
    g = grasp_matrix(contacts, centre) * component_scale(contacts)
    g[s:] /= length
    load = np.concatenate([w[:s], w[s:] / length])
    unit = max(float(np.linalg.norm(load)), float(f_n.max()))
    if unit == 0:
        return FrictionResult(0.0, np.zeros((n, s)), np.zeros(n), 0.0)
    sideways = np.setdiff1d(np.arange(layout.size), layout.normal)
    given = (load + g[:, layout.normal] @ f_n) / unit
    k = len(sideways)
    x = np.zeros(k)
    usage = 0.0
    if k:
        status, x, usage = _least_usage(contacts, g[:, sideways], given, f_n / unit, sideways, tolerance)
        if not status:
            return FrictionResult(np.inf, None, None, np.inf)
    left = float(np.linalg.norm(given + g[:, sideways] @ x)) * unit
    if not k and left > tolerance * unit:
        return FrictionResult(np.inf, None, None, left)
    f = np.zeros(layout.size)
    f[layout.normal] = f_n
    f[sideways] = x * unit
    forces, moments = contacts.table(f * component_scale(contacts))
    return FrictionResult(usage, forces, moments, left)


def _least_usage(
    contacts: ContactSet,
    matrix: Floats,
    given: Floats,
    f_n: Floats,
    sideways: NDArray[np.intp],
    tolerance: float,
) -> tuple[bool, Floats, float]:
    """Solve for (friction components, rho): the imbalance in a ball, each contact in its cone."""
    d, k = matrix.shape
    rows = [np.vstack([np.zeros((1, k + 1)), np.hstack([-matrix, np.zeros((d, 1))])])]
    right = [np.concatenate([[tolerance], given])]
    cones = [("second", d + 1)]
    place = {int(component): column for column, component in enumerate(sideways)}
    for i, part in enumerate(contacts.layout.slices):
        if contacts.models[i] is ContactModel.FRICTIONLESS:
            continue
        columns = [place[c] for c in range(part.start, part.stop) if c in place]
        block = np.zeros((1 + len(columns), k + 1))
        block[0, k] = -contacts.friction[i] * f_n[i]
        block[np.arange(1, 1 + len(columns)), columns] = -1.0
        rows.append(block)
        right.append(np.zeros(len(block)))
        cones.append(("second", len(block)))
    # rho >= 0 even where no contact presses.
    rows.append(-np.eye(1, k + 1, k))
    right.append(np.zeros(1))
    cones.append(("plus", 1))
    cost = np.zeros(k + 1)
    cost[k] = 1.0
    answer = solve_once(cost, sparse.csc_matrix(np.vstack(rows)), np.concatenate(right), cones)
    found = answer.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    x = np.array(answer.x, dtype=np.float64)
    return found, x[:k], max(float(x[k]), 0.0)
