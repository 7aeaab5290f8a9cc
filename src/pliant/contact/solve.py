"""Contact forces of a grasp at given poses, frictionless.   (theory 6.2)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrs

from pliant.arrays import Floats
from pliant.contact.coupling import Resolved, cross_compliance
from pliant.contact.detection import cross, find_overlaps
from pliant.contact.gap import MeasuredGap
from pliant.contact.pressure import Pressures, factored, solve_pressures
from pliant.contact.problem import (
    ContactProblem,
    Patch,
    assemble,
    gap_modes,
    interface_normals,
    likely_cells,
    patch_of,
    stiffening,
)
from pliant.contact.region import ContactRegion, ContactState, ContactStatus, SurfaceLoad
from pliant.contact.surfaces import PadSurface, PreparedObject
from pliant.errors import OptionError
from pliant.threads import one_thread

_PASSES = 5
_STILL = 5e-3
"""Motion in the last pass, over the depth, below which the object is at rest."""
_LARGE = 0.1
"""Indentation over thickness beyond which a linear material misleads."""
_ROUGH = 0.25
"""Contact radius over thickness beyond which the body model is rough."""
_WIDE = 0.8
"""Contact radius over corner distance from which a thin wall's answer was not checked against anything."""


@one_thread
def solve_contacts(
    prepared: PreparedObject,
    pads: Sequence[PadSurface],
    Ts_world_pad: Sequence[pin.SE3],
    T_world_object: pin.SE3 | None = None,
    *,
    free: bool = True,
    load: ArrayLike | None = None,
    cells: int = 16,
) -> ContactState:
    """Frictionless contact of pads at given poses with an object that floats until the forces balance, or is held.

    All contacts are one complementarity problem; the object's rigid motions that change a gap are unknowns of it.

    Args:
        prepared: the object.
        pads: the pads.
        Ts_world_pad: their poses.
        T_world_object: the object's pose; identity if left out.
        free: the object may move; otherwise it is held (against the mean motion of the body).
        load: external force [N] and torque about the object's origin [N m] on it, world frame.
        cells: grid cells along a side of each region.
    """
    if not 6 <= cells <= 64:
        raise OptionError("cells", f"{cells} grid cells along a side; 6 to 64 are allowed")
    start, wrench = starting_state(pads, Ts_world_pad, T_world_object, load)
    pose = pin.SE3(start)
    pads = list(pads)
    patches = find_patches(prepared, pads, [pose.actInv(T) for T in Ts_world_pad])
    if not patches:
        return ContactState(ContactStatus.NO_CONTACT, (), pose, np.zeros(6), wrench)
    scale = half_size(prepared)
    force = np.zeros(0)
    for step in range(_PASSES):
        problem = assemble(prepared, pads, [pose.actInv(T) for T in Ts_world_pad], patches, cells)
        patches = problem.patches
        patterns, motions = gap_modes(patches, scale) if free else (np.zeros((len(patches), 0)), np.zeros((6, 0)))
        local_load = np.concatenate([pose.rotation.T @ wrench[:3], pose.rotation.T @ wrench[3:]])
        guess = likely_cells(problem, known=step > 0)
        answer = solve_pressures(
            problem.compliance, problem.penetration, patterns[problem.block], motions.T @ local_load, start=guess
        )
        if not answer.balanced or (free and patterns.shape[1] == len(patches) and not np.any(local_load)):
            return pushed_away(start, pose, wrench, _uncertainty(prepared, patches))
        total = np.bincount(problem.block, answer.forces, minlength=len(patches)).astype(np.float64)
        moved = float(np.abs(patterns @ answer.motion).max(initial=0.0))
        # forces may agree by chance while the object still moves, and grids lie where it was
        still = moved <= _STILL * float(problem.penetration.max())
        if step == _PASSES - 1 or (still and _settled(force, total, problem, answer)):
            break
        force = total
        pose = pose * pin.SE3(pin.exp3(motions[3:] @ answer.motion), motions[:3] @ answer.motion)
        patches = refocus(problem, answer)
    return report(prepared, pads, problem, answer, start, pose, wrench)


