"""A soft solid for the simulator: a coarse tetrahedral mesh whose surface nodes lie on the real surface.   (SPEC 10)"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pliant.errors import MeshError, Problem
from pliant.objects import Mesh, mesh_volume

__all__ = ["TetMesh", "tetrahedra"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMOOTHINGS = 8
INNER = 1.25  # spacing inside over spacing on the surface, where contact needs the nodes
TRIES = 40
SHARP = np.cos(np.radians(35.0))
LEAST_QUALITY = 0.05


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


def tetrahedra(mesh: Mesh, *, nodes: int = 260) -> TetMesh:
    """Fill a closed mesh with tetrahedra, as many as fit below ``nodes`` nodes. The same mesh gives the same filling.

    Nodes are spread evenly over the surface (corners and edges first) and on a lattice inside; Delaunay's
    tetrahedra between them that lie inside are kept, inner nodes are moved to even them out. The whole is scaled about
    its centroid so that a coarse ball is neither larger nor smaller than the real one to a pad that touches it.
    """
    return _filled(
        mesh.vertices.tobytes(), np.asarray(mesh.faces, dtype=np.int64).tobytes(), mesh.name or "object", int(nodes)
    )


@lru_cache(maxsize=32)
def _filled(vertices: bytes, faces: bytes, name: str, limit: int) -> TetMesh:
    V = np.frombuffer(vertices).reshape(-1, 3).copy()
    F = np.frombuffer(faces, dtype=np.int64).reshape(-1, 3).copy()
    mesh = Mesh(V, F, name)
    volume = mesh_volume(mesh)
    candidates, sharp = _candidates(mesh)
    # Roughly 0.6 V / h^3 nodes lie inside and A / h^2 on the surface.
    spacing = (1.0 * volume / limit) ** (1.0 / 3.0)
    for _ in range(TRIES):
        if 0.6 * volume / spacing**3 + 1.0 * mesh.area / spacing**2 > 1.35 * limit:
            spacing *= 1.02
            continue
        found = _fill(mesh, candidates, sharp, spacing)
        if found is not None and len(found.nodes) <= limit and found.qualities.min() >= LEAST_QUALITY:
            # Nodes stand out of the true surface as far as faces lie below it: half the way to the true volume.
            centre = found.nodes.mean(axis=0)
            scale = 0.5 * (1.0 + (volume / found.volumes.sum()) ** (1.0 / 3.0))
            return TetMesh(centre + scale * (found.nodes - centre), found.elements, found.surface)
        spacing *= 1.02 if found is None else max(1.015, min(1.3, (len(found.nodes) / limit) ** 0.4))
    allowed = "allow more nodes; thin or finely shaped things need them"
    raise MeshError(name, Problem("", f"no sound filling with at most {limit} tetrahedron nodes", allowed))


def _candidates(mesh: Mesh) -> tuple[Floats, NDArray[np.bool_]]:
    """Points that may become surface nodes, and which of them are sharp (on an edge or a corner)."""
    import igl

    normals = mesh.face_normals
    sharp = np.zeros(len(mesh.vertices), dtype=bool)
    edges: dict[tuple[int, int], int] = {}
    for face, corners in enumerate(mesh.faces.tolist()):
        for a, b in ((0, 1), (1, 2), (2, 0)):
            key = (min(corners[a], corners[b]), max(corners[a], corners[b]))
            if key in edges and normals[edges[key]] @ normals[face] < SHARP:
                sharp[list(key)] = True
            edges.setdefault(key, face)
    points, flags = [mesh.vertices], [sharp]
    refined, faces = mesh.vertices, mesh.faces
    while len(refined) < 1500:  # a coarse mesh offers too few places
        refined, faces = igl.upsample(refined, np.asarray(faces, dtype=np.int64))[:2]
        points, flags = [refined], [np.concatenate([sharp, np.zeros(len(refined) - len(sharp), dtype=bool)])]
        # Middles of sharp edges are sharp as well.
        chains = np.array([key for key in edges if sharp[key[0]] and sharp[key[1]]]).reshape(-1, 2)
        middles = 0.5 * (mesh.vertices[chains[:, 0]] + mesh.vertices[chains[:, 1]])
        points.append(middles)
        flags.append(np.ones(len(middles), dtype=bool))
    return np.vstack(points), np.concatenate(flags)


def _spread(points: Floats, sharp: NDArray[np.bool_], spacing: float) -> Floats:
    """Points no closer than about ``spacing``: always the one farthest from all before it, sharp ones first."""
    chosen: list[Floats] = []
    distance = np.full(len(points), np.inf)
    for mask in (sharp, np.ones(len(points), dtype=bool)):
        if not mask.any():
            continue
        if not chosen:
            start = int(np.flatnonzero(mask)[np.argmax(np.linalg.norm(points[mask] - points.mean(axis=0), axis=1))])
            chosen.append(points[start])
            distance = np.linalg.norm(points - points[start], axis=1)
        while True:
            best = int(np.argmax(np.where(mask, distance, -1.0)))
            if distance[best] < 0.9 * spacing:
                break
            chosen.append(points[best])
            distance = np.minimum(distance, np.linalg.norm(points - points[best], axis=1))
    return np.array(chosen)


def _fill(mesh: Mesh, candidates: Floats, sharp: NDArray[np.bool_], spacing: float) -> TetMesh | None:
    outer = _spread(candidates, sharp, spacing)
    low, high = mesh.bounds
    a = 2.0 * INNER * spacing / np.sqrt(3.0)  # cube of a body-centred lattice whose neighbours are that far apart
    axes = [np.arange(lo, hi + a, a) + 0.5 * ((hi - lo) % a) - 0.5 * a for lo, hi in zip(low, high, strict=True)]
    cubes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    inner = np.vstack([cubes, cubes + 0.5 * a])
    inner = inner[_depth(mesh, inner) > 0.6 * spacing]
    rng = np.random.default_rng(0)
    inner = (
        inner + rng.uniform(-0.02, 0.02, inner.shape) * spacing
    )  # a perfect lattice has many equal Delaunay fillings
    best: TetMesh | None = None
    for _ in range(SMOOTHINGS):
        found = _delaunay(mesh, outer, inner, spacing)
        if found is None:
            return best
        if best is None or found.qualities.min() > best.qualities.min():
            best = found
        inner = _evened(found, outer, inner)
    return best


def _delaunay(mesh: Mesh, outer: Floats, inner: Floats, spacing: float) -> TetMesh | None:
    from scipy.spatial import Delaunay

    points = np.vstack([outer, inner])
    elements = Delaunay(points).simplices.astype(np.int64)
    x = points[elements]
    centres = x.mean(axis=1)
    inside = _depth(mesh, centres) > 0.0
    # A tetrahedron across a hollow has its centre inside and an edge far outside.
    for i, j in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        chosen = np.flatnonzero(inside)
        middles = 0.5 * (x[chosen, i] + x[chosen, j])
        inside[chosen] = _depth(mesh, middles) > -0.15 * spacing
    elements = elements[inside]
    if not len(elements):
        return None
    tets = TetMesh(points, elements, np.arange(0))
    flipped = tets.volumes < 0
    elements[flipped] = elements[flipped][:, [0, 2, 1, 3]]
    elements = _without_flat_skin(points, elements, len(outer))
    if len(elements) == 0:
        return None
    used, compact = np.unique(elements, return_inverse=True)
    elements = compact.reshape(-1, 4)
    return TetMesh(points[used], elements, _surface_nodes(elements)) if _one_piece(elements) else None


def _without_flat_skin(points: Floats, elements: Ints, outer_nodes: int) -> Ints:
    """Drop flat tetrahedra that lie in the surface: four surface nodes on one plane, hardly any volume."""
    for _ in range(4):
        tets = TetMesh(points, elements, np.arange(0))
        flat = tets.qualities < 0.15
        if not flat.any():
            break
        faces = np.sort(np.vstack([elements[:, keep] for keep in _FACES]), axis=1)
        _, inverse, number = np.unique(faces, axis=0, return_inverse=True, return_counts=True)
        outer = (number[inverse.ravel()] == 1).reshape(4, -1).sum(axis=0)
        drop = flat & (outer >= 1) & (elements < outer_nodes).all(axis=1)
        if not drop.any():
            break
        elements = elements[~drop]
    return elements


def _evened(tets: TetMesh, outer: Floats, inner: Floats) -> Floats:
    """Inner nodes moved to the volume-weighted mean of the centres of their tetrahedra."""
    if not len(inner):
        return inner
    where = {tuple(node): i for i, node in enumerate(tets.nodes)}
    sums, weights = np.zeros_like(tets.nodes), np.zeros(len(tets.nodes))
    volumes, centres = tets.volumes, tets.nodes[tets.elements].mean(axis=1)
    for corner in range(4):
        np.add.at(sums, tets.elements[:, corner], volumes[:, None] * centres)
        np.add.at(weights, tets.elements[:, corner], volumes)
    moved = inner.copy()
    for k, point in enumerate(inner):
        i = where.get(tuple(point))
        if i is not None and weights[i] > 0:
            moved[k] = 0.5 * point + 0.5 * sums[i] / weights[i]
    return moved


def _depth(mesh: Mesh, points: Floats) -> Floats:
    """How deep points lie inside the mesh; negative outside [m]."""
    import igl

    if not len(points):
        return np.zeros(0)
    V, F, P = np.array(mesh.vertices), np.array(mesh.faces, dtype=np.int64), np.ascontiguousarray(points)
    squares = igl.point_mesh_squared_distance(P, V, F)[0]
    return np.where(igl.fast_winding_number(V, F, P) > 0.5, 1.0, -1.0) * np.sqrt(squares)


_FACES = ([0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3])


def _surface_nodes(elements: Ints) -> Ints:
    faces = np.sort(np.vstack([elements[:, keep] for keep in _FACES]), axis=1)
    unique, number = np.unique(faces, axis=0, return_counts=True)
    return np.unique(unique[number == 1]).astype(np.int64)


def _one_piece(elements: Ints) -> bool:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = np.repeat(elements[:, 0], 3)
    size = int(elements.max()) + 1
    graph = coo_array((np.ones(len(rows)), (rows, elements[:, 1:].ravel())), shape=(size, size))
    return int(connected_components(graph, directed=False)[0]) == 1
