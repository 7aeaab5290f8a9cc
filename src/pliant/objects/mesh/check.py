"""Is a surface the skin of one body? If nearly, mend it and say so; if not, refuse with the reason and the place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.errors import MeshError, Problem
from pliant.objects.mass import mesh_volume
from pliant.objects.mesh import repair as mending
from pliant.objects.mesh.components import arrange_shells
from pliant.objects.mesh.intersection import Meeting, self_meetings
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.repair import at
from pliant.objects.mesh.topology import Edges, edges_of, holes_of, pinched_vertices, winding_of

MAX_FACES = 2_000_000
LARGEST = 3.0  # [m] beyond this a thing that a hand should hold is in other units
SMALLEST = 5e-4  # [m]
IN_A_TASK = "in a task file with 'scale: 0.001'"
THIN = 1e-5  # volume below this fraction of area times diagonal is none: a sheet, not a body
# A vertex that no face uses may lie anywhere; left in, it would set the size that all tolerances are relative to.
_TIDYING = (mending.drop_unused, mending.merge_vertices, mending.drop_worthless_faces, mending.drop_unused)


@dataclass(frozen=True)
class MeshReport:
    """What a sound mesh is like, and what was done to make it so.

    Args:
        name: file or shape.
        mended: what was repaired, in words with counts and places; empty for a mesh that was sound.
        notes: legal but worth a look.
        vertices, faces: counts.
        volume: enclosed [m^3].
        area: [m^2].
        extents: size of the bounding box [m].
        bodies: separate bodies, always 1.
        cavities: closed hollows inside.
        euler: vertices - edges + faces.
        genus: handles and tunnels, summed over outer skin and cavities: 0 for a ball, 1 for a torus.
    """

    name: str
    mended: tuple[str, ...]
    notes: tuple[str, ...]
    vertices: int
    faces: int
    volume: float
    area: float
    extents: tuple[float, float, float]
    bodies: int
    cavities: int
    euler: int
    genus: int


@dataclass(frozen=True, eq=False)
class MendedMesh:
    """A sound mesh with the report on it."""

    mesh: Mesh
    report: MeshReport


def check_mesh(mesh: Mesh) -> MeshReport:
    """Report on a mesh that is sound as it is; raises ``MeshError`` with every reason and place if it is not."""
    return mend_mesh(mesh, repair=False).report


def mend_mesh(mesh: Mesh, *, repair: bool = True, source: str = "") -> MendedMesh:
    """The mesh, mended where that is safe, or ``MeshError``.   (theory 4)

    Safe is: merging vertices on one spot, dropping unused vertices and degenerate or repeated faces, making the winding
    agree, turning an inside-out mesh, filling small holes, smoothing the few tiny folds that scans have.

    Args:
        mesh: any triangles.
        repair: mend; without it the mesh must be sound as it is.
        source: what messages call the mesh, where that is not its name.
    """
    name = source or mesh.name or "mesh"
    _refuse(name, _broken_numbers(mesh))
    _refuse(name, _wrong_size(mesh))
    said: list[str] = []
    if repair:
        try:
            for step in _TIDYING:
                mesh, words = step(mesh)
                said += words
        except MeshError as bad:  # a step knows the mesh, not the file that it came from
            raise MeshError(name, bad.problems) from None
        if not len(mesh.faces):
            raise MeshError(name, "every face is degenerate: nothing is left of the surface; export the mesh again")
    else:
        _refuse(name, _untidy(mesh))
    _refuse(name, _branches(mesh, edges_of(mesh.faces)))
    if repair:
        for step in (mending.unify_winding, mending.fill_small_holes, mending.flip_flat_faces):
            mesh, words = step(mesh)
            said += words
    edges = edges_of(mesh.faces)
    _refuse(name, [*_branches(mesh, edges), *_openings(mesh, edges), *_disagreements(mesh, edges)])

    shells = arrange_shells(mesh)
    if shells.inside_out:
        if not repair:
            raise MeshError(
                name, f"is inside out: its volume is {1e6 * mesh_volume(mesh):.4g} cm3; turn its faces (Mesh.flipped)"
            )
        mesh = mesh.flipped()
        edges = edges_of(mesh.faces)
        said.append(f"turned all {len(mesh.faces)} faces: the mesh was inside out")
    meetings = self_meetings(mesh, edges)
    if repair and meetings:
        mesh, meetings, words = mending.relax_crossings(mesh, meetings)
        said += words
    problems = [*shells.problems, *_self_contacts(mesh, meetings)]
    volume = mesh_volume(mesh)
    if not problems and volume < THIN * mesh.area * mesh.diagonal:
        problems.append(
            Problem(
                "volume",
                f"encloses {1e6 * volume:.3g} cm3 within {1e4 * mesh.area:.3g} cm2 of surface: a sheet, not a body",
                "give it thickness",
            )
        )
    _refuse(name, problems)
    euler = len(mesh.vertices) - len(edges.ends) + len(mesh.faces)
    genus = (2 * (1 + shells.cavities) - euler) // 2
    extents = tuple(float(x) for x in mesh.extents)
    report = MeshReport(
        mesh.name,
        tuple(said),
        tuple(_notes(mesh, genus, shells.cavities)),
        len(mesh.vertices),
        len(mesh.faces),
        volume,
        mesh.area,
        (extents[0], extents[1], extents[2]),
        1,
        shells.cavities,
        euler,
        genus,
    )
    return MendedMesh(mesh, report)


def check_size(mesh: Mesh, *, smallest: float = SMALLEST, largest: float = LARGEST, remedy: str = IN_A_TASK) -> Mesh:
    """The mesh itself, if its numbers are finite and its size can be meant in metres; else ``MeshError``.

    Args:
        mesh: any triangles.
        smallest, largest: extent that can be meant [m].
        remedy: where and how a mesh in millimetres is scaled.
    """
    _refuse(mesh.name or "mesh", _broken_numbers(mesh) or _wrong_size(mesh, smallest, largest, remedy))
    return mesh


def _refuse(name: str, problems: list[Problem]) -> None:
    if problems:
        raise MeshError(name, problems)


def _broken_numbers(mesh: Mesh) -> list[Problem]:
    if not len(mesh.faces) or not len(mesh.vertices):
        return [Problem("", f"is empty: {len(mesh.vertices)} vertices and no faces", "export it with its triangles")]
    if len(mesh.faces) > MAX_FACES:
        return [Problem("", f"has {len(mesh.faces)} faces", f"at most {MAX_FACES}: decimate it first")]
    bad = np.flatnonzero(~np.isfinite(mesh.vertices).all(axis=1))
    if len(bad):
        what = f"{len(bad)} of {len(mesh.vertices)} vertices have a coordinate that is not a finite number"
        first = ", ".join(str(x) for x in mesh.vertices[bad[0]])
        return [Problem(f"vertex {bad[0]}", f"({first}); {what}", "export the mesh again, or remove these vertices")]
    return []


def _wrong_size(
    mesh: Mesh, smallest: float = SMALLEST, largest: float = LARGEST, remedy: str = IN_A_TASK
) -> list[Problem]:
    used = mesh.corners.reshape(-1, 3)
    size = float(np.ptp(used, axis=0).max())
    if size > largest:
        return [
            Problem(
                "size",
                f"{size:.4g} m across",
                f"at most {largest:g} m: its coordinates are almost surely millimetres; scale by 0.001, {remedy} "
                f"({1e-3 * size:.3g} m then)",
            )
        ]
    if 0 < size < smallest:
        return [
            Problem(
                "size",
                f"{size:.3g} m across",
                f"at least {smallest:g} m: its coordinates are almost surely in a larger unit; scale by 1000 "
                f"({1e3 * size:.3g} m then)",
            )
        ]
    return []


def _untidy(mesh: Mesh) -> list[Problem]:
    """What ``repair`` would have tidied up."""
    problems = []
    for step in _TIDYING:
        mesh, words = step(mesh)
        problems += [Problem("", f"repair would have {word}", "allow repair, or clean the mesh") for word in words]
        if not len(mesh.faces):
            break
    return problems


def _branches(mesh: Mesh, edges: Edges) -> list[Problem]:
    """Edges with more than two faces, and points where two fans of faces meet (but not two holes: those are holes)."""
    problems = []
    on_rim = np.zeros(len(mesh.vertices), dtype=bool)
    on_rim[edges.ends[edges.count == 1].reshape(-1)] = True
    bad = np.flatnonzero(edges.count > 2)
    if len(bad):
        place = mesh.vertices[edges.ends[bad[0]]].mean(axis=0)
        problems.append(
            Problem(
                f"edge {edges.ends[bad[0], 0]}-{edges.ends[bad[0], 1]} at {at(place)}",
                f"is shared by {edges.count[bad[0]]} faces; {len(bad)} such edges: the surface touches itself",
                "every edge may have two faces; part the touching places, or join them into one body",
            )
        )
    elif len(pinched := [v for v in pinched_vertices(mesh.faces, edges).tolist() if not on_rim[v]]):
        problems.append(
            Problem(
                f"vertex {pinched[0]} at {at(mesh.vertices[pinched[0]])}",
                f"joins parts of the surface in a single point; {len(pinched)} such vertices: it touches itself",
                "part the touching places, or join them into one body",
            )
        )
    return problems


def _openings(mesh: Mesh, edges: Edges) -> list[Problem]:
    holes = holes_of(mesh.faces, edges)
    if not holes:
        return []
    lengths = [mending.perimeter(mesh, hole) for hole in holes]
    order = np.argsort(lengths)[::-1][:4]
    shown = [
        f"at {at(mesh.vertices[holes[k].vertices].mean(axis=0))} "
        f"({holes[k].edges} edges, {1e3 * lengths[k]:.3g} mm around)"
        for k in order
    ]
    more = f", and {len(holes) - len(shown)} more" if len(holes) > len(shown) else ""
    plural = "hole" if len(holes) == 1 else "holes"
    limit = 1e3 * mending.SMALL_HOLE * mesh.diagonal
    return [
        Problem(
            "",
            f"is open: {len(holes)} {plural}, {', '.join(shown)}{more}",
            f"close them in the program that made the mesh; only holes below {limit:.3g} mm around are filled here",
        )
    ]


def _disagreements(mesh: Mesh, edges: Edges) -> list[Problem]:
    winding = winding_of(mesh.faces, edges)
    if not winding.orientable:
        return [Problem("", "has only one side, like a Moebius band: it has no inside", "make it a closed surface")]
    if winding.flip.any():
        first = int(np.flatnonzero(winding.flip)[0])
        return [
            Problem(
                f"face {first} at {at(mesh.face_centres[first])}",
                f"is wound against its neighbours; {winding.flip.sum()} such faces",
                "allow repair, or turn them",
            )
        ]
    return []


def _self_contacts(mesh: Mesh, meetings: list[Meeting]) -> list[Problem]:
    if not meetings:
        return []
    crossing = [meeting for meeting in meetings if meeting.crossing]
    worst = (crossing or meetings)[0]
    verb = "passes through itself" if crossing else "touches itself"
    number = len({meeting.faces for meeting in meetings})
    return [
        Problem(
            f"faces {worst.faces[0]} and {worst.faces[1]} at {at(worst.place)}",
            f"the surface {verb} there; {number} pairs of faces meet",
            "join the overlapping parts into one body (a boolean union), or part them",
        )
    ]


def _notes(mesh: Mesh, genus: int, cavities: int) -> list[str]:
    notes = []
    if mesh.extents.max() < 0.005:
        notes.append(f"is only {1e3 * mesh.extents.max():.3g} mm across: check the units")
    if cavities:
        notes.append(f"is hollow: {cavities} closed {'cavity' if cavities == 1 else 'cavities'} inside")
    if genus > 1:
        notes.append(f"has {genus} handles or tunnels")
    return notes
