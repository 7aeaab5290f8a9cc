"""The local problem against closed forms of the half-space: force 1 %, radius 1 %, peak pressure 3 %."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from contact_bodies import pose_along, spread_ball

from pliant.contact import MeshSurface, PadSurface, PreparedObject, SphereSurface, solve_contacts
from pliant.contact.pressure import love_table, solve_pressures
from pliant.objects import Mesh

Z = np.array([0.0, 0.0, 1.0])


def top_of_flat(offset: float) -> pin.SE3:
    return pin.SE3(np.eye(3), np.array([0.001, 0.002, 0.05 + offset]))


@pytest.mark.parametrize("cells", [12, 16, 24])
def test_rigid_sphere_on_plane_is_hertz(flat: PreparedObject, cells: int) -> None:
    state = solve_contacts(
        flat, [PadSurface("s", SphereSurface(0.03))], [top_of_flat(0.03 - 0.15e-3)], free=False, cells=cells
    )
    region = state.regions[0]
    assert region.normal_force == pytest.approx(0.26586, rel=0.01)
    assert region.radius == pytest.approx(2.1196e-3, rel=0.01)
    assert region.peak_pressure == pytest.approx(0.028223e6, rel=0.03)


def test_two_elastic_spheres_are_hertz_whichever_is_the_object() -> None:
    a, b = (SphereSurface(0.03), 5e5, 0.45), (SphereSurface(0.02), 2e6, 0.3)
    forces = []
    for (s1, e1, n1), (s2, e2, n2) in ((a, b), (b, a)):
        state = solve_contacts(
            PreparedObject(s1, e1, n1, None),
            [PadSurface("pad", s2, e2, n2)],
            [pin.SE3(np.eye(3), Z * (0.05 - 0.06e-3))],
            free=False,
        )
        region = state.regions[0]
        forces.append(region.normal_force)
        assert region.normal_force == pytest.approx(0.033113, rel=0.01)
        assert region.radius == pytest.approx(0.84853e-3, rel=0.01)
        assert region.peak_pressure == pytest.approx(0.021959e6, rel=0.03)
    assert forces[0] == pytest.approx(forces[1], rel=1e-3)


def paraboloid(rx: float, ry: float, reach: float, edge: float) -> Mesh:
    """An open patch z = x^2 / 2 rx + y^2 / 2 ry facing -z."""
    n = int(2 * reach / edge) + 1
    x, y = np.meshgrid(np.linspace(-reach, reach, n), np.linspace(-reach, reach, n), indexing="ij")
    rng = np.random.default_rng(1)
    inside = np.zeros((n, n), bool)
    inside[1:-1, 1:-1] = True
    x = x + inside * rng.normal(0, 0.12 * edge, x.shape)
    y = y + inside * rng.normal(0, 0.12 * edge, y.shape)
    v = np.column_stack([x.ravel(), y.ravel(), (x**2 / 2 / rx + y**2 / 2 / ry).ravel()])
    i = np.arange(n * n).reshape(n, n)
    a, b, c, d = i[:-1, :-1].ravel(), i[1:, :-1].ravel(), i[1:, 1:].ravel(), i[:-1, 1:].ravel()
    return Mesh(v, np.concatenate([np.column_stack([a, c, b]), np.column_stack([a, d, c])]))


@pytest.mark.parametrize("turn", [0.0, 0.6])
def test_crossed_profile_is_elliptic_hertz(flat: PreparedObject, turn: float) -> None:
    pad = PadSurface.of(paraboloid(0.03, 0.01, 0.004, 0.4e-3))
    rotation = pin.exp3(Z * turn)
    state = solve_contacts(flat, [pad], [pin.SE3(rotation, Z * (0.05 - 0.05e-3))], free=False)
    region = state.regions[0]
    assert region.normal_force == pytest.approx(0.039871, rel=0.01)
    assert np.sort(region.half_axes) == pytest.approx([0.64136e-3, 1.3289e-3], rel=0.015)
    assert region.peak_pressure == pytest.approx(0.022336e6, rel=0.03)


def test_flat_punch_within_two_per_cent(flat: PreparedObject) -> None:
    import trimesh

    punch = trimesh.creation.cylinder(0.01, 0.02, sections=96)
    pad = PadSurface.of(Mesh(punch.vertices, punch.faces))
    state = solve_contacts(flat, [pad], [top_of_flat(0.01 - 0.05e-3)], free=False)
    assert state.regions[0].normal_force == pytest.approx(0.62696, rel=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_sphere_meshed_with_three_edges_across_the_contact_within_two_per_cent(flat: PreparedObject, seed: int) -> None:
    # 2 a = 4.24 mm, so edges of 1.4 mm: about 6600 vertices on the whole ball
    pad = PadSurface.of(spread_ball(6600, 0.03, seed))
    rotation = pin.exp3(np.random.default_rng(seed).normal(size=3))
    state = solve_contacts(flat, [pad], [pin.SE3(rotation, np.array([0, 0, 0.05 + 0.03 - 0.15e-3]))], free=False)
    assert state.regions[0].normal_force == pytest.approx(0.26586, rel=0.02)


def test_force_grows_continuously_from_first_touch_with_power_three_halves(flat: PreparedObject) -> None:
    pad = PadSurface("s", SphereSurface(0.01))
    depths = np.geomspace(1e-6, 1e-3, 25)
    forces = np.array(
        [solve_contacts(flat, [pad], [top_of_flat(0.01 - d)], free=False).regions[0].normal_force for d in depths]
    )
    assert (np.diff(forces) > 0).all()
    slope = np.diff(np.log(forces)) / np.diff(np.log(depths))
    assert slope == pytest.approx(1.5, abs=0.06)
    assert solve_contacts(flat, [pad], [top_of_flat(0.01 + 1e-6)], free=False).regions == ()


def test_mindlin_ratio_of_tangential_to_normal_stiffness(flat: PreparedObject) -> None:
    state = solve_contacts(
        flat, [PadSurface("s", SphereSurface(0.03))], [top_of_flat(0.03 - 0.15e-3)], free=False, cells=24
    )
    k = np.diag(state.regions[0].stiffness)
    # K_n = 2 E* a, K_t / K_n = 2 (1 - nu) / (2 - nu)
    assert k[2] == pytest.approx(2 * 5e5 / (1 - 0.45**2) * 2.1196e-3, rel=0.02)
    assert k[0] / k[2] == pytest.approx(2 * (1 - 0.45) / (2 - 0.45), rel=0.02)


def test_normal_stiffness_is_the_derivative_of_the_force(flat: PreparedObject) -> None:
    pad = PadSurface("s", SphereSurface(0.03))

    def at(depth: float) -> object:
        return solve_contacts(flat, [pad], [top_of_flat(0.03 - depth)], free=False, cells=24).regions[0]

    step = 0.02e-3
    slope = (at(0.3e-3 + step).normal_force - at(0.3e-3 - step).normal_force) / (2 * step)  # type: ignore[attr-defined]
    assert at(0.3e-3).stiffness[2, 2] == pytest.approx(slope, rel=0.02)  # type: ignore[attr-defined]


def test_love_kernel_far_away_is_boussinesq_and_near_is_a_loaded_square() -> None:
    table = love_table(40, 1e-3, 1e-3)
    assert table[30, 20] == pytest.approx(1 / (np.pi * np.hypot(30e-3, 20e-3)), rel=1e-4)
    # centre of a uniformly loaded square of side s: 4 asinh(1) / (pi s)
    assert table[0, 0] == pytest.approx(4 * np.arcsinh(1) / (np.pi * 1e-3), rel=1e-9)


def test_complementarity_conditions_hold_for_random_problems() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        a = rng.normal(size=(40, 40))
        c = a @ a.T + 5 * np.eye(40)
        pen = rng.normal(size=40)
        answer = solve_pressures(c, pen, np.zeros((40, 0)), np.zeros(0))
        w = c @ answer.forces - pen
        assert (answer.forces >= 0).all() and (w > -1e-9).all()
        assert abs(answer.forces @ w) < 1e-9


def test_smooth_surface_carries_a_coarse_ball_a_thousand_times_better_than_its_facets() -> None:
    mesh = spread_ball(400, 0.03)
    surface = MeshSurface.of(mesh)
    centres = mesh.vertices[mesh.faces].mean(axis=1)
    points, normals, _ = surface.smooth.project(centres)
    facet_error = np.abs(np.linalg.norm(centres, axis=1) - 0.03).max()
    assert np.abs(np.linalg.norm(points, axis=1) - 0.03).max() < 1e-3 * facet_error
    assert np.einsum("ij,ij->i", normals, points).min() > 0.03 * (1 - 1e-6)


def test_pose_helper_points_z_along_the_direction() -> None:
    assert pose_along([0, 3, 4], [0, 0, 0]).rotation[:, 2] == pytest.approx([0, 0.6, 0.8])
