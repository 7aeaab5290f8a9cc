"""Mass properties against closed forms, with the rate at which a finer mesh approaches them."""

from __future__ import annotations

import time

import numpy as np
import pinocchio
import pytest

from pliant.errors import MaterialError
from pliant.objects import SHAPES, Mesh, combine, make_shape, mass_properties, mesh_volume, shell_mass_properties
from pliant.objects.mesh.clipping import clip_below

RHO = 900.0


def fitted_rate(edges: list[float], errors: list[float]) -> float:
    return float(np.polyfit(np.log(edges), np.log(errors), 1)[0])


def mean_edge(mesh: Mesh) -> float:
    return float(np.linalg.norm(mesh.corners - np.roll(mesh.corners, 1, axis=1), axis=2).mean())


def torus_truth(major: float, minor: float) -> tuple[float, np.ndarray]:
    m = RHO * 2 * np.pi**2 * major * minor**2
    across = m * (4 * major**2 + 5 * minor**2) / 8
    return m, np.diag([across, across, m * (4 * major**2 + 3 * minor**2) / 4])


def sphere_truth(radius: float) -> tuple[float, np.ndarray]:
    m = RHO * 4 / 3 * np.pi * radius**3
    return m, 0.4 * m * radius**2 * np.eye(3)


def cylinder_truth(radius: float, height: float) -> tuple[float, np.ndarray]:
    m = RHO * np.pi * radius**2 * height
    across = m * (3 * radius**2 + height**2) / 12
    return m, np.diag([across, across, m * radius**2 / 2])


@pytest.mark.parametrize(
    ("name", "parameters", "truth"),
    [
        ("torus", {"major": 0.035, "minor": 0.015}, torus_truth(0.035, 0.015)),
        ("sphere", {"radius": 0.03}, sphere_truth(0.03)),
        ("cylinder", {"radius": 0.03, "height": 0.1}, cylinder_truth(0.03, 0.1)),
        ("disc", {"radius": 0.04, "thickness": 0.01}, cylinder_truth(0.04, 0.01)),
    ],
)
def test_mass_and_inertia_approach_the_closed_form_with_the_square_of_the_edge(name, parameters, truth) -> None:
    mass, inertia = truth
    edges, mass_errors, inertia_errors = [], [], []
    for edge in (0.008, 0.004, 0.002, 0.001):
        mesh = make_shape(name, **parameters, edge=edge)
        found = mass_properties(mesh, density=RHO)
        edges.append(mean_edge(mesh))
        mass_errors.append(abs(found.mass / mass - 1))
        inertia_errors.append(np.linalg.norm(found.inertia - inertia) / np.linalg.norm(inertia))
        # Mirror and six-fold symmetry leave rounding only.
        assert np.linalg.norm(found.centre) < 1e-12
    assert fitted_rate(edges, mass_errors) == pytest.approx(2.0, abs=0.2)
    assert fitted_rate(edges, inertia_errors) == pytest.approx(2.0, abs=0.2)
    assert mass_errors[-1] < 2e-3


def test_spherical_cap_centre_approaches_the_closed_form_with_the_square_of_the_edge() -> None:
    """Cap of height h: V = pi h^2 (3R - h) / 3, centroid 3 (2R - h)^2 / (4 (3R - h)) from the sphere's centre."""
    radius, h = 0.03, 0.02
    volume = np.pi * h**2 * (3 * radius - h) / 3
    depth = 3 * (2 * radius - h) ** 2 / (4 * (3 * radius - h))
    edges, volume_errors, centre_errors = [], [], []
    for edge in (0.004, 0.002, 0.001, 0.0005):
        mesh = make_shape("sphere", radius=radius, edge=edge)
        cap = clip_below(mesh, np.array([0.0, 0.0, 1.0]), h - radius).below
        found = mass_properties(cap, density=RHO)
        edges.append(mean_edge(mesh))
        volume_errors.append(abs(found.volume / volume - 1))
        centre_errors.append(abs(found.centre[2] + depth) / depth)
    assert fitted_rate(edges, volume_errors) == pytest.approx(2.0, abs=0.2)
    assert fitted_rate(edges, centre_errors) == pytest.approx(2.0, abs=0.4)
    assert centre_errors[-1] * depth < 1e-5


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_shape_approaches_its_exact_volume(name: str) -> None:
    shape = SHAPES[name]
    coarse, fine = (make_shape(name, edge=edge) for edge in (0.004, 0.001))
    exact = shape.exact_volume()
    error = abs(mesh_volume(fine) / exact - 1)
    assert error < 2e-3
    assert error <= max(0.25 * abs(mesh_volume(coarse) / exact - 1), 1e-4)


