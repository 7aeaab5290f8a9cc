"""The smallest sufficient forces: closed forms, identities, limits, disturbances.   (theory 7.3)"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pliant.grasp import (
    Contact,
    ContactSet,
    DisturbanceResponse,
    ForceSolver,
    contact_stiffness,
    forces_for,
    grasp_matrix,
    hand_command,
    hand_jacobian,
    joint_jacobian,
    solve_forces,
    weighted_right_inverse,
)

W = 9.81
WEIGHT = np.array([0, 0, -W, 0, 0, 0])


def _ring(n: int, friction: float, **more: object) -> ContactSet:
    """n contacts around a vertical cylinder of 3 cm."""
    angles = 2 * np.pi * np.arange(n) / n + 0.3
    out = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    return ContactSet.from_arrays(0.03 * out, -out, friction=friction, **more)


@pytest.mark.parametrize("friction", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 100])
def test_contacts_around_a_cylinder_press_with_the_weight_over_n_mu(n: int, friction: float) -> None:
    """N = W / (2 mu) for two, W / (3 mu) for three; the same argument holds for any n."""
    answer = solve_forces(_ring(n, friction), WEIGHT)
    assert answer.forces[:, 2] == pytest.approx(W / (n * friction), rel=1e-6)
    assert answer.largest_force == pytest.approx(W / n * np.hypot(1, 1 / friction), rel=1e-7)
    assert answer.total_force == pytest.approx(n * answer.largest_force, rel=1e-7)
    assert np.allclose(answer.margins.slip, 0, atol=1e-6)
    assert answer.forces_world.sum(axis=0) == pytest.approx([0, 0, W], abs=1e-9)


def test_pinch_beside_the_centre_of_mass_holds_exactly_when_the_limit_surface_says_so() -> None:
    """(W/2)^2 + (W s / (2 e))^2 <= (mu f_n)^2 with e = 3 pi a / 16."""
    mu, a, s, load = 0.6, 0.005, 0.004, 2.0
    e = 3 * np.pi * a / 16
    needed = np.hypot(load / 2, load * s / (2 * e)) / mu
    for limit, holds in ((needed * 1.0001, True), (needed * 0.9999, False), (np.inf, True)):
        contacts = ContactSet.from_arrays(
            [[0.03, 0, 0], [-0.03, 0, 0]], [[-1, 0, 0], [1, 0, 0]], friction=mu, max_force=limit, radius=a
        )
        answer = solve_forces(contacts, [0, 0, -load, 0, 0, 0], centre=[0, s, 0])
        assert answer.feasible is holds, limit
        if holds:
            assert answer.forces[:, 2] == pytest.approx(needed, rel=1e-6)
            assert np.abs(answer.moments) == pytest.approx(load * s / 2, rel=1e-5)


@pytest.mark.parametrize("friction", [0.1, 0.4, 1.0])
def test_inclined_faces_in_the_plane_can_squeeze_exactly_below_twice_the_friction_angle(friction: float) -> None:
    """Force closure if and only if t / 2 < atan(mu); then a load along the bisector can be met too."""
    edge = 2 * np.arctan(friction)
    for tilt, holds in ((edge - 1e-3, True), (edge + 1e-3, False)):
        up = np.sin(tilt / 2)
        contacts = ContactSet.from_arrays(
            [[1, 0], [-1, 0]], [[-np.cos(tilt / 2), up], [np.cos(tilt / 2), up]], friction=friction
        )
        # The faces open downwards: they push up without squeezing, so a load upwards is the test.
        answer = solve_forces(contacts, [0, 1.0, 0])
        assert answer.feasible is holds
        assert answer.feasible or answer.certificate.twist[1] > 0


def test_a_wedge_in_the_plane_needs_the_force_of_the_textbook() -> None:
    """Faces leaning over the object by a: the steepest force rises by b = atan(mu) - a, |f| = W / (2 sin b)."""
    a, mu, load = 0.2, 0.5, 3.0
    normals = [[-np.cos(a), -np.sin(a)], [np.cos(a), -np.sin(a)]]  # leaning over the object
    answer = solve_forces(ContactSet.from_arrays([[1, 0], [-1, 0]], normals, friction=mu), [0, -load, 0])
    # The force lies on the edge of the cone: its slope above the horizontal is atan(mu) - a.
    assert answer.largest_force == pytest.approx(load / (2 * np.sin(np.arctan(mu) - a)), rel=1e-7)


def test_frictionless_cage_in_the_plane_has_one_answer_and_it_is_found() -> None:
    """Three frictionless contacts and a load through one point: the force triangle has a unique solution."""
    angles = np.deg2rad([90, 210, 330])
    out = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    contacts = ContactSet.from_arrays(out, -out, friction=0.0)
    answer = solve_forces(contacts, [0, -1.0, 0])
    # Lower two carry: 2 f sin 30 deg = 1; the upper one stays off.
    assert answer.forces[:, 1] == pytest.approx([0, 1, 1], abs=1e-5)


def test_margin_keeps_contacts_from_slipping_by_that_much() -> None:
    """-mu f_n + |f_t| <= -delta: N = (W / n + delta) / mu."""
    delta, mu = 0.4, 0.5
    answer = solve_forces(_ring(3, mu), WEIGHT, margin=delta)
    assert answer.forces[:, 2] == pytest.approx((W / 3 + delta) / mu, rel=1e-6)
    assert answer.margins.slip == pytest.approx(delta, abs=1e-6)
    limit = (W / 3 + delta) / mu + delta
    assert solve_forces(_ring(3, mu, max_force=limit * 1.0001), WEIGHT, margin=delta).feasible
    assert not solve_forces(_ring(3, mu, max_force=limit * 0.9999), WEIGHT, margin=delta).feasible


def test_no_load_needs_no_force() -> None:
    answer = solve_forces(_ring(3, 0.5), np.zeros(6))
    assert answer.largest_force == pytest.approx(0, abs=1e-7)


def test_forces_scale_with_the_load_and_do_not_depend_on_frames_units_or_order(random_grasp, random_rotation) -> None:
    rng = np.random.default_rng(0)
    solver = ForceSolver()
    found = 0
    for _ in range(40):
        contacts = random_grasp(rng, 4, soft=bool(rng.integers(2)))
        load = np.concatenate([rng.normal(size=3), rng.normal(size=3) * 0.01])
        answer = solver.solve(contacts, load)
        rotation, shift = random_rotation(rng), rng.normal(size=3)
        turned = replace(contacts, points=contacts.points @ rotation.T + shift, rotations=rotation @ contacts.rotations)
        there = np.concatenate([rotation @ load[:3], rotation @ load[3:]])
        moved = solver.solve(turned, there, centre=shift)
        tiny = solver.solve(contacts, 1e-3 * load)
        order = rng.permutation(4)
        shuffled = ContactSet.from_arrays(
            contacts.points[order],
            contacts.normals[order],
            friction=contacts.friction[order],
            radius=contacts.spin_arm[order] / (3 * np.pi / 16) if contacts.spin_arm.any() else None,
            rotations=contacts.rotations[order],
        )
        mixed = solver.solve(shuffled, load)
        assert answer.status == moved.status == tiny.status == mixed.status
        if answer.feasible:
            found += 1
            scale = answer.largest_force
            assert moved.largest_force == pytest.approx(scale, rel=1e-6)
            assert tiny.largest_force == pytest.approx(1e-3 * scale, rel=1e-6)
            assert mixed.largest_force == pytest.approx(scale, rel=1e-6)
            assert np.allclose(moved.forces, answer.forces, atol=2e-3 * scale)
            assert np.allclose(mixed.forces, answer.forces[order], atol=2e-3 * scale)
    assert found > 10


def test_an_answer_does_not_depend_on_what_was_solved_before(random_grasp) -> None:
    rng = np.random.default_rng(1)
    grasps = [random_grasp(rng, 3 + k % 3, limits=True) for k in range(30)]
    kept = ForceSolver()
    for contacts in (*grasps, *reversed(grasps)):
        again, fresh = kept.solve(contacts, WEIGHT * 0.3), ForceSolver().solve(contacts, WEIGHT * 0.3)
        assert again.status == fresh.status
        if again.feasible:
            assert np.array_equal(again.f, fresh.f)


def test_largest_force_comes_first_and_the_sum_second(random_grasp) -> None:
    """The cost max |f_i| + 3e-4 mean |f_i| is least, so no forces with this largest one have a smaller sum."""
    import cvxpy as cp

    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(12):
        contacts = random_grasp(rng, 4)
        load = np.concatenate([rng.normal(size=3), rng.normal(size=3) * 0.01])
        answer = solve_forces(contacts, load)
        if not answer.feasible:
            continue
        g = grasp_matrix(contacts)
        g[3:] *= 30
        f = cp.Variable((4, 3))
        sizes = cp.hstack([cp.norm(f[i]) for i in range(4)])
        hold = [g @ cp.vec(f, order="C") == -load * [1, 1, 1, 30, 30, 30]]
        hold += [cp.norm(f[i, :2]) <= contacts.friction[i] * f[i, 2] for i in range(4)]
        least = cp.Problem(cp.Minimize(cp.max(sizes)), hold).solve(solver=cp.CLARABEL)
        both = cp.Problem(cp.Minimize(cp.max(sizes) + 3e-4 / 4 * cp.sum(sizes)), hold).solve(solver=cp.CLARABEL)
        assert answer.largest_force == pytest.approx(least, rel=1e-6)
        assert answer.largest_force + 3e-4 / 4 * answer.total_force == pytest.approx(both, rel=1e-7)
        assert answer.total_force < 4 * answer.largest_force * (1 - 1e-6)
        compared += 1
    assert compared >= 4


def test_contacts_that_cannot_lower_the_largest_force_do_not_press() -> None:
    """Frictionless: the one below carries W whatever the pair at the sides does, so only the sum tells it to rest."""
    out = np.array([[0, 0, -1.0], [1, 0, 0], [-1, 0, 0]])
    answer = solve_forces(ContactSet.from_arrays(0.03 * out, -out, friction=0.0), WEIGHT)
    # The sum is found to the solver's gap over its weight, about 1e-8 / 3e-4.
    assert answer.forces[:, 2] == pytest.approx([W, 0, 0], abs=1e-3 * W)
    assert answer.largest_force == pytest.approx(W, rel=1e-7)


def test_loading_cost_is_the_least_sum_of_sigma(random_grasp) -> None:
    """objective="loading": sum of (1 - mu) f_n + |f_t| against CVXPY."""
    import cvxpy as cp

    rng = np.random.default_rng(3)
    solver = ForceSolver(objective="loading")
    compared = 0
    for _ in range(12):
        contacts = random_grasp(rng, 4, limits=True)
        contacts = replace(contacts, friction=np.minimum(contacts.friction, 0.85))
        load = np.concatenate([rng.normal(size=3), rng.normal(size=3) * 0.01])
        answer = solver.solve(contacts, load)
        mu, g = contacts.friction, grasp_matrix(contacts)
        g[3:] *= 30
        f = cp.Variable((4, 3))
        slips = [cp.norm(f[i, :2]) for i in range(4)]
        hold = [g @ cp.vec(f, order="C") == -load * [1, 1, 1, 30, 30, 30], f[:, 2] <= contacts.max_force]
        hold += [slips[i] <= mu[i] * f[i, 2] for i in range(4)]
        problem = cp.Problem(cp.Minimize((1 - mu) @ f[:, 2] + cp.sum(cp.hstack(slips))), hold)
        best = problem.solve(solver=cp.CLARABEL)
        assert answer.status == problem.status
        if answer.feasible:
            cost = (1 - mu) @ answer.forces[:, 2] + np.linalg.norm(answer.forces[:, :2], axis=1).sum()
            assert cost == pytest.approx(best, rel=1e-6)
            compared += 1
    assert compared >= 4


def test_loading_cost_does_not_squeeze_where_friction_exceeds_one() -> None:
    answer = solve_forces(_ring(3, 1.5), WEIGHT, objective="loading")
    assert answer.forces[:, 2] == pytest.approx(W / 4.5, rel=1e-5)


def _three_fingers() -> tuple[ContactSet, np.ndarray]:
    """Three two-joint fingers around a cylinder: one joint swings the tip inwards, one up."""
    contacts = _ring(3, 0.5)
    axes, origins, carries = [], [], np.zeros((3, 6), dtype=bool)
    for i, p in enumerate(contacts.points):
        out = p / np.linalg.norm(p)
        sideways = np.cross([0, 0, 1], out)
        axes += [sideways, sideways]
        origins += [p + 0.08 * np.eye(3)[2], p + 0.05 * out]
        carries[i, 2 * i : 2 * i + 2] = True
    return contacts, hand_jacobian(contacts, joint_jacobian(contacts, axes, origins, carries))


def test_joint_torques_follow_the_law_and_their_limits_bind_at_the_closed_form() -> None:
    """Finger i: joint 1 has arm 8 cm against the normal force, joint 2 has arm 5 cm against the weight's share."""
    contacts, j = _three_fingers()
    answer = solve_forces(contacts, WEIGHT, jacobian=j)
    n, share = W / 1.5, W / 3
    assert answer.forces[:, 2] == pytest.approx(n, rel=1e-6)
    assert np.abs(answer.tau) == pytest.approx(np.tile([0.08 * n, 0.05 * share], 3), rel=1e-5)
    assert np.allclose(answer.tau, j.T @ answer.f)
    limit = np.tile([0.08 * n, 1.0], 3)
    assert solve_forces(contacts, WEIGHT, jacobian=j, torque_limits=limit * 1.0001).feasible
    assert not solve_forces(contacts, WEIGHT, jacobian=j, torque_limits=limit * 0.9999).feasible
    gravity = np.tile([0.01, 0], 3) * np.sign(answer.tau)
    assert not solve_forces(
        contacts, WEIGHT, jacobian=j, torque_limits=limit * 1.0001, gravity_torques=gravity
    ).feasible
    roomy = solve_forces(contacts, WEIGHT, jacobian=j, torque_limits=limit + 0.1, gravity_torques=gravity)
    assert roomy.margins.torque[::2] == pytest.approx(0.09, abs=1e-5)
    assert roomy.margins.torque_of_contact == pytest.approx(0.09, abs=1e-5)


