"""Work spread over processes: answers in order, errors, and an end at any time that leaves nothing behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pliant.planner.context import PlanningContext
from pliant.planner.worker_processes import worker_processes

NOBODY = PlanningContext.__new__(PlanningContext)
"""The jobs here need no task."""


def double(context: PlanningContext, item: int) -> int:
    return 2 * item


def large(context: PlanningContext, item: int) -> bytes:
    return bytes(30_000_000)


def fail(context: PlanningContext, item: int) -> None:
    raise ValueError(f"item {item}")


def die(context: PlanningContext, item: int) -> None:
    os._exit(1)


def never() -> bool:
    return False


def lists(count: int) -> Iterator[list[Any] | None]:
    return iter([[i] for i in range(count)])


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_answers_come_in_the_order_of_the_items(jobs: int) -> None:
    with worker_processes(NOBODY, jobs) as spread:
        assert [found.answers for found in spread(double, lists(20), 6, never)] == [[2 * i] for i in range(20)]


def test_a_search_that_ends_in_the_middle_of_an_answer_leaves_nothing_behind() -> None:
    """Large answers, so that ending a worker cuts one short."""
    before = set(threading.enumerate())
    for _ in range(5):
        with worker_processes(NOBODY, 2) as spread:
            answers = spread(large, lists(6), 6, never)
            next(answers)
    for thread in set(threading.enumerate()) - before:
        thread.join(20.0)
        assert not thread.is_alive()


def test_an_error_in_a_worker_is_raised_here_and_says_where_it_happened() -> None:
    with pytest.raises(ValueError, match="item 0") as caught, worker_processes(NOBODY, 2) as spread:
        list(spread(fail, lists(3), 6, never))
    assert "in fail" in caught.value.__notes__[0]


def test_a_worker_that_dies_ends_the_work_with_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended unexpectedly"), worker_processes(NOBODY, 2) as spread:
        list(spread(die, lists(3), 6, never))
