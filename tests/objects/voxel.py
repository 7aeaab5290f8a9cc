"""Mass properties on a grid of cells: the source paper's method, kept as an independent cross-check.   (theory 6.4)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.errors import MaterialError, MeshError, Problem
from pliant.objects.mass import MassProperties
from pliant.objects.mesh.mesh import Mesh

__all__ = ["voxel_mass_properties", "voxel_volumes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_CELLS = 50_000_000
MAX_CROSSINGS = 50_000_000


def voxel_mass_properties(
    mesh: Mesh, cell: float, *, density: float | None = None, mass: float | None = None, rays: int = 8
) -> MassProperties:
    """Mass properties from cells inside or touched, each weighted by the volume it holds and put at its middle.

    Agrees with ``mass_properties`` within the cell size; it shares no step with the surface integrals.

    Args:
        mesh: closed, faces outwards.
        cell: edge of a cell [m].
        density: [kg/m^3]; exactly one of ``density`` and ``mass``.
        mass: [kg].
        rays: rays across a cell in each direction, by which the held volume is measured.
    """
    if (density is None) == (mass is None):
        raise MaterialError(mesh.name or "mesh", "give either a density or a mass, not both and not neither")
    held, origin = voxel_volumes(mesh, cell, rays=rays)
    index = np.argwhere(held != 0)
    volumes = held[tuple(index.T)]
    centres = origin + (index + 0.5) * cell
    volume = float(volumes.sum())
    rho = mass / volume if mass is not None else float(density or 0.0)
    centre = volumes @ centres / volume
    x = centres - centre
    covariance = (x * volumes[:, None]).T @ x + volume * cell**2 / 12.0 * np.eye(3)
    inertia = rho * (np.trace(covariance) * np.eye(3) - covariance)
    return MassProperties(rho * volume, volume, centre, inertia)


def voxel_volumes(mesh: Mesh, cell: float, *, rays: int = 8) -> tuple[Floats, Floats]:
    """Volume held by each cell of a grid around the mesh [m^3], and the low corner of the grid [m].

    Parallel rays along z meet the surface; a ray is inside from where it enters (face looks down) to where it leaves.
    Lengths inside each cell times the ray's share of the cell's floor are the held volume.
    """
    if not (np.isfinite(cell) and cell > 0):
        raise MeshError(mesh.name or "mesh", Problem("cell", f"{cell}", "a size above 0 [m]"))
    shape = np.ceil(mesh.extents / cell).astype(np.int64) + 1
    if float(np.prod(shape.astype(float))) > MAX_CELLS or float(np.prod(shape[:2].astype(float))) * rays**2 > MAX_CELLS:
        raise MeshError(
            mesh.name or "mesh",
            Problem("cell", f"{cell} m makes {shape[0]} x {shape[1]} x {shape[2]} cells", f"at most {MAX_CELLS}"),
        )
    origin = mesh.bounds.mean(axis=0) - 0.5 * shape * cell
    row, column, z, sign = _crossings(mesh, origin, cell / rays, shape[:2] * rays)
    # A face that looks up ends a stretch: everything below it down to the floor counts; one that looks down takes back.
    level = np.clip(((z - origin[2]) / cell).astype(np.int64), 0, shape[2] - 1)
    floor = np.ravel_multi_index((row // rays, column // rays), (int(shape[0]), int(shape[1])))
    flat = floor * shape[2] + level
    total = int(np.prod(shape))
    partial = np.bincount(flat, weights=sign * (z - origin[2] - level * cell), minlength=total).reshape(shape)
    passing = np.bincount(flat, weights=sign, minlength=total).reshape(shape)
    above = np.cumsum(passing[:, :, ::-1], axis=2)[:, :, ::-1] - passing
    return (partial + above * cell) * (cell / rays) ** 2, origin


def _crossings(mesh: Mesh, origin: Floats, pitch: float, shape: Ints) -> tuple[Ints, Ints, Floats, Floats]:
    """Where rays along z through the middles of a ``shape`` grid of squares meet the faces: (row, column, z, sign).

    Edges are evaluated from their lower to their higher vertex, and a ray exactly on an edge is decided as if it stood
    a little to +x and far less to +y: neighbouring faces never both claim a ray and never both miss it.
    """
    xy = (mesh.corners[:, :, :2] - origin[:2]) / pitch - 0.5  # ray (i, j) stands at (i, j)
    first = np.maximum(np.ceil(xy.min(axis=1)).astype(np.int64), 0)
    last = np.minimum(np.floor(xy.max(axis=1)).astype(np.int64), shape - 1)
    span = np.maximum(last - first + 1, 0)
    count = span[:, 0] * span[:, 1]
    if int(count.sum()) > MAX_CROSSINGS:
        raise MeshError(mesh.name or "mesh", Problem("cell", f"{count.sum()} rays to follow", "a larger cell"))
    face = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(face)) - np.repeat(np.cumsum(count) - count, count)
    row, column = first[face, 0] + within // span[face, 1], first[face, 1] + within % span[face, 1]
    # All coordinates relative to the grid, computed from the vertex alone: both faces of an edge see the same numbers.
    points = (mesh.vertices[:, :2] - origin[:2]) / pitch - 0.5
    values = np.empty((3, len(face)))
    for k in range(3):
        i, j = mesh.faces[face, k], mesh.faces[face, (k + 1) % 3]
        low, high = points[np.minimum(i, j)], points[np.maximum(i, j)]
        dx, dy = (high - low).T
        e = dx * (column - low[:, 1]) - dy * (row - low[:, 0])
        e = np.where(e == 0, 1e-300 * np.where(dy != 0, -np.sign(dy), np.sign(dx)), e)
        values[k] = np.where(i < j, e, -e)
    up = np.min(values, axis=0) > 0
    hit = up | (np.max(values, axis=0) < 0)
    face, row, column, values = face[hit], row[hit], column[hit], values[:, hit]
    weights = values / values.sum(axis=0)
    z = mesh.corners[face, :, 2]
    # The edge from corner k to k + 1 weighs the corner opposite to it.
    height = weights[0] * z[:, 2] + weights[1] * z[:, 0] + weights[2] * z[:, 1]
    return row, column, height, np.where(up[hit], 1.0, -1.0)
