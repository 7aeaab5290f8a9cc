"""Thin-walled vessels: Reissner's sphere, contents, bottles."""

from functools import cache

import numpy as np
import pytest
import trimesh
from contact_bodies import pose_along

from pliant.contact import (
    ContactStatus,
    PadSurface,
    PlaneSurface,
    PreparedObject,
    SphereSurface,
    press,
    settle,
    solve_contacts,
)
from pliant.elastic.compliance import Compliance
from pliant.elastic.shell import gas_stiffness, prepare_shell, with_contents
from pliant.errors import LiquidError, OptionError
from pliant.objects import Liquid, Mesh, make_shape, mesh_volume

RADIUS, WALL, POISSON, YOUNG, PAD = 0.03, 5e-4, 0.3, 1e9, 0.005


@cache
def ball():
    return make_shape("sphere", radius=RADIUS)


@cache
def shell(edge: float = 0.006) -> Compliance:
    return prepare_shell(ball(), POISSON, WALL, edge=edge)


def _prepared(edge=0.006, contents=None, young=YOUNG):
    return PreparedObject.of(ball(), young=young, poisson=POISSON, wall=WALL, edge=edge, contents=contents)


def _squeezed(prepared, depth, axis=(0.0, 0.0, 1.0), pad=PAD):
    a = RADIUS * np.asarray(axis) / np.linalg.norm(axis)
    pads = [PadSurface(name, SphereSurface(pad)) for name in ("one", "other")]
    return press(prepared, pads, [(a, None), (-a, None)], depth)


def _series(depth):
    """Force of Reissner's shell in series with Hertz, both ends alike."""
    k = 4 * YOUNG * WALL**2 / ((RADIUS - WALL / 2) * np.sqrt(3 * (1 - POISSON**2)))
    radius, modulus = 1 / (1 / RADIUS + 1 / PAD), YOUNG / (1 - POISSON**2)
    low, high = 0.0, 10.0 * k * depth
    for _ in range(100):
        f = 0.5 * (low + high)
        low, high = (f, high) if f / k + (9 * f**2 / (16 * radius * modulus**2)) ** (1 / 3) < depth else (low, f)
    return f


@pytest.mark.slow
@pytest.mark.parametrize(("edge", "tolerance"), [(0.009, 0.04), (0.006, 0.015), (0.0045, 0.01)])
@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0.5, 0.2)])
def test_a_pressed_sphere_answers_as_reissner_in_series_with_hertz_at_every_mesh_size(edge, tolerance, axis):
    prepared = _prepared(edge)
    for share in (0.05, 0.2):
        depth = share * WALL
        force = _squeezed(prepared, depth, axis).state.regions[0].normal_force
        assert force == pytest.approx(_series(depth), rel=tolerance)


def test_a_shell_without_its_dent_misses_reissner_by_far_so_the_dent_is_needed():
    """What the corners alone show of a point force: under half at this mesh; the kernel brings the rest."""
    from pliant.contact.coupling import footprint

    body = shell()
    spread = footprint(body, np.array([0, 0, RADIUS]), np.eye(3), np.full(2, 1.25 * body.edge))
    block = body.matrix.reshape(len(body.points), 3, -1, 3)[:, 2, :, 2].astype(float)
    seen = spread.weights @ block[np.ix_(spread.corners, spread.corners)] @ spread.weights
    point = spread.shallow.table(1, 1e-3, 1e-3)[0, 0]
    reissner = (RADIUS - WALL / 2) * np.sqrt(3 * (1 - POISSON**2)) / (4 * WALL**2)
    assert seen < 0.5 * reissner
    assert seen - spread.dent + point == pytest.approx(reissner, rel=0.02)


def test_pressure_inside_swells_a_sphere_as_the_membrane_formula_says():
    """dV / dp = 2 pi R^4 (1 - nu) / (E t)."""
    r = RADIUS - WALL / 2
    assert shell().wall.give == pytest.approx(2 * np.pi * r**4 * (1 - POISSON) / WALL, rel=0.01)


