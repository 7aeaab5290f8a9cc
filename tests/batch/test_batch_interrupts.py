"""Ctrl-C once finishes what runs, twice stops at once; a killed batch leaves no worker behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pliant.batch import Item, LocalEngine, run_batch

HERE = Path(__file__).parent
PROGRAM = """
import sys
from batch_works import pids
from pliant.batch import Item, LocalEngine, run_batch

out, steps = sys.argv[1], int(sys.argv[2])
items = [Item(f"item_{k}", {"seed": k, "steps": steps if k >= 4 else 10}) for k in range(8)]
engine = LocalEngine(1)

def tell(now):
    print("progress", now.done, int(now.stopping), *pids(engine), flush=True)

result = run_batch(items, "batch_works:CHAOS", out, engine=engine, progress=tell)
print("result", result.done, result.failed, result.left, flush=True)
"""
QUICK = [Item(f"item_{k}", {"seed": k, "steps": 10}) for k in range(8)]


@contextlib.contextmanager
def started(out: Path, steps: int):
    """The program above, in a session of its own, at the moment its fifth item begins."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    command = [sys.executable, "-c", PROGRAM, str(out), str(steps)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    try:
        for line in process.stdout:
            if line.startswith("progress 4"):
                yield process, int(line.split()[3])
                break
        else:
            pytest.fail("the program ended too early")
    finally:
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.wait()


def result_of(process) -> list[int]:
    (line,) = [line for line in process.stdout if line.startswith("result")]
    return [int(number) for number in line.split()[1:]]


def test_one_interrupt_finishes_the_running_item_and_stops(tmp_path):
    with started(tmp_path / "out", 20_000) as (process, _):
        os.killpg(process.pid, signal.SIGINT)
        done, failed, left = result_of(process)
    assert (failed, done + left) == (0, 8)
    assert 5 <= done < 8
    assert len(list((tmp_path / "out" / "rows").iterdir())) == done
    assert (tmp_path / "out" / "results.parquet").is_file()


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)])
def test_two_interrupts_or_a_termination_stop_at_once_and_nothing_is_broken(tmp_path, signals):
    # The fifth item would take hours.
    with started(tmp_path / "out", 10**9) as (process, worker):
        os.killpg(process.pid, signals[0])
        for which in signals[1:]:
            # Two of a kind sent together may count as one: wait until the first has been counted.
            _next_signal(process, which)
        assert result_of(process) == [4, 0, 4]
        assert process.wait() == 0
    assert not Path(f"/proc/{worker}").exists()
    assert not (tmp_path / "out" / ".scratch").exists()
    again = run_batch(QUICK, "batch_works:CHAOS", tmp_path / "out", engine=LocalEngine(1))
    assert (again.done, again.skipped) == (4, 4)


def _next_signal(process, which) -> None:
    """Send a signal once no earlier one of its kind is pending."""
    status = Path(f"/proc/{process.pid}/status")

    def pending() -> bool:
        fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        return bool((int(fields["ShdPnd"], 16) | int(fields["SigPnd"], 16)) >> (which - 1) & 1)

    while pending():
        os.sched_yield()
    os.killpg(process.pid, which)


def test_a_batch_that_is_killed_takes_its_workers_along_and_is_resumed(tmp_path):
    with started(tmp_path / "out", 10**9) as (process, worker):
        # A child of the victim, not of this process: its end is seen through a handle, not by waiting.
        handle = os.pidfd_open(worker)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        import select

        poll = select.poll()
        poll.register(handle, select.POLLIN)
        assert poll.poll(20_000), "the worker outlives the batch that started it"
        os.close(handle)
    again = run_batch(QUICK, "batch_works:CHAOS", tmp_path / "out", engine=LocalEngine(1))
    assert (again.done, again.failed, again.skipped) == (4, 0, 4)
