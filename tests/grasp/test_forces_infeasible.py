"""When nothing holds: the proof is checked by other means than the solver's, and the blame is put to the test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pliant.grasp import ContactSet, Family, ForceSolver, grasp_matrix, hand_jacobian, joint_jacobian, solve_forces

WEIGHT = np.array([0, 0, -9.81, 0, 0, 0])


def _ring(n: int = 3, friction: float = 0.5, **more: object) -> ContactSet:
    angles = 2 * np.pi * np.arange(n) / n
    out = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    return ContactSet.from_arrays(0.03 * out, -out, friction=friction, **more)


def test_escape_twist_is_a_motion_no_permitted_force_resists(random_grasp) -> None:
    """Checked from scratch: w . v > 0, and f . G^T v >= 0 for every f in the cones, i.e. G_i^T v in the dual cone
    {a : a_n >= mu |a_t|}: the work of the worst friction force, -mu |a_t|, never exceeds that of the normal one."""
    rng = np.random.default_rng(0)
    refused = 0
    for k in range(120):
        contacts = random_grasp(rng, 2 + k % 4, soft=k % 2 == 0)
        load = np.concatenate([rng.normal(size=3), rng.normal(size=3) * 0.05])
        answer = solve_forces(contacts, load, explain=False)
        if answer.feasible:
            continue
        refused += 1
        certificate, twist = answer.certificate, answer.certificate.twist
        assert certificate.check()
        assert twist is not None
        scale = np.abs(twist) @ np.abs(load)
        assert twist @ load > 1e-9 * scale
        pushes = grasp_matrix(contacts).T @ twist
        size = np.abs(pushes).max()
        for i, part in enumerate(contacts.layout.slices):
            a = pushes[part].copy()
            if len(a) == 4:
                a[3] *= contacts.spin_arm[i]
            # m / e and f_t share one cone, so the dual pairs e a_m with a_t.
            sideways = np.linalg.norm(np.delete(a, 2))
            assert a[2] - contacts.friction[i] * sideways > -1e-6 * max(size, 1.0)
    assert refused > 40


def test_certificate_fails_its_check_when_tampered_with() -> None:
    certificate = solve_forces(_ring(max_force=4.0), WEIGHT).certificate
    assert certificate.check()
    assert certificate.reach > 1e5
    dual = certificate.dual.copy()
    dual[-1] += 0.1
    assert not replace(certificate, dual=dual).check()
    assert not replace(certificate, dual=-certificate.dual).check()
    assert not replace(certificate, right=certificate.right * 0.9).check()


@pytest.mark.parametrize("seed", range(3))
def test_every_infeasible_grasp_has_a_checked_proof_and_a_blame_whose_dropping_helps(random_grasp, seed: int) -> None:
    """Dropping is done here by hand: huge friction, no limit, no torque limit, all internal forces."""
    rng = np.random.default_rng(seed)
    solver = ForceSolver()
    refused, seen = 0, set()
    for k in range(60):
        n = 3 + k % 3
        contacts = random_grasp(rng, n, soft=k % 2 == 0, limits=True)
        hand = {}
        if k % 3 == 0:
            q = 2 if k % 2 else 8
            hand = {"jacobian": rng.normal(size=(contacts.layout.size, q)) * 0.05, "torque_limits": 0.3}
        load = np.concatenate([rng.normal(size=3) * 5, rng.normal(size=3) * 0.05])
        answer = solver.solve(contacts, load, **hand)
        if answer.feasible:
            assert answer.blame == ()
            assert answer.certificate is None
            continue
        refused += 1
        assert answer.certificate.check()
        assert answer.blame
        for blame in answer.blame:
            seen |= set(blame.families)
            relaxed, given = contacts, dict(hand)
            if Family.FRICTION in blame.families:
                relaxed = replace(relaxed, friction=np.full(n, 1e4))
            if Family.FORCE_LIMIT in blame.families:
                relaxed = replace(relaxed, max_force=np.full(n, np.inf))
            if Family.TORQUE_LIMIT in blame.families:
                given.pop("torque_limits")
            if Family.COMMANDABLE in blame.families:
                # A hand with a joint for every contact component can command everything; the torque limits stay.
                if "torque_limits" in given:
                    continue
                given.pop("jacobian")
            if {Family.PUSHING, Family.BALANCE} & set(blame.families):
                continue
            again = solver.solve(relaxed, load, **given)
            assert again.feasible, f"{k}: {blame}"
            if len(blame.families) == 1 and blame.families[0] is not Family.FRICTION:
                assert blame.largest_force == pytest.approx(again.largest_force, rel=1e-3)
    assert refused > 15
    assert Family.FRICTION in seen
    assert Family.FORCE_LIMIT in seen


def test_each_family_is_blamed_where_it_alone_stands_in_the_way() -> None:
    # Force limit alone: even glue cannot help the two lower contacts carry more than their limits.
    out = np.array([[0, 0, -1.0]])
    shelf = ContactSet.from_arrays(0.03 * out, -out, friction=0.5, max_force=5.0)
    assert [b.families for b in solve_forces(shelf, WEIGHT).blame] == [(Family.FORCE_LIMIT,)]
    # Friction alone: a smooth pair of jaws.
    pair = ContactSet.from_arrays([[0.03, 0, 0], [-0.03, 0, 0.01]], [[-1, 0, 0], [1, 0, 0]], friction=0.1)
    blame = solve_forces(pair, WEIGHT).blame
    assert [b.families for b in blame] == [(Family.FRICTION,)]
    # Pushing: the object hangs below a single contact.
    roof = ContactSet.from_arrays([[0, 0, 0.03]], [[0, 0, -1]], friction=0.5)
    assert [b.families for b in solve_forces(roof, WEIGHT).blame] == [(Family.PUSHING,)]
    # Balance: two points cannot answer a torque about their line.
    line = ContactSet.from_arrays([[0.03, 0, 0], [-0.03, 0, 0]], [[-1, 0, 0], [1, 0, 0]], friction=0.5)
    answer = solve_forces(line, [0, 0, -1, 0.01, 0, 0])
    assert [b.families for b in answer.blame] == [(Family.BALANCE,)]
    assert answer.certificate.check()
    turn = answer.certificate.twist
    assert np.allclose(turn / np.linalg.norm(turn), [0, 0, 0, 1, 0, 0], atol=1e-9)


def test_torque_limit_and_missing_joints_are_blamed() -> None:
    contacts = _ring()
    inwards = np.cross([0, 0, 1], contacts.points)
    axes = inwards / np.linalg.norm(inwards, axis=1, keepdims=True)
    full = joint_jacobian(contacts, axes, contacts.points + 0.08 * np.eye(3)[2], np.eye(3))
    jacobian = hand_jacobian(contacts, full)
    weak = solve_forces(contacts, WEIGHT, jacobian=jacobian, torque_limits=0.3)
    assert (Family.TORQUE_LIMIT,) in [b.families for b in weak.blame]
    assert solve_forces(contacts, WEIGHT, jacobian=jacobian, torque_limits=1.0).feasible
    # Joints that only swing sideways cannot squeeze at all: the load is shared by springs, which do not press.
    sideways = joint_jacobian(contacts, np.tile([0, 0, 1.0], (3, 1)), 0 * contacts.points, np.eye(3))
    lame = solve_forces(contacts, WEIGHT, jacobian=hand_jacobian(contacts, sideways))
    assert [b.families for b in lame.blame] == [(Family.FRICTION,), (Family.COMMANDABLE,)]


def test_an_idle_joint_that_cannot_bear_its_own_link_is_refused_with_a_proof() -> None:
    """No contact force changes its torque: 0 <= limit - |gravity torque| < 0 is all there is to the proof."""
    contacts = _ring()
    inwards = np.cross([0, 0, 1], contacts.points)
    axes = inwards / np.linalg.norm(inwards, axis=1, keepdims=True)
    full = joint_jacobian(contacts, axes, contacts.points + 0.08 * np.eye(3)[2], np.eye(3))
    jacobian = np.hstack([hand_jacobian(contacts, full), np.zeros((9, 1))])
    idle = {"jacobian": jacobian, "torque_limits": [1.0, 1.0, 1.0, 0.3]}
    assert solve_forces(contacts, WEIGHT, gravity_torques=[0, 0, 0, 0.29], **idle).feasible
    answer = solve_forces(contacts, WEIGHT, gravity_torques=[0, 0, 0, 0.31], **idle)
    assert not answer.feasible
    assert answer.certificate.check()
    assert (Family.TORQUE_LIMIT,) in [b.families for b in answer.blame]


def test_two_families_are_blamed_together_when_neither_is_enough() -> None:
    """One finger under the object: it may press with 5 N and its joint hold 0.08 m * 5 N, the weight is 9.81 N."""
    contacts = ContactSet.from_arrays([[0, 0, -0.03]], [[0, 0, 1]], friction=0.5, max_force=5.0)
    jacobian = hand_jacobian(contacts, joint_jacobian(contacts, [[0, 1, 0]], [[0.08, 0, -0.03]], [[True]]))
    answer = solve_forces(contacts, WEIGHT, jacobian=jacobian, torque_limits=0.4)
    assert [blame.families for blame in answer.blame] == [(Family.FORCE_LIMIT, Family.TORQUE_LIMIT)]
    assert answer.blame[0].largest_force == pytest.approx(9.81, rel=1e-6)
    assert str(answer.blame[0]) == "force limit and torque limit"


def test_friction_needed_is_the_closed_form() -> None:
    """Ring of three with f_n <= 4 N: mu = W / (3 * 4)."""
    solver = ForceSolver()
    contacts = _ring(max_force=4.0)
    factor = solver.friction_needed(contacts, WEIGHT)
    assert factor * 0.5 == pytest.approx(9.81 / 12, rel=2e-4)
    roof = ContactSet.from_arrays([[0, 0, 0.03]], [[0, 0, -1]], friction=0.5)
    assert solver.friction_needed(roof, WEIGHT) is None


def test_margin_larger_than_the_limit_is_refused_with_a_proof() -> None:
    answer = solve_forces(_ring(max_force=1.0), np.zeros(6), margin=2.0)
    assert not answer.feasible
    assert answer.certificate.check()
    assert (Family.FORCE_LIMIT,) in [b.families for b in answer.blame]


def test_degenerate_grasps_are_always_decided_one_way_or_the_other() -> None:
    """Collinear, flat, coincident and one-sided contacts, tiny patches, all loads: forces or a checked proof."""
    rng = np.random.default_rng(3)
    solver = ForceSolver()
    seen = {"optimal": 0, "infeasible": 0}
    for k in range(400):
        n = int(rng.integers(1, 8))
        out = rng.normal(size=(n, 3))
        out[:, 3 - k % 3 :] = 0
        out /= np.linalg.norm(out, axis=1, keepdims=True)
        size = 10 ** rng.uniform(-3, 1)
        points = np.tile(out[0], (n, 1)) * size if k % 7 == 0 else out * size
        normals = np.tile([0, 0, 1.0], (n, 1)) if k % 5 == 0 else -out
        friction = 10 ** rng.uniform(-2, 0.7, size=n)
        friction[rng.random(n) < 0.1] = 0
        contacts = ContactSet.from_arrays(
            points,
            normals,
            friction=friction,
            max_force=10 ** rng.uniform(-1, 3, size=n) if k % 2 else np.inf,
            radius=size * 10 ** rng.uniform(-4, -0.5, size=n) if k % 3 == 0 else None,
        )
        load = rng.normal(size=6) * 10 ** rng.uniform(-3, 2) * [1, 1, 1, size, size, size]
        load[3:] *= k % 4 > 1
        given = {"jacobian": rng.normal(size=(contacts.layout.size, 5)) * size} if k % 6 == 0 else {}
        answer = solver.solve(contacts, load, **given)
        seen[answer.status] += 1
        if answer.feasible:
            assert answer.margins.slip.min() > -1e-6 * answer.largest_force
            assert answer.margins.overload.min() > -1e-6 * answer.largest_force
            assert answer.residual < 1e-8 * answer.largest_force * max(1.0, size)
        else:
            assert answer.certificate.check()
            assert answer.blame
    assert min(seen.values()) > 50, seen