def test_forces_with_a_hand_are_those_its_command_makes(random_grasp) -> None:
    """What is found lies in the range of (5): the y behind it gives the same forces back."""
    rng = np.random.default_rng(4)
    found = 0
    for k in range(30):
        contacts = random_grasp(rng, 3)
        j = rng.normal(size=(9, 2 if k % 2 else 7)) * 0.05
        compliance = rng.uniform(0, 0.1, size=j.shape[1])
        load = np.concatenate([rng.normal(size=3), rng.normal(size=3) * 0.01])
        answer = solve_forces(contacts, load, jacobian=j, joint_compliance=compliance)
        if answer.feasible:
            found += 1
            g, stiff = grasp_matrix(contacts), contact_stiffness(contacts, j, compliance)
            y = hand_command(g, stiff, j, load, answer.f)
            assert np.allclose(forces_for(g, stiff, j, load, y), answer.f, atol=1e-5 * answer.largest_force)
            free = solve_forces(contacts, load)
            assert answer.largest_force >= free.largest_force * (1 - 1e-6)
    assert found >= 8


def test_one_squeeze_holds_every_disturbance_with_the_springs_taking_the_rest() -> None:
    """Three contacts, an extra weight of d: each spring takes d / 3 more, so N = (W + d) / (3 mu) beforehand."""
    contacts, mu, extra = _ring(3, 0.5, stiffness=1000.0), 0.5, 3.0
    more = np.array([[0, 0, -extra, 0, 0, 0], [0, 0, extra, 0, 0, 0]])
    answer = solve_forces(contacts, WEIGHT, disturbances=more)
    assert answer.forces[:, 2] == pytest.approx((W + extra) / (3 * mu), rel=1e-6)
    assert answer.forces_world.sum(axis=0) == pytest.approx([0, 0, W], abs=1e-9)
    assert answer.worst_load == 1
    assert answer.margins.slip == pytest.approx(0, abs=1e-6)
    assert answer.largest_force == pytest.approx(np.hypot((W + extra) / 3, (W + extra) / (3 * mu)), rel=1e-6)