def test_a_box_is_exact_for_any_mesh() -> None:
    a, b, c = size = (0.06, 0.04, 0.1)
    for edge in (0.2, 0.013, 0.004):
        found = mass_properties(make_shape("box", size=size, edge=edge), density=RHO)
        m = RHO * a * b * c
        assert found.mass == pytest.approx(m, rel=1e-13)
        expected = m / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
        np.testing.assert_allclose(found.inertia, expected, rtol=1e-12, atol=1e-16)


def test_moving_and_turning_the_mesh_moves_and_turns_the_answer() -> None:
    rng = np.random.default_rng(3)
    mesh = make_shape("banana")
    here = mass_properties(mesh, density=RHO)
    for _ in range(10):
        T = pinocchio.SE3.Random()
        T.translation = rng.normal(size=3)
        there = mass_properties(mesh.transformed(T), density=RHO)
        assert there.mass == pytest.approx(here.mass, rel=1e-12)
        np.testing.assert_allclose(there.centre, T.act(here.centre), atol=1e-13)
        np.testing.assert_allclose(there.inertia, T.rotation @ here.inertia @ T.rotation.T, rtol=1e-9, atol=1e-15)


def test_a_mesh_a_kilometre_away_keeps_its_mass_and_inertia() -> None:
    """Coordinates at 1 km carry 1e-13 m of rounding: 1e-11 of a 3 cm body; about the origin it would be 1e-3."""
    mesh = make_shape("torus")
    near, far = (mass_properties(m, density=RHO) for m in (mesh, mesh.moved((1000.0, -700.0, 300.0))))
    assert far.mass == pytest.approx(near.mass, rel=1e-9)
    np.testing.assert_allclose(far.inertia, near.inertia, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(far.centre - (1000.0, -700.0, 300.0), near.centre, atol=1e-9)


def test_two_halves_combine_to_the_whole() -> None:
    mesh = make_shape("banana")
    up = np.array([1.0, 0.5, 0.2]) / np.linalg.norm([1.0, 0.5, 0.2])
    parts = [clip_below(mesh, up, 0.01)[0], clip_below(mesh, -up, -0.01)[0]]
    whole = mass_properties(mesh, density=RHO)
    joined = combine(*(mass_properties(part, density=RHO) for part in parts))
    assert joined.mass == pytest.approx(whole.mass, rel=1e-12)
    np.testing.assert_allclose(joined.centre, whole.centre, atol=1e-14)
    np.testing.assert_allclose(joined.inertia, whole.inertia, rtol=1e-10, atol=1e-16)


def test_thin_spherical_wall_has_two_thirds_m_r_squared() -> None:
    mesh = make_shape("sphere", radius=0.03, edge=0.001)
    wall = shell_mass_properties(mesh, mass=0.2)
    np.testing.assert_allclose(wall.inertia, 2 / 3 * 0.2 * 0.03**2 * np.eye(3), rtol=1e-3, atol=1e-12)
    thick = shell_mass_properties(mesh, areal_density=1.5)
    assert thick.mass == pytest.approx(1.5 * 4 * np.pi * 0.03**2, rel=1e-3)


def test_thin_wall_is_the_limit_of_a_hollow_solid() -> None:
    """Derivative of a solid's moments with respect to its size: shell = (solid(1 + e) - solid(1 - e)) / (2 e R)."""
    mesh, e = make_shape("sphere", radius=0.03, edge=0.002), 1e-4
    plus, minus = (mass_properties(mesh.scaled(1 + s * e), density=1.0) for s in (1, -1))
    # Faces of the geodesic ball are not all at distance R: the offset distance averages V / (A / 3).
    distance = 3 * mesh_volume(mesh) / mesh.area
    wall = shell_mass_properties(mesh, areal_density=1.0)
    assert (plus.mass - minus.mass) / (2 * e * distance) == pytest.approx(wall.mass, rel=1e-6)
    np.testing.assert_allclose((plus.inertia - minus.inertia) / (2 * e * distance), wall.inertia, rtol=2e-3, atol=1e-12)


def test_mass_and_density_together_or_neither_are_refused() -> None:
    mesh = make_shape("box", edge=0.1)
    for given in ({}, {"density": 1.0, "mass": 1.0}):
        with pytest.raises(MaterialError, match="either a density or a mass"):
            mass_properties(mesh, **given)
        with pytest.raises(MaterialError, match="either"):
            shell_mass_properties(mesh, **{{"density": "areal_density"}.get(k, k): v for k, v in given.items()})


@pytest.mark.performance
def test_mass_properties_of_3000_faces_take_less_than_two_milliseconds() -> None:
    mesh = make_shape("bottle", edge=0.0054)
    assert 2900 <= len(mesh.faces) <= 3300
    mass_properties(mesh, density=RHO)
    times = []
    for _ in range(20):
        fresh = Mesh(mesh.vertices, mesh.faces)
        start = time.process_time()
        mass_properties(fresh, density=RHO)
        times.append(time.process_time() - start)
    assert min(times) < 2e-3
