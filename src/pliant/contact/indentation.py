"""A virtual indentation test: what the command ``pliant press`` computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.contact.deformation import displacement, volume_change
from pliant.contact.detection import tangent_frame
from pliant.contact.first_touch import clearance, find_first_touch
from pliant.contact.region import ContactState
from pliant.contact.solve import solve_contacts
from pliant.contact.surfaces import MeshSurface, PadSurface, PreparedObject, SphereSurface
from pliant.errors import OptionError, Problem
from pliant.threads import one_thread


@dataclass(frozen=True, eq=False)
class PressResult:
    """What an indentation test measures.

    Args:
        state: forces, regions, the object's motion.
        largest_displacement: of any point of the object's surface, rigid motion left out [m].
        volume_change: relative.
        warnings: of the regions and of the whole.
    """

    state: ContactState
    largest_displacement: float
    volume_change: float
    warnings: tuple[str, ...]


@one_thread
def press(
    prepared: PreparedObject,
    pads: Sequence[PadSurface],
    contacts: Sequence[tuple[ArrayLike, ArrayLike | None]],
    depth: float,
    *,
    fixed: bool = False,
    cells: int = 16,
) -> PressResult:
    """Drive every pad ``depth`` beyond its first touch along the inward normal, frictionless.

    Args:
        prepared: the object.
        pads: one pad per contact; a sphere about its frame's origin, or a surface facing its frame's +z.
        contacts: points near the surface [m] and, optionally, the direction of travel; its sign does not matter.
        depth: travel from first touch [m].
        fixed: hold the object instead of letting it float.

    Raises:
        OptionError: a contact that is nowhere near the surface, or a depth that is not positive.
    """
    if not (np.isfinite(depth) and depth > 0.0):
        raise OptionError("depth", f"{depth!r} m; must be positive")
    assert isinstance(prepared.surface, MeshSurface)
    if depth > prepared.surface.size:
        allowed = f"less than the object's size, {prepared.surface.size * 1e3:.3g} mm; metres?"
        raise OptionError("depth", Problem("", f"{depth:.4g} m", allowed))
    if len(pads) != len(contacts):
        raise OptionError("contacts", f"{len(contacts)} contacts but {len(pads)} pads")
    poses = [
        _pressed(prepared, pad, k, *contact, depth) for k, (pad, contact) in enumerate(zip(pads, contacts, strict=True))
    ]
    state = solve_contacts(prepared, pads, poses, free=not fixed, cells=cells)
    moved = displacement(prepared, state)
    warnings = [*state.warnings]
    for region in state.regions:
        warnings.extend(f"{region.pad}: {warning}" for warning in region.warnings)
    largest = float(np.linalg.norm(moved, axis=1).max(initial=0.0))
    return PressResult(state, largest, volume_change(prepared, state), tuple(dict.fromkeys(warnings)))


def _pressed(
    prepared: PreparedObject, pad: PadSurface, number: int, point: ArrayLike, direction: ArrayLike | None, depth: float
) -> pin.SE3:
    """Pose of the pad at the end of its travel, in the object's frame."""
    assert isinstance(prepared.surface, MeshSurface)
    where = f"contact {number + 1}"
    p = np.asarray(point, dtype=np.float64).reshape(3)
    size = prepared.surface.size
    if not np.abs(p).max() < 1e6:  # also what is not a number
        raise OptionError(where, Problem("", f"{p.tolist()} is no place near the object", "metres"))
    touch, normals, _ = prepared.surface.smooth.project(p[None])
    if np.linalg.norm(touch[0] - p) > 0.1 * size:
        far = np.linalg.norm(touch[0] - p)
        raise OptionError(
            where,
            Problem(
                "", f"{p.tolist()} is {far * 1e3:.3g} mm from the surface", f"at most {size * 100:.3g} mm; metres?"
            ),
        )
    normal = normals[0]
    if direction is not None:
        given = np.asarray(direction, dtype=np.float64).reshape(3)
        length = np.linalg.norm(given)
        if not length > 0.0:
            raise OptionError(where, "the direction is zero")
        given = given / length
        along = float(given @ normal)
        if abs(along) < 0.2:
            raise OptionError(
                where,
                f"the direction {given.round(3).tolist()} grazes the surface with normal {normal.round(3).tolist()}",
            )
        normal = given if along > 0.0 else -given
    axes = tangent_frame(-normal)
    offset = pad.surface.radius if isinstance(pad.surface, SphereSurface) else 0.0

    def pose(travel: float) -> pin.SE3:
        return pin.SE3(axes.T.copy(), touch[0] + (offset - travel) * normal)

    start = 0.0
    while clearance(prepared, pad, pose(start)) < 0.0:
        start -= max(0.02 * size, -2.0 * clearance(prepared, pad, pose(start)))
        if start < -2.0 * size:
            raise OptionError(where, "the pad does not fit to the surface there")
    reached = find_first_touch(prepared, pad, pose, start=start, stop=start + 3.0 * size, speed=1.0)
    if reached is None:
        raise OptionError(where, "the pad never touches the object along this direction")
    return pose(reached + depth)
