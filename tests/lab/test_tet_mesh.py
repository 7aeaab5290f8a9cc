"""Fillings of tetrahedra: sound, repeatable, on the surface."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import MeshError
from pliant.lab import tet_mesh, tetrahedra
from pliant.objects import make_shape, mass_properties, mesh_volume

SHAPES = {
    "sphere": {"radius": 0.03},
    "torus": {"major": 0.035, "minor": 0.015},
    "box": {"size": (0.04, 0.06, 0.03)},
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_filling_is_sound_and_close_to_the_body(name: str) -> None:
    mesh = make_shape(name, **SHAPES[name])
    tets = tetrahedra(mesh, nodes=200)
    assert 90 <= len(tets.nodes) <= 200
    assert tets.volumes.min() > 0
    assert tets.qualities.min() >= 0.05
    # Half way between nodes on the surface and the true volume; a coarse torus lacks most.
    assert tets.volumes.sum() == pytest.approx(mesh_volume(mesh), rel=0.06)
    solid = mass_properties(mesh, mass=1.0)
    np.testing.assert_allclose(tets.node_shares @ tets.nodes, solid.centre, atol=0.6e-3)
    assert tets.node_shares.sum() == pytest.approx(1.0, rel=1e-12)


def test_every_inner_face_is_shared_by_two_tetrahedra_and_the_skin_is_closed() -> None:
    tets = tetrahedra(make_shape("sphere", radius=0.03), nodes=150)
    faces = np.sort(np.vstack([tets.elements[:, k] for k in ([0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3])]), axis=1)
    unique, number = np.unique(faces, axis=0, return_counts=True)
    assert number.max() == 2
    skin = unique[number == 1]
    edges = np.sort(np.vstack([skin[:, [0, 1]], skin[:, [1, 2]], skin[:, [0, 2]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_the_same_mesh_gives_the_same_filling() -> None:
    mesh = make_shape("sphere", radius=0.02)
    first = tetrahedra(mesh, nodes=100)
    tet_mesh._filled.cache_clear()
    second = tetrahedra(mesh, nodes=100)
    assert second is not first
    np.testing.assert_array_equal(first.nodes, second.nodes)
    np.testing.assert_array_equal(first.elements, second.elements)


def test_a_body_that_needs_more_nodes_says_so() -> None:
    with pytest.raises(MeshError, match="at most 20 tetrahedron nodes"):
        tetrahedra(make_shape("torus", major=0.05, minor=0.004), nodes=20)
