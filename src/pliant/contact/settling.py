"""The held object finds the pose in which contact forces, friction and weight balance.   (theory 8.3)

Normal forces come from the same complementarity problem as in ``solve``; in the tangent plane every contact is a spring
(``1/K_t = (2 - nu) / (8 G a) + h_tt``, and ``16 G a^3 / 3`` against turning) up to Coulomb's limit, beyond which it
slides with friction that goes with the pressure. All six rigid motions of the object are unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Bools, Floats
from pliant.contact.gap import MeasuredGap
from pliant.contact.pressure import Pressures, solve_pressures
from pliant.contact.problem import ContactProblem, Patch, assemble, likely_cells
from pliant.contact.region import ContactState, ContactStatus
from pliant.contact.solve import (
    find_patches,
    half_size,
    pushed_away,
    refocus,
    report,
    starting_state,
    tangential_stiffness,
)
from pliant.contact.surfaces import PadSurface, PreparedObject
from pliant.threads import one_thread

_PASSES = 12
_INNER = 12
_FOCUS = 6
"""Passes after which the grids stay: where flat lies on flat, grid and pressure could chase each other for ever."""
_LOST = 0.02
"""Normal forces below this part of what they were before the object moved: it has been pushed away."""


@dataclass(frozen=True, eq=False)
class _Grip:
    """The tangential spring of one contact, in the object's frame."""

    arm: Floats  # 3 x 6: tangential (two rows) and turning motion at the contact per rigid motion
    stiffness: Floats  # 3
    stretch: Floats  # 3: how far the contact has been dragged since the start


class _Balance(NamedTuple):
    """The linearised problem solved once."""

    answer: Pressures
    sliding: list[Floats | None]  # direction in which each contact slides; None: it sticks
    sticking: float  # total normal force before anything slid [N]


@one_thread
def settle(
    prepared: PreparedObject,
    pads: Sequence[PadSurface],
    Ts_world_pad: Sequence[pin.SE3],
    T_world_object: pin.SE3 | None = None,
    *,
    load: ArrayLike | None = None,
    friction: float | None = None,
    cells: int = 12,
) -> ContactState:
    """Let the object move until everything balances.

    Args:
        prepared: the object.
        pads: the pads, with their friction coefficients.
        Ts_world_pad: their poses, held.
        T_world_object: where the object is before it moves; friction holds it to that place.
        load: weight and other forces [N], and torque about the object's origin [N m], world frame.
        friction: for all pads, instead of each pad's own.
        cells: grid cells along a side of each region.

    Returns:
        ``SETTLED`` with the pose and the forces, tangential ones included; ``PUSHED_AWAY`` if the pads squeeze it out;
        ``SLIPS`` if it would stay without the load but not with it; ``NO_CONTACT``.
    """
    start, wrench = starting_state(pads, Ts_world_pad, T_world_object, load)
    pads = [pad if friction is None else replace(pad, friction=friction) for pad in pads]
    Ts_object_pad = [start.actInv(T) for T in Ts_world_pad]
    patches = find_patches(prepared, pads, Ts_object_pad)
    if not patches:
        return ContactState(ContactStatus.NO_CONTACT, (), start, np.zeros(6), wrench)
    deepest = max(patch.depth for patch in patches)
    first = assemble(prepared, pads, Ts_object_pad, patches, cells)
    state = _settle(prepared, pads, list(Ts_world_pad), start, wrench, first, deepest)
    if state.status is ContactStatus.PUSHED_AWAY and wrench.any():
        without = _settle(prepared, pads, list(Ts_world_pad), start, np.zeros(6), first, deepest)
        if without.status is ContactStatus.SETTLED:
            return replace(without, status=ContactStatus.SLIPS, residual=wrench)
    return state


