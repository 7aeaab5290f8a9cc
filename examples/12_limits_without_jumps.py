"""A joint sent against its stop: coordinate exclusion stops it dead, qp brakes in time; and back in from outside."""

import numpy as np

from pliant.motion import JointLimits, VelocityProblem, make_solver

dt, a = 0.002, 5.0
limits = JointLimits(np.array([-1.0]), np.array([1.0]), np.array([1.0]), np.array([a]))


def largest_jump(solver_name: str, start: float) -> tuple[float, float]:
    """Largest change of speed in one step, and where the joint ends."""
    solver = make_solver(solver_name)
    q, qdot, jump = np.array([start]), np.zeros(1), 0.0
    for i in range(2000):
        problem = VelocityProblem.of(np.eye(1), np.array([1.0]), limits, q, dt=dt, qdot=qdot)
        new = solver.solve(problem).qdot.copy()
        jump = max(jump, abs(new[0] - qdot[0])) if i > 0 else jump
        q, qdot = q + new * dt, new
    return jump, float(q[0])


dead, _ = largest_jump("exclusion", 0.0)
smooth, end = largest_jump("qp", 0.0)
back, inside = largest_jump("qp", 1.3)
print(f"exclusion: speed jumps by {dead:.3f} rad/s in one step")
print(f"qp:        speed changes by at most {smooth:.3f} rad/s a step (a dt = {a * dt:.3f}) and ends at {end:.6f}")
print(f"qp from 1.3, outside the limits: at most {back:.3f} rad/s a step, ends at {inside:.6f}")
assert dead > 0.9
assert max(smooth, back) <= a * dt * (1 + 1e-9)
assert abs(end - 1.0) < 1e-9
assert inside <= 1.0 + 1e-12
