"""A planned grasp at any instant: joints, object, shape and contacts, between the states that the plan holds.

The plan knows the held object at a few instants. In between, poses follow the trajectory and displacements go in a
straight line, while contacts and forces are those of the nearer instant; before the first touch nothing is deformed,
and during the squeeze everything grows from zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.planner import HeldState, Phase, PlannedContact, PlannedGrasp


@dataclass(frozen=True, eq=False)
class Moment:
    """One instant of an operation.

    Args:
        time: [s].
        phase: of the operation.
        q: joints.
        T_world_object: the object's pose.
        state: the held state whose contacts are shown; None while nothing touches.
        share: how much of the state's forces and deformation is there, 0..1; below 1 only during the squeeze.
        shape: (earlier state, later state, share of the later), for whoever blends shapes; None: undeformed.
    """

    time: float
    phase: Phase
    q: Floats
    T_world_object: pin.SE3
    state: HeldState | None
    share: float
    shape: tuple[int, int, float] | None

    @property
    def contacts(self) -> tuple[PlannedContact, ...]:
        """Contacts that carry force now."""
        return self.state.contacts if self.state is not None and self.share > 0.0 else ()

    @property
    def largest_force(self) -> float:
        """Largest normal force [N]."""
        return self.share * self.state.largest_force if self.state is not None else 0.0

    @property
    def largest_pressure(self) -> float:
        """Largest pressure [Pa]; it grows with the cube root of the force, as Hertz says of any two smooth bodies."""
        return float(np.cbrt(self.share)) * self.state.largest_pressure if self.state is not None else 0.0

    @property
    def liquid_level(self) -> float | None:
        """Height of the liquid's surface in the world [m]; between two states it goes along with the vessel."""
        if self.state is None or self.state.liquid_level is None:
            return None
        rise = self.T_world_object.translation[2] - self.state.T_world_object.translation[2]
        return float(self.state.liquid_level + rise)


class Timeline:
    """The whole operation of a grasp as a function of time.

    Args:
        grasp: the planned grasp; it has at least one held state.
    """

    def __init__(self, grasp: PlannedGrasp) -> None:
        self.grasp = grasp
        self.trajectory = grasp.trajectory
        self.times = np.array([state.time for state in grasp.states])
        span = self.trajectory.span(Phase.SQUEEZE)
        self.touch = min(span[0], float(self.times[0])) if span is not None else float(self.times[0])

    @property
    def duration(self) -> float:
        """[s]"""
        return max(self.trajectory.duration, float(self.times[-1]))

    @property
    def phases(self) -> dict[Phase, tuple[float, float]]:
        """First and last time of every phase that the operation has."""
        spans = {phase: self.trajectory.span(phase) for phase in Phase}
        return {phase: span for phase, span in spans.items() if span is not None}

    def at(self, time: float) -> Moment:
        """What is the case at a time; held at both ends."""
        time = float(np.clip(time, 0.0, self.duration))
        state, share, shape = self._held(time)
        return Moment(
            time, self.phase(time), self.trajectory.at(time), self.trajectory.object_at(time), state, share, shape
        )

    def phase(self, time: float) -> Phase:
        """The phase that a time lies in."""
        i = int(np.clip(np.searchsorted(self.trajectory.times, time), 0, len(self.trajectory.phases) - 1))
        return self.trajectory.phases[i]

    def displacement(self, moment: Moment) -> Floats:
        """n x 3 displacements of the object's vertices in its own frame [m]."""
        states = self.grasp.states
        if moment.shape is None:
            return np.zeros(states[0].displacement.shape)
        early, late, part = moment.shape
        blended = (1.0 - part) * states[early].displacement + part * states[late].displacement
        return np.asarray(moment.share * blended, dtype=np.float64)

    def _held(self, time: float) -> tuple[HeldState | None, float, tuple[int, int, float] | None]:
        states, times = self.grasp.states, self.times
        if time <= self.touch and time < times[0]:
            return None, 0.0, None
        if time < times[0]:
            share = (time - self.touch) / (times[0] - self.touch)
            return states[0], float(share), (0, 0, 0.0)
        late = int(np.searchsorted(times, time, side="left"))
        if late >= len(states):
            return states[-1], 1.0, (len(states) - 1, len(states) - 1, 0.0)
        if late == 0:
            return states[0], 1.0, (0, 0, 0.0)
        part = float((time - times[late - 1]) / max(times[late] - times[late - 1], 1e-12))
        return states[late if part >= 0.5 else late - 1], 1.0, (late - 1, late, part)
