"""Planning as a pair of topics: a request in, progress and the answer out.

    /pliant/plan_request   std_msgs/String                    {"id": "7", "task": "<task file's text>"} or {"id": .., "shipped": "ring"}
    /pliant/plan_status    std_msgs/String                    {"id": "7", "state": "planning" | "found" | "none" | "refused" | "busy", ...}
    /pliant/joint_trajectory  trajectory_msgs/JointTrajectory the best grasp's whole operation, latched

A request is answered by one "planning" and then by exactly one other state; a second request in the meantime by "busy".
"""  # noqa: E501

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from pliant.documents import parse_document, read_mapping
from pliant.errors import InputError
from pliant.files import TaskFile, shipped_task, task_from_fields
from pliant.planner import Plan, PlannedGrasp, Task
from pliant.ros.link import RosLink
from pliant.ros.messages import Duration, JointTrajectory, JointTrajectoryPoint, String

REQUEST, STATUS, TRAJECTORY = "/pliant/plan_request", "/pliant/plan_status", "/pliant/joint_trajectory"
LONGEST_REQUEST = 1_000_000


class Job(NamedTuple):
    """A request that is being planned: its id, its result to come, when it began [s]."""

    request: str
    result: Future[Plan]
    began: float


class PlanningNode:
    """Answers planning requests, one at a time; a bad request is refused and never ends the node.

    Args:
        link: the network.
        search: from a task to a plan, such as ``pliant.planner.plan``.
        folder: mesh and robot files that a task names must lie in here; none may be named if left out.
        keep: called with the request's id and every plan that was made.
    """

    def __init__(
        self,
        link: RosLink,
        search: Callable[[Task], Plan],
        *,
        folder: Path | None = None,
        keep: Callable[[str, Plan], None] | None = None,
    ) -> None:
        self._link, self._search, self._folder, self._keep = link, search, folder, keep
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planning")
        self._job: Job | None = None
        link.advertise(STATUS, String)
        link.advertise(TRAJECTORY, JointTrajectory, latched=True)
        link.listen(REQUEST, String)

    def step(self) -> None:
        """Take new requests and answer a finished one; returns at once."""
        for message in self._link.take(REQUEST):
            self._request(message.data)
        if self._job is not None and self._job.result.done():
            job, self._job = self._job, None
            self._answer(job)

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""
        return self._job is not None

    def close(self) -> None:
        """Stop after the plan in hand. May be called twice."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _request(self, text: str) -> None:
        name = ""
        try:
            fields = _fields(text)
            name = str(fields["id"])[:100]
            if self._job is not None:
                self._report(name, "busy", planning=self._job.request)
                return
            task = self._task(fields)
        except InputError as bad:
            self._report(name, "refused", problems=[str(problem) for problem in bad.problems])
            return
        self._report(name, "planning", task=task.name, robot=task.assembly.name)
        self._job = Job(name, self._worker.submit(self._search, task), time.monotonic())

    def _task(self, fields: dict[str, Any]) -> Task:
        if "shipped" in fields:
            return shipped_task(str(fields["shipped"]))
        with tempfile.TemporaryDirectory(prefix="pliant-request-") as empty:
            # The same strict reader as for a file; not laid into the folder, which may be one that nobody may write to.
            file = Path(empty) / "request.yaml"
            # JSON can name halves of characters; the reader reports what is wrong with them.
            file.write_bytes(str(fields["task"]).encode("utf-8", "surrogatepass"))
            document = parse_document(read_mapping(file), TaskFile, source="request")
            file.unlink()
            return task_from_fields(document, (self._folder or Path(empty)) / "request.yaml")

    def _answer(self, job: Job) -> None:
        name, took = job.request, round(time.monotonic() - job.began, 3)
        error = job.result.exception()
        if error is not None:
            problems = [str(p) for p in error.problems] if isinstance(error, InputError) else [f"our fault: {error!r}"]
            self._report(name, "refused", problems=problems, wall_s=took)
            return
        plan = job.result.result()
        facts: dict[str, Any] = {"rejected": plan.counts, "wall_s": took}
        if self._keep is not None:
            try:
                self._keep(name, plan)
            except (InputError, OSError) as bad:  # a full disk costs the file, not the answer
                facts["not_kept"] = str(bad)
        if plan.best is None:
            self._report(name, "none", advice=plan.advice, **facts)
            return
        self._link.publish(TRAJECTORY, trajectory_message(plan, plan.best), latched=True)
        self._report(
            name,
            "found",
            max_force_n=plan.best.largest_force,
            duration_s=plan.best.trajectory.duration,
            fingers=list(plan.best.hypothesis.fingers),
            contacts=[{"link": c.link, "force_n": c.normal_force} for c in plan.best.grasp.contacts],
            **facts,
        )

    def _report(self, name: str, state: str, **facts: Any) -> None:
        self._link.publish(STATUS, String(json.dumps({"id": name, "state": state, **facts})))


def trajectory_message(plan: Plan, grasp: PlannedGrasp) -> JointTrajectory:
    """The whole operation's commands as trajectory_msgs/JointTrajectory, starting when it is received (stamp 0)."""
    path = grasp.trajectory
    return JointTrajectory(
        joint_names=list(plan.task.assembly.robot.joint_names),
        points=[
            JointTrajectoryPoint(positions=q, time_from_start=Duration.of(t))
            for t, q in zip(path.times.tolist(), path.commands.tolist(), strict=True)
        ],
    )


def _fields(text: str) -> dict[str, Any]:
    expected = 'expected {"id": ..., "task": "<text>"} or {"id": ..., "shipped": "<name>"}'
    if len(text) > LONGEST_REQUEST:
        raise InputError("request", f"has {len(text)} characters; at most {LONGEST_REQUEST}")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("request", f"is not JSON; {expected}") from None
    if not isinstance(fields, dict) or "id" not in fields or ("task" in fields) == ("shipped" in fields):
        raise InputError("request", f"does not name what to plan; {expected}")
    return fields
