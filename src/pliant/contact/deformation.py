"""The shape of the object under its contact forces.   (theory 6.3)"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Floats
from pliant.compiled import kernel
from pliant.contact.coupling import fine_dent
from pliant.contact.region import ContactState, SurfaceLoad
from pliant.contact.surfaces import MeshSurface, PreparedObject
from pliant.errors import OptionError

_RINGS = 0.02
"""Half-space displacements below this part of the largest are not followed; the rest of the surface keeps the
volume."""


def displacement(prepared: PreparedObject, state: ContactState) -> Floats:
    """Displacement of every vertex of the object's mesh, in the object's frame, rigid motion left out [m].

    The finite elements give the body's share, ``u = C sum_A F_A b_A``; under and around small contacts the half-space
    adds what they are too coarse to show; of a vessel it is the wall's own dent, and the vertices stand for the middle
    of the wall. The half-space model alone adds up Boussinesq's solutions, and moves what lies far away so that the
    volume is kept.

    Raises:
        OptionError: the object's surface is no mesh.
    """
    if not isinstance(prepared.surface, MeshSurface):
        raise OptionError("object", "only a mesh has vertices to displace")
    vertices = prepared.surface.smooth.mesh.vertices
    out = np.zeros_like(vertices)
    if prepared.body is not None:
        on_elements = np.zeros((len(prepared.body.points), 3))
        for load in state.loads:
            on_elements += prepared.body.displacement(load.corners, load.forces, prepared.young)
        corners, weights = prepared.embedding
        out = np.einsum("vk,vkx->vx", weights, on_elements[corners])
        if prepared.body.wall is not None:
            return out + _dents(prepared, state)
    pose = state.T_world_object
    for k, region in enumerate(state.regions):
        points = (region.p_world_cells - pose.translation) @ pose.rotation
        normal = pose.rotation.T @ region.normal
        forces = region.pressures * region.cell_area
        size = np.sqrt(region.cell_area)
        local = _boussinesq(vertices, points, forces, size) * prepared.compliance
        if prepared.body is not None:
            if not state.loads[k].radii.any():
                continue
            centre = pose.rotation.T @ (region.centre - pose.translation)
            local -= _hertz(vertices - centre, normal, state.loads[k]) * prepared.compliance
        facing = np.einsum("ij,j->i", prepared.vertex_normals, normal) < -0.2
        near = np.linalg.norm(vertices - points.mean(axis=0), axis=1) < 12.0 * max(region.radius, size)
        out += np.where(facing & near, local, 0.0)[:, None] * normal
    return _keep_volume(prepared, out) if prepared.body is None else out


def _dents(prepared: PreparedObject, state: ContactState) -> Floats:
    """What the dents of a vessel's wall are finer than its corners show [m]."""
    assert prepared.body is not None and isinstance(prepared.surface, MeshSurface)
    vertices = prepared.surface.smooth.mesh.vertices
    out = np.zeros_like(vertices)
    pose = state.T_world_object
    for region, load in zip(state.regions, state.loads, strict=False):
        if not load.radii.any():
            continue  # so large that the corners show it
        turn = pose.rotation.T @ region.T_world_contact.rotation
        axes = np.array([turn[:, 1], turn[:, 0], -turn[:, 2]])
        cells = (region.p_world_cells - pose.translation) @ pose.rotation
        origin = pose.rotation.T @ (region.centre - pose.translation)
        forces = region.pressures * region.cell_area
        near, inward = fine_dent(prepared.body, origin, axes, load, cells, forces, vertices)
        facing = prepared.vertex_normals[near] @ axes[2] > 0.2
        out[near[facing]] -= inward[facing, None] / prepared.young * axes[2]
    return out


def deformed_vertices(prepared: PreparedObject, state: ContactState) -> Floats:
    """Displaced vertices of the object's mesh, in the object's frame [m]."""
    if not isinstance(prepared.surface, MeshSurface):
        raise OptionError("object", "only a mesh has vertices to displace")
    return prepared.surface.smooth.mesh.vertices + displacement(prepared, state)


