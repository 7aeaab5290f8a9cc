"""The worker process: reads questions from its standard input, one JSON line each, and answers on its output.

    python -m pliant.batch.worker WORK

It lives as long as its input is open: when whoever started it is gone, however that happened, it ends at once. What
libraries print goes to the standard error, a log file.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import queue
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pliant.batch.store import write_rows
from pliant.batch.work import Work, find_work

RESERVE = 1 << 30
"""Address space on top of the memory limit [bytes]: libraries reserve more than they use."""


def main(arguments: list[str]) -> None:
    """Answer questions until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this process decides about interrupts
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    questions = os.fdopen(os.dup(0), "r", encoding="utf-8")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(questions, waiting), daemon=True).start()
    try:
        work = find_work(arguments[0])
        import pyarrow.parquet  # noqa: F401 - before the clock of the first item runs
    except Exception as bad:
        _send(answers, {"ready": False, "reason": _reason(bad)})
        return
    _send(answers, {"ready": True})
    while True:
        _send(answers, _answer(work, waiting.get()))


def _listen(questions: IO[str], waiting: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in questions:
        waiting.put(json.loads(line))
    os._exit(0)


def _send(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _answer(work: Work, question: dict[str, Any]) -> dict[str, Any]:
    began, used = time.perf_counter(), time.process_time()
    scratch = Path(question["scratch"])
    try:
        (scratch / "files").mkdir(parents=True)
        with _address_space(question["memory_limit"]):
            rows = work.run(question["arguments"], scratch / "files")
            count = write_rows(scratch / "rows.parquet", question["item"], work.columns, rows)
        answer: dict[str, Any] = {"failure": None, "rows": count}
    except MemoryError as bad:
        limit = question["memory_limit"]
        reason = f"out of memory: the limit is {limit / 1e6:.0f} MB" if limit else "out of memory"
        answer = {"failure": {"kind": "memory", "reason": reason, "detail": _detail(bad)}}
    except Exception as bad:
        answer = {"failure": {"kind": "error", "reason": _reason(bad), "detail": _detail(bad)}}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return answer | {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - used, "peak_bytes": peak}


@contextlib.contextmanager
def _address_space(limit: float | None) -> Iterator[None]:
    """Refuses a sudden huge allocation at once; slow growth is seen from outside (`pliant.batch.supervised_worker`)."""
    before, statm = resource.getrlimit(resource.RLIMIT_AS), Path("/proc/self/statm")
    if limit is not None and statm.exists():
        now = int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        most = now + int(limit) + RESERVE
        if before[1] != resource.RLIM_INFINITY:
            most = min(most, before[1])
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _reason(bad: BaseException) -> str:
    text = " ".join(str(bad).split())
    return f"{type(bad).__name__}: {text}"[:500] if text else type(bad).__name__


def _detail(bad: BaseException) -> str:
    return "".join(traceback.format_exception(bad))[-4000:]


if __name__ == "__main__":
    main(sys.argv[1:])
