"""Liquid at rest: closed forms (sphere, tilted box), identities (hydrostatics, derivative), kept volume at any tilt."""

from __future__ import annotations

import time

import numpy as np
import pinocchio
import pytest

from pliant.errors import LiquidError
from pliant.objects import (
    Liquid,
    LiquidState,
    Mesh,
    clip_below,
    fill,
    make_shape,
    mass_properties,
    mesh_volume,
    repair_mesh,
)
from pliant.objects.mesh.topology import edges_of

MM = 1e-3


def directions(count: int, seed: int) -> np.ndarray:
    u = np.random.default_rng(seed).normal(size=(count, 3))
    return u / np.linalg.norm(u, axis=1, keepdims=True)


def wetted(state: LiquidState) -> Mesh:
    """The liquid as a closed mesh: wetted wall and free surface."""
    return clip_below(state.mesh, state.up, state.level).below


def free_surface(state: LiquidState) -> Mesh:
    return clip_below(state.mesh, state.up, state.level).cap


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 1.0, 1.4, 1.9])
def test_sphere_level_and_centroid_equal_the_cap_formulas_to_a_hundredth_of_a_millimetre(share: float) -> None:
    """V = pi h^2 (3R - h) / 3 and the centroid 3 (2R - h)^2 / (4 (3R - h)) below the centre."""
    R = 0.04
    h = share * R
    # The mesh lies inside the ball; near the top what it lacks spreads over a small surface, so it must lack less.
    mesh = make_shape("sphere", radius=R, edge=0.0007 if share < 1.5 else 0.00035)
    volume = np.pi * h**2 * (3 * R - h) / 3
    for up in directions(3, seed=1):
        state = fill(mesh, volume, up)
        assert abs(state.level - (h - R)) < 0.01 * MM
        depth = 3 * (2 * R - h) ** 2 / (4 * (3 * R - h))
        assert np.linalg.norm(state.centroid + depth * up) < 0.01 * MM
        assert free_surface(state).area == pytest.approx(np.pi * h * (2 * R - h), abs=2 * np.pi * R * 0.01 * MM)


@pytest.mark.parametrize("angle_deg", [0.0, 5.0, 20.0, -20.0])
def test_tilted_box_with_all_its_floor_wet_follows_the_prism_formulas(angle_deg: float) -> None:
    """Depth d at the middle; surface z = z0 - x tan t: x = -a^2 tan t / (12 d), z = d / 2 + a^2 tan^2 t / (24 d)."""
    a, b, c = 0.06, 0.04, 0.1
    t = np.radians(angle_deg)
    d = 0.05
    state = fill(make_shape("box", size=(a, b, c)), a * b * d, (np.sin(t), 0.0, np.cos(t)))
    assert state.level == pytest.approx((d - c / 2) * np.cos(t), abs=1e-14)
    expected = (-np.tan(t) * a**2 / (12 * d), 0.0, -c / 2 + d / 2 + np.tan(t) ** 2 * a**2 / (24 * d))
    np.testing.assert_allclose(state.centroid, expected, atol=1e-14)
    assert free_surface(state).area == pytest.approx(a * b / np.cos(t), rel=1e-12)


@pytest.mark.parametrize("angle_deg", [30.0, 60.0])
def test_tilted_box_with_a_wedge_in_its_corner_follows_the_prism_formulas(angle_deg: float) -> None:
    """Triangular prism with legs p and p tan t: V = b p^2 tan t / 2, centroid a third of the legs from the corner."""
    a, b, c = 0.06, 0.04, 0.1
    t = np.radians(angle_deg)
    p = 0.03
    volume = b * p**2 * np.tan(t) / 2
    state = fill(make_shape("box", size=(a, b, c), edge=0.1), volume, (np.sin(t), 0.0, np.cos(t)))
    assert state.level == pytest.approx(np.sin(t) * (-a / 2 + p) - np.cos(t) * c / 2, abs=1e-14)
    np.testing.assert_allclose(state.centroid, (-a / 2 + p / 3, 0.0, -c / 2 + p * np.tan(t) / 3), atol=1e-14)


