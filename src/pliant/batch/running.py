"""Running a batch: hand out items, commit what is finished, try again what failed, stop when asked.   (theory 11.5)"""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from pliant.batch.engines import Engine, LocalEngine
from pliant.batch.items import Item
from pliant.batch.store import Store
from pliant.batch.summary import summarise
from pliant.batch.supervised_worker import Attempt, Limits
from pliant.batch.work import find_work
from pliant.errors import OptionError, Problem, repeated

ATTEMPTS = 2


@dataclass(frozen=True)
class Progress:
    """How far a batch is.

    Args:
        done: items finished by this run.
        failed: items that failed for good.
        skipped: items that were finished before.
        running: items being worked on.
        total: all items.
        left_s: estimated time left [s]; None before the first item is finished.
        stopping: no more items are handed out.
    """

    done: int
    failed: int
    skipped: int
    running: int
    total: int
    left_s: float | None
    stopping: bool = False


@dataclass(frozen=True)
class BatchResult:
    """What a batch came to; the results are in ``out``.

    Args:
        done: items finished by this run.
        failed: items that failed in both attempts.
        skipped: items that an earlier run had finished.
        left: items not done because the run was interrupted.
        out: the folder.
    """

    done: int
    failed: int
    skipped: int
    left: int
    out: Path


def run_batch(
    items: Sequence[Item],
    work: str,
    out: str | Path,
    *,
    engine: Engine | None = None,
    limits: Limits | None = None,
    resume: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> BatchResult:
    """Do all items, each once, and gather the results.

    Finished items of an earlier run are not done again; failed ones are. Ctrl-C (SIGINT) once: running items are
    finished, no more begun. Twice, or SIGTERM: everything stops at once; items that were running are begun afresh by
    the next run. Either way what is finished is kept, gathered and summarised.

    Args:
        items: in the order in which the results will be.
        work: name of the work; see `find_work`.
        out: folder for everything; see `pliant.batch.store`.
        engine: where they run; local processes by default.
        limits: of every attempt.
        resume: False: finished items of an earlier run are done again.
        progress: called whenever something changed, in this thread.
    """
    names = [item.name for item in items]
    for twice in repeated(names):
        raise OptionError("batch", Problem("items", f"'{twice}' is there twice", "every item needs its own name"))
    columns = find_work(work).columns
    with Store(out) as store:
        finished = store.finished(names) if resume else set()
        run = _Run(store, [item for item in items if item.name not in finished], len(finished), progress)
        if run.waiting:
            engine = engine if engine is not None else LocalEngine()
            try:
                engine.open(work, store.scratch, limits or Limits())
                with _interrupts(run):  # after open: Ray sets a handler of its own
                    run.all(engine)
            finally:
                engine.close()
        result = BatchResult(run.done, run.failed, len(finished), run.unfinished, store.folder)
        store.gather(names, columns)
        summarise(store, items, find_work(work), result)
        return result


class _Run:
    """The state of a run. Handing out, committing and counting happen in one thread."""

    def __init__(
        self, store: Store, todo: Sequence[Item], skipped: int, report: Callable[[Progress], None] | None
    ) -> None:
        self.store, self.report = store, report
        self.waiting = deque(todo)
        self.skipped, self.total = skipped, skipped + len(todo)
        self.done = self.failed = 0
        self.reasons: dict[str, list[dict[str, Any]]] = {}
        self.stop_asked = 0
        self.running: dict[Any, Item] = {}
        self.began = time.monotonic()

    @property
    def unfinished(self) -> int:
        return self.total - self.skipped - self.done - self.failed

    def all(self, engine: Engine) -> None:
        changed = True
        while self.running or (self.waiting and not self.stop_asked):
            while self.waiting and not self.stop_asked and len(self.running) < engine.capacity():
                item = self.waiting.popleft()
                self.running[engine.submit(item)] = item
                changed = True
            if changed:
                self._report_progress()
            changed = False
            # A handler of signals only counts; it is noticed here, at the latest after this time.
            for ticket, outcome in engine.finished(list(self.running), 0.2):
                self._take(self.running.pop(ticket), outcome)
                changed = True
            if self.stop_asked >= 2:
                return
        self._report_progress()

    def _take(self, item: Item, outcome: Attempt) -> None:
        attempt = len(self.reasons.get(item.name, ())) + 1
        failure = outcome.failure
        facts = {"item": item.name, "attempt": attempt, "ok": failure is None, "finished_at": time.time()}
        if failure is None:
            assert outcome.made is not None
            self.store.commit(item.name, outcome.made)
            self.reasons.pop(item.name, None)
            self.done += 1
            self.store.log(**facts, **outcome.facts)
            return
        self.store.log(**facts, kind=failure.kind, reason=failure.reason, **outcome.facts)
        if outcome.made is not None:
            shutil.rmtree(outcome.made, ignore_errors=True)
        reasons = self.reasons.setdefault(item.name, [])
        reasons.append(asdict(failure))
        if len(reasons) < ATTEMPTS:
            self.waiting.append(item)
        else:
            self.store.fail(item.name, self.reasons.pop(item.name))
            self.failed += 1

    def _report_progress(self) -> None:
        if self.report is None:
            return
        settled = self.done + self.failed
        passed = time.monotonic() - self.began
        left = None if settled == 0 else passed / settled * self.unfinished
        self.report(
            Progress(self.done, self.failed, self.skipped, len(self.running), self.total, left, bool(self.stop_asked))
        )


@contextmanager
def _interrupts(run: _Run) -> Iterator[None]:
    """SIGINT counts up, SIGTERM asks to stop at once; only the main thread of a program may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def count(signum: int, frame: FrameType | None) -> None:
        run.stop_asked += 2 if signum == signal.SIGTERM else 1

    before = {which: signal.signal(which, count) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
