"""What the whole body adds between contacts: h_AB = b_A . C b_B, written down again from the compliance itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from contact_bodies import pose_along, spread_ball

from pliant.contact import PreparedObject
from pliant.contact.coupling import Footprint, footprint
from pliant.contact.problem import Patch, coupling_matrix, footprints_of
from pliant.elastic.compliance import Compliance

RADIUS = 0.03
DIRECTIONS = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.2, 0.1], [-0.5, 0.7, -0.4]])
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]
LEAST = 1.25
"""Smallest half axis of a footprint, in edges of the elements."""


@pytest.fixture(scope="module")
def soft() -> PreparedObject:
    """A ball of coarse elements, E = 2 Pa so that a factor E shows."""
    return PreparedObject.of(spread_ball(400, RADIUS), young=2.0, poisson=0.4, edge=0.01, cache=False)


def body_of(prepared: PreparedObject) -> Compliance:
    assert prepared.body is not None
    return prepared.body


def still(array: np.ndarray) -> np.ndarray:
    """Not to be written, as arrays of a compliance are: compiled code is compiled for one kind only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def patch_at(direction: np.ndarray, radius: float, *, off: float = 1.0) -> Patch:
    """A round contact where a direction leaves the ball; ``off`` times as far out."""
    axes = pose_along(direction, np.zeros(3)).rotation.T.copy()
    radii = np.array([radius, radius])
    return Patch(0, off * RADIUS * axes[2], axes, 1.3 * radii, radii, 1e-3)


def patches_at(radius: float) -> list[Patch]:
    return [patch_at(direction, radius) for direction in DIRECTIONS]


def barycentric(divisions: int) -> np.ndarray:
    """k x 3: middles of the small triangles into which a triangle is divided, pointing up and down."""
    i, j = (a.ravel() for a in np.meshgrid(np.arange(divisions), np.arange(divisions), indexing="ij"))
    up, down = i + j < divisions, i + j < divisions - 1
    l1 = np.concatenate([i[up] + 1 / 3, i[down] + 2 / 3]) / divisions
    l2 = np.concatenate([j[up] + 1 / 3, j[down] + 2 / 3]) / divisions
    return np.column_stack([1 - l1 - l2, l1, l2])


def on_patches(body: Compliance, at: np.ndarray) -> np.ndarray:
    """Faces x k x 3 points of the six-node triangles: a parabola through corners and middles along every line."""
    l0, l1, l2 = at.T
    shape = np.array([l0 * (2 * l0 - 1), l1 * (2 * l1 - 1), l2 * (2 * l2 - 1), 4 * l0 * l1, 4 * l1 * l2, 4 * l2 * l0])
    return np.einsum("ak,fax->fkx", shape, body.patches)


def unit_force(body: Compliance, patch: Patch, radius: float) -> np.ndarray:
    """3n: a unit force along -n, spread as sqrt(1 - r^2 / rho^2) over the surface under the patch, integrated anew."""
    hats, e = barycentric(24), 1e-5
    # tangents by differences: exact for parabolas
    along = [
        (on_patches(body, hats + e * step) - on_patches(body, hats - e * step)) / (2 * e)
        for step in (np.array([-1.0, 1.0, 0.0]), np.array([-1.0, 0.0, 1.0]))
    ]
    up = np.cross(*along) @ patch.axes[2]
    local = (on_patches(body, hats) - patch.origin) @ patch.axes.T
    q = np.clip(1.0 - (local[..., 0] ** 2 + local[..., 1] ** 2) / radius**2, 0.0, None)
    weight = np.sqrt(q) * np.clip(up, 0.0, None)
    shares = np.zeros(len(body.points))
    np.add.at(shares, body.faces, np.einsum("fk,kc->fc", weight, hats))
    return (shares[:, None] / shares.sum() * -patch.axes[2]).ravel()


def dense(body: Compliance, spread: Footprint | None, patch: Patch) -> np.ndarray:
    """3n: the unit force of a footprint along -n."""
    assert spread is not None
    out = np.zeros((len(body.points), 3))
    out[spread.corners] = -spread.weights[:, None] * patch.axes[2]
    return out.ravel()


