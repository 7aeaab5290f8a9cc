"""A plan of the ring task made step by step with the package's own contact mechanics, quick enough for every test.

The grasps are real (settled contacts, true deformation); only the search is left out: where the palm goes is chosen
here, and the rejections are drawn from a seeded list of reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from made_plans.states import held_state, pad_surface, planned_contact, weight_load
from pliant.contact import ContactState, ContactStatus, PreparedObject, find_first_touch, settle, volume_change
from pliant.files import shipped_task
from pliant.motion import InverseKinematics
from pliant.planner import (
    HeldState,
    Hypothesis,
    Phase,
    Plan,
    PlannedGrasp,
    PlanStatus,
    Reason,
    Rejection,
    StableGrasp,
    Stage,
    Task,
    Trajectory,
    make_hypotheses,
)
from pliant.robot import PALM_FRAME

Floats = NDArray[np.float64]

REASONS = (
    (Stage.OPEN_HAND, "open hand meets the scene", "mm", "palm and table"),
    (Stage.OPEN_HAND, "open hand meets the object", "mm", "finger_1_distal"),
    (Stage.CLOSING, "never touched", "mm", "closest: thumb_distal"),
    (Stage.CONTACT, "pushed away", "N", "one contact region"),
    (Stage.STABILITY, "slips", "N", "thumb_distal: friction used up"),
    (Stage.STABILITY, "too strong", "N", "finger_2_distal above 15 N"),
    (Stage.REACH, "palm out of reach", "mm", "joint5 at its limit"),
    (Stage.MANIPULATION, "turn not reachable", "", "40 % of the turn"),
    (Stage.APPROACH, "arm meets the scene", "mm", "link4 and table"),
)


class _Hand:
    """The ring task's hand closing around the ring, with everything prepared once."""

    def __init__(self, task: Task, preshape: str) -> None:
        assert task.assembly.hand is not None
        self.task, self.robot = task, task.assembly.robot
        self.preshape = next(p for p in task.assembly.hand.preshapes if p.name == preshape)
        material = task.body.material
        self.prepared = PreparedObject.of(task.body.mesh, young=material.young, poisson=material.poisson)
        self.fingers = task.assembly.hand.fingers
        self.pads = [
            (finger, pad, pad_surface(task.assembly, pad, task.body)) for finger in self.fingers for pad in finger.pads
        ]
        self.ik = InverseKinematics(self.robot, PALM_FRAME)

    def joints(self, q: Floats, closed: Sequence[float]) -> Floats:
        """``q`` with each finger closed by its own share; the shared base rotation stays at its preshape."""
        out = q.copy()
        for finger, share in zip(self.fingers, closed, strict=True):
            for name, start in self.preshape.open.items():
                if name.startswith(finger.name):
                    end = self.preshape.closed[name]
                    out[self.robot.joint_index(name)] = start + share * (end - start)
        return out

    def touches(self, q: Floats) -> list[float]:
        """How far each finger closes until its first touch of the object at its start."""
        shares = []
        for k, finger in enumerate(self.fingers):
            best = 1.0
            for owner, pad, surface in self.pads:
                if owner is not finger:
                    continue

                def pose(share: float, k: int = k, link: str = pad.link) -> pin.SE3:
                    closed = [share if i == k else 0.0 for i in range(len(self.fingers))]
                    T = self.robot.pose(link, self.joints(q, closed))
                    return self.task.T_world_object.actInv(T)

                reached = find_first_touch(self.prepared, surface, pose, start=0.0, stop=best, speed=0.4)
                best = min(best, reached) if reached is not None else best
            shares.append(best)
        return shares

    def hold(self, q: Floats, T_world_object: pin.SE3) -> ContactState:
        """The ring settled between the pads."""
        load = weight_load(self.task.body, T_world_object)
        poses = self.robot.poses([pad.link for _, pad, _ in self.pads], q)
        return settle(self.prepared, [s for _, _, s in self.pads], poses, T_world_object, load=load)

    def held(self, q: Floats, T_start: pin.SE3, phase: Phase, time: float) -> HeldState:
        """The same as a plan holds it; what is needed is put at 85 % of what is there."""
        state = self.hold(q, T_start)
        assert state.status is ContactStatus.SETTLED, state.status
        contacts = [
            planned_contact(
                self.task, r, q, state.T_world_object, 0.85 * np.array([*r.tangential_force, r.normal_force])
            )
            for r in state.regions
            if r.normal_force > 0.1
        ]
        change = volume_change(self.prepared, state)
        return held_state(self.task, self.prepared, state, contacts, q, time, phase, volume_change=change)


def _raised(T: pin.SE3, height: float) -> Floats:
    return np.asarray(T.translation + np.array([0.0, 0.0, height]))