def test_elastic_reaction_stays_within_every_cone_and_active_never_needs_more(random_grasp) -> None:
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(30):
        contacts = random_grasp(rng, 5)
        load, more = WEIGHT * 0.2, rng.normal(size=(4, 6)) * [0.3, 0.3, 0.3, 0.003, 0.003, 0.003]
        calm = solve_forces(contacts, load)
        elastic = solve_forces(contacts, load, disturbances=more)
        active = solve_forces(contacts, load, disturbances=more, reaction=DisturbanceResponse.ACTIVE)
        if not elastic.feasible:
            continue
        found += 1
        assert active.feasible
        assert calm.largest_force <= active.largest_force * (1 + 1e-6)
        assert active.largest_force <= elastic.largest_force * (1 + 1e-6)
        inverse = weighted_right_inverse(grasp_matrix(contacts), contact_stiffness(contacts))
        for disturbance in more:
            forces, _ = contacts.table(elastic.f - inverse @ disturbance)
            slack = contacts.friction * forces[:, 2] - np.linalg.norm(forces[:, :2], axis=1)
            assert slack.min() > -1e-6 * elastic.largest_force
        each = [solve_forces(contacts, load + d).largest_force for d in more]
        assert active.largest_force == pytest.approx(max(*each, calm.largest_force), rel=1e-9)
    assert found >= 8


