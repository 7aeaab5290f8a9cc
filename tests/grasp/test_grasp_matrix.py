"""Grasp matrix and hand Jacobian against sums of forces, finite differences and power.   (theory 7.1)"""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import GraspError
from pliant.grasp import (
    Contact,
    ContactModel,
    ContactSet,
    contact_rotations,
    contact_twists,
    cross_matrix,
    full_grasp_matrix,
    grasp_matrix,
    hand_jacobian,
    hand_report,
    joint_jacobian,
    object_report,
    wrench_about,
)


def test_contact_frames_are_rotations_with_the_normal_last() -> None:
    rng = np.random.default_rng(0)
    normals = np.vstack([rng.normal(size=(200, 3)), np.eye(3), -np.eye(3), [[1e-9, 0, -1], [0, 1, -1e-300]]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    for dimension in (3, 2):
        n = normals[:, :dimension]
        n = n[np.linalg.norm(n, axis=1) > 1e-12]
        n = n / np.linalg.norm(n, axis=1, keepdims=True)
        r = contact_rotations(n)
        assert np.allclose(r.transpose(0, 2, 1) @ r, np.eye(dimension), atol=1e-12)
        assert np.allclose(np.linalg.det(r), 1)
        assert np.array_equal(r[:, :, -1], n)


def test_full_grasp_matrix_adds_up_forces_and_their_moments_about_the_centre(random_grasp) -> None:
    rng = np.random.default_rng(1)
    contacts, centre = random_grasp(rng, 4), rng.normal(size=3)
    wrenches = rng.normal(size=(4, 6))
    force, torque = np.zeros(3), np.zeros(3)
    for r, p, w in zip(contacts.rotations, contacts.points, wrenches, strict=True):
        force += r @ w[:3]
        torque += np.cross(p - centre, r @ w[:3]) + r @ w[3:]
    assert np.allclose(full_grasp_matrix(contacts, centre) @ wrenches.ravel(), [*force, *torque], atol=1e-14)


def test_planar_grasp_matrix_is_the_spatial_one_restricted_to_the_plane() -> None:
    rng = np.random.default_rng(2)
    points, angles, centre = rng.normal(size=(3, 2)), rng.uniform(0, 7, 3), rng.normal(size=2)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    plane = ContactSet.from_arrays(points, normals, friction=0.5)
    tangents = plane.rotations[:, :, 0]
    rotations = np.zeros((3, 3, 3))
    # In space the frame (tangent, out of plane, normal) has the same tangent and normal.
    rotations[:, :2, 0], rotations[:, :2, 2] = tangents, normals
    rotations[:, :, 1] = np.cross(rotations[:, :, 2], rotations[:, :, 0])
    space = ContactSet.from_arrays(
        np.column_stack([points, np.zeros(3)]),
        np.column_stack([normals, np.zeros(3)]),
        friction=0.5,
        rotations=rotations,
    )
    keep = [c for i in range(3) for c in (3 * i, 3 * i + 2)]
    g = grasp_matrix(space, [*centre, 0.0])[np.ix_([0, 1, 5], keep)]
    assert np.allclose(grasp_matrix(plane, centre), g, atol=1e-15)


def test_selection_matrices_pick_one_three_and_four_components() -> None:
    contacts = ContactSet.of(
        [
            Contact([1, 0, 0], [-1, 0, 0], 0.0),
            Contact([0, 1, 0], [0, -1, 0], 0.5),
            Contact([0, 0, 1], [0, 0, -1], 0.5, radius=0.01),
        ]
    )
    assert contacts.models == (ContactModel.FRICTIONLESS, ContactModel.POINT, ContactModel.SOFT)
    h = contacts.layout.selection()
    expected = np.zeros((18, 8))
    expected[2, 0] = expected[6, 1] = expected[7, 2] = expected[8, 3] = 1
    expected[12, 4] = expected[13, 5] = expected[14, 6] = expected[17, 7] = 1
    assert np.array_equal(h, expected)
    assert np.array_equal(grasp_matrix(contacts), full_grasp_matrix(contacts) @ h)
    twists = np.random.default_rng(0).normal(size=(18, 5))
    assert np.array_equal(hand_jacobian(contacts, twists), h.T @ twists)


def test_the_quick_path_for_point_contacts_is_the_general_one(random_grasp) -> None:
    contacts = random_grasp(np.random.default_rng(3), 5)
    h = contacts.layout.selection()
    assert np.allclose(grasp_matrix(contacts, [1, 2, 3]), full_grasp_matrix(contacts, [1, 2, 3]) @ h, atol=1e-15)


def _chain(rng: np.random.Generator, joints: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    axes = rng.normal(size=(joints, 3))
    return axes / np.linalg.norm(axes, axis=1, keepdims=True), rng.normal(size=(joints, 3)), rng.random(joints) < 0.4


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    s = cross_matrix(axis)
    return np.eye(3) + np.sin(angle) * s + (1 - np.cos(angle)) * s @ s


def test_joint_jacobian_is_the_finite_difference_of_a_chain_of_revolute_and_prismatic_joints(random_grasp) -> None:
    rng = np.random.default_rng(4)
    contacts = random_grasp(rng, 2)
    axes, origins, slides = _chain(rng, 5)
    carries = np.array([[True] * 5, [True, True, False, False, False]])
    jacobian = joint_jacobian(contacts, axes, origins, carries, prismatic=slides)
    assert slides.any()
    assert not slides.all()

    def place(i: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, r = contacts.points[i].copy(), np.eye(3)
        for j in reversed(range(5)):
            if carries[i, j]:
                if slides[j]:
                    p = p + axes[j] * q[j]
                else:
                    turn = _turn(axes[j], q[j])
                    p, r = origins[j] + turn @ (p - origins[j]), turn @ r
        return p, r

    h = 1e-6
    for i in range(2):
        for j in range(5):
            (p1, r1), (p0, r0) = place(i, h * np.eye(5)[j]), place(i, -h * np.eye(5)[j])
            spin = (r1 - r0) / (2 * h)
            twist = np.concatenate([(p1 - p0) / (2 * h), [spin[2, 1], spin[0, 2], spin[1, 0]]])
            frame = contacts.rotations[i].T
            expected = np.concatenate([frame @ twist[:3], frame @ twist[3:]])
            assert np.allclose(jacobian[6 * i : 6 * i + 6, j], expected, atol=1e-9)


def test_link_jacobians_and_joint_axes_give_the_same_hand_jacobian(random_grasp) -> None:
    rng = np.random.default_rng(5)
    contacts = random_grasp(rng, 3)
    axes, origins, slides = _chain(rng, 4)
    carries = rng.random((3, 4)) < 0.7
    link_points = rng.normal(size=(3, 3))
    links = np.zeros((3, 6, 4))
    for i in range(3):
        for j in range(4):
            if carries[i, j]:
                moved = axes[j] if slides[j] else np.cross(axes[j], link_points[i] - origins[j])
                links[i, :, j] = [*moved, *(np.zeros(3) if slides[j] else axes[j])]
    expected = joint_jacobian(contacts, axes, origins, carries, prismatic=slides)
    assert np.allclose(contact_twists(contacts, links, link_points), expected, atol=1e-13)


def test_planar_two_link_finger_has_the_textbook_jacobian() -> None:
    l1, l2, a, b = 0.0865, 0.0685, 0.4, 0.7
    elbow = l1 * np.array([np.cos(a), np.sin(a)])
    tip = elbow + l2 * np.array([np.cos(a + b), np.sin(a + b)])
    contacts = ContactSet.from_arrays([tip], [[0.0, 1.0]], friction=0.5)
    jacobian = joint_jacobian(contacts, np.zeros((2, 2)), [[0, 0], elbow], [[True, True]])
    textbook = [
        [-l1 * np.sin(a) - l2 * np.sin(a + b), -l2 * np.sin(a + b)],
        [l1 * np.cos(a) + l2 * np.cos(a + b), l2 * np.cos(a + b)],
        [1, 1],
    ]
    assert np.allclose(jacobian, textbook, atol=1e-15)
    links = np.zeros((1, 3, 2))
    links[0, :2, 0], links[0, 2] = [-elbow[1], elbow[0]], 1
    assert np.allclose(contact_twists(contacts, links, [elbow]), textbook, atol=1e-15)


def test_joint_torques_do_the_work_that_contact_forces_do(random_grasp) -> None:
    rng = np.random.default_rng(6)
    for soft in (False, True):
        contacts = random_grasp(rng, 3, soft=soft)
        axes, origins, slides = _chain(rng, 7)
        full = joint_jacobian(contacts, axes, origins, np.ones((3, 7)), prismatic=slides)
        jacobian, rates = hand_jacobian(contacts, full), rng.normal(size=7)
        f = rng.normal(size=contacts.layout.size)
        assert (jacobian.T @ f) @ rates == pytest.approx(f @ (jacobian @ rates), rel=1e-12)


def test_power_on_the_object_is_the_same_from_both_sides(random_grasp) -> None:
    """If the object moves with twist v, contact points move with G^T v: w . v = f . G^T v."""
    rng = np.random.default_rng(8)
    contacts = random_grasp(rng, 3)
    v, f = rng.normal(size=6), rng.normal(size=9)
    moved = [r.T @ (v[:3] + np.cross(v[3:], p)) for r, p in zip(contacts.rotations, contacts.points, strict=True)]
    assert np.allclose(grasp_matrix(contacts).T @ v, np.concatenate(moved), atol=1e-14)
    assert (grasp_matrix(contacts) @ f) @ v == pytest.approx(f @ np.concatenate(moved))


def test_two_point_contacts_leave_turning_about_their_line_free_and_soft_fingers_do_not() -> None:
    pair = {"points": [[0.03, 0, 0], [-0.03, 0, 0]], "normals": [[-1, 0, 0], [1, 0, 0]], "friction": 0.5}
    report = object_report(ContactSet.from_arrays(**pair))
    assert (report.rank, report.full, report.is_full) == (5, 6, False)
    assert report.condition == np.inf
    assert np.allclose(np.abs(report.free), [[0, 0, 0, 1, 0, 0]], atol=1e-12)
    soft = object_report(ContactSet.from_arrays(**pair, radius=0.004))
    assert soft.is_full
    assert np.isfinite(soft.condition)


def test_joints_that_carry_no_contact_are_named_and_not_held_against_the_hand(random_grasp) -> None:
    rng = np.random.default_rng(9)
    contacts = random_grasp(rng, 2)
    jacobian = np.zeros((6, 4))
    jacobian[:, [0, 2]] = rng.normal(size=(6, 2))
    report = hand_report(contacts, jacobian)
    assert report.is_full
    assert report.idle_joints == (1, 3)
    jacobian[:, 3] = jacobian[:, 0] - 2 * jacobian[:, 2]
    report = hand_report(contacts, jacobian)
    assert (report.rank, report.full, report.idle_joints) == (2, 3, (1,))
    assert np.allclose(jacobian @ report.free.T, 0, atol=1e-12)


def test_wrench_about_moves_a_force_to_another_point() -> None:
    assert np.allclose(wrench_about([0, 0, -10], [0, 0, 1], at=[0.1, 0, 0], centre=[0, 0.2, 0]), [0, 0, -10, 2, 1, 1])
    assert np.allclose(wrench_about([0, -10], 1.0, at=[0.1, 0], centre=[0, 0]), [0, -10, 0])


def test_matrices_of_the_wrong_shape_are_refused(random_grasp) -> None:
    contacts = random_grasp(np.random.default_rng(0), 2)
    with pytest.raises(GraspError, match="12 rows"):
        hand_jacobian(contacts, np.zeros((6, 3)))
    with pytest.raises(GraspError, match="carries 2 x 1"):
        joint_jacobian(contacts, [[0, 0, 1]], [[0, 0, 0]], [[True]])
    with pytest.raises(GraspError, match="2 x 6 x joints"):
        contact_twists(contacts, np.zeros((2, 3, 3)), np.zeros(3))
