"""The compiled loop of coordinate descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from pliant.arrays import Floats

jit: Any = njit(cache=True, error_model="numpy", nogil=True)


@jit
def descend(
    J: Floats,
    row_weights: Floats,
    multipliers: Floats,
    q: Floats,
    limits: Floats,
    dt: float,
    sweeps: int,
    tolerance: float,
    qdot: Floats,
    residual: Floats,
    limited: Any,
) -> int:
    """Reduce ``residual`` = V - J qdot in place; returns the number of rounds."""
    m, n = J.shape
    lo, hi, norms = np.empty(n), np.empty(n), np.zeros(n)
    for i in range(n):
        # A stop that was overrun only forbids going further out; the way back stays open.
        hi[i] = min(limits[2, i], max(0.0, (limits[1, i] - q[i]) / dt))
        lo[i] = max(-limits[2, i], min(0.0, (limits[0, i] - q[i]) / dt))
        for r in range(m):
            if row_weights[r] != 0.0:
                norms[i] += (row_weights[r] * J[r, i]) ** 2
    for sweep in range(sweeps):
        largest = 0.0
        for i in range(n):
            if norms[i] < 1e-18 or multipliers[i] == 0.0:
                continue
            projection = 0.0
            for r in range(m):
                projection += row_weights[r] * row_weights[r] * J[r, i] * residual[r]
            wanted = qdot[i] + multipliers[i] * projection / norms[i]
            allowed = min(max(wanted, lo[i]), hi[i])
            limited[i] = allowed != wanted
            step = allowed - qdot[i]
            qdot[i] = allowed
            for r in range(m):
                if row_weights[r] != 0.0:
                    residual[r] -= J[r, i] * step
            largest = max(largest, abs(step))
        if largest < tolerance:
            return sweep + 1
    return sweeps