def starting_state(
    pads: Sequence[PadSurface], Ts_world_pad: Sequence[pin.SE3], T_world_object: pin.SE3 | None, load: ArrayLike | None
) -> tuple[pin.SE3, Floats]:
    """The object's pose before it moves and the wrench on it.

    Raises:
        OptionError: not one pose per pad.
    """
    if len(pads) != len(Ts_world_pad):
        raise OptionError("pads", f"{len(pads)} pads but {len(Ts_world_pad)} poses")
    start = pin.SE3.Identity() if T_world_object is None else pin.SE3(T_world_object)
    return start, np.zeros(6) if load is None else np.asarray(load, dtype=np.float64).reshape(6)


def half_size(prepared: PreparedObject) -> float:
    """The length by which rotations compare with translations [m]; of a plane, 500 m."""
    return 0.5 * min(prepared.surface.size, 1e3)


def pushed_away(start: pin.SE3, pose: pin.SE3, wrench: Floats, warnings: tuple[str, ...] = ()) -> ContactState:
    """The state of an object that no contact forces hold."""
    return ContactState(ContactStatus.PUSHED_AWAY, (), pose, _motion(start, pose), wrench, warnings=warnings)


def _uncertainty(prepared: PreparedObject, patches: list[Patch]) -> tuple[str, ...]:
    """Why an object reported as pushed away may in fact stay."""
    body = prepared.body
    if body is None or body.wall is None or all(patch.radii.max() <= _WIDE * body.edge for patch in patches):
        return ()
    return ("contacts wider than the corners of a thin wall: where their forces act is rough, it may in fact stay",)


def find_patches(prepared: PreparedObject, pads: list[PadSurface], Ts_object_pad: list[pin.SE3]) -> list[Patch]:
    """Every region of every pad, ready to be solved."""
    return [
        patch_of(k, overlap)
        for k, (pad, T) in enumerate(zip(pads, Ts_object_pad, strict=True))
        for overlap in find_overlaps(prepared, pad.surface, T)
    ]


def _motion(start: pin.SE3, end: pin.SE3) -> Floats:
    return np.concatenate([end.translation - start.translation, pin.log3(end.rotation @ start.rotation.T)])


def _settled(before: Floats, now: Floats, problem: ContactProblem, answer: Pressures) -> bool:
    """Forces no longer change, and no pressure presses against the border of its grid."""
    if len(before) != len(now) or np.abs(now - before).max() > 4e-3 * np.abs(now).max():
        return False
    return not any(
        _clipped(gap, answer.forces[problem.block == k], problem.count) for k, gap in enumerate(problem.gaps)
    )


def _clipped(gap: MeasuredGap, forces: Floats, count: int) -> bool:
    loaded = gap.cells[forces > 0.0]
    i, j = loaded // count, loaded % count
    return bool(((i == 0) | (i == count - 1) | (j == 0) | (j == count - 1)).any())


def refocus(problem: ContactProblem, answer: Pressures) -> list[Patch]:
    """The patches with every grid centred and sized by the pressure just found, the axes along its principal
    directions."""
    forces = [answer.forces[problem.block == k] for k in range(len(problem.patches))]
    return [
        _refocused(patch, gap, f, problem.count) if f.sum() > 0.0 else patch
        for patch, gap, f in zip(problem.patches, problem.gaps, forces, strict=True)
    ]


def _refocused(patch: Patch, gap: MeasuredGap, f: Floats, count: int) -> Patch:
    w = f / f.sum()
    at = w @ gap.xy
    centred = gap.xy - at
    step = 2.0 * patch.half / count
    square = w @ centred**2 + step**2 / 12.0
    reach = np.abs(centred[f > 0.0]).max(axis=0) + 0.5 * step
    radii = np.sqrt(5.0 * np.maximum(square - step**2 / 12.0, 0.01 * step**2))
    half = np.minimum(1.3 * np.sqrt(5.0 * square), reach + step)
    if _clipped(gap, f, count):
        half = np.maximum(1.4 * patch.half, half)
    tilt = w @ gap.slope
    x, y, z = patch.axes
    origin = patch.origin + at[0] * x + at[1] * y + float(w @ gap.height) * z
    normal = z - tilt[0] * x - tilt[1] * y
    normal /= np.linalg.norm(normal)
    first = x - (x @ normal) * normal
    first /= np.linalg.norm(first)
    axes = np.array([first, cross(normal, first), normal])
    return replace(patch, origin=origin, axes=axes, half=np.maximum(half, 0.05 * half.max()), radii=radii)


