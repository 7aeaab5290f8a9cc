"""What the plan says at any time: joints, phase, forces, contact points, load.   (theory 9)

Contacts are those of the grasp (the first held state), found again in later states by link and nearest point.
Before the grasp, forces grow from the touch with the power 1.5 of the way (Hertz).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem
from pliant.planner.results import HeldState, Phase, PlannedContact, PlannedGrasp, Trajectory
from pliant.robot import Robot


@dataclass(frozen=True, eq=False)
class PlannedMoment:
    """The plan at one time; n contacts.

    Attributes:
        q: joints.
        forces: n x 3 in the contact frames, normal last [N].
        points: n x 3 in the frames of the links [m].
        axes: n x 3 x 3, contact axes in the frames of the links, normal into the object last.
        load: force and torque about the centre of mass, world [N, N m].
        centre: centre of mass in the world [m].
        centroid: mean of the planned contact points in the world [m].
    """

    q: Floats
    forces: Floats
    points: Floats
    axes: Floats
    load: Floats
    centre: Floats
    centroid: Floats


class Timeline:
    """A planned grasp as a function of time."""

    def __init__(self, grasp: PlannedGrasp, robot: Robot) -> None:
        if not grasp.states or not grasp.grasp.contacts:
            raise OptionError("plan", "the grasp has no contacts; nothing to control")
        self.trajectory: Trajectory = grasp.trajectory
        first = grasp.grasp.contacts
        self.links = tuple(contact.link for contact in first)
        self.fingers = tuple(contact.finger for contact in first)
        self.friction = np.array([contact.friction for contact in first])
        self.max_force = np.array([contact.max_force for contact in first])
        self.radius = np.array([max(contact.radius, 1e-4) for contact in first])
        self.stiffness = np.array([_diagonal(contact.stiffness) for contact in first])
        self.q_pregrasp, self.q_touch = grasp.q_pregrasp, grasp.q_touch
        rows = [_row(robot, first, state) for state in grasp.states]
        self._state_times = [float(state.time) for state in grasp.states]
        self._axes = np.array([row[2] for row in rows])
        # One row per state: forces, points, load, centre of mass, centroid of the contacts.
        self._table = np.array(
            [
                np.concatenate([forces.ravel(), points.ravel(), state.load, state.centre_of_mass, centroid])
                for (forces, points, _, centroid), state in zip(rows, grasp.states, strict=True)
            ]
        )
        self._asked, self._answer = -1.0, self.trajectory.at(-1.0)
        self.spans = {phase: span for phase in Phase if (span := self.trajectory.span(phase)) is not None}
        touch = self.spans.get(Phase.CLOSE, (0.0, self._state_times[0]))
        self.touch_time, self.grasp_time = touch[1], max(self._state_times[0], touch[1])
        self.end_time = self.trajectory.duration
        if not all(np.isfinite(a).all() for a in (self._table, self._axes, self.trajectory.q)):
            raise OptionError("plan", Problem("states", "numbers that are not finite", "plan again"))

    @property
    def names(self) -> tuple[str, ...]:
        """One name per contact: the link, numbered where a link has several."""
        counts = {link: self.links.count(link) for link in self.links}
        seen: dict[str, int] = {}
        names = []
        for link in self.links:
            seen[link] = seen.get(link, 0) + 1
            names.append(link if counts[link] == 1 else f"{link}:{seen[link]}")
        return tuple(names)

    def joints(self, time: float) -> Floats:
        """Planned joints; the same array is given out again while time stands still."""
        if time != self._asked:
            self._asked, self._answer = time, self.trajectory.at(time)
        return self._answer

    def at(self, time: float) -> PlannedMoment:
        """The plan at a time."""
        times = self._state_times
        j = min(bisect_left(times, time), len(times) - 1)
        i = max(j - 1, 0)
        span = times[j] - times[i]
        share = min(max((time - times[i]) / span, 0.0), 1.0) if span > 0 else 0.0
        near = j if share > 0.5 else i
        table = self._table[i] if share == 0.0 else self._table[i] + share * (self._table[j] - self._table[i])
        n = len(self.links)
        forces = table[: 3 * n].reshape(n, 3)
        if time < self.grasp_time:
            forces = forces * self.pressed(time) ** 1.5
        rest = table[6 * n :]
        return PlannedMoment(
            self.joints(time),
            forces,
            table[3 * n : 6 * n].reshape(n, 3),
            self._axes[near],
            rest[:6],
            rest[6:9],
            rest[9:12],
        )

    def pressed(self, time: float) -> float:
        """How much of the squeeze is done: 0 at the touch, 1 at the grasp."""
        if self.grasp_time <= self.touch_time:
            return 1.0 if time >= self.grasp_time else 0.0
        return min(max((time - self.touch_time) / (self.grasp_time - self.touch_time), 0.0), 1.0)

    def span(self, phase: Phase) -> tuple[float, float]:
        """When a phase begins and ends [s]; a phase that the plan has not lasts no time at the touch."""
        return self.spans.get(phase, (self.touch_time, self.touch_time))

    def closing_rate(self) -> Floats:
        """Joint speed with which the hand closes at the planned touch [rad/s, m/s]."""
        times, q = self.trajectory.times, self.trajectory.q
        at = int(np.searchsorted(times, self.touch_time - 1e-9))
        at = int(np.clip(at, 1, len(times) - 1))
        rate = (q[at] - q[at - 1]) / (times[at] - times[at - 1])
        if np.abs(rate).max() <= 0:  # a plan whose touch is its pre-grasp: close the way it squeezes
            end = int(np.clip(np.searchsorted(times, self.grasp_time), 1, len(times) - 1))
            rate = (q[end] - q[at]) / max(float(times[end] - times[at]), 1e-3)
        return np.asarray(rate)


def _diagonal(stiffness: Floats) -> Floats:
    values = np.asarray(stiffness, dtype=np.float64)
    return np.diag(values).copy() if values.ndim == 2 else values


def _row(robot: Robot, first: tuple[PlannedContact, ...], state: HeldState) -> tuple[Floats, Floats, Floats, Floats]:
    """Forces, points and axes of the grasp's contacts in a later state; a contact that is gone carries nothing."""
    forces, points, axes, world = [], [], [], []
    Ts = dict(
        zip(
            (links := sorted({contact.link for contact in (*first, *state.contacts)})),
            robot.poses(links, state.q),
            strict=True,
        )
    )
    left = list(state.contacts)
    for wanted in first:
        same = [c for c in left if c.link == wanted.link]
        found = min(same, key=lambda c: float(np.linalg.norm(c.p_link - wanted.p_link)), default=None)
        if found is not None:
            left.remove(found)
        shown = found or wanted
        T_world_contact: pin.SE3 = state.T_world_object * shown.T_object_contact
        forces.append(np.asarray(shown.force) if found is not None else np.zeros(3))
        points.append(np.asarray(shown.p_link))
        axes.append(Ts[shown.link].rotation.T @ T_world_contact.rotation)
        world.append(Ts[shown.link].act(np.asarray(shown.p_link)))
    return np.array(forces), np.array(points), np.array(axes), np.mean(world, axis=0)
