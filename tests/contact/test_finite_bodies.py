"""Finite bodies against fine finite elements: force 6 %, bulge 10 %; E = 0.5 MPa, nu = 0.45."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from contact_bodies import pose_along, spread_ball

from pliant.contact import (
    ContactState,
    ContactStatus,
    PadSurface,
    PlaneSurface,
    PreparedObject,
    SphereSurface,
    deformed_vertices,
    displacement,
    press,
    solve_contacts,
    volume_change,
)
from pliant.objects import Mesh

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
PLATES = ((0.15, 0.27473), (0.3, 0.78760), (0.6, 2.2703), (1.5, 9.3145), (3.0, 27.471))
SPHERES = ((0.3, 0.38500), (0.75, 1.5295), (1.5, 4.3099))
THREE = ((0.3, 0.39203), (0.75, 1.5731), (1.5, 4.4840))


def squeeze(
    prepared: PreparedObject, places: list[tuple[np.ndarray, np.ndarray]], depth_mm: float, radius: float | None
) -> ContactState:
    """Pads at surface points with outward normals, driven in by the depth."""
    surface = PlaneSurface() if radius is None else SphereSurface(radius)
    pads = [PadSurface(str(k), surface) for k in range(len(places))]
    poses = [pose_along(-n, p + n * ((radius or 0.0) - depth_mm * 1e-3)) for p, n in places]
    return solve_contacts(prepared, pads, poses)


def opposed(point: np.ndarray, normal: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(point, normal), (-point, -normal)]


def check(state: ContactState, force: float, tolerance: float = 0.06) -> None:
    assert state.status is ContactStatus.SETTLED
    for region in state.regions:
        assert region.normal_force == pytest.approx(force, rel=tolerance)
        assert (region.pressures > 0).all()


@pytest.mark.parametrize(("depth", "force"), PLATES)
def test_ball_between_plates(ball: PreparedObject, depth: float, force: float) -> None:
    check(squeeze(ball, opposed(Z * 0.03, Z), depth, None), force)


@pytest.mark.parametrize(("depth", "force"), SPHERES)
def test_ball_between_spheres(ball: PreparedObject, depth: float, force: float) -> None:
    check(squeeze(ball, opposed(Z * 0.03, Z), depth, 0.01), force)


@pytest.mark.parametrize(("depth", "force"), THREE)
def test_ball_between_three_spheres(ball: PreparedObject, depth: float, force: float) -> None:
    around = [np.array([np.cos(t), np.sin(t), 0.0]) for t in 2 * np.pi * np.arange(3) / 3]
    check(squeeze(ball, [(0.03 * n, n) for n in around], depth, 0.01), force)


def test_bulge_and_volume_change_of_the_ball(ball: PreparedObject) -> None:
    state = squeeze(ball, opposed(Z * 0.03, Z), 3.0, None)
    v, u = ball.mesh.vertices, displacement(ball, state)
    equator = np.abs(v[:, 2]) < 0.002
    bulge = np.einsum("ij,ij->i", u[equator], v[equator]) / np.linalg.norm(v[equator], axis=1)
    assert bulge.mean() == pytest.approx(0.3537e-3, rel=0.1)
    assert volume_change(ball, state) == pytest.approx(-0.285e-2, rel=0.03)
    # the surface under the plates follows them
    top = v[:, 2] > 0.0297
    assert (v + u)[top, 2].max() < 0.0273


def test_deformed_surface_stays_closed_and_unfolded(ball: PreparedObject) -> None:
    state = squeeze(ball, opposed(Z * 0.03, Z), 1.5, 0.01)
    after = deformed_vertices(ball, state)
    f = ball.mesh.faces
    normal = np.cross(after[f[:, 1]] - after[f[:, 0]], after[f[:, 2]] - after[f[:, 0]])
    assert (np.einsum("ij,ij->i", normal, after[f].mean(axis=1)) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("count", [1500, 6000])
def test_finer_balls_give_the_same_answer(count: int, ball: PreparedObject) -> None:
    fine = PreparedObject.of(spread_ball(count, 0.03, 7), young=5e5, poisson=0.45)
    for depth, force in (PLATES[0], PLATES[3]):
        check(squeeze(fine, opposed(Z * 0.03, Z), depth, None), force)
    for depth, force in SPHERES:
        state = squeeze(fine, opposed(Z * 0.03, Z), depth, 0.01)
        check(state, force)
        assert state.regions[0].normal_force == pytest.approx(
            squeeze(ball, opposed(Z * 0.03, Z), depth, 0.01).regions[0].normal_force, rel=0.02
        )


@pytest.mark.slow
def test_ball_at_a_smaller_poisson_ratio() -> None:
    prepared = PreparedObject.of(spread_ball(400, 0.03), young=5e5, poisson=0.3)
    for depth, force in ((0.3, 0.3452), (0.75, 1.3962), (1.5, 4.0254)):
        check(squeeze(prepared, opposed(Z * 0.03, Z), depth, 0.01), force)


@pytest.mark.slow
def test_disc_between_spheres_on_its_axis_and_its_bulge() -> None:
    disc = trimesh.creation.cylinder(0.03, 0.03, sections=48).subdivide_to_size(0.012)
    prepared = PreparedObject.of(Mesh(disc.vertices, disc.faces), young=5e5, poisson=0.45)
    for depth, force in ((0.3, 0.47277), (0.75, 1.9450), (1.5, 5.6697)):
        state = squeeze(prepared, opposed(Z * 0.015, Z), depth, 0.01)
        check(state, force)
    v, u = prepared.mesh.vertices, displacement(prepared, state)
    side = (np.abs(v[:, 2]) < 0.003) & (np.hypot(v[:, 0], v[:, 1]) > 0.0299)
    assert np.einsum("ij,ij->i", u[side, :2], v[side, :2]).mean() / 0.03 == pytest.approx(0.06509e-3, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("sections", [(29, 14), (58, 26)])
def test_torus_pinched_on_its_tube(sections: tuple[int, int]) -> None:
    torus = trimesh.creation.torus(0.035, 0.015, major_sections=sections[0], minor_sections=sections[1])
    prepared = PreparedObject.of(Mesh(torus.vertices, torus.faces), young=5e5, poisson=0.45)
    side = np.array([0.035, 0.0, 0.0])
    for depth, force in ((0.3, 0.40749), (0.75, 1.6485), (1.5, 4.7319)):
        check(squeeze(prepared, [(side + 0.015 * Z, Z), (side - 0.015 * Z, -Z)], depth, 0.01), force)
    # the same ring squeezed across: forces from benchmarks/record/reference_fem.py, "ring 35/15 across"
    for depth, force in ((0.3, 0.28035), (0.75, 0.96491), (1.5, 2.42434)):
        check(squeeze(prepared, opposed(X * 0.05, X), depth, 0.01), force)


@pytest.mark.slow
def test_bodies_not_in_the_table_against_the_reference_elements() -> None:
    """benchmarks/record/reference_fem.py, refined by 1.15: cube of 40 mm between spheres r = 10 mm."""
    box = trimesh.creation.box((0.04,) * 3)
    cube = PreparedObject.of(Mesh(box.vertices, box.faces), young=5e5, poisson=0.45)
    for depth, force in ((0.3, 0.45896), (0.75, 1.84560), (1.5, 5.27170)):
        check(squeeze(cube, opposed(Z * 0.02, Z), depth, 0.01), force)
    # flat on flat, frictionless: uniform stress, F = E A (2 d) / L
    state = squeeze(cube, opposed(Z * 0.02, Z), 0.3, None)
    check(state, 5e5 * 0.04**2 * 0.6e-3 / 0.04)
    assert any("rough" in warning for warning in state.regions[0].warnings)


def moved_mesh(mesh: Mesh, pose: pin.SE3, order: np.ndarray) -> Mesh:
    """Rotate, translate, renumber."""
    back = np.argsort(order)
    return Mesh((mesh.vertices @ pose.rotation.T + pose.translation)[order], back[mesh.faces[::-1]])


@pytest.mark.slow
def test_rotating_moving_and_renumbering_everything_changes_nothing(ball: PreparedObject) -> None:
    rng = np.random.default_rng(5)
    pose = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    order = rng.permutation(len(ball.mesh.vertices))
    other = PreparedObject.of(moved_mesh(ball.mesh, pose, order), young=5e5, poisson=0.45)
    around = [np.array([np.cos(t), np.sin(t), 0.0]) for t in 2 * np.pi * np.arange(3) / 3]
    pads = [PadSurface(str(k), SphereSurface(0.01)) for k in range(3)]
    poses = [pose_along(-n, n * (0.04 - 0.75e-3)) for n in around]
    before = solve_contacts(ball, pads, poses)
    after = solve_contacts(other, pads, [pose * T for T in poses])
    for a, b in zip(before.regions, after.regions, strict=True):
        assert b.normal_force == pytest.approx(a.normal_force, rel=0.02)
        assert b.centre == pytest.approx(pose.act(a.centre), abs=1e-4)


def test_moving_the_world_moves_the_answer_with_it(ball: PreparedObject) -> None:
    rng = np.random.default_rng(6)
    world = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    pads = [PadSurface(str(k), SphereSurface(0.01)) for k in range(2)]
    poses = [pose_along(-s * X, s * X * (0.04 - 0.75e-3)) for s in (1, -1)]
    here = solve_contacts(ball, pads, poses)
    there = solve_contacts(ball, pads, [world * T for T in poses], world)
    for a, b in zip(here.regions, there.regions, strict=True):
        assert b.normal_force == pytest.approx(a.normal_force, rel=1e-6)
        assert b.force == pytest.approx(world.rotation @ a.force, rel=1e-6, abs=1e-9)


def test_contact_place_on_the_mesh_does_not_matter(ball: PreparedObject) -> None:
    rng = np.random.default_rng(7)
    forces = []
    for _ in range(8):
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        forces.append(squeeze(ball, opposed(n * 0.03, n), 0.75, 0.01).regions[0].normal_force)
    assert np.ptp(forces) / np.mean(forces) < 0.02


def test_action_is_reaction_and_the_object_moves_to_the_middle(ball: PreparedObject) -> None:
    pads = [PadSurface(str(k), PlaneSurface()) for k in range(2)]
    poses = [pose_along(-X, X * (0.03 - 1.5e-3)), pose_along(X, -X * (0.03 - 0.3e-3))]
    state = solve_contacts(ball, pads, poses)
    even = squeeze(ball, opposed(X * 0.03, X), 0.9, None)
    assert state.motion[0] == pytest.approx(-0.6e-3, rel=0.01)
    assert state.regions[0].normal_force == pytest.approx(even.regions[0].normal_force, rel=0.01)
    assert np.linalg.norm(state.residual[:3]) < 0.01 * state.largest_force


def test_thumb_against_two_fingers_shares_the_force(ball: PreparedObject) -> None:
    normals = [X, -np.array([np.cos(0.5), np.sin(0.5), 0.0]), -np.array([np.cos(0.5), -np.sin(0.5), 0.0])]
    state = squeeze(ball, [(0.03 * n, n) for n in normals], 0.75, 0.01)
    thumb, one, two = (region.normal_force for region in state.regions)
    assert one == pytest.approx(two, rel=0.01)
    assert thumb == pytest.approx(2 * one * np.cos(0.5), rel=0.01)


def test_force_increases_with_depth_through_every_change_of_method(ball: PreparedObject) -> None:
    depths = np.linspace(0.02, 3.0, 40)
    forces = [squeeze(ball, opposed(Z * 0.03, Z), float(d), None).regions[0].normal_force for d in depths]
    assert (np.diff(forces) > 0).all()
    stiffness = np.diff(forces) / np.diff(depths)
    assert (np.diff(stiffness) > -0.05 * stiffness[:-1]).all()


def test_one_pad_alone_pushes_a_free_object_away(ball: PreparedObject) -> None:
    state = squeeze(ball, [(Z * 0.03, Z)], 0.5, 0.01)
    assert state.status is ContactStatus.PUSHED_AWAY and state.regions == ()


def test_press_measures_from_first_touch(ball: PreparedObject) -> None:
    result = press(
        ball,
        [PadSurface(str(k), SphereSurface(0.01)) for k in range(2)],
        [((0, 0, 0.0301), None), ((0, 0, -0.0295), (0, 0, 1))],
        0.75e-3,
    )
    check(result.state, 1.5295, 0.06)
    assert 0.2e-3 < result.largest_displacement < 0.8e-3
