"""What the planner answers: ranked grasps with their operation, why every other hypothesis was rejected. (theory 8)

Everything that control, viewer, report and export need is in here; they compute nothing again.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from pliant.arrays import Floats
from pliant.planner.hypotheses import Hypothesis
from pliant.planner.reasons import Rejection, Stage
from pliant.planner.task import Task, Uncertainty


class PlanStatus(StrEnum):
    """Whether there is a grasp."""

    FOUND = "found"
    NONE = "none"


class Phase(StrEnum):
    """The phases of an operation, in their order."""

    APPROACH = "approach"
    """Arm and hand go to the object; it ends where the fingers begin to close."""
    CLOSE = "close"
    """The fingers close to their first touches."""
    SQUEEZE = "squeeze"
    """The fingers press until the grasp holds the weight."""
    LIFT = "lift"
    """The arm lifts."""
    MOVE = "move"
    """Fingers, arm or both move the object to the goal."""


class ChoiceRule(StrEnum):
    """What made the best grasp the best."""

    ONLY = "the only grasp"
    FORCE = "least force"
    HOLDS = "share of pose errors under which it holds"
    JOINT_RANGE = "best joint range"
    ARM_PATH = "shortest arm path"
    WEIGHTS = "weights"


@dataclass(frozen=True)
class Choice:
    """How the best grasp was chosen.   (theory 8.8)

    Args:
        rule: the one that decided between the best and the next.
        shortlisted: among how many of the gentlest grasps; with weights, among all.
    """

    rule: ChoiceRule
    shortlisted: int


@dataclass(frozen=True, eq=False)
class PlannedContact:
    """One contact region of a held object.

    Args:
        link: the link that touches.
        finger: its finger; empty for the palm.
        patch: number of the region on that link.
        T_object_contact: contact frame in the object's frame: origin at the centre of pressure, z along the inward
            normal.
        p_link: the centre of pressure in the link's frame [m].
        force: simulated force on the object in the contact frame: two tangential, then normal [N].
        wanted: the smallest sufficient force there, with the grasp's reserve, in the same frame [N].
        radius: of the patch [m].
        half_axes: of the patch along the frame's x and y [m].
        peak_pressure: [Pa].
        area: of the patch [m^2].
        depth: overlap of the undeformed surfaces [m].
        stiffness: force per displacement of the pad: tangential, tangential, normal [N/m].
        friction: Coulomb coefficient, nominal.
        max_force: what pad and object permit [N].
        p_object_cells: k x 3 places of the pressure in the object's frame [m].
        pressures: k pressures there [Pa].
        cell_area: area of each of these cells [m^2].
        pad_depth: how far the pad itself is pressed in at the deepest cell [m]; 0 for a rigid pad.
    """

    link: str
    finger: str
    patch: int
    T_object_contact: pin.SE3
    p_link: Floats
    force: Floats
    wanted: Floats
    radius: float
    half_axes: Floats
    peak_pressure: float
    area: float
    depth: float
    stiffness: Floats
    friction: float
    max_force: float
    p_object_cells: Floats
    pressures: Floats
    cell_area: float
    pad_depth: float = 0.0

    @property
    def normal_force(self) -> float:
        """Simulated normal force [N]."""
        return float(self.force[2])

    @property
    def slip_margin(self) -> float:
        """mu f_n - |f_t| of the simulated force [N]; below zero it slips."""
        return float(self.friction * self.force[2] - np.hypot(self.force[0], self.force[1]))


@dataclass(frozen=True, eq=False)
class HeldState:
    """The held object at one instant.

    Args:
        time: in the trajectory [s].
        phase: of the operation.
        q: joints.
        T_world_object: where it has settled.
        contacts: its contact regions.
        centre_of_mass: of the deformed object with its liquid, in the world [m].
        centre_at_rest: of the undeformed object in the same pose, in the world [m].
        load: nominal weight: force [N] and torque about ``centre_of_mass`` [N m], world frame.
        torques: what the joints bear: J^T f and the links' own weight [N m, N].
        friction_usage: largest part of the friction of the reserve's worst world that the balance needs; at most 1.
        displacement: n x 3 of the mesh's vertices in the object's frame, rigid motion left out [m]; float32.
        volume_change: relative.
        liquid_level: height of the liquid's surface in the world along ``up`` [m]; None without liquid.
    """

    time: float
    phase: Phase
    q: Floats
    T_world_object: pin.SE3
    contacts: tuple[PlannedContact, ...]
    centre_of_mass: Floats
    centre_at_rest: Floats
    load: Floats
    torques: Floats
    friction_usage: float
    displacement: NDArray[np.float32]
    volume_change: float
    liquid_level: float | None = None

    @property
    def largest_force(self) -> float:
        """Largest normal force [N]."""
        return max((contact.normal_force for contact in self.contacts), default=0.0)

    @property
    def up(self) -> Floats:
        """Unit vector against the weight; the world's z where nothing weighs."""
        size = float(np.linalg.norm(self.load[:3]))
        return -self.load[:3] / size if size > 0.0 else np.array([0.0, 0.0, 1.0])

    @property
    def largest_pressure(self) -> float:
        """[Pa]"""
        return max((contact.peak_pressure for contact in self.contacts), default=0.0)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Joints over time, under the speed limits; linear in between.

    Args:
        times: n, increasing from 0 [s].
        q: n x joints.
        phases: n, the phase that each point belongs to (the first point of a phase closes the one before).
        object_poses: n x 7, position [m] and quaternion w x y z of the object in the world.
        commands: n x joints, what position servos must be told so that the joints are at ``q`` under the contact
            forces: q + tau / k. Where a servo's stiffness k is not known, q.   (theory 9)
    """

    times: Floats
    q: Floats
    phases: tuple[Phase, ...]
    object_poses: Floats
    commands: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        if not self.commands.size:
            object.__setattr__(self, "commands", self.q)

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self.times[-1])

    def at(self, time: float) -> Floats:
        """Joints at a time; held at both ends."""
        i, share = self._segment(time)
        return np.asarray(self.q[i] + share * (self.q[i + 1] - self.q[i]))

    def command_at(self, time: float) -> Floats:
        """What the servos are told at a time; held at both ends."""
        i, share = self._segment(time)
        return np.asarray(self.commands[i] + share * (self.commands[i + 1] - self.commands[i]))

    def object_at(self, time: float) -> pin.SE3:
        """T_world_object at a time, held at both ends: position linear, orientation along the shortest rotation."""
        i, share = self._segment(time)
        a, b = self.object_poses[i], self.object_poses[i + 1]
        start, end = (pin.Quaternion(*(pose[3:] / np.linalg.norm(pose[3:]))) for pose in (a, b))
        return pin.SE3(start.slerp(share, end).matrix(), a[:3] + share * (b[:3] - a[:3]))

    def _segment(self, time: float) -> tuple[int, float]:
        """The segment that a time lies in, and how far along it: 0 to 1."""
        i = min(max(int(self.times.searchsorted(time)) - 1, 0), len(self.times) - 2)
        start, end = self.times[i : i + 2].tolist()
        return i, min(max((time - start) / (end - start), 0.0), 1.0)

    def span(self, phase: Phase) -> tuple[float, float] | None:
        """First and last time of a phase; None if the operation has none."""
        at = [i for i, p in enumerate(self.phases) if p is phase]
        return (float(self.times[max(at[0] - 1, 0)]), float(self.times[at[-1]])) if at else None


@dataclass(frozen=True)
class Reserve:
    """For how bad a world the planned forces hold.   (theory 8.10)

    Args:
        friction: factor on the friction coefficients; at most 1.
        load: factor on the weight; at least 1.
    """

    friction: float = 1.0
    load: float = 1.0

    @classmethod
    def of(cls, uncertainty: Uncertainty) -> Reserve:
        """The worst friction and weight of an uncertainty's ranges."""
        return cls(1.0 - uncertainty.friction, 1.0 + uncertainty.mass)


