"""Items on a Ray cluster: the same supervised workers, on whichever node has a processor free.

A Ray task keeps a `SupervisedWorker` for as long as Ray keeps its process, so limits and the death of a worker are
handled on the node as they are here; what is made comes back through Ray and is committed by one
writer. A node that dies costs the items it was at, and each of them is tried again elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pliant.batch.items import Item
from pliant.batch.node_folder import node_folder, remove_abandoned
from pliant.batch.supervised_worker import Attempt, AttemptFailure, Limits, SupervisedWorker
from pliant.errors import OptionError, Problem
from pliant.parts import need

ASK_EVERY = 2.0
"""How often the cluster is asked how large it is [s]."""


class RayEngine:
    """A Ray cluster.

    Args:
        address: of an existing cluster (``host:port``, ``auto``, ``ray://...``); RAY_ADDRESS by default, and where
            that is not set either, a cluster on this machine is started for the batch and ended with it.
        jobs: most items at once; as many as the cluster has processors by default.
    """

    def __init__(self, address: str | None = None, jobs: int | None = None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or None
        self.jobs = jobs
        self._asked = -ASK_EVERY
        self._size = 1
        self._started = False
        self._running: set[Any] = set()
        self._count = 0

    def open(self, work: str, folder: Path, limits: Limits) -> None:
        ray = _ray()
        if not ray.is_initialized():
            options: dict[str, Any] = {"configure_logging": False, "log_to_driver": False}
            if self.address is None:
                options |= {"num_cpus": self.jobs, "include_dashboard": False}
            try:
                _knock(self.address)
                ray.init(address=self.address, **options)
            except (ConnectionError, OSError, RuntimeError, ValueError) as bad:
                allowed = "start one with 'ray start --head', or leave the address out"
                what = Problem(f"address {self.address}", f"no Ray cluster answers: {_line(bad)}", allowed)
                raise OptionError("ray", what) from None
            except Exception as bad:  # Ray has no kind of its own for "my processes were too slow to start"
                allowed = "try again when the machine is less busy, or use --engine local"
                raise OptionError("ray", Problem("", f"Ray did not start here: {_line(bad)}", allowed)) from None
            self._started = True
        self._ray, self._folder = ray, folder
        self._task = ray.remote(num_cpus=1, max_retries=0)(run_on_node)
        self._common = (work, limits, [path for path in sys.path if path])

    def capacity(self) -> int:
        # Nodes come and go. No more tasks than processors, so that none waits in a queue when a batch is stopped.
        if time.monotonic() - self._asked >= ASK_EVERY:
            self._size = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._asked = time.monotonic()
        return self._size if self.jobs is None else min(self._size, self.jobs)

    def submit(self, item: Item) -> Any:
        ticket = self._task.remote(item.name, dict(item.arguments), *self._common)
        self._running.add(ticket)
        return ticket

    def finished(self, tickets: Sequence[Any], timeout: float) -> Iterator[tuple[Any, Attempt]]:
        if not tickets:
            return
        # Not fetched here: a result on a node that has just died must fail below, where it costs one item.
        ready, _ = self._ray.wait(list(tickets), num_returns=1, timeout=timeout, fetch_local=False)
        if ready:
            ready, _ = self._ray.wait(list(tickets), num_returns=len(tickets), timeout=0, fetch_local=False)
        for ticket in ready:
            self._running.discard(ticket)
            yield ticket, self._outcome(ticket)

    def _outcome(self, ticket: Any) -> Attempt:
        attempt: Attempt
        try:
            attempt, files = self._ray.get(ticket)
        except self._ray.exceptions.RayTaskError as bad:
            if isinstance(cause := bad.as_instanceof_cause(), OptionError) or "WorkerError" in type(cause).__name__:
                raise cause from None
            return Attempt(None, AttemptFailure("node", f"the task failed: {_line(cause)}", str(bad)[-4000:]))
        except self._ray.exceptions.RayError as bad:
            reason = f"the node or its worker was lost: {type(bad).__name__}"
            return Attempt(None, AttemptFailure("node", reason, _line(bad)))
        if attempt.failure is not None:
            return attempt
        self._count += 1
        made = self._folder / f"ray.{self._count}"
        (made / "files").mkdir(parents=True)
        for path, content in files.items():
            target = made / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return replace(attempt, made=made)

    def close(self) -> None:
        for ticket in self._running:
            with contextlib.suppress(Exception):  # the cluster may be gone; there is nothing left to do about it
                self._ray.cancel(ticket, force=True)
        self._running.clear()
        if self._started:
            self._ray.shutdown()
            self._started = False
            remove_abandoned()  # of this machine; on the nodes of another cluster the next batch does it


_WORKERS: dict[tuple[Any, ...], SupervisedWorker] = {}
"""Of this process of Ray: it is used for one task after the other."""


def run_on_node(
    name: str, arguments: dict[str, Any], work: str, limits: Limits, paths: list[str]
) -> tuple[Attempt, dict[str, bytes]]:
    """One attempt at an item, in a process of Ray, and the files that it made."""
    key = (work, limits, tuple(paths))
    if key not in _WORKERS:
        _WORKERS[key] = SupervisedWorker(work, limits, paths)
    files: dict[str, bytes] = {}
    with node_folder() as folder:
        attempt = _WORKERS[key].run(Item(name, arguments), folder / "made")
        if attempt.failure is None and attempt.made is not None:
            found = [path for path in attempt.made.rglob("*") if path.is_file()]
            files = {str(path.relative_to(attempt.made)): path.read_bytes() for path in found}
    facts = attempt.facts | {"host": os.uname().nodename, "node": _ray().get_runtime_context().get_node_id()}
    return replace(attempt, made=None, facts=facts), files


def _knock(address: str | None) -> None:
    """Whether anybody listens at ``host:port``; Ray itself would wait for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if colon and "://" not in str(address) and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()


def _ray() -> Any:
    need("ray")
    import ray

    return ray


def _line(bad: BaseException) -> str:
    return " ".join(str(bad).split())[:300]
