"""The distance field bounds from below, everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from pliant.contact import DistanceField
from pliant.errors import OptionError
from pliant.objects import Mesh


def box_distance(points: np.ndarray, half: np.ndarray) -> np.ndarray:
    q = np.abs(points) - half
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)


def test_the_bound_is_never_above_the_distance_and_hardly_below_it_close_by() -> None:
    half = np.array([0.03, 0.02, 0.011])
    box = trimesh.creation.box(2 * half)
    field = DistanceField.of(Mesh(box.vertices, box.faces), 1.5e-3, cache=False)
    assert field.step == pytest.approx(1.5e-3)
    points = np.random.default_rng(3).uniform(-0.08, 0.08, (20000, 3))
    true, bound = box_distance(points, half), field.distance(points)
    assert (bound <= true).all()
    near = np.abs(true) < 3e-3
    assert near.sum() > 200
    assert (true - bound)[near].max() < 0.55 * field.step
    # far away it is still most of the way
    far = true > 0.03
    assert (bound[far] > 0.5 * true[far]).all()


def test_advancing_by_the_bound_stops_short_of_a_ball_and_close_to_it() -> None:
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.03)
    field = DistanceField.of(Mesh(ball.vertices, ball.faces), cache=False)
    samples = 0.008 * trimesh.creation.icosphere(subdivisions=3).vertices
    at = 0.2
    for _ in range(40):
        gap = field.distance(samples + np.array([0.005, 0.0, at])).min()
        if gap < 1e-4:
            break
        at -= gap
    touch = np.sqrt(0.038**2 - 0.005**2)
    assert touch - 1e-4 < at < touch + 1e-3


def test_a_resolution_that_makes_no_sense_is_refused() -> None:
    ball = trimesh.creation.icosphere(subdivisions=1, radius=0.03)
    for resolution in (0.0, -1e-3, 1e-5, float("nan")):
        with pytest.raises(OptionError, match="resolution"):
            DistanceField.of(Mesh(ball.vertices, ball.faces), resolution, cache=False)


def test_a_field_just_made_is_of_the_same_kind_as_one_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.03)
    mesh = Mesh(ball.vertices, ball.faces)
    made, read = DistanceField.of(mesh), DistanceField.of(mesh)
    assert list(tmp_path.glob("distance-*"))
    assert (made.values == read.values).all()
    assert made.values.flags.writeable == read.values.flags.writeable