@pytest.mark.parametrize("stiffness", [0.0, 1e9, np.inf])
def test_the_compliance_is_symmetric_and_never_gives_energy_back(stiffness):
    matrix = with_contents(shell(), YOUNG, stiffness).matrix.astype(np.float64)
    assert np.abs(matrix - matrix.T).max() < 1e-6 * np.abs(matrix).max()
    values = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
    assert values[0] > -1e-6 * values[-1]


def test_a_vessel_pulled_as_a_whole_floats_off_without_straining():
    body = shell()
    share = np.linalg.solve(body.inverse_mass.astype(float), np.ones(len(body.points)))
    share /= share.sum()
    weight = np.zeros((len(body.points), 3))
    weight[:, 2] = share
    spread = body.displacement(np.arange(len(body.points)), weight, 1.0)
    one = body.displacement(np.array([0]), np.array([[0.0, 0.0, 1.0]]), 1.0)
    assert np.abs(spread).max() < 1e-3 * np.abs(one).max()
    # and what moves under one force moves about a wall that stays where it is on average
    assert np.abs(share @ one).max() < 5e-3 * np.abs(one).max()


def test_a_shut_vessel_is_stiffer_the_fuller_it_is_and_brim_full_keeps_its_volume():
    # a soft wall, so that the air inside matters
    capacity = mesh_volume(ball())
    young, depth = 2e6, 0.2 * WALL
    results = [
        _squeezed(_prepared(contents=contents, young=young), depth)
        for contents in (
            None,
            Liquid(0.5 * capacity, sealed=False, wall=WALL),
            Liquid(0.0, wall=WALL),
            Liquid(0.5 * capacity, wall=WALL),
            Liquid(capacity, wall=WALL),
        )
    ]
    open_, unsealed, air, half, full = (result.state.regions[0].normal_force for result in results)
    assert open_ == unsealed < air < half < full
    assert results[0].volume_change < results[2].volume_change < results[3].volume_change < 0.0
    assert abs(results[4].volume_change) < 1e-9
    # the same told by the displacement itself, not by the formula
    stiff = with_contents(shell(), YOUNG, np.inf)
    corner = np.array([5])
    push = -stiff.points[corner] / RADIUS
    areas = np.linalg.solve(stiff.inverse_mass.astype(float), stiff.points / RADIUS)
    gained = np.einsum("ij,ij->", areas, stiff.displacement(corner, push, YOUNG))
    loose = np.einsum("ij,ij->", areas, shell().displacement(corner, push, YOUNG))
    assert abs(gained) < 0.02 * abs(loose)


def test_the_gas_left_decides_the_stiffness():
    capacity = mesh_volume(ball())
    assert gas_stiffness(ball(), None) == 0.0
    assert gas_stiffness(ball(), Liquid(0.75 * capacity)) == pytest.approx(1.4 * 101325 / (0.25 * capacity))
    assert gas_stiffness(ball(), Liquid(capacity)) == np.inf
    with pytest.raises(LiquidError, match="at most"):
        gas_stiffness(ball(), Liquid(1.01 * capacity))


def test_walls_that_are_no_shells_and_contents_without_walls_are_refused():
    with pytest.raises(OptionError, match="quarter"):
        prepare_shell(ball(), POISSON, 0.01)
    with pytest.raises(OptionError, match="wall"):
        PreparedObject.of(ball(), young=YOUNG, poisson=POISSON, contents=Liquid(1e-5))
    with pytest.raises(OptionError, match="half-space"):
        PreparedObject.of(ball(), young=YOUNG, poisson=POISSON, wall=WALL, model="halfspace")


def test_a_second_preparation_comes_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    first = prepare_shell(ball(), POISSON, WALL, edge=0.012)
    said = []
    again = prepare_shell(ball(), POISSON, WALL, edge=0.012, progress=lambda what, _share: said.append(what))
    assert said == ["compliance from cache"]
    np.testing.assert_array_equal(first.matrix, again.matrix)
    np.testing.assert_array_equal(first.wall.swelling, again.wall.swelling)
    assert first.wall.give == again.wall.give


