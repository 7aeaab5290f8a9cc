"""What the force problem answers: forces with their margins, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from pliant.arrays import Floats
from pliant.grasp.certificate import Certificate
from pliant.grasp.cones import Family
from pliant.grasp.contacts import ContactSet


class ForceStatus(StrEnum):
    """Whether some permitted forces hold the load."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"


class DisturbanceResponse(StrEnum):
    """How the hand meets a disturbance."""

    ELASTIC = "elastic"  # the commanded squeeze stays, the springs at the contacts take the rest: -G_K^R d
    ACTIVE = "active"  # the hand knows each disturbance and chooses fresh forces for it


@dataclass(frozen=True, eq=False)
class Margins:
    """What is left before a contact slips or a limit is reached, at the worst of the loads.

    Args:
        slip: mu f_n - |(f_t, m / e)| per contact [N]; 0 is about to slip. Frictionless contacts: f_n.
        overload: f_max - f_n per contact [N].
        torque: tau_max - |J^T f + tau_gravity| per joint [N m] (prismatic: [N]); empty without limits.
        torque_of_contact: the least of these among the joints that carry the contact; infinite without limits.
    """

    slip: Floats
    overload: Floats
    torque: Floats
    torque_of_contact: Floats


@dataclass(frozen=True)
class Blame:
    """Families of constraints that, left out together, would make the problem feasible.

    Args:
        families: one family, or several where no single one is enough.
        largest_force: the largest contact force that would then do [N]; None if it means nothing.
    """

    families: tuple[Family, ...]
    largest_force: float | None = None

    def __str__(self) -> str:
        return " and ".join(self.families)


@dataclass(frozen=True, eq=False)
class ForceResult:
    """The smallest sufficient forces, or why there are none.

    Args:
        status: optimal or infeasible.
        contacts: the contacts asked about.
        forces: n x s in the contact frames, normal last [N]; None if infeasible.
        moments: n moments of soft fingers about their normals [N m]; None if infeasible.
        f: the stacked vector of both, as G and J take it.
        tau: joint torques J^T f by the law (6) [N m]; None without a hand.
        margins: None if infeasible or not asked for.
        largest_force: largest |f_i|, at the worst of the loads [N].
        total_force: sum of |f_i| for the undisturbed load [N].
        residual: largest component of G f + w_ext [N, N m].
        worst_load: which load counts most: 0 the external wrench itself, k the k-th disturbance on top of it.
        blame: families to blame, single ones first; empty if feasible or not asked for.
        certificate: the checked proof of infeasibility; None where none was asked for.
        iterations: of the solver.
    """

    status: ForceStatus
    contacts: ContactSet
    forces: Floats | None = None
    moments: Floats | None = None
    f: Floats | None = None
    tau: Floats | None = None
    margins: Margins | None = None
    largest_force: float = np.nan
    total_force: float = np.nan
    residual: float = np.nan
    worst_load: int = 0
    blame: tuple[Blame, ...] = ()
    certificate: Certificate | None = None
    iterations: int = 0

    @property
    def feasible(self) -> bool:
        """True when forces were found."""
        return self.status is ForceStatus.OPTIMAL

    @property
    def forces_world(self) -> Floats | None:
        """The forces on the object in {B}, n x s [N]."""
        return None if self.forces is None else self.contacts.to_world(self.forces)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed in the input, for the user to read."""
        return self.contacts.notes
