"""The force program against the same problem written in CVXPY's own words, feasible and infeasible alike."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from pliant.grasp import ContactSet, Family, ForceSolver, contact_stiffness, grasp_matrix, internal_basis

# Both solvers stop at a relative gap of 1e-8. The weight of the mean force (cones.SUM_WEIGHT) could add up to 3e-4;
# that it adds less than this is what is tested.
TOLERANCE = 1e-6


@dataclass
class Model:
    """min t over forces in world axes: no contact frames, no scaling, no null spaces, no second objective."""

    problem: cp.Problem
    parameters: dict[str, cp.Parameter]

    @classmethod
    def make(cls, n: int, soft: bool) -> Model:
        force, moment, t = cp.Variable((n, 3)), cp.Variable(n), cp.Variable()
        p = {
            "normal": cp.Parameter((n, 3)),
            "friction_normal": cp.Parameter((n, 3)),
            "tangential": cp.Parameter((3 * n, 3)),
            "arms": cp.Parameter((3 * n, 3)),
            "limit": cp.Parameter(n),
            "margin": cp.Parameter(),
            "inverse_arm": cp.Parameter(n),
            "load": cp.Parameter(6),
        }
        total_torque: cp.Expression = p["load"][3:]
        constraints = []
        for i in range(n):
            normal_force = p["normal"][i] @ force[i]
            sideways = p["tangential"][3 * i : 3 * i + 3] @ force[i]
            spin = p["inverse_arm"][i] * moment[i]
            slip = cp.norm(cp.hstack([sideways, spin])) if soft else cp.norm(sideways)
            constraints += [
                slip <= p["friction_normal"][i] @ force[i] - p["margin"],
                normal_force <= p["limit"][i] - p["margin"],
                cp.norm(force[i]) <= t,
            ]
            total_torque = total_torque + p["arms"][3 * i : 3 * i + 3] @ force[i]
            if soft:
                total_torque = total_torque + p["normal"][i] * moment[i]
        constraints += [cp.sum(force, axis=0) + p["load"][:3] == 0, total_torque == 0]
        return cls(cp.Problem(cp.Minimize(t), constraints), p)

    def solve(self, contacts: ContactSet, load: np.ndarray, centre: np.ndarray, margin: float) -> tuple[str, float]:
        p, normals = self.parameters, contacts.normals
        r = contacts.points - centre
        # In centimetres, so that torques have the size of forces; the solver inside has no scaling of ours.
        cm = 100.0
        arms = [np.cross(np.eye(3), cm * row).T * -1 for row in r]
        p["normal"].value = normals
        p["friction_normal"].value = normals * contacts.friction[:, None]
        p["tangential"].value = np.vstack([np.eye(3) - np.outer(n, n) for n in normals])
        p["arms"].value = np.vstack(arms)
        p["limit"].value = np.minimum(contacts.max_force, 1e4)
        p["margin"].value = margin
        p["inverse_arm"].value = np.where(contacts.spin_arm > 0, 1 / (cm * np.maximum(contacts.spin_arm, 1e-9)), 0.0)
        p["load"].value = load * np.array([1, 1, 1, cm, cm, cm])
        value = self.problem.solve(solver=cp.CLARABEL)
        return self.problem.status, float(value)


@pytest.mark.slow
def test_thousand_random_grasps_have_the_status_and_the_optimum_of_cvxpy(random_grasp) -> None:
    rng = np.random.default_rng(20240501)
    solver = ForceSolver(explain=False)
    seen = {"optimal": 0, "infeasible": 0}
    models: dict[tuple[int, bool], Model] = {}
    for k in range(1000):
        n, soft = 3 + k % 3, k % 4 == 0
        contacts = random_grasp(rng, n, soft=soft, limits=k % 2 == 0)
        load = np.concatenate([rng.normal(size=3) * 3, rng.normal(size=3) * 0.02])
        centre = rng.normal(size=3) * 0.005
        margin = 0.05 if k % 5 == 0 else 0.0
        model = models.setdefault((n, soft), Model.make(n, soft))
        status, optimum = model.solve(contacts, load, centre, margin)
        solver.margin = margin
        answer = solver.solve(contacts, load, centre=centre)
        assert answer.status == status, f"grasp {k}"
        seen[status] += 1
        if answer.feasible:
            assert answer.largest_force == pytest.approx(optimum, rel=TOLERANCE), f"grasp {k}"
            assert answer.residual < 1e-9 * max(1.0, answer.largest_force)
            assert answer.margins.slip.min() > margin - TOLERANCE * answer.largest_force
            assert (contacts.max_force - answer.forces[:, 2]).min() > margin - TOLERANCE * answer.largest_force
        else:
            assert answer.certificate.check(), f"grasp {k}"
    assert min(seen.values()) > 200, f"the draw must have both kinds: {seen}"


def test_hand_and_torque_limits_give_the_optimum_of_cvxpy_and_its_blame_is_right(random_grasp) -> None:
    """With a hand: f = f_p + B z over z, |J^T f + gravity| <= limit; each blame is confirmed by CVXPY too."""
    rng = np.random.default_rng(7)
    solver = ForceSolver()
    seen = {"optimal": 0, "infeasible": 0}
    blamed: set[tuple[Family, ...]] = set()
    for k in range(60):
        n = 3 + k % 2
        contacts = random_grasp(rng, n, limits=True)
        joints = 3 * n if k % 3 else 2  # two joints cannot command every squeeze
        jacobian = rng.normal(size=(contacts.layout.size, joints)) * 0.05
        compliance = rng.uniform(0, 0.2, size=joints)
        limits = rng.uniform(0.1, 1.0, size=joints)
        gravity = rng.normal(size=joints) * 0.02
        load = np.concatenate([rng.normal(size=3) * 2, rng.normal(size=3) * 0.01])
        given = {
            "jacobian": jacobian,
            "torque_limits": limits,
            "gravity_torques": gravity,
            "joint_compliance": compliance,
        }
        answer = solver.solve(contacts, load, **given)
        status, optimum = _with_hand(contacts, load, **given)
        assert answer.status == status, f"grasp {k}"
        seen[status] += 1
        if answer.feasible:
            assert answer.largest_force == pytest.approx(optimum, rel=TOLERANCE)
            assert answer.margins.torque.min() > -TOLERANCE
        else:
            assert answer.certificate.check()
            assert answer.blame
            for blame in answer.blame:
                blamed.add(blame.families)
                assert _with_hand(contacts, load, **given, dropped=blame.families)[0] == "optimal", f"{k}: {blame}"
    assert min(seen.values()) >= 8, seen
    singles = {group[0] for group in blamed if len(group) == 1}
    assert {Family.FRICTION, Family.TORQUE_LIMIT, Family.COMMANDABLE} <= singles, blamed


def _with_hand(
    contacts, load, *, jacobian, torque_limits, gravity_torques, joint_compliance, dropped=()
) -> tuple[str, float]:
    g = grasp_matrix(contacts)
    k = contact_stiffness(contacts, jacobian, joint_compliance)
    particular = -k @ g.T @ np.linalg.solve(g @ k @ g.T, load)
    basis = internal_basis(g) if Family.COMMANDABLE in dropped else internal_basis(g, k, jacobian)
    if Family.BALANCE in dropped:
        basis = np.eye(len(particular))
    z, t = cp.Variable(basis.shape[1]), cp.Variable()
    f = particular + basis @ z
    constraints = []
    for i in range(len(contacts)):
        tangential, normal = f[3 * i : 3 * i + 2], f[3 * i + 2]
        constraints.append(cp.norm(f[3 * i : 3 * i + 3]) <= t)
        if Family.PUSHING not in dropped:
            constraints.append(normal >= 0)
            if Family.FRICTION not in dropped:
                constraints.append(cp.norm(tangential) <= contacts.friction[i] * normal)
        if Family.FORCE_LIMIT not in dropped:
            constraints.append(normal <= contacts.max_force[i])
    if Family.TORQUE_LIMIT not in dropped:
        constraints.append(cp.abs(jacobian.T @ f + gravity_torques) <= torque_limits)
    problem = cp.Problem(cp.Minimize(t), constraints)
    value = problem.solve(solver=cp.CLARABEL)
    return problem.status, float(value)
