"""Is a surface the skin of one body? If nearly, repair it and report; if not, refuse with the reason and the place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.errors import MeshError, Problem
from pliant.objects.mass import mesh_volume
from pliant.objects.mesh.holes import HOLE_EDGES, SMALL_HOLE, fill_small_holes, perimeter
from pliant.objects.mesh.intersection import SelfIntersection, self_intersections
from pliant.objects.mesh.mesh import Mesh, position_text
from pliant.objects.mesh.repair import (
    Repair,
    drop_degenerate_faces,
    drop_inner_faces,
    drop_specks,
    drop_unused,
    flip_flat_faces,
    merge_vertices,
    relax_crossings,
    unify_winding,
)
from pliant.objects.mesh.topology import Edges, arrange_shells, disagreeing_faces, edges_of, holes_of, pinched_vertices
from pliant.objects.mesh.units import IN_A_TASK, LARGEST, SMALLEST, extents_of, size_notes, wrong_size

MAX_FACES = 2_000_000
THIN = 1e-5  # volume below this fraction of area times diagonal is none: a sheet, not a body


@dataclass(frozen=True)
class MeshReport:
    """What a sound mesh is like, and what was done to make it so.

    Args:
        repaired: what was repaired, in words with counts and places; empty for a mesh that was sound.
        notes: legal but worth a look.
        volume: enclosed [m^3].
        cavities: closed hollows inside.
        euler: vertices - edges + faces.
        genus: handles and tunnels, summed over outer skin and cavities: 0 for a ball, 1 for a torus.
    """

    repaired: tuple[str, ...]
    notes: tuple[str, ...]
    volume: float
    cavities: int
    euler: int
    genus: int


@dataclass(frozen=True, eq=False)
class RepairedMesh:
    """A sound mesh with the report on it."""

    mesh: Mesh
    report: MeshReport


def repair_mesh(mesh: Mesh, *, source: str = "") -> RepairedMesh:
    """The mesh, repaired where that is safe, or ``MeshError`` with every reason and place.   (theory 4)

    Safe is: merging vertices on one spot, dropping unused vertices, degenerate or repeated faces, specks of debris and
    faces inside where parts meet along edges, making the winding agree, turning an inside-out mesh, filling small
    holes, smoothing the few tiny folds that scans have. What changes more than that is done on demand: ``mend_mesh``.

    Args:
        mesh: any triangles.
        source: what messages call the mesh, where that is not its name.
    """
    name = source or mesh.name or "mesh"
    mesh, actions = clean(mesh, source=name)
    _refuse(name, _branches(mesh, edges_of(mesh.faces)))
    for step in (unify_winding, fill_small_holes, flip_flat_faces):
        mesh, done = step(mesh)
        actions += done
    edges = edges_of(mesh.faces)
    _refuse(name, _branches(mesh, edges), _openings(mesh, edges), _one_sided(mesh, edges))

    shells = arrange_shells(mesh)
    if shells.inside_out:
        mesh = mesh.flipped()
        edges = edges_of(mesh.faces)
        actions.append(f"turned all {len(mesh.faces)} faces: the mesh was inside out")
    try:
        intersections = self_intersections(mesh, edges)
    except MeshError as bad:
        raise MeshError(name, (*shells.problems, *bad.problems)) from None
    if intersections:
        mesh, done = relax_crossings(mesh, intersections)
        actions += done
        intersections = [] if done else intersections
    _refuse(name, *shells.problems, _crossings(intersections))
    volume = mesh_volume(mesh)
    if volume < THIN * mesh.area * mesh.diagonal:
        what = f"encloses {1e6 * volume:.3g} cm3 within {1e4 * mesh.area:.3g} cm2 of surface: a sheet, not a body"
        raise MeshError(name, Problem("volume", what, "give it thickness"))
    euler = len(mesh.vertices) - len(edges.ends) + len(mesh.faces)
    genus = (2 * (1 + shells.cavities) - euler) // 2
    notes = tuple(_notes(mesh, genus, shells.cavities))
    return RepairedMesh(mesh, MeshReport(tuple(actions), notes, volume, shells.cavities, euler, genus))


def clean(mesh: Mesh, *, source: str = "") -> Repair:
    """The mesh without what is no surface at all: doubled vertices, faces without area or repeated, specks of debris.

    ``MeshError`` where its numbers or its size make no sense, or nothing is left.

    Args:
        source: what messages call the mesh, where that is not its name.
    """
    name = source or mesh.name or "mesh"
    _refuse(name, _broken_numbers(mesh))
    _refuse(name, wrong_size(extents_of(mesh), SMALLEST, LARGEST, IN_A_TASK))
    actions: list[str] = []
    try:
        # A vertex that no face uses may lie anywhere; left in, it would set the size that tolerances are relative to.
        for step in (drop_unused, merge_vertices, drop_degenerate_faces, drop_specks, drop_inner_faces, drop_unused):
            mesh, done = step(mesh)
            actions += done
    except MeshError as bad:  # a step knows the mesh, not the file that it came from
        raise MeshError(name, bad.problems) from None
    if not len(mesh.faces) or not mesh.area > 0.0:
        raise MeshError(name, "every face is degenerate: nothing is left of the surface; export the mesh again")
    return Repair(mesh, actions)


def check_points(mesh: Mesh, *, source: str = "") -> None:
    """``MeshError`` where points without faces have numbers that are not finite, or a size that cannot be meant."""
    name = source or mesh.name or "cloud"
    _refuse(name, _not_finite(mesh))
    _refuse(name, wrong_size(extents_of(mesh), SMALLEST, LARGEST, IN_A_TASK))


def check_size(mesh: Mesh, *, smallest: float = SMALLEST, largest: float = LARGEST, remedy: str = IN_A_TASK) -> Mesh:
    """The mesh itself, if its numbers are finite and its size can be meant in metres; else ``MeshError``.

    Args:
        mesh: any triangles.
        smallest, largest: extent that can be meant [m].
        remedy: where and how a mesh is scaled, with {0:g} for the factor.
    """
    broken = _broken_numbers(mesh)
    _refuse(mesh.name or "mesh", broken or wrong_size(extents_of(mesh), smallest, largest, remedy))
    return mesh


def _refuse(name: str, *problems: Problem | None) -> None:
    found = [problem for problem in problems if problem is not None]
    if found:
        raise MeshError(name, found)


def _broken_numbers(mesh: Mesh) -> Problem | None:
    if not len(mesh.faces) or not len(mesh.vertices):
        return Problem("", f"is empty: {len(mesh.vertices)} vertices and no faces", "export it with its triangles")
    if len(mesh.faces) > MAX_FACES:
        return Problem("", f"has {len(mesh.faces)} faces", f"at most {MAX_FACES}: decimate it first")
    return _not_finite(mesh)


def _not_finite(mesh: Mesh) -> Problem | None:
    bad = np.flatnonzero(~np.isfinite(mesh.vertices).all(axis=1))
    if not len(bad):
        return None
    what = f"{len(bad)} of {len(mesh.vertices)} vertices have a coordinate that is not a finite number"
    first = ", ".join(str(x) for x in mesh.vertices[bad[0]])
    return Problem(f"vertex {bad[0]}", f"({first}); {what}", "export the mesh again, or remove these vertices")


def _branches(mesh: Mesh, edges: Edges) -> Problem | None:
    """Edges with more than two faces, and points where two fans of faces meet (but not two holes: those are holes)."""
    bad = np.flatnonzero(edges.count > 2)
    if len(bad):
        ends = edges.ends[bad[0]]
        return Problem(
            f"edge {ends[0]}-{ends[1]} at {position_text(mesh.vertices[ends].mean(axis=0))}",
            f"is shared by {edges.count[bad[0]]} faces; {len(bad)} such edges: the surface touches itself",
            "every edge may have two faces; part the touching places, or join them into one body",
        )
    pinched = np.setdiff1d(pinched_vertices(mesh.faces, edges), edges.ends[edges.count == 1])
    if len(pinched):
        return Problem(
            f"vertex {pinched[0]} at {position_text(mesh.vertices[pinched[0]])}",
            f"joins parts of the surface in a single point; {len(pinched)} such vertices: it touches itself",
            "part the touching places, or join them into one body",
        )
    return None


def _openings(mesh: Mesh, edges: Edges) -> Problem | None:
    holes = holes_of(mesh.faces, edges)
    if not holes:
        return None
    lengths = [perimeter(mesh, hole) for hole in holes]
    shown = [
        f"at {position_text(mesh.vertices[holes[k].vertices].mean(axis=0))} "
        f"({holes[k].edges} edges, {1e3 * lengths[k]:.3g} mm around)"
        for k in np.argsort(lengths)[::-1][:4]
    ]
    more = f", and {len(holes) - len(shown)} more" if len(holes) > len(shown) else ""
    plural = "hole" if len(holes) == 1 else "holes"
    limit = 1e3 * SMALL_HOLE * mesh.diagonal
    return Problem(
        "",
        f"is open: {len(holes)} {plural}, {', '.join(shown)}{more}",
        f"only holes below {limit:.3g} mm around and of at most {HOLE_EDGES} edges are filled without asking",
    )


def _one_sided(mesh: Mesh, edges: Edges) -> Problem | None:
    if disagreeing_faces(mesh.faces, edges) is not None:
        return None
    return Problem("", "has only one side, like a Moebius band: it has no inside", "make it a closed surface")


def _crossings(intersections: list[SelfIntersection]) -> Problem | None:
    if not intersections:
        return None
    worst = intersections[0]  # crossings come first
    verb = "passes through itself" if worst.crossing else "touches itself"
    number = len({intersection.faces for intersection in intersections})
    return Problem(
        f"faces {worst.faces[0]} and {worst.faces[1]} at {position_text(worst.place)}",
        f"the surface {verb} there; {number} pairs of faces meet",
        "join the overlapping parts into one body (a boolean union), or part them",
    )


def _notes(mesh: Mesh, genus: int, cavities: int) -> list[str]:
    notes = size_notes(extents_of(mesh))
    if cavities:
        notes.append(f"is hollow: {cavities} closed {'cavity' if cavities == 1 else 'cavities'} inside")
    if genus > 1:
        notes.append(f"has {genus} handles or tunnels")
    return notes
