"""Feedback and cancelling beside the pair of topics; the examples that a user of ROS 2 runs, with ROS played by us."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from made_plans import ball_plan
from pliant.cli import _application
from pliant.files.export.moveit import moveit_fields
from pliant.planner import Plan, Stopped, Task
from pliant.ros import PlanningNode, messages, planning_node
from pliant.ros.planning_node import CANCEL, FEEDBACK, REQUEST, STATUS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ros2"


class OneProcess:
    """A network inside this process: what one side publishes, every listener of the topic gets."""

    def __init__(self) -> None:
        self.waiting: dict[str, deque[Any]] = defaultdict(deque)

    def advertise(self, topic: str, kind: type[Any], *, latched: bool = False) -> None: ...

    def listen(self, topic: str, kind: type[Any], *, latched: bool = False) -> None: ...

    def close(self) -> None: ...

    def publish(self, topic: str, message: Any, *, latched: bool = False) -> None:
        self.waiting[topic].append(message)

    def take(self, topic: str) -> list[Any]:
        messages, self.waiting[topic] = list(self.waiting[topic]), deque()
        return messages


class LongSearch:
    """A search that ends only when it is told to; with a grasp in hand or without."""

    def __init__(self, *, with_grasp: bool) -> None:
        self.with_grasp, self.begun = with_grasp, threading.Event()

    def __call__(self, task: Task, *, progress: Any, improved: Any, stop: Callable[[], bool]) -> Plan:
        if self.with_grasp:
            improved(ball_plan().best)
        while not stop():
            progress("pressing", 3, 40, {"closing": 2})
            self.begun.set()
            threading.Event().wait(0.005)
        progress("pressing", 4, 40, {"closing": 2})
        return replace(ball_plan(), stopped=Stopped.INTERRUPTED)


class Talk:
    """A node, and what was said to and by it."""

    def __init__(self, search: Any) -> None:
        self.link, self.search = OneProcess(), search
        self.node = PlanningNode(self.link, search)

    def say(self, topic: str, **fields: Any) -> None:
        self.link.publish(topic, messages.String(json.dumps(fields)))
        self.node.step()

    def until(self, *states: str) -> list[dict[str, Any]]:
        heard: list[dict[str, Any]] = []
        while not any(answer["state"] in states for answer in heard):
            self.node.step()
            heard += [json.loads(message.data) for message in self.link.take(STATUS)]
            threading.Event().wait(0.002)
        return heard

    def feedback(self) -> dict[str, Any]:
        while not (heard := self.link.take(FEEDBACK)):
            self.node.step()
            threading.Event().wait(0.002)
        return dict(json.loads(heard[-1].data))


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Talk]]:
    monkeypatch.setattr(planning_node, "FEEDBACK_INTERVAL", 0.0)
    made: list[Talk] = []

    def make(search: Any) -> Talk:
        made.append(Talk(search))
        return made[-1]

    yield make
    for each in made:
        each.node.close()


def test_a_search_tells_how_far_it_is_and_ends_when_it_is_cancelled(talk: Any) -> None:
    search = LongSearch(with_grasp=False)
    spoken = talk(search)
    spoken.say(REQUEST, id="7", shipped="ball_gripper")
    assert spoken.feedback() == {
        "id": "7", "stage": "pressing", "done": 3, "total": 40, "rejected": {"closing": 2}, "forces_n": [],
    }  # fmt: skip
    spoken.say(CANCEL, id="8")  # another one's
    assert [answer["state"] for answer in spoken.until("idle")] == ["planning", "idle"]
    assert spoken.node.busy
    spoken.say(CANCEL, id="7")
    assert [answer["state"] for answer in spoken.until("cancelled")] == ["cancelled"]
    assert not spoken.node.busy
    spoken.say(CANCEL, id="7")
    assert spoken.until("idle")[-1]["id"] == "7"


def test_a_cancelled_search_gives_its_best_grasp_where_that_is_wanted(talk: Any) -> None:
    spoken = talk(LongSearch(with_grasp=True))
    spoken.say(REQUEST, id="7", shipped="ball_gripper")
    assert spoken.feedback()["forces_n"] == [ball_plan().best.largest_force]
    spoken.say(CANCEL, id="7", keep=True)
    answer = spoken.until("found", "cancelled")[-1]
    assert (answer["state"], answer["stopped"]) == ("found", "interrupted")
    assert answer["max_force_n"] == ball_plan().best.largest_force
    spoken.say(REQUEST, id="9", shipped="ball_gripper")
    assert spoken.search.begun.wait(20.0)
    spoken.say(CANCEL, id="9")
    assert spoken.until("found", "cancelled")[-1]["state"] == "cancelled"


def test_keeping_where_there_is_nothing_yet_is_a_cancellation(talk: Any) -> None:
    spoken = talk(LongSearch(with_grasp=False))
    spoken.say(REQUEST, id="7", shipped="ball_gripper")
    spoken.say(CANCEL, id="7", keep=True)
    assert spoken.until("found", "cancelled")[-1]["state"] == "cancelled"


@pytest.mark.parametrize("text", ["no json", "[]", '{"keep": true}'])
def test_a_bad_cancellation_is_refused_and_the_search_goes_on(text: str, talk: Any) -> None:
    spoken = talk(LongSearch(with_grasp=False))
    spoken.say(REQUEST, id="7", shipped="ball_gripper")
    spoken.link.publish(CANCEL, messages.String(text))
    assert "expected" in spoken.until("refused")[-1]["problems"][0]
    assert spoken.node.busy


def test_closing_the_node_ends_the_search() -> None:
    spoken = Talk(LongSearch(with_grasp=False))
    spoken.say(REQUEST, id="7", shipped="ball_gripper")
    assert spoken.search.begun.wait(20.0)
    spoken.node.close()  # returns: the search has ended


# -- the examples ------------------------------------------------------------------------------------------------------


def example(name: str, monkeypatch: pytest.MonkeyPatch, **modules: Any) -> Any:
    """An example, imported with what it imports of ROS played by ``modules``."""
    for module, content in modules.items():
        made = ModuleType(module.replace("__", "."))
        vars(made).update(content)
        monkeypatch.setitem(sys.modules, made.__name__, made)
    spec = importlib.util.spec_from_file_location(name.partition(".")[0], EXAMPLES / name)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_launch_file_starts_the_node_with_options_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    declared: dict[str, str] = {}

    def declare(name: str, *, default_value: str, description: str) -> None:
        declared[name] = default_value

    loaded = example(
        "pliant.launch.py",
        monkeypatch,
        launch={"LaunchDescription": list},
        launch__actions={"DeclareLaunchArgument": declare, "ExecuteProcess": lambda **how: how},
        launch__substitutions={"LaunchConfiguration": lambda name: declared[name]},
    )
    process = loaded.generate_launch_description()[-1]
    assert process["cmd"][:2] == ["pliant", "ros"] and process["respawn"] is True
    context = _application().commands["ros"].make_context("ros", process["cmd"][2:])
    assert context.params["domain"] == 0 and context.params["out"] == Path("plans")


@pytest.mark.parametrize(("patience", "end"), [(1e9, "found"), (-1.0, "found")])
def test_the_asking_example_follows_a_request_to_its_end(
    patience: float, end: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], talk: Any
) -> None:
    """With patience it waits for the answer; without it cancels and keeps the best grasp so far."""

    def quick(task: Task, **told: Any) -> Plan:
        told["progress"]("pressing", 1, 2, {})
        return ball_plan()

    spoken = talk(quick if patience > 0 else LongSearch(with_grasp=True))
    nodes: list[Any] = []

    class Node:
        def __init__(self, name: str) -> None:
            self.heard: dict[str, Any] = {}
            nodes.append(self)

        def create_publisher(self, kind: Any, topic: str, depth: int) -> Any:
            return SimpleNamespace(publish=lambda message: spoken.link.publish(topic, message))

        def create_subscription(self, kind: Any, topic: str, react: Any, depth: int) -> None:
            self.heard[topic] = react

        def create_timer(self, period: float, react: Any) -> None:
            self.heard["timer"] = react

    def spin_once(node: Any) -> None:
        node.heard["timer"]()
        spoken.node.step()
        for topic in (STATUS, FEEDBACK):
            for message in spoken.link.take(topic):
                node.heard[topic](message)
        threading.Event().wait(0.002)

    ros = {"init": lambda: None, "ok": lambda: True, "shutdown": lambda: None, "spin_once": spin_once}
    loaded = example(
        "ask_for_a_plan.py",
        monkeypatch,
        rclpy=ros,
        rclpy__node={"Node": Node},
        std_msgs=({}),
        std_msgs__msg={"String": messages.String},
    )
    monkeypatch.setattr(sys, "argv", ["ask_for_a_plan.py", "ball_gripper", str(patience)])
    loaded.main()
    assert nodes[0].answer["state"] == end
    assert set(nodes[0].heard) == {STATUS, FEEDBACK, "timer"}
    assert f'"max_force_n": {ball_plan().best.largest_force}' in capsys.readouterr().out


class Stages:
    """Plays moveit.task_constructor: every class and method exists, and what is called is written down."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def __getattr__(self, kind: str) -> Any:
        return lambda name="", *given: Stage(self, kind, name, given)


