"""A search on the page, without a browser: better grasps are shown as they come, and Stop keeps the best."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml

from pliant.arrays import Floats
from pliant.files import shipped_task
from pliant.planner import Plan, PlannedGrasp, PlanStatus, Stopped, Task
from pliant.viewer import Tab, Viewer
from pliant.viewer.page.task_panel import edited
from pliant.viewer.report.plan_text import summary
from pliant.viewer.scene.viewed_task import ViewedTask

PATIENCE = 60.0
"""For what another thread does [s]."""


class ScriptedPlanning:
    """Finds the made plan's grasps, the worst first; waits to be let on before it ends.

    Args:
        plan: what it finds.
        fails: raise an error in place of an answer.
    """

    def __init__(self, plan: Plan, *, fails: bool = False) -> None:
        self.found = sorted(plan.grasps, key=lambda grasp: -grasp.largest_force)
        self.plan, self.fails = plan, fails
        self.after_each: Callable[[PlannedGrasp], None] = lambda grasp: None
        self.task: Task | None = None
        self.searched, self.let_on = threading.Event(), threading.Event()

    def __call__(
        self, task: Task, *, jobs: int | None, seed: int, progress: Any, improved: Any, stop: Callable[[], bool]
    ) -> Plan:
        self.task = task
        for number, grasp in enumerate(self.found):
            improved(grasp)
            progress("searching", number, 9, {})
            self.after_each(grasp)
        self.searched.set()
        assert self.let_on.wait(PATIENCE)
        progress("searching", 9, 9, {})
        if self.fails:
            raise RuntimeError("no convergence")
        grasps = tuple(self.found[::-1])
        status = PlanStatus.FOUND if grasps else PlanStatus.NONE
        stopped = Stopped.INTERRUPTED if stop() else Stopped.DONE
        return replace(self.plan, task=task, status=status, grasps=grasps, stopped=stopped)


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    with Viewer(port=0) as viewer:
        yield viewer


def begin(viewer: Viewer, plan: Plan, planning: ScriptedPlanning) -> Tab:
    """A tab, with the task open, in which planning has begun."""
    viewer.planning = planning
    tab = Tab(viewer, viewer.server)
    tab.open(ViewedTask(plan.task))
    tab.panels.task.start()
    return tab


def end(tab: Tab, planning: ScriptedPlanning) -> None:
    """Let the search end, and wait for what the page makes of it."""
    planning.let_on.set()
    thread = tab.panels.task._thread
    assert thread is not None
    thread.join(PATIENCE)
    assert not thread.is_alive()


def contact_points(grasp: PlannedGrasp) -> Floats:  # n x 3
    """Where the forces act in the world, as soon as the object is held."""
    state = grasp.states[0]
    return np.array([(state.T_world_object * c.T_object_contact).translation for c in state.contacts])


def test_every_better_grasp_is_shown_with_its_hand_contacts_and_forces(viewer: Viewer, plan: Plan) -> None:
    planning = ScriptedPlanning(plan)
    forces = [f"{grasp.largest_force:.3g}" for grasp in planning.found]
    assert len(set(forces)) == 2
    messages: list[str] = []

    def look(grasp: PlannedGrasp) -> None:
        scene, state = tab.plan_scene, grasp.states[0]
        assert scene is not None and tab.grasp is grasp
        names = list(scene._links)
        for name, T in zip(names, scene.assembly.robot.poses(names, state.q), strict=True):
            np.testing.assert_allclose(scene._links[name].position, T.translation, atol=1e-6, err_msg=name)
        heads = scene._arrows.points[: len(state.contacts), 1]
        np.testing.assert_allclose(heads, contact_points(grasp), atol=1e-5)
        assert scene._arrows.visible and all(cone.visible for cone in scene._cones)
        assert f"{state.largest_force:.2f} N" in tab.panels.numbers.content
        assert f"Best grasp so far: {plan.task.assembly.name} holds" in tab.panels.summary.content
        assert f"is {grasp.largest_force:.2f} N" in tab.panels.summary.content
        messages.append(tab.panels.task.message.content)

    failures: list[BaseException] = []

    def look_and_tell(grasp: PlannedGrasp) -> None:  # an assertion in the planning thread would fail no test
        try:
            look(grasp)
        except BaseException as bad:
            failures.append(bad)

    planning.after_each = look_and_tell
    viewer.planning = planning
    tab = Tab(viewer, viewer.server)
    tab.open(ViewedTask(plan.task))
    other = Tab(viewer, viewer.server)
    tab.panels.task.start()
    assert planning.searched.wait(PATIENCE)
    if failures:
        raise failures[0]
    assert f"forces so far: {forces[0]} N" in messages[0]
    assert f"forces so far: {forces[0]}, {forces[1]} N" in messages[1]
    assert tab.plan is None and tab.panels.task.save_plan.disabled and tab.panels.task.plan_button.disabled
    assert other.viewed is None and viewer.viewed is None  # what is found so far is this tab's alone
    end(tab, planning)
    assert tab.plan is not None and tab.grasp is planning.found[-1]
    assert viewer.viewed is tab.viewed


def test_stop_keeps_the_best_grasp_as_a_plan_that_says_so(viewer: Viewer, plan: Plan) -> None:
    planning = ScriptedPlanning(plan)
    tab = begin(viewer, plan, planning)
    panel = tab.panels.task
    assert planning.searched.wait(PATIENCE)
    assert not panel.stop_button.disabled
    panel.stop()
    assert panel.stop_button.disabled and "stopping" in panel.message.content
    end(tab, planning)
    assert tab.plan is not None and tab.plan.stopped is Stopped.INTERRUPTED
    assert tab.grasp is planning.found[-1]
    assert "found: 2 kept" in panel.message.content and "was interrupted" in panel.message.content
    assert "was interrupted" in tab.panels.summary.content
    assert panel.stop_button.disabled and not panel.plan_button.disabled and not panel.save_plan.disabled


def test_stop_before_a_grasp_was_found_says_so_and_leaves_what_was_open(viewer: Viewer, plan: Plan) -> None:
    planning = ScriptedPlanning(replace(plan, grasps=()))
    tab = begin(viewer, plan, planning)
    opened = tab.viewed
    assert planning.searched.wait(PATIENCE)
    tab.panels.task.stop()
    end(tab, planning)
    assert "stopped before a grasp was found" in tab.panels.task.message.content
    assert tab.viewed is opened
    assert not tab.panels.task.plan_button.disabled


def test_an_interrupted_plan_without_a_grasp_is_not_opened(viewer: Viewer, plan: Plan) -> None:
    """The planner has ended by itself, before its next report."""
    viewer.planning = lambda task, **_: replace(
        plan, task=task, status=PlanStatus.NONE, grasps=(), stopped=Stopped.INTERRUPTED
    )
    tab = Tab(viewer, viewer.server)
    tab.open(ViewedTask(plan.task, plan))
    opened = tab.viewed
    tab.panels.task.start()
    assert tab.panels.task._thread is not None
    tab.panels.task._thread.join(PATIENCE)
    assert "stopped before a grasp was found" in tab.panels.task.message.content
    assert tab.viewed is opened


def test_a_search_that_fails_leaves_no_grasp_without_a_plan(viewer: Viewer, plan: Plan) -> None:
    planning = ScriptedPlanning(plan, fails=True)
    tab = begin(viewer, plan, planning)
    opened = tab.viewed
    assert planning.searched.wait(PATIENCE)
    assert tab.grasp is planning.found[-1]
    end(tab, planning)
    assert "planning failed: RuntimeError: no convergence" in tab.panels.task.message.content
    assert tab.viewed is opened and tab.grasp is None


def test_a_tab_that_is_closed_while_it_plans_opens_nothing(viewer: Viewer, plan: Plan) -> None:
    planning = ScriptedPlanning(plan)
    tab = begin(viewer, plan, planning)
    assert planning.searched.wait(PATIENCE)
    tab.close()
    end(tab, planning)
    assert viewer.viewed is None
    assert not viewer.planner_free.locked()


def test_fields_that_are_changed_while_planning_stay_changed(viewer: Viewer, plan: Plan) -> None:
    planning = ScriptedPlanning(plan)
    tab = begin(viewer, plan, planning)
    panel = tab.panels.task
    assert planning.searched.wait(PATIENCE)
    lift, planned = panel._inputs["task", "lift"], plan.task.goal.lift
    lift.value = 1e3 * planned + 7.0
    end(tab, planning)
    assert tab.plan is not None and tab.plan.task.goal.lift == pytest.approx(planned)
    assert lift.value == 1e3 * planned + 7.0
    assert panel.read().goal.lift == pytest.approx(planned + 0.007)
    tab.open(ViewedTask(plan.task, plan))  # another one is shown with its own values
    assert lift.value == pytest.approx(1e3 * planned)


@pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
def test_the_page_searches_with_the_effort_of_the_task(effort: str, viewer: Viewer) -> None:
    task = shipped_task("ball")
    fields = edited(task.source, {("planner", "effort"): effort})
    tab = Tab(viewer, viewer.server)
    tab.open(ViewedTask(replace(task, source=yaml.safe_dump(fields))))
    field = tab.panels.task._inputs["planner", "effort"]
    assert field.options == ("quick", "normal", "thorough")
    assert tab.panels.task.read().options.effort == field.value == effort


@pytest.mark.parametrize(
    ("stopped", "words"),
    [(Stopped.INTERRUPTED, "interrupted"), (Stopped.SECONDS, "time limit"), (Stopped.FIRST, "first grasp")],
)
def test_a_summary_says_what_ended_the_search(stopped: Stopped, words: str, plan: Plan) -> None:
    assert not any("The search was" in sentence for sentence in summary(plan))
    (ending,) = [s for s in summary(replace(plan, stopped=stopped)) if s.startswith("The search was")]
    assert words in ending and "less force" in ending
