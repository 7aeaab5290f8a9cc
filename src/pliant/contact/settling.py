"""The held object finds the pose in which contact forces, friction and weight balance.   (theory 8.3)

Normal forces come from the same complementarity problem as in ``solve``; in the tangent plane every contact is a spring
(``1/K_t = (2 - nu) / (8 G a) + h_tt``, and ``16 G a^3 / 3`` against turning) up to Coulomb's limit, beyond which it
slides with friction that goes with the pressure. All six rigid motions of the object are unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Bools, Floats
from pliant.contact.pressure import Pressures, solve_pressures
from pliant.contact.problem import ContactProblem, Patch, assemble, coupling_matrix, likely_cells
from pliant.contact.region import ContactState, ContactStatus
from pliant.contact.solve import find_patches, refocus, report, tangential_stiffness
from pliant.contact.surfaces import PadSurface, PreparedObject
from pliant.errors import OptionError
from pliant.threads import one_thread

_PASSES = 12
_INNER = 12
_FOCUS = 6
"""Passes after which the grids stay: where flat lies on flat, grid and pressure could chase each other for ever."""
_LOST = 0.02
"""Normal forces below this part of what they were before the object moved: it has been pushed away."""


@dataclass
class _Grip:
    """Tangential state of one contact, in the object's frame."""

    arm: Floats  # 3 x 6: tangential (two rows) and turning motion at the contact per rigid motion
    stiffness: Floats  # 3
    stretch: Floats  # 3: how far the contact has been dragged since the start
    slides: bool = False
    direction: Floats | None = None


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
        thing: the object.
        pads: the pads, with their friction coefficients.
        Ts_world_pad: their poses, held.
        T_world_object: where the object is before it gives way; friction holds it to that place.
        load: weight and other forces [N], and torque about the object's origin [N m], world frame.
        friction: for all pads, instead of each pad's own.
        cells: grid cells along a side of each region.

    Returns:
        ``SETTLED`` with the pose and the forces, tangential ones included; ``PUSHED_AWAY`` if the pads squeeze it out;
        ``SLIPS`` if it would stay without the load but not with it; ``NO_CONTACT``.
    """
    if len(pads) != len(Ts_world_pad):
        raise OptionError("pads", f"{len(pads)} pads but {len(Ts_world_pad)} poses")
    pads = [pad if friction is None else replace(pad, friction=friction) for pad in pads]
    start = pin.SE3.Identity() if T_world_object is None else pin.SE3(T_world_object)
    wrench = np.zeros(6) if load is None else np.asarray(load, dtype=np.float64).reshape(6)
    state = _settle(prepared, pads, list(Ts_world_pad), start, wrench, cells)
    if state.status is ContactStatus.PUSHED_AWAY and wrench.any():
        without = _settle(prepared, pads, list(Ts_world_pad), start, np.zeros(6), cells)
        if without.status is ContactStatus.SETTLED:
            return replace(without, status=ContactStatus.SLIPS, residual=wrench)
    return state


def _settle(
    prepared: PreparedObject,
    pads: list[PadSurface],
    Ts_world_pad: list[pin.SE3],
    start: pin.SE3,
    wrench: Floats,
    cells: int,
) -> ContactState:
    pose = pin.SE3(start)
    patches = find_patches(prepared, pads, [pose.actInv(T) for T in Ts_world_pad])
    if not patches:
        return ContactState(ContactStatus.NO_CONTACT, (), pose, np.zeros(6), wrench)
    size = 0.5 * min(prepared.surface.size, 1e3)
    first_force: float | None = None
    problem: ContactProblem | None = None
    answer: Pressures | None = None
    grips: list[_Grip] = []
    deepest = max(patch.depth for patch in patches)
    for step in range(_PASSES):
        Ts_object_pad = [pose.actInv(T) for T in Ts_world_pad]
        problem = assemble(prepared, pads, Ts_object_pad, patches, coupling_matrix(prepared, patches), cells)
        grips = [_grip(prepared, pads[patch.pad], patch, start, pose, size) for patch in patches]
        local = np.concatenate([pose.rotation.T @ wrench[:3], pose.rotation.T @ wrench[3:] / size])
        guess = likely_cells(patches, problem, known=step > 0)
        answer, sticking = _balance(problem, patches, pads, grips, local, size, guess)
        first_force = sticking if first_force is None else first_force
        if answer is None or answer.forces.sum() < _LOST * first_force:
            return ContactState(ContactStatus.PUSHED_AWAY, (), pose, _motion(start, pose), wrench)
        move = np.concatenate([answer.motion[:3], answer.motion[3:] / size])
        if np.linalg.norm(move[:3]) > 0.5 * size or np.linalg.norm(move[3:]) > 0.5:
            return ContactState(ContactStatus.PUSHED_AWAY, (), pose, _motion(start, pose), wrench)
        for grip in grips:
            grip.stretch = grip.stretch + grip.arm @ answer.motion
        if step > 0 and np.abs(answer.motion).max() < 5e-3 * deepest:
            break
        if step == _PASSES - 1:
            break
        pose = pose * pin.SE3(pin.exp3(move[3:]), move[:3])
        if step < _FOCUS:
            refocus(patches, problem, answer, cells)
        if step == 0 and np.abs(answer.motion).max() > 0.3 * deepest:
            patches = _refound(prepared, pads, [pose.actInv(T) for T in Ts_world_pad], patches)
    assert problem is not None and answer is not None
    tangential = [
        _friction(grip, patch, pads[patch.pad], answer, problem, k)
        for k, (grip, patch) in enumerate(zip(grips, patches, strict=True))
    ]
    return report(prepared, pads, patches, problem, answer, start, pose, wrench, tangential)


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


def _motion(start: pin.SE3, end: pin.SE3) -> Floats:
    return np.concatenate([end.translation - start.translation, pin.log3(end.rotation @ start.rotation.T)])


def _rows(patch: Patch, size: float) -> Floats:
    """3 x 6: motion of the object's point at the contact along the patch's axes, per translation and (rotation x
    size)."""
    x = patch.origin
    cross = np.array([[0, x[2], -x[1]], [-x[2], 0, x[0]], [x[1], -x[0], 0]])  # omega x p = cross @ omega
    return np.column_stack([patch.axes, patch.axes @ cross / size])


def _cell_rows(patch: Patch, size: float) -> Floats:
    """n x 6: motion of the object along the patch's normal at each cell, per translation and (rotation x size)."""
    x = patch.origin + patch.xy @ patch.axes[:2] + np.outer(patch.height, patch.axes[2])
    normal = np.broadcast_to(patch.axes[2], x.shape)
    return np.column_stack([normal, np.cross(x, normal) / size])