def test_box_on_its_corner_holds_a_tetrahedron() -> None:
    """Legs L_i = s / u_i cut by the plane at distance s from the corner: V = L1 L2 L3 / 6, centroid at L / 4."""
    size = np.array([0.06, 0.05, 0.07])
    up = np.array([0.5, 0.7, 0.4]) / np.linalg.norm([0.5, 0.7, 0.4])
    s = 0.02
    legs = s / up
    assert (legs < size).all()
    state = fill(make_shape("box", size=tuple(size)), legs.prod() / 6, up)
    assert state.level == pytest.approx(-size @ up / 2 + s, abs=1e-14)
    np.testing.assert_allclose(state.centroid, -size / 2 + legs / 4, atol=1e-14)


@pytest.mark.parametrize("name", ["bottle", "torus", "banana", "cup", "box"])
def test_twenty_random_tilts_keep_the_volume_to_1e_9(name: str) -> None:
    """Five shapes, a hundred tilts; the volume is measured anew on the clipped, capped mesh."""
    mesh = make_shape(name)
    capacity = mesh_volume(mesh)
    rng = np.random.default_rng(11)
    for up in directions(20, seed=7):
        volume = capacity * rng.uniform(0.01, 0.99)
        state = fill(mesh, volume, up)
        assert state.volume == pytest.approx(volume, rel=1e-12)
        assert mesh_volume(wetted(state)) == pytest.approx(volume, rel=1e-9)
        assert (edges_of(wetted(state).faces).count == 2).all()
        exact = mass_properties(wetted(state), density=1000.0)
        frozen = state.mass_properties(1000.0)
        np.testing.assert_allclose(frozen.centre, exact.centre, atol=1e-12)
        np.testing.assert_allclose(frozen.inertia, exact.inertia, rtol=1e-8, atol=1e-15)
        face = free_surface(state)
        np.testing.assert_allclose(face.vertices @ state.up, state.level, atol=1e-13)
        assert (face.face_vectors @ state.up).sum() == pytest.approx(face.area, rel=1e-8)


def test_free_surface_area_is_the_derivative_of_volume_by_level() -> None:
    mesh = make_shape("banana")
    for up in directions(5, seed=2):
        V, dV = 0.4 * mesh_volume(mesh), 1e-9
        low, middle, high = (fill(mesh, V + k * dV, up) for k in (-1, 0, 1))
        assert 2 * dV / (high.level - low.level) == pytest.approx(free_surface(middle).area, rel=1e-5)


def test_pressure_on_the_wetted_wall_carries_the_weight_through_the_centroid() -> None:
    """Archimedes: the sum of p n dA over the wall is the weight, its moment that of the weight at the centroid."""
    mesh = make_shape("bottle")
    for up in directions(10, seed=5):
        state = fill(mesh, 2.5e-4, up)
        wall = wetted(state)
        corners = wall.corners
        depth = state.level - corners @ state.up  # per corner; linear on a face, so the integrals below are exact
        assert depth.min() > -1e-12
        a = wall.face_vectors
        force = np.einsum("f,fi->i", depth.mean(axis=1), a)
        # Integral of p x over a triangle of area A: A / 12 (sum p_i x_i + sum p sum x).
        arm = (np.einsum("fk,fki->fi", depth, corners) + depth.sum(axis=1)[:, None] * corners.sum(axis=1)) / 12.0
        moment = np.cross(arm, a).sum(axis=0)
        np.testing.assert_allclose(force, -state.volume * state.up, atol=1e-15)
        np.testing.assert_allclose(moment, np.cross(state.centroid, -state.volume * state.up), atol=1e-15)


def test_moving_and_turning_vessel_and_gravity_together_changes_nothing() -> None:
    mesh = make_shape("bottle")
    pinocchio.seed(4)
    for up in directions(5, seed=9):
        T = pinocchio.SE3.Random()
        here, there = fill(mesh, 2e-4, up), fill(mesh.transformed(T), 2e-4, T.rotation @ up)
        np.testing.assert_allclose(there.centroid, T.act(here.centroid), atol=1e-12)
        assert there.level == pytest.approx(here.level + T.translation @ T.rotation @ up, abs=1e-12)


def test_a_bottle_upside_down_is_the_bottle_less_its_air() -> None:
    mesh = make_shape("bottle")
    capacity = mesh_volume(mesh)
    liquid, air = fill(mesh, 0.3 * capacity, (0, 0, -1)), fill(mesh, 0.7 * capacity, (0, 0, 1))
    assert liquid.level == pytest.approx(-air.level, abs=1e-13)
    whole = mass_properties(mesh, density=1.0)
    np.testing.assert_allclose(0.3 * liquid.centroid + 0.7 * air.centroid, whole.centre, atol=1e-14)


