"""Each defect of a surface that is no skin of one body: repaired and reported, or refused with reason and place."""

from __future__ import annotations

import pickle
import time
import tracemalloc

import numpy as np
import pytest

from pliant.errors import MeshError
from pliant.objects import Mesh, MeshReport, make_shape, mesh_volume, repair_mesh
from pliant.objects.mesh.topology import arrange_shells


def joined(*meshes: Mesh, name: str = "made.obj") -> Mesh:
    first, vertices, faces = 0, [], []
    for mesh in meshes:
        vertices.append(mesh.vertices)
        faces.append(mesh.faces + first)
        first += len(mesh.vertices)
    return Mesh(np.concatenate(vertices), np.concatenate(faces), name)


def without_faces(mesh: Mesh, gone: np.ndarray) -> Mesh:
    return Mesh(mesh.vertices, np.delete(mesh.faces, gone, axis=0), "made.obj")


def sound(mesh: Mesh) -> MeshReport:
    """The report on a mesh that needs no repair."""
    answer = repair_mesh(mesh)
    assert answer.mesh is mesh
    assert answer.report.repaired == ()
    return answer.report


def refusal(mesh: Mesh) -> str:
    with pytest.raises(MeshError) as caught:
        repair_mesh(mesh)
    for problem in caught.value.problems:
        assert problem.what
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    return str(caught.value)


def test_a_sound_mesh_passes_untouched() -> None:
    mesh = make_shape("torus")
    answer = repair_mesh(mesh)
    assert answer.mesh is mesh
    assert answer.report.repaired == ()
    assert (answer.report.genus, answer.report.euler) == (1, 0)
    assert answer.report.volume == pytest.approx(mesh_volume(mesh))


def test_empty_and_malformed_arrays_are_refused() -> None:
    assert "is empty" in refusal(Mesh(np.zeros((0, 3)), np.zeros((0, 3), int)))
    assert "no faces" in refusal(Mesh(np.eye(3), np.zeros((0, 3), int), "points.ply"))
    with pytest.raises(MeshError, match="face 0: names vertex 3"):
        Mesh(np.eye(3), [[0, 1, 3]])
    with pytest.raises(MeshError, match="face 1: names vertex -1"):
        Mesh(np.eye(3), [[0, 1, 2], [0, -1, 2]])
    with pytest.raises(MeshError, match=r"vertices: array of shape \(3, 2\)"):
        Mesh(np.zeros((3, 2)), [[0, 1, 2]])
    with pytest.raises(MeshError, match="not numbers"):
        Mesh([["a", "b", "c"]], [[0, 0, 0]])
    with pytest.raises(MeshError, match="whole numbers"):
        Mesh(np.eye(3), [[0, 1, 1.5]])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vertices_that_are_no_numbers_are_counted_and_the_first_is_named(value: float) -> None:
    vertices = np.array(make_shape("sphere").vertices)
    vertices[[17, 40], 1] = value
    text = refusal(Mesh(vertices, make_shape("sphere").faces, "ball.obj"))
    assert "ball.obj: vertex 17" in text
    assert f"2 of {len(vertices)} vertices" in text
    assert str(value) in text


def test_an_open_mesh_says_how_many_holes_and_where() -> None:
    mesh = make_shape("cylinder", radius=0.03, height=0.1)
    top = np.flatnonzero((mesh.face_centres[:, 2] > 0.0499) & (np.hypot(*mesh.face_centres[:, :2].T) < 0.02))
    bottom = np.flatnonzero((mesh.face_centres[:, 2] < -0.0499) & (np.hypot(*mesh.face_centres[:, :2].T) < 0.015))
    text = refusal(without_faces(mesh, np.concatenate([top, bottom])))
    assert "is open: 2 holes" in text
    assert "0.05) m (" in text
    assert "-0.05) m (" in text
    assert "mm around" in text
    # The larger hole comes first; a ring of radius about 20 mm is about 125 mm around.
    assert text.index(", 0.05) m") < text.index(", -0.05) m")


def test_a_small_hole_is_filled_and_said() -> None:
    mesh = make_shape("sphere", radius=0.03, edge=0.0015)
    around = np.linalg.norm(mesh.face_centres - (0.0, 0.0, 0.03), axis=1)
    damaged = without_faces(mesh, np.argsort(around)[:4])
    answer = repair_mesh(damaged)
    assert len(answer.report.repaired) == 1
    assert answer.report.repaired[0].startswith("filled a hole of ")
    assert ", 0.0" in answer.report.repaired[0]
    assert answer.report.volume == pytest.approx(mesh_volume(mesh), rel=1e-4)
    assert answer.report.euler == 2


