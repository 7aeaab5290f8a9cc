"""Clouds of points made closed surfaces: how far they lie from the surface that the points were taken from."""

from __future__ import annotations

import igl
import numpy as np
import pytest

from made_scans import NO_FACES, ball, sampled, without_bottom
from pliant.errors import MeshError
from pliant.objects import Mesh, make_shape, mend_mesh, mesh_volume
from pliant.objects.mesh.cloud import EDGES, CloudSurface


def surface_of(cloud: Mesh, *, cap: bool = False) -> tuple[Mesh, CloudSurface]:
    mended = mend_mesh(cloud, cap=cap)
    assert mended.cloud is not None
    assert mended.volume_change is None
    return mended.repaired.mesh, mended.cloud


def distances(points: np.ndarray, mesh: Mesh) -> np.ndarray:
    return np.sqrt(igl.point_mesh_squared_distance(np.array(points), mesh.vertices, mesh.faces)[0])


def test_a_sphere_is_reproduced_within_a_hundredth_of_the_spacing() -> None:
    """Quadrics reproduce a sphere; measured 0.4 thousandths of the spacing, at most 2 (facets bulge in by more)."""
    mesh, cloud = surface_of(sampled(ball(0.0005), 2000))
    off = np.abs(np.linalg.norm(mesh.vertices, axis=1) - 0.03)
    assert cloud.spacing == pytest.approx(np.sqrt(4 * np.pi * 0.03**2 / 2000), rel=0.1)
    assert np.sqrt((off**2).mean()) < 0.002 * cloud.spacing
    assert off.max() < 0.01 * cloud.spacing
    assert mesh_volume(mesh) == pytest.approx(4 / 3 * np.pi * 0.03**3, rel=0.004)
    assert cloud.seen == 1.0


def test_noise_is_averaged_and_the_stated_distance_is_its_deviation() -> None:
    """Deviation 0.3 mm along the normal, less what three of the six parameters of each quadric follow."""
    mesh, cloud = surface_of(sampled(ball(0.0005), 3000, noise=0.0003))
    off = np.abs(np.linalg.norm(mesh.vertices, axis=1) - 0.03)
    assert np.sqrt((off**2).mean()) < 0.6 * 0.0003
    assert cloud.distance == pytest.approx(0.0003, rel=0.25)
    assert f"points lie within {1e3 * cloud.distance:.2g} mm" in cloud.actions[-1]


@pytest.mark.parametrize(("size", "count"), [((0.06, 0.04, 0.09), 4000), ((0.1, 0.1, 0.008), 6000)])
def test_a_box_loses_no_more_at_its_edges_than_is_stated(size: tuple[float, float, float], count: int) -> None:
    """A brick and a plate five spacings thick: flat sides are exact to a twentieth of the spacing."""
    box = make_shape("box", size=size, edge=0.02)
    mesh, cloud = surface_of(sampled(box, count))
    inner = np.abs(sampled(box, 4000, seed=3).vertices)
    to_edge = np.sort(0.5 * np.array(size) - inner, axis=1)[:, 1]
    off = distances(sampled(box, 4000, seed=3).vertices, mesh)
    assert np.sqrt((off[to_edge > 3 * cloud.spacing] ** 2).mean()) < 0.05 * cloud.spacing
    near = to_edge < 0.2 * cloud.spacing
    assert near.sum() > 20
    along = np.sort(0.5 * np.array(size) - inner, axis=1)[:, 2] > 3 * cloud.spacing  # corners lose more than edges
    assert off[near & along].max() < EDGES * cloud.spacing
    assert mesh_volume(mesh) == pytest.approx(np.prod(size), rel=0.01)


def test_a_ring_keeps_its_hole() -> None:
    ring = make_shape("torus")
    mended = mend_mesh(sampled(ring, 4000))
    assert mended.repaired.report.genus == 1
    assert mended.repaired.report.volume == pytest.approx(mesh_volume(ring), rel=0.005)


def test_points_in_no_order_and_at_any_place_give_the_same_body() -> None:
    cloud = sampled(make_shape("bottle"), 3000)
    order = np.random.default_rng(5).permutation(3000)
    first, second = (mend_mesh(Mesh(v, NO_FACES)).repaired.report.volume
                     for v in (cloud.vertices, cloud.vertices[order] + (0.3, -0.2, 1.0)))  # fmt: skip
    assert first == pytest.approx(second, rel=0.003)