class Stage:
    def __init__(self, stages: Stages, kind: str, name: str, given: Any) -> None:
        vars(self).update(_stages=stages, _kind=kind, _name=name)

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = value
        self._stages.calls.append((f"{self._kind}.{name} =", value))

    def __getattr__(self, method: str) -> Any:
        if method == "properties":
            return SimpleNamespace(configureInitFrom=lambda *given: None)
        return lambda *given: self._stages.calls.append((f"{self._kind}.{method}", given))

    def __getitem__(self, name: str) -> str:
        return name


def fill(message: Any, fields: Any) -> None:
    """What rosidl_runtime_py.set_message_fields does, on messages that take any field."""
    for name, value in fields.items():
        if isinstance(value, dict):
            inner = SimpleNamespace()
            fill(inner, value)
            value = inner
        setattr(message, name, value)


def test_the_moveit_example_gives_every_stage_what_the_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def message() -> Any:
        return SimpleNamespace(header=SimpleNamespace(), vector=SimpleNamespace())

    stages, core = Stages(), Stages()
    source = SimpleNamespace(PropertyInitializerSource=SimpleNamespace(INTERFACE=1))
    vars(core)["Stage"] = source
    kinds = dict.fromkeys(("CollisionObject", "Grasp", "RobotState"), message)
    loaded = example(
        "pick_with_moveit.py",
        monkeypatch,
        rclcpp={},
        geometry_msgs={},
        geometry_msgs__msg={"PoseStamped": message, "Vector3Stamped": message},
        moveit={},
        moveit__task_constructor={"core": core, "stages": stages},
        moveit_msgs={},
        moveit_msgs__msg=kinds,
        rosidl_runtime_py={"set_message_fields": fill},
    )
    plan = json.loads(json.dumps(moveit_fields(ball_plan())))
    entry = plan["grasps"][0]
    task = loaded.pick(plan, entry)
    assert vars(task)["name"] == entry["grasp"]["id"]
    called = defaultdict(list)
    for name, given in stages.calls:
        called[name].append(given)
    allowed = [(pair["first"], pair["second"], True) for pair in entry["allowed_collisions"]]
    assert called["ModifyPlanningScene.allowCollisions"] == allowed
    assert [given[0].id for given in called["ModifyPlanningScene.addObject"]] == ["object", "obstacle_0"]
    (pose,) = called["GeneratePose.pose ="]
    assert vars(pose.pose.position) == entry["grasp"]["grasp_pose"]["pose"]["position"]
    goals = [given[0].joint_state.position for given in called["MoveTo.setGoal"]]
    assert goals == [entry[name]["joint_state"]["position"] for name in ("pre_grasp", "squeeze")]
    lift = called["MoveRelative.setDirection"][1][0].vector
    assert (lift.x, lift.y, lift.z) == (0.0, 0.0, ball_plan().task.goal.lift)
    assert called["ModifyPlanningScene.attachObject"] == [("object", plan["ik_frame"])]