@dataclass(frozen=True, eq=False)
class PlannedGrasp:
    """A grasp that holds, with the operation it was chosen for.

    Args:
        hypothesis: where it began.
        trajectory: the whole operation.
        states: the held object: first the grasp, then after the lift, then every step of the move.
        q_pregrasp: joints with the open hand in place; the hand-arm approach ends nearer to the touches.
        q_touch: joints at first touch.
        largest_force: largest normal force over the whole operation [N].
        largest_pressure: over the whole operation [Pa].
        com_shift: how far the deformation moves the centre of mass in the grasp [m].
        joint_range: criterion (7), mean over the trajectory's held part; small is good.
        arm_path: length of the arm's path in joint space [rad].
        epsilon: Ferrari-Canny quality of the grasp's contacts, for comparison.
        slack: unbalanced part of the simulated contact forces [N].
        warnings: what is rough about it.
        reserve: for how bad a world the planned forces hold.
        nominal_force: largest normal force over the states that would suffice without that reserve [N]; nan where it is
            not known.
        grasp_singular_value: smallest singular value of G over the states; torques over the distance of the farthest
            contact, patch moments over their arm e. 0: a wrench that cannot be answered. nan where it is not known.
        hand_singular_value: smallest singular value of J over the states, in the joints that carry contacts [m/rad; 1
            for prismatic joints]. Near 0: a finger that is stretched. nan where it is not known.
        approach_s: duration of the approach up to the first touch [s]; nan where it is not known.
        sequential_s: of the arm first and then the fingers, under the same limits [s]; nan where it is not known.
        approach_way: how the approach was found: ``hand-arm``, ``straight``, ``over a place before``, ``sampled``;
            then, after a semicolon, why it is no hand-arm approach to the stand-off distance asked for.
        holds_share: share of drawn pose errors of the task's uncertainty under which it still holds by its promise;
            nan where it is not known.
        holds_interval: its 95 % interval.
    """

    hypothesis: Hypothesis
    trajectory: Trajectory
    states: tuple[HeldState, ...]
    q_pregrasp: Floats
    q_touch: Floats
    largest_force: float
    largest_pressure: float
    com_shift: float
    joint_range: float
    arm_path: float
    epsilon: float
    slack: float = 0.0
    warnings: tuple[str, ...] = ()
    reserve: Reserve = Reserve()
    nominal_force: float = math.nan
    grasp_singular_value: float = math.nan
    hand_singular_value: float = math.nan
    approach_s: float = math.nan
    sequential_s: float = math.nan
    approach_way: str = ""
    holds_share: float = math.nan
    holds_interval: tuple[float, float] = (math.nan, math.nan)

    @property
    def grasp(self) -> HeldState:
        """The object just held, before the lift."""
        return self.states[0]


