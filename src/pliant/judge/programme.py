"""The operation as the judge plays it: stand, squeeze, lift, rest, be pushed; and what came of it.   (theory 10.4)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pinocchio as pin

from pliant.arrays import Bools, Floats
from pliant.judge.history import BodyState, History, Instant, PartnerForce

_MOVE = 3e-4
"""How far the whole weight moves the body against the drag within a step [m]."""
_ARM = 0.02
"""Turns are resisted as moves at this arm [m]."""
_FIRM = 1e6
"""What is not let go is resisted so many times harder."""
_AT_REST = 3e-7
"""A step that moves the body by less than this ends its way [m]."""
_SLOW, _HURRY, _LEAST_DRAG = 1e-4, 0.6, 1e-3
"""After a step at rest that moves it less than the first [m] drag is the second times as large, to the third of it."""
_LOST = 3e-3
"""A body that has moved so far since its support began to leave it falls [m]."""
_STANDING, _SQUEEZING, _LOADING, _PUSHING, _RESTING = 12, 10, 10, 5, 60
_LIFT = 2e-3
"""How far the support sinks while the load goes over to the hand; then it is gone [m]."""
SLID = 5e-5
"""A contact all of which has moved over its pad by more than this has slid [m]."""

Poses = tuple[pin.SE3 | None, ...]


class GraspVerdict(StrEnum):
    """What came of a grasp."""

    HELD = "held"
    """At rest, and somewhere in every contact the object sticks where it was taken."""
    SLID_THEN_HELD = "slid, then held"
    """At rest, after a whole contact has slid."""
    FALLS = "falls"
    """It moves on and on, or has lost the hand."""
    CREEPS = "creeps"
    """It had not come to rest when the steps were used up."""
    UNDECIDED = "undecided"
    """The equations of a step could not be solved."""

    @property
    def holds(self) -> bool | None:
        """Whether it counts as held; None where that is not known."""
        if self is GraspVerdict.UNDECIDED:
            return None
        return self in (GraspVerdict.HELD, GraspVerdict.SLID_THEN_HELD)


@dataclass(frozen=True, eq=False)
class PlayedOperation:
    """What is played.

    Args:
        T_world_body: the body at the start (its centre of mass).
        closing: poses of all partners (None: not there) from the first touches to the grasp, two at least.
        weight: force in the world [N].
        pushes: forces and torques that come on top of the weight, one after the other [N, N m].
        force_scale: what the drag is compared with where nothing weighs [N].
    """

    T_world_body: pin.SE3
    closing: tuple[Poses, ...]
    weight: Floats
    pushes: tuple[Floats, ...] = ()
    force_scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """How an operation ended.

    Args:
        verdict: of all of it.
        forces: at rest under the weight alone, or at the last instant before it fell.
        squeezed: the same at the end of the squeeze, the support still there.
        slid: how far each partner's whole contact has slid since then [m].
        moved: of the centre of mass in the world, from standing to rest [m].
        turned: rotation vector likewise [rad].
        push: the push that it does not bear, or None.
        steps: Newton steps.
    """

    verdict: GraspVerdict
    forces: tuple[PartnerForce, ...]
    squeezed: tuple[PartnerForce, ...]
    slid: tuple[float, ...]
    moved: Floats
    turned: Floats
    push: Floats | None = None
    steps: int = 0


class _Player:
    """Plays an operation on a history."""

    def __init__(self, history: History, operation: PlayedOperation, report: Callable[[str], None]) -> None:
        self.history, self.operation, self.report = history, operation, report
        size = max(float(np.linalg.norm(operation.weight)), operation.force_scale)
        self.drag = size / _MOVE * np.array([1.0, 1.0, 1.0, _ARM**2, _ARM**2, _ARM**2])
        weight = np.linalg.norm(operation.weight)
        self.down = operation.weight / weight if weight > 0.0 else np.array([0.0, 0.0, -1.0])
        self.supports = [partner.support for partner in history.partners]
        self.load = np.concatenate([operation.weight, np.zeros(3)])

    def lowered(self, poses: Poses, distance: float) -> Poses:
        """The supports moved along the weight, the hand where it is."""
        return tuple(
            pin.SE3(T.rotation, T.translation + distance * self.down) if support and T is not None else T
            for T, support in zip(poses, self.supports, strict=True)
        )

    def only(self, poses: Poses, support: bool) -> Poses:
        """The supports without the hand, or the hand without them."""
        return tuple(T if own is support else None for T, own in zip(poses, self.supports, strict=True))

    def stand(self) -> tuple[BodyState, float, Floats] | None:
        """The body on its support: its state where the task has it, how far it has sunk in, what props it up.

        It is kept upright; what the support alone leaves unbalanced is the prop, which goes away with the support.
        """
        state = self.history.start(self.operation.T_world_body)
        if not any(self.supports):
            return state, 0.0, -self.load
        self.report("standing")
        drag = self.drag * np.where(np.abs(np.append(self.down, np.zeros(3))) > 0.5, 1.0, _FIRM)
        now = Instant(self.only(self.operation.closing[0], True), self.load)
        for _ in range(_STANDING):
            new = self.history.advance(state, now, now, drag)
            if new is None:
                return None
            state = new
            if state.moved < _AT_REST:
                break
        held = np.zeros(6)
        for partner in self.history.forces(state, now):
            held[:3] += partner.force
        held[3:] = self._torque(state)
        sink = state.T_world_body.translation - self.operation.T_world_body.translation
        back = pin.SE3(state.T_world_body.rotation, self.operation.T_world_body.translation)
        return replace(state, T_world_body=back), float(sink @ self.down), -(held + self.load)

    def _torque(self, state: BodyState) -> Floats:
        hats = self.history.body.hats
        u = (self.history.body.compliance @ state.forces.ravel()).reshape(-1, 3)
        return np.asarray(state.T_world_body.rotation @ np.cross(hats.places + u, state.forces).sum(axis=0))

    def squeeze(self, state: BodyState, sunk: float, prop: Floats) -> tuple[BodyState, Instant] | None:
        """The fingers close from their first touches to the grasp; the support is as much higher as the body sank."""
        knots = [Instant(self.lowered(poses, -sunk), self.load + prop) for poses in self.operation.closing]
        now, parts = knots[0], len(knots) - 1
        for step in range(1, _SQUEEZING + 1):
            self.report("squeezing")
            at = step / _SQUEEZING * parts
            k = min(int(at), parts - 1)
            then = knots[k].towards(knots[k + 1], at - k)
            new = self.history.advance(state, now, then, 0.1 * self.drag)
            if new is None:
                return None
            state, now = new, then
        return state, now

    def lift(self, state: BodyState, now: Instant, prop: Floats) -> tuple[BodyState, Instant] | None:
        """The support sinks, the prop goes; then the support is gone."""
        start = now
        for step in range(1, _LOADING + 1):
            self.report("lifting")
            share = step / _LOADING
            then = Instant(self.lowered(start.poses, _LIFT * share**2), self.load + (1.0 - share) * prop)
            new = self.history.advance(state, now, then, self.drag)
            if new is None:
                return None
            state, now = new, then
        return state, Instant(self.only(now.poses, False), self.load)

    def rest(self, state: BodyState, now: Instant, since: Floats) -> tuple[BodyState, GraspVerdict]:
        """Steps under constant load until nothing moves; slow ones are hurried by less and less drag."""
        share = 1.0
        for _ in range(_RESTING):
            self.report("resting")
            new = self.history.advance(state, now, now, share * self.drag)
            if new is None:
                return state, GraspVerdict.UNDECIDED
            state = new
            if state.moved < _AT_REST:
                return state, GraspVerdict.HELD
            if np.linalg.norm(state.T_world_body.translation - since) > _LOST:
                return state, GraspVerdict.FALLS
            if state.moved < _SLOW:
                share = max(_HURRY * share, _LEAST_DRAG)
        return state, GraspVerdict.CREEPS

    def push(self, state: BodyState, now: Instant, push: Floats) -> tuple[BodyState, GraspVerdict]:
        """One push, come slowly, until the body is at rest under it."""
        since, last = state.T_world_body.translation, now
        for step in range(1, _PUSHING + 1):
            self.report("pushing")
            then = replace(now, load=now.load + step / _PUSHING * push)
            new = self.history.advance(state, last, then, self.drag)
            if new is None:
                return state, GraspVerdict.UNDECIDED
            state, last = new, then
        return self.rest(state, last, since)


def play(history: History, operation: PlayedOperation, report: Callable[[str], None] | None = None) -> Outcome:
    """Play an operation and judge it.

    Args:
        history: of the untouched body.
        operation: what happens.
        report: called with what is being done before every step.
    """
    player = _Player(history, operation, report or (lambda _what: None))
    stood = player.stand()
    if stood is None:
        return _undecided(history)
    standing, sunk, prop = stood
    squeezed = player.squeeze(standing, sunk, prop)
    if squeezed is None:
        return _undecided(history)
    state, now = squeezed
    after_squeeze = tuple(history.forces(state, now))
    carrying = history.pressing(state, now) > 0.0
    slipped = state.slipped
    lifted = player.lift(state, now, prop)
    if lifted is None:
        return _undecided(history)
    since = state.T_world_body.translation
    state, now = lifted
    state, verdict = player.rest(state, now, since)
    forces, end = tuple(history.forces(state, now)), state
    failed = None
    for push in operation.pushes if verdict is GraspVerdict.HELD else ():
        pushed, under_push = player.push(state, now, push)
        if under_push is not GraspVerdict.HELD:
            verdict, failed = under_push, push
            break
        end = replace(end, slipped=np.maximum(end.slipped, pushed.slipped))
    slid = _slid(history, carrying, end.slipped - slipped)
    if verdict is GraspVerdict.HELD and max(slid, default=0.0) > SLID:
        verdict = GraspVerdict.SLID_THEN_HELD
    T = operation.T_world_body
    return Outcome(
        verdict,
        forces,
        after_squeeze,
        slid,
        state.T_world_body.translation - T.translation,
        np.asarray(pin.log3(state.T_world_body.rotation @ T.rotation.T)),
        failed,
        history.solves,
    )


def _slid(history: History, carrying: Bools, slipped: Floats) -> tuple[float, ...]:
    """How far the part of each contact that stuck best has slid, supports apart: their contact ends [m]."""
    out = []
    for number, partner in enumerate(history.partners):
        own = (history.body.hats.partner == number) & carrying
        out.append(0.0 if partner.support or not own.any() else float(slipped[own].min()))
    return tuple(out)


def _undecided(history: History) -> Outcome:
    return Outcome(GraspVerdict.UNDECIDED, (), (), (), np.full(3, np.nan), np.full(3, np.nan), None, history.solves)
