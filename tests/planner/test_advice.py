"""Made-up tasks with one thing that makes them impossible: the advice names it, and with what it advises there is a
grasp. Every number that a test applies is read from the advice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from small_tasks import FRICTION, MASS, ball_task, gripper

from made_plans import ball_plan
from pliant.constants import GRAVITY
from pliant.objects import Body, Mesh, make_shape
from pliant.planner import Carrier, Plan, PlanStatus, Push, Reason, Rejection, Task, plan
from pliant.planner.advice import advice
from pliant.planner.closing_hand import ClosingHand
from pliant.planner.context import PlanningContext
from pliant.planner.diagnosis import Diagnosis, narrowest
from pliant.planner.flying_hand import with_arm
from pliant.planner.reasons import Failure
from pliant.planner.remedies import CHANGES, larger_pads
from pliant.robot import Assembly, load_assembly

NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
Applied = Callable[[Task, "re.Match[str]"], Task]


def few(task: Task, hypotheses: int = 24) -> Task:
    return replace(task, options=replace(task.options, effort="quick", hypotheses=hypotheses))


def small_ball(**body: float) -> Task:
    return few(ball_task(move=False, **body))


@cache
def arm() -> Assembly:
    return load_assembly("kawasaki_fs020n", "parallel_gripper")


def before_arm(x: float, lift: float = 0.05) -> Task:
    task = small_ball()
    place = pin.SE3(np.eye(3), np.array([x, 0.0, 0.5]))
    goal = replace(task.goal, lift=lift)
    return replace(task, assembly=arm(), q_start=arm().q_home, T_world_object=place, goal=goal)


def wide_ball(scale: float = 1.0) -> Task:
    task = small_ball()
    mesh = make_shape("sphere", radius=0.06, edge=0.022)
    return replace(task, body=Body.from_mesh(Mesh(scale * mesh.vertices, mesh.faces), task.body.material, mass=MASS))


def box(name: str, size: tuple[float, float, float], middle: tuple[float, float, float]) -> Mesh:
    mesh = make_shape("box", size=size, edge=max(size))
    return Mesh(mesh.vertices + np.array(middle), mesh.faces, name)


def under_a_shelf() -> Task:
    """A shelf above the ball at 0.5, 0, 0.3, and walls on all four sides."""
    task = small_ball()
    walls = [
        box("wall", (0.02, 0.4, 0.2), (0.5 + x, y, 0.3)) if x else box("wall", (0.4, 0.02, 0.2), (0.5, y, 0.3))
        for x, y in ((0.08, 0.0), (-0.08, 0.0), (0.0, 0.08), (0.0, -0.08))
    ]
    return replace(task, scene=(*walls, box("shelf", (0.4, 0.4, 0.02), (0.5, 0.0, 0.41))))


def with_pads_at(region: tuple[tuple[float, float, float], tuple[float, float, float]]) -> Task:
    task, hand = small_ball(), gripper().hand
    assert hand is not None
    fingers = [
        finger.model_copy(update={"pads": tuple(pad.model_copy(update={"region": region}) for pad in finger.pads)})
        for finger in hand.fingers
    ]
    hand = hand.model_copy(update={"fingers": tuple(fingers), "tactile": ()})
    return replace(task, assembly=replace(gripper(), hand=hand))


def with_force(task: Task, told: re.Match[str]) -> Task:
    limits = replace(task.body.limits, force=float(told[1]))
    return replace(task, body=replace(task.body, limits=limits))


def with_pressure(task: Task, told: re.Match[str]) -> Task:
    limits = replace(task.body.limits, pressure=float(told[1]))
    return replace(task, body=replace(task.body, limits=limits))


def with_friction(task: Task, told: re.Match[str]) -> Task:
    return replace(task, body=replace(task.body, material=replace(task.body.material, friction=float(told[1]))))


def with_push(task: Task, told: re.Match[str]) -> Task:
    return replace(task, goal=replace(task.goal, disturbances=(Push(any_force=float(told[1])),)))


def with_base(task: Task, told: re.Match[str]) -> Task:
    place = pin.SE3(np.eye(3), np.array([float(told[k]) for k in (1, 2, 3)]))
    return replace(task, assembly=task.assembly.at(place))


def with_obstacles(task: Task, told: re.Match[str]) -> Task:
    gone = {int(i) for i in re.findall(r"scene\[(\d+)\]", told[1])}
    return replace(task, scene=tuple(mesh for i, mesh in enumerate(task.scene) if i not in gone))


def with_pads(task: Task, told: re.Match[str]) -> Task:
    assert task.assembly.hand is not None
    hand = larger_pads(task.assembly.hand, 1e-3 * float(told[1]))
    return replace(task, assembly=replace(task.assembly, hand=hand))


@dataclass(frozen=True)
class No:
    """A task without a grasp.

    Args:
        task: makes it.
        told: what the advice says; its groups are the values to apply.
        applied: the task with them.
        reason: words that name the cause.
    """

    task: Callable[[], Task]
    told: str
    applied: Applied
    reason: str


NOES = {
    "too wide for the hand": No(
        wide_ball,
        rf"hand opens to 100 mm, the object is 1\d\d mm wide.*object.scale: {NUMBER}",
        lambda task, told: wide_ball(float(told[1])),
        "open hand inside the object",
    ),
    "friction too small": No(
        lambda: small_ball(friction=0.02), rf"object.material.friction: {NUMBER}", with_friction, "friction"
    ),
    "force limit too low": No(
        lambda: small_ball(force=0.6), rf"object.limits.force: {NUMBER}", with_force, "needs more force than allowed"
    ),
    "pressure limit too low": No(
        lambda: small_ball(pressure=5e3),
        rf"object.limits.pressure: {NUMBER}",
        with_pressure,
        "pressure above the limit",
    ),
    "too heavy": No(
        lambda: small_ball(mass=30.0, young=1e7),
        rf"object.mass: {NUMBER}",
        lambda task, told: replace(task, body=replace(task.body, dry_mass=float(told[1]))),
        "no forces hold the weight",
    ),
    "push too strong": No(
        lambda: replace(small_ball(), goal=replace(small_ball().goal, disturbances=(Push(any_force=100.0),))),
        rf"task.disturbances: \[{{any_force: {NUMBER}}}\]",
        with_push,
        "no forces hold the weight",
    ),
    "too far away": No(
        lambda: before_arm(2.3),
        rf"robot.base.position: \[{NUMBER}, {NUMBER}, {NUMBER}\]",
        with_base,
        "palm out of the arm's reach",
    ),
    "lift too high": No(
        lambda: before_arm(0.95, 1.9),
        rf"task.lift: {NUMBER}",
        lambda task, told: replace(task, goal=replace(task.goal, lift=float(told[1]))),
        "arm cannot lift so high",
    ),
    "turn by a gripper's fingers": No(
        lambda: replace(small_ball(), goal=replace(small_ball().goal, rotation=(0.0, 0.0, 1.0), by=Carrier.FINGERS)),
        r"task.by: (\w+)",
        lambda task, told: replace(task, goal=replace(task.goal, by=Carrier(told[1]))),
        "fingers cannot carry out the move",
    ),
    "walled in": No(under_a_shelf, r"scene: without (.*?): tried", with_obstacles, "hits something"),
    "pads at the wrong place": No(
        lambda: with_pads_at(((-0.001, -0.0111, 0.0), (0.001, 0.0111, 0.012))),
        rf"fingers\[\].pads\[\].region {NUMBER} mm larger",
        with_pads,
        "touches beside the pad",
    ),
}


@cache
def refused(name: str) -> Plan:
    return plan(NOES[name].task(), jobs=1)


@pytest.mark.parametrize("name", NOES)
def test_there_is_a_grasp_with_what_the_advice_says(name: str) -> None:
    no, found = NOES[name], refused(name)
    assert found.status is PlanStatus.NONE
    words = found.advice
    assert no.reason in words, words
    told = re.search(no.told, words)
    assert told is not None, words
    assert plan(no.applied(no.task(), told), jobs=1, first=True).status is PlanStatus.FOUND, words


def test_the_advised_force_limit_is_what_is_needed_and_little_more() -> None:
    """n = (1 / 2 + delta / W) W / mu with a margin of 5 %; pressing comes within 10 %, values are 20 % apart."""
    needed = 0.55 * MASS * GRAVITY / FRICTION
    told = re.search(NOES["force limit too low"].told, refused("force limit too low").advice)
    assert told is not None
    assert 0.98 * needed < float(told[1]) < 1.1 * 1.25 * needed


def no_plan_of(rejections: list[Rejection]) -> Plan:
    made = ball_plan()
    hypotheses = tuple(replace(made.hypotheses[0], number=i) for i in range(len(rejections)))
    return replace(made, status=PlanStatus.NONE, grasps=(), hypotheses=hypotheses, rejections=tuple(rejections))


def test_without_a_remedy_most_losses_come_first_with_the_nearest_then_what_came_furthest() -> None:
    rejections = [Failure(Reason.OPEN_HAND_IN_OBJECT, 0.01 + 1e-3 * i, detail="thumb").rejection(i) for i in range(9)]
    rejections.append(Failure(Reason.FORCE_LIMIT, 1.4, detail="7 N at thumb, 5 N allowed").rejection(9))
    words = advice(no_plan_of(rejections))
    first, _, second = words.partition(". ")
    assert first.startswith("9 of 10 hypotheses: open hand inside the object (the nearest 10 mm, thumb)")
    assert second.startswith("1 came as far as 'contact', 1 of them: force above the limit (the nearest 1.4 of the")


@pytest.mark.parametrize(("width", "told"), [(0.06, True), (0.05, False)])
def test_an_object_counts_as_too_wide_iff_it_is_wider_than_the_hand_opens(width: float, told: bool) -> None:
    plan_of = no_plan_of([Failure(Reason.OPEN_HAND_IN_OBJECT, 0.014, detail="thumb").rejection(0)])
    words = advice(plan_of, Diagnosis(0.052, width))
    assert ("(thumb by 14 mm at the nearest): the hand opens to 52 mm, the object is 60 mm wide" in words) is told


@pytest.mark.parametrize("found", [True, False])
def test_a_finger_without_a_pad_at_its_tip_is_a_warning_whatever_came_out(found: bool) -> None:
    whole = ball_plan() if found else no_plan_of([Failure(Reason.SLIPS, 1.0).rejection(0)])
    assert "WARNING" not in advice(whole, None if found else Diagnosis(0.1, 0.05))
    hand = whole.task.assembly.hand
    assert hand is not None
    first = hand.fingers[0]
    elsewhere = tuple(pad.model_copy(update={"link": hand.palm.link}) for pad in first.pads)
    bare = hand.model_copy(update={"fingers": (first.model_copy(update={"pads": elsewhere}), *hand.fingers[1:])})
    task = replace(whole.task, assembly=replace(whole.task.assembly, hand=bare))
    assert f"WARNING: finger '{first.name}' has no pad on its last link" in advice(replace(whole, task=task))


def test_the_gripper_opens_by_its_stroke_and_bent_joints_open_it_no_further_than_their_limits() -> None:
    hand = ClosingHand(gripper())
    assert hand.opening(np.zeros(1)) == pytest.approx(0.1, abs=1e-9)
    assert hand.opening(np.full(1, 0.02)) == pytest.approx(0.1, abs=1e-9)


def test_the_narrowest_width_of_a_turned_box_is_its_shortest_edge() -> None:
    corners = make_shape("box", size=(0.1, 0.04, 0.07), edge=0.1).vertices
    turned = corners @ pin.rpy.rpyToMatrix(0.3, -0.7, 1.1).T
    assert narrowest(turned) == pytest.approx(0.04, rel=1e-9)


def test_an_object_on_a_table_may_be_put_on_a_stand_and_the_table_stays() -> None:
    table = box("table", (0.8, 0.8, 0.1), (0.5, 0.0, 0.22))
    shelf = box("shelf", (0.4, 0.4, 0.02), (0.5, 0.0, 0.7))
    context = PlanningContext(with_arm(replace(small_ball(), scene=(table, shelf))))
    settings = [
        v.setting for change in CHANGES if Reason.OPEN_HAND_HITS in change.reasons for v in change.variants(context, [])
    ]
    assert settings[0] == "scene: without scene[1] (shelf)"
    assert settings[1] == "object.pose.position: [0.5, 0.0, 0.32] (a stand under it, 20 mm high)"
    assert not any("table" in setting for setting in settings)
