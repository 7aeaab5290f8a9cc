"""Names of the array types that every package uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Records = NDArray[np.void]
"""Rows with named fields (a structured array)."""