def test_a_contact_is_loaded_by_a_unit_force_spread_as_hertz_says(soft: PreparedObject) -> None:
    """The code divides a triangle into 6^2 parts of side h; off by no more than one of them at the rim, which counts or
    not: h^2 / 2 sqrt(2 h / rho) of the whole load 2 pi rho^2 / 3."""
    body = body_of(soft)
    radius = 1.5 * body.edge
    for patch in patches_at(radius):
        spread = footprint(body, patch.origin, patch.axes, patch.radii)
        assert spread is not None
        assert spread.weights.sum() == pytest.approx(1.0, abs=1e-12)
        difference = dense(body, spread, patch) - unit_force(body, patch, radius)
        h = 1.0 / (6 * 1.5)
        assert np.abs(difference).max() < 0.5 * h**2 * np.sqrt(2.0 * h) / (2.0 * np.pi / 3.0)


def test_contacts_act_on_each_other_through_the_compliance_of_the_body(soft: PreparedObject) -> None:
    """h_AB = b_A . C b_B / E, and h_AA without the part (1 - s) of a half-space under the same load."""
    body = body_of(soft)
    patches = patches_at(1.5 * body.edge)
    h = coupling_matrix(soft, patches)
    spreads = [footprint(body, patch.origin, patch.axes, patch.radii) for patch in patches]
    b = np.array([dense(body, spread, patch) for spread, patch in zip(spreads, patches, strict=True)])
    expected = b @ body.matrix.astype(float) @ b.T / soft.young
    halfspace = np.array([spread.halfspace for spread in spreads if spread is not None])
    # the pressure p0 sqrt(1 - r^2 / a^2) lifts itself by 0.6 F / (E* a), weighted with itself (Hertz); elements show
    # all but 2 % (edge / a)^3 of it
    assert halfspace * patches[0].radii[0] == pytest.approx(0.6, rel=0.02)
    expected -= np.diag((1.0 - 0.02 / 1.5**3) * halfspace * (1.0 - soft.poisson**2) / soft.young)
    np.testing.assert_allclose(h, expected, rtol=1e-9)
    assert np.array_equal(h, h.T)


def test_a_rigid_displacement_per_force_adds_what_the_normals_say(soft: PreparedObject) -> None:
    """A body that also gives way as a whole, by S per force: h_AB grows by n_A . S n_B, nothing for opposed forces."""
    body = body_of(soft)
    S = np.array([[3.0, 0.5, 0.2], [0.5, 2.0, -0.4], [0.2, -0.4, 1.0]]) * 20.0
    n = len(body.points)
    yielding = replace(body, matrix=still(body.matrix + np.tile(S, (n, n)).astype(np.float32)))
    radius = 1.5 * body.edge
    h = coupling_matrix(soft, patches_at(radius))
    more = coupling_matrix(replace(soft, body=yielding), patches_at(radius))
    # single precision of the matrix, which is largest on its diagonal
    tolerance = 2.0**-23 * float(np.abs(yielding.matrix).max()) / soft.young
    np.testing.assert_allclose(more - h, DIRECTIONS @ S @ DIRECTIONS.T / soft.young, atol=tolerance)
    assert more[:2, :2].sum() == pytest.approx(h[:2, :2].sum(), abs=4 * tolerance)


def test_coupling_does_not_change_with_the_frame_of_the_object(soft: PreparedObject) -> None:
    body = body_of(soft)
    T = pin.SE3(pin.exp3(np.array([0.4, -1.1, 0.7])), np.array([0.3, -0.2, 0.5]))
    R, n = T.rotation, len(body.points)
    turned = np.einsum("ax,ixjy,by->iajb", R, body.matrix.astype(float).reshape(n, 3, n, 3), R).reshape(3 * n, 3 * n)
    moved = replace(
        soft,
        body=replace(
            body,
            points=still(body.points @ R.T + T.translation),
            patches=still(body.patches @ R.T + T.translation),
            matrix=still(turned.astype(np.float32)),
        ),
    )
    for radius in (1.5 * body.edge, 0.7 * body.edge):
        here = patches_at(radius)
        there = [replace(patch, origin=T.act(patch.origin), axes=patch.axes @ R.T) for patch in here]
        tolerance = 2.0**-23 * float(np.abs(body.matrix).max()) / soft.young
        np.testing.assert_allclose(coupling_matrix(moved, there), coupling_matrix(soft, here), atol=tolerance)