def made_grasp(task: Task, hand: _Hand, number: int, roll_deg: float, squeeze: float, steps: int = 3) -> PlannedGrasp:
    """One grasp from above, the palm turned by ``roll_deg``; fingers close ``squeeze`` beyond their first touch."""
    T_object_palm = pin.SE3(pin.rpy.rpyToMatrix(np.pi, 0.0, np.radians(roll_deg)), np.array([0.0, 0.0, 0.14]))
    start = task.assembly.preshaped(task.q_start, hand.preshape)

    def arm(T_world_palm: pin.SE3, seed: Floats) -> Floats:
        answer = hand.ik.solve(T_world_palm, seed=seed)
        assert answer.found
        q = answer.q.copy()
        q[task.assembly.hand_joints] = seed[task.assembly.hand_joints]
        return q

    T_palm = task.T_world_object * T_object_palm
    above = arm(pin.SE3(T_palm.rotation, _raised(T_palm, 0.12)), start)
    pregrasp = arm(T_palm, above)
    touch = hand.touches(pregrasp)
    q_touch = hand.joints(pregrasp, touch)
    closed = [share + squeeze for share in touch]
    q_grasp = hand.joints(pregrasp, closed)
    states = [hand.held(q_grasp, task.T_world_object, Phase.SQUEEZE, 6.0)]
    lifted = arm(pin.SE3(T_palm.rotation, _raised(T_palm, task.goal.lift)), q_grasp)
    settled = states[0].T_world_object

    def carried(q: Floats) -> pin.SE3:
        return hand.robot.pose(PALM_FRAME, q) * hand.robot.pose(PALM_FRAME, q_grasp).actInv(settled)

    states.append(hand.held(lifted, carried(lifted), Phase.LIFT, 7.5))
    knots = [(0.0, task.q_start, Phase.APPROACH), (2.0, above, Phase.APPROACH), (3.5, pregrasp, Phase.APPROACH)]
    knots += [(5.0, q_touch, Phase.CLOSE), (6.0, q_grasp, Phase.SQUEEZE), (7.5, lifted, Phase.LIFT)]
    q = lifted
    for k in range(1, steps + 1):
        turn = pin.rpy.rpyToMatrix(0.0, 0.0, np.radians(10.0 * k / steps))
        target = pin.SE3(turn @ T_palm.rotation, _raised(T_palm, task.goal.lift))
        q = hand.joints(arm(target, q), [share + squeeze * (1.0 + 0.05 * k / steps) for share in touch])
        states.append(hand.held(q, carried(q), Phase.MOVE, 7.5 + 0.4 * k))
        knots.append((7.5 + 0.4 * k, q, Phase.MOVE))
    poses = [pin.SE3ToXYZQUAT(task.T_world_object)] * 4 + [pin.SE3ToXYZQUAT(s.T_world_object) for s in states]
    trajectory = Trajectory(
        np.array([t for t, _, _ in knots]),
        np.array([q for _, q, _ in knots]),
        tuple(phase for _, _, phase in knots),
        np.array([[*p[:3], p[6], *p[3:6]] for p in poses]),
    )
    hypothesis = Hypothesis(
        number, T_object_palm, hand.preshape.name, tuple(f.name for f in hand.fingers), f"made, roll {roll_deg:g} deg"
    )
    return PlannedGrasp(
        hypothesis,
        trajectory,
        tuple(states),
        pregrasp,
        q_touch,
        max(s.largest_force for s in states),
        max(s.largest_pressure for s in states),
        float(np.linalg.norm(states[0].centre_of_mass - states[0].centre_at_rest)),
        0.11,
        float(np.abs(np.diff(trajectory.q[:, task.assembly.arm_joints], axis=0)).sum()),
        0.2,
    )


def ring_plan(rolls: Sequence[float] = (0.0, 40.0), *, rejected: int = 36, seed: int = 1) -> Plan:
    """A found plan of the ring task with one grasp per roll angle, best first."""
    task = shipped_task("ring")
    hand = _Hand(task, "spherical")
    hypotheses = make_hypotheses(task.body.mesh, task.assembly, limit=rejected + len(rolls), seed=seed)
    grasps = [made_grasp(task, hand, k, roll, 0.005 + 0.001 * k) for k, roll in enumerate(rolls)]
    grasps.sort(key=lambda grasp: grasp.largest_force)
    hypotheses = [g.hypothesis for g in sorted(grasps, key=lambda g: g.hypothesis.number)] + hypotheses[len(rolls) :]
    rng = np.random.default_rng(seed)
    rejections = []
    for hypothesis in hypotheses[len(rolls) :]:
        stage, reason, unit, detail = REASONS[int(rng.integers(len(REASONS)))]
        rejections.append(
            Rejection(hypothesis.number, stage, Reason.from_words(reason), float(rng.uniform(0.1, 9.0)), unit, detail)
        )
    return Plan(
        task,
        PlanStatus.FOUND,
        tuple(grasps),
        tuple(hypotheses),
        tuple(rejections),
        tuple(StableGrasp(g.hypothesis.number, g.grasp.largest_force, g.epsilon) for g in grasps),
        "",
        seed,
        12.0,
        {"closing": 3.0, "contact": 7.5},
        {"pliant": "0.1.0"},
    )


def without_grasp(plan: Plan) -> Plan:
    """The same search with nothing found."""
    extra = tuple(Rejection(g.hypothesis.number, Stage.STABILITY, Reason.SLIPS, 1.0, "N") for g in plan.grasps)
    return replace(
        plan,
        status=PlanStatus.NONE,
        grasps=(),
        rejections=(*extra, *plan.rejections),
        advice="no grasp holds: raise the force limit",
    )
