"""The forces that a held object needs: smallest sufficient ones with the task's reserves, and friction that balances.

Only forces that the drives can command count.   (theory 7.3, 8.4, 8.10, 8.11)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Floats
from pliant.constants import GRAVITY
from pliant.grasp import (
    ContactSet,
    Family,
    ForceResult,
    ForceSolver,
    FrictionResult,
    Objective,
    balancing_friction,
    component_scale,
    contact_stiffness,
    grasp_matrix,
    weighted_right_inverse,
)
from pliant.objects import Body
from pliant.planner.drives import Drives
from pliant.planner.reasons import Failure, Reason
from pliant.planner.results import Reserve
from pliant.planner.task import Push
from pliant.planner.weight import Weight

UNBALANCED = 0.02
"""What friction may leave unbalanced, as part of the load or the largest force: simulated forces are found as well."""
LEAST_MARGIN = 0.05
"""Margin against slipping where there is no load at all, as part of the weight on earth."""
LEANS = 1.5
"""What stands on a pinch and lies beside it leans on the springs of its patches, and weighs on them by so much more:
k / (k - W h), with the k of two patches of fingertips and h of a centimetre."""
INSCRIBED = 0.9226021945439894
"""Radius of the largest sphere in the hull of corners and face centres of an icosahedron, all of length 1."""
TO_BLAME = {
    Family.FORCE_LIMIT: Reason.NEEDS_MORE_FORCE,
    Family.TORQUE_LIMIT: Reason.TORQUE_LIMIT,
    Family.COMMANDABLE: Reason.CANNOT_COMMAND,
}
"""Families of constraints and what they are called here, limits that can be raised before the rest."""


class WantedForces:
    """What contacts must bear, and the smallest forces that do; one for a task.

    The object may be heavier or lighter than the task says, and it may be pushed: the contacts share the difference
    as springs do, so one squeeze must hold for all of it. With less friction than the task says it must hold as well.

    Args:
        weight: nominal.
        margin: distance of every contact from slipping and from its force limit [N].
        reserve: factors on friction and weight.
        pushes: what may come on top of the weight, whatever that is.
        objective: what is made small: the largest force, or [D]'s loading.
        least: smallest normal force of a contact [N]: what pads measure reliably.
        beside: how far the object may lie beside its planned place [m]; a pinch that it stands on must bear that.

    Attributes:
        load: nominal weight as a wrench about the centre of mass, world [N, N m].
        pushes: k x 6 wrenches that may come on top.
        disturbances: all that may come on top of the nominal weight, m x 6.
    """

    def __init__(
        self,
        weight: Weight,
        *,
        margin: float,
        reserve: Reserve,
        pushes: Sequence[Push] = (),
        objective: Objective | str = Objective.LARGEST,
        least: float = 0.0,
        beside: float = 0.0,
    ) -> None:
        self.weight, self.reserve, self.least, self.beside = weight, reserve, least, beside
        self.load = np.concatenate([weight.force, np.zeros(3)])
        self.pushes = push_wrenches(pushes)
        more = (reserve.load - 1.0) * self.load
        weights = np.array([more, -more]) if more.any() else np.zeros((1, 6))
        each = [change + push for change in weights for push in (np.zeros(6), *self.pushes)]
        self.disturbances = np.array([wrench for wrench in each if wrench.any()]).reshape(-1, 6)
        self._quick = ForceSolver(objective=objective, margin=margin, explain=False)
        self._explain = ForceSolver(objective=objective, margin=margin, explain=True)

    @classmethod
    def of(
        cls,
        body: Body,
        *,
        margin: float = 0.05,
        reserve: Reserve | None = None,
        gravity: ArrayLike = (0.0, 0.0, -GRAVITY),
        pushes: Sequence[Push] = (),
        objective: Objective | str = Objective.LARGEST,
        least: float = 0.0,
        beside: float = 0.0,
    ) -> WantedForces:
        """What a body needs.

        Args:
            body: its mass and contents.
            margin: as part of its weight on the earth (`margin_force`).
            reserve: none when left out.
            gravity: acceleration in the world [m/s^2].
            pushes, objective, least, beside: as of the class.
        """
        weight = Weight(body, np.asarray(gravity, dtype=np.float64))
        newtons = margin_force(margin, body.mass, gravity, pushes)
        return cls(
            weight,
            margin=newtons,
            reserve=reserve or Reserve(),
            pushes=pushes,
            objective=objective,
            least=least,
            beside=beside,
        )

    @property
    def largest_load(self) -> float:
        """Size of the largest force that may have to be borne, at least the margin [N]."""
        loads = np.vstack([self.load, self.load + self.disturbances])
        return max(float(np.linalg.norm(loads[:, :3], axis=1).max()), self._quick.margin)

    def solve(self, contacts: ContactSet, centre: Floats, drives: Drives) -> ForceResult:
        """The smallest forces that hold the nominal weight, ready for all that may come on top.

        Args:
            contacts: with their nominal friction.
            centre: centre of mass, world [m].
            drives: of the hand at these contacts.
        """
        answer = self._solve(self._quick, contacts, centre, drives)
        if answer.forces is None or answer.forces[:, 2].min() >= self.least:
            return answer
        raised = answer.forces.copy()
        raised[:, 2] = np.maximum(raised[:, 2], self.least)
        return replace(answer, forces=raised)

    def nominal_force(self, contacts: ContactSet, centre: Floats, drives: Drives) -> float:
        """The largest normal force of those that hold without any reserve, pushes included [N]."""
        answer = drives.solve(self._quick, contacts, self.load, centre, self.pushes)
        return float(answer.forces[:, 2].max()) if answer.forces is not None else np.inf

    def friction(self, contacts: ContactSet, centre: Floats, drives: Drives, normal_forces: Floats) -> FrictionResult:
        """Friction that balances beside given normal forces, in the worst world of the reserve and under all pushes.

        Args:
            contacts, centre, drives: as of `solve`.
            normal_forces: simulated under the nominal weight [N]; what comes on top changes them elastically.
        """
        contacts = self._reserved(contacts)
        worst = self._balancing(contacts, centre, self.load, normal_forces)
        changes = self._changes(contacts, centre)
        if not len(changes) or worst.forces is None or worst.moments is None:
            return worst
        stiffness = contact_stiffness(contacts, drives.jacobian, drives.compliance)
        shifts = -changes @ weighted_right_inverse(grasp_matrix(contacts, centre), stiffness).T
        # the springs' own answer bounds from above what friction must do, so most loads need not be looked at
        bounds = _usage(contacts, contacts.stacked(worst.forces, worst.moments) + shifts)
        for k in np.argsort(-bounds):
            if bounds[k] <= worst.usage:
                break
            normal = np.maximum(normal_forces + shifts[k][contacts.layout.normal], 0.0)
            answer = self._balancing(contacts, centre, self.load + changes[k], normal)
            worst = max(worst, answer, key=lambda result: result.usage)
        return worst

    def possible(self, contacts: ContactSet, centre: Floats) -> bool:
        """Whether any forces hold, whoever commands them, fresh ones for each push."""
        reserved = self._reserved(contacts)
        return self._quick.solve(
            reserved, self.load, centre=centre, disturbances=self.pushes, reaction="active"
        ).feasible

    def failure(self, contacts: ContactSet, centre: Floats, drives: Drives) -> Failure:
        """Why no forces hold, by what is to blame."""
        result = self._solve(self._explain, contacts, centre, drives)
        for family, reason in TO_BLAME.items():
            needed = [b.largest_force for b in result.blame if family in b.families and b.largest_force is not None]
            if not needed:
                continue
            if reason is Reason.TORQUE_LIMIT:
                strong = replace(drives, torque_limits=np.full(len(drives.torque_limits), np.inf))
                torques = self._solve(self._quick, contacts, centre, strong).tau
                if torques is not None:
                    return drives.overload(torques)
            return Failure(reason, needed[0], "N", f"{needed[0]:.3g} N would hold it")
        blamed = str(result.blame[0]) if result.blame else "geometry"
        return Failure(Reason.NO_FORCES, 1.0, detail=f"to blame: {blamed}")

    def _solve(self, solver: ForceSolver, contacts: ContactSet, centre: Floats, drives: Drives) -> ForceResult:
        return drives.solve(solver, self._reserved(contacts), self.load, centre, self._changes(contacts, centre))

    def _changes(self, contacts: ContactSet, centre: Floats) -> Floats:
        """All that may come on top of the nominal weight on these contacts, m x 6."""
        torque = tipping(contacts.points, centre, self.load[:3], self.beside)
        if torque is None:
            return self.disturbances
        tips = np.array([np.concatenate([np.zeros(3), side * torque]) for side in (1.0, -1.0)])
        each = self.disturbances if len(self.disturbances) else np.zeros((1, 6))
        return (each[:, None] + tips[None]).reshape(-1, 6)

    def _balancing(self, contacts: ContactSet, centre: Floats, load: Floats, normal: Floats) -> FrictionResult:
        return balancing_friction(contacts, load, normal, centre=centre, tolerance=UNBALANCED)

    def _reserved(self, contacts: ContactSet) -> ContactSet:
        return replace(contacts, friction=self.reserve.friction * contacts.friction)


def margin_force(share: float, mass: float, gravity: ArrayLike, pushes: Sequence[Push]) -> float:
    """The margin against slipping [N]: a part of what the object weighs on earth, whatever gravity there is.

    It also covers the inertia of a moved object, which does not vanish with its weight. Where nothing weighs and
    nothing pushes it alone makes the grasp, and is at least ``LEAST_MARGIN`` of that weight.
    """
    if not np.any(gravity) and not pushes:
        share = max(share, LEAST_MARGIN)
    return share * GRAVITY * mass


def tipping(points: Floats, centre: Floats, weight: Floats, beside: float) -> Floats | None:
    """The torque with which an object falls over on a pinch, where it lies so far beside the plan [N m].  (theory 8.10)

    An object that hangs below the line between two contacts swings until its weight is below it. One that stands on the
    line falls over, unless the two patches hold it. None for more contacts, and for an object that hangs, or whose
    centre of mass is no higher above the line than it may lie beside it.

    Args:
        points: n x 3, contacts [m].
        centre: of mass [m].
        weight: [N].
        beside: [m].
    """
    size = float(np.linalg.norm(weight))
    if len(points) != 2 or size == 0.0 or beside <= 0.0:
        return None
    line = points[1] - points[0]
    line = line / max(float(np.linalg.norm(line)), 1e-12)
    up = (line * (weight @ line) - weight) / size
    level = float(np.linalg.norm(up))  # 1 where the line is level, 0 where it is upright
    if (centre - points[0]) @ up <= beside * level:
        return None
    return np.asarray(LEANS * beside * level * size * line)


def push_wrenches(pushes: Sequence[Push]) -> Floats:
    """The wrenches that stand for pushes at the centre of mass, k x 6 [N, N m].   (theory 8.11)

    A force that may come from any direction is replaced by 32 forces whose hull contains all of them.
    """
    rows = [np.zeros((0, 6))]
    for push in pushes:
        if push.any_force:
            forces = push.any_force * around_sphere()
            rows.append(np.hstack([forces, np.zeros_like(forces)]))
        else:
            rows.append(np.array([[*push.force, *push.torque]]))
    return np.vstack(rows)


def around_sphere() -> Floats:
    """32 points whose hull contains the unit sphere, 8.4 % outside it: corners and face centres of an icosahedron."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    corners = np.vstack([np.roll([[0.0, a, b * golden] for a, b in signs], k, axis=1) for k in range(3)])
    cube = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    dual = np.vstack([np.roll([[0.0, a * golden, b / golden] for a, b in signs], k, axis=1) for k in range(3)])
    points = np.vstack([corners, cube, dual])
    return np.asarray(points / np.linalg.norm(points, axis=1)[:, None] / INSCRIBED)


def _usage(contacts: ContactSet, forces: Floats) -> Floats:
    """Largest part of the friction that each row of forces uses; infinite where a contact would have to pull."""
    layout = contacts.layout
    scaled = forces / component_scale(contacts)
    worst = np.zeros(len(forces))
    for i, part in enumerate(layout.slices):
        normal = scaled[:, layout.normal[i]]
        others = [c for c in range(part.start, part.stop) if c != layout.normal[i]]
        if not others:
            worst = np.where(normal >= 0.0, worst, np.inf)
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            used = np.linalg.norm(scaled[:, others], axis=1) / (contacts.friction[i] * normal)
        worst = np.maximum(worst, np.where(normal > 0.0, used, np.inf))
    return worst
