"""Surface compliance against elasticity's exact answers, and its cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from pliant.elastic import fem as elasticity
from pliant.elastic.cache import load_arrays, store_arrays
from pliant.elastic.compliance import Compliance, prepare_compliance
from pliant.elastic.substructuring import Elimination, condensed_gram
from pliant.objects import Mesh

RADIUS, POISSON = 0.03, 0.45


def ball_of(edge: float) -> Compliance:
    sphere = trimesh.creation.icosphere(subdivisions=3, radius=RADIUS)
    return prepare_compliance(Mesh(sphere.vertices, sphere.faces), POISSON, edge=edge, cache=False)


@pytest.fixture(scope="module")
def ball() -> Compliance:
    return ball_of(0.008)


@pytest.fixture(scope="module")
def coarse_ball() -> Compliance:
    return ball_of(0.012)


def test_preparation_leaves_nothing_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    box = trimesh.creation.box((0.04, 0.04, 0.02))
    prepare_compliance(Mesh(box.vertices, box.faces), 0.3, edge=0.015, cache=False)
    assert list(tmp_path.iterdir()) == [] and Path.cwd() == tmp_path
    printed = capfd.readouterr()
    assert printed.out == "" and printed.err == ""


def corner_forces(body: Compliance, traction: np.ndarray) -> np.ndarray:
    return np.linalg.inv(body.inverse_mass.astype(float)) @ traction


def test_ball_under_uniform_pressure_shrinks_by_the_bulk_modulus(ball: Compliance) -> None:
    n = ball.points / np.linalg.norm(ball.points, axis=1)[:, None]
    u = ball.displacement(np.arange(len(n)), corner_forces(ball, -n), 1.0)
    # u / R = -p (1 - 2 nu) / E
    assert np.einsum("ij,ij->i", u, n) / 0.03 == pytest.approx(-0.1, rel=0.02)


def test_ball_under_uniaxial_traction_strains_uniformly(ball: Compliance) -> None:
    n = ball.points / np.linalg.norm(ball.points, axis=1)[:, None]
    pull = np.zeros_like(n)
    pull[:, 2] = n[:, 2]
    u = ball.displacement(np.arange(len(n)), corner_forces(ball, pull), 2.0)
    strain = np.linalg.lstsq(ball.points, u, rcond=None)[0]
    assert np.diag(strain) == pytest.approx([-0.45 / 2, -0.45 / 2, 1 / 2], rel=0.02)


def test_compliance_is_symmetric_and_positive_definite(ball: Compliance) -> None:
    c = ball.matrix.astype(float)
    assert np.abs(c - c.T).max() < 1e-6 * np.abs(c).max()
    # single precision moves an eigenvalue by less than half a unit of the last place (2^-24) of the whole matrix
    assert np.linalg.eigvalsh(c)[0] > 2.0**-24 * np.linalg.norm(c)


def traction_work(body: Compliance, traction: np.ndarray) -> float:
    """Integral of t . u over the surface under the traction t itself, for E = 1."""
    forces = corner_forces(body, traction)
    return float((forces * body.displacement(np.arange(len(forces)), forces, 1.0)).sum())


def work_of_push() -> float:
    """Traction e_z all over a free ball, balanced by b = 3 / R along -e_z in every volume element.

    u = A r^2 e_z + B z x + c e_z solves Navier's equation; its traction is e_z where
        mu (2 A + B) R = 1   and   mu (2 A + 3 B) + lambda (2 A + 4 B) = 0,
    and it moves the volume nowhere on the average where c = -(3 A + B) R^2 / 5.
    """
    lam, mu = POISSON / ((1 + POISSON) * (1 - 2 * POISSON)), 0.5 / (1 + POISSON)
    A, B = np.linalg.solve([[2 * mu, mu], [2 * mu + 2 * lam, 3 * mu + 4 * lam]], [1 / RADIUS, 0.0])
    return float(4 * np.pi * RADIUS**4 * ((2 * A - B) / 5 + B / 3))


def work_of_twist() -> float:
    """Traction e_z x n all over a free ball, balanced by 5 / R^2 e_z x x in every volume element.

    u = (r^2 / 10 - R^2 / 14) (5 / R^2) e_z x x / mu: it turns the volume by nothing on the average. At the surface that
    is R / (7 mu) e_z x n, and the integral of |e_z x n|^2 is 8 pi R^2 / 3.
    """
    return 2 * (1 + POISSON) * RADIUS / 7 * 8 * np.pi * RADIUS**2 / 3


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("load", ["push", "twist"])
def test_rigid_loads_strain_the_ball_against_its_inertia_and_do_not_move_it(
    ball: Compliance, coarse_ball: Compliance, load: str, axis: int
) -> None:
    works = []
    for body in (coarse_ball, ball):
        n = body.points / np.linalg.norm(body.points, axis=1)[:, None]
        along = np.broadcast_to(np.eye(3)[axis], n.shape)
        works.append(traction_work(body, along if load == "push" else np.cross(along, n)))
    # The error goes with h^2 (up to a fifth of the twist: it is small itself). Without that term of two meshes, what is
    # left is the next one, d (h / R)^4 with d of the order of 1: d (h_coarse h_fine / R^2)^2.
    coarse, fine = (coarse_ball.edge / RADIUS) ** 2, (ball.edge / RADIUS) ** 2
    limit = (coarse * works[1] - fine * works[0]) / (coarse - fine)
    assert limit == pytest.approx(work_of_push() if load == "push" else work_of_twist(), rel=coarse * fine)


def test_where_the_free_body_is_supported_makes_no_difference(
    coarse_ball: Compliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = elasticity.determinate_supports
    held: list[list[int]] = []

    def elsewhere(corners: np.ndarray, rigid: np.ndarray) -> list[int]:
        held.extend([chosen(corners, rigid), chosen(-corners, rigid)])
        return held[-1]

    monkeypatch.setattr(elasticity, "determinate_supports", elsewhere)
    other = ball_of(0.012)
    assert set(held[0]) != set(held[1]), "other corners hold it"
    # both are rounded to single precision
    assert np.abs(other.matrix - coarse_ball.matrix).max() < 2e-7 * np.abs(coarse_ball.matrix).max()


def test_elimination_solves_and_gram_agrees_with_it() -> None:
    rng = np.random.default_rng(2)
    nodes = np.column_stack([np.arange(300), np.arange(300) + 1])
    blocks = rng.normal(size=(300, 4, 4))
    matrices = blocks @ blocks.transpose(0, 2, 1) + 0.1 * np.eye(4)
    centres = np.column_stack([np.arange(300.0), np.zeros(300), np.zeros(300)])
    factor = Elimination(matrices, nodes, centres, 602, springs={3: 2.0})
    dense = np.zeros((602, 602))
    for m, (a, b) in zip(matrices, nodes, strict=True):
        at = [2 * a, 2 * a + 1, 2 * b, 2 * b + 1]
        dense[np.ix_(at, at)] += m
    dense[3, 3] += 2.0
    loads = rng.normal(size=(602, 5))
    assert factor.solve(loads) == pytest.approx(np.linalg.solve(dense, loads), rel=1e-8, abs=1e-10)
    from scipy.sparse import csr_matrix

    assert factor.gram(csr_matrix(loads)) == pytest.approx(loads.T @ np.linalg.solve(dense, loads), rel=1e-8)
    in_one_pass = condensed_gram(matrices, nodes, centres, csr_matrix(loads), springs={3: 2.0})
    assert in_one_pass == pytest.approx(loads.T @ np.linalg.solve(dense, loads), rel=1e-8)


def test_cache_round_trip_damage_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    arrays = {"a": np.arange(1000.0), "b": np.arange(6, dtype=np.int64).reshape(2, 3)}
    assert load_arrays("k") is None
    store_arrays("k", arrays)
    found = load_arrays("k")
    assert found is not None and (found["a"] == arrays["a"]).all() and (found["b"] == arrays["b"]).all()
    file = tmp_path / "k.bin"
    whole = file.read_bytes()
    for broken in (whole[:-7], whole[:100], b"", whole[:500] + b"\x00" + whole[501:]):
        if broken == whole:
            continue
        file.write_bytes(broken)
        assert load_arrays("k") is None
        assert not file.exists() or not broken
    store_arrays("old", arrays)
    store_arrays("new", arrays, limit=10_000)
    assert load_arrays("new") is not None and load_arrays("old") is None
    assert not list(tmp_path.glob(".part-*"))


@pytest.mark.slow
def test_preparation_comes_back_from_the_cache_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    box = trimesh.creation.box((0.04, 0.04, 0.02))
    mesh = Mesh(box.vertices, box.faces)
    seen: list[str] = []
    first = prepare_compliance(mesh, 0.3, edge=0.01, progress=lambda what, _share: seen.append(what))
    again = prepare_compliance(mesh, 0.3, edge=0.01, progress=lambda what, _share: seen.append(what))
    assert seen[0] == "filling with tetrahedra" and seen[-1] == "compliance from cache"
    assert (first.matrix == again.matrix).all() and first.edge == again.edge
    # Compiled code is compiled anew for arrays of another kind, and sums may be taken in another order.
    for name in ("points", "faces", "patches", "matrix", "inverse_mass", "thickness"):
        made, read = getattr(first, name).flags, getattr(again, name).flags
        assert made.writeable == read.writeable and made.c_contiguous == read.c_contiguous, name