def _settle(
    prepared: PreparedObject,
    pads: list[PadSurface],
    Ts_world_pad: list[pin.SE3],
    start: pin.SE3,
    wrench: Floats,
    problem: ContactProblem,
    deepest: float,
) -> ContactState:
    """The state that the contact problem at the start leads to; ``deepest`` is the largest penetration there [m]."""
    pose = pin.SE3(start)
    size = half_size(prepared)
    first_force: float | None = None
    for step in range(_PASSES):
        grips = [_grip(prepared, pads[patch.pad], patch, start, pose, size) for patch in problem.patches]
        local = np.concatenate([pose.rotation.T @ wrench[:3], pose.rotation.T @ wrench[3:] / size])
        found = _balance(problem, pads, grips, local, size, likely_cells(problem, known=step > 0))
        if found is None:
            return pushed_away(start, pose, wrench)
        balance, answer = found, found.answer
        first_force = balance.sticking if first_force is None else first_force
        move = np.concatenate([answer.motion[:3], answer.motion[3:] / size])
        lost = answer.forces.sum() < _LOST * first_force
        if lost or np.linalg.norm(move[:3]) > 0.5 * size or np.linalg.norm(move[3:]) > 0.5:
            return pushed_away(start, pose, wrench)
        moved = np.abs(answer.motion).max()
        if (step > 0 and moved < 5e-3 * deepest) or step == _PASSES - 1:
            break
        pose = pose * pin.SE3(pin.exp3(move[3:]), move[:3])
        Ts_object_pad = [pose.actInv(T) for T in Ts_world_pad]
        patches = refocus(problem, answer) if step < _FOCUS else problem.patches
        if step == 0 and moved > 0.3 * deepest:
            patches = _refound(prepared, pads, Ts_object_pad, patches)
        problem = assemble(prepared, pads, Ts_object_pad, patches, problem.count)
    tangential = [
        _friction(problem, balance, pads[patch.pad].friction, grip, k)
        for k, (grip, patch) in enumerate(zip(grips, problem.patches, strict=True))
    ]
    return report(prepared, pads, problem, answer, start, pose, wrench, tangential)


def _refound(
    prepared: PreparedObject, pads: list[PadSurface], Ts_object_pad: list[pin.SE3], patches: list[Patch]
) -> list[Patch]:
    """After a large first move look again for regions that have appeared; keep those that are known."""
    out = list(patches)
    for new in find_patches(prepared, pads, Ts_object_pad):
        known = any(
            old.pad == new.pad and np.linalg.norm(old.origin - new.origin) < max(old.half.max(), new.half.max())
            for old in patches
        )
        if not known:
            out.append(new)
    return out


def _cell_rows(patch: Patch, gap: MeasuredGap, size: float) -> Floats:
    """n x 6: motion of the object along the patch's normal at each cell, per translation and (rotation x size)."""
    x = patch.origin + gap.xy @ patch.axes[:2] + np.outer(gap.height, patch.axes[2])
    rows = np.empty((len(x), 6))
    rows[:, :3] = patch.axes[2]
    rows[:, 3:] = x @ (_turning(patch.axes[2]).T / size)
    return rows


def _turning(p: Floats) -> Floats:
    """The matrix of omega -> omega x p."""
    return np.array([[0.0, p[2], -p[1]], [-p[2], 0.0, p[0]], [p[1], -p[0], 0.0]])


def _grip(prepared: PreparedObject, pad: PadSurface, patch: Patch, start: pin.SE3, pose: pin.SE3, size: float) -> _Grip:
    arm = np.zeros((3, 6))
    arm[:2, :3] = patch.axes[:2]
    arm[:2, 3:] = patch.axes[:2] @ _turning(patch.origin) / size
    arm[2, 3:] = patch.axes[2] / size
    along_y, along_x = tangential_stiffness(prepared, pad, patch, patch.radii)
    a = float(np.sqrt(np.prod(patch.radii)))
    # 16 G a^3 / 3 of each body in series: 1/G = 2 compliance / (1 - nu)
    turning = sum(2.0 * body.compliance / (1.0 - body.poisson) for body in (prepared, pad)) * 3.0 / (16.0 * a**3)
    # how far the object's point now at the contact has moved since the start, seen in the object's frame
    back = pose.actInv(start)
    moved = patch.origin - back.act(patch.origin)
    turned = -pin.log3(back.rotation)
    stretch = np.array([patch.axes[0] @ moved, patch.axes[1] @ moved, patch.axes[2] @ turned])
    finite = np.array([along_x, along_y, 1.0 / turning if turning > 0.0 else np.inf])
    return _Grip(arm, np.where(np.isfinite(finite), finite, 1e9), stretch)


