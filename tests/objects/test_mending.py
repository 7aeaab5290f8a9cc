"""What a scan needs: specks dropped, holes closed, noise smoothed, parts united; each against the shape it is of."""

from __future__ import annotations

import igl
import numpy as np
import pytest

from made_scans import ball, hammer, joined, noisy, with_hole, with_specks, without_bottom
from pliant.errors import MeshError
from pliant.objects import Mesh, load_mesh, make_shape, mend_mesh, mesh_volume, repair_mesh
from pliant.objects.mesh.holes import SMALL_HOLE, enclosed_volume, perimeter
from pliant.objects.mesh.topology import edges_of, holes_of


def distances(points: np.ndarray, mesh: Mesh) -> np.ndarray:
    return np.sqrt(igl.point_mesh_squared_distance(np.array(points), mesh.vertices, mesh.faces)[0])


def test_specks_around_and_inside_are_dropped_and_said() -> None:
    answer = repair_mesh(with_specks(ball(), 60))
    assert answer.report.volume == pytest.approx(mesh_volume(ball()), rel=1e-12)
    assert any(
        said.startswith("dropped 60 specks of debris, the largest 1.7 mm across at (")
        for said in answer.report.repaired
    )


def test_a_small_hollow_is_no_speck_and_a_part_that_is_no_crumb_is_none() -> None:
    hollow = make_shape("sphere", radius=0.001, edge=0.0005).flipped()
    report = repair_mesh(joined(ball(), hollow)).report
    assert (report.cavities, report.repaired) == (1, ())
    assert repair_mesh(joined(ball(), hollow).flipped()).report.cavities == 1
    with pytest.raises(MeshError, match="2 separate bodies"):
        repair_mesh(joined(ball(), make_shape("sphere", radius=0.003, edge=0.001).moved((0.05, 0, 0))))


def test_hundreds_of_small_parts_without_a_body_are_no_specks() -> None:
    crumb = make_shape("box", size=(1e-3, 1e-3, 1e-3), edge=1.0)
    crumbs = [crumb.moved((0.002 * x, 0.002 * y, 0.002 * z)) for x in range(8) for y in range(8) for z in range(8)]
    small_body = make_shape("sphere", radius=0.02, edge=0.01)
    with pytest.raises(MeshError, match="513 separate pieces"):
        repair_mesh(joined(small_body.moved((0.1, 0, 0)), *crumbs))


@pytest.mark.parametrize("edges", [150, 300])
def test_every_hole_below_the_stated_limit_is_filled_whatever_its_edges(edges: int) -> None:
    """A rim of hundreds of tiny edges: refused before, with a message that said it would be filled."""
    angle = 2 * np.pi * np.arange(edges) / edges
    top = np.stack([0.001 * np.cos(angle), 0.001 * np.sin(angle), np.full(edges, 0.05)], axis=1)
    base = top * (30, 30, 0)
    vertices = np.concatenate([top, base, [[0, 0, 0]]])
    k, after = np.arange(edges), (np.arange(edges) + 1) % edges
    faces = np.concatenate(
        [
            np.stack([edges + k, edges + after, k], axis=1),
            np.stack([edges + after, after, k], axis=1),
            np.stack([edges + after, edges + k, np.full(edges, 2 * edges)], axis=1),
        ]
    )
    cone = Mesh(vertices, faces)
    answer = repair_mesh(cone)
    assert len(answer.report.repaired) == 1
    assert f"filled a hole of {edges} edges, 6.28 mm around" in answer.report.repaired[0]
    area = 0.5 * edges * np.sin(2 * np.pi / edges)  # of the regular polygon in the unit circle
    frustum = area * 0.05 / 3 * (0.001**2 + 0.001 * 0.03 + 0.03**2)
    assert answer.report.volume == pytest.approx(frustum, rel=1e-9)


def test_small_holes_that_meet_in_a_point_are_both_filled() -> None:
    mesh = ball(0.002)
    first = mesh.faces[0]
    apart = [i for i, f in enumerate(mesh.faces) if len(set(f) & set(first)) == 1]
    torn = Mesh(mesh.vertices, np.delete(mesh.faces, [0, apart[0]], axis=0))
    answer = repair_mesh(torn)
    assert sum("filled a hole of 3 edges" in said for said in answer.report.repaired) == 2
    assert answer.report.volume == pytest.approx(mesh_volume(mesh), rel=1e-12)
    assert answer.report.euler == 2


