"""The body between its partners, step by step: friction remembers where it has been.   (theory 10.3)

A step leads from one instant (poses of the partners, load) to the next. Within it every hat that touches either sticks
to the place of its partner that it had, or slides with friction at Coulomb's limit against its slip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats, Ints
from pliant.judge.condensed_body import CondensedBody
from pliant.judge.coulomb import Increment, solve_increment
from pliant.judge.partners import Partner
from pliant.threads import one_thread

_ALIVE = 1.5e-3
"""Hats with a larger gap take no part in a step [m]."""
_ABSENT = 1.0
"""Gap to a partner that is not there [m]."""
_PASSES = 3
"""How often gaps and normals are measured again within a step."""
_STILL, _LITTLE = 1e-8, 0.02
"""A rigid motion smaller than this [m, rad], or than this part of the step's, needs no further measuring."""
_TOLERANCE = 1e-7
"""Largest residual of a step, in newtons, or in parts of all normal forces where these are larger."""
_HALVINGS = 6
_ARM = 0.02
"""Length by which turns are counted as moves [m]."""


@dataclass(frozen=True, eq=False)
class Instant:
    """What is prescribed at one instant.

    Args:
        poses: of every partner in the world; None: it is not there.
        load: force on the body in the world and torque about its centre of mass [N, N m].
    """

    poses: tuple[pin.SE3 | None, ...]
    load: Floats

    def towards(self, other: Instant, share: float) -> Instant:
        """The instant that far on the way to another: loads and places linear, turns along the shortest rotation."""
        between: list[pin.SE3 | None] = []
        for a, b in zip(self.poses, other.poses, strict=True):
            if a is None or b is None:
                between.append(None)
                continue
            turn = a.rotation @ pin.exp3(share * pin.log3(a.rotation.T @ b.rotation))
            between.append(pin.SE3(turn, a.translation + share * (b.translation - a.translation)))
        return Instant(tuple(between), self.load + share * (other.load - self.load))


@dataclass(frozen=True, eq=False)
class BodyState:
    """The body at one instant.

    Args:
        T_world_body: axes of the object, origin at its centre of mass.
        forces: n x 3 on its hats, in its axes [N].
        slipped: n, how far each hat has slid over its partner [m].
        moved: how far the last step has moved it, turns included [m].
    """

    T_world_body: pin.SE3
    forces: Floats
    slipped: Floats
    moved: float = 0.0


@dataclass(frozen=True)
class PartnerForce:
    """What one partner does to the body.

    Args:
        name: of the partner.
        normal: resultant along the mean normal [N].
        tangential: the rest of the resultant [N].
        force: resultant in the world [N].
        area: that is touched [m^2].
        peak_pressure: [Pa].
        sliding: share of the normal force at Coulomb's limit.
        at_rim: share of the normal force at the edge of the candidates; much of it: some of the contact is missing.
    """

    name: str
    normal: float
    tangential: float
    force: Floats
    area: float
    peak_pressure: float
    sliding: float
    at_rim: float


@dataclass(frozen=True, eq=False)
class _Measured:
    gap: Floats
    normal: Floats  # outward from the partner, in the body's axes
    place: Floats  # in the body's frame