def test_an_inside_out_mesh_is_turned_and_said() -> None:
    mesh = make_shape("torus")
    answer = repair_mesh(mesh.flipped())
    assert answer.report.repaired == (f"turned all {len(mesh.faces)} faces: the mesh was inside out",)
    assert mesh_volume(answer.mesh) == pytest.approx(mesh_volume(mesh))


def test_faces_wound_against_the_rest_are_turned_and_counted() -> None:
    mesh = make_shape("banana")
    faces = np.array(mesh.faces)
    wrong = [3, 100, 101, 500]
    faces[wrong] = faces[wrong][:, ::-1]
    damaged = Mesh(mesh.vertices, faces)
    answer = repair_mesh(damaged)
    assert answer.report.repaired[0].startswith("turned over 4 faces wound against the rest (first: face 3")
    assert answer.report.volume == pytest.approx(mesh_volume(mesh), rel=1e-14)


def test_duplicate_vertices_are_merged_and_counted() -> None:
    mesh = make_shape("sphere")
    soup = Mesh(mesh.corners.reshape(-1, 3), np.arange(3 * len(mesh.faces)).reshape(-1, 3))
    answer = repair_mesh(soup)
    number = 3 * len(mesh.faces) - len(mesh.vertices)
    assert answer.report.repaired == (f"merged {number} duplicate vertices ({len(mesh.vertices)} left)",)
    noisy = Mesh(soup.vertices + 1e-10 * np.random.default_rng(0).normal(size=soup.vertices.shape), soup.faces)
    assert len(repair_mesh(noisy).mesh.vertices) == len(mesh.vertices)


def test_degenerate_and_repeated_faces_and_unused_vertices_are_removed_and_counted() -> None:
    mesh = make_shape("sphere")
    vertices = np.concatenate([mesh.vertices, [[0.0, 0.0, 0.1], [0.0, 0.1, 0.0]]])
    faces = np.concatenate([mesh.faces, [[5, 5, 9]], mesh.faces[7:9]])
    answer = repair_mesh(Mesh(vertices, faces))
    said = "; ".join(answer.report.repaired)
    assert f"removed 1 degenerate face (first: face {len(mesh.faces)})" in said
    assert "removed 2 repeated faces" in said
    assert "removed 2 vertices that no face uses" in said
    assert answer.report.volume == pytest.approx(mesh_volume(mesh))
    assert (len(answer.mesh.vertices), len(answer.mesh.faces)) == (len(mesh.vertices), len(mesh.faces))


def test_a_double_sided_export_becomes_single_sided() -> None:
    mesh = make_shape("sphere")
    answer = repair_mesh(Mesh(mesh.vertices, np.concatenate([mesh.faces, mesh.faces[:, ::-1]])))
    assert answer.report.volume == pytest.approx(mesh_volume(mesh))


def test_a_face_whose_corners_lie_on_one_line_gets_an_area_without_changing_the_shape() -> None:
    """A box whose edge x holds an extra vertex on one side only, bridged by a face of no area."""
    mesh = make_shape("box", size=(0.1, 0.1, 0.1), edge=1.0)
    a, b, c = mesh.faces[0]
    middle = len(mesh.vertices)
    vertices = np.concatenate([mesh.vertices, [0.5 * (mesh.vertices[a] + mesh.vertices[b])]])
    faces = np.concatenate([mesh.faces[1:], [[a, middle, c], [middle, b, c], [a, b, middle]]])
    damaged = Mesh(vertices, faces)
    assert damaged.face_areas.min() == 0.0
    answer = repair_mesh(damaged)
    assert any("without area" in said for said in answer.report.repaired)
    assert answer.mesh.face_areas.min() > 1e-3
    assert answer.report.volume == pytest.approx(1e-3, rel=1e-12)


def test_two_separate_bodies_are_refused_with_sizes_and_places() -> None:
    text = refusal(joined(make_shape("sphere", radius=0.03), make_shape("sphere", radius=0.01).moved((0.1, 0, 0))))
    assert "made.obj: holds 2 separate bodies: 113 cm3" in text
    assert "4.1" in text
    assert "(0.1, " in text


def test_a_hollow_is_no_second_body() -> None:
    outer, inner = make_shape("sphere", radius=0.03), make_shape("sphere", radius=0.02)
    hollow = joined(outer, inner.flipped())
    report = sound(hollow)
    assert (report.cavities, report.genus, report.euler) == (1, 0, 4)
    assert report.volume == pytest.approx(mesh_volume(outer) - mesh_volume(inner))
    assert "hollow" in report.notes[0]
    assert repair_mesh(hollow.flipped()).report.volume == pytest.approx(report.volume)