def test_the_stated_limit_is_the_limit() -> None:
    mesh = ball(0.002)
    open_ball = with_hole(mesh, (0, 0, 0.03), 0.0045)
    around = perimeter(open_ball, holes_of(open_ball.faces, edges_of(open_ball.faces))[0])
    assert around > SMALL_HOLE * mesh.diagonal
    with pytest.raises(MeshError) as caught:
        repair_mesh(open_ball)
    stated = float(str(caught.value).split("only holes below ")[1].split(" mm")[0])
    assert stated == pytest.approx(1e3 * SMALL_HOLE * mesh.diagonal, rel=5e-3)


def test_a_rim_in_a_plane_is_closed_exactly() -> None:
    """Also where it has two rings: a tube standing on a table is closed by a ring, not by two discs."""
    box = make_shape("box", size=(0.06, 0.05, 0.04), edge=0.01)
    mended = mend_mesh(without_bottom(box, 1e-6), cap=True)
    assert mended.repaired.report.volume == pytest.approx(1.2e-4, rel=1e-12)
    assert mended.volume_change == pytest.approx(0.0, abs=1e-12)
    tube = make_shape("torus")
    half = Mesh(tube.vertices, tube.faces[tube.face_centres[:, 2] > 0])
    rims = holes_of(half.faces, edges_of(half.faces))
    assert len(rims) == 2
    flat = np.array(half.vertices)
    flat[np.concatenate([rim.vertices for rim in rims]), 2] = 0.0
    closed = mend_mesh(Mesh(flat, half.faces), cap=True).repaired
    assert (closed.report.euler, closed.report.genus) == (0, 1)
    assert closed.report.volume == pytest.approx(0.5 * mesh_volume(tube), rel=0.02)


def test_an_open_bottom_is_closed_flat_where_the_table_was() -> None:
    """A cylinder whose scan ends raggedly 4 to 6 mm above the table: its sides go straight down to the lowest point."""
    body = make_shape("cylinder", radius=0.03, height=0.1, edge=0.003)
    scan = without_bottom(body, 0.005, uneven=0.001)
    mended = mend_mesh(scan, cap=True)
    said = [text for text in mended.done if "closed the open bottom" in text]
    assert len(said) == 1 and "carried straight down to the table" in said[0]
    mesh = mended.repaired.mesh
    lowest = scan.vertices[np.unique(scan.faces), 2].min()
    bottom = mesh.vertices[:, 2] < lowest + 1e-4  # the plane through a ragged rim is not quite level
    assert mesh.bounds[0, 2] == pytest.approx(lowest, abs=1e-4)
    flat = mesh.face_areas[bottom[mesh.faces].all(axis=1)].sum()
    assert flat == pytest.approx(np.pi * 0.03**2, rel=0.01)
    expected = np.pi * 0.03**2 * (0.05 - mesh.bounds[0, 2])
    assert mended.repaired.report.volume == pytest.approx(expected, rel=0.01)


def test_a_hole_in_the_side_is_closed_as_the_surface_around_goes_on() -> None:
    """In a torus: nothing stood on a table there. A fan from the rim's middle would take ten times as much away."""
    ring = make_shape("torus", major=0.035, minor=0.015)
    torn = with_hole(ring, (0.035, 0, 0.015), 0.012)
    lost = 1 - enclosed_volume(torn) / mesh_volume(ring)
    assert lost > 0.003
    mended = mend_mesh(torn, cap=True)
    assert "made up there" in mended.done[-1]
    assert abs(mended.repaired.report.volume / mesh_volume(ring) - 1) < 0.2 * lost
    assert distances(mended.repaired.mesh.vertices, ring).max() < 0.0005
    assert mended.repaired.report.genus == 1


