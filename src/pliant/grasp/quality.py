"""How good a grasp is, by the measures of the field, each with what one needs to read it.   (theory 7.4)"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from pliant.errors import OptionError
from pliant.grasp.cones import solve_once
from pliant.grasp.contacts import ContactSet
from pliant.grasp.forces import ForceSolver
from pliant.grasp.hulls import edge_wrenches, epsilon_l1, epsilon_linf, wrench_volume
from pliant.grasp.layout import ContactModel
from pliant.grasp.matrix import component_scale, grasp_matrix, object_report, reference_length


@dataclass(frozen=True)
class Measure:
    """How to read a measure.

    Args:
        name: key in the reports.
        meaning: what it says about the grasp.
        invariance: what leaves it unchanged and what does not.
        unit: SI; "1" for a plain number.
        better: "higher" or "lower".
        lowest, highest: ends of its range.
    """

    name: str
    meaning: str
    invariance: str
    unit: str = "1"
    better: str = "higher"
    lowest: float = 0.0
    highest: float = np.inf


_BY_LENGTH = (
    "unchanged by moving or turning everything, units and contact order; depends on the length that divides torques"
)
_PYRAMIDS = " and, by a few per cent, on how the friction pyramids are turned"
_MEASURES = (
    Measure(
        "smallest_singular_value",
        "weakest wrench that unit contact forces make, friction aside; 0: some wrench cannot be answered",
        _BY_LENGTH,
    ),
    Measure(
        "ellipsoid_volume",
        "product of the singular values of G: volume of wrenches that unit contact forces make, over that of a ball",
        _BY_LENGTH + "; rankings of grasps do not",
    ),
    Measure(
        "isotropy",
        "smallest over largest singular value of G: 1 when all wrenches are equally easy",
        _BY_LENGTH,
        highest=1.0,
    ),
    Measure(
        "epsilon_l1",
        "smallest wrench that breaks the grasp when the normal forces sum to 1 (Ferrari-Canny)",
        _BY_LENGTH + _PYRAMIDS,
    ),
    Measure(
        "epsilon_linf",
        "smallest wrench that breaks the grasp when every normal force is at most 1 (Ferrari-Canny)",
        _BY_LENGTH + _PYRAMIDS,
    ),
    Measure(
        "wrench_volume",
        "volume of the wrenches held when the normal forces sum to 1",
        _BY_LENGTH + " (its third power)" + _PYRAMIDS,
    ),
    Measure(
        "force_closure_margin",
        "room inside the friction cones of the best squeeze with a mean normal force of 1; above 0 with a full-rank G "
        "is force closure",
        "unchanged by frames, units, contact order and the centre of mass; round cones, no pyramids",
        lowest=-np.inf,
    ),
    Measure(
        "centroid_distance",
        "from the centroid of the contacts to the centre of mass",
        "unchanged by moving or turning everything and by contact order; grows with the object",
        "m",
        "lower",
    ),
    Measure(
        "largest_force",
        "largest contact force that the load needs",
        "unchanged by frames, units and contact order; proportional to the load; infinite when it cannot be held",
        "N",
        "lower",
    ),
    Measure(
        "joint_range",
        "mean squared distance of the joints from the middle of their ranges, summed over joints",
        "unchanged by frames and units and by the sign of the joints; a quarter per joint at its limits",
        better="lower",
    ),
)
MEASURES: dict[str, Measure] = {measure.name: measure for measure in _MEASURES}


def grasp_quality(
    contacts: ContactSet,
    centre: ArrayLike | None = None,
    *,
    external: ArrayLike | None = None,
    edges: int = 8,
    length: float | None = None,
    solver: ForceSolver | None = None,
) -> dict[str, float]:
    """All measures that follow from the contacts, by name; :data:`MEASURES` says how to read them.

    Args:
        contacts: n contacts.
        centre: centre of mass in {B} [m].
        external: load about the centre of mass [N, N m]; without it there is no ``largest_force``.
        edges: of the friction pyramids behind the hulls.
        length: what torques are divided by [m]; the farthest contact's distance by default.
        solver: to find the largest force with.
    """
    if edges < 3:
        raise OptionError("edges", f"{edges}; allowed: 3 or more")
    if length is not None and not (np.isfinite(length) and length > 0):
        raise OptionError("length", f"{length} m; allowed: above 0")
    values = object_report(contacts, centre, length=length).singular_values
    middle = contacts.points.mean(axis=0) - (0.0 if centre is None else np.asarray(centre, dtype=float))
    wrenches = edge_wrenches(contacts, centre, edges=edges, length=length)
    quality = {
        "smallest_singular_value": float(values[-1]),
        "ellipsoid_volume": float(np.prod(values)),
        "isotropy": float(values[-1] / values[0]),
        "epsilon_l1": epsilon_l1(wrenches),
        "epsilon_linf": epsilon_linf(wrenches),
        "wrench_volume": wrench_volume(wrenches),
        "force_closure_margin": force_closure_margin(contacts),
        "centroid_distance": float(np.linalg.norm(middle)),
    }
    if external is not None:
        answer = (solver or ForceSolver(explain=False)).solve(contacts, external, centre=centre)
        quality["largest_force"] = answer.largest_force if answer.feasible else np.inf
    return quality


def force_closure_margin(contacts: ContactSet) -> float:
    """Largest delta with G f = 0, mean f_n = 1 and |(f_t, m / e)| <= mu f_n - delta at every contact.

    Frictionless contacts: delta <= f_n. Minus infinity when no squeeze with pushing contacts balances itself. A cone
    program with round cones, so there is no error of linearisation.
    """
    layout, s = contacts.layout, contacts.dimension
    centre = contacts.points.mean(axis=0)
    g = grasp_matrix(contacts, centre) * component_scale(contacts)
    g[s:] /= reference_length(contacts, centre)
    _, sigma, vt = np.linalg.svd(g, full_matrices=False)
    balance = vt[sigma > 1e-9 * sigma[0]]
    size, n = layout.size, len(contacts)
    blocks = [np.hstack([balance, np.zeros((len(balance), 1))]), np.zeros((1, size + 1))]
    blocks[1][0, layout.normal] = 1.0
    cones = [("zero", len(balance) + 1)]
    for i, part in enumerate(layout.slices):
        others = [c for c in range(part.start, part.stop) if c != layout.normal[i]]
        rows = np.zeros((1 + len(others), size + 1))
        smooth = layout.models[i] is ContactModel.FRICTIONLESS
        rows[0, layout.normal[i]] = -1.0 if smooth else -contacts.friction[i]
        rows[0, -1] = 1.0
        rows[np.arange(1, 1 + len(others)), others] = -1.0
        blocks.append(rows)
        cones.append(("plus", 1) if smooth else ("second", len(rows)))
    matrix = np.vstack(blocks)
    right = np.zeros(len(matrix))
    right[len(balance)] = n
    cost = np.zeros(size + 1)
    cost[-1] = -1.0
    answer = solve_once(cost, sparse.csc_matrix(matrix), right, cones)
    if answer.status in (clarabel.SolverStatus.PrimalInfeasible, clarabel.SolverStatus.AlmostPrimalInfeasible):
        return -np.inf
    return float(answer.x[-1])


def joint_range(positions: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """Q = (1/t) sum_i sum_j ((q_ji - (qmax_j + qmin_j)/2) / (qmax_j - qmin_j))^2.   (theory 8.8, (7))

    Joints without limits have no middle, those with equal ones no range; neither count.

    Args:
        positions: t x q joint positions along the operation [rad, m]; one row is enough.
        lower, upper: q limits.
    """
    q = np.atleast_2d(np.asarray(positions, dtype=float))
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    if low.shape != (q.shape[1],) or high.shape != low.shape:
        raise OptionError("limits", f"shapes {low.shape} and {high.shape}; expected {q.shape[1]} joints each")
    if not np.isfinite(q).all() or not (high >= low).all():
        raise OptionError("positions", "need finite positions, and upper limits not below the lower ones")
    bounded = np.isfinite(low) & np.isfinite(high) & (high > low)
    q, low, high = q[:, bounded], low[bounded], high[bounded]
    return float((((q - (high + low) / 2) / (high - low)) ** 2).sum(axis=1).mean())
