"""Planning as ROS topics: a request in, progress and the answer out, and a word that ends it.

    /pliant/plan_request   std_msgs/String                    {"id": "7", "task": "<task file's text>"} or {"id": .., "shipped": "ring"}
    /pliant/plan_cancel    std_msgs/String                    {"id": "7"}, or {"id": "7", "keep": true} for the best grasp so far
    /pliant/plan_status    std_msgs/String                    {"id": "7", "state": "planning" | "found" | "none" | "refused" | "cancelled" | "busy" | "idle", ...}
    /pliant/plan_feedback  std_msgs/String                    {"id": "7", "stage": .., "done": .., "total": .., "rejected": {..}, "forces_n": [..]}
    /pliant/joint_trajectory  trajectory_msgs/JointTrajectory the best grasp's whole operation, latched

A request is answered by one "planning", feedback twice a second, and then exactly one of "found", "none", "refused" and
"cancelled"; a second request in the meantime by "busy", the cancelling of a request that is not being planned by "idle".
So it has the parts of an action: goal, feedback, cancel, result. It is none of ROS 2's own, because those travel as
services, whose headers differ from one DDS implementation to the next, and need a message package built on both sides.
"""  # noqa: E501

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from pliant.documents import parse_document, read_mapping
from pliant.errors import InputError
from pliant.files import TaskFile, shipped_task, task_from_fields
from pliant.json_text import read_json
from pliant.planner import Plan, PlannedGrasp, Progress, Task
from pliant.ros.link import RosLink
from pliant.ros.messages import Duration, JointTrajectory, JointTrajectoryPoint, String

REQUEST, CANCEL = "/pliant/plan_request", "/pliant/plan_cancel"
STATUS, FEEDBACK, TRAJECTORY = "/pliant/plan_status", "/pliant/plan_feedback", "/pliant/joint_trajectory"
LONGEST_REQUEST = 1_000_000
FEEDBACK_INTERVAL = 0.5
"""Between two messages of feedback [s]."""


class TaskSearch(Protocol):
    """From a task to a plan, such as `pliant.planner.plan`."""

    def __call__(
        self,
        task: Task,
        *,
        progress: Progress,
        improved: Callable[[PlannedGrasp], None],
        stop: Callable[[], bool],
    ) -> Plan:
        """Search; tell of progress and better grasps, and end early, with the best so far, when ``stop`` says so."""


@dataclass
class PlanningJob:
    """A request that is being planned; the search writes from a thread of its own, the node reads.

    Attributes:
        request: its id.
        began: when [s].
        cancelled: set to end the search.
        keep: whether the best grasp so far is wanted then.
        forces: largest forces of the grasps so far, each less than those before [N].
        feedback: what the search has told last, until it is sent.
    """

    request: str
    began: float
    cancelled: Event = field(default_factory=Event)
    keep: bool = False
    forces: list[float] = field(default_factory=list)
    feedback: dict[str, Any] | None = None
    result: Future[Plan] = field(default_factory=Future)

    def progress(self, stage: str, done: int, total: int, rejected: dict[str, int]) -> None:
        """Called by the search.

        Raises:
            CancelledError: the request has been cancelled, and no grasp of it is wanted or known.
        """
        if self.cancelled.is_set() and not (self.keep and self.forces):
            raise CancelledError
        self.feedback = {"stage": stage, "done": done, "total": total, "rejected": dict(rejected)}

    def improved(self, grasp: PlannedGrasp) -> None:
        """Called by the search."""
        self.forces.append(grasp.largest_force)