def volume_change(prepared: PreparedObject, state: ContactState) -> float:
    """Relative change of the object's volume under its contact forces.

    Exact for a linear elastic body in balance, without knowing its displacement (Betti, with a uniform dilatation as
    the other load case):  dV = (1 - 2 nu) / E  sum_k f_k . x_k. Of a vessel, the change of what it holds: dV = f . C g.
    """
    if not isinstance(prepared.surface, MeshSurface):
        return 0.0
    if prepared.body is not None and prepared.body.wall is not None:
        gained = sum(
            float(load.forces.ravel() @ prepared.body.wall.swelling.reshape(-1, 3)[load.corners].ravel())
            for load in state.loads
        )
        return gained / prepared.young / prepared.volume
    pose = state.T_world_object
    work = 0.0
    resultant = np.zeros(3)
    for region in state.regions:
        forces = (region.pressures * region.cell_area)[:, None] * region.normal
        # the undeformed object's surface lies half the penetration outside the middle of the overlap
        at = region.p_world_cells - 0.5 * region.depths[:, None] * region.normal - pose.translation
        work += float(np.einsum("ij,ij->", forces, at))
        resultant += forces.sum(axis=0)
    centre = pose.rotation @ prepared.surface.smooth.mesh.vertices.mean(axis=0)
    work -= float(resultant @ centre)  # what is left unbalanced is carried by the body's inertia, about its middle
    return (1.0 - 2.0 * prepared.poisson) / prepared.young * work / prepared.volume


@kernel
def _boussinesq(points: Floats, at: Floats, forces: Floats, size: float) -> Floats:
    """Normal displacement of a half-space (E* = 1) under forces spread over cells of the given size."""
    out = np.zeros(len(points))
    # a square of side s under its own unit load sinks 4 asinh(1) / (pi s) at the middle
    closest = size / (4.0 * np.arcsinh(1.0))
    for i in range(len(points)):
        for j in range(len(at)):
            x, y, z = points[i, 0] - at[j, 0], points[i, 1] - at[j, 1], points[i, 2] - at[j, 2]
            out[i] += forces[j] / (np.pi * max(np.sqrt(x * x + y * y + z * z), closest))
    return out


def _hertz(offset: Floats, normal: Floats, load: SurfaceLoad) -> Floats:
    """Normal displacement of a half-space (E* = 1) under a load spread as sqrt(1 - r^2 / rho^2)  (Johnson 1985,
    3.42)."""
    rho = float(np.sqrt(np.prod(load.radii)))
    force = float(np.linalg.norm(load.forces.sum(axis=0)))
    along = offset @ normal
    r = np.sqrt(np.maximum(np.einsum("ij,ij->i", offset, offset) - along**2, 1e-30))
    inside = 3.0 / (8.0 * rho**3) * (2.0 * rho**2 - r**2)
    ratio = np.minimum(rho / r, 1.0)
    outside = (
        3.0
        / (4.0 * np.pi * rho**3)
        * ((2.0 * rho**2 - r**2) * np.arcsin(ratio) + r**2 * ratio * np.sqrt(1.0 - ratio**2))
    )
    return np.asarray(force * np.where(r < rho, inside, outside))


def _keep_volume(prepared: PreparedObject, moved: Floats) -> Floats:
    size = np.linalg.norm(moved, axis=1)
    if not size.any():
        return moved
    near = size > _RINGS * size.max()
    out = np.where(near[:, None], moved, 0.0)
    vectors = prepared.vertex_areas
    gained = float(np.einsum("ij,ij->", vectors, out))
    # an incompressible solid gives back outside what it loses under the pads; a compressible one less
    back = -gained * 2.0 * prepared.poisson
    room = np.linalg.norm(vectors[~near], axis=1).sum()
    if room > 0.0:
        out[~near] = back / room * prepared.vertex_normals[~near]
    return out
