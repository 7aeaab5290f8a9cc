"""The search for self-intersections against a plain search over all pairs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pliant.errors import MeshError
from pliant.objects import Mesh, make_shape
from pliant.objects.mesh.intersection import overlapping_boxes, self_intersections


def test_overlapping_boxes_of_all_sizes_equal_the_search_over_all_pairs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        sets = []
        for n in (300, 200):
            low = rng.uniform(-1, 1, size=(n, 3))
            sets += [low, low + 10 ** rng.uniform(-4, 0.3, size=(n, 1)) * rng.uniform(0.2, 1, size=(n, 3))]
        low_a, high_a, low_b, high_b = sets
        apart = (low_a[:, None] > high_b[None]).any(axis=2) | (low_b[None] > high_a[:, None]).any(axis=2)
        expected = set(zip(*(k.tolist() for k in np.nonzero(~apart)), strict=True))
        found = [pair for i, j in overlapping_boxes(*sets) for pair in zip(i.tolist(), j.tolist(), strict=True)]
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert len(expected) > 100


def exactly_crosses(p, q, a, b, c) -> bool:
    """Whether segment pq passes through triangle abc, in rational numbers: signs of five volumes."""

    def volume(o, x, y, z) -> Fraction:
        u, v, w = ([Fraction(float(s)) - Fraction(float(t)) for s, t in zip(r, o, strict=True)] for r in (x, y, z))
        return (
            u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2]) + u[2] * (v[0] * w[1] - v[1] * w[0])
        )

    if volume(a, b, c, p) * volume(a, b, c, q) >= 0:
        return False
    sides = [volume(p, q, x, y) for x, y in ((a, b), (b, c), (c, a))]
    return all(side > 0 for side in sides) or all(side < 0 for side in sides)


def test_crossings_of_random_triangles_equal_exact_arithmetic_over_all_pairs() -> None:
    rng = np.random.default_rng(8)
    for _ in range(3):
        centres = rng.uniform(-1, 1, size=(24, 1, 3))
        mesh = Mesh((centres + 0.8 * rng.normal(size=(24, 3, 3))).reshape(-1, 3), np.arange(72).reshape(-1, 3))
        expected = set()
        for f, g in product(range(24), repeat=2):
            edges = [(mesh.corners[f, k], mesh.corners[f, (k + 1) % 3]) for k in range(3)]
            if f != g and any(exactly_crosses(p, q, *mesh.corners[g]) for p, q in edges):
                expected.add((f, g))
        intersections = self_intersections(mesh)
        assert all(intersection.crossing for intersection in intersections)
        assert {intersection.faces for intersection in intersections} == expected
        assert len(expected) > 30


@pytest.mark.parametrize("gap", [-1e-3, -1e-7, 0.0, 1e-7, 1e-3])
def test_two_balls_meet_exactly_when_their_gap_is_not_positive(gap: float) -> None:
    """Poles of two icosahedra tip against tip at a known distance."""
    ball = make_shape("sphere", radius=0.03, edge=0.03)
    turned = ball.vertices @ _to_z(ball.vertices[0]).T
    upper = turned + np.array([0.0, 0.0, gap / 2 - turned[:, 2].min()])
    lower = -upper
    mesh = Mesh(np.concatenate([upper, lower]), np.concatenate([ball.faces, ball.faces[:, ::-1] + len(upper)]))
    assert bool(self_intersections(mesh)) == (gap <= 0)
    assert any(m.crossing for m in self_intersections(mesh)) == (gap < 0)


def test_triangles_that_share_one_corner_can_still_cross() -> None:
    vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.5, 0.2, -0.5], [0.2, 0.5, 0.5]]
    intersections = self_intersections(Mesh(vertices, [[0, 1, 2], [0, 3, 4]]))
    assert len(intersections) == 1
    assert intersections[0].crossing
    np.testing.assert_allclose(intersections[0].place, [0.35, 0.35, 0.0], atol=1e-6)


def test_triangles_that_share_an_edge_meet_only_when_folded_flat() -> None:
    flat = Mesh([[0, 0, 0], [1, 0, 0], [0.3, 1, 0], [0.6, 0.7, 0]], [[0, 1, 2], [1, 0, 3]])
    sharp = Mesh([[0, 0, 0], [1, 0, 0], [0.3, 1, 0], [0.6, 0.7, 0.001]], [[0, 1, 2], [1, 0, 3]])
    assert len(self_intersections(flat)) == 1
    assert not self_intersections(sharp)


@pytest.mark.parametrize("name", ["torus", "box", "bottle", "cup", "banana", "tube", "disc"])
def test_shapes_that_ship_never_meet_themselves(name: str) -> None:
    assert self_intersections(make_shape(name)) == []


def test_intersections_do_not_depend_on_the_pose() -> None:
    a, b = make_shape("torus", edge=0.006), make_shape("torus", edge=0.0055).moved((0.03, 0.004, 0.002))
    pair = Mesh(np.concatenate([a.vertices, b.vertices]), np.concatenate([a.faces, b.faces + len(a.vertices)]))
    here = {m.faces for m in self_intersections(pair)}
    turn = _to_z(np.array([0.3, -0.5, 0.8]))
    there = {m.faces for m in self_intersections(Mesh(pair.vertices @ turn.T + 0.3, pair.faces))}
    assert here == there
    assert len(here) > 50


def _to_z(direction: np.ndarray) -> np.ndarray:
    """A rotation that takes ``direction`` to -z."""
    z = -direction / np.linalg.norm(direction)
    x = np.cross(z, [0.3, 0.9, -0.2])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z])


def test_faces_that_all_lie_side_by_side_are_given_up_before_their_pairs_are_compared() -> None:
    """The tips of a double cone: a mesh of ten thousand such faces would take a minute, one of a million a week."""
    n = 5000
    t = np.linspace(0.0, 2 * np.pi, n, endpoint=False)
    rim = np.stack([0.1 * np.cos(t), 0.1 * np.sin(t), np.zeros(n)], axis=1)
    here, after = np.arange(n), (np.arange(n) + 1) % n
    faces = [np.stack([np.full(n, n), here, after], axis=1), np.stack([np.full(n, n + 1), after, here], axis=1)]
    cone = Mesh(np.concatenate([rim, [[0, 0, 0.1], [0, 0, -0.1]]]), np.concatenate(faces))
    with pytest.raises(MeshError, match="side by side"):
        self_intersections(cone)
