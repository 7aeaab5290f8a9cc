"""Awkward questions: an answer with a warning or a clear refusal, never NaN."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from contact_bodies import pose_along, spread_ball

from pliant.contact import (
    ContactState,
    PadSurface,
    PlaneSurface,
    PreparedObject,
    SphereSurface,
    clearance,
    find_first_touch,
    find_overlaps,
    press,
    solve_contacts,
)
from pliant.errors import MaterialError, MeshError, OptionError
from pliant.objects import Mesh

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def sound(state: ContactState) -> None:
    for region in state.regions:
        for value in (region.normal_force, region.radius, region.peak_pressure, region.area):
            assert np.isfinite(value) and value > 0
        assert np.isfinite(region.stiffness).all() and np.isfinite(region.force).all()
        assert (region.pressures > 0).all()


def block(model: str = "halfspace") -> PreparedObject:
    box = trimesh.creation.box((0.06, 0.04, 0.02))
    return PreparedObject.of(Mesh(box.vertices, box.faces), young=5e5, poisson=0.45, model=model)  # type: ignore[arg-type]


def test_edge_and_corner_of_a_block_against_a_plane() -> None:
    prepared = block()
    for normal, reach in (((0, 1, 1), 0.03 / np.sqrt(2)), ((1, 1, 1), 0.06 / np.sqrt(3))):
        n = np.array(normal) / np.linalg.norm(normal)
        state = solve_contacts(
            prepared, [PadSurface("p", PlaneSurface())], [pose_along(-n, n * (reach - 0.5e-3))], free=False
        )
        assert len(state.regions) >= 1
        sound(state)


def test_pad_deeper_than_the_object_is_thick_warns_or_refuses(ball: PreparedObject) -> None:
    pads = [PadSurface(str(k), SphereSurface(0.01)) for k in range(2)]
    state = solve_contacts(ball, pads, [pose_along(-s * X, s * X * 0.012) for s in (1, -1)])
    sound(state)
    assert not state.regions or any("linear" in warning for region in state.regions for warning in region.warnings)


def test_two_pads_in_each_others_region_give_finite_forces(ball: PreparedObject) -> None:
    pads = [PadSurface(str(k), SphereSurface(0.01)) for k in range(3)]
    lean = np.array([np.sin(0.1), 0.0, np.cos(0.1)])
    poses = [pose_along(-n, n * (0.04 - 0.75e-3)) for n in (lean, lean * [-1, 1, 1], -Z)]
    sound(solve_contacts(ball, pads, poses))


def test_pad_a_million_times_stiffer_or_softer() -> None:
    prepared = PreparedObject.of(spread_ball(400, 0.03), young=5e5, poisson=0.45, model="halfspace")
    pose = [pose_along(-Z, Z * (0.04 - 0.5e-3))]
    rigid = solve_contacts(prepared, [PadSurface("p", SphereSurface(0.01))], pose, free=False)
    stiff = solve_contacts(prepared, [PadSurface("p", SphereSurface(0.01), 5e11, 0.3)], pose, free=False)
    soft = solve_contacts(prepared, [PadSurface("p", SphereSurface(0.01), 0.5, 0.3)], pose, free=False)
    sound(soft)
    assert stiff.regions[0].normal_force == pytest.approx(rigid.regions[0].normal_force, rel=1e-3)
    ratio = (1 - 0.45**2) / 5e5 / ((1 - 0.3**2) / 0.5)
    assert soft.regions[0].normal_force == pytest.approx(ratio * rigid.regions[0].normal_force, rel=0.03)


def test_object_smaller_than_the_pad() -> None:
    tiny = PreparedObject.of(spread_ball(200, 0.002), young=5e5, poisson=0.45, model="halfspace")
    table = trimesh.creation.box((0.05, 0.05, 0.01))
    pad = PadSurface.of(Mesh(table.vertices, table.faces))
    state = solve_contacts(tiny, [pad], [pin.SE3(np.eye(3), -Z * (0.005 + 0.002 - 0.05e-3))], free=False)
    sound(state)
    hertz = 4 / 3 * 5e5 / (1 - 0.45**2) * np.sqrt(0.002) * 0.05e-3**1.5
    assert state.regions[0].normal_force == pytest.approx(hertz, rel=0.02)


def test_two_bumps_of_one_pad_are_two_regions(flat: PreparedObject) -> None:
    bumps = [trimesh.creation.icosphere(subdivisions=3, radius=0.005) for _ in range(2)]
    bumps[0].apply_translation((-0.01, 0, 0))
    bumps[1].apply_translation((0.01, 0, 0.1e-3))
    both = trimesh.util.concatenate(bumps)
    pad = PadSurface.of(Mesh(both.vertices, both.faces))
    state = solve_contacts(flat, [pad], [pin.SE3(np.eye(3), Z * (0.05 + 0.005 - 0.3e-3))], free=False)
    assert [region.patch for region in state.regions] == [0, 1]
    assert state.regions[0].centre[0] == pytest.approx(-0.01, abs=1e-4)
    # Hertz: forces as depth to the power 3/2
    ratio = state.regions[1].normal_force / state.regions[0].normal_force
    assert ratio == pytest.approx((0.2 / 0.3) ** 1.5, rel=0.03)


def test_poisson_ratio_outside_physics_is_refused() -> None:
    for nu in (0.0, 0.5, -0.2, 0.7):
        with pytest.raises(MaterialError, match="Poisson"):
            PreparedObject.of(spread_ball(100, 0.03), young=5e5, poisson=nu)
    with pytest.raises(MaterialError, match="Young"):
        PadSurface("p", SphereSurface(0.01), young=-1.0)


@pytest.mark.slow
def test_poisson_ratio_near_one_half_warns_and_stays_sensible(ball: PreparedObject) -> None:
    prepared = PreparedObject.of(spread_ball(400, 0.03), young=5e5, poisson=0.499)
    pads = [PadSurface(str(k), SphereSurface(0.01)) for k in range(2)]
    poses = [pose_along(-s * Z, s * Z * (0.04 - 0.75e-3)) for s in (1, -1)]
    state = solve_contacts(prepared, pads, poses)
    sound(state)
    # E* grows by (1 - 0.45^2) / (1 - 0.499^2) = 1.062
    softer = solve_contacts(ball, pads, poses)
    assert state.largest_force == pytest.approx(1.062 * softer.largest_force, rel=0.05)
    assert any("0.49" in warning for warning in state.warnings)


def test_open_surface_cannot_be_filled() -> None:
    box = trimesh.creation.box((0.04,) * 3)
    with pytest.raises(MeshError):
        PreparedObject.of(Mesh(box.vertices, box.faces[:2]), young=5e5, poisson=0.4, cache=False)


def test_first_touch_is_exact_for_spheres_and_oblique_motion(ball: PreparedObject) -> None:
    pad = PadSurface("s", SphereSurface(0.01))
    offset = 0.012

    def along(s: float) -> pin.SE3:
        return pin.SE3(np.eye(3), np.array([offset, 0.0, 0.1 - s]))

    touch = find_first_touch(ball, pad, along, start=0.0, stop=0.2, speed=1.0)
    assert touch == pytest.approx(0.1 - np.sqrt(0.04**2 - offset**2), abs=2e-6)
    assert (
        find_first_touch(
            ball, pad, lambda s: pin.SE3(np.eye(3), np.array([0.05, 0, 0.1 - s])), start=0.0, stop=0.2, speed=1.0
        )
        is None
    )


def test_clearance_of_separate_and_overlapping_bodies(ball: PreparedObject) -> None:
    pad = PadSurface("s", SphereSurface(0.01))
    for gap in (2e-4, 1e-5, -1e-5, -1e-3):
        assert clearance(ball, pad, pose_along(-Z, Z * (0.04 + gap))) == pytest.approx(gap, rel=0.02, abs=2e-7)
    far = clearance(ball, pad, pose_along(-Z, Z * 0.09))
    assert 0.03 < far < 0.05


def test_far_apart_bodies_have_no_overlap(ball: PreparedObject) -> None:
    assert find_overlaps(ball, SphereSurface(0.01), pose_along(-Z, Z * 0.2)) == []


def test_press_refuses_what_makes_no_sense(ball: PreparedObject) -> None:
    pad = [PadSurface("s", SphereSurface(0.01))]
    with pytest.raises(OptionError, match="from the surface"):
        press(ball, pad, [((0, 0, 30.0), None)], 1e-3)
    with pytest.raises(OptionError, match="depth"):
        press(ball, pad, [((0, 0, 0.03), None)], -1e-3)
    with pytest.raises(OptionError, match="grazes"):
        press(ball, pad, [((0, 0, 0.03), (1, 0, 0))], 1e-3)
