"""The mesh type: read-only, hashed by content, light to import."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pinocchio
import pytest

from pliant.objects import Mesh, make_shape


def test_arrays_cannot_be_changed_and_survive_pickling() -> None:
    mesh = make_shape("torus")
    copy = pickle.loads(pickle.dumps(mesh))
    assert copy.content_hash == mesh.content_hash
    for each in (mesh, copy):
        for array in (each.vertices, each.faces, each.face_normals, each.vertex_normals, each.bounds):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
    assert Mesh(mesh.vertices, mesh.faces[::-1]).content_hash != mesh.content_hash


def test_normals_of_a_ball_point_outwards_along_the_radius() -> None:
    mesh = make_shape("sphere", radius=0.03, edge=0.001)
    directions = mesh.vertices / 0.03
    assert np.einsum("ij,ij->i", mesh.vertex_normals, directions).min() > 1 - 1e-5
    assert np.einsum("ij,ij->i", mesh.face_normals, mesh.face_centres).min() > 0
    np.testing.assert_allclose(np.linalg.norm(mesh.face_normals, axis=1), 1.0)
    assert mesh.area == pytest.approx(4 * np.pi * 0.03**2, rel=1e-3)


def test_vertex_normals_do_not_depend_on_how_a_flat_side_is_cut() -> None:
    """At a cube's corner three right angles meet, however many triangles share each of them."""
    mesh = make_shape("box", size=(0.1, 0.1, 0.1), edge=1.0)
    np.testing.assert_allclose(mesh.vertex_normals, np.sign(mesh.vertices) / np.sqrt(3), atol=1e-12)


def test_area_vectors_of_a_closed_mesh_sum_to_zero() -> None:
    for name in ("torus", "banana", "cup"):
        mesh = make_shape(name)
        assert np.linalg.norm(mesh.face_vectors.sum(axis=0)) < 1e-15


def test_transforming_there_and_back_is_the_identity() -> None:
    mesh = make_shape("banana")
    T = pinocchio.SE3.Random()
    back = mesh.transformed(T).transformed(T.inverse())
    np.testing.assert_allclose(back.vertices, mesh.vertices, atol=1e-14)
    np.testing.assert_allclose(mesh.transformed(T).vertices[5], T.act(mesh.vertices[5]), atol=1e-14)
    np.testing.assert_allclose(mesh.scaled(2.0).extents, 2 * mesh.extents)


def test_importing_objects_brings_in_no_heavy_package() -> None:
    code = (
        "import sys, pliant.objects as o; o.make_shape('torus'); o.mass_properties; o.Body; o.fill; "
        "print([m for m in ('trimesh', 'scipy', 'numba', 'igl', 'pinocchio', 'networkx', 'manifold3d', 'pydantic') "
        "if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
