"""Surfaces of links as meshes: what is seen, what collides, and which part of it is pad. (theory 3)"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from pliant.arrays import Bools
from pliant.errors import DescriptionError, InputError, Problem, RobotError
from pliant.objects import Mesh, check_size, join_identical, make_shape, read_mesh, separate_pieces
from pliant.robot.description import Pad
from pliant.robot.sound_shapes import SoundShape, closed_bodies, closed_shape, united_shapes
from pliant.robot.urdf import LARGEST_SHAPE, Link, LinkShape, Urdf

LEAST_FACING = np.cos(np.radians(75.0))
"""Cosine between a face of a pad and the direction in which the pad faces."""
NEARLY_ALL = 0.8
"""Share of a pad that one shape must have for the others not to count."""


@dataclass(frozen=True, eq=False)
class LinkSurface:
    """One shape of a link: its mesh in the link's frame, and its colour if it has one."""

    mesh: Mesh
    colour: tuple[float, float, float, float] | None


@dataclass(frozen=True, eq=False)
class PadMesh:
    """A pad: a closed surface of its link, and which faces of it are pad.

    Attributes:
        pad: what the description says of it.
        mesh: the collision shape of the link that has most of the pad, in the link's frame.
        faces: mask over ``mesh.faces``.
        notes: what was done to the link's collision shapes to get a closed surface.
    """

    pad: Pad
    mesh: Mesh
    faces: Bools
    notes: tuple[str, ...] = ()


def link_surfaces(link: Link, kind: Literal["visual", "collision"]) -> list[LinkSurface]:
    """The shapes of a link as meshes in the link's frame.

    Visual: what pictures show, which is the collision shapes where there are no visual ones that can be read.
    """
    usable = kind == "visual" and link.visuals and not unreadable_visuals(link)
    shapes = link.visuals if usable else link.collisions
    return [LinkSurface(_shape_mesh(shape).transformed(shape.T_link_shape), shape.colour) for shape in shapes]


def check_lengths(link: Link, *, largest: float = LARGEST_SHAPE) -> None:
    """``MeshError`` where a shape of a link is larger than this [m], with the units in which it would not be."""
    for surface in (*link_surfaces(link, "visual"), *link_surfaces(link, "collision")):
        check_size(surface.mesh, smallest=0.0, largest=largest, remedy='in the URDF with scale="{0:g} {0:g} {0:g}"')


def unreadable_visuals(link: Link) -> list[Problem]:
    """Why visual shapes of a link cannot be read; empty where they can be."""
    problems: list[Problem] = []
    for shape in link.visuals:
        try:
            _shape_mesh(shape)
        except RobotError as bad:
            problems += [Problem(f"link '{link.name}', visual", f"{bad.source}: {p.what}") for p in bad.problems]
    return problems


def link_mesh(link: Link, kind: Literal["visual", "collision"] = "collision") -> Mesh | None:
    """All shapes of a link in one mesh (closed shapes side by side); None if it has none."""
    meshes = [surface.mesh for surface in link_surfaces(link, kind)]
    if not meshes:
        return None
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=False)]
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(faces), link.name)


def pad_mesh(urdf: Urdf, pad: Pad) -> PadMesh:
    """A surface of the pad's link and the faces that are pad: inside its region, within 75 degrees of
    its direction.

    Of several collision shapes the one that has nearly all of the pad, else their union; of a shape that is several
    bodies, likewise. What can be neither repaired nor united is replaced by its convex hull.
    """
    where = f"pad on '{pad.link}'"
    surfaces = link_surfaces(urdf.link(pad.link), "collision")
    if not surfaces:
        raise DescriptionError(
            urdf.source, Problem(where, "the link has no collision shape", "give it one in the URDF")
        )
    shapes = _needed_for_pad([surface.mesh for surface in surfaces], pad)
    if not any(_pad_area(mesh, pad) > 0.0 for mesh in shapes):
        allowed = "check region (in the link's frame, m) and facing"
        raise DescriptionError(urdf.source, Problem(where, "no face of the link's surface is pad", allowed))
    try:
        bodies = _needed_for_pad([body for shape in shapes for body in closed_bodies(shape)], pad)
        found = closed_shape(bodies[0]) if len(bodies) == 1 else united_shapes(bodies)
        if len(bodies) > 1:
            pieces = [piece for piece in separate_pieces(found.mesh) if _pad_area(piece, pad) > 0.0]
            lost = f"{len(pieces) - 1} of {len(pieces)} bodies that lie apart are no pad"
            notes = (*found.notes, lost) if len(pieces) > 1 else found.notes
            found = SoundShape(closed_shape(_with_most_pad(pieces, pad)).mesh, notes)
    except InputError as bad:
        problems = [Problem(f"{where}: {p.where}" if p.where else where, p.what, p.allowed) for p in bad.problems]
        raise DescriptionError(bad.source, problems) from None
    return PadMesh(pad, found.mesh, _pad_faces(found.mesh, pad), found.notes)


def _needed_for_pad(meshes: list[Mesh], pad: Pad) -> list[Mesh]:
    """The one that has nearly all of the pad, or all of them."""
    areas = [_pad_area(mesh, pad) for mesh in meshes]
    return [meshes[int(np.argmax(areas))]] if max(areas) >= NEARLY_ALL * sum(areas) else meshes


def _pad_area(mesh: Mesh, pad: Pad) -> float:
    return float(mesh.face_areas[_pad_faces(mesh, pad)].sum())


def _with_most_pad(meshes: list[Mesh], pad: Pad) -> Mesh:
    return max(meshes, key=lambda mesh: _pad_area(mesh, pad))


def _pad_faces(mesh: Mesh, pad: Pad) -> Bools:
    faces = mesh.face_normals @ np.array(pad.facing) > LEAST_FACING
    if pad.region is not None:
        low, high = np.minimum(*pad.region), np.maximum(*pad.region)
        faces &= np.all((mesh.face_centres >= low) & (mesh.face_centres <= high), axis=1)
    return np.asarray(faces)


def _shape_mesh(shape: LinkShape) -> Mesh:
    if shape.kind == "mesh":
        assert shape.path is not None
        mesh = _read(shape.path)
        scale = np.array(shape.size)
        if np.allclose(scale, 1.0):
            return mesh
        scaled = Mesh(mesh.vertices * scale, mesh.faces, mesh.name)
        return scaled.flipped() if np.prod(scale) < 0 else scaled
    if shape.kind == "box":
        return make_shape("box", size=shape.size, edge=max(0.1 * max(shape.size), 0.003))
    if shape.kind == "cylinder":
        radius, length = shape.size
        return make_shape("cylinder", radius=radius, height=length, edge=max(0.25 * radius, 0.003))
    return make_shape("sphere", radius=shape.size[0], edge=max(0.2 * shape.size[0], 0.002))


@lru_cache(maxsize=256)
def _read(path: Path) -> Mesh:
    """A link's mesh with doubled vertices joined. It may be open: only pads must be sound."""
    try:
        mesh = read_mesh(path)
    except InputError as bad:
        raise RobotError(bad.source, bad.problems) from None
    return join_identical(mesh)
