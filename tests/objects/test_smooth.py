"""The smooth surface through a mesh: true bodies, in any frame."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import trimesh

from pliant.objects import Mesh
from pliant.objects.mesh.smooth import smooth_surface


def turned(mesh: trimesh.Trimesh, seed: int) -> tuple[Mesh, pin.SE3]:
    rng = np.random.default_rng(seed)
    pose = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    return Mesh(mesh.vertices @ pose.rotation.T + pose.translation, mesh.faces), pose


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_tube_of_long_triangles_stays_straight_in_any_frame(seed: int) -> None:
    """Vertices lie at its ends only: nothing says how it bends along, so it does not."""
    mesh, pose = turned(trimesh.creation.cylinder(0.025, 0.08, sections=48), seed)
    angle, height = np.random.default_rng(0).uniform([0, -0.035], [2 * np.pi, 0.035], (500, 2)).T
    points = np.column_stack([0.025 * np.cos(angle), 0.025 * np.sin(angle), height])
    found = smooth_surface(mesh).project(np.array([pose.act(p) for p in points])).points
    back = (found - pose.translation) @ pose.rotation
    # facets are up to 54 um below
    assert np.hypot(back[:, 0], back[:, 1]) == pytest.approx(0.025, abs=2e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_ring_of_twelve_sides_is_round(seed: int) -> None:
    mesh, pose = turned(trimesh.creation.torus(0.035, 0.015, major_sections=33, minor_sections=12), seed)
    around, across = np.random.default_rng(0).uniform(0, 2 * np.pi, (500, 2)).T
    radius = 0.035 + 0.015 * np.cos(across)
    points = np.column_stack([radius * np.cos(around), radius * np.sin(around), 0.015 * np.sin(across)])
    found = smooth_surface(mesh).project(np.array([pose.act(p) for p in points])).points
    back = (found - pose.translation) @ pose.rotation
    tube = np.hypot(np.hypot(back[:, 0], back[:, 1]) - 0.035, back[:, 2])
    # facets are up to 510 um below
    assert np.abs(tube - 0.015).max() < 60e-6
