"""Small linear algebra runs on one thread, whatever the environment says."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from pliant.threads import one_thread


def blas_threads() -> list[int]:
    import scipy.linalg  # noqa: F401 (its BLAS is to be seen too)

    return [int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas"]


def test_work_has_one_blas_thread_and_the_caller_gets_his_back() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        assert before and set(one_thread(blas_threads)()) == {1}
        assert blas_threads() == before

        @one_thread
        def failing() -> None:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            failing()
        assert blas_threads() == before