def report(
    prepared: PreparedObject,
    pads: list[PadSurface],
    problem: ContactProblem,
    answer: Pressures,
    start: pin.SE3,
    pose: pin.SE3,
    wrench: Floats,
    tangential: list[Floats] | None = None,
) -> ContactState:
    """The state of a solved problem.

    Args:
        tangential: friction on the object: along each patch's x and y [N] and about its normal [N m].
    """
    normal_stiffness = _normal_stiffness(problem, answer)
    regions: list[ContactRegion] = []
    loads: list[SurfaceLoad] = []
    numbers: dict[int, int] = {}
    warnings: list[str] = list(prepared.body.notes) if prepared.body is not None else []
    residual = wrench.copy()
    for k, patch in enumerate(problem.patches):
        f = answer.forces[problem.block == k]
        if f.sum() <= 0.0:
            continue
        number = numbers.get(patch.pad, 0)
        numbers[patch.pad] = number + 1
        friction = np.zeros(3) if tangential is None else tangential[k]
        region = _region(prepared, pads[patch.pad], number, problem, k, f, normal_stiffness[k], pose, friction[:2])
        regions.append(region)
        if patch.spread is not None:
            loads.append(_surface_load(patch, problem.gaps[k], problem.resolved[k], f))
        residual[:3] += region.force
        residual[3:] += cross(region.centre - pose.translation, region.force)
        residual[3:] += pose.rotation @ patch.axes[2] * friction[2]
    if not answer.exact:
        warnings.append("the compliance matrix was not positive definite; it was shifted, forces are rough")
    status = ContactStatus.SETTLED if regions else ContactStatus.NO_CONTACT
    largest = max((region.normal_force for region in regions), default=0.0)
    if tangential is None and len(regions) > 1 and np.linalg.norm(residual[:3]) > 0.05 * largest:
        warnings.append(
            f"an unbalanced force of {np.linalg.norm(residual[:3]):.3g} N would make frictionless pads slide"
        )
    return ContactState(status, tuple(regions), pose, _motion(start, pose), residual, tuple(loads), tuple(warnings))


def _surface_load(patch: Patch, gap: MeasuredGap, resolved: Resolved | None, f: Floats) -> SurfaceLoad:
    assert patch.footprints is not None and patch.spread is not None
    if resolved is not None:
        m = interface_normals(patch, gap)
        return SurfaceLoad(resolved.corners, -(resolved.weights.T @ (f[:, None] * m)), np.zeros(2))
    along = -patch.axes[2] * f.sum() + (f @ gap.tilt) @ patch.axes[:2]
    return SurfaceLoad(patch.spread.corners, patch.spread.weights[:, None] * along, patch.footprints.radii)


def _normal_stiffness(problem: ContactProblem, answer: Pressures) -> Floats:
    """dF_A / d(pad A inward) with the active cells, the other pads and the object's rigid motion held [N/m]."""
    count = len(problem.patches)
    out = np.zeros(count)
    on = np.flatnonzero(answer.forces > 0.0)
    if not len(on):
        return out
    block = problem.block[on]
    right = (block[:, None] == np.arange(count)[None, :]).astype(np.float64)
    factor = factored(problem.compliance, on)
    if factor is not None:
        solved, _ = dpotrs(factor, right, lower=1)
    else:
        try:
            solved = np.linalg.solve(problem.compliance[np.ix_(on, on)], right)
        except np.linalg.LinAlgError:
            return out
    return np.asarray(np.einsum("ik,ik->k", right, solved))