def _grip(prepared: PreparedObject, pad: PadSurface, patch: Patch, start: pin.SE3, pose: pin.SE3, size: float) -> _Grip:
    arm = np.zeros((3, 6))
    arm[:2] = _rows(patch, size)[:2]
    arm[2, 3:] = patch.axes[2] / size
    along_y, along_x = tangential_stiffness(prepared, pad, patch, patch.radii)
    a = float(np.sqrt(np.prod(patch.radii)))
    # 16 G a^3 / 3 of each body in series: 1/G = 2 compliance / (1 - nu)
    turning = sum(2.0 * body.compliance / (1.0 - body.poisson) for body in (prepared, pad)) * 3.0 / (16.0 * a**3)
    # how far the object's point now at the contact has moved since the start, seen in the object's frame
    moved = patch.origin - (pose.inverse() * start).act(patch.origin)
    turned = -pin.log3((pose.inverse() * start).rotation)
    stretch = np.array([patch.axes[0] @ moved, patch.axes[1] @ moved, patch.axes[2] @ turned])
    finite = np.array([along_x, along_y, 1.0 / turning if turning > 0.0 else np.inf])
    return _Grip(arm, np.where(np.isfinite(finite), finite, 1e9), stretch)


def _limits(patch: Patch, mu: float, force: float) -> tuple[float, float]:
    """Largest friction force [N], and the arm of the largest turning moment [m]: e = 3 pi a / 16   (theory 7.1)."""
    return mu * force, 3.0 * np.pi / 16.0 * float(np.sqrt(np.prod(patch.radii)))


def _balance(
    problem: ContactProblem,
    patches: list[Patch],
    pads: list[PadSurface],
    grips: list[_Grip],
    load: Floats,
    size: float,
    guess: Bools,
) -> tuple[Pressures | None, float]:
    """Solve the linearised problem, letting contacts slide where Coulomb's limit is exceeded.

    Returns:
        The answer, None if all contact was lost; and the total normal force before anything slid.
    """
    sticking = 0.0
    # cell by cell: what a contact gives by tilting, where flat lies on flat, is most of what steadies the object
    normals = np.concatenate([_cell_rows(patch, size) for patch in patches])
    block = problem.block
    answer: Pressures | None = None
    for _ in range(_INNER):
        springs = np.zeros((6, 6))
        right = load.copy()
        reactions = normals.copy()
        for k, (grip, patch) in enumerate(zip(grips, patches, strict=True)):
            if grip.slides and grip.direction is not None:
                mu, e = _limits(patch, pads[patch.pad].friction, 1.0)
                # friction on the object mu F d and moment mu F e d_3 go with the normal force -n F
                drag = grip.arm[:2].T @ grip.direction[:2] + e * grip.arm[2] * grip.direction[2]
                reactions[block == k] -= mu * drag
            elif pads[patch.pad].friction > 0.0:
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
            return None, sticking
        guess = answer.forces > 0.0
        sticking = sticking or float(answer.forces.sum())
        changed = False
        for k, (grip, patch) in enumerate(zip(grips, patches, strict=True)):
            force = float(answer.forces[problem.block == k].sum())
            most, e = _limits(patch, pads[patch.pad].friction, force)
            trial = -grip.stiffness * (grip.stretch + grip.arm @ answer.motion)
            scaled = np.array([trial[0], trial[1], trial[2] / e if e > 0.0 else 0.0])
            used = float(np.linalg.norm(scaled))
            if not grip.slides and used > 1.0001 * most:
                grip.slides, grip.direction, changed = True, scaled / max(used, 1e-300), True
            elif grip.slides and used < most and force > 0.0:
                grip.slides, changed = False, True
        if not changed:
            break
    return answer, sticking


def _friction(grip: _Grip, patch: Patch, pad: PadSurface, answer: Pressures, problem: ContactProblem, k: int) -> Floats:
    """Friction on the object: force along the patch's x and y [N], moment about its normal [N m]."""
    force = float(answer.forces[problem.block == k].sum())
    if pad.friction == 0.0:
        return np.zeros(3)
    if grip.slides and grip.direction is not None:
        most, e = _limits(patch, pad.friction, force)
        return np.asarray(most * grip.direction * [1.0, 1.0, e])
    return np.asarray(-grip.stiffness * grip.stretch)