def test_an_inner_shell_that_faces_outwards_is_questioned() -> None:
    text = refusal(joined(make_shape("sphere", radius=0.03), make_shape("sphere", radius=0.02)))
    assert "faces outwards inside another shell" in text


def test_a_ball_in_a_hollow_is_a_second_body() -> None:
    radii = (0.03, 0.02, 0.01)
    shells = [make_shape("sphere", radius=radius) for radius in radii]
    assert "2 separate bodies" in refusal(joined(shells[0], shells[1].flipped(), shells[2]))


def test_debris_of_hundreds_of_pieces_is_refused_quickly() -> None:
    crumb = make_shape("box", size=(1e-3, 1e-3, 1e-3), edge=1.0)
    places = np.random.default_rng(1).uniform(-0.1, 0.1, size=(300, 3))
    debris = joined(make_shape("sphere"), *(crumb.moved(0.1 * np.sign(p) + p) for p in places))
    assert "301 separate pieces" in refusal(debris)
    # They are counted before anything is made of each: a copy of all vertices for every piece would be 60 MB here.
    tracemalloc.start()
    try:
        arrange_shells(debris)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_a_stray_vertex_far_away_says_nothing_about_the_size_of_the_mesh() -> None:
    """Tolerances are parts of the size: with the stray one in it, all of the ball would be one spot."""
    ball = make_shape("sphere")
    stray = Mesh(np.vstack([ball.vertices, [[1e6, 0.0, 0.0]]]), ball.faces)
    repaired = repair_mesh(stray)
    assert repaired.report.repaired == ("removed 1 vertex that no face uses",)
    assert repaired.mesh.content_hash == ball.content_hash


def test_thousands_of_vertices_on_one_spot_are_refused_before_their_pairs_are_listed() -> None:
    rng = np.random.default_rng(0)
    crowd = Mesh(1e-9 * rng.random((6000, 3)), rng.permutation(6000).reshape(-1, 3))
    mesh = joined(make_shape("sphere", edge=0.02), crowd)
    assert "others within 1e-08 m of it" in refusal(mesh)
    with pytest.raises(MeshError, match=r"^parts/crowd\.stl: vertices: a vertex has"):  # the file, not what is in it
        repair_mesh(mesh, source="parts/crowd.stl")


def test_boxes_that_share_an_edge_touch_themselves() -> None:
    box = make_shape("box", size=(0.1, 0.1, 0.1), edge=1.0)
    text = refusal(joined(box, box.moved((0.1, 0.1, 0.0))))
    assert "is shared by 4 faces" in text
    assert "edge " in text
    assert "(0.05, 0.05, 0) m" in text


def test_solids_set_together_along_an_edge_become_the_skin_of_both() -> None:
    """An octahedron half inside a pyramid on the same square: of volumes a^2 h / 3 each, the lower half counts once."""
    a, h = 0.04, 0.03
    square = [[a, 0, 0], [0, a, 0], [-a, 0, 0], [0, -a, 0]]
    vertices = np.array([*square, [0, 0, h], [0, 0, -h], [0, 0, -2 * h]])
    sides = [(k, (k + 1) % 4) for k in range(4)]
    top, lower, pyramid = ([[i, j, 4] for i, j in sides], [[j, i, 5] for i, j in sides], [[j, i, 6] for i, j in sides])
    lid = [[0, 1, 2], [0, 2, 3]]
    answer = repair_mesh(Mesh(vertices, [*top, *lower, *pyramid, *lid], "made.obj"))
    assert len(answer.mesh.faces) == 8
    assert mesh_volume(answer.mesh) == pytest.approx(2 * a**2 * (h + 2 * h) / 3, rel=1e-12)
    assert any("removed 6 faces inside the body, where its parts meet" in action for action in answer.report.repaired)


def test_cones_tip_to_tip_touch_themselves() -> None:
    base = [[0.1, 0, 0.1], [-0.05, 0.08, 0.1], [-0.05, -0.08, 0.1]]
    vertices = np.array([[0, 0, 0], *base, *(-np.array(base))])
    top = [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]
    bottom = [[0, 5, 4], [0, 6, 5], [0, 4, 6], [4, 5, 6]]
    mesh = Mesh(vertices, [*(f[::-1] for f in top), *(f[::-1] for f in bottom)])
    text = refusal(mesh)
    assert "vertex 0 at (0, 0, 0) m" in text
    assert "single point" in text


