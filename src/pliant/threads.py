"""Linear algebra on one thread, where the matrices are small.

BLAS starts a thread per core for products of a few hundred rows, and they spend their time waiting for each other: a
grasp step takes ten times as long. With one thread the order of summation is fixed too, so that answers do not depend
on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401 (SciPy brings a BLAS of its own; only loaded ones are found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread(work: Callable[P, T]) -> Callable[P, T]:
    """Run ``work`` with BLAS on one thread, then give the threads back; costs some ten microseconds."""

    @wraps(work)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with _controller().limit(limits=1, user_api="blas"):
            return work(*args, **kwargs)

    return limited