@dataclass(frozen=True)
class StableGrasp:
    """A hypothesis that reached a stable grasp, whatever became of it afterwards.

    Args:
        number: of the hypothesis.
        largest_force: its largest normal force when the weight is held [N].
        epsilon: Ferrari-Canny quality.
    """

    number: int
    largest_force: float
    epsilon: float


class Stopped(StrEnum):
    """What ended a search."""

    DONE = "done"
    SECONDS = "seconds"
    FIRST = "first"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Tried:
    """How much a search has tried.

    Args:
        promised: hypotheses whose first touches were looked at, those in the making included.
        pressed: hypotheses that were pressed in the contact simulation.
        stable: stable grasps among these.
        completed: whole operations among these.
    """

    promised: int = 0
    pressed: int = 0
    stable: int = 0
    completed: int = 0


@dataclass(frozen=True, eq=False)
class Plan:
    """The answer to a task.

    Args:
        task: the question.
        status: found or none.
        grasps: the kept ones, best first; empty if there is none.
        hypotheses: all that were tried.
        rejections: one for each hypothesis that is not in ``grasps``.
        stable: every stable grasp found, in the order of the hypotheses.
        advice: why there is no plan and what to change; or what is remarkable about it.
        seed: of the search.
        wall_s: wall time [s].
        cpu_s: CPU time of each stage, over all workers [s].
        versions: of pliant and what it computes with.
        choice: how the best was chosen; None where there is none, or where the file is older.
        stopped: what ended the search.
        first_s: when the first whole operation was found, since the search began [s]; nan where none was.
        improved_s: when the best was found, likewise.
        tried: how much was tried.
    """

    task: Task
    status: PlanStatus
    grasps: tuple[PlannedGrasp, ...]
    hypotheses: tuple[Hypothesis, ...]
    rejections: tuple[Rejection, ...]
    stable: tuple[StableGrasp, ...] = ()
    advice: str = ""
    seed: int = 0
    wall_s: float = 0.0
    cpu_s: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    choice: Choice | None = None
    stopped: Stopped = Stopped.DONE
    first_s: float = math.nan
    improved_s: float = math.nan
    tried: Tried = Tried()

    @property
    def best(self) -> PlannedGrasp | None:
        """The chosen one."""
        return self.grasps[0] if self.grasps else None

    @property
    def counts(self) -> dict[str, int]:
        """How many were rejected, by ``stage: reason``, in the order of the stages and most frequent first."""
        tally = Counter((rejection.stage, rejection.reason) for rejection in self.rejections)
        order = list(Stage)
        keys = sorted(tally, key=lambda key: (order.index(key[0]), -tally[key], key[1]))
        return {f"{stage}: {reason}": tally[stage, reason] for stage, reason in keys}
