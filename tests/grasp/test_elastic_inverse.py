"""The stiffness-weighted inverse: what it must not depend on, what it makes least, and the torque law. (theory 7.2)"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pliant.errors import GraspError
from pliant.grasp import (
    Contact,
    ContactSet,
    contact_compliance,
    contact_stiffness,
    elastic_energy,
    forces_for,
    grasp_matrix,
    hand_command,
    internal_basis,
    internal_part,
    internal_projector,
    torques_for,
    weighted_right_inverse,
)


def _moved(contacts: ContactSet, rotation: np.ndarray, shift: np.ndarray) -> ContactSet:
    return replace(contacts, points=contacts.points @ rotation.T + shift, rotations=rotation @ contacts.rotations)


def test_forces_do_not_change_with_frames_or_units_but_those_of_moore_penrose_change_with_units(
    random_grasp, random_rotation
) -> None:
    """Moving the origin by r changes the wrench to (F, T + r x F), millimetres scale G, K and T; f must stay."""
    rng = np.random.default_rng(0)
    differences = []
    for soft in (False, True):
        for _ in range(20):
            contacts = random_grasp(rng, int(rng.integers(3, 6)), soft=soft)
            k = contact_stiffness(contacts)
            load = np.concatenate([rng.normal(size=3), rng.normal(size=3) * 0.05])
            f = -weighted_right_inverse(grasp_matrix(contacts), k) @ load
            rotation, shift = random_rotation(rng), rng.normal(size=3)
            turned = _moved(contacts, rotation, shift)
            # The wrench in the new world: turned, and about the new origin.
            force = rotation @ load[:3]
            new_load = np.concatenate([force, rotation @ load[3:] + np.cross(shift, force)])
            g = grasp_matrix(turned)
            assert np.allclose(-weighted_right_inverse(g, k) @ new_load, f, rtol=1e-8, atol=1e-10)
            # Units do not matter to it either: millimetres in G and in the torque, N/mm in K.
            mm = np.diag([1, 1, 1, 1e3, 1e3, 1e3])
            per_component = np.ones(len(f))
            per_component[contacts.layout.moment_entries] = 1e3
            g_mm = mm @ grasp_matrix(contacts) / per_component
            k_mm = k * per_component[:, None] * per_component[None, :] * 1e-3
            # Contact moments in N mm; K then maps mm to N and rad to N mm up to the common factor.
            f_mm = -weighted_right_inverse(g_mm, k_mm) @ (mm @ load)
            assert np.allclose(f_mm / per_component, f, rtol=1e-8, atol=1e-10)
    for _ in range(20):
        contacts = random_grasp(rng, 4, soft=True)
        load = rng.normal(size=6) * [1, 1, 1, 0.05, 0.05, 0.05]
        g = grasp_matrix(contacts)
        f = -np.linalg.pinv(g) @ load
        per_component = np.ones(len(f))
        per_component[contacts.layout.moment_entries] = 1e3
        mm = np.diag([1, 1, 1, 1e3, 1e3, 1e3])
        f_mm = -np.linalg.pinv(mm @ g / per_component) @ (mm @ load)
        differences.append(np.linalg.norm(f_mm / per_component - f) / np.linalg.norm(f))
    assert min(differences) > 1e-3, "the Moore-Penrose inverse should depend on metres or millimetres"


def test_forces_do_not_depend_on_the_tangents_chosen_but_those_of_moore_penrose_do_on_scaled_components(
    random_grasp,
) -> None:
    rng = np.random.default_rng(1)
    contacts = random_grasp(rng, 4)
    k, g, load = contact_stiffness(contacts), grasp_matrix(contacts), rng.normal(size=6)
    # Any invertible change of the force coordinates f = T f': G' = G T, K' = T^-1 K T^-T.
    t = rng.normal(size=(12, 12))
    back = np.linalg.inv(t)
    f = weighted_right_inverse(g, k) @ load
    assert np.allclose(t @ weighted_right_inverse(g @ t, back @ k @ back.T) @ load, f, rtol=1e-7)
    plain = np.linalg.pinv(g) @ load
    assert np.linalg.norm(t @ np.linalg.pinv(g @ t) @ load - plain) > 1e-2 * np.linalg.norm(plain)


def test_particular_part_has_the_least_elastic_energy_of_all_balancing_forces(random_grasp) -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        contacts = random_grasp(rng, 4, soft=bool(rng.integers(2)))
        g, k, load = grasp_matrix(contacts), contact_stiffness(contacts), rng.normal(size=6)
        f = -weighted_right_inverse(g, k) @ load
        assert np.allclose(g @ f, -load, atol=1e-10)
        least, basis = elastic_energy(k, f), internal_basis(g)
        # Stationary: K^-1 f is orthogonal to every internal force; convex, so that is enough. And some other forces.
        assert np.allclose(basis.T @ np.linalg.solve(k, f), 0, atol=1e-9 * np.linalg.norm(np.linalg.solve(k, f)))
        for _ in range(5):
            other = f + basis @ rng.normal(size=basis.shape[1])
            assert elastic_energy(k, other) > least


def test_internal_forces_are_not_felt_and_the_projector_projects(random_grasp) -> None:
    rng = np.random.default_rng(3)
    contacts = random_grasp(rng, 5)
    g, k = grasp_matrix(contacts), contact_stiffness(contacts)
    p, basis = internal_projector(g, k), internal_basis(g)
    assert basis.shape == (15, 9)
    assert np.allclose(g @ p, 0, atol=1e-10)
    assert np.allclose(p @ p, p, atol=1e-9)
    assert np.allclose(p @ basis, basis, atol=1e-9)
    few = internal_basis(g, k, rng.normal(size=(15, 4)))
    assert few.shape == (15, 4)
    assert np.allclose(g @ few, 0, atol=1e-9)


def test_the_quick_internal_part_is_that_of_the_projector_also_where_the_grasp_has_lost_rank(random_grasp) -> None:
    """Damping of 1e-9 of the trace changes the answer by 1e-9 times the condition of G K G^T: below 1e4 here."""
    rng = np.random.default_rng(4)
    for n in (2, 3, 5):
        g = grasp_matrix(random_grasp(rng, n))
        k, f = rng.uniform(500.0, 3000.0, 3 * n), rng.normal(size=3 * n)
        expected = internal_projector(g, np.diag(k)) @ f
        np.testing.assert_allclose(internal_part(g, k, f), expected, atol=1e-5)


def test_torque_law_is_the_transposed_jacobian_of_the_force_law_and_commands_come_back(random_grasp) -> None:
    rng = np.random.default_rng(4)
    contacts = random_grasp(rng, 3)
    g, k, j = grasp_matrix(contacts), contact_stiffness(contacts), rng.normal(size=(9, 7)) * 0.05
    load, y = rng.normal(size=6), rng.normal(size=7) * 0.01
    f = forces_for(g, k, j, load, y)
    inverse = k @ g.T @ np.linalg.inv(g @ k @ g.T)
    assert np.allclose(f, -inverse @ load + (np.eye(9) - inverse @ g) @ k @ j @ y, rtol=1e-9)
    law = -j.T @ inverse @ load + j.T @ (np.eye(9) - inverse @ g) @ k @ j @ y
    assert np.allclose(torques_for(g, k, j, load, y), law, rtol=1e-9)
    assert np.allclose(g @ f, -load, atol=1e-10)
    assert np.allclose(forces_for(g, k, j, load, hand_command(g, k, j, load, f)), f, rtol=1e-8)


def test_two_springs_share_a_load_along_their_line_by_their_stiffness() -> None:
    contacts = ContactSet.of(
        [
            Contact([0.03, 0, 0], [-1, 0, 0], 0.5, stiffness=[2000, 2000, 3000]),
            Contact([-0.03, 0, 0], [1, 0, 0], 0.5, stiffness=[500, 500, 1000]),
        ]
    )
    f = -weighted_right_inverse(grasp_matrix(contacts), contact_stiffness(contacts)) @ [8.0, 0, 0, 0, 0, 0]
    assert f[[2, 5]] == pytest.approx([6.0, -2.0])


def test_joint_compliance_adds_to_contact_compliance_in_series() -> None:
    contacts = ContactSet.of([Contact([0, 0, 0], [0, 0, 1], 0.5, stiffness=[1000, 1000, 2000])])
    j = np.array([[0.0], [0.0], [0.1]])
    k = contact_stiffness(contacts, j, [0.05])
    # 1/2000 m/N at the contact plus 0.1^2 * 0.05 m/N of the finger.
    assert k[2, 2] == pytest.approx(1 / (1 / 2000 + 0.1**2 * 0.05))
    assert k[0, 0] == pytest.approx(1000)
    with pytest.raises(GraspError, match="Jacobian"):
        contact_stiffness(contacts, None, [0.1])
    with pytest.raises(GraspError, match="not negative"):
        contact_stiffness(contacts, j, [-0.1])


def test_frictionless_contact_takes_the_compliance_of_its_normal_alone() -> None:
    k = np.array([[1000.0, 0, 200], [0, 1000, 0], [200, 0, 1000]])
    contacts = ContactSet.of([Contact([0, 0, 0], [0, 0, 1], 0.0, stiffness=k)])
    assert contact_compliance(contacts) == pytest.approx(np.linalg.inv(k)[2, 2])


def test_stiffness_that_is_not_positive_definite_is_refused(random_grasp) -> None:
    g = grasp_matrix(random_grasp(np.random.default_rng(0), 3))
    for bad in (-np.eye(9), np.diag([*np.ones(8), 0]), np.full((9, 9), np.nan), np.triu(np.ones((9, 9)))):
        with pytest.raises(GraspError, match="positive definite"):
            weighted_right_inverse(g, bad)
    with pytest.raises(GraspError, match="9 x 9"):
        weighted_right_inverse(g, np.eye(6))


def test_rank_deficient_grasp_still_answers_what_can_be_answered() -> None:
    contacts = ContactSet.from_arrays([[0.03, 0, 0], [-0.03, 0, 0]], [[-1, 0, 0], [1, 0, 0]], friction=0.5)
    g = grasp_matrix(contacts)
    load = np.array([1.0, 2, 3, 0, 0.1, 0.2])
    assert np.allclose(g @ weighted_right_inverse(g, contact_stiffness(contacts)) @ load, load, atol=1e-12)
