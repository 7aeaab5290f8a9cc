"""Rigid motions that change gaps: the pseudo-inverse of what a motion does to each contact's penetration."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from contact_bodies import pose_along

from pliant.contact.problem import Patch, gap_modes

RADIUS = 0.03
SCALE = 0.05


def patch_on(point: np.ndarray, normal: np.ndarray) -> Patch:
    axes = pose_along(normal, np.zeros(3)).rotation.T.copy()
    radii = np.array([2e-3, 2e-3])
    return Patch(0, np.asarray(point, dtype=float), axes, 1.3 * radii, radii, 1e-3)


def around_ball(normals: object, centre: object = (0.0, 0.0, 0.0)) -> list[Patch]:
    """Plates pressed on a ball, each with its outward normal."""
    n = np.asarray(normals, dtype=float)
    n /= np.linalg.norm(n, axis=1)[:, None]
    return [patch_on(np.asarray(centre) + RADIUS * normal, normal) for normal in n]


def random_contacts(count: int, seed: int = 0) -> list[Patch]:
    rng = np.random.default_rng(seed)
    return [patch_on(rng.normal(size=3) * RADIUS, rng.normal(size=3)) for _ in range(count)]


def gap_rows(patches: list[Patch]) -> np.ndarray:
    """k x 6: n . (t + w x p) per translation t and rotation w about the origin."""
    return np.array([[*p.axes[2], *np.cross(p.origin, p.axes[2])] for p in patches])


def test_a_ball_between_opposite_plates_moves_only_along_their_line() -> None:
    for centre in ((0.0, 0.0, 0.0), (0.02, -0.01, 0.03)):
        patterns, motions = gap_modes(around_ball([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], centre), SCALE)
        assert patterns.shape == (2, 1) and motions.shape == (6, 1)
        # what it gains at one plate it loses at the other
        np.testing.assert_allclose(np.abs(patterns[:, 0]), np.sqrt(0.5))
        assert patterns.sum() == pytest.approx(0.0, abs=1e-12)
    # and about its own centre it does not turn
    patterns, motions = gap_modes(around_ball([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]), SCALE)
    np.testing.assert_allclose(motions[:, 0] * np.sign(patterns[0, 0]), [0, 0, np.sqrt(0.5), 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("normals", "rank"),
    [
        ([[0, 0, 1]], 1),
        ([[0, 0, 1], [0, 0, -1]], 1),
        ([[1, 0, 0], [-0.5, np.sqrt(0.75), 0], [-0.5, -np.sqrt(0.75), 0]], 2),
        ([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 3),
        ([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], 3),
    ],
)
def test_a_ball_has_as_many_modes_as_its_plates_span_directions(normals: list[list[float]], rank: int) -> None:
    patches = around_ball(normals)
    patterns, motions = gap_modes(patches, SCALE)
    assert patterns.shape == (len(normals), rank)
    assert np.linalg.matrix_rank(gap_rows(patches), tol=1e-9) == rank
    # plates cannot tell how a ball is turned about its centre
    np.testing.assert_allclose(motions[3:], 0.0, atol=1e-12)


@pytest.mark.parametrize("count", [1, 3, 5, 8])
def test_patterns_are_what_the_motions_do_to_the_gaps(count: int) -> None:
    """Moved by the motion itself, to first order: n . (T x - x) / e; the next order is e |w|^2 |x| / 2."""
    patches = random_contacts(count)
    patterns, motions = gap_modes(patches, SCALE)
    e = 1e-6
    for pattern, motion in zip(patterns.T, motions.T, strict=True):
        T = pin.SE3(pin.exp3(e * motion[3:]), e * motion[:3])
        gained = np.array([p.axes[2] @ (T.act(p.origin) - p.origin) for p in patches]) / e
        arm = max(float(np.linalg.norm(p.origin)) for p in patches)
        np.testing.assert_allclose(gained, pattern, atol=e * float(motion[3:] @ motion[3:]) * arm + 1e-9)


def test_patterns_are_orthonormal_and_motions_hold_nothing_that_changes_no_gap() -> None:
    """Orthonormal patterns U; motions V / s, orthogonal (rotations times the scale) to all that leave gaps alone."""
    patches = random_contacts(4)
    patterns, motions = gap_modes(patches, SCALE)
    np.testing.assert_allclose(patterns.T @ patterns, np.eye(patterns.shape[1]), atol=1e-12)
    scaled = np.diag([1.0, 1.0, 1.0, SCALE, SCALE, SCALE])
    rows = gap_rows(patches) @ np.linalg.inv(scaled)
    idle = np.linalg.svd(rows)[2][4:]
    assert len(idle) == 2
    np.testing.assert_allclose(idle @ scaled @ motions, 0.0, atol=1e-10)


def test_all_modes_together_are_the_pseudo_inverse_of_the_gap_rows() -> None:
    patches = around_ball([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], centre=(0.01, 0.0, -0.02))
    patterns, motions = gap_modes(patches, SCALE)
    scaled = np.array([1.0, 1.0, 1.0, SCALE, SCALE, SCALE])
    inverse = np.linalg.pinv(gap_rows(patches) / scaled, rcond=1e-9) / scaled[:, None]
    np.testing.assert_allclose(motions @ patterns.T, inverse, atol=1e-9 * np.abs(inverse).max())


def test_modes_turn_with_the_frame_of_the_object() -> None:
    R = pin.exp3(np.array([0.5, -0.9, 1.3]))
    for patches in (random_contacts(5), around_ball([[1.0, 0.2, 0.0], [-1.0, 0.1, 0.3], [0.0, -1.0, 0.2]])):
        turned = [patch_on(R @ p.origin, R @ p.axes[2]) for p in patches]
        (u, m), (v, w) = gap_modes(patches, SCALE), gap_modes(turned, SCALE)
        # vectors of a singular value are told up to their sign: compare what gaps ask of the object
        np.testing.assert_allclose(v @ v.T, u @ u.T, atol=1e-10)
        expected = np.vstack([R @ (m @ u.T)[:3], R @ (m @ u.T)[3:]])
        np.testing.assert_allclose(w @ v.T, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("tangent", "rank"), [(0.0, 1), (0.2, 1), (0.34, 1), (0.36, 2), (1.0, 2), (2.0, 2)])
def test_a_ball_is_squeezed_out_between_plates_more_than_a_certain_angle_from_opposed(
    tangent: float, rank: int
) -> None:
    """Normals (+-cos a, 0, sin a): singular values sqrt(2) (cos a, sin a), opposed up to a ratio of 0.35."""
    patterns, motions = gap_modes(around_ball([[1.0, 0.0, tangent], [-1.0, 0.0, tangent]]), SCALE)
    assert patterns.shape[1] == rank
    if rank == 1:
        np.testing.assert_allclose(motions[1:, 0], 0.0, atol=1e-12)


@pytest.mark.parametrize(("tangent", "rank"), [(0.06, 1), (0.1, 2), (0.3, 2)])
def test_a_motion_that_hardly_changes_gaps_counts_as_sliding(tangent: float, rank: int) -> None:
    """Two pairs of nearly opposed plates: singular values 2 (cos a, sin a), a weak motion below a ratio of 0.08."""
    normals = [[1.0, 0.0, tangent], [-1.0, 0.0, tangent]] * 2
    patterns, _ = gap_modes(around_ball(normals), SCALE)
    assert patterns.shape[1] == rank


def test_a_block_between_offset_fingers_also_turns() -> None:
    """Fingers at y = +-b on opposite faces: rows (+-1, 0, 0 | 0, 0, -b), ratio b / scale of turning to shifting."""
    for b, rank in ((0.03, 2), (0.01, 1)):
        patches = [patch_on(np.array([s * 0.02, s * b, 0.0]), np.array([s, 0.0, 0.0])) for s in (1.0, -1.0)]
        patterns, motions = gap_modes(patches, SCALE)
        assert patterns.shape[1] == rank
        if rank == 2:
            turning = motions[:, np.argmax(np.abs(motions[5]))]
            # both gaps by 1 / sqrt(2) need the angle 1 / (sqrt(2) b)
            np.testing.assert_allclose(np.abs(turning), [0, 0, 0, 0, 0, np.sqrt(0.5) / b], atol=1e-9)
