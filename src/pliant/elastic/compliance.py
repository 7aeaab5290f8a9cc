"""How a body's surface gives: computed once per shape and Poisson's ratio, kept on disk.   (theory 6.2, C)"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats, Ints
from pliant.elastic.cache import load_arrays, store_arrays
from pliant.errors import MaterialError
from pliant.objects import Mesh, SmoothSurface, smooth_surface
from pliant.threads import one_thread

Report = Callable[[str, float], None]
"""Called with what is being done and the fraction done."""

_FORMAT = 8
_VERTICES = 520
"""Surface corners aimed at: an edge of about a sixth of a ball's radius, ten seconds of preparation."""
_MOST_VERTICES = 1200
_THIN = 0.3
"""Edge length wanted, in parts of the wall, so that footprints stay small against it."""
_POISSON_FEM = 0.49
"""Above this quadratic tetrahedra stiffen; compliance is computed here instead and the difference stays below 2 %."""


@dataclass(frozen=True, eq=False)
class Wall:
    """What a thin-walled vessel's compliance has beside that of a solid.   (theory 6.2, vessels)

    Args:
        thickness: of the wall [m].
        curvature: n x 3 x 3 curvature of the surface at each corner, positive where it is convex [1/m].
        swelling: 3n volume gained for forces on corners, contents included, times E [m]: C g.
        give: volume gained per pressure inside, without contents, times E [m^3]: g . C g.
    """

    thickness: float
    curvature: Floats
    swelling: Floats
    give: float


class ElementSurface(NamedTuple):
    """The surface of the elements as compiled code takes it."""

    points: Floats
    faces: Ints
    patches: Floats
    centres: Floats  # of the patches, with ``reach`` the balls around them
    reach: Floats


@dataclass(frozen=True, eq=False)
class Compliance:
    """Surface compliance of a free body, for Young's modulus 1.

    Args:
        poisson: Poisson's ratio it was computed for.
        points: n x 3 corners of the finite-element surface, one per side on a crease, in the mesh's frame [m].
        faces: m x 3 corner numbers.
        patches: m x 6 x 3 six-node curved triangles: corners, then edge middles [m].
        matrix: 3n x 3n displacement of corners for forces on corners, times E [1/m], single precision.
        inverse_mass: n x n hat-function traction coefficients for corner forces [1/m^2], single precision.
        thickness: n material behind each corner [m].
        edge: mean edge length [m].
        notes: what is rough about it, for the reader.
        wall: present if it is a thin-walled vessel; thickness is then that of the wall everywhere.
    """

    poisson: float
    points: Floats
    faces: Ints
    patches: Floats
    matrix: NDArray[np.float32]
    inverse_mass: NDArray[np.float32]
    thickness: Floats
    edge: float
    notes: tuple[str, ...] = ()
    wall: Wall | None = None

    @cached_property
    def elements(self) -> ElementSurface:
        """The surface as compiled code takes it."""
        centres = self.patches.mean(axis=1)
        reach = np.linalg.norm(self.patches - centres[:, None], axis=2).max(axis=1)
        return ElementSurface(self.points, self.faces, self.patches, centres, reach)

    def displacement(self, corners: Ints, forces: Floats, young: float) -> Floats:
        """Displacement of every corner (n x 3) [m] under forces (k x 3) [N] on the given corners; rigid motion
        left out."""
        rows = (3 * corners[:, None] + np.arange(3)).ravel()
        return (forces.astype(np.float32).ravel() @ self.matrix[rows]).astype(np.float64).reshape(-1, 3) / young


def prepare_compliance(
    mesh: Mesh,
    poisson: float,
    *,
    smooth: SmoothSurface | None = None,
    edge: float | None = None,
    cache: bool = True,
    progress: Report | None = None,
) -> Compliance:
    """The compliance of a solid body, from the cache or computed (about ten seconds).

    Args:
        mesh: closed surface [m].
        poisson: Poisson's ratio, 0 < nu < 0.5.
        smooth: the mesh's smooth surface if there is one already.
        edge: edge length of the tetrahedra [m]; chosen from area and wall thickness if left out.
        cache: read from and write to the user's cache folder (``cache_folder``).
        progress: called with what is being done and the fraction done.

    Raises:
        MaterialError: Poisson's ratio outside (0, 0.5).
        MeshError: the surface cannot be filled with tetrahedra.
    """
    check_poisson("poisson", poisson)
    facts = f"{mesh.content_hash} {poisson!r} {edge!r} {_FORMAT} {_VERTICES} {_MOST_VERTICES} {_THIN}"
    return load_or_compute(
        "compliance",
        facts,
        lambda report: _compute(mesh, poisson, smooth or smooth_surface(mesh), edge, report),
        progress,
        cache=cache,
    )


def check_poisson(source: str, poisson: float) -> None:
    """Raise a MaterialError unless 0 < nu < 0.5."""
    if not 0.0 < poisson < 0.5:
        raise MaterialError(source, f"Poisson's ratio {poisson:g} must lie between 0 and 0.5, both excluded")


def load_or_compute(
    kind: str, facts: str, compute: Callable[[Report], Compliance], progress: Report | None, *, cache: bool
) -> Compliance:
    """A compliance from the user's cache folder, or computed and put there.

    Args:
        kind: first part of the name it is kept under.
        facts: all that it depends on, as text; its hash is the rest of the name.
        compute: how to make it, reporting what is being done and the fraction done.
        progress: takes these reports.
        cache: read and write the cache at all.
    """
    report = progress or (lambda _what, _fraction: None)
    key = f"{kind}-{hashlib.sha256(facts.encode()).hexdigest()[:40]}"
    if cache and (found := _from_arrays(load_arrays(key))) is not None:
        report("compliance from cache", 1.0)
        return found
    made = _read_only_compliance(compute(report))
    if cache:
        store_arrays(key, _to_arrays(made))
    return made


