"""Still pictures: geometry against closed forms of perspective."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pliant.objects import make_shape
from pliant.viewer import Drawable, arrow, ball, look_at, render, save_png

RED = (1.0, 0.0, 0.0)


def red_mask(image: np.ndarray) -> np.ndarray:
    return image[..., 0].astype(int) - image[..., 1].astype(int) > 60


def test_a_ball_fills_the_disc_that_perspective_says() -> None:
    """A ball of radius r at distance D is seen under sin(a) = r / D: a disc of focal length times tan(a) pixels."""
    camera = look_at((0.0, -0.5, 0.0), (0.0, 0.0, 0.0), field_of_view_deg=30.0)
    image = render([Drawable(make_shape("sphere", radius=0.05, edge=0.004), RED)], camera, width=300, height=200)
    focal = 100 / np.tan(np.radians(15.0))
    radius = focal * np.tan(np.arcsin(0.05 / 0.5))
    mask = red_mask(image)
    assert mask.sum() == pytest.approx(np.pi * radius**2, rel=0.02)
    rows, columns = np.nonzero(mask)
    np.testing.assert_allclose([rows.mean(), columns.mean()], [99.5, 149.5], atol=0.5)


def test_the_nearer_surface_hides_the_farther() -> None:
    near = Drawable(make_shape("box", size=(0.1, 0.01, 0.1), edge=0.1).moved((0, -0.1, 0)), RED)
    far = Drawable(make_shape("sphere", radius=0.03, edge=0.01), (0.0, 0.0, 1.0))
    camera = look_at((0.0, -0.6, 0.0), (0.0, 0.0, 0.0))
    image = render([far, near], camera, width=120, height=80).astype(int)
    assert not np.any(image[..., 2] - image[..., 0] > 60)
    image = render([far], camera, width=120, height=80).astype(int)
    assert np.any(image[..., 2] - image[..., 0] > 60)


def test_surfaces_cast_shadows_on_the_ground() -> None:
    camera = look_at((0.0, -1.0, 0.8), (0.0, 0.0, 0.0))
    sphere = [Drawable(make_shape("sphere", radius=0.05, edge=0.01).moved((0, 0, 0.2)), RED)]
    floor = [Drawable(make_shape("sphere", radius=0.05, edge=0.01).moved((0, 0, -5.0)), RED)]
    shaded = render(sphere, camera, width=150, height=100, ground=0.0)
    bare = render(floor, camera, width=150, height=100, ground=0.0)
    darker = (bare.astype(int) - shaded.astype(int)).min(axis=2) > 15
    assert 30 < darker.sum() < 2000


def test_an_arrow_has_the_length_and_direction_of_its_vector() -> None:
    item = arrow((0.1, 0.2, 0.3), (0.0, 0.05, 0.0), radius=0.002, colour=RED)
    along = item.mesh.vertices[:, 1]
    assert along.min() == pytest.approx(0.2, abs=1e-12)
    assert along.max() == pytest.approx(0.25, abs=1e-12)
    assert ball((1, 2, 3), radius=0.1, colour=RED).mesh.vertices.mean(axis=0) == pytest.approx([1, 2, 3], abs=1e-9)


def test_pictures_are_written_with_their_folders(tmp_path: Path) -> None:
    from PIL import Image

    image = np.zeros((4, 6, 3), dtype=np.uint8)
    with Image.open(save_png(image, tmp_path / "a" / "b.png")) as picture:
        assert picture.size == (6, 4)


def test_a_camera_straight_above_has_axes_too() -> None:
    for height in (1.0, -1.0):
        axes = look_at((0.1, 0.2, height), (0.1, 0.2, 0.0)).axes
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(axes[2], (0.0, 0.0, np.sign(height)))