def test_an_unseen_bottom_is_measured_and_on_demand_closed_flat() -> None:
    box = make_shape("box", size=(0.06, 0.05, 0.08), edge=0.01)
    scan = sampled(without_bottom(box, 1e-6), 4000)
    mesh, cloud = surface_of(scan)
    missing = 0.06 * 0.05 / box.area
    assert 1 - cloud.seen == pytest.approx(missing, rel=0.5)
    assert cloud.actions[-1].startswith(f"{100 * (1 - cloud.seen):.2g} % of the surface is made up")
    assert mesh.bounds[0, 2] < -0.041  # it bulges
    capped, _ = surface_of(scan, cap=True)
    assert capped.bounds[0, 2] == pytest.approx(-0.04, abs=0.001)
    assert mesh_volume(capped) == pytest.approx(2.4e-4, rel=0.01)


def test_stray_points_are_dropped_and_counted() -> None:
    rng = np.random.default_rng(2)
    strays = rng.uniform(-0.1, 0.1, (60, 3))
    strays = strays[np.abs(np.linalg.norm(strays, axis=1) - 0.03) > 0.012]
    cloud = np.concatenate([sampled(ball(), 3000).vertices, strays])
    mended = mend_mesh(Mesh(cloud, NO_FACES))
    assert f"dropped {len(strays)} points far from all others" in mended.done
    assert mended.repaired.report.volume == pytest.approx(mesh_volume(ball()), rel=0.005)


def refusal(points: np.ndarray, *, cap: bool = False) -> str:
    with pytest.raises(MeshError) as caught:
        mend_mesh(Mesh(points, NO_FACES, "cloud.ply"), cap=cap)
    return str(caught.value)


def test_clouds_that_show_no_body_are_refused_with_the_reason() -> None:
    rng = np.random.default_rng(4)
    assert "holds 50 points that belong together" in refusal(sampled(ball(), 50).vertices)
    assert "holds 1 points" in refusal(np.full((500, 3), 0.1) + 1e-3 * np.eye(500, 3)[:1])
    half = sampled(ball(), 3000).vertices
    assert "show only" in refusal(half[half[:, 0] > 0.0])
    assert "scan the body from more sides" in refusal(half[half[:, 0] > 0.0])
    assert "no closed surface" in refusal(0.05 * rng.random((2000, 3)))
    refusal(np.concatenate([0.1 * rng.random((1000, 2)), np.zeros((1000, 1))], axis=1))  # a sheet
    refusal(np.outer(np.linspace(0, 0.1, 500), (1, 2, 3)))  # a line
    assert "almost surely millimetres" in refusal(100 * rng.random((1000, 3)))
    assert "not a finite number" in refusal(np.where(np.arange(900).reshape(300, 3) == 7, np.nan, 0.1))


def test_a_cup_keeps_its_inside_where_its_wall_is_three_spacings_thick() -> None:
    """A thinner wall is taken for the noise of one surface: then the cup is full, and its mouth said to be made up."""
    outer = make_shape("cylinder", radius=0.03, height=0.08, edge=0.004)

    def cup(wall: float, count: int) -> Mesh:
        inner = make_shape("cylinder", radius=0.03 - wall, height=0.08 - wall, edge=0.004).moved((0, 0, 0.5 * wall))
        both = np.concatenate([sampled(mesh, count, seed=k).vertices for k, mesh in enumerate((outer, inner))])
        mouth = (both[:, 2] > 0.0399) & (np.hypot(both[:, 0], both[:, 1]) < 0.03 - wall)
        return Mesh(both[~mouth], NO_FACES)

    thick, seen = surface_of(cup(0.006, 5000))
    assert mesh_volume(thick) == pytest.approx(np.pi * (0.03**2 * 0.08 - 0.024**2 * 0.074), rel=0.03)
    assert seen.seen > 0.97
    full, said = surface_of(cup(0.0008, 3000))
    assert mesh_volume(full) == pytest.approx(np.pi * 0.03**2 * 0.08, rel=0.1)
    assert 1 - said.seen > 0.08
    assert "is made up: no points there, about (" in said.actions[-1]
