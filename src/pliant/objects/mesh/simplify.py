"""The same surface with fewer faces, where its last tenth of a millimetre does not count."""

from __future__ import annotations

import numpy as np

from pliant.objects.mesh.mesh import Mesh


def lighter(mesh: Mesh, faces: int = 3000) -> Mesh:
    """A surface of about so many faces; one that has not twice as many stays as it is."""
    if len(mesh.faces) <= 2 * faces:
        return mesh
    from fast_simplification import simplify

    # Single precision inside: centre the mesh so that no digits are lost far from the origin.
    middle = mesh.vertices.mean(axis=0)
    vertices, corners = simplify(
        (mesh.vertices - middle).astype(np.float32), mesh.faces.astype(np.int32), target_count=faces, agg=5
    )
    return Mesh(vertices.astype(np.float64) + middle, corners, mesh.name)