class History:
    """A condensed body, its partners and their friction: makes steps.

    Args:
        body: condensed onto its hats.
        partners: what it may touch, numbered as in the hats.
        friction: Coulomb coefficient, the same with all of them.
        pads: what elastic pads give beside the body (``pad_matrix``); None: all are rigid.

    Attributes:
        solves: Newton steps so far.
    """

    def __init__(self, body: CondensedBody, partners: Sequence[Partner], friction: float, pads: Floats | None) -> None:
        self.body, self.partners, self.friction = body, tuple(partners), friction
        self.solves = 0
        self._pads = pads
        self._scale = 1.0 / float(np.median(np.diag(body.compliance)))

    def start(self, T_world_body: pin.SE3) -> BodyState:
        """Untouched."""
        n = self.body.hats.count
        return BodyState(pin.SE3(T_world_body), np.zeros((n, 3)), np.zeros(n))

    @one_thread
    def advance(self, state: BodyState, start: Instant, end: Instant, drag: Floats) -> BodyState | None:
        """One step, halved and halved again where its equations are not solved; None if that does not help.

        Args:
            state: at the start.
            start, end: what is prescribed.
            drag: six resistances to the rigid motion over the step, in the world [N/m, N m].
        """
        return self._advance(state, start, end, drag, _HALVINGS)

    def _advance(self, state: BodyState, start: Instant, end: Instant, drag: Floats, left: int) -> BodyState | None:
        new = self._step(state, start, end, drag)
        if new is not None or not left:
            return new
        middle = start.towards(end, 0.5)
        half = self._advance(state, start, middle, drag, left - 1)
        return None if half is None else self._advance(half, middle, end, drag, left - 1)

    def forces(self, state: BodyState, instant: Instant) -> list[PartnerForce]:
        """What every partner does to the body, in their order."""
        hats, measured, out = self.body.hats, self._measure(state, instant), []
        R = state.T_world_body.rotation
        normal = np.einsum("ij,ij->i", state.forces, measured.normal)
        along = np.linalg.norm(state.forces - normal[:, None] * measured.normal, axis=1)
        for number, partner in enumerate(self.partners):
            own = hats.partner == number
            pressing = np.maximum(normal[own], 0.0)
            total, sum_n = state.forces[own].sum(axis=0), float(pressing.sum())
            mean = measured.normal[own].T @ pressing
            size = float(np.linalg.norm(mean))
            mean = mean / size if size > 0.0 else mean
            most = max(sum_n, np.finfo(float).tiny)
            sliding = (along[own] > 0.999 * self.friction * normal[own]) & (normal[own] > 0.0)
            resultant = float(total @ mean)
            out.append(
                PartnerForce(
                    partner.name,
                    resultant,
                    float(np.linalg.norm(total - resultant * mean)),
                    R @ total,
                    float(hats.area[own][normal[own] > 0.0].sum()),
                    float((normal[own] / hats.area[own]).max(initial=0.0)),
                    float(pressing[sliding].sum() / most),
                    float(pressing[hats.rim[own]].sum() / most),
                )
            )
        return out

    def pressing(self, state: BodyState, instant: Instant) -> Floats:
        """Normal force of every hat [N]."""
        return np.einsum("ij,ij->i", state.forces, self._measure(state, instant).normal)

    def _measure(self, state: BodyState, instant: Instant) -> _Measured:
        """Mean gap, mean normal and place of every hat; the body displaced by its forces."""
        hats = self.body.hats
        u = (self.body.compliance @ state.forces.ravel()).reshape(-1, 3)
        at_points = hats.spread @ u
        x = hats.points + at_points
        gap, normal = np.full(len(x), _ABSENT), np.tile([0.0, 0.0, 1.0], (len(x), 1))
        for number, (partner, T_world_partner) in enumerate(zip(self.partners, instant.poses, strict=True)):
            if T_world_partner is None:
                continue
            own = np.flatnonzero(hats.owner == number)
            T = T_world_partner.actInv(state.T_world_body)
            seen = partner.surface.gaps(x[own] @ T.rotation.T + T.translation)
            gap[own], normal[own] = seen.heights, seen.normals @ T.rotation
        mean_gap, mean_normal = hats.means.T @ gap, hats.means.T @ normal
        mean_normal /= np.maximum(np.linalg.norm(mean_normal, axis=1), np.finfo(float).tiny)[:, None]
        # the mean of the spread displacement is not exactly the hat's own: the gap must go with C
        mean_gap += np.einsum("ij,ij->i", mean_normal, u - hats.means.T @ at_points)
        return _Measured(mean_gap, mean_normal, hats.places + u)

    def _step(self, state: BodyState, start: Instant, end: Instant, drag: Floats) -> BodyState | None:
        hats, new, n = self.body.hats, state, self.body.hats.count
        before = self._measure(state, start).place @ state.T_world_body.rotation.T + state.T_world_body.translation
        stuck = before.copy()  # where every hat would be if it stuck to its partner
        for number, (a, b) in enumerate(zip(start.poses, end.poses, strict=True)):
            if a is None or b is None:
                continue
            own, carried = hats.partner == number, b * a.inverse()
            stuck[own] = before[own] @ carried.rotation.T + carried.translation
        shift, turn = np.zeros(3), np.zeros(3)
        slip = np.zeros(n)
        seen = self._measure(new, end)
        frames = _frames(seen.normal)
        alive = np.flatnonzero((seen.gap < _ALIVE) | (np.einsum("nj,nj->n", frames[:, 0], new.forces) > 0.0))
        give = self._give(frames, alive)
        for number in range(_PASSES):
            R = new.T_world_body.rotation
            seen = self._measure(new, end) if number else seen
            forces = np.einsum("nij,nj->ni", frames, new.forces)
            moved = np.concatenate([R.T @ shift, R.T @ turn])
            load = np.concatenate([R.T @ end.load[:3], R.T @ end.load[3:]])
            resisting = np.zeros((6, 6))
            resisting[:3, :3], resisting[3:, 3:] = R.T @ (drag[:3, None] * R), R.T @ (drag[3:, None] * R)
            offset = self._offset(new, state, seen, frames, alive, stuck) - give @ forces[alive].ravel()
            motion = np.zeros((len(alive), 3, 6))
            motion[:, :, :3] = frames[alive]
            motion[:, :, 3:] = np.cross(seen.place[alive][:, None, :], frames[alive])
            problem = Increment(give, motion.reshape(-1, 6), offset, load, resisting, moved, self.friction, self._scale)
            tolerance = _TOLERANCE * max(1.0, float(np.maximum(forces[:, 0], 0.0).sum()))
            solved = solve_increment(problem, forces[alive], tolerance)
            if solved is None:
                return None
            self.solves += solved.iterations
            all_forces = np.zeros((n, 3))
            all_forces[alive] = np.einsum("nij,ni->nj", frames[alive], solved.forces)
            step, rotated = R @ solved.motion[:3], R @ solved.motion[3:]
            shift, turn = shift + step, turn + rotated
            pose = pin.SE3(pin.exp3(rotated) @ R, new.T_world_body.translation + step)
            slips = (give @ solved.forces.ravel() + problem.motion @ solved.motion + offset).reshape(-1, 3)
            slip = np.zeros(n)
            slip[alive] = np.where(solved.forces[:, 0] > 0.0, np.linalg.norm(slips[:, 1:], axis=1), 0.0)
            new = replace(new, T_world_body=pose, forces=all_forces)
            if number > 0 and np.abs(solved.motion).max() < max(_STILL, _LITTLE * np.abs([shift, turn]).max()):
                break
        moved_by = float(np.linalg.norm(shift) + _ARM * np.linalg.norm(turn))
        return replace(new, slipped=state.slipped + slip, moved=moved_by)

    def _give(self, frames: Floats, alive: Ints) -> Floats:
        """C of the increment: what forces do to gaps and slips, pads included."""
        rows = (3 * alive[:, None] + np.arange(3)).ravel()
        m, turn = len(alive), frames[alive]
        total = self.body.compliance[np.ix_(rows, rows)]
        if self._pads is not None:
            total += self._pads[np.ix_(rows, rows)]
        left = np.matmul(turn, total.reshape(m, 3, 3 * m))
        right = np.matmul(left.reshape(3 * m, m, 3).transpose(1, 0, 2), turn.transpose(0, 2, 1))
        return np.ascontiguousarray(right.transpose(1, 0, 2)).reshape(3 * m, 3 * m)

    def _offset(
        self, new: BodyState, old: BodyState, seen: _Measured, frames: Floats, alive: Ints, stuck: Floats
    ) -> Floats:
        """Gaps and slips as they are now."""
        turn, T = frames[alive], new.T_world_body
        slid = (seen.place @ T.rotation.T + T.translation - stuck) @ T.rotation
        now = np.einsum("nij,nj->ni", turn, slid[alive])
        now[:, 0] = seen.gap[alive]
        if self._pads is not None:
            pressed = (self._pads @ new.forces.ravel()).reshape(-1, 3)
            change = pressed - (self._pads @ old.forces.ravel()).reshape(-1, 3)
            now[:, 0] += np.einsum("nj,nj->n", turn[:, 0], pressed[alive])
            now[:, 1:] += np.einsum("nij,nj->ni", turn[:, 1:], change[alive])
        return now.ravel()


def _frames(normals: Floats) -> Floats:
    """n x 3 x 3: rows normal and two tangents."""
    across = np.where(np.abs(normals[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = np.cross(normals, across)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return np.stack([normals, first, np.cross(normals, first)], axis=1)
