"""CPU time of the force solver as a control loop calls it, assembly included."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pliant.grasp import ContactSet, ForceSolver

WEIGHT = np.array([0, 0, -5.0, 0, 0, 0])


@pytest.mark.performance
@pytest.mark.parametrize("n", [3, 5])
def test_everything_around_the_cone_solver_costs_little_more_than_the_solver(n: int) -> None:
    """From points and normals to forces and margins, against the bare solve of the same program in the same run.

    Measured 2.1 to 2.6 on a quiet machine (0.29 against 0.135 ms for five contacts); a wall-clock bound would measure
    the machine's other work instead. Median over grasps of the best of 40.
    """
    rng = np.random.default_rng(0)
    solver = ForceSolver(explain=False)
    ratios: list[float] = []
    while len(ratios) < 15:
        out = rng.normal(size=(n, 3))
        out /= np.linalg.norm(out, axis=1, keepdims=True)
        if not solver.solve(ContactSet.from_arrays(0.03 * out, -out, friction=0.8, max_force=60.0), WEIGHT).feasible:
            continue
        program = next(reversed(solver._programs.values()))
        whole, bare = np.inf, np.inf
        for _ in range(40):
            start = time.process_time()
            solver.solve(ContactSet.from_arrays(0.03 * out, -out, friction=0.8, max_force=60.0), WEIGHT)
            middle = time.process_time()
            program.solve()
            whole, bare = min(whole, middle - start), min(bare, time.process_time() - middle)
        ratios.append(whole / bare)
    assert np.median(ratios) <= 4.0, f"{np.median(ratios):.2f}"