class PlanningNode:
    """Answers planning requests, one at a time; a bad request is refused and never ends the node.

    Args:
        link: the network.
        search: from a task to a plan.
        folder: mesh and robot files that a task names must lie in here; none may be named if left out.
        keep: called with the request's id and every plan that was made.
    """

    def __init__(
        self,
        link: RosLink,
        search: TaskSearch,
        *,
        folder: Path | None = None,
        keep: Callable[[str, Plan], None] | None = None,
    ) -> None:
        self._link, self._search, self._folder, self._keep = link, search, folder, keep
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planning")
        self._job: PlanningJob | None = None
        self._told = 0.0
        link.advertise(STATUS, String)
        link.advertise(FEEDBACK, String)
        link.advertise(TRAJECTORY, JointTrajectory, latched=True)
        link.listen(REQUEST, String)
        link.listen(CANCEL, String)

    def step(self) -> None:
        """Take new requests and cancellations, tell how far it is, answer a finished one; returns at once."""
        for message in self._link.take(REQUEST):
            self._request(message.data)
        for message in self._link.take(CANCEL):
            self._cancel(message.data)
        if self._job is not None and self._job.feedback and time.monotonic() - self._told >= FEEDBACK_INTERVAL:
            self._told = time.monotonic()
            feedback, self._job.feedback = self._job.feedback, None
            fields = {"id": self._job.request, **feedback, "forces_n": self._job.forces[-10:]}
            self._link.publish(FEEDBACK, String(json.dumps(fields)))
        if self._job is not None and self._job.result.done():
            job, self._job = self._job, None
            self._answer(job)

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""
        return self._job is not None

    def close(self) -> None:
        """Cancel the plan in hand and stop. May be called twice."""
        if self._job is not None:
            self._job.cancelled.set()
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _request(self, text: str) -> None:
        name = ""
        try:
            fields = _request_fields(text)
            name = str(fields["id"])[:100]
            if self._job is not None:
                self._report(name, "busy", planning=self._job.request)
                return
            task = self._task(fields)
        except InputError as bad:
            self._report(name, "refused", problems=[str(problem) for problem in bad.problems])
            return
        except OSError as bad:  # a full disk costs the request, not the node
            self._report(name, "refused", problems=[f"cannot be read here: {bad.strerror or bad}"])
            return
        self._report(name, "planning", task=task.name, robot=task.assembly.name)
        self._job = job = PlanningJob(name, time.monotonic())
        job.result = self._worker.submit(
            self._search, task, progress=job.progress, improved=job.improved, stop=job.cancelled.is_set
        )

    def _cancel(self, text: str) -> None:
        """The search ends at its next step; the answer comes when it has ended."""
        try:
            fields = _fields(text, 'expected {"id": ...} or {"id": ..., "keep": true}')
        except InputError as bad:
            self._report("", "refused", problems=[str(problem) for problem in bad.problems])
            return
        name = str(fields["id"])[:100]
        if self._job is None or self._job.request != name:
            self._report(name, "idle")
            return
        self._job.keep = fields.get("keep") is True
        self._job.cancelled.set()

    def _task(self, fields: dict[str, Any]) -> Task:
        if "shipped" in fields:
            return shipped_task(str(fields["shipped"]))
        with tempfile.TemporaryDirectory(prefix="pliant-request-") as empty:
            # The same strict reader as for a file; not laid into the folder, which may be one that nobody may write to.
            file = Path(empty) / "request.yaml"
            file.write_bytes(str(fields["task"]).encode())
            document = parse_document(read_mapping(file), TaskFile, source="request")
            file.unlink()
            return task_from_fields(document, (self._folder or Path(empty)) / "request.yaml")

    def _answer(self, job: PlanningJob) -> None:
        name, took = job.request, round(time.monotonic() - job.began, 3)
        error = job.result.exception()
        if isinstance(error, CancelledError) or (error is None and job.cancelled.is_set() and not job.keep):
            self._report(name, "cancelled", wall_s=took)
            return
        if error is not None:
            problems = [str(p) for p in error.problems] if isinstance(error, InputError) else [f"our fault: {error!r}"]
            self._report(name, "refused", problems=problems, wall_s=took)
            return
        plan = job.result.result()
        facts: dict[str, Any] = {"rejected": plan.counts, "stopped": plan.stopped, "wall_s": took}
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


def _request_fields(text: str) -> dict[str, Any]:
    expected = 'expected {"id": ..., "task": "<text>"} or {"id": ..., "shipped": "<name>"}'
    fields = _fields(text, expected)
    if ("task" in fields) == ("shipped" in fields):
        raise InputError("request", f"does not name what to plan; {expected}")
    return fields


def _fields(text: str, expected: str) -> dict[str, Any]:
    """A JSON object with an id."""
    if len(text) > LONGEST_REQUEST:
        raise InputError("request", f"has {len(text)} characters; at most {LONGEST_REQUEST}")
    try:
        fields = read_json(text)
    except json.JSONDecodeError:
        raise InputError("request", f"is not JSON; {expected}") from None
    except ValueError as bad:
        raise InputError("request", f"cannot be read: {bad}; {expected}") from None
    if not isinstance(fields, dict) or "id" not in fields:
        raise InputError("request", f"does not name what to plan; {expected}")
    return fields
