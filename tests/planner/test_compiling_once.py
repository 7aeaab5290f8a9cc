"""Where the inner loops are not compiled yet: one process of the search compiles them, the others wait for that."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pliant.contact import compiled_here, deepest
from pliant.planner import worker_processes
from pliant.planner.worker_processes import Worker


class Compiler:
    """Stands for the compiler and its cache: who comes while nothing is compiled, compiles, and takes a while."""

    def __init__(self) -> None:
        self.done = False
        self.times = 0
        self.met = False
        self._meeting = threading.Barrier(2)
        self.together = threading.Barrier(2)

    def __call__(self, context: Any, item: str) -> str:
        if item == "rejected early":  # most hypotheses are rejected before they touch, and compile nothing
            return item
        if not self.done:
            self.times += 1
            try:
                self._meeting.wait(0.3)
                self.met = True
            except threading.BrokenBarrierError:
                pass  # nobody else came
            self.done = True
        elif item == "side by side":
            self.together.wait(20)
        return item


def test_two_workers_that_begin_at_once_compile_once_and_then_work_side_by_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiler = Compiler()
    monkeypatch.setattr(worker_processes, "compiled_here", lambda: compiler.done)
    lock = get_context("spawn").Lock()  # as the search gives it to its processes
    start = threading.Barrier(2)
    items = ["rejected early", "touches", "touches", "side by side"]

    def process(_: int) -> list[str]:
        worker = Worker(None, lock)  # type: ignore[arg-type]
        start.wait(20)
        return [answer for item in items for answer in worker.work(compiler, [item]).answers]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(process, range(2))) == [items, items]
    assert compiler.times == 1
    assert not compiler.met


def test_a_worker_that_raises_while_it_compiles_lets_the_others_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(context: Any, item: str) -> None:
        raise ZeroDivisionError(item)

    lock = get_context("spawn").Lock()
    monkeypatch.setattr(worker_processes, "compiled_here", lambda: False)
    with pytest.raises(ZeroDivisionError):
        Worker(None, lock).work(broken, ["first"])  # type: ignore[arg-type]
    assert lock.acquire(block=False)


def test_what_was_compiled_before_the_source_was_changed_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path / "cache")))
    monkeypatch.setattr(deepest, "search", kept)
    assert not compiled_here()  # no folder
    file = tmp_path / "cache" / "deepest.search-123.py311.nbi"
    file.parent.mkdir()
    file.touch()
    assert compiled_here()
    before = Path(deepest.__file__).stat().st_mtime - 1.0
    os.utime(file, (before, before))
    assert not compiled_here()
    file.rename(file.with_name("deepest.candidates-123.py311.nbi"))
    os.utime(file.with_name("deepest.candidates-123.py311.nbi"))
    assert not compiled_here()
