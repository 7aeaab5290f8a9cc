"""A soft solid for the simulator: a coarse tetrahedral mesh whose surface nodes lie on the real surface. (theory 10)

Three kinds: evenly filled; finer where it will be pressed, because a contact patch smaller than the node distance is
met by a corner or by a face and pushes back accordingly (fine nodes everywhere would cost the square of their number);
and with feet, because a ball of few nodes is a polyhedron that rolls over its edges by some millimetres until a face
lies flat, and sinks by as much as a face lies below the ball.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError

from pliant.arrays import Floats, Ints
from pliant.elastic import Filling, Layer, fill_points, graded_filling, sharp_edges, spread
from pliant.errors import MeshError, Problem
from pliant.objects import Mesh, mesh_volume, smooth_surface

INNER = 1.25  # spacing inside over spacing on the surface, where contact needs the nodes
EVEN_TRIES, GRADED_TRIES = 40, 14
LEAST_QUALITY = 0.05
FINE = 0.045  # spacing at the pressed places over the body's width between them
COARSE = 0.22  # .. and far away, to begin with
REACH = 0.11  # how far around a place the nodes are as fine as that, over the width
MOST_FEET = 16
WITHIN = 0.25  # how far inside the polygon of its feet the centre of mass lies, over the distance of nodes


@dataclass(frozen=True, eq=False)
class TetMesh:
    """Nodes and tetrahedra with positive volumes.

    Attributes:
        nodes: n x 3 [m].
        elements: m x 4.
        surface: numbers of the nodes on the surface.
    """

    nodes: Floats
    elements: Ints
    surface: Ints

    @property
    def volumes(self) -> Floats:
        """Volume of every tetrahedron [m^3]."""
        a, b, c, d = (self.nodes[self.elements[:, i]] for i in range(4))
        return np.asarray(np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0)

    @property
    def qualities(self) -> Floats:
        """6 sqrt(2) volume / (root mean square edge)^3: 1 for a regular tetrahedron, 0 for a flat one."""
        x = self.nodes[self.elements]
        squares = sum(((x[:, i] - x[:, j]) ** 2).sum(axis=1) for i in range(4) for j in range(i))
        return np.asarray(6.0 * np.sqrt(2.0) * self.volumes / (np.asarray(squares) / 6.0) ** 1.5)

    @property
    def node_shares(self) -> Floats:
        """Share of the volume, so of the mass, that belongs to each node: a quarter of every tetrahedron around it."""
        shares = np.zeros(len(self.nodes))
        np.add.at(shares, self.elements.ravel(), np.repeat(self.volumes / 4.0, 4))
        return shares / shares.sum()

    @property
    def skin(self) -> Mesh:
        """The outer faces, outwards: an even triangulation of the surface."""
        faces = np.vstack([self.elements[:, keep] for keep in ([0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3])])
        _, inverse, number = np.unique(np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True)
        used, compact = np.unique(faces[number[inverse.ravel()] == 1], return_inverse=True)
        return Mesh(self.nodes[used], compact.reshape(-1, 3), "skin")

    @property
    def spacing(self) -> float:
        """Typical distance of neighbouring nodes [m]."""
        edges = np.vstack([self.elements[:, [i, j]] for i in range(4) for j in range(i)])
        return float(np.median(np.linalg.norm(self.nodes[edges[:, 0]] - self.nodes[edges[:, 1]], axis=1)))


@dataclass(frozen=True)
class _SameContent:
    """A mesh as the key of a cache: equal to any other mesh of the same coordinates and faces."""

    content_hash: str
    mesh: Mesh = field(compare=False)


def tetrahedra(mesh: Mesh, *, nodes: int = 260) -> TetMesh:
    """Fill a closed mesh with tetrahedra, as many as fit below ``nodes`` nodes. The same mesh gives the same filling.

    It is the filling that elasticity uses as well, only coarser and of straight elements, scaled about its centroid so
    that a coarse ball is neither larger nor smaller than the real one to a pad that touches it.
    """
    return _filled(_SameContent(mesh.content_hash, mesh), int(nodes))


def graded_tetrahedra(mesh: Mesh, places: ArrayLike, *, nodes: int = 400) -> TetMesh:
    """Fill a closed mesh with tetrahedra that are small around places on its surface, with at most ``nodes`` nodes.

    Around every place the nodes are a twentieth of the body's width apart, out to a ninth of it; from there on they
    grow apart. Where that takes too many nodes, those far away are the first to go.

    Args:
        mesh: closed [m].
        places: k x 3, where it will be pressed [m].
    """
    at = np.ascontiguousarray(np.asarray(places, dtype=np.float64).reshape(-1, 3))
    return _graded(_SameContent(mesh.content_hash, mesh), at.tobytes(), int(nodes))


def with_feet(tets: TetMesh, up: Floats, ground: float, gravity: Floats) -> TetMesh:
    """The mesh with its lowest surface nodes at ``ground`` (a height along ``up`` [m]), or itself where none serve.

    The lowest nodes come first; three at least, and so many that the weight goes through the polygon they span, on a
    slope too.

    Args:
        gravity: which way the weight points, of any length; zero: away from ``up``.
    """
    heights = tets.nodes[tets.surface] @ up
    order = tets.surface[np.argsort(heights, kind="stable")]
    first = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    first /= np.linalg.norm(first)
    flat = tets.nodes @ np.vstack([first, np.cross(up, first)]).T
    fall = float(gravity @ up)
    lean = np.vstack([first, np.cross(up, first)]) @ gravity / fall if fall < 0.0 else np.zeros(2)
    centre = tets.node_shares @ flat + (ground - float(tets.node_shares @ tets.nodes @ up)) * lean
    for count in range(3, min(MOST_FEET, len(order)) + 1):
        feet = order[:count]
        if _inside(flat[feet], centre) > WITHIN * tets.spacing:
            nodes = tets.nodes.copy()
            nodes[feet] += (ground - nodes[feet] @ up)[:, None] * up
            moved = replace(tets, nodes=nodes)
            return moved if moved.volumes.min() > 0.0 and moved.qualities.min() >= LEAST_QUALITY else tets
    return tets


@lru_cache(maxsize=32)
def _filled(key: _SameContent, limit: int) -> TetMesh:
    mesh = key.mesh
    volume = mesh_volume(mesh)
    smooth = smooth_surface(mesh)
    # Roughly 0.6 V / h^3 nodes lie inside and A / h^2 on the surface.
    spacing = (1.0 * volume / limit) ** (1.0 / 3.0)
    for _ in range(EVEN_TRIES):
        if 0.6 * volume / spacing**3 + 1.0 * mesh.area / spacing**2 > 1.35 * limit:
            spacing *= 1.02
            continue
        points = spread(smooth, sharp_edges(smooth, spacing), spacing)
        found = fill_points(mesh, *points, spacing, INNER)
        tets = _usable(found)
        if tets is not None and len(tets.nodes) <= limit:
            # Nodes stand out of the true surface as far as faces lie below it: half of the difference in volume.
            centre = tets.nodes.mean(axis=0)
            scale = 0.5 * (1.0 + (volume / tets.volumes.sum()) ** (1.0 / 3.0))
            return replace(tets, nodes=centre + scale * (tets.nodes - centre))
        spacing *= 1.02 if found is None else max(1.015, min(1.3, (len(found.points) / limit) ** 0.4))
    raise _no_filling(mesh, "filling", limit)


@lru_cache(maxsize=16)
def _graded(key: _SameContent, places: bytes, limit: int) -> TetMesh:
    mesh, at = key.mesh, np.frombuffer(places).reshape(-1, 3)
    smooth = smooth_surface(mesh)
    middle = at.mean(axis=0)
    width = 2.0 * float(np.linalg.norm(at - middle, axis=1).mean()) if len(at) > 1 else float(mesh.extents.min())
    fine, reach, coarse = FINE * width, REACH * width, COARSE * width
    layers: dict[tuple[float, float], Layer] = {}  # spreading is the work; tries share most of it
    for _ in range(GRADED_TRIES):
        # Fine faces lie hardly below the surface: nothing is scaled, as it is in an even filling.
        found = _usable(graded_filling(smooth, at, fine, reach, coarse, layers=layers))
        if found is not None and len(found.nodes) <= limit:
            return found
        coarse *= 1.08
        if coarse > 0.35 * width:
            fine, reach = 1.06 * fine, 0.97 * reach
    raise _no_filling(mesh, "graded filling", limit)


def _usable(found: Filling | None) -> TetMesh | None:
    if found is None or not found.sound:
        return None
    tets = TetMesh(found.points, found.cells, np.unique(found.outer))
    return tets if tets.qualities.min() >= LEAST_QUALITY else None


def _no_filling(mesh: Mesh, kind: str, limit: int) -> MeshError:
    what = f"no sound {kind} with at most {limit} tetrahedron nodes"
    return MeshError(mesh.name or "object", Problem("", what, "allow more nodes; thin or fine shapes need them"))


def _inside(points: Floats, centre: Floats) -> float:
    """How far a point lies inside the convex polygon of others; negative outside [m]."""
    try:
        hull = ConvexHull(points)
    except QhullError:
        return -np.inf
    return float(-(hull.equations[:, :2] @ centre + hull.equations[:, 2]).max())
