"""Contact forces depend on the bodies, not on where they are or how they are meshed (theory 6.5): within 2 %."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from contact_bodies import pose_along, spread_ball

from pliant.contact import ContactStatus, PadSurface, PlaneSurface, PreparedObject, SphereSurface, solve_contacts
from pliant.objects import Mesh

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
YOUNG, POISSON = 5e5, 0.45


def of(mesh: trimesh.Trimesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.faces)


def torus(sections: tuple[int, int]) -> Mesh:
    return of(trimesh.creation.torus(0.035, 0.015, major_sections=sections[0], minor_sections=sections[1]))


def block(division: float | None) -> Mesh:
    box = trimesh.creation.box((0.06, 0.04, 0.03))
    return of(box if division is None else box.subdivide_to_size(division))


def tube(sections: int) -> Mesh:
    return of(trimesh.creation.annulus(0.014, 0.025, 0.03, sections=sections))


# body: its mesh, the same body otherwise triangulated, finer; two places with outward normals
BODIES = {
    "torus": (
        lambda: torus((40, 18)), lambda: torus((37, 21)), lambda: torus((80, 36)), (0.05 * X, X), (-0.05 * X, -X),
    ),
    "block": (
        lambda: block(0.02), lambda: block(None), lambda: block(0.007), (0.015 * Z, Z), (-0.015 * Z, -Z),
    ),
    "tube": (lambda: tube(48), lambda: tube(61), lambda: tube(96), (0.025 * X, X), (-0.025 * X, -X)),
}  # fmt: skip


def squeezed(
    prepared: PreparedObject, places, pose: pin.SE3, depth: float = 0.75e-3, radius: float = 0.01
) -> list[float]:
    pads = [PadSurface(str(k), SphereSurface(radius)) for k in range(len(places))]
    poses = [pose * pose_along(-n, p + n * (radius - depth)) for p, n in places]
    state = solve_contacts(prepared, pads, poses)
    assert state.status is ContactStatus.SETTLED
    assert all((region.pressures > 0).all() for region in state.regions)
    return [region.normal_force for region in state.regions]


@cache
def first_force(name: str) -> float:
    prepared = PreparedObject.of(BODIES[name][0](), young=YOUNG, poisson=POISSON)
    one, other = squeezed(prepared, BODIES[name][3:], pin.SE3.Identity())
    assert one == pytest.approx(other, rel=0.01)
    return one


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_rotating_translating_and_renumbering_a_body_keeps_its_force(name: str) -> None:
    mesh = BODIES[name][0]()
    rng = np.random.default_rng(11)
    pose = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    order = rng.permutation(len(mesh.vertices))
    faces = np.argsort(order)[mesh.faces][rng.permutation(len(mesh.faces))]
    moved = Mesh((mesh.vertices @ pose.rotation.T + pose.translation)[order], np.roll(faces, 1, axis=1))
    forces = squeezed(PreparedObject.of(moved, young=YOUNG, poisson=POISSON), BODIES[name][3:], pose)
    assert forces == pytest.approx([first_force(name)] * 2, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("way", [1, 2], ids=["triangulated otherwise", "finer"])
@pytest.mark.parametrize("name", BODIES)
def test_the_mesh_of_a_body_does_not_matter(name: str, way: int) -> None:
    prepared = PreparedObject.of(BODIES[name][way](), young=YOUNG, poisson=POISSON)
    assert squeezed(prepared, BODIES[name][3:], pin.SE3.Identity()) == pytest.approx([first_force(name)] * 2, rel=0.02)


def test_two_elastic_bodies_may_be_swapped() -> None:
    """A ball of 30 mm pressed by one of 20 mm, and the other way round; each soft, as half-spaces."""
    large, small = spread_ball(1500, 0.03), spread_ball(1500, 0.02, 3)
    soft, hard = (5e5, 0.45), (2e6, 0.3)
    depth = 0.3e-3

    def pressed(held: Mesh, its: tuple[float, float], pad: Mesh, pads: tuple[float, float]) -> object:
        prepared = PreparedObject.of(held, young=its[0], poisson=its[1], model="halfspace")
        surface = PadSurface.of(pad, young=pads[0], poisson=pads[1])
        pose = pin.SE3(np.eye(3), (0.05 - depth) * Z)
        (region,) = solve_contacts(prepared, [surface], [pose], free=False).regions
        return region

    # one stands below and the other above, or the other way round: turned about x, so the same places meet
    turn = pin.exp3(np.pi * X)
    turned = [Mesh(mesh.vertices @ turn.T, mesh.faces) for mesh in (large, small)]
    one = pressed(large, soft, small, hard)
    two = pressed(turned[1], hard, turned[0], soft)
    modulus = 1 / ((1 - soft[1] ** 2) / soft[0] + (1 - hard[1] ** 2) / hard[0])
    hertz = 4 / 3 * modulus * np.sqrt(0.03 * 0.02 / 0.05) * depth**1.5
    assert one.normal_force == pytest.approx(two.normal_force, rel=0.01)
    assert one.normal_force == pytest.approx(hertz, rel=0.02)
    assert one.peak_pressure == pytest.approx(two.peak_pressure, rel=0.02)
    assert one.radius == pytest.approx(two.radius, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torus", "block"])
def test_force_begins_at_nothing_and_grows_with_depth_without_jumps(name: str) -> None:
    prepared = PreparedObject.of(BODIES[name][0](), young=YOUNG, poisson=POISSON)
    depths = np.geomspace(2e-6, 1.5e-3, 22)
    forces = np.array([squeezed(prepared, BODIES[name][3:], pin.SE3.Identity(), depth)[0] for depth in depths])
    assert forces[0] < 1e-3 * forces[-1]
    assert (np.diff(forces) > 0).all()
    # between Hertz's 3/2 and a spring's 1 throughout; a jump of 3 % would show as 0.1
    slope = np.diff(np.log(forces)) / np.diff(np.log(depths))
    assert slope.max() < 1.62 and slope.min() > 0.95
    assert np.abs(np.diff(slope)).max() < 0.12


def test_flat_on_flat_gives_an_answer_with_a_warning() -> None:
    prepared = PreparedObject.of(block(None), young=YOUNG, poisson=POISSON)
    pads = [PadSurface(str(k), PlaneSurface()) for k in range(2)]
    poses = [pose_along(-s * Z, s * Z * (0.015 - 0.2e-3)) for s in (1, -1)]
    state = solve_contacts(prepared, pads, poses)
    # frictionless plates: uniform stress, F = E A (2 d) / L
    exact = YOUNG * 0.06 * 0.04 * 0.4e-3 / 0.03
    assert [region.normal_force for region in state.regions] == pytest.approx([exact] * 2, rel=0.06)
    assert any("rough" in warning for region in state.regions for warning in region.warnings)
