"""Pushes on the held object: a task's disturbances, applied for real while the hand carries it.   (theory 10)

One after another, each grown over ``RAMP``, kept for ``KEPT`` and taken away over ``RAMP``. "Any force" comes from six
sides. The first begins when the object has left its support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.control import RunLog, RunPhase
from pliant.lab.driver import LabDriver
from pliant.planner import PlannedGrasp, Push
from pliant.robot import PALM_FRAME

RAMP = 0.1  # [s]
KEPT = 0.3  # [s]
PAUSE = 0.1  # between two pushes [s]
CLEAR = 0.005  # so far above its support the first push begins, or where the lift is over [m]


class Wrench(NamedTuple):
    """Force [N] and torque [N m] on the object in the world, at its centre of mass."""

    force: tuple[float, float, float]
    torque: tuple[float, float, float]


@dataclass(frozen=True)
class PushOutcome:
    """What a push did to the held object.

    Attributes:
        force, torque: of the push, in the world [N, N m].
        phase: in which it began; None if the run ended before.
        start: when [s]; NaN if it never came.
        slip: farthest that the object went in the hand during it, at its centre or a contact, beyond the plan [m]; what
            the object gives elastically is in it.
        remaining: how far it still was from there when the push had gone [m].
        held: whether the object was in the hand then, and ``slip`` stayed below what counts as slid; None if the push
            never came.
    """

    force: tuple[float, float, float]
    torque: tuple[float, float, float]
    phase: RunPhase | None
    start: float
    slip: float
    remaining: float
    held: bool | None


@dataclass
class _Applied:
    """A push that has begun: when it was where the object's points were in the palm, and whether it went to its end."""

    phase: RunPhase
    start: float
    times: list[float] = field(default_factory=list)
    p_palm_points: list[Floats] = field(default_factory=list)
    over: bool = False
    whole: bool = False


def wrenches(pushes: Sequence[Push]) -> tuple[Wrench, ...]:
    """What is applied for a task's disturbances: any force up to a size comes from the six sides of the world."""
    found = []
    for push in pushes:
        if push.any_force > 0.0:
            sides = np.vstack([np.eye(3), -np.eye(3)]) * push.any_force
            found += [Wrench((float(x), float(y), float(z)), (0.0, 0.0, 0.0)) for x, y, z in sides]
        else:
            found.append(Wrench(push.force, push.torque))
    return tuple(found)


def pushing_time(count: int) -> float:
    """How long so many pushes take [s]."""
    return count * (2 * RAMP + KEPT + PAUSE)


class Pusher:
    """Applies pushes to the lab's object while it is carried, and watches how it moves in the hand.

    Args:
        lab: the driver, the object at rest.
        grasp: what is carried out.
        pushes: what to apply, in this order.
    """

    def __init__(self, lab: LabDriver, grasp: PlannedGrasp, pushes: Sequence[Wrench]) -> None:
        self.lab, self.grasp, self.pushes = lab, grasp, tuple(pushes)
        state = grasp.grasp
        contacts = [contact.T_object_contact.translation for contact in state.contacts]
        self._points = np.array([state.T_world_object.actInv(state.centre_of_mass), *contacts])
        self._applied: list[_Applied] = []
        self._height = float(lab.simulation.object_state().centre[2])
        self._next = -np.inf

    def observe(self, time: float, phase: RunPhase) -> None:
        """Push as the clock says; called with every sample of the run."""
        now = self._applied[-1] if self._applied and not self._applied[-1].over else None
        if now is None:
            if len(self._applied) == len(self.pushes) or time < self._next or not self._may_begin(phase):
                return
            now = _Applied(phase, time)
            self._applied.append(now)
        since, lasts = time - now.start, 2 * RAMP + KEPT
        now.times.append(time)
        now.p_palm_points.append(self._points_in_palm(self._true_pose()))
        now.whole = since >= lasts
        now.over = now.whole or not phase.carries  # a run that is broken off is not pushed any more
        share = 0.0 if now.over else min(1.0, since / RAMP, (lasts - since) / RAMP)
        force, torque = self.pushes[len(self._applied) - 1]
        self.lab.simulation.push(share * np.array(force), share * np.array(torque))
        if now.over:
            now.whole = now.whole and bool(self.lab.pads.contacts())
            self._next = time + PAUSE

    def outcomes(self, log: RunLog, slid: float) -> tuple[PushOutcome, ...]:
        """What became of every push.

        Args:
            log: of the run: it knows where in the plan the run was.
            slid: from how far on the object counts as not held [m].
        """
        found = []
        for k, (force, torque) in enumerate(self.pushes):
            if k >= len(self._applied):
                found.append(PushOutcome(force, torque, None, np.nan, np.nan, np.nan, None))
                continue
            applied = self._applied[k]
            beyond = np.array(applied.p_palm_points) - self._planned_points(applied, log)
            moved = np.linalg.norm(beyond - beyond[0], axis=2).max(axis=1)
            slip = float(moved.max())
            held = applied.whole and slip < slid
            found.append(PushOutcome(force, torque, applied.phase, applied.start, slip, float(moved[-1]), held))
        return tuple(found)

    def _may_begin(self, phase: RunPhase) -> bool:
        if phase is RunPhase.LIFT:
            return float(self.lab.simulation.object_state().centre[2]) - self._height > CLEAR
        return phase.carries

    def _true_pose(self) -> pin.SE3:
        """T_palm_object as it is."""
        palm = self.lab.assembly.robot.pose(PALM_FRAME, self.lab.true_joints())
        return palm.actInv(self.lab.simulation.object_state().T_world_object)

    def _points_in_palm(self, T_palm_object: pin.SE3) -> Floats:
        return np.array([T_palm_object.act(point) for point in self._points])

    def _planned_points(self, applied: _Applied, log: RunLog) -> Floats:
        """Where the plan has the object's points in the palm at the times of a push, k x points x 3 [m]."""
        robot, trajectory = self.lab.assembly.robot, self.grasp.trajectory
        found = []
        for time in np.interp(applied.times, log["time"], log["plan_time"]):
            T_world_palm = robot.pose(PALM_FRAME, trajectory.at(time))
            found.append(self._points_in_palm(T_world_palm.actInv(trajectory.object_at(time))))
        return np.array(found)