def test_contacts_in_another_order_give_the_same_matrix_in_that_order(soft: PreparedObject) -> None:
    order = [2, 0, 3, 1]
    sizes = [0.6, 1.0, 1.5, 2.0]
    made = [
        [patch_at(DIRECTIONS[k], sizes[k] * body_of(soft).edge) for k in numbers] for numbers in ([0, 1, 2, 3], order)
    ]
    h, other = (coupling_matrix(soft, patches) for patches in made)
    np.testing.assert_allclose(other, h[np.ix_(order, order)], rtol=1e-12, atol=1e-12)


def test_below_the_smallest_footprint_coupling_goes_on_linearly_in_the_squared_radius(soft: PreparedObject) -> None:
    """h = h0 + h1 r^2: three radii with r^2 evenly spaced, and the smallest footprint itself at the end of the line."""
    least = LEAST * body_of(soft).edge
    squares = np.array([0.1, 0.4, 0.7, 1.0 - 1e-12])
    h = np.array([coupling_matrix(soft, patches_at(float(least * np.sqrt(square)))) for square in squares])
    np.testing.assert_allclose(h[1] - h[0], h[2] - h[1], rtol=1e-7)
    np.testing.assert_allclose(h[2] - h[1], h[3] - h[2], rtol=1e-7)
    np.testing.assert_allclose(h[3], coupling_matrix(soft, patches_at(least)), rtol=1e-9)
    # the line goes through the footprint of twice the squared radius
    wide = [footprint(body_of(soft), p.origin, p.axes, np.sqrt(2.0) * p.radii) for p in patches_at(least)]
    b = np.array([dense(body_of(soft), w, p) for w, p in zip(wide, patches_at(least), strict=True)])
    off = ~np.eye(len(b), dtype=bool)
    beyond = (b @ body_of(soft).matrix.astype(float) @ b.T / soft.young)[off]
    np.testing.assert_allclose(h[3][off] + (h[3] - h[2])[off] / 0.3, beyond, rtol=1e-7)


def test_a_contact_that_lies_off_the_body_couples_with_nothing(soft: PreparedObject) -> None:
    edge = body_of(soft).edge
    patches = [patch_at(DIRECTIONS[0], edge), patch_at(DIRECTIONS[1], edge, off=4.0), patch_at(DIRECTIONS[2], edge)]
    h = coupling_matrix(soft, patches)
    assert not h[1].any() and not h[:, 1].any()
    on = coupling_matrix(soft, [patch_at(DIRECTIONS[0], edge), patch_at(DIRECTIONS[2], edge)])
    np.testing.assert_allclose(h[np.ix_([0, 2], [0, 2])], on, rtol=1e-12)


def test_contacts_on_a_half_space_do_not_act_on_each_other(soft: PreparedObject) -> None:
    assert not coupling_matrix(replace(soft, body=None), patches_at(0.01)).any()


@pytest.mark.parametrize("what", ["origin", "axes", "radii"])
def test_footprints_are_laid_anew_when_a_contact_has_moved(soft: PreparedObject, what: str) -> None:
    edge = body_of(soft).edge
    patch = patch_at(DIRECTIONS[0], edge)
    first = footprints_of(body_of(soft), patch)
    tilt = pin.exp3(np.array([0.05, 0.0, 0.0]))
    change = {
        "origin": patch.origin + 0.1 * edge * patch.axes[0],
        "axes": patch.axes @ tilt,
        "radii": 2.0 * patch.radii,
    }
    used = replace(patch, footprints=first, **{what: change[what]})
    fresh = replace(patch, **{what: change[what]})
    np.testing.assert_array_equal(coupling_matrix(soft, [used]), coupling_matrix(soft, [fresh]))
    second = footprints_of(body_of(soft), used)
    assert second is not first
    # those of the pass before serve where nothing has moved
    assert footprints_of(body_of(soft), replace(used, footprints=second)) is second
