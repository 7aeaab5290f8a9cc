"""How fast and how right are the smallest forces? Ours against CVXPY and SciPy's SLSQP on the same grasps, in one run.

    python benchmarks/grasp.py [--problems 40] [--repeats 5] [--out out/benchmarks/grasp.json]

Times are CPU time of this process per solve, the least of the repeats, averaged over the problems. Ours starts
from points and normals: contact frames, grasp matrix, scaling, solver update, solve, margins; "Clarabel updated" is the
kept solver alone. SLSQP is the Lagrange route: analytic gradients, started from the least-squares share of the load.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from record import about, write
from scipy.optimize import minimize
from scipy.spatial import ConvexHull

from pliant.grasp import ContactSet, ForceSolver, edge_wrenches, epsilon_l1, epsilon_linf, grasp_matrix, internal_basis
from pliant.grasp.loads import ForceProblem

WEIGHT = np.array([0, 0, -5.0, 0, 0, 0])
FRICTION, LIMIT = 0.8, 60.0
# An answer counts as wrong when it is off by more than this part, or breaks a constraint by more than it.
WRONG = 1e-3


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and normals around a ball of 3 cm, normals off by about 15 degrees."""
    out = rng.normal(size=(n, 3))
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    normals = -out + 0.15 * rng.normal(size=(n, 3))
    return 0.03 * out, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def least_time(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Seconds of the quickest of the repeats, and the answer."""
    best, answer = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        answer = work()
        best = min(best, time.process_time() - start)
    return best, answer


def cvxpy_model(n: int) -> Callable[[ContactSet], float]:
    """The same problem as a parametrised CVXPY model; only numbers change between calls."""
    g, f, t = cp.Parameter((6, 3 * n)), cp.Variable(3 * n), cp.Variable()
    load = np.concatenate([WEIGHT[:3], WEIGHT[3:] / 0.03])
    hold = [g @ f == -load]
    for i in range(n):
        hold += [
            cp.norm(f[3 * i : 3 * i + 2]) <= FRICTION * f[3 * i + 2],
            f[3 * i + 2] <= LIMIT,
            cp.norm(f[3 * i : 3 * i + 3]) <= t,
        ]
    problem = cp.Problem(cp.Minimize(t), hold)

    def solve(contacts: ContactSet) -> float:
        matrix = grasp_matrix(contacts)
        matrix[3:] /= 0.03
        g.value = matrix
        problem.solve(solver=cp.CLARABEL)
        return float(problem.value)

    return solve


def slsqp(contacts: ContactSet) -> tuple[float, bool]:
    """Largest force by SLSQP over internal forces and the bound t, and whether it met the constraints."""
    g, n = grasp_matrix(contacts), len(contacts)
    basis = internal_basis(g)
    start = -np.linalg.pinv(g) @ WEIGHT
    k = basis.shape[1]

    def table(x: np.ndarray) -> np.ndarray:
        return (start + basis @ x[:k]).reshape(n, 3)

    def room(x: np.ndarray) -> np.ndarray:
        f = table(x)
        slip = FRICTION * f[:, 2] - np.sqrt((f[:, :2] ** 2).sum(axis=1) + 1e-16)
        return np.concatenate([slip, LIMIT - f[:, 2], x[k] - np.sqrt((f**2).sum(axis=1) + 1e-16)])

    def slopes(x: np.ndarray) -> np.ndarray:
        f, rows = table(x), basis.reshape(n, 3, k)
        side = f[:, :2] / np.sqrt((f[:, :2] ** 2).sum(axis=1, keepdims=True) + 1e-16)
        size = f / np.sqrt((f**2).sum(axis=1, keepdims=True) + 1e-16)
        out = np.zeros((3 * n, k + 1))
        out[:n, :k] = FRICTION * rows[:, 2] - np.einsum("ij,ijk->ik", side, rows[:, :2])
        out[n : 2 * n, :k] = -rows[:, 2]
        out[2 * n :, :k] = -np.einsum("ij,ijk->ik", size, rows)
        out[2 * n :, k] = 1.0
        return out

    gradient = np.append(np.zeros(k), 1.0)
    first = np.append(np.zeros(k), np.abs(start).max())
    limits = {"type": "ineq", "fun": room, "jac": slopes}
    answer = minimize(
        lambda x: x[k], first, jac=lambda x: gradient, constraints=limits, method="SLSQP", options={"maxiter": 200}
    )
    return float(answer.x[k]), bool(answer.success and room(answer.x).min() > -WRONG * abs(answer.x[k]))


def forces(n: int, problems: int, repeats: int) -> dict[str, Any]:
    """One row of the table: feasible grasps of n contacts."""
    rng = np.random.default_rng(n)
    solver = ForceSolver(explain=False)
    model = cvxpy_model(n)
    times: dict[str, list[float]] = {"assembled": [], "updated": [], "cvxpy": [], "slsqp": []}
    worst, wrong = 0.0, 0
    while len(times["cvxpy"]) < problems:
        points, normals = draw(rng, n)

        def ours(points: np.ndarray = points, normals: np.ndarray = normals) -> Any:
            contacts = ContactSet.from_arrays(points, normals, friction=FRICTION, max_force=LIMIT)
            return solver.solve(contacts, WEIGHT)

        if not ours().feasible:
            continue
        contacts = ContactSet.from_arrays(points, normals, friction=FRICTION, max_force=LIMIT)
        seconds, answer = least_time(ours, 4 * repeats)
        times["assembled"].append(seconds)
        # The kept solver alone: new numbers in, solve.
        problem = ForceProblem(contacts, np.zeros(3), WEIGHT, np.zeros((0, 6)))
        program = solver._program(problem, frozenset(), solver.objective)
        times["updated"].append(least_time(program.solve, 4 * repeats)[0])
        seconds, reference = least_time(lambda c=contacts: model(c), repeats)
        times["cvxpy"].append(seconds)
        seconds, (value, sound) = least_time(lambda c=contacts: slsqp(c), repeats)
        times["slsqp"].append(seconds)
        worst = max(worst, abs(answer.largest_force / reference - 1))
        wrong += not sound or abs(value / reference - 1) > WRONG
    mean = {name: 1e3 * float(np.mean(values)) for name, values in times.items()}
    return {
        "contacts": n,
        "problems": problems,
        **{f"{name}_ms": value for name, value in mean.items()},
        "solves_per_second": 1e3 / mean["assembled"],
        "cvxpy_over_ours": mean["cvxpy"] / mean["assembled"],
        "slsqp_over_ours": mean["slsqp"] / mean["assembled"],
        "largest_force_error_to_cvxpy": worst,
        "slsqp_wrong": wrong,
    }


def hulls(n: int, repeats: int) -> dict[str, Any]:
    """Ferrari-Canny epsilon of n contacts x 8 edges, beside the bare hull (a bound for it)."""
    rng = np.random.default_rng(100 + n)
    while True:
        points, normals = draw(rng, n)
        wrenches = edge_wrenches(ContactSet.from_arrays(points, normals, friction=FRICTION))
        if epsilon_l1(wrenches) > 0:
            break
    stacked = np.vstack(wrenches)
    bare, _ = least_time(lambda: ConvexHull(stacked, qhull_options="QJ"), repeats)
    l1, value = least_time(lambda: epsilon_l1(wrenches), repeats)
    linf, bound = least_time(lambda: epsilon_linf(wrenches), max(repeats // 2, 1))
    return {
        "contacts": n,
        "edges": 8,
        "bare_hull_ms": 1e3 * bare,
        "epsilon_l1_ms": 1e3 * l1,
        "l1_over_bare": l1 / bare,
        "epsilon_linf_ms": 1e3 * linf,
        "epsilon_l1": value,
        "epsilon_linf": bound,
    }


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/grasp.json"))
    options = parser.parse_args()
    rows = [forces(n, options.problems, options.repeats) for n in (3, 4, 5)]
    print("smallest forces   ours [ms]  Clarabel updated  CVXPY  SLSQP   CVXPY/ours  SLSQP/ours  error    SLSQP wrong")
    for row in rows:
        print(
            f"{row['contacts']} contacts        {row['assembled_ms']:8.3f}  {row['updated_ms']:15.3f}  "
            f"{row['cvxpy_ms']:5.2f}  {row['slsqp_ms']:5.2f}  {row['cvxpy_over_ours']:10.1f}  "
            f"{row['slsqp_over_ours']:10.1f}  {row['largest_force_error_to_cvxpy']:7.1e}  "
            f"{row['slsqp_wrong']:4d} of {row['problems']}"
        )
    shapes = [hulls(n, options.repeats) for n in (3, 6)]
    print("\nFerrari-Canny     bare hull [ms]  epsilon L1 [ms]  ratio  epsilon Linf [ms]")
    for shape in shapes:
        print(
            f"{shape['contacts']} x 8 edges       {shape['bare_hull_ms']:12.2f}  {shape['epsilon_l1_ms']:15.2f}  "
            f"{shape['l1_over_bare']:5.2f}  {shape['epsilon_linf_ms']:17.1f}"
        )
    write(options.out, {**about("scipy", "clarabel", "cvxpy"), "forces": rows, "hulls": shapes})


if __name__ == "__main__":
    main()
