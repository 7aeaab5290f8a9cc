"""The smallest forces that hold a bottle, and what to do when there are none.

Three fingers hold half a kilogram. Then friction drops: the answer is a proof, a culprit and the friction needed.
Ends with a number that has a closed form: three contacts around a cylinder press with W / (3 mu).
"""

from __future__ import annotations

import numpy as np

from pliant.grasp import ContactSet, ForceSolver, grasp_quality

W = 0.5 * 9.81
LOAD = [0, 0, -W, 0, 0, 0]


def fingers(friction: float) -> ContactSet:
    """Three contacts at 120 degrees around a cylinder of 3 cm, 8 N allowed on each."""
    angles = np.deg2rad([0, 120, 240])
    out = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    return ContactSet.from_arrays(0.03 * out, -out, friction=friction, max_force=8.0, radius=0.005)


def main() -> None:
    """Run the example."""
    solver = ForceSolver()
    answer = solver.solve(fingers(0.5), LOAD)
    assert answer.forces is not None
    print("tangent, tangent, normal [N]:")
    print(answer.forces.round(4))
    print(f"largest {answer.largest_force:.4f} N, balance met to {answer.residual:.0e} N")

    careful = solver.solve(fingers(0.5), LOAD, disturbances=[[1, 0, 0, 0, 0, 0], [0, 0, -1, 0, 0, 0]])
    print(f"ready for a nudge of 1 N: largest {careful.largest_force:.4f} N")

    wet = solver.solve(fingers(0.1), LOAD)
    factor = solver.friction_needed(fingers(0.1), LOAD)
    assert not wet.feasible
    assert wet.certificate is not None
    assert factor is not None
    print(f"wet: {wet.status}, to blame: {', '.join(map(str, wet.blame))}; proof checked: {wet.certificate.check()}")
    print(f"it would hold with a friction of {0.1 * factor:.3f}")

    epsilon = grasp_quality(fingers(0.5))["epsilon_l1"]
    print(f"Ferrari-Canny epsilon {epsilon:.3f}")

    expected = W / (3 * 0.5)
    assert np.allclose(answer.forces[:, 2], expected, rtol=1e-6)
    assert abs(0.1 * factor / (W / (3 * 8.0)) - 1) < 1e-3
    print(f"normal force {answer.forces[0, 2]:.6f} N, closed form W / (3 mu) = {expected:.6f} N")


if __name__ == "__main__":
    main()