def test_level_exactly_at_a_flat_floor_and_at_vertices_is_no_trouble() -> None:
    mesh = make_shape("box", size=(0.1, 0.1, 0.1), edge=0.025)
    for share in (0.25, 0.5, 0.75):  # rings of vertices lie exactly on the free surface
        state = fill(mesh, share * 1e-3)
        assert state.level == pytest.approx(-0.05 + 0.1 * share, abs=1e-14)
        assert mesh_volume(wetted(state)) == pytest.approx(share * 1e-3, rel=1e-12)
        assert free_surface(state).area == pytest.approx(0.01, rel=1e-9)


def test_an_empty_and_a_full_vessel_are_legal() -> None:
    mesh = make_shape("bottle")
    capacity = mesh_volume(mesh)
    empty, full = fill(mesh, 0.0, (0.3, 0, 1)), fill(mesh, capacity, (0.3, 0, 1))
    assert empty.volume == 0.0
    assert empty.level == pytest.approx((mesh.vertices @ empty.up).min())
    assert full.volume == pytest.approx(capacity, rel=1e-14)
    assert full.level == pytest.approx((mesh.vertices @ full.up).max())
    np.testing.assert_allclose(full.centroid, mass_properties(mesh, density=1.0).centre, atol=1e-14)
    assert len(wetted(empty).faces) == 0
    assert fill(mesh, capacity * (1 + 1e-12)).volume == pytest.approx(capacity)
    drop = fill(mesh, 1e-12 * capacity, (0.3, 0, 1))
    assert mesh_volume(wetted(drop)) == pytest.approx(1e-12 * capacity, rel=1e-3)


def test_more_liquid_than_the_vessel_holds_says_how_much_it_holds() -> None:
    mesh = make_shape("bottle")
    capacity = mesh_volume(mesh)
    with pytest.raises(LiquidError, match=rf"bottle: volume: .*holds {1e6 * capacity:.4f} cm3") as caught:
        fill(mesh, 1.1 * capacity)
    assert "squeezed" not in str(caught.value)
    squeezed = Mesh(mesh.vertices * (0.9, 1.0, 1.0), mesh.faces, "bottle")
    with pytest.raises(LiquidError, match=r"squeezed as it is, the vessel holds .* at rest"):
        fill(squeezed, 0.95 * capacity, rest_capacity=capacity)


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"volume": -1e-4}, "volume"),
        ({"volume": float("nan")}, "volume"),
        ({"volume": 1e-4, "density": 0.0}, "density"),
        ({"volume": 1e-4, "wall": -0.1}, "wall"),
        ({"volume": "much"}, "volume"),
    ],
)
def test_impossible_liquids_are_refused_by_field(values, where: str) -> None:
    with pytest.raises(LiquidError) as caught:
        Liquid(**values)
    assert [problem.where for problem in caught.value.problems] == [where]


def test_bad_directions_open_and_reversed_vessels_are_refused() -> None:
    mesh = make_shape("sphere")
    for up in ((0, 0, 0), (0, 0, float("nan")), (0, 1)):
        with pytest.raises(LiquidError, match="up"):
            fill(mesh, 1e-5, up)
    with pytest.raises(LiquidError, match="faces outwards"):
        fill(mesh.flipped(), 1e-5)
    with pytest.raises(LiquidError, match="0 or more"):
        fill(mesh, -1e-5)


def test_wetted_mesh_of_a_smooth_vessel_is_a_sound_mesh() -> None:
    state = fill(make_shape("torus"), 2e-5, (0.9, 0.1, 0.2))
    answer = repair_mesh(wetted(state))
    assert answer.report.repaired == ()
    assert answer.report.volume == pytest.approx(2e-5, rel=1e-9)


@pytest.mark.performance
def test_filling_3000_faces_takes_less_than_twenty_milliseconds() -> None:
    mesh = make_shape("bottle", edge=0.0054)
    assert 2900 <= len(mesh.faces) <= 3300
    fill(mesh, 1e-4)
    times = []
    for up in directions(20, seed=3):
        fresh = Mesh(mesh.vertices, mesh.faces)
        start = time.process_time()
        fill(fresh, 2e-4, up)
        times.append(time.process_time() - start)
    assert max(sorted(times)[:10]) < 20e-3
