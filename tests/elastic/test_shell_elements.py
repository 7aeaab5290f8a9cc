"""The triangle shell element: rigid motions, constant strains, bending in and out of its plane."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

from pliant.elastic.shell_elements import rigid_motions, shell_matrices


def _assembled(points, faces, thickness, poisson):
    matrices, _ = shell_matrices(points, faces, thickness, poisson)
    rows = (6 * faces[:, :, None] + np.arange(6)).reshape(len(faces), 18)
    i, j = np.repeat(rows, 18, axis=1).ravel(), np.tile(rows, (1, 18)).ravel()
    return coo_matrix((matrices.ravel(), (i, j)), shape=(6 * len(points),) * 2).tocsc()


def _grid(nx, ny, lx, ly, *, jitter=0.0, seed=0):
    x, y = np.meshgrid(np.linspace(0, lx, nx + 1), np.linspace(0, ly, ny + 1), indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)])
    inner = (points[:, 0] > 0) & (points[:, 0] < lx) & (points[:, 1] > 0) & (points[:, 1] < ly)
    step = jitter * min(lx / nx, ly / ny)
    points[inner, :2] += np.random.default_rng(seed).uniform(-step, step, (int(inner.sum()), 2))
    number = np.arange(x.size).reshape(x.shape)
    a, b, c, d = number[:-1, :-1].ravel(), number[1:, :-1].ravel(), number[1:, 1:].ravel(), number[:-1, 1:].ravel()
    return points, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def test_a_single_element_has_exactly_six_motions_without_energy():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(3, 3))
    stiffness = shell_matrices(points, np.array([[0, 1, 2]]), 0.1, 0.3)[0][0]
    rigid = rigid_motions(points)
    assert np.abs(stiffness @ rigid).max() < 1e-12 * np.abs(stiffness).max()
    values = np.linalg.eigvalsh(stiffness)
    assert values[5] < 1e-12 * values[-1] and values[6] > 1e-7 * values[-1]


@pytest.mark.parametrize("case", ["stretch", "shear", "bend", "twist"])
def test_constant_strains_and_curvatures_are_exact_on_any_mesh(case):
    points, faces = _grid(3, 3, 1.0, 1.0, jitter=0.3)
    t, nu = 0.05, 0.3
    stiffness = _assembled(points, faces, t, nu)
    x, y = points[:, 0], points[:, 1]
    u = np.zeros((len(points), 6))
    plane = np.array([[1, nu, 0], [nu, 1, 0], [0, 0, 0.5 * (1 - nu)]]) / (1 - nu**2)
    if case == "stretch":
        u[:, 0], u[:, 1], strain = 2.0 * x, -0.5 * y, np.array([2.0, -0.5, 0.0])
    elif case == "shear":
        u[:, 0], u[:, 5], strain = y, -0.5, np.array([0.0, 0.0, 1.0])
    elif case == "bend":
        u[:, 2], u[:, 3], u[:, 4], strain = 0.5 * x**2 + y**2, 2 * y, -x, np.array([1.0, 2.0, 0.0])
    else:
        u[:, 2], u[:, 3], u[:, 4], strain = x * y, x, -y, np.array([0.0, 0.0, 2.0])
    inner = (x > 0) & (x < 1) & (y > 0) & (y < 1)
    force = (stiffness @ u.ravel()).reshape(-1, 6)
    assert np.abs(force[inner]).max() < 1e-12 * np.abs(force).max()
    rigidity = t if case in ("stretch", "shear") else t**3 / 12
    assert u.ravel() @ force.ravel() == pytest.approx(rigidity * strain @ plane @ strain, rel=1e-10)


def test_a_strip_bends_exactly_in_its_own_plane_under_end_moments():
    """Felippa's optimal element: the energy ratio of in-plane bending is 1; a plain triangle has 3 or more."""
    points, faces = _grid(8, 1, 8.0, 1.0)
    stiffness = _assembled(points, faces, 0.1, 0.0)
    x, y = points[:, 0], points[:, 1] - 0.5
    u = np.zeros((len(points), 6))
    u[:, 0], u[:, 1], u[:, 5] = -x * y, 0.5 * x**2, x
    assert u.ravel() @ (stiffness @ u.ravel()) == pytest.approx(8.0 * 0.1 / 12, rel=0.02)


def test_a_clamped_square_plate_sinks_under_a_point_load_as_timoshenko_says():
    """w = 0.005605 F a^2 / D at the middle (Timoshenko and Woinowsky-Krieger, clamped square, central load)."""
    nu, t = 0.3, 0.01
    rigidity = t**3 / 12 / (1 - nu**2)
    errors = []
    for n in (8, 16, 32):
        points, faces = _grid(n, n, 1.0, 1.0)
        stiffness = _assembled(points, faces, t, nu)
        rim = (np.minimum(points[:, 0], points[:, 1]) < 1e-9) | (np.maximum(points[:, 0], points[:, 1]) > 1 - 1e-9)
        free = np.flatnonzero(~np.repeat(rim, 6))
        load = np.zeros(6 * len(points))
        middle = int(np.argmin(np.linalg.norm(points - [0.5, 0.5, 0], axis=1)))
        load[6 * middle + 2] = 1.0
        w = spsolve(stiffness[free][:, free], load[free])
        sunk = w[np.searchsorted(free, 6 * middle + 2)]
        errors.append(abs(sunk * rigidity / 0.005605 - 1.0))
    assert errors[2] < 0.006 and errors[2] < errors[1] < errors[0]


def test_a_ring_pinched_between_lines_closes_as_the_curved_beam_says():
    """Shortening of the loaded diameter (pi / 4 - 2 / pi) F R^3 / (E I): bending without stretch, where poor membrane
    elements lock."""
    radius, length, t = 1.0, 0.3, 0.01
    errors = []
    for around in (16, 32, 64):
        flat, faces = _grid(around, 2, 2 * np.pi, length)
        seam = flat[:, 0] > 2 * np.pi - 1e-9
        number = np.arange(len(flat))
        number[seam] = number[: int(seam.sum())]
        points = np.column_stack([radius * np.cos(flat[:, 0]), radius * np.sin(flat[:, 0]), flat[:, 1]])[~seam]
        stiffness = _assembled(points, number[faces], t, 0.0)
        load = np.zeros((len(points), 6))
        for sign in (1.0, -1.0):
            on = np.flatnonzero(np.abs(points[:, 0] - sign * radius) < 1e-9)
            load[on, 0] = -sign * np.array([0.25, 0.5, 0.25])
        rigid = rigid_motions(points)
        held = stiffness + coo_matrix(1e-3 * t * rigid @ rigid.T).tocsc()
        u = spsolve(held, load.ravel())
        exact = (np.pi / 4 - 2 / np.pi) * radius**3 / (length * t**3 / 12)
        errors.append(abs(load.ravel() @ u / exact - 1.0))
    assert errors[2] < 0.01 and errors[2] < errors[1] < errors[0]