def _region(
    prepared: PreparedObject,
    pad: PadSurface,
    number: int,
    problem: ContactProblem,
    k: int,
    f: Floats,
    normal_stiffness: float,
    pose: pin.SE3,
    friction: Floats,
) -> ContactRegion:
    patch, gap, cell_area = problem.patches[k], problem.gaps[k], problem.cell_area(k)
    total = float(f.sum())
    w = f / total
    at = w @ gap.xy
    square = w @ (gap.xy - at) ** 2
    radii = np.sqrt(5.0 * square)
    radius = float(np.sqrt(2.5 * square.sum()))
    on = f > 0.0
    local = np.column_stack([gap.xy, gap.height])
    centre = patch.origin + np.array([at[0], at[1], float(w @ gap.height)]) @ patch.axes
    rotation = np.column_stack([patch.axes[1], patch.axes[0], -patch.axes[2]])
    warnings = _region_warnings(prepared, patch, radii, radius)
    on_pad = 1.0 if pad.pad_faces is None else float(f[on][pad.pad_faces[gap.owner[on]]].sum() / f.sum())
    return ContactRegion(
        pad=pad.name,
        patch=number,
        T_world_contact=pose * pin.SE3(rotation, centre),
        normal_force=total,
        tangential_force=friction[::-1].copy(),
        radius=radius,
        half_axes=radii[::-1].copy(),
        peak_pressure=float(f.max()) / cell_area,
        area=float(on.sum()) * cell_area,
        depth=patch.depth,
        stiffness=np.diag([*tangential_stiffness(prepared, pad, patch, radii), normal_stiffness]),
        p_world_cells=(patch.origin + local[on] @ patch.axes) @ pose.rotation.T + pose.translation,
        pressures=f[on] / cell_area,
        depths=gap.penetration[on],
        cell_area=cell_area,
        on_pad=on_pad,
        warnings=warnings
        if on_pad >= 0.5
        else (*warnings, f"only {on_pad:.0%} of the force is on the pad's own faces"),
    )


def tangential_stiffness(prepared: PreparedObject, pad: PadSurface, patch: Patch, radii: Floats) -> tuple[float, float]:
    """1 / K_t = (2 - nu) / (8 G a) of both bodies + h_tt.   (theory 6.2, tangential response)"""
    a = float(np.sqrt(max(float(np.prod(radii)), 1e-30)))
    local = 0.0
    for compliance, nu in ((prepared.compliance, prepared.poisson), (pad.compliance, pad.poisson)):
        # (2 - nu) / (8 G a) with 1 / G = 2 (1 + nu) / E = 2 compliance / (1 - nu)
        local += (2.0 - nu) / (8.0 * a) * 2.0 * compliance / (1.0 - nu)
    out = []
    for axis in (1, 0):
        value = local
        if prepared.body is not None and patch.spread is not None:
            t = patch.axes[axis]
            s = patch.spread
            whole = (
                cross_compliance(prepared.body.matrix, s.corners, s.weights, t, s.corners, s.weights, t)
                / prepared.young
            )
            part = s.halfspace * prepared.compliance * (2.0 - prepared.poisson) / (2.0 * (1.0 - prepared.poisson))
            value += whole - (1.0 - stiffening(prepared.body, patch.radii)) * part
        out.append(1.0 / max(value, 0.05 * local) if local > 0.0 else np.inf)
    return out[0], out[1]


def _region_warnings(prepared: PreparedObject, patch: Patch, radii: Floats, radius: float) -> tuple[str, ...]:
    out: list[str] = []
    if prepared.body is not None and prepared.body.wall is not None:
        wall = prepared.body.wall.thickness
        if patch.depth > wall:
            out.append(
                f"indentation {patch.depth * 1e3:.2g} mm is over the wall thickness {wall * 1e3:.2g} mm: "
                "beyond linear, a wall dents further at less force"
            )
        if radius > _WIDE * prepared.body.edge:
            out.append(
                f"contact radius {radius * 1e3:.2g} mm spans the {prepared.body.edge * 1e3:.2g} mm corners of a thin "
                "wall: rough"
            )
    elif patch.spread is not None:
        wall = patch.spread.thickness
        if wall > 0.0 and radius > _ROUGH * wall:
            out.append(
                f"contact radius {radius * 1e3:.2g} mm is over a quarter of the thickness {wall * 1e3:.2g} mm: rough"
            )
        if wall > 0.0 and patch.depth > _LARGE * wall:
            out.append(
                f"indentation {patch.depth * 1e3:.2g} mm is over a tenth of the thickness "
                f"{wall * 1e3:.2g} mm: beyond linear"
            )
    elif prepared.body is not None:
        out.append(
            f"indentation {patch.depth * 1e3:.2g} mm, deep inside: beyond linear, the body's own response is left out"
        )
    if radii.max() > 5.0 * max(radii.min(), 1e-12):
        out.append("long contact, more like a line: rough")
    return tuple(out)
