"""Quick works for the tests of the batch engine; worker processes find them by ``batch_works:NAME``."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pliant.batch import Column, LocalEngine, Work

COLUMNS = (Column("k", "int", "which row"), Column("value", "float", "a number that depends on every bit before it"))


def pids(engine: LocalEngine) -> list[int]:
    """Of the workers that are alive now."""
    return [worker.pid for worker in engine.workers if worker.pid is not None]


def _chaos(arguments: Mapping[str, Any], files: Path) -> Iterator[dict[str, Any]]:
    """Iterates a chaotic map with linear algebra, so that any difference in arithmetic shows in the last digits."""
    rng = np.random.default_rng(arguments["seed"])
    A = rng.normal(size=(24, 24)) / 5
    x = rng.normal(size=24)
    if "ledger" in arguments:
        _note(arguments, "begun")
    for k in range(arguments.get("rows", 3)):
        for _ in range(arguments.get("steps", 200)):
            x = np.tanh(A @ x + 1e-3)
        yield {"k": k, "value": float(x.sum())}
        if "doomed_node" in arguments and k == 1:
            (files / "answer.txt").write_text("[0.1, 0.")  # it dies while it writes
            _pull_the_plug(arguments["doomed_node"], Path(arguments["once"]))
    (files / "answer.txt").write_text(repr(x.tolist()))
    if "ledger" in arguments:
        _note(arguments, "ended")


def _pull_the_plug(raylet: int, once: Path) -> None:
    """On that node, at its second item: kill all its processes, as when a machine goes dark.

    On the other nodes: wait until that has happened, however long the doomed node takes to start its workers.
    """

    def parent(pid: int) -> int:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    if parent(os.getppid()) != raylet:
        end = time.monotonic() + 120.0
        while not once.exists() and time.monotonic() < end:
            time.sleep(0.05)
        return
    visited = once.with_name("visited")
    if not visited.exists():
        visited.touch()
        return
    if once.exists():
        return
    once.touch()
    children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
    for pid in [raylet, *map(int, children)]:
        os.kill(pid, signal.SIGKILL)
    signal.pause()


def _note(arguments: Mapping[str, Any], what: str) -> None:
    with Path(arguments["ledger"]).open("a") as file:
        file.write(f"{what} {arguments['seed']}\n")


def _trivial(arguments: Mapping[str, Any], files: Path) -> list[dict[str, Any]]:
    return [{"k": arguments["k"], "value": arguments["k"] * 0.5}]


def _moody(arguments: Mapping[str, Any], files: Path) -> list[dict[str, Any]]:
    """Does what its mood says; with ``once`` only the first time."""
    mood, once = arguments["mood"], arguments.get("once")
    if once is not None:
        if Path(once).exists():
            mood = "well"
        Path(once).touch()
    if mood == "raise":
        raise ValueError("a number is | wrong\nin line 2")
    if mood == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if mood == "exit":
        os._exit(7)
    if mood == "hang":
        signal.pause()
    if mood == "allocate":
        np.ones(int(20e9 / 8))
    if mood == "grow":
        kept = []
        while True:
            kept.append(np.ones(int(10e6 / 8)))
    if mood == "chatter":
        os.write(1, b"a library prints here\n" * 1000)
        print("and Python too")
    if mood == "undeclared":
        return [{"k": 1, "surprise": 2}]
    return [{"k": 0, "value": None}]


CHAOS = Work(_chaos, COLUMNS)
TRIVIAL = Work(_trivial, COLUMNS)
MOODY = Work(_moody, COLUMNS)
NOT_A_WORK = 3