_ARRAYS = ("points", "faces", "patches", "matrix", "inverse_mass", "thickness")
_WALL_ARRAYS = ("curvature", "swelling")


def _read_only_compliance(made: Compliance) -> Compliance:
    """With arrays as they come from the cache: row by row, not to be written. Compiled code is then compiled once."""
    wall = made.wall
    if wall is not None:
        wall = replace(wall, **{name: _read_only(getattr(wall, name)) for name in _WALL_ARRAYS})
    return replace(made, wall=wall, **{name: _read_only(getattr(made, name)) for name in _ARRAYS})


def _read_only(array: Any) -> Any:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _to_arrays(made: Compliance) -> dict[str, NDArray[np.generic]]:
    arrays: dict[str, NDArray[np.generic]] = {name: getattr(made, name) for name in _ARRAYS}
    arrays |= {
        "numbers": np.array([made.poisson, made.edge]),
        "notes": np.frombuffer("\n".join(made.notes).encode(), dtype=np.uint8),
    }
    if made.wall is not None:
        arrays |= {name: getattr(made.wall, name) for name in _WALL_ARRAYS}
        arrays["wall"] = np.array([made.wall.thickness, made.wall.give])
    return arrays


def _from_arrays(arrays: dict[str, NDArray[np.generic]] | None) -> Compliance | None:
    if arrays is None:
        return None
    try:
        _check_arrays(arrays)
        poisson, edge = (float(value) for value in arrays["numbers"])
        wall = None
        if "wall" in arrays:
            depth, give = (float(value) for value in arrays["wall"])
            wall = Wall(depth, **{name: arrays[name] for name in _WALL_ARRAYS}, give=give)  # type: ignore[arg-type]
        notes = tuple(arrays["notes"].tobytes().decode().splitlines())
        found = {name: arrays[name] for name in _ARRAYS}
        return Compliance(poisson=poisson, edge=edge, notes=notes, wall=wall, **found)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError):
        return None


def _check_arrays(arrays: dict[str, NDArray[Any]]) -> None:
    """ValueError where these are not the arrays of a compliance: compiled code reads them without looking."""
    n, m = len(arrays["points"]), len(arrays["faces"])
    expected = {
        "points": ("f8", (n, 3)), "faces": ("i8", (m, 3)), "patches": ("f8", (m, 6, 3)),
        "matrix": ("f4", (3 * n, 3 * n)), "inverse_mass": ("f4", (n, n)), "thickness": ("f8", (n,)),
        "numbers": ("f8", (2,)), "notes": ("u1", arrays["notes"].shape),
    }  # fmt: skip
    if "wall" in arrays:
        expected |= {"wall": ("f8", (2,)), "curvature": ("f8", (n, 3, 3)), "swelling": ("f8", (3 * n,))}
    for name, (kind, shape) in expected.items():
        array = arrays[name]
        if array.dtype != np.dtype(kind) or array.shape != shape or np.isnan(array).any():
            raise ValueError(f"{name} is no such array")
    if not n or not m or arrays["faces"].min() < 0 or arrays["faces"].max() >= n:
        raise ValueError("faces name points that are not there")


@one_thread
def _compute(mesh: Mesh, poisson: float, smooth: SmoothSurface, edge: float | None, report: Report) -> Compliance:
    from pliant.elastic.fem import surface_compliance
    from pliant.elastic.tetrahedra.quadratic import fill, thickness

    notes: list[str] = []
    report("filling with tetrahedra", 0.0)
    if edge is None:
        edge, note = _choose_edge(mesh, smooth)
        notes.extend(note)
    tets = fill(smooth, edge)
    if poisson > _POISSON_FEM:
        notes.append(f"Poisson's ratio {poisson:g}: body compliance computed at {_POISSON_FEM:g}")
    corners, faces, matrix, inverse_mass = surface_compliance(
        tets, min(poisson, _POISSON_FEM), progress=lambda fraction: report("elastic response", fraction)
    )
    points = tets.nodes[corners]
    normals = np.zeros_like(points)
    a, b, c = (points[faces[:, k]] for k in range(3))
    for k in range(3):
        np.add.at(normals, faces[:, k], np.cross(b - a, c - a))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    report("elastic response", 1.0)
    return Compliance(
        poisson,
        points,
        faces,
        tets.nodes[tets.boundary],
        matrix.astype(np.float32),
        inverse_mass.astype(np.float32),
        thickness(Mesh(points, faces), points, -normals),
        tets.edge,
        tuple(notes),
    )


def _choose_edge(mesh: Mesh, smooth: SmoothSurface) -> tuple[float, list[str]]:
    """Edge length from the area, finer where walls are thin, as far as memory and time allow."""
    from pliant.elastic.tetrahedra.quadratic import thickness

    area = mesh.face_areas
    per_vertex = np.sqrt(3.0) / 2.0

    def edge_for(count: int) -> float:
        return float(np.sqrt(area.sum() / (per_vertex * count)))

    rng = np.random.default_rng(0)
    picked = rng.choice(len(area), size=min(len(area), 300), p=area / area.sum())
    wall = thickness(mesh, mesh.face_centres[picked], -smooth.normals[picked])
    thin = float(np.quantile(wall[np.isfinite(wall)], 0.2)) if np.isfinite(wall).any() else np.inf
    wanted = min(edge_for(_VERTICES), _THIN * thin)
    least = edge_for(_MOST_VERTICES)
    if wanted >= least:
        return wanted, []
    if thin < least:
        return least, [
            f"walls of {thin * 1e3:.2g} mm are thinner than the {least * 1e3:.2g} mm elements: too stiff; use a shell"
        ]
    return least, []
