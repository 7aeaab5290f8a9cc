"""The grid of cells agrees with the surface integrals within its cell size, and shares no step with them."""

from __future__ import annotations

import numpy as np
import pytest
from voxel import voxel_mass_properties, voxel_volumes

from pliant.errors import MaterialError, MeshError
from pliant.objects import Mesh, make_shape, mass_properties, mesh_volume


@pytest.mark.parametrize("name", ["torus", "sphere", "box", "cylinder", "tube", "bottle", "banana", "cup"])
@pytest.mark.parametrize("cell", [0.008, 0.004])
def test_grid_and_surface_integrals_agree_within_the_cell(name: str, cell: float) -> None:
    mesh = make_shape(name)
    exact = mass_properties(mesh, density=1000.0)
    grid = voxel_mass_properties(mesh, cell, density=1000.0)
    # Eight rays across a cell: measured at most 0.7 %, on walls thinner than half a cell (cup, tube).
    assert grid.mass == pytest.approx(exact.mass, rel=0.01)
    assert np.linalg.norm(grid.centre - exact.centre) < 0.1 * cell
    radius = np.sqrt(np.trace(exact.inertia) / exact.mass)
    assert np.sqrt(np.trace(grid.inertia) / grid.mass) == pytest.approx(radius, abs=0.5 * cell)


def test_cells_hold_between_nothing_and_their_whole_volume() -> None:
    held, _ = voxel_volumes(make_shape("torus"), 0.003)
    assert held.min() > -1e-20
    assert held.max() < 0.003**3 * (1 + 1e-9)
    assert (np.abs(held - 0.003**3) < 1e-16).sum() > 100


def test_rays_on_edges_and_vertices_are_counted_once() -> None:
    """A box whose edges, vertices and diagonals lie exactly on rays: every ray must still enter and leave once."""
    # Powers of two, so that the coincidences survive the arithmetic; the outermost of 5 x 5 rays run along the walls.
    mesh = make_shape("box", size=(0.25, 0.25, 0.25), edge=0.0625)
    rng = np.random.default_rng(2)
    for _ in range(5):
        # The numbering of the vertices must not decide.
        order = rng.permutation(len(mesh.vertices))
        held, _ = voxel_volumes(Mesh(mesh.vertices[order], np.argsort(order)[mesh.faces]), 0.0625, rays=1)
        assert held.shape == (5, 5, 5)
        assert held.sum() == 0.25**3
        assert (held.sum(axis=2) > 0).sum() == 16


def test_a_hollow_counts_as_empty() -> None:
    outer, inner = make_shape("sphere", radius=0.03), make_shape("sphere", radius=0.02).flipped()
    mesh = Mesh(
        np.concatenate([outer.vertices, inner.vertices]),
        np.concatenate([outer.faces, inner.faces + len(outer.vertices)]),
    )
    assert voxel_mass_properties(mesh, 0.002, density=1.0).volume == pytest.approx(mesh_volume(mesh), rel=5e-3)


def test_bad_cells_are_refused() -> None:
    mesh = make_shape("sphere")
    for cell in (0.0, -1.0, float("nan")):
        with pytest.raises(MeshError, match="above 0"):
            voxel_mass_properties(mesh, cell, density=1.0)
    with pytest.raises(MeshError, match="at most"):
        voxel_mass_properties(mesh, 1e-6, density=1.0)
    with pytest.raises(MaterialError):
        voxel_mass_properties(mesh, 0.01)
