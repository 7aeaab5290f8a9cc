"""A soft solid for the simulator: a coarse tetrahedral mesh whose surface nodes lie on the real surface. (theory 10)"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pliant.arrays import Floats, Ints
from pliant.elastic import fill_points, sharp_edges, spread
from pliant.errors import MeshError, Problem
from pliant.objects import Mesh, mesh_volume, smooth_surface

INNER = 1.25  # spacing inside over spacing on the surface, where contact needs the nodes
TRIES = 40
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

    It is the filling that elasticity uses as well (``objects.filling``), only coarser and of straight elements, scaled
    about its centroid so that a coarse ball is neither larger nor smaller than the real one to a pad that touches it.
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
    smooth = smooth_surface(mesh)
    # Roughly 0.6 V / h^3 nodes lie inside and A / h^2 on the surface.
    spacing = (1.0 * volume / limit) ** (1.0 / 3.0)
    for _ in range(TRIES):
        if 0.6 * volume / spacing**3 + 1.0 * mesh.area / spacing**2 > 1.35 * limit:
            spacing *= 1.02
            continue
        points = spread(smooth, sharp_edges(smooth, spacing), spacing)
        found = fill_points(mesh, *points, spacing, INNER)
        if found is not None and found.sound and len(found.points) <= limit:
            tets = TetMesh(found.points, found.cells, np.unique(found.outer))
            if tets.qualities.min() >= LEAST_QUALITY:
                # Nodes stand out of the true surface as far as faces lie below it: half the way to the true volume.
                centre = tets.nodes.mean(axis=0)
                scale = 0.5 * (1.0 + (volume / tets.volumes.sum()) ** (1.0 / 3.0))
                return TetMesh(centre + scale * (tets.nodes - centre), tets.elements, tets.surface)
        spacing *= 1.02 if found is None else max(1.015, min(1.3, (len(found.points) / limit) ** 0.4))
    allowed = "allow more nodes; thin or finely shaped things need them"
    raise MeshError(name, Problem("", f"no sound filling with at most {limit} tetrahedron nodes", allowed))
