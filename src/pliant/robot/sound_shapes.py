"""A closed surface from the collision shapes of a link, whatever state they are in: each step down is said.

A pad must lie on the skin of one body. Shapes of robots are often several bodies set into each other, touch themselves
or have holes. In this order: the shape as it is (repaired where that is safe), the union of its bodies, the convex
hull.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pliant.errors import InputError
from pliant.objects import Mesh, repair_mesh, separate_pieces

HULL_EDGE = 0.1
"""Longest edge of a hull, as a share of its largest extent: contact needs more than a few large facets."""

NEXT = 1.5e-3
"""Bodies of one link that are no further apart are one body [m]: its maker left a slit between them."""
OVERLAP = 5e-5
"""How far they are then set into each other [m]."""


class SoundShape(NamedTuple):
    """A closed surface, and what had to be done to the shape for it beyond safe repairs."""

    mesh: Mesh
    notes: tuple[str, ...] = ()


def closed_bodies(mesh: Mesh) -> list[Mesh]:
    """The shape itself where it is the skin of one body, else the bodies that it consists of."""
    if not isinstance(_repaired(_Content(mesh)), Mesh) and len(bodies := separate_pieces(mesh)) > 1:
        return bodies
    return [mesh]


def closed_shape(mesh: Mesh) -> SoundShape:
    """The shape repaired, or its convex hull; InputError where it has no volume at all."""
    found = _repaired(_Content(mesh))
    if isinstance(found, Mesh):
        return SoundShape(found)
    hull = _hull(mesh)
    if hull is None:
        raise found
    apart = 1e3 * _farthest(mesh, hull)
    reason = found.problems[0].what
    note = f"a collision shape is replaced by its convex hull, which stands out by up to {apart:.1f} mm: {reason}"
    return SoundShape(hull, (note,))


def united_shapes(meshes: list[Mesh]) -> SoundShape:
    """The union of shapes, each closed by itself first; it may be several bodies."""
    return _united(tuple(map(_Content, meshes)))


class _Content:
    """A mesh that equals another one of the same numbers: fingers are alike, and each of them reads its own."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh

    def __hash__(self) -> int:
        return hash(self.mesh.content_hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self.mesh.content_hash == other.mesh.content_hash


@lru_cache(maxsize=256)
def _repaired(content: _Content) -> Mesh | InputError:
    try:
        return repair_mesh(content.mesh).mesh
    except InputError as bad:
        return bad.with_traceback(None)


@lru_cache(maxsize=64)
def _united(contents: tuple[_Content, ...]) -> SoundShape:
    from manifold3d import Manifold, OpType

    parts: list[SoundShape] = []
    refused: list[InputError] = []
    for content in contents:
        try:
            parts.append(closed_shape(content.mesh))
        except InputError as bad:  # a sheet beside bodies
            refused.append(bad)
    if not parts:
        raise refused[0]
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    if refused:
        notes[f"{len(refused)} shapes without volume are left out"] = None
    together, moved = _joined(Manifold.batch_boolean([_manifold(part.mesh) for part in parts], OpType.Add))
    if moved > 2.0 * OVERLAP:
        notes[f"bodies with slits between them are moved together, by up to {1e3 * moved:.2g} mm"] = None
    mesh = _mesh(together, contents[0].mesh.name)
    return SoundShape(mesh, (f"the union of {len(parts)} collision shapes is taken", *notes))


def _joined(bodies: Any) -> tuple[Any, float]:
    """Bodies with those that lie next to the others moved until they meet, and by how far at most [m]."""
    whole, *others = sorted(bodies.decompose(), key=lambda body: -body.volume())
    farthest = 0.0
    while others:
        gaps = [float(whole.min_gap(body, 2.0 * NEXT)) for body in others]
        gap = min(gaps)
        body = others.pop(gaps.index(gap))
        if gap > NEXT or (moved := _moved(body, whole, gap + OVERLAP)) is None:
            return sum(others, whole + body), farthest
        whole += moved
        farthest = max(farthest, gap + OVERLAP)
    return whole, farthest


def _moved(body: Any, whole: Any, distance: float) -> Any:
    """The body, moved along an axis or towards the middle of the others so that it overlaps them; None if none does."""
    inward = _mesh(whole, "").bounds.mean(axis=0) - _mesh(body, "").bounds.mean(axis=0)
    inward /= max(float(np.linalg.norm(inward)), 1e-12)
    axes = sorted([*np.eye(3), *(-np.eye(3))], key=lambda axis: -float(axis @ inward))
    for direction in (*axes, inward, 2.0 * inward):
        moved = body.translate(distance * direction)
        if whole.min_gap(moved, NEXT) <= 0.0 and len((whole + moved).decompose()) <= len(whole.decompose()):
            return moved
    return None


def _manifold(mesh: Mesh) -> Any:
    import manifold3d

    # copies: the library takes no read-only arrays
    return manifold3d.Manifold(manifold3d.Mesh64(np.array(mesh.vertices), np.array(mesh.faces, dtype=np.uint64)))


def _mesh(manifold: Any, name: str) -> Mesh:
    found = manifold.to_mesh64()
    return Mesh(np.asarray(found.vert_properties)[:, :3], np.asarray(found.tri_verts).astype(np.int64), name)


def _hull(mesh: Mesh) -> Mesh | None:
    """The convex hull in facets of moderate size; None of what has no volume or no numbers."""
    from manifold3d import Manifold

    used = mesh.vertices[np.unique(mesh.faces)] if len(mesh.faces) else mesh.vertices[:0]
    if len(used) < 4 or not np.isfinite(used).all():
        return None
    hull = Manifold.hull_points(np.array(used))
    size = float(np.ptp(used, axis=0).max())
    if hull.is_empty() or hull.volume() < 1e-6 * size**3:
        return None
    fine = _mesh(hull.refine_to_length(HULL_EDGE * size), mesh.name)
    try:
        return repair_mesh(fine).mesh
    except InputError:
        return None


def _farthest(mesh: Mesh, hull: Mesh) -> float:
    """How far the hull's facets stand out over the surface they replace [m]."""
    from scipy.spatial import cKDTree

    points = np.vstack([mesh.vertices[np.unique(mesh.faces)], mesh.face_centres])
    distance, _ = cKDTree(points).query(hull.face_centres)
    return float(np.max(distance))