def test_disturbance_that_cannot_be_held_makes_the_answer_no() -> None:
    """Along the axis the ring can answer with any friction force but not beyond its limit."""
    contacts = _ring(3, 0.5, max_force=10.0)
    beyond = [[0, 0, -6.0, 0, 0, 0]]
    for reaction in DisturbanceResponse:
        answer = solve_forces(contacts, WEIGHT, disturbances=beyond, reaction=reaction)
        assert not answer.feasible
        assert answer.certificate.check()
        assert {str(blame) for blame in answer.blame} == {"friction", "force limit"}


def test_hundred_random_contacts_are_solved(random_grasp) -> None:
    rng = np.random.default_rng(6)
    contacts = random_grasp(rng, 100, soft=True, limits=True)
    answer = solve_forces(contacts, WEIGHT)
    assert answer.feasible
    assert answer.residual < 1e-9
    assert answer.margins.slip.min() > -1e-6


def test_very_light_and_very_heavy_things_are_held_alike() -> None:
    for weight in (1e-6, 1e-3, 1.0, 1e4):
        answer = solve_forces(_ring(3, 0.5, max_force=1e6), WEIGHT / W * weight)
        assert answer.forces[:, 2] == pytest.approx(weight / 1.5, rel=1e-6)


def test_limit_exactly_at_the_needed_force_is_feasible() -> None:
    answer = solve_forces(_ring(3, 0.5, max_force=W / 1.5), WEIGHT)
    assert answer.feasible
    assert answer.forces[:, 2] == pytest.approx(W / 1.5, rel=1e-5)


def test_contact_from_the_user_frames_gives_forces_in_those_frames() -> None:
    contacts = ContactSet.of([Contact([0.03, 0, 0], [-1, 0, 0], 0.5), Contact([-0.03, 0, 0], [1, 0, 0], 0.5)])
    # First tangent down, so the friction force is all in its negative.
    down = np.array([0, 0, -1.0])
    frames = np.stack([np.stack([down, np.cross(n, down), n], axis=1) for n in contacts.normals])
    own = ContactSet.from_arrays(contacts.points, contacts.normals, friction=0.5, rotations=frames)
    assert solve_forces(own, WEIGHT).forces == pytest.approx(np.array([[-W / 2, 0, W], [-W / 2, 0, W]]), abs=1e-6)