@pytest.mark.parametrize("shape", [ball(0.002), make_shape("box", size=(0.06, 0.05, 0.04), edge=0.002)])
def test_noise_is_smoothed_to_half_and_nothing_shrinks(shape: Mesh) -> None:
    """Noise of a seventh of an edge; Taubin's filter leaves what is longer than some eight edges."""
    scan = noisy(shape, 0.0003)
    mended = mend_mesh(scan, smooth=True)
    before, after = (np.sqrt((distances(mesh.vertices, shape) ** 2).mean()) for mesh in (scan, mended.repaired.mesh))
    assert before == pytest.approx(0.0003, rel=0.05)
    assert after < 0.6 * before
    assert abs(mended.repaired.report.volume / mesh_volume(scan) - 1) < 1e-3
    said = mended.done[0]
    assert f"volume {100 * mended.volume_change:+.2g} %" in said


def test_smoothing_a_clean_ball_again_and_again_keeps_its_size() -> None:
    """Plain averaging, as often, would take a tenth of the volume."""
    mesh = ball()
    for _ in range(5):
        mesh = mend_mesh(mesh, smooth=True).repaired.mesh
    radius = np.linalg.norm(mesh.vertices, axis=1)
    assert mesh_volume(mesh) == pytest.approx(mesh_volume(ball()), rel=1e-4)
    assert np.abs(radius - 0.03).max() < 1e-4


def test_the_rim_of_a_hole_stays_where_it_is_while_noise_is_smoothed() -> None:
    box = make_shape("box", size=(0.06, 0.05, 0.04), edge=0.004)
    mended = mend_mesh(noisy(without_bottom(box, 1e-6), 0.0002), smooth=True, cap=True)
    assert mended.repaired.mesh.extents == pytest.approx(box.extents, abs=0.0015)
    assert mended.repaired.report.volume == pytest.approx(1.2e-4, rel=0.01)


def test_overlapping_parts_become_their_union() -> None:
    """Inclusion and exclusion: the handle stands 25 mm deep in the head."""
    with pytest.raises(MeshError, match="passes through itself"):
        repair_mesh(hammer())
    mended = mend_mesh(hammer())
    head, handle, common = 0.08 * 0.03 * 0.03, 0.015**2 * 0.12, 0.015**2 * 0.025
    assert mended.repaired.report.volume == pytest.approx(head + handle - common, rel=1e-9)
    assert mended.volume_change == pytest.approx(0.0, abs=1e-9)
    assert "united 2 parts into one body; what they had in common, 5.6" in mended.done[-1]


def test_parts_that_touch_face_to_face_are_united_and_a_hollow_stays_hollow() -> None:
    a = make_shape("box", size=(0.1, 0.1, 0.1), edge=0.03)
    b = make_shape("box", size=(0.06, 0.06, 0.06), edge=0.025).moved((0.08, 0.003, 0.002))
    cavity = make_shape("box", size=(0.02, 0.02, 0.02), edge=0.02).flipped()
    report = mend_mesh(joined(a, b, cavity)).repaired.report
    assert report.volume == pytest.approx(1e-3 + 2.16e-4 - 8e-6, rel=1e-9)
    assert report.cavities == 1


def test_what_no_option_mends_is_refused_as_by_loading() -> None:
    with pytest.raises(MeshError, match="2 separate bodies"):
        mend_mesh(joined(ball(), ball().moved((0.1, 0, 0))), cap=True, smooth=True)


def test_a_sound_mesh_stays_as_it_is() -> None:
    mended = mend_mesh(ball())
    assert mended.repaired.mesh.content_hash == ball().content_hash
    assert (mended.done, mended.volume_change, mended.cloud) == ((), 0.0, None)


@pytest.mark.parametrize("name", ["ycb_013_apple.obj", "ycb_006_mustard_bottle.obj"])
def test_a_real_scan_whose_bottom_is_torn_off_gets_its_volume_back(name: str, shared_data) -> None:
    whole = load_mesh(shared_data / "objects" / name).mesh
    middle = whole.moved(-whole.bounds.mean(axis=0))
    mended = mend_mesh(with_specks(without_bottom(middle, 0.004, uneven=0.002), 30), cap=True)
    assert mended.repaired.report.volume == pytest.approx(mesh_volume(whole), rel=0.03)
