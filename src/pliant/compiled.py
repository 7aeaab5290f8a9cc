"""How inner loops are compiled, all in one way: one more option, and everything is compiled once more."""

from __future__ import annotations

from typing import Any

from numba import njit

kernel: Any = njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)
"""A loop that Python calls."""

inner: Any = njit(cache=True, error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=True)
"""What only other loops call: nothing is made that Python could call, which takes as long as the loop itself."""