def test_a_surface_that_passes_through_itself_is_refused_with_the_place() -> None:
    """A rod bent round by more than a full turn: closed, one shell, and one end stands in the other."""
    x, y, z = make_shape("cylinder", radius=0.01, height=0.34, edge=0.004).vertices.T
    angle = z / 0.05
    ring = np.stack([(0.05 - x) * np.sin(angle), -y + 0.001 * angle, -(0.05 - x) * np.cos(angle)], axis=1)
    text = refusal(Mesh(ring, make_shape("cylinder", radius=0.01, height=0.34, edge=0.004).faces, "ring.stl"))
    assert "the surface passes through itself there" in text
    assert "ring.stl: faces " in text
    assert "boolean union" in text
    # The ends overlap opposite to the rod's middle, at the top.
    place = [float(x) for x in text.split("at (")[1].split(")")[0].split(",")]
    assert place[2] > 0.03


def test_bodies_that_only_touch_face_to_face_are_refused() -> None:
    a = make_shape("box", size=(0.1, 0.1, 0.1), edge=0.03)
    b = make_shape("box", size=(0.06, 0.06, 0.06), edge=0.025).moved((0.08, 0.003, 0.002))
    text = refusal(joined(a, b))
    assert "touches itself" in text
    assert "2 separate bodies" in text


def crumpled(noise: float, seed: int) -> Mesh:
    """A ball with a crumpled spot: twenty vertices of it moved at random."""
    mesh = make_shape("sphere", radius=0.03, edge=0.001)
    vertices = np.array(mesh.vertices)
    spot = np.argsort(np.linalg.norm(vertices - vertices[50], axis=1))[:20]
    vertices[spot] += noise * np.random.default_rng(seed).normal(size=(20, 3))
    return Mesh(vertices, mesh.faces)


def test_a_few_small_folds_are_smoothed_and_said() -> None:
    folded = crumpled(0.0004, seed=5)
    answer = repair_mesh(folded)
    assert answer.report.repaired[0].startswith("smoothed 10 vertices by at most 0.48 mm")
    moved = np.linalg.norm(answer.mesh.vertices - folded.vertices, axis=1)
    assert moved.max() < 0.005 * folded.diagonal
    assert (moved > 0).sum() == 10
    sound(answer.mesh)


def test_folds_that_would_have_to_be_moved_far_are_refused() -> None:
    assert "passes through itself" in refusal(crumpled(0.0005, seed=9))


def test_a_moebius_band_with_thickness_zero_has_no_inside() -> None:
    n = 30
    angle = 2 * np.pi * np.arange(n) / n
    rings = []
    for side in (-1, 1):
        r = 0.05 + side * 0.01 * np.cos(angle / 2)
        rings.append(np.stack([r * np.cos(angle), r * np.sin(angle), side * 0.01 * np.sin(angle / 2)], axis=1))
    faces = []
    for i in range(n):
        a, b = i, n + i
        c, d = ((i + 1), n + i + 1) if i < n - 1 else (n, 0)
        faces += [[a, c, b], [b, c, d]]
    text = refusal(Mesh(np.concatenate(rings), faces))
    assert "only one side" in text
    assert "is open: 1 hole" in text


def test_holes_that_meet_in_a_point_are_counted_as_holes() -> None:
    """Two faces out of a ball that share one vertex: the rim touches itself, but what is wrong is that it is open."""
    ball = make_shape("sphere", edge=0.02)
    first = ball.faces[0]
    apart = [i for i, f in enumerate(ball.faces) if len(set(f) & set(first)) == 1]
    open_ball = Mesh(ball.vertices, np.delete(ball.faces, [0, apart[0]], axis=0))
    text = refusal(open_ball)
    assert "is open: " in text
    assert "touches itself" not in text


def test_millimetres_are_recognised() -> None:
    text = refusal(make_shape("torus").scaled(1000.0))
    assert "100 m across" in text
    assert "almost surely millimetres; scale by 0.001" in text
    tiny = refusal(make_shape("torus").scaled(1e-3))
    assert "scale by 1000" in tiny


def test_a_sheet_without_thickness_is_refused() -> None:
    text = refusal(make_shape("box", size=(0.1, 0.1, 1e-6), edge=0.05))
    assert "volume: encloses 0.01 cm3 within 200 cm2 of surface: a sheet, not a body; give it thickness" in text
    ball = make_shape("sphere")
    assert "a sheet, not a body" in refusal(Mesh(ball.vertices * (1, 1, 1e-5), ball.faces))


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_scaling_by_nonsense_is_refused(factor: float) -> None:
    with pytest.raises(MeshError, match="above 0"):
        make_shape("sphere").scaled(factor)


@pytest.mark.performance
def test_16k_faces_are_checked_in_less_than_two_seconds() -> None:
    mesh = make_shape("sphere", radius=0.03, edge=0.00122)
    assert 15_000 < len(mesh.faces) < 17_500
    sound(make_shape("sphere"))
    start = time.process_time()
    sound(mesh)
    assert time.process_time() - start < 2.0
