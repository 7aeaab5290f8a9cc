"""A planned grasp as a function of time: the one timeline for controller, viewer, report and exports.   (theory 9)

The plan knows the held object at a few instants. In between, joints and poses follow the trajectory, and forces and
displacements go in a straight line from state to state. During the squeeze the depth grows evenly from the touch to the
grasp, and with it everything else: displacements in proportion to the depth, forces with its power 1.5, pressures with
its square root (Hertz).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.errors import OptionError, Problem
from pliant.planner.results import HeldState, Phase, PlannedContact, PlannedGrasp
from pliant.robot import Robot

Share = TypeVar("Share", float, Floats)


def contact_names(links: Sequence[str]) -> tuple[str, ...]:
    """One name per contact: its link, numbered from 1 where a link has several (``thumb_2:1``, ``thumb_2:2``)."""
    seen: dict[str, int] = {}
    names = []
    for link in links:
        seen[link] = seen.get(link, 0) + 1
        names.append(link if list(links).count(link) == 1 else f"{link}:{seen[link]}")
    return tuple(names)


def link_of(name: str) -> str:
    """The link of a contact by its name, as `contact_names` makes it."""
    return re.sub(r":\d+$", "", name)


@dataclass(frozen=True, eq=False)
class Moment:
    """One instant of an operation.

    Attributes:
        time: [s].
        phase: of the operation.
        q: joints.
        T_world_object: the object's pose.
        state: the held state whose contacts are shown; None while nothing touches.
        depth_share: how far the squeeze is done, 0 at the touch, 1 at the grasp and ever after.
        shape: (earlier state, later state, share of the later), for whoever blends shapes; None: undeformed.
    """

    time: float
    phase: Phase
    q: Floats
    T_world_object: pin.SE3
    state: HeldState | None
    depth_share: float
    shape: tuple[int, int, float] | None

    @property
    def force_share(self) -> float:
        """How much of the state's forces is there."""
        return force_share(self.depth_share)

    @property
    def pressure_share(self) -> float:
        """How much of the state's pressures is there."""
        return float(np.sqrt(self.depth_share))

    @property
    def contacts(self) -> tuple[PlannedContact, ...]:
        """Contacts that carry force now."""
        return self.state.contacts if self.state is not None and self.depth_share > 0.0 else ()

    @property
    def largest_force(self) -> float:
        """Largest normal force [N]."""
        return self.force_share * self.state.largest_force if self.state is not None else 0.0

    @property
    def largest_pressure(self) -> float:
        """Largest pressure [Pa]."""
        return self.pressure_share * self.state.largest_pressure if self.state is not None else 0.0

    @property
    def liquid_level(self) -> float | None:
        """Height of the liquid's surface in the world, along ``up`` [m]; between two states it goes with the vessel."""
        if self.state is None or self.state.liquid_level is None:
            return None
        shift = self.T_world_object.translation - self.state.T_world_object.translation
        return float(self.state.liquid_level + self.state.up @ shift)


def force_share(depth_share: Share) -> Share:
    """Part of the grasp's forces at a part of its depth: Hertz's power 1.5."""
    return depth_share**1.5


class Timeline:
    """The whole operation of a grasp.

    Args:
        grasp: the planned grasp; it has at least one held state.

    Attributes:
        times: of the held states [s].
        spans: first and last time of every phase that the operation has.
        touch_time, grasp_time: when the squeeze begins and ends [s].
        duration: [s].
    """

    def __init__(self, grasp: PlannedGrasp) -> None:
        self.grasp = grasp
        self.trajectory = grasp.trajectory
        self.times = np.array([state.time for state in grasp.states])
        self.spans = {phase: span for phase in Phase if (span := self.trajectory.span(phase)) is not None}
        self.grasp_time = float(self.times[0])
        if Phase.SQUEEZE in self.spans:
            touch = self.spans[Phase.SQUEEZE][0]
        else:
            touch = self.spans[Phase.CLOSE][1] if Phase.CLOSE in self.spans else self.grasp_time
        self.touch_time = min(touch, self.grasp_time)
        self.duration = max(self.trajectory.duration, float(self.times[-1]))

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

    def depth_share(self, time: float) -> float:
        """How much of the squeeze is done: 0 at the touch, 1 at the grasp."""
        if self.grasp_time <= self.touch_time:
            return 1.0 if time >= self.grasp_time else 0.0
        return min(max((time - self.touch_time) / (self.grasp_time - self.touch_time), 0.0), 1.0)

    def displacement(self, moment: Moment) -> Floats:
        """n x 3 displacements of the object's vertices in its own frame [m]."""
        states = self.grasp.states
        if moment.shape is None:
            return np.zeros(states[0].displacement.shape)
        early, late, part = moment.shape
        blended = (1.0 - part) * states[early].displacement + part * states[late].displacement
        return np.asarray(moment.depth_share * blended, dtype=np.float64)

    def _held(self, time: float) -> tuple[HeldState | None, float, tuple[int, int, float] | None]:
        states, times = self.grasp.states, self.times
        if time <= self.touch_time and time < times[0]:
            return None, 0.0, None
        if time < times[0]:
            return states[0], self.depth_share(time), (0, 0, 0.0)
        late = int(np.searchsorted(times, time, side="left"))
        if late >= len(states):
            return states[-1], 1.0, (len(states) - 1, len(states) - 1, 0.0)
        if late == 0:
            return states[0], 1.0, (0, 0, 0.0)
        part = float((time - times[late - 1]) / max(times[late] - times[late - 1], 1e-12))
        return states[late if part >= 0.5 else late - 1], 1.0, (late - 1, late, part)


