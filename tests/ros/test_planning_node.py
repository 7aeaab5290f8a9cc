"""Planning over ROS 2 topics, from another process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_plans import ball_plan
from pliant.cli import run_command
from pliant.errors import OptionError
from pliant.files import load_plan
from pliant.objects import make_shape, write_mesh
from pliant.planner import Plan, PlanStatus, Task
from pliant.ros import PlanningNode, Ros2Link, messages
from pliant.ros.planning_node import REQUEST, STATUS, TRAJECTORY

TASK = """
robot: {hand: parallel_gripper, base: {position: [0, 0, 0.5]}}
object:
  shape: {sphere: {radius: 0.025}}
  pose: {position: [0, 0, 0.026]}
  material: {young: 2.0e+5, poisson: 0.45, density: 1100, friction: 0.6}
scene: [{box: {size: [0.6, 0.6, 0.1], position: [0, 0, -0.05]}}]
task: {lift: 0.03}
planner: {effort: quick, faces: 12, rolls: 4, hypotheses: 240, keep: 2}
"""


class Client:
    """A ROS node that asks."""

    def __init__(self, link: Ros2Link, node: PlanningNode | None = None) -> None:
        self.link, self.node = link, node
        link.listen(STATUS, messages.String)
        link.listen(TRAJECTORY, messages.JointTrajectory, latched=True)

    def ask(self, text: str, *, wait_for: set[str], seconds: float = 20.0) -> list[dict[str, Any]]:
        """Answers up to the first that is in one of the wanted states; asks again until the node has been found."""
        answers: list[dict[str, Any]] = []
        end, again = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            if not answers and time.monotonic() > again:
                self.link.publish(REQUEST, messages.String(text))
                again = time.monotonic() + 0.5
            if self.node is not None:
                self.node.step()
            answers += [json.loads(message.data) for message in self.link.take(STATUS)]
            if any(answer["state"] in wait_for for answer in answers):
                return answers
            time.sleep(0.01)
        raise AssertionError(f"no answer in {wait_for}: {answers}")


def search(task: Task, **told: Any) -> Plan:
    """The planner's place is taken by a plan that is known."""
    if task.goal.lift > 0.5:
        raise OptionError("task", "cannot lift so far")
    if task.goal.lift > 0.2:
        return replace(ball_plan(), status=PlanStatus.NONE, grasps=(), advice="lift less")
    return ball_plan()


@pytest.fixture
def client(links: tuple[Ros2Link, Ros2Link]) -> Any:
    ball_plan()
    node = PlanningNode(links[0], search)
    yield Client(links[1], node)
    node.close()


def request(task: str = TASK, name: str = "7") -> str:
    return json.dumps({"id": name, "task": task})


def test_a_request_is_answered_with_the_forces_and_the_trajectory(client: Client) -> None:
    answers = client.ask(request(), wait_for={"found"})
    assert [answer["state"] for answer in answers][:2] == ["planning", "found"]
    assert answers[1]["id"] == "7"
    assert answers[1]["max_force_n"] == ball_plan().best.largest_force
    end = time.monotonic() + 10.0
    received: list[Any] = []
    while not received and time.monotonic() < end:
        received = client.link.take(TRAJECTORY)
    np.testing.assert_array_equal(
        [point.positions for point in received[-1].points], ball_plan().best.trajectory.commands
    )


def test_no_plan_is_an_answer_with_reasons(client: Client) -> None:
    answer = client.ask(request(TASK.replace("lift: 0.03", "lift: 0.3")), wait_for={"none"})[-1]
    assert answer["advice"] == "lift less"
    assert answer["rejected"]["closing: never touched"] == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "is not JSON"),
        ('{"id": 1}', "does not name what to plan"),
        ('{"id": 1, "task": "a", "shipped": "ring"}', "does not name what to plan"),
        ("[" * 50_000, "nested too deeply"),
        ('{"id": 1, "shipped": "rign"}', "closest: ring"),
        (request(TASK.replace("parallel_gripper", "parallel_griper")), "parallel_gripper"),
        (request(TASK.replace("shape: {sphere: {radius: 0.025}}", "mesh: /etc/passwd")), "leads out of the folder"),
        (request(TASK.replace("lift: 0.03", "lift: 0.6")), "cannot lift so far"),
        (json.dumps({"id": 1, "task": "x" * 1_100_000}), "at most 1000000"),
        ('{"id": 1, "task": "half a character: \\ud800"}', "has the control character"),
    ],
)
def test_a_bad_request_is_refused_and_the_node_goes_on(client: Client, text: str, words: str) -> None:
    answer = client.ask(text, wait_for={"refused"})[-1]
    assert words in " ".join(answer["problems"])
    assert client.ask(request(), wait_for={"found"})


def test_a_disk_that_is_full_costs_the_request_and_not_the_node(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pliant.ros.planning_node.tempfile.TemporaryDirectory", full)
        answer = client.ask(request(), wait_for={"refused"})[-1]
    assert "No space left" in " ".join(answer["problems"])
    assert client.ask(request(), wait_for={"found"})


def test_a_plan_that_cannot_be_kept_is_answered_all_the_same(links: tuple[Ros2Link, Ros2Link]) -> None:
    def full(name: str, plan: Plan) -> None:
        raise OptionError(f"{name}.plan", "cannot be written: no space left on device")

    node = PlanningNode(links[0], search, keep=full)
    answer = Client(links[1], node).ask(request(), wait_for={"found"})[-1]
    node.close()
    assert "no space left" in answer["not_kept"]
    assert answer["max_force_n"] == ball_plan().best.largest_force


def test_nothing_is_written_into_the_folder_of_the_meshes(links: tuple[Ros2Link, Ros2Link], tmp_path: Path) -> None:
    """It may be one that takes no files: its time stamp would tell of any that came and went."""
    write_mesh(make_shape("sphere", radius=0.025, edge=0.006), tmp_path / "ball.stl")
    before = tmp_path.stat().st_mtime_ns
    node = PlanningNode(links[0], search, folder=tmp_path)
    text = request(TASK.replace("shape: {sphere: {radius: 0.025}}", "mesh: ball.stl"))
    assert Client(links[1], node).ask(text, wait_for={"found"})
    node.close()
    assert tmp_path.stat().st_mtime_ns == before


def test_a_folder_that_is_not_there_is_told_at_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ros", "--folder", str(tmp_path / "meshes")]) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.slow
def test_another_process_plans_for_real(domain: int, tmp_path: Path) -> None:
    """`pliant ros` as a user starts it, asked over the network; the plan it keeps is the plan it sent."""
    command = [sys.executable, "-c", "from pliant.cli import main; main()", "ros", "--domain", str(domain)]
    node = subprocess.Popen(
        [*command, "--out", str(tmp_path), "--jobs", "1", "--once"], stderr=subprocess.PIPE, text=True
    )
    link = Ros2Link(domain)
    try:
        client = Client(link)
        answer = client.ask(request(name="ball/1"), wait_for={"found", "none", "refused"}, seconds=200.0)[-1]
        assert answer["state"] == "found"
        end = time.monotonic() + 20.0
        received: list[Any] = []
        while not received and time.monotonic() < end:
            received = link.take(TRAJECTORY)
            time.sleep(0.01)
        _, said = node.communicate(timeout=60)
        assert node.returncode == 0, said
        plan = load_plan(tmp_path / "ball_1.plan")
        assert answer["max_force_n"] == plan.best.largest_force
        np.testing.assert_array_equal([point.positions for point in received[-1].points], plan.best.trajectory.commands)
    finally:
        link.close()
        node.kill()
        node.wait()
