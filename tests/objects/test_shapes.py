"""Shapes by parameters: on the true surface, well shaped, symmetric, repeatable; mistyped ones are answered."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import OptionError
from pliant.objects import SHAPES, Mesh, make_shape, mass_properties, repair_mesh


def angles_deg(mesh: Mesh) -> np.ndarray:
    found = []
    for k in range(3):
        u, w = (mesh.corners[:, (k + j) % 3] - mesh.corners[:, k] for j in (1, 2))
        found.append(np.arctan2(np.linalg.norm(np.cross(u, w), axis=1), np.einsum("ij,ij->i", u, w)))
    return np.degrees(np.array(found))


@pytest.mark.parametrize("name", sorted(SHAPES))
@pytest.mark.parametrize("edge", [None, 0.003])
def test_every_shape_is_a_sound_mesh_of_nearly_uniform_triangles(name: str, edge: float | None) -> None:
    mesh = make_shape(name, edge=edge)
    report = repair_mesh(mesh).report
    assert report.repaired == ()
    assert report.genus == (1 if name in ("torus", "tube") else 0)
    assert mesh.name == name
    assert angles_deg(mesh).min() > 25.0
    lengths = np.linalg.norm(mesh.corners - np.roll(mesh.corners, 1, axis=1), axis=2)
    assert lengths.max() < 2.2 * np.median(lengths)
    if edge is not None:
        assert np.median(lengths) == pytest.approx(edge, rel=0.15)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_same_parameters_give_the_same_mesh(name: str) -> None:
    assert make_shape(name).content_hash == make_shape(name).content_hash


def test_vertices_lie_on_the_true_surface() -> None:
    x, y, z = make_shape("torus", major=0.05, minor=0.012).vertices.T
    np.testing.assert_allclose(np.hypot(np.hypot(x, y) - 0.05, z), 0.012, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(make_shape("sphere", radius=0.02).vertices, axis=1), 0.02, rtol=1e-12)
    x, y, z = make_shape("banana", length=0.2, radius=0.02, bend=0.1, taper=1.3).vertices.T
    # The lowest point lies one radius below the centre line, whose centre is one bend above it.
    centre = z.min() + 0.02 + 0.1
    angle = np.arctan2(x, centre - z)
    r = np.hypot(np.hypot(x, centre - z) - 0.1, y)
    t = angle * 0.1 / 0.2 + 0.5
    np.testing.assert_allclose(r, 0.02 * np.sqrt(np.clip(4 * t * (1 - t), 0, None)) ** 1.3, atol=2e-6)
    r, z = np.hypot(*(v := make_shape("cylinder", radius=0.03, height=0.1, rounding=0.01).vertices)[:, :2].T), v[:, 2]
    rim = (r > 0.02 + 1e-9) & (np.abs(z) > 0.04 + 1e-9)
    np.testing.assert_allclose(np.hypot(r[rim] - 0.02, np.abs(z[rim]) - 0.04), 0.01, rtol=1e-12)
    assert rim.sum() > 20


@pytest.mark.parametrize("name", ["torus", "sphere", "box", "cylinder", "disc", "tube", "banana"])
def test_centred_shapes_have_their_centroid_at_the_origin(name: str) -> None:
    """To rounding where symmetry says so; along the banana's bend to second order in the edge."""
    centres = [mass_properties(make_shape(name, edge=edge), density=1.0).centre for edge in (0.004, 0.001)]
    if name == "banana":
        assert np.abs(centres[1][:2]).max() < 1e-9
        assert abs(centres[1][2]) < abs(centres[0][2]) / 8 < 2e-5
    else:
        assert np.abs(centres).max() < 1e-12


@pytest.mark.parametrize("name", ["bottle", "cup"])
def test_standing_shapes_stand_on_the_origin(name: str) -> None:
    mesh = make_shape(name)
    assert mesh.bounds[0, 2] == 0.0
    assert mesh.bounds[1, 2] == pytest.approx(SHAPES[name].defaults["height"])
    assert np.abs(mass_properties(mesh, density=1.0).centre[:2]).max() < 1e-12


def test_rounded_rods_have_their_exact_volume() -> None:
    for rounding in (0.0, 0.004, 0.014):
        parameters = {"radius": 0.03, "thickness": 0.03, "rounding": rounding}
        volume = mass_properties(make_shape("disc", **parameters, edge=0.0008), density=1.0).volume
        assert volume == pytest.approx(SHAPES["disc"].exact_volume(**parameters), rel=1e-3)


def test_every_parameter_is_documented_with_a_default() -> None:
    for shape in SHAPES.values():
        assert list(shape.parameters) == list(shape.defaults)
        assert shape.summary


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("tours", {}, "no shape 'tours'; closest: torus"),
        ("torus", {"majr": 0.1}, "shape torus: majr: no parameter 'majr'; closest: major"),
        ("torus", {"minor": 0.05}, "minor: 0.05 m; below major"),
        ("torus", {"major": "big"}, "major: 'big'; must be a number"),
        ("sphere", {"radius": -1.0}, "radius: -1.0; must be a number from 1e-06 to 100 m"),
        ("sphere", {"radius": 1e308}, "radius: 1e+308; must be a number"),
        ("torus", {"major": 1.0, "minor": 1e-6}, "faces"),
        ("banana", {"length": 4.0, "radius": 1e-6, "bend": 3.0}, "faces"),
        ("cylinder", {"rounding": [0.001]}, "rounding: [0.001]; must be a number"),
        ("sphere", {"radius": float("nan")}, "radius: nan"),
        ("sphere", {"edge": 0.0}, "edge: 0.0"),
        ("sphere", {"edge": 1e-6}, "faces"),
        ("box", {"size": (1, 2)}, "must be 3 numbers"),
        ("box", {"size": (1, 2, 0)}, "size_z"),
        ("tube", {"inner": 0.04}, "inner: 0.04 m; below outer"),
        ("cylinder", {"rounding": 0.03}, "rounding"),
        ("bottle", {"height": 0.05}, "more than neck, shoulder and rounding"),
        ("bottle", {"neck_radius": 0.2}, "neck_radius"),
        ("cup", {"wall": 0.05}, "wall"),
        ("banana", {"bend": 0.01}, "radius: 0.018 m; below bend"),
        ("banana", {"length": 1.0}, "length: 1.0 m; at most"),
        ("banana", {"taper": 3.0}, "between 1 and 2"),
        ("sphere", {"radius": None}, "radius: None"),
    ],
)
def test_wrong_names_and_values_are_answered_with_the_parameter(name: str, parameters: dict, said: str) -> None:
    with pytest.raises(OptionError) as caught:
        make_shape(name, **parameters)
    assert said in str(caught.value)