@dataclass(frozen=True, eq=False)
class PlannedForces:
    """What the plan wants of its n contacts at one time.

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


class ContactTimeline(Timeline):
    """A timeline that follows each contact of the grasp: what the controller compares its measurements with.

    Contacts are those of the grasp (the first held state), found again in later states by link and nearest point. Their
    tangents are the grasp's, carried along as the normals turn: only so can forces of two states be interpolated.
    """

    def __init__(self, grasp: PlannedGrasp, robot: Robot) -> None:
        if not grasp.states or not grasp.grasp.contacts:
            raise OptionError("plan", "the grasp has no contacts; nothing to control")
        super().__init__(grasp)
        first = grasp.grasp.contacts
        self.links = tuple(contact.link for contact in first)
        self.names = contact_names(self.links)
        self.fingers = tuple(contact.finger for contact in first)
        self.friction = np.array([contact.friction for contact in first])
        self.max_force = np.array([contact.max_force for contact in first])
        self.radius = np.array([max(contact.radius, 1e-4) for contact in first])
        self.stiffness = np.array([_diagonal(contact.stiffness) for contact in first])
        self.reserve = grasp.reserve
        self.q_pregrasp, self.q_touch = grasp.q_pregrasp, grasp.q_touch
        self._states = [_state_forces(robot, first, grasp.states[0])]
        for state in grasp.states[1:]:
            self._states.append(_in_frames_of(self._states[-1], _state_forces(robot, first, state)))
        self._state_times = self.times.tolist()
        self._asked, self._joints, self._commands = -1.0, self.trajectory.at(-1.0), self.trajectory.command_at(-1.0)
        finite = (np.isfinite(a).all() for state in self._states for a in vars(state).values())
        joints = self.trajectory.q, self.trajectory.commands
        if not (all(finite) and all(np.isfinite(table).all() for table in joints)):
            raise OptionError("plan", Problem("states", "numbers that are not finite", "plan again"))

    def joints(self, time: float) -> Floats:
        """Planned joints; the same array is given out again while time stands still."""
        self._ask(time)
        return self._joints

    def commands(self, time: float) -> Floats:
        """What the servos are told so that the joints are where they are planned to be; likewise."""
        self._ask(time)
        return self._commands

    def _ask(self, time: float) -> None:
        if time != self._asked:
            self._asked = time
            self._joints, self._commands = self.trajectory.at(time), self.trajectory.command_at(time)

    def forces_at(self, time: float) -> PlannedForces:
        """Forces, points and load at a time."""
        times = self._state_times
        j = min(bisect_left(times, time), len(times) - 1)
        i = max(j - 1, 0)
        span = times[j] - times[i]
        share = min(max((time - times[i]) / span, 0.0), 1.0) if span > 0 else 0.0
        a, b = self._states[i], self._states[j]

        def between(early: Floats, late: Floats) -> Floats:
            return early if share == 0.0 else early + share * (late - early)

        forces = between(a.forces, b.forces)
        if time < self.grasp_time:
            forces = forces * force_share(self.depth_share(time))
        return PlannedForces(
            self.joints(time),
            forces,
            between(a.points, b.points),
            b.axes if share > 0.5 else a.axes,
            between(a.load, b.load),
            between(a.centre, b.centre),
            between(a.centroid, b.centroid),
        )

    def span(self, phase: Phase) -> tuple[float, float]:
        """When a phase begins and ends [s]; a phase that the plan has not lasts no time at the touch."""
        return self.spans.get(phase, (self.touch_time, self.touch_time))

    def closing_rate(self) -> Floats:
        """Joint speed with which the hand closes at the planned touch [rad/s, m/s]."""
        times, q = self.trajectory.times, self.trajectory.q
        at = int(np.searchsorted(times, self.touch_time - 1e-9))
        at = int(np.clip(at, 1, len(times) - 1))
        rate = (q[at] - q[at - 1]) / (times[at] - times[at - 1])
        if np.abs(rate).max() <= 0:  # the touch is the pre-grasp: take the joints' direction in the squeeze
            end = int(np.clip(np.searchsorted(times, self.grasp_time), 1, len(times) - 1))
            rate = (q[end] - q[at]) / max(float(times[end] - times[at]), 1e-3)
        return np.asarray(rate)


def _diagonal(stiffness: Floats) -> Floats:
    values = np.asarray(stiffness, dtype=np.float64)
    return np.diag(values).copy() if values.ndim == 2 else values


def _state_forces(robot: Robot, first: tuple[PlannedContact, ...], state: HeldState) -> PlannedForces:
    """The grasp's contacts in a later state; a contact that is gone carries nothing."""
    forces, points, axes, world = [], [], [], []
    links = sorted({contact.link for contact in (*first, *state.contacts)})
    Ts = dict(zip(links, robot.poses(links, state.q), strict=True))
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
    return PlannedForces(
        state.q,
        np.array(forces),
        np.array(points),
        np.array(axes),
        state.load,
        state.centre_of_mass,
        np.mean(world, axis=0),
    )


def _in_frames_of(early: PlannedForces, late: PlannedForces) -> PlannedForces:
    """The later state in the contact frames of the earlier one, each turned by the least that takes normal to normal.

    A plan's own frames follow from the normals alone and turn about them by up to 180 degrees from state to state.
    """
    normals = zip(early.axes[:, :, 2], late.axes[:, :, 2], strict=True)
    turns = np.array([pin.Quaternion.FromTwoVectors(before, after).matrix() for before, after in normals])
    axes = turns @ early.axes
    forces = np.einsum("nji,njk,nk->ni", axes, late.axes, late.forces)
    return replace(late, axes=axes, forces=forces)