def _spin_arm(radii: Floats) -> float:
    """The arm of the largest turning moment [m]: e = 3 pi a / 16   (theory 7.1)."""
    return 3.0 * np.pi / 16.0 * float(np.sqrt(np.prod(radii)))


def _balance(
    problem: ContactProblem, pads: list[PadSurface], grips: list[_Grip], load: Floats, size: float, guess: Bools
) -> _Balance | None:
    """Solve the linearised problem, letting contacts slide where Coulomb's limit is exceeded; None if all contact is
    lost."""
    patches, block = problem.patches, problem.block
    # cell by cell: what a contact gives by tilting, where flat lies on flat, is most of what steadies the object
    normals = np.concatenate([_cell_rows(patch, gap, size) for patch, gap in zip(patches, problem.gaps, strict=True)])
    friction = [pads[patch.pad].friction for patch in patches]
    arms = [_spin_arm(patch.radii) for patch in patches]
    sliding: list[Floats | None] = [None] * len(patches)
    sticking = 0.0
    for _ in range(_INNER):
        springs = np.zeros((6, 6))
        right = load.copy()
        reactions = normals.copy()
        for k, (grip, mu, e, direction) in enumerate(zip(grips, friction, arms, sliding, strict=True)):
            if direction is not None:
                # friction on the object mu F d and moment mu F e d_3 go with the normal force -n F
                drag = grip.arm[:2].T @ direction[:2] + e * grip.arm[2] * direction[2]
                reactions[block == k] -= mu * drag
            elif mu > 0.0:
                springs += grip.arm.T @ (grip.stiffness[:, None] * grip.arm)
                right -= grip.arm.T @ (grip.stiffness * grip.stretch)
        # a motion nothing resists must not make the system singular; what it costs is far below any contact
        springs += 1e-9 * max(float(np.trace(springs)), 1.0) * np.eye(6)
        answer = solve_pressures(
            problem.compliance,
            problem.penetration,
            normals,
            right,
            reactions=reactions,
            springs=springs,
            start=guess,
        )
        if not answer.forces.any():
            return None
        guess = answer.forces > 0.0
        sticking = sticking or float(answer.forces.sum())
        changed = False
        for k, (grip, mu, e) in enumerate(zip(grips, friction, arms, strict=True)):
            force = float(answer.forces[block == k].sum())
            most = mu * force
            trial = -grip.stiffness * (grip.stretch + grip.arm @ answer.motion)
            scaled = np.array([trial[0], trial[1], trial[2] / e if e > 0.0 else 0.0])
            used = float(np.linalg.norm(scaled))
            if sliding[k] is None and used > 1.0001 * most:
                sliding[k], changed = scaled / max(used, 1e-300), True
            elif sliding[k] is not None and used < most and force > 0.0:
                sliding[k], changed = None, True
        if not changed:
            break
    return _Balance(answer, sliding, sticking)


def _friction(problem: ContactProblem, balance: _Balance, mu: float, grip: _Grip, k: int) -> Floats:
    """Friction on the object at contact k: force along the patch's x and y [N], moment about its normal [N m]."""
    answer, direction = balance.answer, balance.sliding[k]
    if mu == 0.0:
        return np.zeros(3)
    if direction is not None:
        most = mu * float(answer.forces[problem.block == k].sum())
        return np.asarray(most * direction * [1.0, 1.0, _spin_arm(problem.patches[k].radii)])
    return np.asarray(-grip.stiffness * (grip.stretch + grip.arm @ answer.motion))
