"""Noise taken off a surface without shrinking it."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats
from pliant.objects.mesh.holes import enclosed_volume
from pliant.objects.mesh.mesh import Mesh
from pliant.objects.mesh.repair import Repair
from pliant.objects.mesh.topology import edges_of

TINY = 1e-300  # [m^3]
ROUNDS = 10
PULL, PUSH = 0.5, -0.53  # Taubin's factors: waves longer than some eight edges pass unchanged (pass band 0.1)


def smooth_noise(mesh: Mesh) -> Repair:
    """Each vertex moved towards the mean of its neighbours and back by a little more, ten times (Taubin 1995).

    Then all of the surface is moved along its normals so that the volume is what it was. Vertices on the rim of a hole
    only follow their neighbours on the rim.
    """
    from scipy.sparse import csr_array, diags_array

    edges = edges_of(mesh.faces)
    n = len(mesh.vertices)
    on_rim = np.zeros(n, dtype=bool)
    on_rim[edges.ends[edges.count == 1]] = True
    ends = np.concatenate([edges.ends, edges.ends[:, ::-1]])
    along = np.concatenate([edges.count == 1] * 2)
    ends = ends[along | ~on_rim[ends[:, 0]]]
    neighbours = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    degree = np.asarray(neighbours.sum(axis=1)).reshape(-1)
    mean = diags_array(1.0 / np.maximum(degree, 1.0)) @ neighbours
    v: Floats = np.array(mesh.vertices)
    for factor in (PULL, PUSH) * ROUNDS:
        v += factor * np.where(degree[:, None] > 0, mean @ v - v, 0.0)
    smoothed = Mesh(v, mesh.faces, mesh.name)
    before, shrunk = enclosed_volume(mesh), enclosed_volume(smoothed)
    smoothed = Mesh(v + (before - shrunk) / mesh.area * smoothed.vertex_normals, mesh.faces, mesh.name)
    after = enclosed_volume(smoothed)
    moved = np.linalg.norm(smoothed.vertices - mesh.vertices, axis=1)
    action = (
        f"smoothed noise: {n} vertices moved by {1e3 * np.sqrt((moved**2).mean()):.2g} mm (root mean square), at most "
        f"{1e3 * moved.max():.2g} mm; volume {100 * (after - before) / max(abs(before), TINY):+.2g} %"
    )
    return Repair(smoothed, [action])
