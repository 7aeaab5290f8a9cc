"""Mending on demand: what changes a surface visibly, and the command that does it where loading refuses."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pliant.errors import MeshError, Problem
from pliant.objects.mass import mesh_volume
from pliant.objects.mesh.check import RepairedMesh, check_points, clean, repair_mesh
from pliant.objects.mesh.cloud import CloudSurface, surface_of_points
from pliant.objects.mesh.denoise import smooth_noise
from pliant.objects.mesh.holes import cap_holes, enclosed_volume, fill_small_holes
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.repair import unify_winding
from pliant.objects.mesh.topology import edges_of
from pliant.objects.mesh.unite import unite_parts
from pliant.objects.mesh.units import (
    IN_A_TASK,
    LARGEST,
    SMALLEST,
    UNITS,
    extents_of,
    likely_units,
    size_text,
    wrong_size,
)

MOST_TRIED = 300_000
"""Faces, or points, of a mesh on which mending is tried to see what helps."""


@dataclass(frozen=True, eq=False)
class Mended:
    """A sound mesh made on demand.

    Attributes:
        repaired: the mesh with its report.
        done: what was done, in words.
        volume_change: of the volume, relative to what was given with its holes closed by fans; None of a cloud.
        cloud: how far the surface of a cloud can be trusted; None of a mesh.
    """

    repaired: RepairedMesh
    done: tuple[str, ...]
    volume_change: float | None
    cloud: CloudSurface | None


def mend_mesh(mesh: Mesh, *, cap: bool = False, smooth: bool = False, source: str = "") -> Mended:
    """A sound mesh, or ``MeshError``: as ``repair_mesh``, and more on demand.

    Points without faces become a closed surface; parts that overlap or touch are united where the mesh is not sound
    without that.

    Args:
        mesh: any triangles, or points only [m].
        cap: close every hole: an open bottom flat, others as the surface around goes on.
        smooth: take noise off.
        source: what messages call the mesh, where that is not its name.
    """
    name = source or mesh.name or "mesh"
    done: list[str] = []
    cloud = None
    if not len(mesh.faces):
        check_points(mesh, source=name)
        cloud = surface_of_points(mesh.vertices, cap=cap, name=name)
        done += cloud.actions
        mesh = cloud.mesh
    mesh, actions = clean(mesh, source=name)
    done += actions
    before = None if cloud is not None else abs(enclosed_volume(mesh))
    for wanted, step in ((True, unify_winding), (True, fill_small_holes), (smooth, smooth_noise), (cap, cap_holes)):
        if wanted:
            mesh, actions = step(mesh)
            done += actions
    try:
        repaired = repair_mesh(mesh, source=name)
    except MeshError:
        united = unite_parts(mesh)
        if not united.actions:
            raise
        done += united.actions
        if before is not None:  # what parts have in common counts once, before and after
            before += mesh_volume(united.mesh) - mesh_volume(mesh)
        repaired = repair_mesh(united.mesh, source=name)
    done += repaired.report.repaired
    change = repaired.report.volume / before - 1.0 if before else None
    return Mended(repaired, tuple(done), change, cloud)


class Offer(NamedTuple):
    """A command that makes a sound mesh of a file, and the size that it then has."""

    command: str
    size: str


def offers(mesh: Mesh, path: Path, scale: float = 1.0) -> list[Offer]:
    """The commands that mend what loading refuses, after trying; none where none helps. One for each likely unit.

    Args:
        mesh: what is in the file, not scaled.
        path: of the file.
        scale: that was asked for.
    """
    if not len(mesh.vertices) or max(len(mesh.faces), len(mesh.vertices)) > MOST_TRIED:
        return []
    if not np.isfinite(mesh.vertices).all():
        return []
    extents = extents_of(mesh)
    if extents[0] == 0.0:
        return []
    units = [key for key, unit in UNITS.items() if unit.factor == scale]
    if wrong_size(scale * extents, SMALLEST, LARGEST, IN_A_TASK) is not None:
        units = likely_units(extents)
    for flags in _promising(mesh) if units else []:
        try:
            mend_mesh(mesh.scaled(UNITS[units[0]].factor), cap="--cap" in flags, smooth="--smooth" in flags)
        except MeshError:
            continue
        # STL holds single precision only; OBJ does not.
        out = path.with_name(f"{path.stem}_mended.obj")
        found = []
        for key in units:
            words = ["pliant", "objects", "repair", str(path), *flags, *(["--units", key] if key != "m" else [])]
            found.append(Offer(shlex.join([*words, "--out", str(out)]), size_text(UNITS[key].factor * extents)))
        return found
    return []


def with_offers(error: MeshError, found: list[Offer]) -> MeshError:
    """The error whose last problem also says which commands make the mesh sound."""
    if not found:
        return error
    commands = [f"{offer.command} ({offer.size})" if len(found) > 1 else offer.command for offer in found]
    last: Problem = error.problems[-1]
    allowed = f"{last.allowed}; this makes it sound: {', or '.join(commands)}"
    return MeshError(error.source, (*error.problems[:-1], replace(last, allowed=allowed)))


def _promising(mesh: Mesh) -> list[tuple[str, ...]]:
    """Options that may help, the mildest first."""
    if not len(mesh.faces):
        return [(), ("--cap",)]
    try:
        mended, _ = fill_small_holes(unify_winding(clean(mesh.scaled(0.2 / extents_of(mesh)[0])).mesh).mesh)
    except MeshError:
        return []
    if (edges_of(mended.faces).count == 1).any():
        return [("--cap",), ("--cap", "--smooth")]
    return [(), ("--smooth",)]
