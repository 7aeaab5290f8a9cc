"""Bodies: solids and vessels, their masses and centres."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import LiquidError, MaterialError
from pliant.objects import (
    Body,
    ContactLimits,
    Liquid,
    Material,
    fill,
    make_shape,
    mass_properties,
    mesh_volume,
    shell_mass_properties,
)

RUBBER = Material(5e5, 0.45, 1100.0, 0.8)
WEIGHTLESS = Material(2e9, 0.35, friction=0.4)


def test_a_solid_weighs_density_times_volume_or_the_given_mass() -> None:
    mesh = make_shape("torus")
    by_density = Body.from_mesh(mesh, RUBBER, limits=ContactLimits(force=15))
    assert by_density.kind == "solid"
    assert by_density.mass == pytest.approx(1100.0 * mesh_volume(mesh))
    assert by_density.limits.force == 15
    by_mass = Body.from_mesh(mesh, WEIGHTLESS, mass=0.2)
    assert by_mass.mass_properties().mass == pytest.approx(0.2)
    scaled = by_density.mass_properties().inertia * 0.2 / by_density.mass
    np.testing.assert_allclose(by_mass.mass_properties().inertia, scaled, rtol=1e-12, atol=1e-18)
    np.testing.assert_array_equal(by_mass.centre_of_mass((1, 0, 0)), by_mass.centre_of_mass((0, 0, 1)))


def test_a_vessel_is_wall_and_liquid_together() -> None:
    """Mass, centre and inertia about the common centre, summed by hand from the two parts."""
    mesh, up = make_shape("bottle"), np.array([0.6, 0.0, 0.8])
    body = Body.from_mesh(mesh, Material(2e9, 0.35, 1300.0, 0.4), liquid=Liquid(3e-4, 1000.0, wall=5e-4))
    wall_mass = 1300.0 * 5e-4 * mesh.area
    assert body.kind == "vessel"
    assert body.mass == pytest.approx(wall_mass + 0.3)
    wall, liquid = shell_mass_properties(mesh, mass=wall_mass), fill(mesh, 3e-4, up)
    found = body.mass_properties(up)
    centre = (wall_mass * wall.centre + 0.3 * liquid.centroid) / body.mass
    np.testing.assert_allclose(found.centre, centre, atol=1e-14)
    # Trace of the inertia is 2 * sum m r^2, and moving each part to the common centre adds 2 m d^2.
    by_hand = np.trace(wall.inertia) + np.trace(liquid.mass_properties(1000.0).inertia)
    by_hand += 2 * wall_mass * np.sum((wall.centre - centre) ** 2) + 2 * 0.3 * np.sum((liquid.centroid - centre) ** 2)
    assert np.trace(found.inertia) == pytest.approx(by_hand, rel=1e-12)


def test_tilting_a_vessel_moves_its_centre_of_mass_to_the_low_side() -> None:
    body = Body.from_mesh(make_shape("bottle"), WEIGHTLESS, liquid=Liquid(2e-4))
    assert body.mass == pytest.approx(0.2)
    upright, tilted = body.centre_of_mass(), body.centre_of_mass((0.5, 0.0, 1.0))
    assert abs(upright[0]) < 1e-12
    assert tilted[0] < -1e-3


def test_the_empty_vessels_mass_may_be_given() -> None:
    body = Body.from_mesh(make_shape("bottle"), WEIGHTLESS, mass=0.025, liquid=Liquid(0.0))
    assert body.mass == 0.025
    np.testing.assert_allclose(body.centre_of_mass(), shell_mass_properties(body.mesh, mass=1.0).centre)


def test_a_squeezed_solid_keeps_its_mass() -> None:
    mesh = make_shape("sphere")
    body = Body.from_mesh(mesh, RUBBER)
    squeezed = body.deformed(mesh.vertices * (0.8, 1.0, 1.0))
    found = squeezed.mass_properties()
    assert found.mass == pytest.approx(body.mass, rel=1e-14)
    assert found.density == pytest.approx(1100.0 / 0.8, rel=1e-9)
    np.testing.assert_allclose(found.inertia, mass_properties(squeezed.mesh, mass=body.mass).inertia)


def test_squeezing_a_full_vessel_too_far_is_said() -> None:
    mesh = make_shape("bottle")
    body = Body.from_mesh(mesh, WEIGHTLESS, liquid=Liquid(0.98 * mesh_volume(mesh)))
    with pytest.raises(LiquidError, match="squeezed as it is"):
        body.deformed(mesh.vertices * (0.9, 1.0, 1.0)).mass_properties()


def test_mass_and_density_together_or_neither_are_refused() -> None:
    mesh = make_shape("sphere")
    with pytest.raises(MaterialError, match="both mass 1 kg and density 1100 kg/m3 are given; give one"):
        Body.from_mesh(mesh, RUBBER, mass=1.0)
    with pytest.raises(MaterialError, match="neither mass nor density"):
        Body.from_mesh(mesh, WEIGHTLESS)
    for mass in (0.0, -1.0, float("nan")):
        with pytest.raises(MaterialError, match="above 0"):
            Body.from_mesh(mesh, WEIGHTLESS, mass=mass)


def test_a_vessel_that_overflows_or_weighs_nothing_is_refused_at_once() -> None:
    mesh = make_shape("bottle")
    with pytest.raises(LiquidError, match="holds"):
        Body.from_mesh(mesh, WEIGHTLESS, liquid=Liquid(1.0))
    with pytest.raises(LiquidError, match="without weight"):
        Body.from_mesh(mesh, WEIGHTLESS, liquid=Liquid(0.0))
    with pytest.raises(LiquidError, match=r"liquid.wall: absent"):
        Body.from_mesh(mesh, RUBBER, liquid=Liquid(1e-4))
