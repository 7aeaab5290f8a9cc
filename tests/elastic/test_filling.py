"""Fillings of tetrahedra: sound for every kind of body, and the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

from pliant.elastic.tetrahedra.fill import fill_points, lattice, shapes
from pliant.elastic.tetrahedra.quadratic import Tetrahedra, fill
from pliant.elastic.tetrahedra.spread import sharp_edges, spread
from pliant.errors import MeshError
from pliant.objects import Mesh, make_shape, mesh_volume
from pliant.objects.mesh.smooth import smooth_surface


def hollow_ball() -> Mesh:
    outside = trimesh.creation.icosphere(subdivisions=3, radius=0.03)
    inside = trimesh.creation.icosphere(subdivisions=3, radius=0.022)
    inside.invert()
    both = trimesh.util.concatenate([outside, inside])
    return Mesh(both.vertices, both.faces)


def of(mesh: trimesh.Trimesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.faces)


# body: mesh, edge [m], Euler's number of the surface, its true volume [m^3]
BODIES = {
    "ball": (lambda: of(trimesh.creation.icosphere(subdivisions=3, radius=0.03)), 6e-3, 2, 4 / 3 * np.pi * 0.03**3),
    "thin ring": (
        lambda: of(trimesh.creation.torus(0.035, 0.006, major_sections=80, minor_sections=18)), 3.5e-3, 0,
        2 * np.pi**2 * 0.035 * 0.006**2,
    ),
    "thin disc": (lambda: of(trimesh.creation.cylinder(0.04, 0.008, sections=64)), 5e-3, 2, np.pi * 0.04**2 * 0.008),
    "block": (lambda: of(trimesh.creation.box((0.06, 0.04, 0.02))), 6e-3, 2, 0.06 * 0.04 * 0.02),
    "tube": (
        lambda: of(trimesh.creation.annulus(0.017, 0.025, 0.08, sections=48)), 6e-3, 0,
        np.pi * (0.025**2 - 0.017**2) * 0.08,
    ),
    "hollow ball": (hollow_ball, 6e-3, 4, 4 / 3 * np.pi * (0.03**3 - 0.022**3)),
    "bottle": (lambda: make_shape("bottle"), 0.012, 2, None),
}  # fmt: skip


def volume(tets: Tetrahedra) -> float:
    """Of the curved elements, from their outer six-node triangles: the divergence theorem on a fine division."""
    n = 6
    shares = [(i / n, j / n) for i in range(n + 1) for j in range(n + 1 - i)]
    place = {share: k for k, share in enumerate(shares)}
    l1, l2 = np.array(shares).T
    l0 = 1 - l1 - l2
    shape = np.stack([l0 * (2 * l0 - 1), l1 * (2 * l1 - 1), l2 * (2 * l2 - 1), 4 * l0 * l1, 4 * l1 * l2, 4 * l2 * l0])
    x = np.einsum("as,fax->fsx", shape, tets.nodes[tets.boundary])
    total = 0.0
    for i in range(n):
        for j in range(n - i):
            corners = [((i, j), (i + 1, j), (i, j + 1))]
            if i + j < n - 1:
                corners.append(((i + 1, j), (i + 1, j + 1), (i, j + 1)))
            for triangle in corners:
                a, b, c = (x[:, place[p / n, q / n]] for p, q in triangle)
                total += float(np.einsum("ij,ij->", np.cross(a, b), c)) / 6.0
    return total


@pytest.mark.parametrize("name", BODIES)
def test_a_filling_has_the_bodys_shape_and_sound_elements(name: str) -> None:
    make, edge, euler, true = BODIES[name]
    mesh = make()
    tets = fill(smooth_surface(mesh), edge)
    assert tets.edge == pytest.approx(edge, rel=0.15)
    # curved elements have the volume of the smooth body, not that of its facets
    assert volume(tets) == pytest.approx(true or mesh_volume(mesh), rel=0.01)
    outer = tets.boundary[:, :3]
    edges, count = np.unique(np.sort(outer[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0, return_counts=True)
    assert (count == 2).all()
    assert len(np.unique(outer)) - len(edges) + len(outer) == euler
    straight = shapes(tets.nodes, tets.elements[:, :4])
    assert straight.min() > 0.1 and np.quantile(straight, 0.05) > 0.3


def test_corners_and_edges_of_a_block_are_kept() -> None:
    size = np.array([0.06, 0.04, 0.02])
    tets = fill(smooth_surface(of(trimesh.creation.box(size))), 6e-3)
    points = tets.nodes[: tets.corners]
    for corner in np.stack(np.meshgrid(*np.array([-0.5, 0.5])[None] * size[:, None]), axis=-1).reshape(-1, 3):
        assert np.linalg.norm(points - corner, axis=1).min() < 1e-12
    assert volume(tets) == pytest.approx(size.prod(), rel=1e-9)


def test_surface_points_are_evenly_spread() -> None:
    smooth = smooth_surface(of(trimesh.creation.icosphere(subdivisions=4, radius=0.03)))
    points, normals, edged = spread(smooth, sharp_edges(smooth, 5e-3), 5e-3)
    assert edged == 0
    assert np.linalg.norm(points, axis=1) == pytest.approx(0.03, rel=2e-3)
    assert np.einsum("ij,ij->i", normals, points) / 0.03 == pytest.approx(1.0, abs=0.02)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 0.6 * 5e-3
    assert apart.min(axis=1).max() < 1.2 * 5e-3


def test_nothing_lies_inside_an_open_sheet() -> None:
    box = trimesh.creation.box((0.04,) * 3)
    with pytest.raises(MeshError, match="cannot be filled"):
        fill(smooth_surface(Mesh(box.vertices, box.faces[:2])), 0.01)


def test_a_thread_in_a_large_box_is_refused_before_its_lattice_is_made() -> None:
    with pytest.raises(MeshError, match=r"is a thread in a large box: 8\.5e\+10 places to look at"):
        lattice(make_shape("box", size=(0.6, 0.3, 0.8), edge=1.0), 1e-4, 1.3)


def test_a_finer_filling_misses_less_of_a_ball() -> None:
    """Straight elements between points of the surface miss a share of the volume that falls with the edge squared."""
    mesh = of(trimesh.creation.icosphere(subdivisions=5, radius=0.03))
    smooth = smooth_surface(mesh)
    missing = []
    for edge in (0.012, 0.006):
        filling = fill_points(mesh, *spread(smooth, sharp_edges(smooth, edge), edge), edge)
        assert filling is not None and filling.sound
        missing.append(1 - filling.volume / (4 / 3 * np.pi * 0.03**3))
    assert 3.0 < missing[0] / missing[1] < 5.5


PROGRAM = """
import hashlib, trimesh
from pliant.objects import Mesh
from pliant.elastic import prepare_compliance
torus = trimesh.creation.torus(0.035, 0.015, major_sections=29, minor_sections=14)
made = prepare_compliance(Mesh(torus.vertices, torus.faces), 0.4, edge=0.012, cache=False)
print(hashlib.sha256(made.matrix.tobytes() + made.points.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_two_processes_prepare_exactly_the_same_compliance(tmp_path: Path) -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env=dict(os.environ),
        ).stdout
        for _ in range(2)
    ]
    assert len(found[0].strip()) == 64 and found[0] == found[1]