@pytest.mark.slow
def test_a_squeezed_bottle_pushes_back_harder_with_depth_and_warns_beyond_its_wall():
    bottle = make_shape("bottle")
    prepared = PreparedObject.of(
        bottle, young=2e9, poisson=0.4, wall=5e-4, contents=Liquid(3e-4, wall=5e-4), edge=0.012
    )
    pads = [PadSurface(name, SphereSurface(0.01)) for name in ("one", "other")]
    places = [((0.033, 0, 0.07), None), ((-0.033, 0, 0.07), None)]
    forces, warned = [], []
    for depth in (5e-5, 1e-4, 2e-4, 4e-4, 8e-4):
        result = press(prepared, pads, places, depth)
        one, other = (region.normal_force for region in result.state.regions)
        assert np.isfinite(one) and one == pytest.approx(other, rel=1e-3)
        forces.append(one)
        warned.append(any("beyond linear" in warning for warning in result.warnings))
    assert (np.diff(forces) > 0).all() and forces[0] > 0
    assert warned == [False, False, False, False, True]


def test_the_shown_dent_is_as_deep_as_reissner_says():
    """The corners alone show about a third of it."""
    result = _squeezed(_prepared(), 0.2 * WALL)
    k = 4 * YOUNG * WALL**2 / ((RADIUS - WALL / 2) * np.sqrt(3 * (1 - POISSON**2)))
    assert result.largest_displacement == pytest.approx(result.state.regions[0].normal_force / k, rel=0.15)


def test_a_pinched_vessel_carries_its_weight_by_friction_and_slips_beyond():
    prepared = _prepared()
    pads = [PadSurface(name, SphereSurface(PAD), friction=0.5) for name in ("left", "right")]
    x = np.array([1.0, 0.0, 0.0])
    poses = [pose_along(-s * x, s * x * (RADIUS + PAD - 0.2 * WALL)) for s in (1, -1)]
    normal = settle(prepared, pads, poses, load=[0, 0, -0.01, 0, 0, 0]).largest_force
    held = settle(prepared, pads, poses, load=[0, 0, -0.9 * normal, 0, 0, 0])
    assert held.status is ContactStatus.SETTLED
    assert sum(region.force for region in held.regions) == pytest.approx([0, 0, 0.9 * normal], abs=0.02 * normal)
    assert settle(prepared, pads, poses, load=[0, 0, -1.1 * normal, 0, 0, 0]).status is ContactStatus.SLIPS


@pytest.mark.slow
def test_a_can_between_plates_gets_an_answer_with_a_warning_never_a_silent_one():
    can = PreparedObject.of(make_shape("cylinder"), young=2e9, poisson=0.4, wall=WALL, edge=0.012)
    pads = [PadSurface(name, PlaneSurface()) for name in ("one", "other")]
    for depth in (1e-4, 4e-4):
        result = press(can, pads, [((0.03, 0, 0), None), ((-0.03, 0, 0), None)], depth)
        assert all(np.isfinite(region.normal_force) for region in result.state.regions)
        assert any("rough" in warning for warning in result.warnings)


@pytest.mark.slow
def test_a_can_between_plates_with_sharp_edges_stays_and_pushes_back_more_the_larger_they_are():
    can = PreparedObject.of(make_shape("cylinder"), young=2e9, poisson=0.4, wall=WALL, edge=0.012)
    x = np.array([1.0, 0.0, 0.0])
    forces = []
    for size in (0.004, 0.008, 0.016, 0.04):
        plate = trimesh.creation.box((size, size, 0.01))
        pad = PadSurface.of(Mesh(plate.vertices, plate.faces), name="plate")
        row = []
        for depth in (2e-5, 1e-4, 4e-4):
            state = solve_contacts(can, [pad, pad], [pose_along(-s * x, s * x * (0.035 - depth)) for s in (1, -1)])
            assert state.status is ContactStatus.SETTLED
            assert any("rough" in warning for warning in state.warnings)
            one, other = (region.normal_force for region in state.regions)
            assert one == pytest.approx(other, rel=0.01)
            # alike plates: it stays in the middle
            assert np.abs(state.motion[:3]).max() < 0.1 * depth
            row.append(one)
        forces.append(row)
    assert (np.diff(forces, axis=0) > 0).all() and (np.diff(forces, axis=1) > 0).all()
